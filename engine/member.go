package engine

import (
	"context"

	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/value"
)

// Join makes this process a member of those that serve the store, and gives the id of its membership record. Members
// that were left over from processes which did not Leave are dropped: such a store has one process at a time.
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

// importSetting is where an import is noted, by the checksum of its text.
func importSetting(sum string) string { return "import " + sum }

// Imported reports whether NoteImport was called with sum, the checksum of a file of statements.
func (e *Engine) Imported(ctx context.Context, sum string) (done bool, err error) {
	st := e.system()
	err = e.queries.Read(ctx, &st, func(r *exec.Run) error {
		o, err := r.Cat.Setting(importSetting(sum))
		done = err == nil && o.Len() > 0
		return err
	})
	return done, err
}

// NoteImport notes that a file of statements with that checksum was imported whole.
func (e *Engine) NoteImport(ctx context.Context, sum string) error {
	return e.asSystem(ctx, func(r *exec.Run) error {
		now := r.Now()
		at := value.DatetimeOf(value.Datetime{Secs: now.Unix(), Nanos: uint32(now.Nanosecond())})
		return r.Cat.PutSetting(importSetting(sum), value.NewObject(value.Field{Name: "at", Value: at}))
	})
}

// system is the state of work that the engine does for itself.
func (e *Engine) system() exec.SessionState {
	return e.queries.System()
}

func (e *Engine) asSystem(ctx context.Context, f func(*exec.Run) error) error {
	st := e.system()
	return e.queries.Write(ctx, &st, f)
}
