package bolt

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/fault"
)

// length is the number of requests in the queue.
func (q *queue) length() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

// stalled opens a store whose next sync of the log waits until release is called.
func stalled(t *testing.T, opt Options) (st *Store, inSync chan struct{}, release func()) {
	t.Helper()
	d := fault.NewDisk()
	opt.Path, opt.FS = filepath.Join(t.TempDir(), "x.db"), d
	st, err := Open(opt)
	if err != nil {
		t.Fatal(err)
	}
	inSync, gate := make(chan struct{}), make(chan struct{})
	var once sync.Once
	d.SetPlan(func(op fault.Op, _ int64) fault.Outcome {
		if op == fault.Sync {
			once.Do(func() {
				close(inSync)
				<-gate
			})
		}
		return fault.Outcome{}
	})
	return st, inSync, sync.OnceFunc(func() { close(gate) })
}

func put(st *Store, key string) error {
	_, err := st.Commit(context.Background(), &kv.Batch{Writes: []kv.Write{{Key: []byte(key), Value: []byte("v")}}})
	return err
}

// TestWaitingCommitsShareOneSync: all that came while one group was synced go together.
func TestWaitingCommitsShareOneSync(t *testing.T) {
	st, inSync, release := stalled(t, Options{})
	defer release()
	const others = 20
	errc := make(chan error, others+1)
	go func() { errc <- put(st, "first") }()
	<-inSync
	before := st.Stats()
	for i := range others {
		go func() { errc <- put(st, fmt.Sprint("other", i)) }()
	}
	for st.queue.length() < others {
		runtime.Gosched()
	}
	sn, err := st.Begin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if _, ok, _ := sn.Get([]byte("first")); ok {
		t.Error("a commit was visible before it was durable")
	}
	sn.Release()
	release()
	for range others + 1 {
		if err := <-errc; err != nil {
			t.Error(err)
		}
	}
	after := st.Stats()
	if syncs := after.Syncs - before.Syncs; syncs != 2 || after.Commits != others+1 {
		t.Errorf("got %d syncs for %d commits, want 2", syncs, after.Commits)
	}
	if err := st.Close(); err != nil {
		t.Error(err)
	}
}

// TestAbandonedCommitIsNotApplied: who gives up while waiting is told so truthfully.
func TestAbandonedCommitIsNotApplied(t *testing.T) {
	st, inSync, release := stalled(t, Options{})
	defer release()
	first := make(chan error, 1)
	go func() { first <- put(st, "first") }()
	<-inSync
	ctx, cancel := context.WithCancel(context.Background())
	gone := make(chan error, 1)
	go func() {
		_, err := st.Commit(ctx, &kv.Batch{Writes: []kv.Write{{Key: []byte("gone"), Value: []byte("v")}}})
		gone <- err
	}()
	for st.queue.length() == 0 {
		runtime.Gosched()
	}
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	release()
	if err := errors.Join(<-first, put(st, "last")); err != nil {
		t.Error(err)
	}
	sn, err := st.Begin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if _, ok, _ := sn.Get([]byte("gone")); ok {
		t.Error("an abandoned commit was applied")
	}
	sn.Release()
	if err := st.Close(); err != nil {
		t.Error(err)
	}
}

// TestCommitsWaitForALaggingCheckpoint: with two overlays full, no commit is taken before the
// checkpoint is through.
func TestCommitsWaitForALaggingCheckpoint(t *testing.T) {
	st, err := Open(Options{Path: filepath.Join(t.TempDir(), "x.db"), CheckpointKeys: 10, Sync: kv.SyncNever})
	if err != nil {
		t.Fatal(err)
	}
	// A write transaction of our own keeps every checkpoint waiting.
	block, err := st.db.Begin(true)
	if err != nil {
		t.Fatal(err)
	}
	const taken = 10 + 20 // the limit, and twice the limit
	for i := range taken {
		if err := put(st, fmt.Sprintf("k%02d", i)); err != nil {
			t.Fatal(err)
		}
	}
	waiting := make(chan error, 1)
	go func() { waiting <- put(st, "waits") }()
	for st.queue.length() == 0 {
		runtime.Gosched()
	}
	select {
	case err := <-waiting:
		t.Errorf("a commit was taken: %v", err)
	default:
	}
	if got := st.Stats().Commits; got != taken {
		t.Errorf("got %d commits, want %d", got, taken)
	}
	if err := block.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := <-waiting; err != nil {
		t.Error(err)
	}
	if err := st.Close(); err != nil {
		t.Error(err)
	}
}
