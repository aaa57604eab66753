// Package relay brings the live queries of this process what the processes that share the store have changed.
//
// A process that has a live query on a table watches that table (package nodes). A transaction that changes a table
// which a process watches tells the changes with its commit (kv.Teller). Each process that has live queries listens,
// and publishes what it hears to its live.Hub: the changes of its own transactions, too, so that all come in one order.
//
// A Relay promises: a subscription hears of every change that is committed after the transaction that made it, once,
// and of two changes of one record the earlier one first; or it ends, and its subscriber is told. DESIGN.md of
// engine/nodes says why that holds.
package relay

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/live"
	"github.com/nacredb/nacre/engine/nodes"
	"github.com/nacredb/nacre/engine/txn"
)

// Every is how often a process with live queries listens.
const Every = 40 * time.Millisecond

// restAfter is for how long a table that no live query is on stays watched, at least.
const restAfter = 30 * time.Second

// Why the engine ends live queries: what their subscribers are told.
const (
	tooFar  = "The server has not heard of changes for too long: begin the live query again"
	takenUp = "Other servers took this one for gone: begin the live query again"
)

// Relay belongs to one engine and is safe for concurrent use. Close stops its goroutine.
type Relay struct {
	store   kv.Teller
	process *nodes.Process
	hub     *live.Hub
	opt     txn.Options
	log     *slog.Logger
	ctx     context.Context
	stop    context.CancelFunc
	done    chan struct{}
	wake    chan struct{}

	mu       sync.Mutex               // held while it listens; guards what follows
	listener kv.Listener              // nil: there was no live query yet
	id       [16]byte                 // the process as it was called when it began to listen
	idle     map[live.Table]time.Time // the tables that are watched: since when without a live query; zero: with one
	failing  bool                     // the last time it could not listen

	pending sync.Mutex // guards what follows; a leaf lock
	holds   int        // commits under way that make live queries
	begun   []begun    // live queries that are committed and not added yet, in the order of their commits
}

// begun is a live query that was made in a commit.
type begun struct {
	sub  *live.Subscription
	mark uint64 // of the transaction
	at   kv.Version
}

// New makes a relay, which begins to listen with the first live query. It gives nil for a store in which nothing can be
// told.
func New(store kv.Store, process *nodes.Process, hub *live.Hub, opt txn.Options, log *slog.Logger) *Relay {
	t, ok := store.(kv.Teller)
	if !ok || process == nil {
		return nil
	}
	r := &Relay{store: t, process: process, hub: hub, opt: opt, log: log, done: make(chan struct{}),
		wake: make(chan struct{}, 1), idle: map[live.Table]time.Time{}}
	r.ctx, r.stop = context.WithCancel(context.Background())
	process.Each(func(ctx context.Context) {
		r.tidy(ctx)
		if _, err := t.Forget(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, kv.ErrConflict) {
			log.Warn("what live queries were told is not removed yet", "err", err)
		}
	})
	go r.run()
	return r
}

// Close stops the goroutine and waits for it.
func (r *Relay) Close() {
	if r == nil {
		return
	}
	r.stop()
	<-r.done
}

// Watch makes tx, which makes a live query on a table, watch that table.
func (r *Relay) Watch(tx *txn.Tx, t live.Table) error {
	return nodes.Watch(tx, r.process.ID(), t.DB, t.TB)
}

// Hold must be called before a transaction commits that makes live queries, and Release when it is over: the process
// does not listen meanwhile, so it has heard nothing of what is committed later. Errors: those of a store that does not
// answer.
func (r *Relay) Hold() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.listener == nil || r.quiet() {
		id := r.process.ID()
		l, err := r.store.Listen(r.ctx)
		if err != nil {
			return err
		}
		r.listener, r.id = l, id
	}
	r.pending.Lock()
	r.holds++
	r.pending.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
	return nil
}

// Release ends a Hold.
func (r *Relay) Release() {
	r.pending.Lock()
	defer r.pending.Unlock()
	r.holds--
}

// quiet reports whether there is no live query, and none is being made; r.mu is held.
func (r *Relay) quiet() bool {
	n, _, _ := r.hub.Stats()
	return n == 0 && !r.busy()
}

// busy reports whether a live query is being made.
func (r *Relay) busy() bool {
	r.pending.Lock()
	defer r.pending.Unlock()
	return r.holds > 0 || len(r.begun) > 0
}

// Begin notes a live query that a transaction has made with its commit at a version. It must be called in the order of
// commits (txn.Tx.OnApply) between Hold and Release. mark is that of Tell.
func (r *Relay) Begin(sub *live.Subscription, mark uint64, at kv.Version) {
	r.pending.Lock()
	defer r.pending.Unlock()
	r.begun = append(r.begun, begun{sub, mark, at})
}

// Settle adds the live queries that have begun in commits up to a version.
func (r *Relay) Settle(at kv.Version) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settle(at)
}

// settle adds live queries, each group of one commit when all up to that commit is heard; r.mu is held. It reports
// whether none is left: the rest waits for a store that answers.
func (r *Relay) settle(upTo kv.Version) bool {
	for {
		r.pending.Lock()
		n := 0
		for n < len(r.begun) && r.begun[n].at == r.begun[0].at && r.begun[n].at <= upTo {
			n++
		}
		group := append([]begun(nil), r.begun[:n]...)
		left := len(r.begun) > n
		r.pending.Unlock()
		if n == 0 {
			return !left
		}
		if r.listener == nil { // it could not begin anew
			if r.renew(); r.listener == nil {
				return false
			}
		}
		if !r.add(group) {
			return false
		}
		r.pending.Lock()
		r.begun = append([]begun(nil), r.begun[n:]...)
		r.pending.Unlock()
	}
}

// add adds the live queries of one commit. What that commit has told itself they hear by their places in it.
func (r *Relay) add(group []begun) bool {
	var own *told
	var id uint64
	err := r.listener.Hear(r.ctx, group[0].at, func(stamp uint64, b []byte) error {
		t, err := decode(b)
		if err == nil && t.mark == group[0].mark {
			own, id = t, stamp
			return nil
		}
		return r.publish(stamp, t, err)
	})
	over := r.over(err)
	if err != nil && !over {
		return false
	}
	for _, b := range group {
		r.hub.AddWith(b.sub, id)
		r.idle[b.sub.Table] = time.Time{}
	}
	if over {
		r.hub.EndAll(tooFar)
	} else if own != nil {
		r.over(r.publish(id, own, nil))
	}
	return true
}

// over ends all live queries where err says that something may have been missed.
func (r *Relay) over(err error) bool {
	switch {
	case err == nil:
		r.failing = false
		return false
	case errors.Is(err, kv.ErrTooOld), errors.Is(err, errMalformed), errors.Is(err, kv.ErrCorrupt):
		r.log.Error("live queries end: what other servers tell cannot be heard", "err", err)
		r.hub.EndAll(tooFar)
		r.renew()
		return true
	}
	if !r.failing && r.ctx.Err() == nil {
		r.log.Warn("live queries wait: what other servers tell is not heard", "err", err)
	}
	r.failing = true
	return false
}

// renew begins to listen anew, from now on, or else with the next Hold; r.mu is held.
func (r *Relay) renew() {
	id := r.process.ID()
	l, err := r.store.Listen(r.ctx)
	if err != nil {
		l = nil
	}
	r.listener, r.id = l, id
}

// publish hands over what one commit has told.
func (r *Relay) publish(id uint64, t *told, err error) error {
	if err != nil {
		return err
	}
	for {
		added := r.hub.Added()
		changes, err := t.changes(r.hub.Watched)
		if err != nil {
			return err
		}
		if len(changes) == 0 || r.hub.Publish(added, id, changes) {
			break
		}
	}
	for _, of := range t.ends {
		r.hub.End(of)
	}
	return nil
}

// run listens until Close.
func (r *Relay) run() {
	defer close(r.done)
	tick := time.NewTicker(Every)
	defer tick.Stop()
	for {
		if r.asleep() { // until there is a live query
			select {
			case <-r.wake:
			case <-r.ctx.Done():
				return
			}
		}
		select {
		case <-tick.C:
			r.listen()
		case <-r.ctx.Done():
			return
		}
	}
}

func (r *Relay) asleep() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.quiet()
}

// newest is later than any version.
const newest = ^kv.Version(0)

// listen hears what is new, unless a live query is being made.
func (r *Relay) listen() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.quiet() {
		return
	}
	if r.listener == nil { // it could not begin anew
		if r.renew(); r.listener == nil {
			return
		}
	}
	if !r.settle(newest) {
		return
	}
	if r.busy() {
		return
	}
	now, err := r.present()
	if errors.Is(err, nodes.ErrGone) {
		r.log.Error("live queries end: other servers took this one for gone")
		r.hub.EndAll(takenUp)
		r.renew()
		return
	}
	if err == nil {
		err = r.listener.Hear(r.ctx, r.listener.Calm(now), func(stamp uint64, b []byte) error {
			t, err := decode(b)
			return r.publish(stamp, t, err)
		})
	}
	r.over(err)
}

// present gives the version of a snapshot in which the process is there: what it watches was watched up to then.
// Errors: nodes.ErrGone.
func (r *Relay) present() (kv.Version, error) {
	tx, err := txn.Begin(r.ctx, r.store.(kv.Store), r.opt)
	if err != nil {
		return 0, err
	}
	defer tx.Cancel()
	return tx.Version(), nodes.Here(tx, r.id)
}

// tidy takes back the watch on tables that no live query has been on for a while.
func (r *Relay) tidy(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.busy() {
		return
	}
	old := map[uint32]map[uint32]bool{} // tables by database
	for t, since := range r.idle {
		switch {
		case r.hub.Watched(t):
			r.idle[t] = time.Time{}
		case since.IsZero():
			r.idle[t] = time.Now()
		case time.Since(since) > restAfter:
			if old[t.DB] == nil {
				old[t.DB] = map[uint32]bool{}
			}
			old[t.DB][t.TB] = true
		}
	}
	for db, tables := range old {
		all := true // an entry for all tables goes when the last one does
		for t := range r.idle {
			all = all && (t.DB != db || tables[t.TB])
		}
		err := txn.Retry(ctx, r.store.(kv.Store), r.opt, func(tx *txn.Tx) error {
			return nodes.Unwatch(tx, r.id, db, func(tb uint32) bool { return tables[tb] || tb == 0 && all })
		})
		if err != nil {
			return // the next time
		}
		for t := range r.idle {
			if t.DB == db && tables[t.TB] {
				delete(r.idle, t)
			}
		}
	}
}
