package parse

import (
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

func TestPrecedence(t *testing.T) {
	for in, want := range map[string]string{
		"1 + 2 * 3 ** 4":        "(1 + (2 * (3 ** 4)))",
		"2 ** 3 ** 2":           "((2 ** 3) ** 2)",
		"a OR b AND c = d":      "(a OR (b AND (c = d)))",
		"a = b IN c":            "(a = (b INSIDE c))",
		"a IS NOT b":            "(a != b)",
		"a NOT IN b":            "(a NOTINSIDE b)",
		"NONE ?? 2 * 5":         "(NONE ?? (2 * 5))",
		"a ?? b ?: c":           "((a ?? b) ?: c)",
		"1 + 2..5":              "(1 + (2..5))",
		"-a ** 2":               "((-a) ** 2)",
		"<string>1 + 'a'":       "((<string> 1) + 'a')",
		"<int>a..b":             "(<int> (a..b))",
		"!a.b":                  "(!a.b)",
		"-1.abs()":              "(-1).abs()",
		"a - b - c":             "((a - b) - c)",
		"a - (b - c)":           "(a - (b - c))",
		"1 .. + 2":              "((1..) + 2)",
		"a × b ÷ c":             "((a * b) / c)",
		"a @1,OR@ b AND c":      "((a @1,OR@ b) AND c)",
		"a <|2,COSINE|> b OR c": "((a <|2,COSINE|> b) OR c)",
		"$f(1)(2).x":            "(($f)(1))(2).x",
		"SELECT * FROM a + 1":   "((SELECT * FROM a) + 1)",
		"|$x| $x + 1":           "|$x: any| ($x + 1)",
	} {
		x, err := Expr(in, Options{})
		if in == "SELECT * FROM a + 1" { // the target is the sum
			want = "(SELECT * FROM (a + 1))"
		}
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if got := grouped(x); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

// grouped is the text of x with parentheses around every operator.
func grouped(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Binary:
		op := strings.TrimPrefix(ast.Text(&ast.Binary{Op: x.Op, L: &ast.Param{Name: "l"}, R: &ast.Param{Name: "r"},
			KNN: x.KNN, Match: x.Match}), "$l ")
		return "(" + grouped(x.L) + " " + strings.TrimSuffix(op, " $r") + " " + grouped(x.R) + ")"
	case *ast.Unary:
		op := strings.TrimSuffix(ast.Text(&ast.Unary{Op: x.Op, X: &ast.Param{Name: "r"}}), "$r")
		return "(" + op + grouped(x.X) + ")"
	case *ast.Cast:
		return "(<" + x.Type.String() + "> " + grouped(x.X) + ")"
	case *ast.Range:
		out := "("
		if x.Start != nil {
			out += grouped(x.Start)
		}
		out += ".."
		if x.End != nil {
			out += grouped(x.End)
		}
		return out + ")"
	case *ast.Closure:
		return strings.TrimSuffix(ast.Text(&ast.Closure{Params: x.Params, Returns: x.Returns,
			Body: &ast.Param{Name: "r"}}), "$r") + grouped(x.Body)
	case *ast.Subquery:
		if s, ok := x.Stmt.(*ast.Select); ok {
			return "(SELECT * FROM " + grouped(s.From[0]) + ")"
		}
	}
	return ast.Text(x)
}

func TestLimits(t *testing.T) {
	mib := 1 << 20
	for name, text := range map[string]string{
		"parentheses": "RETURN " + strings.Repeat("(", mib),
		"brackets":    "RETURN " + strings.Repeat("[", mib),
		"braces":      "RETURN " + strings.Repeat("{", mib),
		"objects":     "RETURN " + strings.Repeat("{a:", mib/3),
		"prefixes":    "RETURN " + strings.Repeat("!", mib) + "1",
		"signs":       "RETURN " + strings.Repeat("- ", mib) + "a",
		"casts":       "RETURN " + strings.Repeat("<int>", mib/5) + "1",
		"sums":        "RETURN 1" + strings.Repeat("+1", mib/2),
		"calls":       "RETURN $a" + strings.Repeat("()", mib/2),
		"ranges":      "RETURN " + strings.Repeat("1..", mib/3),
		"types":       "LET $x: " + strings.Repeat("array<", mib/6),
		"unions":      "LET $x: " + strings.Repeat("[int|", mib/5),
		"destructure": "RETURN a." + strings.Repeat("{b.", mib/3),
		"closures":    "RETURN " + strings.Repeat("|$x|", mib/4),
		"selects":     "RETURN " + strings.Repeat("(SELECT * FROM ", mib/15),
		"ifs":         strings.Repeat("IF a THEN ", mib/10),
		"elses":       "IF a {} " + strings.Repeat("ELSE IF b {} ", mib/13),
		"graphs":      "RETURN a" + strings.Repeat("->(b WHERE c", mib/12),
		"recursion":   "RETURN a" + strings.Repeat(".{1}(->b", mib/8),
		"explains":    strings.Repeat("EXPLAIN ", mib/8),
		"views":       "DEFINE TABLE a AS " + strings.Repeat("(", mib),
		"paths":       "UPDATE a SET a" + strings.Repeat(".a", mib/2) + " = 1",
		"fields":      "SELECT a" + strings.Repeat(".a", mib/2) + " FROM t",
		"definitions": "DEFINE FIELD a" + strings.Repeat(".a", mib/2) + " ON t",
		"statements":  strings.Repeat("RETURN ", mib/7),
	} {
		q, err := Query(text, Options{})
		if err == nil {
			if name != "elses" {
				t.Errorf("%s: 1 MiB of it parses", name)
			}
			ast.Text(q)
			continue
		}
		if e := errs.As(err); e.Kind != errs.KindValidation || !strings.HasPrefix(e.Msg, "Parse error: ") ||
			len(e.Msg) > 1000 {
			t.Errorf("%s: got %.200s", name, e.Msg)
		}
	}
	if _, err := Query("RETURN 1", Options{MaxBytes: 5}); err == nil {
		t.Error("a text over MaxBytes parses")
	}
	if _, err := Query("RETURN '\xff'", Options{}); err == nil {
		t.Error("bytes that are no UTF-8 parse")
	}
}

func TestValue(t *testing.T) {
	for in, want := range map[string]string{
		"5":                                      "5",
		" [1, 'a', { b: NONE }] ":                "[1, 'a', { b: NONE }]",
		"{ type: 'Point', coordinates: [1, 2] }": "(1, 2)",
		"{2, 1, 1}":                              "{1, 2}",
		"a:[1, b:c]":                             "a:[1, b:c]",
		"a:1..=3":                                "a:1..=3",
		"1>..":                                   "1>..",
		"{ b: 1, a: 2, b: 3 }":                   "{ a: 2, b: 3 }",
		strings.Repeat("[", 50) + strings.Repeat("]", 50): strings.Repeat("[", 50) + strings.Repeat("]", 50),
	} {
		v, err := Value(in)
		if err != nil || v.Text() != want {
			t.Errorf("%s: got %s, %v; want %s", in, v.Text(), err, want)
		}
	}
	for _, in := range []string{"", "a", "1 + 1", "$x", "time::now()", "(SELECT * FROM a)", "a:rand()", "<int>1", "1 2",
		"-a", "|a:3|", "{ a: b }"} {
		if v, err := Value(in); err == nil {
			t.Errorf("%q: got %s, want an error", in, v.Text())
		}
	}
	params := func(name string) (value.Value, bool) { return value.Int(7), name == "x" }
	if v, err := ValueWith("[$x]", params); err != nil || v.Text() != "[7]" {
		t.Errorf("[$x]: got %s, %v", v.Text(), err)
	}
	if _, err := ValueWith("[$y]", params); err == nil {
		t.Error("an unknown parameter is taken")
	}
}

// TestExcerpts: dots behind what an excerpt shows of a line take no more room than the dots before it left.
func TestExcerpts(t *testing.T) {
	for _, tc := range []struct {
		before, after int
		want          string
	}{
		{0, 69, "RETURN a 5 " + strings.Repeat("b", 69)},
		{0, 70, "RETURN a 5 " + strings.Repeat("b", 66) + "..."},
		{60, 68, "...aaaaaaaaa 5 " + strings.Repeat("b", 68)},
		{60, 69, "...aaaaaaaaa 5 " + strings.Repeat("b", 62) + "..."},
	} {
		_, err := Query("RETURN a"+strings.Repeat("a", tc.before)+" 5 "+strings.Repeat("b", tc.after), Options{})
		if err == nil {
			t.Fatal("it parses")
		}
		if _, got, _ := strings.Cut(strings.Split(err.Error(), "\n")[3], "| "); got != tc.want {
			t.Errorf("%d before, %d after:\n got %q\nwant %q", tc.before, tc.after, got, tc.want)
		}
	}
}

func TestRecordID(t *testing.T) {
	for in, want := range map[string]string{
		"a:1": "a:1", "a:b": "a:b", " a:1": "a:1", "a:1 ": "a:1", "a:⟨b c⟩": "a:`b c`",
		"select:1": "select:1", "a:{b: 'c'}": "a:{ b: 'c' }", "a:-5": "a:-5", "a:1..2": "a:1..2", "a:[b:1]": "a:[b:1]",
	} {
		if v, err := RecordID(in); err != nil || v.Text() != want {
			t.Errorf("%s: got %s, %v; want %s", in, v.Text(), err, want)
		}
	}
	for _, in := range []string{"", "a", "a:", "1:1", "a:$x", "a:'b'", "a:[1 + 1]", "a:[time::now()]", "a:[b]", "a:1 b",
		"a:b-c", "a:rand()", "a:ulid()", "a: 5",
		"a:[(RETURN 1)]", "a:[|$x| $x]", "a:[/x/]", "a:[fn::f()]", "a:{ b: { RETURN 1 } }", "a:[$x]", "a:[b.c]",
		"a:[->b->c]", "a:[<int>'1']",
		"a:[!true]", "a:[function() { return 1 }]", "a:[math::pi]", "a:[|b:3|]", "a:['x'.len()]", "a:[-1h]", "(a:1)",
		"r'a:1'", "a:1; b:2"} {
		if v, err := RecordID(in); err == nil {
			t.Errorf("%q: got %s, want an error", in, v.Text())
		}
	}
}

func TestGrammarOfLaterReleases(t *testing.T) {
	for _, text := range []string{
		"ALTER USER u ON ROOT PASSWORD 'x' ROLES OWNER, EDITOR DURATION FOR TOKEN 1h, FOR SESSION NONE DROP COMMENT",
		"ALTER EVENT e ON t WHEN $event = 'CREATE' THEN (CREATE log), { 1 } ASYNC RETRY 2 MAXDEPTH 3",
		"ALTER ACCESS a ON DATABASE DURATION FOR GRANT 1d, FOR TOKEN 1h AUTHENTICATE { 1 }",
		"ALTER PARAM $x VALUE 1 PERMISSIONS NONE COMMENT 'c'",
		"ALTER FUNCTION fn::a::b PERMISSIONS FULL DROP COMMENT",
		"ALTER ANALYZER a TOKENIZERS BLANK FILTERS NGRAM(1,2), LOWERCASE DROP FUNCTION",
		"ALTER BUCKET b READONLY BACKEND 'memory' DROP READONLY",
		"ALTER API '/x' COMMENT 'c'",
		"ALTER API IF EXISTS '/x' FOR get, post MIDDLEWARE api::timeout(1s) PERMISSIONS NONE THEN { 1 } FOR any PERMISSIONS FULL DROP FOR put, patch DROP COMMENT",
		"ALTER CONFIG IF EXISTS GRAPHQL TABLES INCLUDE a, b FUNCTIONS NONE DEPTH 3 COMPLEXITY 4 INTROSPECTION NONE DROP DEPTH DROP TABLES",
		"ALTER CONFIG API MIDDLEWARE api::timeout(1s) PERMISSIONS NONE DROP MIDDLEWARE",
		"ALTER CONFIG DEFAULT NAMESPACE a DATABASE b DROP DATABASE",
		"ALTER SEQUENCE s DROP TIMEOUT",
		"REMOVE CONFIG IF EXISTS GRAPHQL",
		"DEFINE INDEX i ON t FIELDS v DISKANN DIMENSION 3 DIST COSINE TYPE I8 DEGREE 3 L_BUILD 4 ALPHA 1.2f HASHED_VECTOR",
		"DEFINE INDEX i ON t FIELDS v DEFER",
		"RELATE OR UPDATE a:1 -> b -> c:1 SET x = 1",
		"DEFINE MODEL ml::a::b<1.0.0> PERMISSIONS FULL",
		"REMOVE MODEL ml::a<1>",
	} {
		q, err := Query(text, Options{})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := ast.Text(q); got != text {
			t.Errorf("got  %s\nwant %s", got, text)
		}
	}
}

func TestResolver(t *testing.T) {
	impl := new(int)
	res := fakeResolver{"math::abs": impl}
	x, err := Expr("MATH::Abs (-1)", Options{Resolver: res})
	if err != nil {
		t.Fatal(err)
	}
	c, ok := x.(*ast.Call)
	if !ok || c.Path != "math::abs" || c.Impl != any(impl) {
		t.Errorf("got %#v", x)
	}
	if x, err = Expr("math::PI", Options{Resolver: res}); err != nil {
		t.Fatal(err)
	}
	if k, ok := x.(*ast.Constant); !ok || k.Value.Float() != 3 {
		t.Errorf("got %#v", x)
	}
}

// fakeResolver knows a few functions, and math::pi.
type fakeResolver map[string]any

func (r fakeResolver) Function(path string) (any, bool) { f, ok := r[path]; return f, ok }
func (r fakeResolver) Constant(path string) (value.Value, bool) {
	return value.Float(3), path == "math::pi"
}
func (r fakeResolver) Names() []string { return []string{"math::abs", "math::pi"} }
