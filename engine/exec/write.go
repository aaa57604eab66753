package exec

import (
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

// execData executes the statements that write records or definitions, or report on them.
func (r *Run) execData(env *Env, s ast.Statement) (value.Value, error) {
	return value.None, notRunnable(s)
}
