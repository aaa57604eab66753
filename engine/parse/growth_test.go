package parse

import (
	"errors"
	"fmt"
	"runtime/metrics"
	"strconv"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine/ast"
)

// shape is a text that grows: head, then piece n times with sep between, then tail. %d in a piece is a number, each
// time another one.
type shape struct{ head, piece, sep, tail string }

func (s shape) of(n int) string {
	if !strings.Contains(s.piece, "%d") {
		return s.head + strings.Repeat(s.piece+s.sep, n-1) + s.piece + s.tail
	}
	var b strings.Builder
	b.WriteString(s.head)
	for i := range n {
		if i > 0 {
			b.WriteString(s.sep)
		}
		b.WriteString(strings.ReplaceAll(s.piece, "%d", strconv.Itoa(i)))
	}
	return b.String() + s.tail
}

// shapes are what a text may have many of, whether it parses or not.
func shapes() []shape {
	return []shape{
		{"RETURN fn", "::a", "", "()"}, {"RETURN a", "::a", "", "()"}, {"RETURN A", "::`b`", "", ""},
		{"RETURN silo::a<1.0.0>", "::a", "", "()"},
		{"DEFINE FUNCTION fn", "::a", "", "() { 1 }"}, {"REMOVE FUNCTION fn", "::a", "", ""},
		{"DEFINE MODULE mod", "::a", "", " AS f'b:/k'"},
		{"RETURN [", "/(((a|b)*c){9}){9}/", ",", "]"}, {"RETURN [", `/\w\d\s/`, ",", "]"}, {"RETURN /", "(", "", "/"},
		{"RETURN /", "[a-z]", "", "/"},
		{"RETURN /", "a", "", ""}, {"RETURN function() {", "'{'", "", "}"}, {"RETURN function() {", "{", "", ""},
		{"RETURN ", "(", "", ""},
		{"RETURN ", "[", "", ""}, {"RETURN ", "{a:", "", ""}, {"RETURN ", "-", " ", "1"}, {"RETURN ", "!", "", "true"},
		{"RETURN ", "<int>", "", "1"},
		{"RETURN ", "1", "+", ""}, {"RETURN ", "a", ".", ""}, {"RETURN a", "[0]", "", ""}, {"RETURN a", "->b", "", ""},
		{"RETURN a", "...", "", ""},
		{"RETURN a", ".b()", "", ""}, {"RETURN a.{", "b", ",", "}"}, {"RETURN a.{", "b.{", "", ""},
		{"RETURN ", "'a'", ",", ""}, {"RETURN [", "'a'", ",", "]"},
		{"RETURN [", "(1,2)", ",", "]"}, {"RETURN [", "(1)", ",", "]"}, {"RETURN [", "1.5dec", ",", "]"},
		{"RETURN [", "1h", ",", "]"}, {"RETURN ", "1h", "", ""},
		{"RETURN ", "9", "", "dec"}, {"RETURN 0.", "9", "", "dec"}, {"RETURN ", "9", "", "f"},
		{"RETURN 1", "_0", "", ""}, {"RETURN '", `\n`, "", "'"},
		{"RETURN '", `\u{1F600}`, "", "'"}, {"RETURN ", "'", "", ""}, {"RETURN `", "\\`", "", "`"},
		{"RETURN b'", "00", "", "'"}, {"RETURN f'b:/", `\ `, "", "'"},
		{"RETURN [", "r'a:1'", ",", "]"}, {"RETURN [", "a:⟨b⟩", ",", "]"}, {"RETURN r'a:[", "1", ",", "]'"},
		{`RETURN r'a:[`, `\"x\"`, ",", "]'"},
		{"RETURN {", "a: 1", ",", "}"}, {"RETURN {", "1", ",", "}"}, {"RETURN {", "'a': {'b':1}", ",", "}"},
		{"RETURN {", "LET $a = 1", ";", "}"},
		{"", ";", "", ""}, {"", "RETURN 1", ";", ""}, {"", "BEGIN", ";", ""}, {"", "BEGIN; COMMIT", ";", ""},
		{"", "OPTION IMPORT", ";", ""},
		{"", "#\n", "", "RETURN 1"}, {"", "/**/", "", "RETURN 1"}, {"", "/*", "", ""}, {"", "--\n", "", "?"},
		{"", "\u00a0", "", "?"}, {"", "\n", "", "?"},
		{"SELECT ", "a", ",", " FROM t"}, {"SELECT ", "a AS b", ",", " FROM t"}, {"SELECT * FROM ", "t", ",", ""},
		{"SELECT * FROM t ORDER BY ", "a", ",", ""},
		{"SELECT * FROM t GROUP BY ", "a", ",", ""}, {"SELECT * FROM t SPLIT ", "a", ",", ""},
		{"SELECT * FROM t FETCH ", "a", ",", ""},
		{"SELECT * OMIT ", "a", ",", " FROM t"}, {"SELECT * FROM t WITH INDEX ", "a", ",", ""},
		{"SELECT * FROM t WHERE ", "a = 1", " AND ", ""},
		{"SELECT * FROM t", "->(a WHERE b)", "", ""}, {"UPDATE t SET ", "a = 1", ",", ""},
		{"UPDATE t UNSET ", "a", ",", ""}, {"UPDATE t SET a", "[WHERE b]", "", " = 1"},
		{"INSERT INTO t (", "a", ",", ") VALUES (1)"}, {"INSERT INTO t (a) VALUES ", "(1)", ",", ""},
		{"INSERT INTO t ", "{a:1}", ",", ""},
		{"INSERT INTO t {a: 1} ON DUPLICATE KEY UPDATE ", "a = 1", ",", ""}, {"RELATE ", "a", "->", ""},
		{"IF a {1} ", "ELSE IF a {1}", " ", ""},
		{"IF a THEN 1 ", "ELSE IF a THEN 1", " ", " END"}, {"DEFINE TABLE t ", "COMMENT 'x'", " ", ""},
		{"DEFINE TABLE t PERMISSIONS ", "FOR select NONE", ",", ""},
		{"DEFINE FIELD a", ".b", "", " ON t"}, {"DEFINE FIELD a ON t TYPE ", "int", "|", ""},
		{"DEFINE FIELD a ON t TYPE ", "array<", "", ""},
		{"DEFINE FIELD a ON t TYPE record<", "b", "|", ">"}, {"DEFINE FIELD a ON t TYPE {", "a: int", ",", "}"},
		{"DEFINE INDEX i ON t FIELDS ", "a", ",", ""},
		{"DEFINE ANALYZER a FILTERS ", "lowercase", ",", ""}, {"DEFINE ANALYZER a TOKENIZERS ", "blank", ",", ""},
		{"DEFINE EVENT e ON t THEN ", "(1)", ",", ""},
		{"DEFINE USER u ON ROOT PASSWORD 'p' ROLES ", "OWNER", ",", ""},
		{"DEFINE FUNCTION fn::f(", "$a: int", ",", ") { 1 }"}, {"RETURN |", "$a", ",", "| 1"},
		{"RETURN fn::f(", "1", ",", ")"}, {"DEFINE API '/a' ", "FOR get THEN 1", " ", ""},
		{"DEFINE API '/a' FOR ", "get", ",", " THEN 1"},
		{"ALTER TABLE t ", "COMMENT 'x'", " ", ""}, {"RETURN ", "1..", "", "2"}, {"RETURN a", " ?? b", "", ""},
		{"RETURN [", "|t:3|", ",", "]"},
		{"RETURN {type: 'LineString', coordinates: [", "[1,2]", ",", "]}"},
		{"RETURN {type: 'Polygon', coordinates: [[", "[1,2]", ",", "]]}"},
		{"RETURN ", "a(", "", ""}, {"RETURN ", "$a", " = ", ""}, {"LET $a = ", "1", " < ", ""},
		{"RETURN ", "RETURN ", "", "1"}, {"", "EXPLAIN ", "", "SELECT 1"},
		{"RETURN count(", "(", "", ""}, {"RETURN a.{1..2}(", "->b", "", ")"}, {"RETURN ", "x", "", ""},
		{"RETURN $", "x", "", ""}, {"RETURN a:", "1", "", ""}, {"RETURN a:", "x", "", ""},
		{"DEFINE FIELD a ON t TYPE ", "%d", "|", ""}, {"DEFINE FIELD a ON t TYPE ", "'v%d'", "|", ""},
		{"DEFINE FIELD a ON t TYPE record<", "t%d", "|", ">"},
		{"DEFINE FIELD a ON t TYPE {", "f%d: int", ",", "}"}, {"DEFINE TABLE t TYPE RELATION FROM ", "t%d", "|",
			" TO x"}, {"RETURN {", "%d", ",", "}"},
		{"RETURN {", "k%d: 1", ",", "}"}, {"SELECT ", "f%d AS g%d", ",", " FROM t GROUP ALL"},
		{"SELECT * FROM t GROUP BY ", "f%d", ",", ""},
		{"SELECT * FROM t OMIT ", "f%d", ",", ""}, {"DEFINE INDEX i ON t FIELDS ", "f%d", ",", ""},
		{"RETURN |", "$p%d", ",", "| 1"},
		{"DEFINE FUNCTION fn::f(", "$p%d: int", ",", ") { 1 }"}, {"INSERT INTO t (", "f%d", ",", ") VALUES (1)"},
		{"", "LET $v%d = 1", ";", ""},
		{"DEFINE ACCESS a ON DATABASE TYPE RECORD ", "COMMENT 'c%d'", " ", ""},
		{"DEFINE USER u ON ROOT PASSWORD 'p' ROLES ", "r%d", ",", ""},
		{"RETURN [", "/a%d/", ",", "]"}, {"RETURN [", "t%d:1", ",", "]"}, {"RETURN [", "'x%d'", ",", "]"},
		{"RETURN [", "f%d()", ",", "]"},
	}
}

// effort is what a parse of text takes: bytes that it read, and bytes that were allocated for parsing and printing.
func effort(text string) (read, allocated uint64) {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	before := s[0].Value.Uint64()
	p := newParser(text, Options{})
	q := &ast.Query{}
	if p.err == nil {
		q.Stmts = p.statements()
	}
	if p.err != nil {
		_ = p.failure().Error()
	} else {
		_ = ast.Text(q)
	}
	metrics.Read(s)
	return uint64(p.work), s[0].Value.Uint64() - before
}

// TestEffortGrowsWithTheText holds that twice the text takes about twice the work, for texts of up to a mebibyte that
// repeat one thing. The measure is bytes, not time.
func TestEffortGrowsWithTheText(t *testing.T) {
	const size = 1 << 20
	for _, s := range shapes() {
		n := max(2, size/(len(s.piece)+len(s.sep)))
		text := s.of(n)
		read, allocated := effort(text)
		// A pattern counts 16 times; nothing else is read more than a few times.
		if limit := uint64(20 * len(text)); read > limit {
			t.Errorf("%s: %d bytes are read as %d", s.of(2), len(text), read)
		}
		_, half := effort(s.of(n / 2))
		if slack := uint64(8 << 20); allocated > 5*half/2+slack {
			t.Errorf("%s: %d bytes allocate %d KiB, half as much allocates %d KiB", s.of(2), len(text), allocated>>10, half>>10)
		}
		if allocated > 600*uint64(len(text)) {
			t.Errorf("%s: %d bytes allocate %d KiB", s.of(2), len(text), allocated>>10)
		}
	}
}

func TestPathsAreBounded(t *testing.T) {
	for _, head := range []string{"RETURN fn::a", "RETURN a", "RETURN mod::a", "RETURN silo::a<1.0.0>::m"} {
		for n, ok := range map[int]bool{30: true, 33: false} {
			_, err := Query(head+strings.Repeat("::a", n)+"()", Options{})
			if (err == nil) != ok {
				t.Errorf("%s and %d parts more: %v", head, n, err)
			}
			if !ok && err != nil && !strings.Contains(err.Error(), fmt.Sprintf("at most %d parts", maxPath)) {
				t.Errorf("%s: %v", head, err)
			}
		}
	}
}

// TestParserAsks holds that no text keeps the parser from asking whether it should go on: it asks after each piece of
// the text, and ends with the error that it gets.
func TestParserAsks(t *testing.T) {
	gone := errors.New("gone")
	for _, s := range shapes() {
		text := s.of(max(2, (1<<18)/(len(s.piece)+len(s.sep))))
		asked := 0
		_, err := Query(text, Options{Poll: func() error {
			asked++
			return gone
		}})
		if asked > 1 {
			t.Errorf("%s: asked %d times", s.of(2), asked)
		}
		if (asked == 1) != errors.Is(err, gone) {
			t.Errorf("%s: asked %d times, got %v", s.of(2), asked, err)
		}
	}
	for _, text := range []string{"RETURN [" + strings.Repeat("1,", 1<<17) + "]",
		"RETURN [" + strings.Repeat(`/\w(a|b){9}/,`, 1<<14) + "]"} {
		if _, err := Query(text, Options{Poll: func() error { return gone }}); !errors.Is(err, gone) {
			t.Errorf("%.20s: %v", text, err)
		}
	}
}

func TestRegexesOfATextAreBounded(t *testing.T) {
	if _, err := Query("RETURN ["+strings.Repeat(`/^[\w.+-]+@[\w-]+$/,`, 2000)+"]", Options{}); err != nil {
		t.Errorf("two thousand patterns of a usual size: %v", err)
	}
	_, err := Query("RETURN ["+strings.Repeat("/(((a|b)*c){9}){9}/,", 4000)+"]", Options{})
	if err == nil || !strings.Contains(err.Error(), "too large together") {
		t.Errorf("got %v", err)
	}
}
