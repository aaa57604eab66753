// Package query runs texts of statements for sessions: the transactions around statements, their answers and the rows
// that leave while they run, LIVE and KILL, and ASYNC events.
//
// Package engine builds on it. A Runner belongs to one engine and is safe for concurrent use; a Query belongs
// to one text and one goroutine.
package query

import (
	"context"
	"sync/atomic"

	"github.com/nacredb/nacre/engine/access"
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/build"
	"github.com/nacredb/nacre/engine/define"
	"github.com/nacredb/nacre/engine/endpoint"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// Runner runs texts for all sessions of one engine. It puts together the packages that run statements.
type Runner struct {
	*exec.Executor
	Build  *build.Builder
	Define *define.Definer
	Access *access.Authenticator
	events eventQueue
	limit  atomic.Pointer[systemLimit] // what systemTimeout found last

	working register // of the queries that run
}

// New makes a runner. Open must be called before a client uses it.
func New(c exec.Config) *Runner {
	x := &Runner{Executor: exec.New(c)}
	x.Build = build.New(x.Executor)
	x.Define = define.New(x.Build)
	x.Access = access.New(x.Executor)
	x.events.ex, x.events.room.L = x, &x.events.mu
	x.Statements, x.Endpoints, x.Publish = x, endpoint.Caller{}, x.announce
	return x
}

// Close waits for the ASYNC events that are queued, no longer than ctx; none are taken on from then on. Then it stops
// the work on indexes; what was being built goes on when the store is opened again.
func (x *Runner) Close(ctx context.Context) {
	x.events.close(ctx)
	x.Build.Close()
	x.Executor.Close()
}

// run is an exec.Run at work on live queries.
type run struct{ *exec.Run }

// Statement implements exec.Statements.
func (x *Runner) Statement(ctx context.Context, r *exec.Run, env *exec.Env, s ast.Statement) (value.Value, error) {
	switch s := s.(type) {
	case *ast.Live:
		return (&run{r}).live(ctx, env, s)
	case *ast.Kill:
		return (&run{r}).kill(ctx, env, s)
	case *ast.GQL:
		return s.Program.(program).Run(ctx, r)
	case *ast.Access:
		return x.Access.Statement(ctx, r, env, s)
	}
	return x.Define.Statement(ctx, r, env, s)
}

// program is a statement outside the language: ISO GQL, and the fields of GraphQL.
type program interface {
	Run(ctx context.Context, r *exec.Run) (value.Value, error)
}

// announce tells live queries and ASYNC events of what a transaction changed.
func (x *Runner) announce(tx *txn.Tx, log *record.Log) error {
	if err := x.publish(tx, log); err != nil {
		return err
	}
	x.events.queue(tx, log)
	return nil
}
