package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// unclear are words that make a sentence hard to read. A sentence about the thing that acts says the same: "the caller
// closes it" for "whoever has it closes it", "no writer waits" for "nobody waits", "without a log" for "nil: nobody
// logs".
var unclear = regexp.MustCompile(`(?i)\b(whoever|whatever|nobody|of which|none of whose)\b`)

// TestProse keeps unclear words out of comments and of the documentation.
func TestProse(t *testing.T) {
	for _, file := range goFiles(t) {
		if filepath.ToSlash(filepath.Dir(file)) == "internal/lint" {
			continue
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, filepath.Join("..", "..", file), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range unclearComments(f) {
			t.Errorf("%s:%d: write without %q", file, set.Position(c.Pos()).Line, unclear.FindString(c.Text))
		}
	}
	for _, file := range treeFiles(t, ".md") {
		src, err := os.ReadFile(filepath.Join("..", "..", file))
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(src), "\n") {
			if word := unclear.FindString(line); word != "" {
				t.Errorf("%s:%d: write without %q", file, i+1, word)
			}
		}
	}
}

func unclearComments(f *ast.File) []*ast.Comment {
	var out []*ast.Comment
	for _, group := range f.Comments {
		for _, c := range group.List {
			if unclear.MatchString(c.Text) {
				out = append(out, c)
			}
		}
	}
	return out
}

// TestUnclearComments checks that TestProse finds what it looks for.
func TestUnclearComments(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "a.go", "package a\n\n// Nobody waits.\nvar a = \"nobody\" // one of them\n",
		parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	if got := unclearComments(f); len(got) != 1 || got[0].Text != "// Nobody waits." {
		t.Errorf("found %v", got)
	}
}
