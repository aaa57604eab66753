package sift_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nacredb/nacre/engine/aggregate"
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/compile"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/sift"
	"github.com/nacredb/nacre/engine/value"
)

// grouped are n records { n: i, a: …, b: … } whose keys a and b are of many kinds, among about so many of each.
func grouped(t *testing.T, r *rand.Rand, n, many int) []record.Stored {
	t.Helper()
	out := make([]record.Stored, n)
	for i := range out {
		b, err := value.EncodeRecord(nil, value.NewObject(value.Field{Name: "n", Value: value.Int(int64(i))},
			value.Field{Name: "a", Value: anyKey(r, many)}, value.Field{Name: "b", Value: anyKey(r, 2)}))
		if err != nil {
			t.Fatal(err)
		}
		out[i] = b
	}
	return out
}

func anyKey(r *rand.Rand, many int) value.Value {
	k := int64(r.IntN(many))
	switch r.IntN(9) {
	case 0:
		return value.Float(float64(k))
	case 1:
		return value.Str(fmt.Sprint(k))
	case 2:
		return value.Str(fmt.Sprintf("a text that is longer than those which are kept together with the others: %d", k))
	case 3:
		return []value.Value{value.None, value.Null, value.Str(""), value.Float(math.NaN()), value.Bool(true)}[k%5]
	case 4:
		return value.Array(value.Int(k), value.Str("x"))
	}
	return value.Int(k)
}

// TestBatchesNumberKeys: by the numbers of any workers each row comes to the group that one list of keys gives it, in
// the order of the rows, and with the keys that came first. Rows that are open are in their places.
func TestBatchesNumberKeys(t *testing.T) {
	for _, tc := range []struct{ rows, many, workers int }{
		{0, 1, 1}, {17, 3, 1}, {3000, 5, 1}, {3000, 500, 4}, {100_000, 1_000_000, 3},
	} {
		records := grouped(t, rand.New(rand.NewPCG(3, uint64(tc.rows))), tc.rows, tc.many)
		w := sift.New(&listed{records: records}, byKeys(), sift.Options{Workers: tc.workers, After: 100})
		plain, groups, known := aggregate.NewKeys(), aggregate.NewGroups(nil, 0), &aggregate.Known{}
		next := 0
		for {
			b, ok, err := w.Batch(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				break
			}
			worker, keys := b.By()
			known.Turn(worker, keys, b.Fresh())
			values := b.Values()
			for i := range b.Len() {
				a, other := field(t, records[next], "a"), field(t, records[next], "b")
				want, _ := plain.Of([]value.Value{a, other})
				n := b.Group(i)
				if open := next%50 == 49; open != (n < 0) {
					t.Fatalf("row %d: open is %v", next, n < 0)
				}
				var gr *aggregate.Group
				if n < 0 {
					gr, _ = groups.Find([]value.Value{a, other})
				} else {
					if gr = known.Group(n); gr == nil {
						gr, _ = groups.Find(known.Keys())
						known.Add(gr)
					}
					if values[0].Int() != int64(next) {
						t.Fatalf("row %d: got the columns of row %v", next, values[0])
					}
					values = values[1:]
				}
				if gr != groups.List[want] || fmt.Sprint(gr.Keys) != fmt.Sprint(plain.At(want)) {
					t.Fatalf("row %d: group %v, want %v", next, gr.Keys, plain.At(want))
				}
				next++
			}
		}
		if w.Close(); next != tc.rows {
			t.Errorf("%d rows of %d", next, tc.rows)
		}
	}
}

// byKeys is a program with the keys a and b and the column n. Every 50th row is open.
func byKeys() *sift.Program {
	set := compile.New(func(ast.Expr) (value.Value, error) { return value.None, errors.New("no constant") })
	read := func(name string) compile.Column {
		at := set.Path([]string{name})
		return compile.Computed(func(row *value.Fields) (value.Value, error) {
			v, _ := row.At(at)
			if name == "n" && v.Int()%50 == 49 {
				return value.None, compile.ErrOpen
			}
			return v, nil
		})
	}
	return &sift.Program{Set: set, Columns: []compile.Column{read("a"), read("b"), read("n")}, Keys: 2}
}

func field(t *testing.T, st record.Stored, name string) value.Value {
	t.Helper()
	v, err := st.Field(name)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
