package engine

import (
	"context"
	"time"

	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/nodes"
	"github.com/nacredb/nacre/engine/txn"
)

// observeEvery is how often a process that shares its store looks for what others have changed that is kept in memory.
// Statements look too, each in its own snapshot.
const observeEvery = 200 * time.Millisecond

// observer looks for changes of other processes until it is stopped. nil does nothing.
type observer struct {
	stop context.CancelFunc
	done chan struct{}
}

// observe starts an observer; nil for a store that one process has open.
func observe(store kv.Store, cat *catalog.Cache, process *nodes.Process) *observer {
	if !nodes.Shared(store) {
		return nil
	}
	ctx, stop := context.WithCancel(context.Background())
	o := &observer{stop: stop, done: make(chan struct{})}
	go func() {
		defer close(o.done)
		o.run(ctx, store, cat, process)
	}()
	return o
}

// run looks again and again. A store that does not answer is what statements report.
func (o *observer) run(ctx context.Context, store kv.Store, cat *catalog.Cache, process *nodes.Process) {
	tick := time.NewTicker(observeEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			_ = look(ctx, store, cat, process)
		}
	}
}

// look also takes questions of other processes: whether there are some is asked with the same request.
func look(ctx context.Context, store kv.Store, cat *catalog.Cache, process *nodes.Process) error {
	tx, err := txn.Begin(ctx, store, txn.Options{})
	if err != nil {
		return err
	}
	defer tx.Cancel()
	if err := cat.Observe(tx, nodes.Asked()); err != nil {
		return err
	}
	return process.Heard(tx)
}

func (o *observer) close() {
	if o != nil {
		o.stop()
		<-o.done
	}
}

// hear counts what other processes have changed until now. The snapshot of a transaction that a client has begun may be
// older than what its client, or another one, was told of since.
func (e *Engine) hear(ctx context.Context) error {
	if !nodes.Shared(e.store) {
		return nil
	}
	tx, err := txn.Begin(ctx, e.store, txn.Options{})
	if err != nil {
		return err
	}
	defer tx.Cancel()
	return e.queries.Catalog.Observe(tx)
}
