package bolt

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
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
	opt := Options{Path: path, CheckpointKeys: limit, CheckpointBytes: 1 << 20, Sync: kv.SyncNever,
		quietAfter: time.Hour}
	st, err := Open(opt)
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
	if st, err = Open(opt); err != nil {
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
		{"one key", "a0998", "", "a1000", "a1000", mixedFill},
	} {
		var items []item
		add := func(key string, fresh bool) {
			if key != "" {
				items = append(items, item{key: []byte(key), fresh: fresh})
			}
		}
		add(c.prev, false)
		add(c.first, true)
		if c.next < c.last {
			add(c.next, false)
		}
		if c.last != c.first {
			add(c.last, true)
		}
		if c.next > c.last {
			add(c.next, false)
		}
		if got := fillOf(items); got != c.want {
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
		pages := st.Stats()
		return st.count.fileBytes.Load() - (pages.FreePages+pages.PinnedPages)*int64(st.db.Info().PageSize)
	}
	ascending, mixed := used(func(i int) int { return i }), used(func(i int) int { return i * 7919 % keys })
	if ascending > mixed*95/100 {
		t.Errorf("ascending keys take %d bytes, keys in any order %d", ascending, mixed)
	}
}

// load commits n rows of 150 bytes, in random key order, hundred at a time; after is called with the number so far.
func load(t *testing.T, st *Store, n int, after func(rows int)) {
	t.Helper()
	for i := 0; i < n; i += 100 {
		b := &kv.Batch{}
		for j := i; j < i+100; j++ {
			b.Writes = append(b.Writes, kv.Write{Key: fmt.Appendf(nil, "t%016x", uint64(j+1)*0x9e3779b97f4a7c15),
				Value: make([]byte, 150)})
		}
		slices.SortFunc(b.Writes, func(a, b kv.Write) int { return bytes.Compare(a.Key, b.Key) })
		if _, err := st.Commit(context.Background(), b); err != nil {
			t.Fatal(err)
		}
		after(i + 100)
	}
}

// TestCheckpointsUsePagesAgain: a load in random key order, which replaces nearly every page with each checkpoint, does
// not leave a file that is half free: each part of a checkpoint uses the pages that the parts before it have replaced.
func TestCheckpointsUsePagesAgain(t *testing.T) {
	const limit = 8_000
	st, err := Open(Options{Path: filepath.Join(t.TempDir(), "x.db"), CheckpointKeys: limit, Sync: kv.SyncNever})
	if err != nil {
		t.Fatal(err)
	}
	done := uint64(0)
	load(t, st, 6*limit, func(rows int) {
		if rows%limit == 0 {
			done++
			checkpoints(t, st, done)
		}
	})
	stats := st.Stats()
	free := (stats.FreePages + stats.PinnedPages) * int64(st.db.Info().PageSize)
	if file := st.count.fileBytes.Load(); free > file/5 {
		t.Errorf("%d bytes of %d are free", free, file)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestSnapshotsWithinACheckpoint: a snapshot sees every row, whichever part of the running checkpoint it was opened
// after, and keeps seeing it.
func TestSnapshotsWithinACheckpoint(t *testing.T) {
	const limit, rows = 1_600, 16_000
	st, err := Open(Options{Path: filepath.Join(t.TempDir(), "x.db"), CheckpointKeys: limit, Sync: kv.SyncNever})
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				sn, err := st.Begin(context.Background())
				if err != nil {
					t.Error(err)
					return
				}
				n := [2]int{}
				for i := range n {
					c := sn.Scan(kv.Range{}, kv.ScanOptions{})
					for c.Next() {
						n[i]++
					}
					if c.Err() != nil {
						t.Error(c.Err())
					}
					c.Close()
				}
				if want := int(sn.Version()) * 100; n != [2]int{want, want} {
					t.Errorf("version %d: %d and %d rows, want %d", sn.Version(), n[0], n[1], want)
				}
				sn.Release()
			}
		})
	}
	load(t, st, rows, func(int) {})
	checkpoints(t, st, 3)
	close(stop)
	readers.Wait()
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
}
