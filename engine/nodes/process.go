package nodes

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
)

// A process that shares a store has two keys: one that says that it is there, and does not change, and one with the
// time when it last said so. Another process that has not seen a new time for Gone removes both, in a transaction. A
// process that is removed never comes back under its id: it takes another one. So a transaction that has read the
// first key of a process, and commits, was right that no other one had taken the process for gone.
//
//	key.Process(id, 0) → nothing     it is there
//	key.Process(id, 1) → beat8       Unix nanoseconds, big endian, by the clock that the processes share
const (
	partHere = 0
	partBeat = 1
)

// clearEvery is how many beats lie between two looks for processes that are gone.
const clearEvery = 3

// Process is this process among those that share a store. It owns two goroutines until Close: what runs after beats
// must not hold up the next beat.
type Process struct {
	store kv.Store
	opt   txn.Options
	log   *slog.Logger
	stop  context.CancelFunc
	done  chan struct{}
	asks  asks

	mu    sync.Mutex // guards what follows; a leaf lock
	id    [16]byte
	tasks []func(context.Context)
}

// StartProcess enters this process among those that share the store, and says every 2 s that it is there. It gives
// nil for a store that one process has open: all methods of nil are those of a process that is alone.
func StartProcess(ctx context.Context, store kv.Store, opt txn.Options, log *slog.Logger) (*Process, error) {
	if !Shared(store) {
		return nil, nil
	}
	opt.Urgent = true
	p := &Process{store: store, opt: opt, log: log, done: make(chan struct{})}
	p.asks.init()
	if err := p.enter(ctx); err != nil {
		return nil, fmt.Errorf("enter among the processes of the store: %w", err)
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	p.stop = stop
	go func() {
		defer close(p.done)
		var working sync.WaitGroup
		beaten := make(chan struct{}, 1)
		working.Go(func() { p.work(running, beaten) })
		p.run(running, beaten)
		working.Wait()
	}()
	return p, nil
}

// ID is the name of the process; it gets another one when others have taken it for gone.
func (p *Process) ID() [16]byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.id
}

// Each makes f run after beats, one after the other. It must end with its context.
func (p *Process) Each(f func(context.Context)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tasks = append(p.tasks, f)
}

// Close ends the beats, and takes the process out.
func (p *Process) Close(ctx context.Context) error {
	if p == nil {
		return nil
	}
	p.stop()
	p.asks.close()
	<-p.done
	id := p.ID()
	return txn.Retry(ctx, p.store, p.opt, func(tx *txn.Tx) error { return TakeOut(tx, id) })
}

// enter registers the process under a new id.
func (p *Process) enter(ctx context.Context) error {
	var id [16]byte
	rand.Read(id[:]) // never fails: it ends the process instead
	err := txn.Retry(ctx, p.store, p.opt, func(tx *txn.Tx) error {
		if err := tx.Set(key.Process(nil, id, partHere), nil); err != nil {
			return err
		}
		return setBeat(tx, id, now(p.store, tx))
	})
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.id = id
	return nil
}

func setBeat(tx *txn.Tx, id [16]byte, at time.Time) error {
	return tx.Set(key.Process(nil, id, partBeat), binary.BigEndian.AppendUint64(nil, uint64(at.UnixNano())))
}

// work does what is to be done after beats.
func (p *Process) work(ctx context.Context, beaten <-chan struct{}) {
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-beaten:
		}
		if n%clearEvery == 0 {
			if err := errors.Join(p.clear(ctx), p.clearAsks(ctx)); err != nil && ctx.Err() == nil {
				p.log.Warn("servers that are gone stay listed", "err", err)
			}
		}
		p.mu.Lock()
		tasks := p.tasks
		p.mu.Unlock()
		for _, f := range tasks {
			f(ctx)
		}
	}
}

// run beats until ctx ends.
func (p *Process) run(ctx context.Context, beaten chan<- struct{}) {
	tick := time.NewTicker(Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := p.beat(ctx); err != nil {
			if ctx.Err() == nil {
				p.log.Warn("the other servers do not hear of this one", "err", err)
			}
			continue
		}
		select {
		case beaten <- struct{}{}:
		default: // the work after an earlier beat goes on
		}
	}
}

// beat says that the process is there. One that others have taken for gone enters anew.
func (p *Process) beat(ctx context.Context) error {
	id := p.ID()
	err := txn.Retry(ctx, p.store, p.opt, func(tx *txn.Tx) error {
		if err := Here(tx, id); err != nil {
			return err
		}
		return setBeat(tx, id, now(p.store, tx))
	})
	if !errors.Is(err, ErrGone) {
		return err
	}
	p.log.Warn("other servers took this one for gone: it enters anew")
	return p.enter(ctx)
}

// clear takes out the processes that are gone.
func (p *Process) clear(ctx context.Context) error {
	var stale [][16]byte
	err := txn.Retry(ctx, p.store, p.opt, func(tx *txn.Tx) error {
		stale = nil
		at := now(p.store, tx)
		cur := tx.Scan(kv.Prefix([]byte{byte(key.ClassProcess)}), txn.ScanOptions{Untracked: true})
		defer cur.Close()
		for cur.Next() {
			if id, part, err := key.DecodeProcess(cur.Key()); err != nil {
				return err
			} else if part == partBeat && beatenBefore(cur.Value(), at.Add(-Gone)) {
				stale = append(stale, id)
			}
		}
		return cur.Err()
	})
	for _, id := range stale {
		if err != nil {
			break
		}
		err = txn.Retry(ctx, p.store, p.opt, func(tx *txn.Tx) error {
			if works, err := Works(p.store, tx, id); works || err != nil {
				return err
			}
			return TakeOut(tx, id)
		})
	}
	return err
}

func beatenBefore(raw []byte, at time.Time) bool {
	return len(raw) != 8 || time.Unix(0, int64(binary.BigEndian.Uint64(raw))).Before(at)
}

// Others reports whether other processes are there too, as tx sees it. It does not count as read.
func (p *Process) Others(tx *txn.Tx) (bool, error) {
	if p == nil {
		return false, nil
	}
	found, err := p.others(tx, 1)
	return len(found) > 0, err
}

// others gives the other processes that are there, up to most; 0: all.
func (p *Process) others(tx *txn.Tx, most int) (found [][16]byte, err error) {
	me, at := p.ID(), now(p.store, tx)
	cur := tx.Scan(kv.Prefix([]byte{byte(key.ClassProcess)}), txn.ScanOptions{Untracked: true})
	defer cur.Close()
	for cur.Next() && (most == 0 || len(found) < most) {
		id, part, err := key.DecodeProcess(cur.Key())
		if err != nil {
			return nil, err
		}
		if part == partBeat && id != me && !beatenBefore(cur.Value(), at.Add(-Gone)) {
			found = append(found, id)
		}
	}
	return found, cur.Err()
}

// TakeOut removes a process, with what it watches.
func TakeOut(tx *txn.Tx, id [16]byte) error {
	for _, part := range []byte{partHere, partBeat} {
		if err := tx.Delete(key.Process(nil, id, part)); err != nil {
			return err
		}
	}
	return unwatchAll(tx, id)
}

// Here is ErrGone for a process that was taken out. It counts as read: a transaction that commits after it was right.
func Here(tx *txn.Tx, id [16]byte) error {
	raw, err := tx.Get(key.Process(nil, id, partHere))
	if err == nil && raw == nil {
		err = ErrGone
	}
	return err
}

// Works reports whether a process is there, and not gone. It counts as read: when the process says once more that it
// is there, the transaction is in conflict.
func Works(store kv.Store, tx *txn.Tx, id [16]byte) (bool, error) {
	raw, err := tx.Get(key.Process(nil, id, partBeat))
	if raw == nil || err != nil {
		return false, err
	}
	return !beatenBefore(raw, now(store, tx).Add(-Gone)), nil
}

// What the processes watch stands in one value for each database: a process and the id of a table, again and again.
//
//	key.Watch(db) → (id16 tb4)…     tb 0: all tables
const watchSize = 16 + 4

// maxWatched is how many tables of a database a process names; for more it watches all.
const maxWatched = 64

// Tables are those that processes watch in a database.
type Tables []byte

// Has reports whether a process watches the table.
func (t Tables) Has(tb uint32) bool {
	for ; len(t) >= watchSize; t = t[watchSize:] {
		if of := binary.BigEndian.Uint32(t[16:]); of == tb || of == 0 {
			return true
		}
	}
	return false
}

// HasOther reports whether another process than id watches the table.
func (t Tables) HasOther(id [16]byte, tb uint32) bool {
	others, _ := t.without(id, func(uint32) bool { return true })
	return others.Has(tb)
}

// without gives the entries but those of a process for which drop holds.
func (t Tables) without(id [16]byte, drop func(tb uint32) bool) (left Tables, dropped int) {
	for ; len(t) >= watchSize; t = t[watchSize:] {
		if bytes.Equal(t[:16], id[:]) && drop(binary.BigEndian.Uint32(t[16:])) {
			dropped++
			continue
		}
		left = append(left, t[:watchSize]...)
	}
	return left, dropped
}

// of reports whether a process watches the table, and how many it names.
func (t Tables) of(id [16]byte, tb uint32) (watched bool, named int) {
	_, named = t.without(id, func(of uint32) bool {
		watched = watched || of == tb || of == 0
		return true
	})
	return watched, named
}

// Watched are the tables of a database that processes watch. It counts as read: a transaction that changes a table
// and commits has seen all who watch it by then.
func Watched(tx *txn.Tx, db uint32) (Tables, error) {
	raw, err := tx.Get(key.Watch(nil, db))
	if err == nil && len(raw)%watchSize != 0 {
		err = fmt.Errorf("read who watches database %d: %w", db, kv.ErrCorrupt)
	}
	return raw, err
}

// Watch notes that a process watches a table: all that commits after tx and changes it tells so. Errors: ErrGone.
func Watch(tx *txn.Tx, id [16]byte, db, tb uint32) error {
	t, err := Watched(tx, db)
	if err != nil {
		return err
	}
	watched, named := t.of(id, tb)
	if watched {
		return nil
	}
	if err := Here(tx, id); err != nil {
		return err
	}
	t = bytes.Clone(t)
	if named >= maxWatched {
		t, _ = t.without(id, func(uint32) bool { return true })
		tb = 0
	}
	t = binary.BigEndian.AppendUint32(append(t, id[:]...), tb)
	return tx.Set(key.Watch(nil, db), t)
}

// Unwatch takes back what Watch noted of those tables for which over holds; 0 stands for all of them.
func Unwatch(tx *txn.Tx, id [16]byte, db uint32, over func(tb uint32) bool) error {
	t, err := Watched(tx, db)
	if err != nil {
		return err
	}
	left, dropped := t.without(id, over)
	switch {
	case dropped == 0:
		return nil
	case len(left) == 0:
		return tx.Delete(key.Watch(nil, db))
	}
	return tx.Set(key.Watch(nil, db), left)
}

// unwatchAll takes back all that a process watches.
func unwatchAll(tx *txn.Tx, id [16]byte) error {
	start, end := key.WatchRange()
	cur := tx.Scan(kv.Range{Start: start, End: end}, txn.ScanOptions{Untracked: true})
	defer cur.Close()
	for cur.Next() {
		if !bytes.Contains(cur.Value(), id[:]) {
			continue
		}
		db, err := key.DecodeWatch(cur.Key())
		if err != nil {
			return err
		}
		if err := Unwatch(tx, id, db, func(uint32) bool { return true }); err != nil {
			return err
		}
	}
	return cur.Err()
}
