package engine

import (
	"context"

	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/nodes"
	"github.com/nacredb/nacre/engine/value"
)

// NodeInfo is what a process says of itself to those that look at the nodes of a store.
type NodeInfo struct {
	Name    string // of its machine
	Address string // host:port where it listens
	Version string // of the program
}

// ErrNodeGone is the beat of a node that others took for gone.
var ErrNodeGone = nodes.ErrGone

// NodeBeat is how often a node of a store that several processes share must call Beat.
const NodeBeat = nodes.Every

// Shared reports whether several processes may serve the store.
func (e *Engine) Shared() bool { return nodes.Shared(e.store) }

// Join registers this process among those that serve the store, and gives its id. Nodes that are gone are removed: of a
// store that one process has open all others.
func (e *Engine) Join(ctx context.Context, info NodeInfo) (value.UUID, error) {
	id := e.queries.NewKey("uuid").UUID()
	n := nodes.Node{ID: id, Name: info.Name, Address: info.Address, Version: info.Version}
	err := nodes.Join(ctx, e.store, e.queries.Writing(), n)
	if err == nil {
		e.node.Store(&id)
	}
	return id, err
}

// Beat says that the node is at work. Errors: ErrNodeGone, those of a store that does not answer or takes no writes.
func (e *Engine) Beat(ctx context.Context, id value.UUID) error {
	return nodes.Beat(ctx, e.store, e.queries.Writing(), id)
}

// Member reports whether the node is registered and not gone.
func (e *Engine) Member(ctx context.Context, id value.UUID) (bool, error) {
	return nodes.Alive(ctx, e.store, e.queries.Reading(), id)
}

// Leave ends the registration of the node.
func (e *Engine) Leave(ctx context.Context, id value.UUID) error {
	return nodes.Leave(ctx, e.store, e.queries.Writing(), id)
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
