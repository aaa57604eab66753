package bolt

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
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

// TestLargeFilesAreRewrittenLessOften: once the data file is larger than CheckpointBytes, a checkpoint waits for twice
// as many keys.
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
	if st, err = Open(Options{Path: path, CheckpointKeys: limit, CheckpointBytes: 1 << 20,
		Sync: kv.SyncNever}); err != nil {
		t.Fatal(err)
	}
	add(2 * limit)
	checkpoints(t, st, 1)
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestPagesOfOpenSnapshotsAreCounted: pages that were replaced are pinned while a snapshot reads them, and free after
// it.
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

// TestFillOf: runs that go on where keys ended fill their pages, all others leave room.
func TestFillOf(t *testing.T) {
	for _, c := range []struct {
		name                    string
		prev, next, first, last string
		want                    float64
	}{
		{"an empty file", "", "", "a1", "a9", mixedFill},
		{"at the end of all", "a0998", "", "a1000", "a1999", appendFill},
		{"at the end of a table", "a0998", "b", "a1000", "a1999", appendFill},
		{"a new table", "ta0998", "", "tb1000", "tb1999", mixedFill},
		{"a new table between two", "ta0998", "tc1", "tb1000", "tb1999", mixedFill},
		{"keys in its midst", "a0998", "a1500", "a1000", "a1999", mixedFill},
		{"its own first key", "a0998", "a1000", "a1000", "a1999", mixedFill},
		{"its own last key", "a0998", "a1999", "a1000", "a1999", mixedFill},
		{"one key", "a0998", "", "a1000", "a1000", mixedFill},
	} {
		var prev, next []byte
		if c.prev != "" {
			prev = []byte(c.prev)
		}
		if c.next != "" {
			next = []byte(c.next)
		}
		if got := fillOf(prev, next, []byte(c.first), []byte(c.last)); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// TestAppendedKeysTakeLessRoom: a file of keys in ascending order has fuller pages than one of the same keys in any
// order.
func TestAppendedKeysTakeLessRoom(t *testing.T) {
	const keys, limit = 20_000, 2_000
	used := func(key func(int) int) int64 {
		st, err := Open(Options{Path: filepath.Join(t.TempDir(), "x.db"), CheckpointKeys: limit, Sync: kv.SyncNever})
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		for i := 0; i < keys; i += 100 {
			b := &kv.Batch{}
			for j := i; j < i+100; j++ {
				b.Writes = append(b.Writes, kv.Write{Key: fmt.Appendf(nil, "t%06d", key(j)), Value: make([]byte, 100)})
			}
			slices.SortFunc(b.Writes, func(a, b kv.Write) int { return bytes.Compare(a.Key, b.Key) })
			if _, err := st.Commit(context.Background(), b); err != nil {
				t.Fatal(err)
			}
		}
		checkpoints(t, st, 4)
		pages := st.db.Stats()
		return st.count.fileBytes.Load() - int64(pages.FreePageN+pages.PendingPageN)*int64(st.db.Info().PageSize)
	}
	ascending, mixed := used(func(i int) int { return i }), used(func(i int) int { return i * 7919 % keys })
	if ascending > mixed*95/100 {
		t.Errorf("ascending keys take %d bytes, keys in any order %d", ascending, mixed)
	}
}
