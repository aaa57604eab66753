package parse

import (
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine/ast"
)

func TestPath(t *testing.T) {
	for in, want := range map[string]string{
		"a": "a", "a.b.c": "a.b.c", "a.*": "a.*", "a[*]": "a.*", "a[0]": "a[0]", "a[-1]": "a[-1]", "a[$]": "a[$]",
		"a['b']":  "a['b']",
		"`a b`.c": "`a b`.c", "a…": "a…", "a.?.b": "a.?.b", "@.a": "@.a", "a.{b, c}": "a.{ b, c }",
		"a.{b.{c}, d.*}":       "a.{ b.{ c }, d.* }",
		"->knows->person.name": "->knows->person.name", "<-a": "<-a", "<->a": "<->a", "->?": "->?",
		"->(a, b)": "->(a, b)", "->a:1..5": "->a:1..5",
		"select": "`select`", " a . b ": "a.b", "rand": "`rand`",
	} {
		id, err := Path(in)
		if err != nil || ast.Text(id) != want {
			t.Errorf("%s: got %v, %v; want %s", in, id, err, want)
		}
	}
}

// TestPathsHoldNoCode: what a path of the language may evaluate is refused in a path that comes as text.
func TestPathsHoldNoCode(t *testing.T) {
	for _, in := range []string{
		"", "*", "1", "a b", "a; b", "a + 1", "(a)", "a[({DEFINE USER x ON ROOT PASSWORD 'x' ROLES OWNER; 1})]",
		"a[(CREATE t:1).len()]", "a[CREATE t]",
		"a[WHERE b = 1]", "a[WHERE true]", "a[?b]", "a[?true]", "a[$x]", "a[b]", "a[1 + 1]", "a[rand()]", "a[[1]]",
		"a[fn::f()]", "a[{ 1 }]", "a[|$x| $x]",
		"a.len()", "a.map(|$x| $x)", "a()", "rand()", "time::now()", "fn::f()", "a.{b: c}", "a.{b: 1}",
		"a.{b: (CREATE t)}", "a.{b.{c: rand()}}",
		"a.{1..3}", "a.{1..3}(->b)", "a.{1..3+collect}", "a.@", "->(a WHERE true)", "->(SELECT * FROM a)",
		"->(a LIMIT 1)", "->(a ORDER BY b)",
		"->(a AS b)", "->a[WHERE true]", "->a.f()", "->a:[rand()]..", "->a:rand()..", "->a:[(CREATE t)]..", "t:1.a",
		"a[/x/]..", "function() { return 1 }",
		"a[<int>'1']", "a\x00(", "a.b" + strings.Repeat(".b", MaxDataText),
	} {
		if id, err := Path(in); err == nil {
			t.Errorf("%s: got %s", in, ast.Text(id))
		}
	}
}

func TestTextsOfDataAreBounded(t *testing.T) {
	if _, err := RecordID("a:" + strings.Repeat("b", MaxDataText)); err == nil {
		t.Error("a record id of more than the limit is read")
	}
	if _, err := RecordID("a:" + strings.Repeat("b", MaxDataText-2)); err != nil {
		t.Error(err)
	}
	if _, err := Path("a" + strings.Repeat(".b", 1000)); err != nil {
		t.Error(err)
	}
}

// FuzzPath holds that a path that is read holds nothing to evaluate, and prints to a text that is read as the same
// path.
func FuzzPath(f *testing.F) {
	for _, s := range []string{"a.b[0].*", "a['x'].{b, c.{d}}", "->a->(b, c):1..2", "@.a[$]…?", "`a b`.⟨c⟩", "a[({1})]",
		"a.f(1)", "->(a WHERE b)", "<~a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := Path(text)
		if err != nil {
			return
		}
		checkConstant(t, text, id)
		again, err := Path(ast.Text(id))
		if err != nil || ast.Text(again) != ast.Text(id) {
			t.Fatalf("%q gives %s, then %v (%v)", text, ast.Text(id), again, err)
		}
	})
}

// FuzzRecordText holds the same for record ids: their keys are literals.
func FuzzRecordText(f *testing.F) {
	for _, s := range []string{"a:1", "a:[1, {b: c:1}]", "a:u'018f0d3e-6f3b-7aaa-8aaa-1234567890ab'", "a:-5", "a:1..=2",
		"a:[rand()]", "a:{ b: /x/ }", "a:[r'b:[1]']", "a:['x', $x]", "a:{1, 2}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := newParser(text, Options{Depth: ValueDepth, MaxBytes: MaxDataText, constants: true})
		if p.err != nil {
			return
		}
		x := p.recordText()
		if p.err == nil {
			checkConstant(t, text, x)
		}
		if v, err := RecordID(text); err == nil {
			if again, err := RecordID(v.Text()); err != nil || again.Text() != v.Text() {
				t.Fatalf("%q gives %s, then %s (%v)", text, v.Text(), again.Text(), err)
			}
		}
	})
}

// checkConstant fails where a tree holds more than literals and what is made of them.
func checkConstant(t *testing.T, text string, node any) {
	t.Helper()
	ast.Inspect(node, func(n any) bool {
		switch n.(type) {
		case *ast.Call, *ast.Closure, *ast.Block, *ast.Subquery, *ast.Script, *ast.Binary, *ast.Unary, *ast.Cast,
			*ast.Mock, *ast.KeyGen, *ast.PartMethod,
			*ast.PartCall, *ast.PartWhere, *ast.PartRecurse, *ast.PartRepeat, *ast.PartStart, ast.Statement:
			t.Fatalf("%q holds %T", text, n)
		}
		return true
	})
}
