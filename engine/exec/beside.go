package exec

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/operate"
	"github.com/nacredb/nacre/engine/value"
)

// What another language that runs on the same records needs of the evaluator.

// EachRow runs a SELECT and hands its rows to f, one after the other, until f answers false.
func (r *Run) EachRow(ctx context.Context, env *Env, s *ast.Select, f func(doc value.Value) (bool, error)) error {
	p, err := r.plan(ctx, env, s)
	if err != nil {
		return err
	}
	defer p.close()
	for {
		doc, ok, err := p.next(ctx)
		if err != nil || !ok {
			return err
		}
		if more, err := f(doc); err != nil || !more {
			return err
		}
	}
}

// Operate is a binary operator over two values, bounded as in an expression. It is for the operators that evaluate both
// sides.
func (r *Run) Operate(ctx context.Context, op ast.BinaryOp, a, b value.Value) (value.Value, error) {
	if !a.Light() || !b.Light() {
		return r.checked(r.heavy(ctx, op, a, b))
	}
	return operate.Apply(op, a, b)
}

// FieldOf is v.name, see walk: of an object, of each element of an array, or of the record that a link leads to.
func (r *Run) FieldOf(ctx context.Context, v value.Value, name string) (value.Value, error) {
	return r.field(ctx, v, name)
}

// Checked refuses a value that is too heavy to go on with.
func (r *Run) Checked(v value.Value) (value.Value, error) { return r.checked(v, nil) }
