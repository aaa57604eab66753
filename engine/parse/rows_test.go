package parse

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/vectors"
)

// insertTexts are INSERT statements whose rows are written out, in part, and not at all.
var insertTexts = append(strings.Split(`INSERT INTO t { a: 1 }
INSERT INTO t {}
INSERT INTO t []
INSERT { id: t:1 }
INSERT INTO t [{ b: 1, a: 2, b: 3, },]
INSERT INTO t [{ a: 'it''s' }]
INSERT INTO t [{ 'a b': "x\ty", "c": s'z', 1: 2, 1.5: 3, select: 4 }, { a: -1, b: +2, c: -1.5e3, d: 1dec }]
INSERT INTO t [{ a: -9223372036854775808, b: 9223372036854775807, c: 1h30m, d: -1h, e: NaN, f: Infinity, g: -Infinity }]
INSERT INTO t [{ id: t:[1, 'a', { b: 2 }], a: r'u:1', b: u:⟨x y⟩, c: u:'z', d: u:1..5, e: u:ulid(), f: u:rand() }]
INSERT INTO t [{ a: { type: 'Point', coordinates: [1, 2] }, b: { coordinates: 1, type: 2 }, c: (1, 2), d: (1.5, -2) }]
INSERT INTO t [{ a: { type: 'GeometryCollection', geometries: [{ type: 'Point', coordinates: [1, 2] }] } }]
INSERT INTO t [{ a: d'2024-01-01T00:00:00Z', b: u'018f0d3e-6f3b-7aaa-8aaa-1234567890ab', c: b'00ff', d: 1..5, e: {1, 2}, f: {,} }]
INSERT INTO t [{ a: -0, b: -0.0, c: 1f, d: -1.5f, e: 1.5dec, f: 1e5, g: 1_0.2_5, h: 007, i: 1.25, j: -1.25 , k: 9007199254740993 }]
INSERT INTO t [{ a: 999999999999999999, b: 1000000000000000000, c: -999999999999999999, d: 1.7976931348623159e309 }]
INSERT INTO t [{ a: true , b: FALSE, c: null, d: NONE, e: "it's", f: 'say "x"', g: d"2024-02-29T01:02:03.5Z" , h: [1,2,] }]
INSERT INTO t [{ a: trueish, b: NONE.x }]
INSERT INTO t [{ a: 1 /* one */, b: 'x' /* two */ , c: [1 /* three */, 2], d: [ 'a' , 'b' ] , }]
INSERT INTO t [{ a: [1, 'b' + 'c', 2], b: [1 , 2 + 3], c: 1..2, d: 'x'..'y' }]
INSERT INTO t [{ a: [1, 2 3], b: 1. }]
INSERT INTO t [{ a: [1, 2 } ]
INSERT INTO t [{ a: 1, b: 2 ] ]
INSERT INTO t [{ a: 1, b:: 2 }]
INSERT INTO t [{ a: 1, b: , c: 2 }]
INSERT INTO t [{ a: 1, b: 2.f }]
INSERT INTO t [{ a: 1, b: 2fx }]
INSERT INTO t [{ a: 1, b: d'2024-13-01T00:00:00Z' }]
INSERT INTO t [{ a: 1, b: 'x
INSERT INTO t [{ a: 1, b: 2, c: { b: { c: [[], [1, [NONE, NULL, true, false]]] } } }]
INSERT INTO t [{ a: 1 }, { a: 1 + 1 }, { a: 2 }]
INSERT INTO t [{ a: 1, b: { c: [1, { d: time::now() }] } }]
INSERT INTO t [{ a: 1 }, $x, t:1, 5]
INSERT INTO t $rows
INSERT INTO t [{ a: 1 }].map(|$x| $x)
INSERT INTO t { a: 1 }.b
INSERT INTO t [{ a: [1, 2].len(), b: 'x'.len(), c: 'a' + 'b' }]
INSERT INTO t [{ a: [1, 2], b: { c: 1 } }, { a: [3, [4]], b: { c: 2 } }, [[5]], { a: [6], b: |$x| $x, d: { c: 3 } }, { a: [7], d: { c: 4 } }]
INSERT INTO t [{ a: [1], b: { c: 1 } }, [[2], { d: [3] }], { a: [4], b: { c: 5 } }, [6], { a: [7, 8], b: { c: 9 }, d: { c: 10 } }]
INSERT INTO t [{ a: [1], b: { c: [2], d: { e: 3 } } }, [{ f: [4] }], { a: [5], b: (INSERT INTO u [{ a: [6], b: { c: 7 } }, [8]]) }, { a: [9] }]
INSERT INTO t [{ id: t:1, a: t:-1, b: t:007, c: t:9223372036854775807, d: t:9223372036854775808, e: t:1h, f: t:1e5, g: t:5.5 }]
INSERT INTO t [{ a: t:x, b: t:_x9, c: _t:X, d: t:select, e: user:one, f: value:1, g: d:1, h: t:1, i: false:1, j: f:x, k: NULLS:1 }]
INSERT INTO t [{ a: t:1.b }, { a: t:x->y->z }]
INSERT INTO t [{ a: t:rand() }, { a: t:ulid }, { a: rand:uuid }]
INSERT INTO t [{ a: t:NaN }]
INSERT INTO t [{ a: 1, b: NaN:1 }]
INSERT INTO t [{ a: 1, b: t: 1 }]
INSERT INTO t [{ a: 1, b: t :1 }]
INSERT INTO t [{ a: 1, b: t::1 }]
INSERT INTO t [{ a: 1, b: t:1..2 }, { a: 1, b: t:1_0 }, { a: 1, b: t:1x }, { a: t:1 /* one */ , b: [t:2, u:3] }]
INSERT INTO t [{ a: { 1 }, b: { RETURN 1 }, c: { LET $x = 1; $x } }]
INSERT INTO t (SELECT * FROM u)
INSERT INTO t ({ a: 1 })
INSERT INTO t (a, b) VALUES (1, 2)
INSERT IGNORE INTO t { a: 1 } ON DUPLICATE KEY UPDATE a = { b: 1, a: 2 } RETURN NONE TIMEOUT 1s
INSERT RELATION INTO t [{ in: a:1, out: b:2 }] RETURN id; INSERT INTO t { a: 1 } VERSION d'2024-01-01T00:00:00Z'
RETURN (INSERT INTO t { b: 1, a: 2 }); { INSERT INTO t { b: 1, a: 2 } }; DEFINE EVENT e ON t THEN { INSERT INTO u { b: 1, a: 2 } }
INSERT INTO t { a: 1 } + 1
(INSERT INTO t { a: 1 })
BEGIN; INSERT INTO t { b: 1, a: 1 }; COMMIT
INSERT INTO t { a: 1 ~ }
INSERT INTO t [{ a: 1 ~ }]
INSERT INTO t [1 ~]
INSERT INTO t { a: }
INSERT INTO t { a: 1
INSERT INTO t [{ a: 'x
INSERT INTO t [{"0
INSERT INTO t [-"0
INSERT INTO t [-1d ~]
INSERT INTO t [[~
INSERT INTO t { a: [1, ~ }
INSERT INTO t { a 1 }
INSERT INTO t { a: 1 b: 2 }
INSERT INTO t [{ a: 1 } { b: 2 }]
INSERT INTO t { a: 12x }
INSERT INTO t { a: d'x' }
INSERT INTO t { a: 'x\q' }
INSERT INTO t { a: 1 } ~
INSERT INTO t [{ a: 1 ] }
INSERT INTO t { 5s: 1 }
INSERT INTO t { a: - }
INSERT INTO t { a: 99999999999999999999 }
INSERT INTO t { a: 
[
]
 }
INSERT INTO t [{ a: 
{ b: 
1
}
 }]`, "\n"),
	"INSERT INTO t { a: "+strings.Repeat("[", 30)+strings.Repeat("]", 30)+" }",
	"INSERT INTO t [{ a: "+strings.Repeat("{ b: ", 17)+"1"+strings.Repeat("}", 17)+" }]",
)

// TestValuesAreRows: with and without Options.Values a text means the same, and fails for the same reason.
func TestValuesAreRows(t *testing.T) {
	for _, text := range insertTexts {
		sameWithValues(t, text)
	}
	for _, v := range vectors.All(t) {
		sameWithValues(t, v.SQL)
	}
	q, err := Query("INSERT INTO t [{ b: 1, a: [t:1, { c: 'x' }] }, { a: 1 }]", Options{Values: true})
	if err != nil {
		t.Fatal(err)
	}
	lit, ok := q.Stmts[0].(*ast.Insert).X.(*ast.Literal)
	if want := "[{ a: [t:1, { c: 'x' }], b: 1 }, { a: 1 }]"; !ok || lit.Value.Text() != want {
		t.Errorf("the rows are %s, want %s", ast.Text(q.Stmts[0].(*ast.Insert).X), want)
	}
}

// TestValuesOfDeepRows: a row that is too deep to be stored keeps its parts, which the others do not overwrite.
func TestValuesOfDeepRows(t *testing.T) {
	deep := "{ a: [1, { b: 2 }], c: " + strings.Repeat("[", 300) + strings.Repeat("]", 300) + " }"
	row := "{ a: [3, { b: 4 }], c: [{ d: 5 }] }"
	want := "[" + strings.Join([]string{row, deep, row, row, row}, ", ") + "]"
	q, err := Query("INSERT INTO t "+want, Options{Values: true, Depth: 1000})
	if err != nil {
		t.Fatal(err)
	}
	lit, ok := q.Stmts[0].(*ast.Insert).X.(*ast.Literal)
	if !ok || lit.Value.Text() != want {
		t.Errorf("the rows are %s, want %s", ast.Text(q.Stmts[0].(*ast.Insert).X), want)
	}
}

// TestValuesOfLargeObjects: keys in the wrong order, and twice, of objects on both sides of fewFields. The last is one
// that must not take the square of its length.
func TestValuesOfLargeObjects(t *testing.T) {
	for _, n := range []int{2, fewFields - 1, fewFields, fewFields + 1, 3 * fewFields, 200_000} {
		var b strings.Builder
		b.WriteString("INSERT INTO t {")
		for i := n; i > 0; i-- {
			fmt.Fprintf(&b, "k%07d: %d,", i, i)
		}
		b.WriteString("k0000001: 'last' }")
		sameWithValues(t, b.String())
	}
}

// FuzzValues holds TestValuesAreRows for any text.
func FuzzValues(f *testing.F) {
	for _, text := range insertTexts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { sameWithValues(t, text) })
}

func sameWithValues(t *testing.T, text string) {
	t.Helper()
	plain, err := Query(text, Options{})
	with, err2 := Query(text, Options{Values: true})
	if fmt.Sprint(err) != fmt.Sprint(err2) {
		t.Errorf("%q\n fails with %v,\n and with values with %v", text, err, err2)
	}
	if err != nil || err2 != nil {
		return
	}
	if len(plain.Stmts) != len(with.Stmts) {
		t.Fatalf("%q: %d statements, and %d", text, len(plain.Stmts), len(with.Stmts))
	}
	for i := range plain.Stmts {
		was, is := plain.Stmts[i], with.Stmts[i]
		if a, ok := was.(*ast.Insert); ok {
			b := is.(*ast.Insert)
			sameRows(t, text, a.X, b.X)
			b.X = a.X
		}
		if a, b := ast.Text(was), ast.Text(is); a != b {
			t.Errorf("%q is\n%s, and with values\n%s", text, a, b)
		}
	}
}

// sameRows holds that is has the value of was where it is a Literal, and its text otherwise.
func sameRows(t *testing.T, text string, was, is ast.Expr) {
	t.Helper()
	if lit, ok := is.(*ast.Literal); ok {
		v, err := constants{}.value(was)
		same := v.Text() == lit.Value.Text() && (value.Equal(v, lit.Value) || strings.Contains(v.Text(), "NaN"))
		if err != nil || !same {
			t.Errorf("%q inserts %s, %v; with values %s", text, v.Text(), err, lit.Value.Text())
		}
		return
	}
	a, ok := was.(*ast.Array)
	b, too := is.(*ast.Array)
	if ok && too && len(a.Elems) == len(b.Elems) {
		for i := range a.Elems {
			sameRows(t, text, a.Elems[i], b.Elems[i])
		}
		return
	}
	if was, is := ast.Text(was), ast.Text(is); was != is {
		t.Errorf("%q inserts\n%s, and with values\n%s", text, was, is)
	}
}
