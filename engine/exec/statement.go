package exec

import (
	"fmt"
	"reflect"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// Exec executes one statement inside the run's transaction. Control flow may come back as one of
// the signals of signal.go; Statement and closures land them.
func (r *Run) Exec(env *Env, s ast.Statement) (value.Value, error) {
	switch s := s.(type) {
	case *ast.ExprStmt:
		return r.Eval(env, s.X)
	case *ast.Let:
		v, err := r.Eval(env, s.X)
		if err != nil {
			return value.None, err
		}
		env.Set(s.Name, v)
		return value.None, nil
	case *ast.Return:
		v, err := r.Eval(env, s.X)
		if err != nil {
			return value.None, err
		}
		return value.None, r.returning(v)
	case *ast.Break:
		return value.None, errBreak
	case *ast.Continue:
		return value.None, errContinue
	}
	return r.execData(env, s)
}

// Block executes statements in env; its value is that of the last one.
func (r *Run) Block(env *Env, b *ast.Block) (value.Value, error) {
	v := value.None
	for _, s := range b.Stmts {
		var err error
		if v, err = r.Exec(env, s); err != nil {
			return value.None, err
		}
	}
	return v, nil
}

// notRunnable names a statement or expression that parses but that this engine does not run.
func notRunnable(node any) *errs.Error {
	name := reflect.TypeOf(node).Elem().Name()
	return errs.Internal("Invalid statement: %s", fmt.Sprintf("%s is not supported here", name))
}
