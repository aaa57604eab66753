package nodes_test

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/mem"
	"github.com/nacredb/nacre/engine/nodes"
	"github.com/nacredb/nacre/engine/txn"
)

func start(t *testing.T, st kv.Store) *nodes.Process {
	t.Helper()
	p, err := nodes.StartProcess(ctx, st, txn.Options{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// do runs f in a transaction and commits it.
func do(t *testing.T, st kv.Store, f func(tx *txn.Tx) error) {
	t.Helper()
	if err := txn.Retry(ctx, st, txn.Options{}, f); err != nil {
		t.Fatal(err)
	}
}

func watched(t *testing.T, st kv.Store, db uint32) (tables nodes.Tables) {
	t.Helper()
	do(t, st, func(tx *txn.Tx) (err error) {
		tables, err = nodes.Watched(tx, db)
		return err
	})
	return tables
}

// TestProcessIsTakenOut: a process that does not beat is taken out by another one, with what it watches, and what it
// then commits fails. It comes back under another id.
func TestProcessIsTakenOut(t *testing.T) {
	st := newShared()
	one := start(t, st)
	id := one.ID()
	do(t, st, func(tx *txn.Tx) error { return nodes.Watch(tx, id, 7, 1) })
	late, err := txn.Begin(ctx, st, txn.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(nodes.Here(late, id), late.Set([]byte("late"), nil)); err != nil {
		t.Fatal(err)
	}
	st.pass(nodes.Gone + time.Second) // one beats again before anybody looks, or is taken out: both are right
	two := start(t, st)
	for end := time.Now().Add(60 * time.Second); one.ID() == id && time.Now().Before(end); {
		st.pass(nodes.Gone + time.Second)
		time.Sleep(time.Millisecond) // it may beat just before the other one looks
	}
	if one.ID() == id {
		t.Fatal("it is not taken out")
	}
	if watched(t, st, 7).Has(1) {
		t.Error("what it watched is there still")
	}
	if err := late.Commit(ctx); !errors.Is(err, kv.ErrConflict) {
		t.Errorf("what it commits late: %v", err)
	}
	tx, err := txn.Begin(ctx, st, txn.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := nodes.Watch(tx, id, 7, 1); !errors.Is(err, nodes.ErrGone) {
		t.Errorf("watch under the old id: %v", err)
	}
	tx.Cancel()
	if err := errors.Join(one.Close(ctx), two.Close(ctx)); err != nil {
		t.Error(err)
	}
}

// TestWatch: who watches few tables names them, who watches many watches all, and each process speaks for itself.
func TestWatch(t *testing.T) {
	st := newShared()
	one, two := start(t, st), start(t, st)
	watch := func(p *nodes.Process, tb uint32) {
		t.Helper()
		do(t, st, func(tx *txn.Tx) error { return nodes.Watch(tx, p.ID(), 7, tb) })
	}
	watch(one, 1)
	watch(one, 1)
	watch(two, 1)
	watch(two, 2)
	if w := watched(t, st, 7); len(w) != 3*20 || !w.Has(1) || !w.Has(2) || w.Has(3) || watched(t, st, 8).Has(1) {
		t.Errorf("watched: %x", w)
	}
	do(t, st, func(tx *txn.Tx) error {
		return nodes.Unwatch(tx, two.ID(), 7, func(tb uint32) bool { return tb == 1 })
	})
	if w := watched(t, st, 7); !w.Has(1) || !w.Has(2) {
		t.Errorf("after one has ended its watch: %x", w)
	}
	for tb := range uint32(200) {
		watch(one, 10+tb)
	}
	if w := watched(t, st, 7); len(w) != 2*20 || !w.Has(99999) {
		t.Errorf("one that watches many: %d bytes", len(w))
	}
	if err := one.Close(ctx); err != nil {
		t.Error(err)
	}
	if w := watched(t, st, 7); len(w) != 20 || w.Has(1) || !w.Has(2) {
		t.Errorf("after one has left: %x", w)
	}
	if err := two.Close(ctx); err != nil {
		t.Error(err)
	}
	if w := watched(t, st, 7); w != nil {
		t.Errorf("after both have left: %x", w)
	}
}

// TestProcessAlone: a store that one process has open has no processes.
func TestProcessAlone(t *testing.T) {
	st := mem.New()
	defer st.Close()
	if p := start(t, st); p != nil {
		t.Error("there is one")
	}
	if v := st.Stats().Version; v != 0 {
		t.Errorf("something was written: version %d", v)
	}
}
