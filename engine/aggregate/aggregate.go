// Package aggregate finds the aggregates of a grouped projection, numbers its groups, and sums up what they are given
// row by row.
package aggregate

import (
	"math"
	"sort"
	"strings"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

// isAggregate reports whether a function sums up a group when it stands in a grouped projection.
func isAggregate(path string) bool {
	_, ok := ops[path]
	return ok
}

// Calls finds the aggregates of an expression, in order: of those inside one another the innermost. What is around
// one is an ordinary function of its result.
func Calls(x ast.Expr) []*ast.Call {
	var out []*ast.Call
	ast.Inspect(x, func(n any) bool {
		switch n := n.(type) {
		case *ast.Call:
			if n.Kind == ast.CallBuiltin && isAggregate(n.Path) {
				had := len(out)
				for _, arg := range n.Args {
					out = append(out, Calls(arg)...)
				}
				if len(out) == had {
					out = append(out, n)
				}
				return false
			}
		case *ast.Subquery:
			_, branch := n.Stmt.(*ast.If)
			return branch
		case *ast.Closure:
			return false
		}
		return true
	})
	return out
}

// Total is one aggregate of one group under way. There may be some for each of many thousand groups, so it is small.
type Total struct {
	op    op
	whole bool // count(): counts rows, including empty values
	odd   bool // vectors of several dimensions have no sum
	n     int64
	v     value.Value // sum, least or greatest
	mean  float64     // running mean and sum of squared distances from it, of deviations
	m2    float64
	list  *gathered // nil: it keeps no values
}

// gathered is the values that a Total keeps.
type gathered struct {
	values []value.Value
	seen   map[string]bool
	sep    string
	ready  bool // sep is known
}

// op is an aggregate function.
type op uint8

const (
	opCount op = iota
	opSum
	opMean
	opMin
	opMax
	opMedian
	opStddev
	opVariance
	opTimeMin
	opTimeMax
	opDistinct
	opGroup
	opJoin
	opVectorSum
)

var ops = map[string]op{
	"count": opCount, "math::sum": opSum, "math::mean": opMean, "math::min": opMin, "math::max": opMax,
	"math::median": opMedian, "math::stddev": opStddev, "math::variance": opVariance, "time::min": opTimeMin,
	"time::max": opTimeMax, "array::distinct": opDistinct, "array::group": opGroup, "array::join": opJoin,
	"vector::sum": opVectorSum,
}

// New is the aggregate that a call of Calls is of.
func New(c *ast.Call) Total {
	t := Total{op: ops[c.Path], whole: len(c.Args) == 0}
	switch t.op {
	case opSum:
		t.v = value.Int(0)
	case opDistinct:
		t.list = &gathered{seen: map[string]bool{}}
	case opMedian, opGroup, opJoin, opVectorSum:
		t.list = &gathered{}
	}
	return t
}

// Add takes in the value of one row. Numbers are all that math:: looks at, datetimes all that time:: does.
func (t *Total) Add(v value.Value) error {
	switch t.op { // the commonest first
	case opCount:
		if t.whole || value.Truthy(v) {
			t.n++
		}
		return nil
	case opSum, opMean:
		if t.sums(&v) {
			return nil
		}
	}
	return t.add(v)
}

// sums adds a number of the kind of the sum so far; false where it leaves that to add.
func (t *Total) sums(v *value.Value) bool {
	switch {
	case t.v.Kind() != v.Kind():
	case v.Kind() == value.KindFloat:
		t.n++
		t.v = value.Float(t.v.Float() + v.Float())
		return true
	case v.Kind() == value.KindInt:
		if sum := t.v.Int() + v.Int(); sum > t.v.Int() == (v.Int() > 0) {
			t.n++
			t.v = value.Int(sum)
			return true
		}
	}
	return false
}

// add is Add for what is not as common.
func (t *Total) add(v value.Value) error {
	switch t.op {
	case opDistinct:
		if k := v.Text(); !t.list.seen[k] {
			t.list.seen[k] = true
			t.list.add(v)
		}
	case opGroup, opJoin:
		t.list.add(v)
	case opVectorSum:
		return t.vector(v)
	case opTimeMin, opTimeMax:
		if v.Kind() == value.KindDatetime {
			t.extreme(v, t.op == opTimeMax)
		}
	default:
		if v.Kind().IsNumber() {
			return t.number(v)
		}
	}
	return nil
}

func (g *gathered) add(v value.Value) { g.values = append(g.values, v) }

// Rows adds n rows to count().
func (t *Total) Rows(n int64) { t.n += n }

// Collects reports whether the Total keeps the values that it is given.
func (t *Total) Collects() bool {
	switch t.op {
	case opDistinct, opGroup, opJoin, opMedian:
		return true
	}
	return false
}

// Asks reports whether the total still waits for its separator, see Separate.
func (t *Total) Asks() bool { return t.op == opJoin && !t.list.ready }

// Separate sets what stands between the parts of array::join.
func (t *Total) Separate(sep string) { t.list.sep, t.list.ready = sep, true }

func (t *Total) number(v value.Value) error {
	switch t.op {
	case opSum:
		sum, err := value.Add(t.v, v)
		if err != nil {
			return err
		}
		t.v = sum
	case opMean:
		t.n++
		t.sum(v)
	case opMin, opMax:
		t.extreme(v, t.op == opMax)
	case opMedian:
		t.list.add(v)
	default:
		t.n++
		f := v.AsFloat()
		d := f - t.mean
		t.mean += d / float64(t.n)
		t.m2 += d * (f - t.mean)
	}
	return nil
}

// vector adds the items of a vector to those of the ones before. What is no vector is passed over; with one of another
// dimension the group has no sum.
func (t *Total) vector(v value.Value) error {
	if v.Kind() != value.KindArray {
		return nil
	}
	for _, x := range v.Elems() {
		if !x.Kind().IsNumber() {
			return nil
		}
	}
	if t.n++; t.n == 1 {
		t.list.values = append(t.list.values, v.Elems()...)
		return nil
	}
	sums := t.list.values
	if t.odd = t.odd || len(sums) != v.Len(); t.odd {
		return nil
	}
	for i, x := range v.Elems() {
		sum, err := value.Add(sums[i], x)
		if err != nil {
			return err
		}
		sums[i] = sum
	}
	return nil
}

// sum keeps the exact sum for the mean, which a running mean would only come near.
func (t *Total) sum(v value.Value) {
	if t.n == 1 {
		t.v = v
		return
	}
	sum, err := value.Add(t.v, v)
	if err != nil { // too large for an int: go on in floats
		sum = value.Float(t.v.AsFloat() + v.AsFloat())
	}
	t.v = sum
}

func (t *Total) extreme(v value.Value, most bool) {
	t.n++
	if t.n == 1 || value.Compare(v, t.v) > 0 == most {
		t.v = v
	}
}

// Result is the aggregate of what was added.
func (t *Total) Result() value.Value {
	switch t.op {
	case opCount:
		return value.Int(t.n)
	case opSum:
		return t.v
	case opMean:
		if t.n == 0 {
			return value.Float(math.NaN())
		}
		return value.Float(t.v.AsFloat() / float64(t.n))
	case opStddev, opVariance:
		if t.n < 2 {
			return value.Float(0)
		}
		v := t.m2 / float64(t.n-1)
		if t.op == opStddev {
			v = math.Sqrt(v)
		}
		return value.Float(v)
	case opMedian:
		return median(t.list.values)
	case opMin, opMax, opTimeMin, opTimeMax:
		if t.n == 0 {
			return ofNothing(t.op)
		}
		return t.v
	case opJoin:
		return value.Str(join(t.list.values, t.list.sep))
	case opVectorSum:
		switch {
		case t.odd:
			return value.Null
		case t.n == 0:
			return value.None
		}
	}
	return value.ArrayOf(t.list.values)
}

func join(vs []value.Value, sep string) string {
	var b strings.Builder
	for i, v := range vs {
		if i > 0 {
			b.WriteString(sep)
		}
		if v.Kind() == value.KindString {
			b.WriteString(v.Str())
		} else {
			b.WriteString(v.Text())
		}
	}
	return b.String()
}

// ofNothing is the least or greatest of no values: the far end of the scale.
func ofNothing(of op) value.Value {
	switch of {
	case opMin:
		return value.Float(math.Inf(1))
	case opMax:
		return value.Float(math.Inf(-1))
	case opTimeMax:
		return value.DatetimeOf(value.Datetime{Secs: -8334601228800})
	}
	return value.DatetimeOf(value.Datetime{Secs: 8210266876799, Nanos: 999_999_999})
}

// median is the middle number, or the mean of the two in the middle; NONE of no numbers.
func median(vs []value.Value) value.Value {
	n := len(vs)
	if n == 0 {
		return value.None
	}
	sort.Slice(vs, func(i, j int) bool { return value.Compare(vs[i], vs[j]) < 0 })
	if n%2 == 1 {
		return vs[n/2]
	}
	return value.Float((vs[n/2-1].AsFloat() + vs[n/2].AsFloat()) / 2)
}

// Absent is the argument of an aggregate that is written without one: count() counts rows, others take NONE.
func Absent(c *ast.Call) value.Value {
	if c.Path == "count" {
		return value.Bool(true)
	}
	return value.None
}
