package gql

import (
	_ "embed"
	"errors"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/parse"
)

//go:embed testdata/programs.txt
var programs string

func texts() []string { return strings.Split(strings.TrimSpace(programs), "\n") }

// TestPrintIsFixedPoint holds parser and printer to each other: what is printed parses, and prints as it did.
func TestPrintIsFixedPoint(t *testing.T) {
	for _, text := range texts() {
		p, err := Parse(text, Options{})
		if err != nil {
			t.Errorf("%s\n%v", text, err)
			continue
		}
		once := p.Text()
		again, err := Parse(once, Options{})
		if err != nil {
			t.Errorf("%s\nprints as\n%s\n%v", text, once, err)
			continue
		}
		if got := again.Text(); got != once {
			t.Errorf("%s\nprints as\n%s\nand that as\n%s", text, once, got)
		}
	}
}

func TestErrorsNameThePlace(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"MATCH (p:person) WHERE p.age != 3 RETURN p", "GQL uses `<>` for inequality"},
		{"MATCH (p:person) WHERE 1 < p.age < 9 RETURN p", "Comparison operators cannot be chained"},
		{"MATCH (p:person) RETURN p LIMIT 1 OFFSET 1", "Unexpected `OFFSET` clause"},
		{"MATCH (p:person) RETURN count", "`count` is a reserved word"},
		{"MATCH (a)-[k]->{3,1}(b) RETURN a", "The quantifier maximum must not be smaller than its minimum"},
		{"MATCH (a) WHERE a.name IN ['Ada'] RETURN a", "GQL has no `IN` membership operator"},
		{"MATCH (a) WHERE a.name LIKE 'Ada' RETURN a", "GQL has no `LIKE` operator"},
		{"MATCH (a) SET a.id = 'x'", "`SET` cannot set the reserved `id` key"},
		{"MATCH (a) SET a = {in: 1}", "`SET` cannot set the reserved `in` key"},
		{"MATCH (a) SET a:city", "Label mutation is not supported: a record belongs to exactly one table"},
		{"MATCH (a) REMOVE a:city", "Label mutation is not supported"},
		{"MATCH (a) DELETE a.x", "DELETE expects a bound variable, e.g. `DELETE a`"},
		{"INSERT (a)-[]->(b)", "An INSERT edge requires a label, e.g. `-[:knows]->`"},
		{"INSERT (a {x: 1})", "A new INSERT node requires a label, e.g. `(a:Label {…})`"},
		{"INSERT ()",
			"An INSERT node must declare a label `(a:Label)` or reference a variable bound by a preceding MATCH"},
		{"INSERT (:a)~[:b]~(:c)", "INSERT makes directed edges only"},
		{"INSERT (:a)-[:b]-(:c)", "An INSERT edge requires a direction"},
		{"MATCH (__a) RETURN 1", "Variable names starting with `__` are reserved for internal use"},
		{"RETURN 1 AS __a", "Alias names starting with `__` are reserved for internal use"},
		{"RETURN $__a", "Parameter names starting with `__` are reserved for internal use"},
		{"RETURN $auth", "The parameter name `$auth` is reserved by the engine"},
		{"RETURN $$x", "Substituted parameters (`$$name`) are not supported yet"},
		{"RETURN 99999999999999999999", "Integer literal is too large"},
		{"RETURN 1__0", "digit separators `_` may only stand between digits"},
		{"RETURN 1x", "Unexpected character after a number"},
		{`RETURN '\q'`, "Invalid escape sequence"},
		{`RETURN '\u12'`, "Invalid unicode escape sequence"},
		{`RETURN '\uD800'`, "not a valid unicode code point"},
		{"RETURN 'a\nb'", "may not contain raw newline characters"},
		{"RETURN 'a", "expected the quoted sequence to end"},
		{"RETURN /* a", "expected the comment to end"},
		{"RETURN upperr('a')", "The function `upperr` is not supported yet"},
		{"RETURN sum(*)", "`sum(*)` is not supported; only `count(*)` takes `*`"},
		{"RETURN sum(1, 2)", "`sum` takes exactly one argument"},
		{"RETURN SESSION_USER", "`SESSION_USER` value specification is not supported"},
		{"RETURN a + b IS NULL", "`IS NULL` may only directly follow a simple expression"},
		{"MATCH SHORTEST (a)->+(b) RETURN a", "`SHORTEST` requires a path count"},
		{"MATCH SHORTEST 0 (a)->+(b) RETURN a", "must be a positive integer"},
		{"MATCH (a) RETURN a LIMIT -1", "expected an unsigned integer or a parameter"},
		{"USE x RETURN 1", "`USE` statements are not supported yet"},
		{"DROP GRAPH x", "`DROP` statements are not supported yet"},
		{"hello", "expected a MATCH, INSERT, SET, REMOVE, DELETE or RETURN statement"},
		{"", "expected a MATCH, INSERT, SET, REMOVE, DELETE or RETURN statement"},
		{"RETURN 1 RETURN 2", "Unexpected token `RETURN`, expected the query to end"},
		{"MATCH (a) OPTIONAL RETURN a", "expected `MATCH`, `{` or `(`"},
		{"MATCH (a) OPTIONAL { RETURN a }", "expected `MATCH` or `OPTIONAL`"},
		{"MATCH (a) OPTIONAL { MATCH (a)->(b) RETURN a }", "expected the delimiter `}`"},
		{"RETURN 1 AS a UNION RETURN 2 AS a EXCEPT RETURN 3 AS a", "Set operators of one query must be the same"},
		{"RETURN a::b(1)", "Unexpected token `b`, expected a type"},
		{"RETURN ?", "expected an expression"},
		{"RETURN \x00", "Unexpected character"},
		{"RETURN '\xff'", "not a valid unicode code point"},
	} {
		_, err := Parse(tc.text, Options{})
		var e *errs.Error
		if !errors.As(err, &e) || e.Kind != errs.KindValidation {
			t.Errorf("%q: got %v, want a validation error", tc.text, err)
			continue
		}
		if !strings.HasPrefix(e.Msg, "Parse error: ") || !strings.Contains(e.Msg, tc.want) || !strings.Contains(e.Msg,
			"^") {
			t.Errorf("%q: got %q, want %q with a caret", tc.text, e.Msg, tc.want)
		}
		var place *parse.Error
		if !errors.As(err, &place) || place.Line() < 1 || place.Column() < 1 {
			t.Errorf("%q: the error names no place: %v", tc.text, err)
		}
	}
}

// TestDepthIsBounded nests everything that nests: an error at the limit, never a long recursion.
func TestDepthIsBounded(t *testing.T) {
	const n = 100_000
	for _, tc := range []struct{ start, open, middle, end string }{
		{"RETURN ", "(", "1", ")"}, {"RETURN ", "[", "1", "]"}, {"RETURN ", "{a: ", "1", "}"}, {"RETURN ", "NOT ",
			"TRUE", ""},
		{"RETURN ", "- ", "1", ""}, {"MATCH (a:", "(", "x", ")"}, {"MATCH (a:", "!", "x", ")"}, {"MATCH ", "(", "(a)",
			")"},
		{"RETURN ", "CASE WHEN ", "1", " THEN 1 END"}, {"RETURN ", "VALUE { RETURN ", "1", "}"}, {"", "{ ",
			"RETURN 1", "}"},
		{"RETURN CAST(1 AS ", "LIST<", "INT", ">"}, {"MATCH (a) ", "OPTIONAL { MATCH (a) ", "", "}"}, {"MATCH (a)-/",
			"(", "x", ")"},
		{"RETURN ", "EXISTS ((a WHERE ", "1", "))"}, {"RETURN ", "sum(", "1", ")"}, {"RETURN ", "LET a = ", "1",
			" IN a END"},
	} {
		text := tc.start + strings.Repeat(tc.open, n) + tc.middle + strings.Repeat(tc.end, n)
		_, err := Parse(text, Options{MaxText: 16 << 20})
		if err == nil || !strings.Contains(err.Error(), "Exceeded query expression nesting depth limit") {
			t.Errorf("%s%s…: got %.80v", tc.start, tc.open, err)
		}
	}
	// Left-deep trees are made by loops, and must not recurse too deep later on.
	if _, err := Parse("RETURN "+strings.Repeat("1 + ", 200_000)+"1", Options{}); err == nil {
		t.Error("a chain of 200,000 operators parses")
	}
	if _, err := Parse(strings.Repeat(" ", DefaultMaxText+1), Options{}); err == nil {
		t.Error("a text over the limit parses")
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range texts() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse(text, Options{})
		if err != nil {
			var e *errs.Error
			if !errors.As(err, &e) || e.Kind != errs.KindValidation {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		once := p.Text()
		again, err := Parse(once, Options{MaxText: 64 << 20, MaxDepth: 10 * DefaultMaxDepth})
		if err != nil {
			t.Fatalf("%q prints as\n%s\n%v", text, once, err)
		}
		if got := again.Text(); got != once {
			t.Fatalf("%q prints as\n%s\nand that as\n%s", text, once, got)
		}
	})
}
