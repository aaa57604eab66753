package exec

import (
	"context"
	"math"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// evalAll evaluates a list into a new slice.
func (r *Run) evalAll(ctx context.Context, env *Env, xs []ast.Expr) ([]value.Value, error) {
	if err := r.did(ctx, len(xs)*turnWeight); err != nil {
		return nil, err
	}
	out, sum := make([]value.Value, len(xs)), held(0)
	for i, x := range xs {
		v, err := r.Eval(ctx, env, x)
		if err == nil {
			err = sum.add(r, v)
		}
		if err == nil {
			err = r.poll(ctx)
		}
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// object evaluates { a: 1 }.
func (r *Run) object(ctx context.Context, env *Env, x *ast.Object) (value.Value, error) {
	if err := r.did(ctx, len(x.Fields)*turnWeight); err != nil {
		return value.None, err
	}
	sum := held(0)
	o, fields := value.MakeObject(len(x.Fields))
	for i, f := range x.Fields {
		v, err := r.Eval(ctx, env, f.Value)
		if err == nil {
			err = sum.add(r, v)
		}
		if err == nil {
			err = r.poll(ctx)
		}
		if err != nil {
			return value.None, err
		}
		fields[i] = value.Field{Name: f.Key, Value: v}
	}
	o.Sort()
	return value.ObjectOf(o), nil
}

// record evaluates table:key.
func (r *Run) record(ctx context.Context, env *Env, x *ast.RecordID) (value.Value, error) {
	key, err := r.key(ctx, env, x.Key)
	if err != nil {
		return value.None, err
	}
	return value.Record(x.Table, key), nil
}

// ParseRecord reads the text of a record id, see value.RecordParser.
func (ex *Executor) ParseRecord(text string) (value.Value, error) { return ex.ReadRecord(text) }

// key evaluates the key of a record id, or a range of keys.
func (r *Run) key(ctx context.Context, env *Env, x ast.Expr) (value.Value, error) {
	switch x := x.(type) {
	case *ast.Literal:
		return x.Value, nil
	case *ast.KeyGen:
		return r.Ex.NewKey(x.Name), nil
	case *ast.KeyRange:
		return r.span(ctx, env, x.Start, x.End, x.StartExcl, x.EndIncl)
	}
	return r.Eval(ctx, env, x)
}

// span evaluates the two ends of a range; a nil end is open.
func (r *Run) span(ctx context.Context, env *Env, start, end ast.Expr, startExcl, endIncl bool) (value.Value, error) {
	out := &value.Range{}
	if start != nil {
		v, err := r.key(ctx, env, start)
		if err != nil {
			return value.None, err
		}
		out.Start = value.Bound{Kind: value.Included, Value: v}
		if startExcl {
			out.Start.Kind = value.Excluded
		}
	}
	if end != nil {
		v, err := r.key(ctx, env, end)
		if err != nil {
			return value.None, err
		}
		out.End = value.Bound{Kind: value.Excluded, Value: v}
		if endIncl {
			out.End.Kind = value.Included
		}
	}
	return value.RangeOf(out), nil
}

// mock evaluates |table:count| and |table:from..to|.
func (r *Run) mock(x *ast.Mock) (value.Value, error) {
	n, from := x.From, int64(0)
	if x.IsRange {
		var err error
		if from, n, err = r.mockRange(x); err != nil {
			return value.None, err
		}
	}
	if n <= 0 {
		return value.Array(), nil
	}
	if n > int64(r.Ex.Limits.Array) {
		return value.None, tooLarge(r.Ex.Limits.Array)
	}
	out, keys := make([]value.Value, n), value.RandomKeys{}
	for i := range out {
		if x.IsRange {
			out[i] = value.Record(x.Table, value.Int(from+int64(i)))
		} else {
			out[i] = value.Record(x.Table, value.Str(keys.Next()))
		}
	}
	return value.ArrayOf(out), nil
}

// mockRange is where the range of |table:from..to| begins, and how many records are in it. An open end is that of the
// integers.
func (r *Run) mockRange(x *ast.Mock) (from, n int64, err error) {
	from, last := x.From, x.To
	if x.OpenFrom {
		from = math.MinInt64
	}
	if x.OpenTo {
		last = math.MaxInt64
	}
	if from > last {
		return 0, 0, nil
	}
	count := uint64(last) - uint64(from) // exact: from <= last
	if x.FromExcl && count > 0 {
		from, count = from+1, count-1
	} else if x.FromExcl {
		return 0, 0, nil
	}
	if count > uint64(r.Ex.Limits.Array) {
		return 0, 0, errs.Internal("Mock range exceeds allocation limit")
	}
	if x.ToIncl || x.OpenTo {
		count++
	}
	return from, int64(count), nil
}

// tooLarge refuses to make an array of more than n elements.
func tooLarge(n int) *errs.Error {
	return errs.Internal("The array would have more than %d elements", n)
}
