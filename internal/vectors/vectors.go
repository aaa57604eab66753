// Package vectors reads the data that tests of several packages share: the recorded vectors of testdata/conformance and
// the list of functions in testdata/functions.txt. It fails the test when something is missing, and imports no other
// package of the module, so that every package can use it.
package vectors

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Vector is one recorded case. testdata/conformance/README.md describes the fields.
type Vector struct {
	Name     string
	SQL      string
	Setup    string
	Expect   *string
	Error    *string
	Kind     string
	Parse    json.RawMessage // true, or in statements the text of the parse error
	Volatile bool
	Auth     string
	Answers  []Answer
	File     string `json:"-"` // the name of its file, as Files gives it
}

// Answer is the recorded answer to one statement.
type Answer struct {
	Expect *string
	Error  *string
}

// ParseError is the first line of the parse error that v expects, "" when the text parses.
func (v *Vector) ParseError() string {
	text := ""
	switch {
	case len(v.Parse) == 0:
	case json.Unmarshal(v.Parse, &text) == nil:
	case string(v.Parse) == "true" && v.Error != nil:
		text = *v.Error
	}
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// Path is a path below the root of the module.
func Path(tb testing.TB, path ...string) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(append([]string{dir}, path...)...)
		}
		if dir == filepath.Dir(dir) {
			tb.Fatal("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
}

// ReadFile reads a file below the root of the module.
func ReadFile(tb testing.TB, path ...string) string {
	tb.Helper()
	text, err := os.ReadFile(Path(tb, path...))
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// Files are the names of the files of vectors, such as "statements/create", in order.
func Files(tb testing.TB) []string {
	tb.Helper()
	var names []string
	for _, kind := range []string{"operators", "functions", "statements"} {
		found, err := filepath.Glob(Path(tb, "testdata", "conformance", kind, "*.jsonl"))
		if err != nil || len(found) == 0 {
			tb.Fatalf("no vectors of %s: %v", kind, err)
		}
		for _, file := range found {
			names = append(names, kind+"/"+strings.TrimSuffix(filepath.Base(file), ".jsonl"))
		}
	}
	return names
}

// Load reads the vectors of a file, which is named as Files names it.
func Load(tb testing.TB, name string) []Vector {
	tb.Helper()
	f, err := os.Open(Path(tb, "testdata", "conformance", filepath.FromSlash(name)+".jsonl"))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var out []Vector
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		v := Vector{File: name}
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			tb.Fatalf("%s:%d: %v", name, len(out)+1, err)
		}
		out = append(out, v)
	}
	if err := lines.Err(); err != nil {
		tb.Fatal(err)
	}
	if len(out) == 0 {
		tb.Fatalf("%s has no vectors", name)
	}
	return out
}

// All are the vectors of all files.
func All(tb testing.TB) []Vector {
	tb.Helper()
	var out []Vector
	for _, name := range Files(tb) {
		out = append(out, Load(tb, name)...)
	}
	return out
}
