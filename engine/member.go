package engine

import (
	"context"

	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/value"
)

// Join makes this process a member of those that serve the store, and gives the id of its membership record. Members that
// were left over from processes which did not Leave are dropped: such a store has one process at a time.
func (e *Engine) Join(ctx context.Context) (value.UUID, error) {
	id := e.queries.NewKey("uuid").UUID()
	err := e.asSystem(ctx, func(r *exec.Run) error {
		if err := r.Cat.DropNodes(); err != nil {
			return err
		}
		return r.Cat.PutNode(id, r.Now())
	})
	return id, err
}

// Member reports whether the membership record of id is there.
func (e *Engine) Member(ctx context.Context, id value.UUID) (there bool, err error) {
	st := e.system()
	err = e.queries.Read(ctx, &st, func(r *exec.Run) error {
		there, err = r.Cat.Node(id)
		return err
	})
	return there, err
}

// Leave removes the membership record of id.
func (e *Engine) Leave(ctx context.Context, id value.UUID) error {
	return e.asSystem(ctx, func(r *exec.Run) error { return r.Cat.DropNode(id) })
}

// system is the state of work that the engine does for itself.
func (e *Engine) system() exec.Session {
	return e.queries.System()
}

func (e *Engine) asSystem(ctx context.Context, f func(*exec.Run) error) error {
	st := e.system()
	return e.queries.Write(ctx, &st, f)
}
