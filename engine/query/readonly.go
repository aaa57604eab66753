package query

import (
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/plan"
)

// mayChange refuses a statement of a session that only reads, if it or a statement inside of it changes something. What
// only shows while it runs (a function of the database that writes) fails in the transaction, which cannot write.
func (q *Query) mayChange(s ast.Statement) error {
	if !q.sess.ReadOnly {
		return nil
	}
	reads := true
	ast.Inspect(s, func(n any) bool {
		if inner, ok := n.(ast.Statement); ok && !plan.ReadsOnly(inner) {
			reads = false
		}
		return reads
	})
	if reads {
		return nil
	}
	return errReadOnly()
}

func errReadOnly() error {
	return errs.NotAllowed("The session is read-only: only statements that read are run, outside of transactions")
}
