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
	switch path {
	case "count", "math::sum", "math::mean", "math::min", "math::max", "math::median", "math::stddev", "math::variance",
		"time::min", "time::max", "array::distinct", "array::group", "array::join", "vector::sum":
		return true
	}
	return false
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

// Total is one aggregate of one group under way.
type Total struct {
	op    string
	n     int64
	whole bool        // count(): counts rows, including empty values
	v     value.Value // sum, least or greatest
	mean  float64     // running mean and sum of squared distances from it
	m2    float64
	list  []value.Value
	seen  map[string]bool
	sep   string
	ready bool // sep is known
	odd   bool // vectors of several dimensions have no sum
}

func New(c *ast.Call) Total {
	t := Total{op: c.Path, whole: len(c.Args) == 0}
	if t.op == "math::sum" {
		t.v = value.Int(0)
	}
	if t.op == "array::distinct" {
		t.seen = map[string]bool{}
	}
	return t
}

// Add takes in the value of one row. Numbers are all that math:: looks at, datetimes all that time:: does.
func (t *Total) Add(v value.Value) error {
	switch t.op {
	case "count":
		if t.whole || value.Truthy(v) {
			t.n++
		}
	case "array::distinct":
		if k := v.Text(); !t.seen[k] {
			t.seen[k] = true
			t.list = append(t.list, v)
		}
	case "array::group", "array::join":
		t.list = append(t.list, v)
	case "vector::sum":
		return t.vector(v)
	case "time::min", "time::max":
		if v.Kind() == value.KindDatetime {
			t.extreme(v, t.op == "time::max")
		}
	default:
		if v.Kind().IsNumber() {
			return t.number(v)
		}
	}
	return nil
}

// Rows adds n rows to count().
func (t *Total) Rows(n int64) { t.n += n }

// Collects reports whether the Total keeps the values that it is given.
func (t *Total) Collects() bool {
	switch t.op {
	case "array::distinct", "array::group", "array::join", "math::median":
		return true
	}
	return false
}

// Asks reports whether the total still waits for its separator, see Separate.
func (t *Total) Asks() bool { return t.op == "array::join" && !t.ready }

// Separate sets what stands between the parts of array::join.
func (t *Total) Separate(sep string) { t.sep, t.ready = sep, true }

func (t *Total) number(v value.Value) error {
	switch t.op {
	case "math::sum":
		sum, err := value.Add(t.v, v)
		if err != nil {
			return err
		}
		t.v = sum
	case "math::min", "math::max":
		t.extreme(v, t.op == "math::max")
	case "math::median":
		t.list = append(t.list, v)
	default:
		t.n++
		f := v.AsFloat()
		d := f - t.mean
		t.mean += d / float64(t.n)
		t.m2 += d * (f - t.mean)
		if t.op == "math::mean" {
			return t.sum(v)
		}
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
		t.list = append(t.list, v.Elems()...)
		return nil
	}
	if t.odd = t.odd || len(t.list) != v.Len(); t.odd {
		return nil
	}
	for i, x := range v.Elems() {
		sum, err := value.Add(t.list[i], x)
		if err != nil {
			return err
		}
		t.list[i] = sum
	}
	return nil
}

// sum keeps the exact sum for the mean, which the running mean would only come near.
func (t *Total) sum(v value.Value) error {
	if t.n == 1 {
		t.v = v
		return nil
	}
	sum, err := value.Add(t.v, v)
	if err != nil { // too large for an int: go on in floats
		sum = value.Float(t.v.AsFloat() + v.AsFloat())
	}
	t.v = sum
	return nil
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
	case "count":
		return value.Int(t.n)
	case "math::sum":
		return t.v
	case "math::mean":
		if t.n == 0 {
			return value.Float(math.NaN())
		}
		return value.Float(t.v.AsFloat() / float64(t.n))
	case "math::stddev", "math::variance":
		if t.n < 2 {
			return value.Float(0)
		}
		v := t.m2 / float64(t.n-1)
		if t.op == "math::stddev" {
			v = math.Sqrt(v)
		}
		return value.Float(v)
	case "math::median":
		return median(t.list)
	case "math::min", "math::max", "time::min", "time::max":
		if t.n == 0 {
			return ofNothing(t.op)
		}
		return t.v
	case "array::join":
		return value.Str(join(t.list, t.sep))
	case "vector::sum":
		switch {
		case t.odd:
			return value.Null
		case t.n == 0:
			return value.None
		}
	}
	return value.ArrayOf(t.list)
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
func ofNothing(op string) value.Value {
	switch op {
	case "math::min":
		return value.Float(math.Inf(1))
	case "math::max":
		return value.Float(math.Inf(-1))
	case "time::max":
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
