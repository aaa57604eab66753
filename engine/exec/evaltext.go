package exec

import (
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/fn"
	"github.com/nacredb/nacre/engine/value"
)

var _ fn.EvalHost = (*host)(nil)

// EvalText runs one statement given as text in the run's transaction, with the rights of the run. It sees the bindings
// and what the session sees, nothing of the caller's parameters and document.
//
// SECURITY: it is the session that needs the capability, so that a definition cannot lend it to who calls it.
func (h *host) EvalText(text string, bindings *value.Object) (value.Value, error) {
	return h.evaluate("eval::surql", bindings, func() (ast.Statement, error) {
		s, err := h.r.Ex.Parse(h.ctx, text)
		if err == nil && (len(s.Stmts) != 1 || !evaluable(s.Stmts[0].Stmt)) {
			err = errs.Internal("Incorrect arguments for function eval::surql(). Expected one statement that is not about sessions and transactions.")
		}
		if err != nil {
			return nil, err
		}
		return s.Stmts[0].Stmt, nil
	})
}

// EvalGQL runs a program in ISO GQL as EvalText runs a statement. One row is the answer itself, of none there is a
// list, and a program without a result gives NONE.
func (h *host) EvalGQL(text string, bindings *value.Object) (value.Value, error) {
	var p *ast.GQL
	v, err := h.evaluate("eval::gql", bindings, func() (_ ast.Statement, err error) {
		p, err = h.r.Ex.ParseGQL(text)
		return p, err
	})
	switch {
	case err != nil || !p.Answers:
		return value.None, err
	case v.Len() == 1:
		return v.Elems()[0], nil
	}
	return v, nil
}

func (h *host) evaluate(function string, bindings *value.Object,
	parse func() (ast.Statement, error)) (value.Value, error) {
	r := h.r
	if err := r.Auth.Caps.MayEval(&r.Sess.Auth.Principal); err != nil {
		return value.None, err
	}
	base, err := bound(function, bindings)
	if err != nil {
		return value.None, err
	}
	s, err := parse()
	if err != nil {
		return value.None, err
	}
	if err := r.Enter(h.ctx); err != nil {
		return value.None, err
	}
	defer r.Leave()
	defer r.apart(base)()
	v, _, err := r.Statement(h.ctx, s)
	return v, err
}
