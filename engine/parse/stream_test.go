package parse

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/nacredb/nacre/engine/ast"
)

func TestComplete(t *testing.T) {
	for text, want := range map[string]bool{
		"":                                true,
		"SELECT * FROM a":                 true,
		"SELECT * FROM a;":                true,
		"SELECT * FROM":                   false,
		"RETURN (1":                       false,
		"RETURN { a: [1, 2 }":             true, // an error that more text does not mend
		"RETURN { a: [1, 2":               false,
		"RETURN 'it\\'s":                  false,
		"RETURN 1 /* more":                false,
		"RETURN 1 -- it's":                true,
		"RETURN /a'b/":                    true,
		"RETURN /ab":                      false,
		"RETURN `a":                       false,
		"DEFINE FUNCTION fn::a() {":       false,
		"DEFINE FUNCTION fn::a() { 1 };":  true,
		"RETURN function() { return '}' ": false,
		"BEGIN; CREATE a;":                true,
		"RETURN 1 1":                      true,
	} {
		if got := Complete(text); got != want {
			t.Errorf("Complete(%q) = %v, want %v", text, got, want)
		}
	}
}

// collect reads all statements of r, as their canonical texts.
func collect(r io.Reader, opt StreamOptions) ([]string, error) {
	s := Statements(r, opt)
	var out []string
	for {
		stmt, _, err := s.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, ast.Text(stmt))
	}
}

func TestStatementsSplitsAsQueryDoes(t *testing.T) {
	const text = `-- a comment; with a semicolon
CREATE a SET s = 'x;y', t = "it's;", r = /[;']/, f = b / c; ;
/* ; */ DEFINE FUNCTION fn::f() { LET $x = 1; RETURN function() { return ";}"; } };
` + "RETURN `odd;name`; # done;\nRETURN 1h30m"
	want, err := Query(text, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]io.Reader{
		"whole":        strings.NewReader(text),
		"byte by byte": iotest.OneByteReader(strings.NewReader(text)),
	} {
		got, err := collect(r, StreamOptions{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(got) != len(want.Stmts) {
			t.Fatalf("%s: %d statements, want %d: %q", name, len(got), len(want.Stmts), got)
		}
		for i, s := range want.Stmts {
			if got[i] != ast.Text(s) {
				t.Errorf("%s: statement %d is %s, want %s", name, i, got[i], ast.Text(s))
			}
		}
	}
}

func TestStatementsReadsMoreThanItHolds(t *testing.T) {
	const n = 20_000
	r, w := io.Pipe()
	go func() {
		for i := range n {
			fmt.Fprintf(w, "INSERT INTO t { id: %d, text: '%s' };\n", i, strings.Repeat("x;", i%40))
		}
		w.Close()
	}()
	got, err := collect(r, StreamOptions{})
	if err != nil || len(got) != n {
		t.Fatalf("%d statements, %v; want %d", len(got), err, n)
	}
}

// A stream of long statements parses little more than once what it reads.
func TestStatementsOfOneLength(t *testing.T) {
	text := strings.Repeat("INSERT ["+strings.Repeat("{ a: 1, b: 'two' }, ", 15_000)+"];\n", 12)
	polls := 0
	opt := Options{Poll: func() error { polls++; return nil }}
	if _, err := Query(text, opt); err != nil {
		t.Fatal(err)
	}
	once := polls
	polls = 0
	got, err := collect(strings.NewReader(text), StreamOptions{Options: opt})
	if err != nil || len(got) != 12 {
		t.Fatalf("%d statements, %v", len(got), err)
	}
	if polls > once*3/2 {
		t.Errorf("the stream looked %d times whether to go on, the parser of the whole text %d times", polls, once)
	}
}

func TestStatementsFailures(t *testing.T) {
	long := "RETURN [" + strings.Repeat("1,", 200_000) + "]"
	for _, tc := range []struct {
		name, text string
		max        int
		read       int
		want       string
	}{
		{"an error names its line in the whole text", "RETURN 1;\n\nRETURN 2 3;", 0, 1, "[3:10]"},
		{"an error after another statement on the line", "RETURN 'é'; RETURN 2 3;", 0, 1, "[1:22]"},
		{"the excerpt is the whole line", "RETURN 'é'; RETURN 2 3;", 0, 1, "1 | RETURN 'é'; RETURN 2 3;\n  |                      ^"},
		{"the excerpt of a long line is its end",
			"RETURN '" + strings.Repeat("é", 400) + "'; RETURN 1; RETURN 2 3;", 0, 2,
			"[1:431]\n  |\n1 | ... RETURN 2 3;"},
		{"a statement over the limit", "RETURN 1;\n" + long + ";", 1000, 1, "line 2 is longer than the limit of 1000 bytes"},
		{"a statement under the limit", "RETURN 1;\n" + long + ";", 1 << 20, 2, ""},
		{"an open string", "RETURN 1; RETURN 'a", 0, 1, "expected string to end"},
		{"bytes that are no text", "RETURN 1;\nRETURN 'a\xff'; RETURN 2", 0, 1, "line 2 is not valid UTF-8"},
		{"a missing semicolon", "RETURN 1 RETURN 2", 0, 0, "forgot a semicolon"},
	} {
		got, err := collect(strings.NewReader(tc.text), StreamOptions{MaxStatement: tc.max})
		if len(got) != tc.read {
			t.Errorf("%s: read %d statements, want %d", tc.name, len(got), tc.read)
		}
		switch {
		case tc.want == "" && err != nil:
			t.Errorf("%s: %v", tc.name, err)
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("%s: got %v, want %s", tc.name, err, tc.want)
		}
	}
}

// The line of a statement that does not parse is where it begins.
func TestLineOfAFailure(t *testing.T) {
	s := Statements(strings.NewReader("RETURN 1;\n\n\nRETURN\n2 3;"), StreamOptions{})
	for {
		if _, _, err := s.Next(); err != nil {
			break
		}
	}
	if s.Line() != 4 {
		t.Errorf("line %d", s.Line())
	}
}

func TestStatementsPassesReadErrors(t *testing.T) {
	broken := errors.New("broken")
	_, err := collect(io.MultiReader(strings.NewReader("RETURN 1; RET"), iotest.ErrReader(broken)), StreamOptions{})
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}
