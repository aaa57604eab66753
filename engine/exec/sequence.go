package exec

import (
	"context"
	"fmt"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
)

// nextVal is the next number of a sequence. It is outside the transaction: a number once given
// stays given.
func (r *Run) nextVal(ctx context.Context, name string) (int64, error) {
	if r.clauseOnly() {
		return 0, r.reading
	}
	db, err := r.Database()
	if err != nil {
		return 0, err
	}
	d, err := r.Cat.Def(db.Inner(), ast.DefSequence, name)
	if err != nil {
		return 0, err
	}
	if d == nil {
		return 0, errs.Internal("The sequence '%s' does not exist", name)
	}
	def, ok := d.Stmt.(*ast.DefineSequence)
	if !ok {
		return 0, fmt.Errorf("definition of sequence %s is of another kind", name)
	}
	return r.Ex.sequences.Next(ctx, r.Ex.Store, r.Ex.Reading(), def, d, r.Tx.Turn())
}
