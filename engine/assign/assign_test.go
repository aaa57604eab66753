package assign

import (
	"context"
	"errors"
	"testing"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/inside"
	"github.com/nacredb/nacre/engine/parse"
	"github.com/nacredb/nacre/engine/value"
)

// frame is the value that $this is.
type frame struct{ this value.Value }

func (frame) WithThis(v value.Value) frame { return frame{v} }

// fields evaluates literals and names of fields, and fails for others. It counts what it was asked.
type fields struct{ asked int }

var errUnknown = errors.New("the test knows no such expression")

func (e *fields) Eval(_ context.Context, env frame, x ast.Expr) (value.Value, error) {
	e.asked++
	switch x := x.(type) {
	case *ast.Literal:
		return x.Value, nil
	case *ast.Idiom:
		if name, own := ownField(x); own {
			return inside.Field(env.this, name), nil
		}
	}
	return value.None, errUnknown
}

func (e *fields) Checked(v value.Value) (value.Value, error) { return v, nil }

// val is the value of a literal.
func val(t *testing.T, text string) value.Value {
	t.Helper()
	v, err := parse.Value(text)
	if err != nil {
		t.Fatal(text, err)
	}
	return v
}

// data is the data clause of an UPDATE.
func data(t *testing.T, clause string) *ast.Data {
	t.Helper()
	q, err := parse.Query("UPDATE t "+clause, parse.Options{})
	if err != nil {
		t.Fatal(clause, err)
	}
	return q.Stmts[0].(*ast.Update).Data
}

// change does a SET or UNSET on im.
func change(t *testing.T, a Assigner[frame], clause string, im Image) (value.Value, error) {
	t.Helper()
	d := data(t, clause)
	if d.Kind == ast.DataUnset {
		return a.UnsetAll(context.Background(), d.Unset, im)
	}
	vals := make([]value.Value, len(d.Set))
	for i := range d.Set {
		vals[i] = val(t, ast.Text(d.Set[i].X))
	}
	return a.SetAll(context.Background(), d.Set, vals, im)
}

// TestPlaces: what stands at a place changes, for those who see all of the record.
func TestPlaces(t *testing.T) {
	for _, tc := range []struct{ doc, clause, want string }{
		{`{}`, `SET a = 1`, `{ a: 1 }`},
		{`{ a: 1 }`, `SET a = 2, b = 3`, `{ a: 2, b: 3 }`},
		{`{ a: 1 }`, `SET a = NONE`, `{}`},
		{`{}`, `SET a.b.c = 1`, `{ a: { b: { c: 1 } } }`},
		{`{ a: NULL }`, `SET a.b = 1`, `{ a: { b: 1 } }`},
		{`{ a: t:1 }`, `SET a.b = 1`, `{ a: { b: 1 } }`},
		{`{ a: 5 }`, `SET a.b = 1`, `{ a: 5 }`},
		{`{ a: [1, 2] }`, `SET a[1] = 3`, `{ a: [1, 3] }`},
		{`{ a: [1, 2] }`, `SET a[2] = 3`, `{ a: [1, 2] }`},
		{`{ a: [1, 2] }`, `SET a[0] = NONE`, `{ a: [2] }`},
		{`{ a: [1, 2] }`, `SET a[$] = 3`, `{ a: [1, 3] }`},
		{`{ a: [] }`, `SET a[$] = 3`, `{ a: [] }`},
		{`{ a: { b: 1 } }`, `SET a['c'] = 2`, `{ a: { b: 1, c: 2 } }`},
		{`{ a: [{ b: 1 }, { b: 2 }] }`, `SET a.b = 3`, `{ a: [{ b: 3 }, { b: 3 }] }`},
		{`{ a: [1, 2] }`, `SET a[*] = NONE`, `{ a: [] }`},
		{`{ a: { b: 1, c: 2 } }`, `SET a.* = 3`, `{ a: { b: 3, c: 3 } }`},
		{`{ a: [{ b: true }, { b: false }] }`, `SET a[WHERE b].c = 1`, `{ a: [{ b: true, c: 1 }, { b: false }] }`},
		{`{ a: 1 }`, `SET a += 2`, `{ a: 3 }`},
		{`{ a: [1] }`, `SET a += 2, a += [3]`, `{ a: [1, 2, 3] }`},
		{`{ a: [1, 2, 1] }`, `SET a -= 1`, `{ a: [2] }`},
		{`{ a: 1, b: 2 }`, `UNSET a`, `{ b: 2 }`},
		{`{ a: { b: 1, c: 2 } }`, `UNSET a.b`, `{ a: { c: 2 } }`},
		{`{ a: [1, 2, 3] }`, `UNSET a[1]`, `{ a: [1, 3] }`},
		{`{ a: [1, 2, 3] }`, `UNSET a[$]`, `{ a: [1, 2] }`},
		{`{ a: [1, 2, 3] }`, `UNSET a[*]`, `{ a: [] }`},
		{`{ a: [{ b: true }, { b: false }] }`, `UNSET a[WHERE b]`, `{ a: [{ b: false }] }`},
		{`{ a: [{ b: 1 }, { b: 2 }] }`, `UNSET a.b`, `{ a: [{}, {}] }`},
		{`{ a: 1 }`, `UNSET b.c`, `{ a: 1 }`},
	} {
		doc := val(t, tc.doc)
		a := Assigner[frame]{Evaluator: &fields{}, Reads: true}
		got, err := change(t, a, tc.clause, Image{Doc: doc, Seen: doc})
		if err != nil || !value.Equal(got, val(t, tc.want)) {
			t.Errorf("%s %s: got %s %v, want %s", tc.doc, tc.clause, got.Text(), err, tc.want)
		}
		if !value.Equal(doc, val(t, tc.doc)) {
			t.Errorf("%s: the record before it has become %s", tc.clause, doc.Text())
		}
	}
}

// TestManyPlaces: more fields than are written one by one end as if they were.
func TestManyPlaces(t *testing.T) {
	doc := val(t, `{ a1: 5, o: { x: 1 } }`)
	set, unset, want := "SET o.y = 2", "UNSET o.x", `{ o: { x: 1, y: 2 }`
	for i := range 2 * Few {
		n := value.Int(int64(i)).Text()
		set += ", a" + n + " = " + n
		unset += ", a" + n
		want += ", a" + n + ": " + n
	}
	a := Assigner[frame]{Evaluator: &fields{}, Reads: true}
	got, err := change(t, a, set+", a1 += 1, o.z = 3", Image{Doc: doc, Seen: doc})
	if want := val(t, want+", a1: 2, o: { x: 1, y: 2, z: 3 } }"); err != nil || !value.Equal(got, want) {
		t.Errorf("got %s %v, want %s", got.Text(), err, want.Text())
	}
	got, err = change(t, a, unset, Image{Doc: got, Seen: got})
	if want := val(t, `{ o: { y: 2, z: 3 } }`); err != nil || !value.Equal(got, want) {
		t.Errorf("got %s %v, want %s", got.Text(), err, want.Text())
	}
}

// TestHidden: what is hidden neither decides what changes nor is lost, and conditions are not tried on it.
func TestHidden(t *testing.T) {
	for _, tc := range []struct {
		doc, seen, clause, want string
		asked                   int
	}{
		{`{ a: 1, h: 2 }`, `{ a: 1 }`, `SET a = 3`, `{ a: 3, h: 2 }`, 0},
		{`{ h: 2 }`, `{}`, `SET h = 3`, `{ h: 3 }`, 0},
		{`{ a: [{ b: true, h: 1 }, { h: 2 }] }`, `{ a: [{ b: true }, {}] }`, `SET a[WHERE b].c = 1`,
			`{ a: [{ b: true, c: 1, h: 1 }, { h: 2 }] }`, 2},
		{`{ h: [{ b: true }] }`, `{}`, `SET h[WHERE b].c = 1`, `{ h: [{ b: true }] }`, 0},
		{`{ h: [{ b: true }] }`, `{}`, `UNSET h[WHERE b]`, `{ h: [{ b: true }] }`, 0},
		{`{ a: [1, 2] }`, `{ a: [1, NONE] }`, `SET a -= 1`, `{ a: [2] }`, 0},
		{`{ a: { h: 1 } }`, `{ a: {} }`, `SET a.b = 2`, `{ a: { b: 2, h: 1 } }`, 0},
		{`{ a: { b: 1, h: 2 } }`, `{ a: { b: 1 } }`, `UNSET a.b`, `{ a: { h: 2 } }`, 0},
	} {
		eval := &fields{}
		a := Assigner[frame]{Evaluator: eval, Apart: true}
		got, err := change(t, a, tc.clause, Image{Doc: val(t, tc.doc), Seen: val(t, tc.seen)})
		if err != nil || !value.Equal(got, val(t, tc.want)) || eval.asked != tc.asked {
			t.Errorf("%s seen as %s, %s: got %s %v after %d questions, want %s after %d", tc.doc, tc.seen, tc.clause, got.Text(),
				err, eval.asked, tc.want, tc.asked)
		}
	}
}

// TestIndexesAreEvaluatedOnce: also where there is nothing, or much, on the way to them.
func TestIndexesAreEvaluatedOnce(t *testing.T) {
	for _, doc := range []string{`{}`, `{ a: [[1], [2], [3]] }`} {
		eval := &fields{}
		a := Assigner[frame]{Evaluator: eval, Env: frame{val(t, `{ i: 0 }`)}, Reads: true}
		im := Image{Doc: val(t, doc)}
		if _, err := change(t, a, `SET a[*][i] = 5`, im); err != nil || eval.asked != 1 {
			t.Errorf("%s: asked %d times, %v", doc, eval.asked, err)
		}
		if _, err := change(t, a, `SET a[i + 1] = 5`, im); !errors.Is(err, errUnknown) {
			t.Errorf("%s: an index that fails gives %v", doc, err)
		}
	}
}
