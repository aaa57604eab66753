package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine/value"
)

// TestStatementsOfTheDocs runs the blocks of statements of every page of docs, in order and in one store a page. A block of
// text behind one is what its last statement answers.
func TestStatementsOfTheDocs(t *testing.T) {
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no docs: %v", err)
	}
	ran := 0
	for _, page := range pages {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		blocks := fenced(string(b))
		if len(blocks) == 0 {
			continue
		}
		s := owner(t, openQuiet(t))
		answer := ""
		for _, block := range blocks {
			if block.language == "text" {
				if got := strings.TrimRight(answer, "\n"); got != block.text {
					t.Errorf("%s:%d: got\n%s\nwant\n%s", page, block.line, got, block.text)
				}
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
	}
	if ran == 0 {
		t.Error("no page has a block of statements")
	}
}

type block struct {
	language, text string
	line           int
}

// executed are the languages of blocks, and what stands for their answers.
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
