package repl

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine/parse"
)

var update = flag.Bool("update", false, "rewrite the generated files")

// TestSyntaxIsThatOfTheBook holds syntax.txt to the blocks of syntax in the chapters on the language.
func TestSyntaxIsThatOfTheBook(t *testing.T) {
	chapters, err := filepath.Glob("../../docs/language/*.md")
	if err != nil || len(chapters) == 0 {
		t.Fatal("there are no chapters", err)
	}
	var want strings.Builder
	for _, c := range chapters {
		b, err := os.ReadFile(c)
		if err != nil {
			t.Fatal(err)
		}
		for i, block := range strings.Split(string(b), "```syntax\n") {
			if i == 0 {
				continue
			}
			block, _, _ = strings.Cut(block, "```")
			for line := range strings.Lines(block) {
				if strings.TrimSpace(line) != "" {
					want.WriteString(line)
				}
			}
		}
	}
	if *update {
		if err := os.WriteFile("syntax.txt", []byte(want.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if syntax != want.String() {
		t.Error("syntax.txt is not current: run go generate ./cli/repl")
	}
}

// Every statement of the language has a form, and every topic begins with a keyword.
func TestEveryStatementHasAForm(t *testing.T) {
	have := strings.Join(topics(), "\n") + "\n"
	words, _ := parse.Next("", "")
	for _, w := range words {
		switch w {
		case "SELECT", "CREATE", "INSERT", "UPDATE", "UPSERT", "DELETE", "RELATE", "REMOVE", "ALTER", "BEGIN", "COMMIT",
			"CANCEL", "USE", "LET", "RETURN", "IF", "FOR", "THROW", "SLEEP", "INFO", "SHOW", "LIVE", "KILL", "ACCESS",
			"REBUILD", "OPTION":
			if !strings.Contains("\n"+have, "\n"+w+"\n") {
				t.Errorf("\\h has no form of %s", w)
			}
		}
	}
	for _, topic := range topics() {
		first, _, _ := strings.Cut(strings.TrimSuffix(topic, ":"), " ")
		if !parse.Keyword(first) && first != "data" && first != "output" {
			t.Errorf("%s begins with no keyword", topic)
		}
	}
}
