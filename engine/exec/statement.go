package exec

import (
	"context"
	"reflect"
	"strings"
	"unicode"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/plan"
	"github.com/nacredb/nacre/engine/value"
)

// Exec executes one statement inside the run's transaction. Control flow may come back as one of
// the signals of signal.go; Statement and closures land them.
func (r *Run) Exec(ctx context.Context, env *Env, s ast.Statement) (value.Value, error) {
	if r.reading != nil && !plan.ReadsOnly(s) {
		return value.None, r.reading
	}
	switch s := s.(type) {
	case *ast.ExprStmt:
		return r.Eval(ctx, env, s.X)
	case *ast.Let:
		return r.let(ctx, env, s)
	case *ast.Return:
		return r.returnStmt(ctx, env, s)
	case *ast.If:
		return r.ifElse(ctx, env, s)
	case *ast.For:
		return r.forIn(ctx, env, s)
	case *ast.Select:
		return r.Select(ctx, env, s)
	case *ast.Break:
		return value.None, errBreak
	case *ast.Continue:
		return value.None, errContinue
	case *ast.Throw:
		return value.None, r.throw(ctx, env, s)
	case *ast.Sleep:
		return value.None, r.sleep(ctx, s.Duration)
	case *ast.Option:
		return value.None, nil
	case *ast.ExplainStmt:
		return r.explainStatement(ctx, env, s)
	case *ast.Begin, *ast.Commit, *ast.Cancel:
		return value.None, errs.Internal("Invalid statement: transactions can not be controlled from inside a statement")
	}
	return r.execData(ctx, env, s)
}

// Block executes statements in env; its value is that of the last one. A block that stands as a
// statement of its own shares the frame of the block around it.
func (r *Run) Block(ctx context.Context, env *Env, b *ast.Block) (value.Value, error) {
	defer r.Mem.Rewind(r.Mem.Mark()) // its variables are gone then
	v := value.None
	for _, s := range b.Stmts {
		err := r.Tick(ctx)
		if err != nil {
			return value.None, err
		}
		if x, ok := s.(*ast.ExprStmt); ok {
			v, err = r.inBlock(ctx, env, x.X)
		} else {
			v, err = r.Exec(ctx, env, s)
		}
		if err != nil {
			return value.None, err
		}
	}
	return v, nil
}

func (r *Run) inBlock(ctx context.Context, env *Env, x ast.Expr) (value.Value, error) {
	if b, ok := x.(*ast.Block); ok {
		return r.Block(ctx, env, b)
	}
	return r.Eval(ctx, env, x)
}

// returnStmt is RETURN x [FETCH …].
func (r *Run) returnStmt(ctx context.Context, env *Env, s *ast.Return) (value.Value, error) {
	v, err := r.Eval(ctx, env, s.X)
	if err != nil {
		return value.None, err
	}
	if len(s.Fetch) > 0 {
		paths, err := r.FetchPaths(ctx, env, s.Fetch)
		if err != nil {
			return value.None, err
		}
		links := &fetcher{r: r}
		for _, p := range paths {
			if v, err = r.checked(links.into(ctx, v, p)); err != nil {
				return value.None, err
			}
		}
	}
	return value.None, r.returning(v)
}

// NotRunnable names a statement or expression that parses but that this engine does not run.
func NotRunnable(node any) *errs.Error {
	return errs.Internal("Invalid statement: %s is not supported here", words(reflect.TypeOf(node).Elem().Name()))
}

// words is the name of a node as its statement begins: DefineModule is DEFINE MODULE.
func words(name string) string {
	var out strings.Builder
	for i, r := range name {
		if i > 0 && unicode.IsUpper(r) {
			out.WriteByte(' ')
		}
		out.WriteRune(unicode.ToUpper(r))
	}
	return out.String()
}

// Statement runs s as a whole: control flow ends here. returned tells that s is a RETURN of its own.
func (r *Run) Statement(ctx context.Context, s ast.Statement) (v value.Value, returned bool, err error) {
	_, returned = s.(*ast.Return)
	v, err = r.Exec(ctx, r.Base, s)
	v, err = r.Land(v, err)
	if err == nil && plan.Wrapped(s) {
		v = value.Array(v)
	}
	return v, returned && err == nil, r.Explain(ctx, err)
}
