package bolt

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine/kv"
)

// quietOptions are those of a store whose overlay is worth a checkpoint from 100 keys on.
func quietOptions(t *testing.T) Options {
	return Options{Path: filepath.Join(t.TempDir(), "x.db"), CheckpointKeys: 6_400, Sync: kv.SyncNever,
		quietAfter: 20 * time.Millisecond}
}

// fill commits n new keys.
func fill(t *testing.T, st *Store, name string, n int) {
	t.Helper()
	b := &kv.Batch{}
	for i := range n {
		b.Writes = append(b.Writes, kv.Write{Key: fmt.Appendf(nil, "%s%06d", name, i), Value: []byte("value")})
	}
	if _, err := st.Commit(context.Background(), b); err != nil {
		t.Fatal(err)
	}
}

// TestQuietCheckpoint: what was written is in data.db some time after the last commit, also what was replayed.
func TestQuietCheckpoint(t *testing.T) {
	opt := quietOptions(t)
	st := opened(t, opt)
	for i := range uint64(3) {
		fill(t, st, fmt.Sprint("k", i), 150)
		checkpoints(t, st, i+1)
		if left := st.Stats().Bytes; left != 0 {
			t.Errorf("%d bytes are left in the overlay", left)
		}
	}
	sn, err := st.Begin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Release()
	if v, ok, err := sn.Get([]byte("k1000149")); string(v) != "value" || !ok || err != nil {
		t.Errorf("got %q, %v, %v", v, ok, err)
	}
}

// TestQuietCheckpointAfterReplay: a store that ended without a checkpoint writes what it has replayed.
func TestQuietCheckpointAfterReplay(t *testing.T) {
	opt := quietOptions(t)
	opt.quietAfter = time.Hour
	st := opened(t, opt)
	fill(t, st, "k", 150)
	copied := opt
	copied.Path, copied.quietAfter = filepath.Join(t.TempDir(), "copy.db"), 20*time.Millisecond
	if err := os.CopyFS(copied.Path, os.DirFS(opt.Path)); err != nil {
		t.Fatal(err)
	}
	again := opened(t, copied)
	if again.Stats().Bytes == 0 {
		t.Fatal("nothing was replayed")
	}
	checkpoints(t, again, 1)
}

// TestSmallOverlaysStay: few keys are not worth a checkpoint, however long nothing is committed.
func TestSmallOverlaysStay(t *testing.T) {
	st := opened(t, quietOptions(t))
	fill(t, st, "k", 50)
	time.Sleep(100 * time.Millisecond)
	if n := st.Stats().Checkpoint; n != 0 {
		t.Errorf("got %d checkpoints of 50 keys", n)
	}
}

// TestBusyStoresAreNotQuiet: while the overlay grows by more than one in quietShare between two looks it is left alone.
func TestBusyStoresAreNotQuiet(t *testing.T) {
	opt := quietOptions(t)
	opt.quietAfter = time.Hour // look is called by hand
	st := opened(t, opt)
	c := st.commits
	fill(t, st, "k", 2000)
	for i := range 5 {
		fill(t, st, fmt.Sprint("x", i), 200)
		c.look()
	}
	if n := st.Stats().Checkpoint; n != 0 {
		t.Errorf("got %d checkpoints while the store was written to", n)
	}
	fill(t, st, "y", 1) // of 3,000 keys
	c.look()
	checkpoints(t, st, 1)
}

// TestCheckpointsAreTriedAgain: one that found no space is written when there is some, before commits are refused.
func TestCheckpointsAreTriedAgain(t *testing.T) {
	opt := quietOptions(t)
	opt.quietAfter = time.Hour
	st := opened(t, opt)
	fill(t, st, "k", 50)
	c := st.commits
	c.mu.Lock()
	c.freeze()
	c.ckptErr = fmt.Errorf("write: %w", kv.ErrNoSpace)
	c.quiet.timed = false
	c.watch()
	timed := c.quiet.timed
	c.unlock()
	if !timed {
		t.Error("the timer is not set")
	}
	c.look()
	checkpoints(t, st, 1)
}
