package nodes_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/mem"
	"github.com/nacredb/nacre/engine/nodes"
	"github.com/nacredb/nacre/engine/txn"
)

var ctx = context.Background()

// shared is a store in memory that several processes seem to share. Its clock is the test's.
type shared struct {
	kv.Store
	mu  sync.Mutex
	now time.Time
}

func newShared() *shared { return &shared{Store: mem.New(), now: time.Unix(1_700_000_000, 0)} }

// Time implements kv.Dated.
func (s *shared) Time(kv.Version) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *shared) pass(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

func list(t *testing.T, store kv.Store) string {
	t.Helper()
	tx, err := txn.Begin(ctx, store, txn.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Cancel()
	all, err := nodes.List(store, tx)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, n := range all {
		names = append(names, n.Name+"@"+n.Address+" "+n.Version)
	}
	return strings.Join(names, ", ")
}

// stored counts the records, also of those that are gone.
func stored(t *testing.T, store kv.Store) (n int) {
	t.Helper()
	sn, err := store.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Release()
	c := sn.Scan(kv.Prefix([]byte{byte(key.ClassNode)}), kv.ScanOptions{})
	defer c.Close()
	for c.Next() {
		n++
	}
	return n
}

func node(name string) nodes.Node {
	return nodes.Node{ID: [16]byte{name[0]}, Name: name, Address: "h:1", Version: "1"}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func TestNodesOfASharedStore(t *testing.T) {
	st := newShared()
	defer st.Close()
	var opt txn.Options
	a, b := node("a"), node("b")
	must(t, nodes.Join(ctx, st, opt, b))
	st.pass(time.Second)
	must(t, nodes.Join(ctx, st, opt, a))
	if got := list(t, st); got != "b@h:1 1, a@h:1 1" {
		t.Fatal(got)
	}
	st.pass(nodes.Gone - time.Second - 1) // b has a nanosecond left
	must(t, nodes.Beat(ctx, st, opt, a.ID))
	if got := list(t, st); got != "b@h:1 1, a@h:1 1" {
		t.Error(got)
	}
	st.pass(1)
	if got := list(t, st); got != "a@h:1 1" || stored(t, st) != 2 {
		t.Error(got, stored(t, st))
	}
	alive, err := nodes.Alive(ctx, st, opt, b.ID)
	if alive || err != nil {
		t.Error("a node that is gone is alive", err)
	}
	must(t, nodes.Beat(ctx, st, opt, a.ID))
	if stored(t, st) != 1 {
		t.Error("the record of a node that is gone stays")
	}
	if err := nodes.Beat(ctx, st, opt, b.ID); !errors.Is(err, nodes.ErrGone) {
		t.Error("a node that is gone beats:", err)
	}
	must(t, nodes.Join(ctx, st, opt, b), nodes.Leave(ctx, st, opt, a.ID), nodes.Leave(ctx, st, opt, a.ID))
	if got := list(t, st); got != "b@h:1 1" || stored(t, st) != 1 {
		t.Error(got)
	}
	st.pass(nodes.Gone)
	must(t, nodes.Join(ctx, st, opt, a)) // one that joins removes too
	if got := list(t, st); got != "a@h:1 1" || stored(t, st) != 1 {
		t.Error(got)
	}
}

// TestClockGoesBack: a clock that is set back ends no node.
func TestClockGoesBack(t *testing.T) {
	st := newShared()
	defer st.Close()
	a := node("a")
	must(t, nodes.Join(ctx, st, txn.Options{}, a))
	st.pass(-time.Hour)
	must(t, nodes.Beat(ctx, st, txn.Options{}, a.ID))
	if got := list(t, st); got != "a@h:1 1" {
		t.Error(got)
	}
}

func TestNodeOfAStoreOfItsOwn(t *testing.T) {
	st := mem.New()
	defer st.Close()
	a, b := node("a"), node("b")
	must(t, nodes.Join(ctx, st, txn.Options{}, a))
	before := st.Stats().Commits
	must(t, nodes.Beat(ctx, st, txn.Options{}, a.ID))
	if st.Stats().Commits != before {
		t.Error("a beat has written")
	}
	must(t, nodes.Join(ctx, st, txn.Options{}, b))
	if err := nodes.Beat(ctx, st, txn.Options{}, a.ID); !errors.Is(err, nodes.ErrGone) {
		t.Error("the one before beats:", err)
	}
	if got := list(t, st); got != "b@h:1 1" {
		t.Error(got)
	}
}

func TestRecordsOfOthers(t *testing.T) {
	st := newShared()
	defer st.Close()
	put := func(value string) {
		t.Helper()
		b := &kv.Batch{Writes: []kv.Write{{Key: key.Node(nil, [16]byte{'o'}), Value: []byte(value)}}}
		if _, err := st.Commit(ctx, b); err != nil {
			t.Fatal(err)
		}
	}
	put("\x17\x97\x9c\xfe\x36\x2a\x00\x00") // of an earlier version
	if got := list(t, st); got != "" {
		t.Error(got)
	}
	must(t, nodes.Join(ctx, st, txn.Options{}, node("a")))
	if stored(t, st) != 1 {
		t.Error("it stays")
	}
	for _, damaged := range []string{"", "1234567", "123456789", "1234567890123456", "1234567890123456{"} {
		put(damaged)
		if err := nodes.Join(ctx, st, txn.Options{}, node("b")); !errors.Is(err, kv.ErrCorrupt) {
			t.Errorf("%q: %v", damaged, err)
		}
	}
	long := node("c")
	long.Name = strings.Repeat("x", 2000)
	if err := nodes.Join(ctx, newShared(), txn.Options{}, long); err == nil {
		t.Error("a name of 2000 bytes is stored")
	}
}

// TestManyBeat: nodes that renew and remove at once do not get in each other's way.
func TestManyBeat(t *testing.T) {
	st := newShared()
	defer st.Close()
	must(t, nodes.Join(ctx, st, txn.Options{}, node("z")))
	st.pass(nodes.Gone)
	var wg sync.WaitGroup
	for _, name := range []string{"a", "b", "c", "d"} {
		wg.Go(func() {
			if err := nodes.Join(ctx, st, txn.Options{}, node(name)); err != nil {
				t.Error(err)
			}
			for range 20 {
				if err := nodes.Beat(ctx, st, txn.Options{}, node(name).ID); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if stored(t, st) != 4 {
		t.Errorf("%d records", stored(t, st))
	}
}
