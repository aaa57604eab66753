package sift_test

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/compile"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/sift"
	"github.com/nacredb/nacre/engine/value"
)

// TestFirst: what workers drop is never among the first rows, of equal ones the first that were read. Rows that are
// dropped are counted.
func TestFirst(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	for _, n := range []int{0, 5, 900, 6000} {
		for _, most := range []int64{0, 1, 10, 700} {
			for _, workers := range []int{1, 3} {
				var records []record.Stored
				var keys []value.Value
				for range n {
					k := anyKey(r, 40)
					b, err := value.EncodeRecord(nil, value.NewObject(value.Field{Name: "k", Value: k}))
					if err != nil {
						t.Fatal(err)
					}
					records, keys = append(records, b), append(keys, k)
				}
				want := slices.Clone(keys)
				slices.SortStableFunc(want, value.Compare)
				want = want[:min(int(most), n)]
				got, read := firstKeys(t, records, most, workers)
				if !slices.EqualFunc(got, want, same) || read != n {
					t.Fatalf("%d of %d rows, %d workers: got %v of %d, want %v", most, n, workers, got, read, want)
				}
			}
		}
	}
	if sift.First(1<<20, nil) != nil || sift.First(-1, nil) != nil {
		t.Error("workers remember as many rows as a statement wants")
	}
}

// same tells 1 from 1f: of equal values the first that were read are wanted.
func same(a, b value.Value) bool { return a.Kind() == b.Kind() && value.Compare(a, b) == 0 }

// firstKeys is the first keys of a walk, and how many rows it was over.
func firstKeys(t *testing.T, records []record.Stored, most int64, workers int) (keys []value.Value, read int) {
	t.Helper()
	set := compile.New(func(ast.Expr) (value.Value, error) { return value.None, errors.New("no constant") })
	at := set.Path([]string{"k"})
	w := sift.New(&listed{records: records}, &sift.Program{
		Set:     set,
		Columns: []compile.Column{compile.Field(at)},
		Keep:    sift.First(most, func(a, b []value.Value) bool { return value.Compare(a[0], b[0]) < 0 }),
	}, sift.Options{Workers: workers, After: 100})
	defer w.Close()
	for {
		row, ok, err := w.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		keys = append(keys, row.Columns[0])
		read++
	}
	slices.SortStableFunc(keys, value.Compare)
	return keys[:min(int(most), len(keys))], read + int(w.Counted())
}

// TestFirstOfFloats: NaN is among them, and is before all others.
func TestFirstOfFloats(t *testing.T) {
	keep := sift.First(2, func(a, b []value.Value) bool { return cmp.Less(a[0].Float(), b[0].Float()) })()
	for i, tc := range []struct {
		far  float64
		want bool
	}{{3, true}, {2, true}, {3, false}, {2.5, true}, {math.NaN(), true}, {2, false}, {1, true}, {1, false}} {
		if got := keep([]value.Value{value.Float(tc.far)}); got != tc.want {
			t.Errorf("%d: %v is kept: %v", i, tc.far, got)
		}
	}
}
