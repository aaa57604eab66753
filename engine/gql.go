package engine

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/gql"
	"github.com/nacredb/nacre/engine/graph"
	"github.com/nacredb/nacre/engine/prepare"
	"github.com/nacredb/nacre/engine/query"
	"github.com/nacredb/nacre/engine/value"
)

// GQL runs a program in ISO GQL as one statement: its answer is a list of objects, one for each row. The error is for
// the text as a whole: it does not parse, or the session may not run queries. vars become its parameters.
func (s *Session) GQL(ctx context.Context, text string, vars *value.Object) ([]Result, error) {
	return s.gql(ctx, nil, text, vars, false)
}

// GQLPacked is GQL for those who send the answer on in the wire form: its rows come as Result.Rows.
func (s *Session) GQLPacked(ctx context.Context, text string, vars *value.Object) ([]Result, error) {
	return s.gql(ctx, nil, text, vars, true)
}

// GQL is Session.GQL inside t.
func (t *Tx) GQL(ctx context.Context, text string, vars *value.Object) ([]Result, error) {
	return t.s.gql(ctx, t, text, vars, false)
}

// GQLPacked is Session.GQLPacked inside t.
func (t *Tx) GQLPacked(ctx context.Context, text string, vars *value.Object) ([]Result, error) {
	return t.s.gql(ctx, t, text, vars, true)
}

func (s *Session) gql(ctx context.Context, t *Tx, text string, vars *value.Object, packed bool) ([]Result, error) {
	var out []Result
	parse := func(st *exec.SessionState) (*prepare.Script, error) {
		if st.Auth.NS == "" {
			return nil, errs.Validation("Specify a namespace to use")
		}
		if st.Auth.DB == "" {
			return nil, errs.Validation("Specify a database to use")
		}
		return s.e.queries.ParseAs("gql", text, s.e.prepareGQL)
	}
	err := s.runParsed(ctx, t, query.Source{Kind: "gql", Text: text}, parse, vars,
		func(ctx context.Context, q *query.Query, script *prepare.Script) error {
			if packed {
				q.Packing()
			}
			out = q.Run(ctx, script)
			return nil
		})
	return out, err
}

func (e *Engine) prepareGQL(text string) (*prepare.Script, error) {
	p, err := graph.Prepare(text, gql.Options{MaxText: e.queries.Limits.GraphText})
	if err != nil {
		return nil, err
	}
	return &prepare.Script{Stmts: []prepare.Statement{{Stmt: p.Statement(), Writes: p.Writes()}},
		Weight: p.Weight()}, nil
}

// parseGQL reads programs of at most max bytes (0: the limit of the language).
func parseGQL(max int) func(text string) (*ast.GQL, error) {
	return func(text string) (*ast.GQL, error) {
		p, err := graph.Prepare(text, gql.Options{MaxText: max})
		if err != nil {
			return nil, err
		}
		return p.Statement(), nil
	}
}
