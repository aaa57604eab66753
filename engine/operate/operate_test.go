package operate_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/operate"
	"github.com/nacredb/nacre/engine/value"
)

// ints are the operators that Ints may answer.
var ints = []ast.BinaryOp{ast.OpAdd, ast.OpSub, ast.OpMul, ast.OpEqual, ast.OpExact, ast.OpNotEqual,
	ast.OpLess, ast.OpLessEqual, ast.OpMore, ast.OpMoreEqual}

// TestInts: what Ints answers is what Apply answers, and it declines sums that leave the range.
func TestInts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	edges := []int64{0, 1, -1, math.MaxInt64, math.MinInt64, math.MaxInt64 - 1, 1 << 31, -1 << 31, 1<<31 - 1}
	pick := func() int64 {
		if r.IntN(2) == 0 {
			return edges[r.IntN(len(edges))]
		}
		return r.Int64() >> r.IntN(64)
	}
	for range 20_000 {
		a, b, op := pick(), pick(), ints[r.IntN(len(ints))]
		got, ok := operate.Ints(op, a, b)
		want, err := operate.Apply(op, value.Int(a), value.Int(b))
		switch {
		case ok && err != nil:
			t.Fatalf("%d %v %d: got %s, want error %v", a, op, b, got.Text(), err)
		case ok && (got.Kind() != want.Kind() || value.Compare(got, want) != 0):
			t.Fatalf("%d %v %d: got %s, want %s", a, op, b, got.Text(), want.Text())
		}
	}
	if _, ok := operate.Ints(ast.OpDiv, 4, 2); ok {
		t.Error("a division is answered")
	}
}

func TestApply(t *testing.T) {
	text, list := value.Str, func(vs ...value.Value) value.Value { return value.Array(vs...) }
	one, two := value.Int(1), value.Int(2)
	for _, tc := range []struct {
		op   ast.BinaryOp
		a, b value.Value
		want value.Value
	}{
		{ast.OpEqual, one, value.Float(1), value.Bool(true)},
		{ast.OpExact, one, two, value.Bool(false)},
		{ast.OpNotEqual, one, two, value.Bool(true)},
		{ast.OpAnyEqual, list(one, two), two, value.Bool(true)},
		{ast.OpAllEqual, list(one, two), two, value.Bool(false)},
		{ast.OpLess, text("a"), text("b"), value.Bool(true)},
		{ast.OpMoreEqual, text("b"), one, value.Bool(true)},
		{ast.OpAdd, text("a"), text("b"), text("ab")},
		{ast.OpSub, two, one, one},
		{ast.OpMul, two, value.Float(1.5), value.Float(3)},
		{ast.OpDiv, value.Int(7), two, value.Int(3)},
		{ast.OpRem, value.Int(7), two, one},
		{ast.OpPow, two, value.Int(10), value.Int(1024)},
		{ast.OpContains, text("a text"), text("tex"), value.Bool(true)},
		{ast.OpContainsNot, list(one), two, value.Bool(true)},
		{ast.OpContainsAll, list(one, two), list(two, one), value.Bool(true)},
		{ast.OpContainsAny, list(one), list(two, one), value.Bool(true)},
		{ast.OpContainsNone, list(one), list(two), value.Bool(true)},
		{ast.OpInside, one, list(one, two), value.Bool(true)},
		{ast.OpNotInside, one, list(one, two), value.Bool(false)},
		{ast.OpAllInside, list(one, one), list(one, two), value.Bool(true)},
		{ast.OpAnyInside, list(one, text("x")), list(two), value.Bool(false)},
		{ast.OpNoneInside, list(text("x")), list(two), value.Bool(true)},
	} {
		got, err := operate.Apply(tc.op, tc.a, tc.b)
		if err != nil || got.Kind() != tc.want.Kind() || value.Compare(got, tc.want) != 0 {
			t.Errorf("%s %v %s: got %s, %v, want %s", tc.a.Text(), tc.op, tc.b.Text(), got.Text(), err, tc.want.Text())
		}
	}
}

func TestFailures(t *testing.T) {
	for _, tc := range []struct {
		op   ast.BinaryOp
		a, b value.Value
	}{
		{ast.OpAdd, value.Int(math.MaxInt64), value.Int(1)},
		{ast.OpSub, value.Str("a"), value.Int(1)},
		{ast.OpMul, value.Int(math.MaxInt64), value.Int(2)},
		{ast.OpPow, value.Int(10), value.Int(100)},
	} {
		if got, err := operate.Apply(tc.op, tc.a, tc.b); err == nil {
			t.Errorf("%s %v %s: got %s, want an error", tc.a.Text(), tc.op, tc.b.Text(), got.Text())
		}
	}
}
