package aggregate_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nacredb/nacre/engine/aggregate"
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

// TestArgumentsAddAsRowsDo: totals that are given columns end as those that are given row after row, and of rows that
// fail, or that are too much to be kept, the first one is told.
func TestArgumentsAddAsRowsDo(t *testing.T) {
	paths := []string{"count", "count", "math::sum", "math::mean", "math::min", "math::max", "math::median",
		"math::stddev", "array::distinct", "array::group", "time::max"}
	r := rand.New(rand.NewPCG(1, 2))
	failed := 0
	for range 2000 {
		calls := make([]*ast.Call, 1+r.IntN(5))
		args := aggregate.Arguments{}
		width := 0
		for i := range calls {
			n := r.IntN(len(paths))
			calls[i] = &ast.Call{Kind: ast.CallBuiltin, Path: paths[n]}
			if n > 0 {
				calls[i].Args, width = []ast.Expr{&ast.Literal{}}, width+1
			}
			args.Absent, args.Reads = append(args.Absent, aggregate.Absent(calls[i])), append(args.Reads, n > 0)
		}
		byRows, byColumns := groupsOf(calls), groupsOf(calls)
		rows := r.IntN(40)
		var values []value.Value
		var at []int
		for range rows {
			at = append(at, r.IntN(len(byRows)))
			for range width {
				values = append(values, anyNumber(r))
			}
		}
		most := 5 + r.IntN(200) // values that may be kept
		want := addRows(byRows, at, values, args, most)
		var groups []*aggregate.Group
		for _, n := range at {
			groups = append(groups, byColumns[n])
		}
		kept := 0
		const behind = 2 // values of other rows
		values = append(values, value.Str("x"), value.Str("y"))
		rest, got := args.Add(groups, values, func(value.Value) error {
			if kept++; kept > most {
				return errMost
			}
			return nil
		})
		if len(rest) != behind {
			t.Fatalf("%d values are left, want %d", len(rest), behind)
		}
		if want != nil || got != nil {
			failed++
			if errors.Is(want, errMost) || errors.Is(got, errMost) { // where the room ends depends on the order
				if want == nil || got == nil {
					t.Fatalf("got %v, want %v", got, want)
				}
				continue
			}
			if got == nil || want == nil || got.Error() != want.Error() {
				t.Fatalf("got %v, want %v", got, want)
			}
			continue
		}
		for i := range byRows {
			for j := range calls {
				got, want := byColumns[i].Totals[j].Result(), byRows[i].Totals[j].Result()
				if value.Compare(got, want) != 0 || got.Kind() != want.Kind() {
					t.Fatalf("%s: got %s, want %s", calls[j].Path, got.Text(), want.Text())
				}
			}
		}
	}
	if failed < 50 {
		t.Errorf("%d of 2000 failed: the test says little of errors", failed)
	}
}

var errMost = errors.New("no more can be kept")

func groupsOf(calls []*ast.Call) []*aggregate.Group {
	groups := aggregate.NewGroups(calls, 0)
	for i := range 3 {
		groups.Find([]value.Value{value.Int(int64(i))})
	}
	return groups.List
}

// addRows adds row after row.
func addRows(groups []*aggregate.Group, at []int, values []value.Value, args aggregate.Arguments, most int) error {
	kept := 0
	for _, n := range at {
		for j := range args.Reads {
			v := args.Absent[j]
			if args.Reads[j] {
				v, values = values[0], values[1:]
			}
			total := &groups[n].Totals[j]
			if err := total.Add(v); err != nil {
				return err
			}
			if total.Collects() {
				if kept++; kept > most {
					return errMost
				}
			}
		}
	}
	return nil
}

func anyNumber(r *rand.Rand) value.Value {
	switch r.IntN(12) {
	case 0:
		return value.Int(math.MaxInt64 - int64(r.IntN(3)))
	case 1:
		return value.Float(r.Float64())
	case 2:
		return value.Str("text")
	case 3:
		return value.None
	case 4:
		return value.DatetimeOf(value.Datetime{Secs: int64(r.IntN(100))})
	}
	return value.Int(int64(r.IntN(100) - 50))
}
