package engine_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/mem"
	"github.com/nacredb/nacre/engine/value"
)

// cutStore is a store in memory that several processes seem to share, with the clock of the test. One of them may be cut
// off from it: then it can commit nothing.
type cutStore struct {
	kv.Store
	passed *atomic.Int64 // nanoseconds that the clock is ahead
	left   atomic.Int64  // commits that still go through; negative: all
}

// Time implements kv.Dated.
func (s *cutStore) Time(kv.Version) time.Time { return time.Now().Add(time.Duration(s.passed.Load())) }

// Close leaves the store open for the others.
func (s *cutStore) Close() error { return nil }

// Commit implements kv.Store.
func (s *cutStore) Commit(ctx context.Context, b *kv.Batch) (kv.Version, error) {
	for {
		n := s.left.Load()
		if n == 0 {
			return 0, fmt.Errorf("cut off: %w", kv.ErrUnavailable)
		}
		if n < 0 || beats(b) || s.left.CompareAndSwap(n, n-1) {
			return s.Store.Commit(ctx, b)
		}
	}
}

// beats reports whether a batch says no more than that a process is there.
func beats(b *kv.Batch) bool {
	for _, w := range b.Writes {
		if key.Class(w.Key[0]) != key.ClassProcess {
			return false
		}
	}
	return true
}

// pairWithCuts are two engines over one store.
func pairWithCuts(t *testing.T) (stores [2]*cutStore, engines [2]*engine.Engine) {
	st, passed := mem.New(), new(atomic.Int64)
	for i := range stores {
		stores[i] = &cutStore{Store: st, passed: passed}
		stores[i].left.Store(-1)
		e, err := engine.OpenOn(context.Background(), stores[i], engine.Options{Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { stores[i].left.Store(-1); _ = e.Close(context.Background()) })
		engines[i] = e
	}
	return stores, engines
}

func fillLarge(t *testing.T, e *engine.Engine) {
	t.Helper()
	s := e.RootSession()
	mustDo(t, s, "USE NS main DB main; DEFINE TABLE t")
	for i := range 30 {
		mustDo(t, s, fmt.Sprintf("INSERT INTO t (array::range(%d, %d).map(|$n| { id: $n, v: $n %% 100 })); RETURN 1", i*1000, i*1000+1000))
	}
}

// awaitTrue waits until an expression is true.
func awaitTrue(t *testing.T, e *engine.Engine, text string) {
	t.Helper()
	s := e.RootSession()
	mustDo(t, s, "USE NS main DB main; RETURN 1")
	var got value.Value
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if got = mustDo(t, s, text); value.Truthy(got) {
			return
		}
	}
	t.Fatalf("%s: %s; %s", text, got.Text(), mustDo(t, s, "INFO FOR INDEX v ON t").Text())
}

const indexReady = "(INFO FOR INDEX v ON t).building.status = 'ready'"

// TestBuildIsTakenOver: the index that a server was building when it was cut off is built by another one, and the first
// one writes nothing more of it. A statement at the first one that waits for the index ends well when it hears again.
func TestBuildIsTakenOver(t *testing.T) {
	stores, engines := pairWithCuts(t)
	fillLarge(t, engines[0])
	s := engines[0].RootSession()
	mustDo(t, s, "USE NS main DB main; RETURN 1")
	answered := make(chan error, 1)
	stores[0].left.Store(3) // the definition, and two batches
	go func() {
		_, err := tryDo(s, "DEFINE INDEX v ON t FIELDS v")
		answered <- err
	}()
	awaitTrue(t, engines[1], "(INFO FOR TABLE t).indexes.v != NONE")
	if v := mustDo(t, engines[1].RootSession(), "USE NS main DB main; "+indexReady); value.Truthy(v) {
		t.Fatal("the index is built already: the test shows nothing")
	}
	stores[0].passed.Add(int64(11 * time.Second))
	awaitTrue(t, engines[1], indexReady)
	mustDo(t, engines[1].RootSession(), "USE NS main DB main; UPDATE t:5 SET v = 1000; DELETE t:105; CREATE t:99999 SET v = 1000")
	stores[0].left.Store(-1)
	if err := <-answered; err != nil {
		t.Errorf("the statement that waits: %v", err)
	}
	for _, e := range engines {
		same := "array::sort(SELECT VALUE id FROM t WHERE v = %[1]d) = array::sort(SELECT VALUE id FROM t WITH NOINDEX WHERE v = %[1]d)"
		for _, v := range []int{5, 99, 1000} {
			awaitTrue(t, e, fmt.Sprintf(same, v))
		}
		awaitTrue(t, e, "count(SELECT VALUE id FROM t WHERE v = 1000) = 2")
	}
}

// TestRemovalIsTakenOver: what a server was removing in the background when it was cut off is removed by another one.
func TestRemovalIsTakenOver(t *testing.T) {
	stores, engines := pairWithCuts(t)
	fillLarge(t, engines[0])
	before := stores[0].Stats().Keys
	s := engines[0].RootSession()
	mustDo(t, s, "USE NS main DB main; RETURN 1")
	stores[0].left.Store(1)
	mustDo(t, s, "REMOVE TABLE t")
	stores[0].passed.Add(int64(11 * time.Second))
	for end := time.Now().Add(60 * time.Second); stores[1].Stats().Keys > before/10; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d keys of %d are left", stores[1].Stats().Keys, before)
		}
	}
}
