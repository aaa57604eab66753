package exec

import (
	"context"
	"time"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// Session is the part of a client's session that statements see and change. The engine owns it and
// gives it to one Run at a time.
type Session struct {
	NS, DB string      // "" for none
	Vars   []Var       // variables set on the connection
	ID     value.Value // uuid, or NONE
}

// Run is one statement or one transaction in progress. It belongs to one goroutine.
type Run struct {
	Ctx  context.Context
	Ex   *Executor
	Sess *Session
	Base *Env // the outermost frame: variables of the query text

	now   time.Time
	depth int
	ticks uint32
	ret   value.Value // see signal.go
}

// NewRun starts a run at the present time.
func (ex *Executor) NewRun(ctx context.Context, s *Session, base *Env) *Run {
	return &Run{Ctx: ctx, Ex: ex, Sess: s, Base: base, now: ex.Clock()}
}

// Context is the context of the statement.
func (r *Run) Context() context.Context { return r.Ctx }

// Now is the clock of the statement: it stands still while a statement runs.
func (r *Run) Now() time.Time { return r.now }

// Tick is called once per row or turn of a loop; each 256 turns it polls the context.
func (r *Run) Tick() error {
	r.ticks++
	if r.ticks&255 != 0 {
		return nil
	}
	return r.Ctx.Err()
}

// enter counts one level of nesting; leave undoes it.
func (r *Run) enter() error {
	if r.depth >= r.Ex.Limits.Depth {
		return errs.TooDeep()
	}
	r.depth++
	return nil
}

func (r *Run) leave() { r.depth-- }
