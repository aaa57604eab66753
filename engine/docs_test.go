package engine_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine/value"
)

// TestStatementsOfTheDocs runs the blocks of statements of every page of docs, in order and in one store a page. A block of
// text behind one is what its last statement answers; -update writes it.
func TestStatementsOfTheDocs(t *testing.T) {
	var pages []string
	for _, pattern := range []string{"../docs/*.md", "../docs/language/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("no docs: %v", err)
		}
		pages = append(pages, found...)
	}
	ran := 0
	for _, page := range pages {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		text := string(b)
		n, answered := runPage(t, page, text)
		if ran += n; *update && answered != text {
			if err := os.WriteFile(page, []byte(answered), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if ran == 0 {
		t.Error("no page has a block of statements")
	}
}

// runPage runs the blocks of a page. It gives the number of statements and the page with the answers that they have.
func runPage(t *testing.T, page, text string) (ran int, answered string) {
	blocks := fenced(text)
	if len(blocks) == 0 {
		return 0, text
	}
	s := owner(t, openQuiet(t))
	answer, lines := "", strings.Split(text, "\n")
	var out []string
	at := 0 // lines that are in out
	for _, block := range blocks {
		if block.language == "text" {
			want := strings.TrimRight(answer, "\n")
			if want != block.text && !*update {
				t.Errorf("%s:%d: got\n%s\nwant\n%s", page, block.line, want, block.text)
			}
			out = append(append(out, lines[at:block.line]...), strings.Split(want, "\n")...)
			at = block.line + strings.Count(block.text, "\n") + 1
			continue
		}
		if block.language == "graphql" {
			ran++
			answer = string(askGraphQL(t, s, block.text, "").AppendJSON(nil))
			continue
		}
		run := s.Execute
		if block.language == "gql" {
			run = s.GQL
		}
		results, err := run(context.Background(), block.text, nil)
		if err != nil {
			t.Fatalf("%s:%d: %v", page, block.line, err)
		}
		for i, r := range results {
			if r.Err != nil {
				t.Errorf("%s:%d: statement %d: %v", page, block.line, i+1, r.Err)
			}
			ran++
			answer = r.Value.Text()
			if s := r.Value; s.Kind() == value.KindString {
				answer = s.Str()
			}
		}
	}
	return ran, strings.Join(append(out, lines[at:]...), "\n")
}

// TestProgramOfTheDocs runs the Go program of docs/embedding.md.
func TestProgramOfTheDocs(t *testing.T) {
	b, err := os.ReadFile("../docs/embedding.md")
	if err != nil {
		t.Fatal(err)
	}
	_, program, _ := strings.Cut(string(b), "```go\n")
	program, _, ok := strings.Cut(program, "```")
	if !ok {
		t.Fatal("the page has no program")
	}
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "run", file).CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "['Ada']\n") {
		t.Errorf("%v: %s", err, out)
	}
}

type block struct {
	language, text string
	line           int
}

// executed are the languages of blocks that run, and text, which is an answer.
var executed = []string{"surql", "gql", "graphql", "text"}

// fenced are the blocks of statements and answers of a page.
func fenced(page string) []block {
	var out []block
	var in *block
	for i, line := range strings.Split(page, "\n") {
		language, fence := strings.CutPrefix(line, "```")
		switch {
		case !fence && in != nil:
			in.text += line + "\n"
		case fence && in != nil:
			if in.text = strings.TrimRight(in.text, "\n"); slices.Contains(executed, in.language) {
				out = append(out, *in)
			}
			in = nil
		case fence:
			in = &block{language: language, line: i + 1}
		}
	}
	return out
}
