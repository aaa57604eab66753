package parse

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine/ast"
)

// vector is one recorded question to the reference engine.
type vector struct {
	Name  string          `json:"name"`
	Setup string          `json:"setup"`
	SQL   string          `json:"sql"`
	Error string          `json:"error"`
	Parse json.RawMessage `json:"parse"`
	file  string
}

// parseError is the first line of the parse error that v expects, "" when it must parse.
func (v vector) parseError() string {
	var s string
	if json.Unmarshal(v.Parse, &s) == nil && s != "" {
		return s
	}
	if string(v.Parse) == "true" {
		return v.Error
	}
	return ""
}

// loadVectors reads all vectors of ../shared/conformance; the test is skipped where they are not there.
func loadVectors(tb testing.TB) []vector {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			tb.Fatal("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
	files, err := filepath.Glob(filepath.Join(dir, "..", "shared", "conformance", "*", "*.jsonl"))
	if err != nil {
		tb.Fatal(err)
	}
	if len(files) == 0 {
		tb.Skip("the conformance vectors (../shared/conformance) are not here")
	}
	var out []vector
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			tb.Fatal(err)
		}
		sc := bufio.NewScanner(f)
		sc.Buffer(nil, 16<<20)
		for sc.Scan() {
			v := vector{file: filepath.Base(filepath.Dir(name)) + "/" + filepath.Base(name)}
			if err := json.Unmarshal(sc.Bytes(), &v); err != nil {
				tb.Fatalf("%s: %v", name, err)
			}
			out = append(out, v)
		}
		if err := sc.Err(); err != nil {
			tb.Fatal(err)
		}
		if err := f.Close(); err != nil {
			tb.Fatal(err)
		}
	}
	return out
}

func TestVectors(t *testing.T) {
	pass, total := 0, 0
	for _, v := range loadVectors(t) {
		for i, text := range []string{v.Setup, v.SQL} {
			if text == "" {
				continue
			}
			total++
			want := ""
			if i == 1 {
				want = v.parseError()
			}
			_, err := Query(text, Options{Resolver: nil})
			got := ""
			if err != nil {
				got, _, _ = strings.Cut(err.Error(), "\n")
			}
			if got == want {
				pass++
				continue
			}
			t.Errorf("%s %s\n  sql  %s\n  got  %s\n  want %s", v.file, v.Name, text, got, want)
		}
	}
	t.Logf("%d of %d texts parse as expected", pass, total)
}

func TestPrintIsFixedPoint(t *testing.T) {
	for _, v := range loadVectors(t) {
		q, err := Query(v.SQL, Options{})
		if err != nil {
			continue
		}
		first := ast.Text(q)
		again, err := Query(first, Options{Depth: 64})
		if err != nil {
			t.Errorf("%s\n  sql  %s\n  text %s\n  does not parse: %v", v.Name, v.SQL, first, err)
			continue
		}
		if second := ast.Text(again); second != first {
			t.Errorf("%s\n  sql    %s\n  first  %s\n  second %s", v.Name, v.SQL, first, second)
		}
	}
}
