package parse

import (
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
)

// SingleLive refuses a text that is not exactly one LIVE SELECT.
func SingleLive(text string, opt Options) error {
	q, err := Query(text, opt)
	if err != nil {
		return err
	}
	if len(q.Stmts) == 1 {
		if _, ok := q.Stmts[0].(*ast.Live); ok {
			return nil
		}
	}
	return errs.InvalidParams("Expected the text of exactly one LIVE SELECT")
}
