package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestKeywordsAreCurrent checks that keyword.go of package parse is made from keywords.txt.
func TestKeywordsAreCurrent(t *testing.T) {
	dir, out := filepath.Join("..", "..", "engine", "parse"), filepath.Join(t.TempDir(), "keyword.go")
	if err := run([]string{filepath.Join(dir, "keywords.txt"), out}); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "keyword.go"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("keyword.go is not made from keywords.txt: run go generate ./engine/parse")
	}
}

// TestRunNeedsItsArguments checks the errors of the command.
func TestRunNeedsItsArguments(t *testing.T) {
	for _, args := range [][]string{nil, {"a"}, {filepath.Join(t.TempDir(), "absent"), "out"}} {
		if err := run(args); err == nil {
			t.Errorf("run(%q) did not fail", args)
		}
	}
}
