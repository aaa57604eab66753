package bolt

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine/kv"
)

// checkpoints waits until n checkpoints have been made.
func checkpoints(t *testing.T, st *Store, n uint64) {
	t.Helper()
	for st.Stats().Checkpoint < n {
		if st.failed.Load() != nil {
			t.Fatal(*st.failed.Load())
		}
		time.Sleep(time.Millisecond)
	}
}

// TestLargeFilesAreRewrittenLessOften: once the data file is larger than CheckpointBytes, a checkpoint waits for twice as
// many keys.
func TestLargeFilesAreRewrittenLessOften(t *testing.T) {
	const limit = 40
	path := filepath.Join(t.TempDir(), "x.db")
	st, err := Open(Options{Path: path, CheckpointKeys: limit, CheckpointBytes: 1 << 20, Sync: kv.SyncNever})
	if err != nil {
		t.Fatal(err)
	}
	key := 0
	add := func(n int) {
		for range n {
			if err := put(st, fmt.Sprintf("k%06d", key)); err != nil {
				t.Fatal(err)
			}
			key++
		}
	}
	add(limit)
	checkpoints(t, st, 1)
	large := &kv.Batch{Writes: []kv.Write{{Key: []byte("large"), Value: bytes.Repeat([]byte("x"), 2<<20)}}}
	if _, err := st.Commit(context.Background(), large); err != nil {
		t.Fatal(err)
	}
	checkpoints(t, st, 2)
	if size := st.Stats().FileBytes - st.log.Size(); size <= 1<<20 {
		t.Fatalf("data.db has %d bytes only", size)
	}
	add(2*limit - 1)
	if err := st.Close(); err != nil { // it writes what is left, in one more
		t.Fatal(err)
	}
	if got := st.Stats().Checkpoint; got != 3 {
		t.Errorf("got %d checkpoints, want one only after twice %d keys", got, limit)
	}
	if st, err = Open(Options{Path: path, CheckpointKeys: limit, CheckpointBytes: 1 << 20, Sync: kv.SyncNever}); err != nil {
		t.Fatal(err)
	}
	add(2 * limit)
	checkpoints(t, st, 1)
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestPagesOfOpenSnapshotsAreCounted: pages that were replaced are pinned while a snapshot reads them, and free after it.
func TestPagesOfOpenSnapshotsAreCounted(t *testing.T) {
	st, err := Open(Options{Path: filepath.Join(t.TempDir(), "x.db"), CheckpointKeys: 1, Sync: kv.SyncNever})
	if err != nil {
		t.Fatal(err)
	}
	n := uint64(0)
	write := func() {
		if err := put(st, "key"); err != nil {
			t.Fatal(err)
		}
		n++
		checkpoints(t, st, n)
	}
	write()
	sn, err := st.Begin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		write()
	}
	pinned := st.Stats().PinnedPages
	if pinned < 1 {
		t.Errorf("got %d pinned pages with an open snapshot", pinned)
	}
	sn.Release()
	for range 3 {
		write()
	}
	if s := st.Stats(); s.FreePages < 1 {
		t.Errorf("got %d free pages and %d pinned ones after the snapshot", s.FreePages, s.PinnedPages)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
}
