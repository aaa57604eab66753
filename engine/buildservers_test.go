//go:build linux || windows || cgo

package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/bolt"
	"github.com/nacredb/nacre/engine/kv/tikv"
	"github.com/nacredb/nacre/engine/kv/tikv/stub"
	"github.com/nacredb/nacre/engine/record"
)

// meeting lets a test do something while a batch of an index build is about to commit.
type meeting struct {
	before  atomic.Pointer[func()] // called once, before the first batch
	batches atomic.Int64
	refused atomic.Int64
}

func (m *meeting) commit(b *kv.Batch, commit func() (kv.Version, error)) (kv.Version, error) {
	if len(b.Writes) < 20 || !bytes.Contains(b.Writes[0].Key, []byte("index job ")) {
		return commit()
	}
	m.batches.Add(1)
	if f := m.before.Swap(nil); f != nil {
		(*f)()
	}
	v, err := commit()
	if errors.Is(err, kv.ErrConflict) {
		m.refused.Add(1)
	}
	return v, err
}

// meetingFile is a file that several processes seem to share.
type meetingFile struct {
	cutStore
	meeting
}

// Commit implements kv.Store.
func (s *meetingFile) Commit(ctx context.Context, b *kv.Batch) (kv.Version, error) {
	return s.commit(b, func() (kv.Version, error) { return s.Store.Commit(ctx, b) })
}

// meetingCluster is a store on a cluster.
type meetingCluster struct {
	*tikv.Store
	meeting
}

// Commit implements kv.Store.
func (s *meetingCluster) Commit(ctx context.Context, b *kv.Batch) (kv.Version, error) {
	return s.commit(b, func() (kv.Version, error) { return s.Store.Commit(ctx, b) })
}

func openOnStore(t *testing.T, st kv.Store) *engine.Engine {
	t.Helper()
	e, err := engine.OpenOn(context.Background(), st, engine.Options{Log: slog.New(slog.DiscardHandler), NoDefaults: true})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// changesBeside are changes of records that a batch has read. Each of them has the builder's entries out of date.
var changesBeside = []string{
	"UPDATE t:5 SET n = 1000005, k = 5, tags = [3], v = [0, 1], text = 'word5 other'",
	"UPDATE t:6 SET n = NONE, k = NONE, tags = NONE, v = NONE, text = NONE",
	"DELETE t:7",
	"DELETE t:8; CREATE t:8 SET n = 1000008, k = 5, tags = [3, 3], v = [1, 0], text = 'word5'",
	"DELETE t:9; CREATE t:1000009 SET n = 9, k = 9 % 97, tags = [9 % 7, 9 % 11 + 100], v = [9, 9], text = 'word9 and word9'",
	"UPDATE t:10 SET other = 1",
	"UPDATE t:11 SET k = 5; UPDATE t:11 SET k = 11",
	"UPDATE t:12 SET n = 13000; UPDATE t:13 SET n = 12; UPDATE t:12 SET n = 13",
	"BEGIN; UPDATE t:14 SET n = -1; UPDATE t:15 SET n = 14; UPDATE t:14 SET n = 15; COMMIT",
}

// TestBuildMeetsChanges: a batch of a build that meets changes of its records by another server is refused if it must be,
// and only then, once. In the end the index has what a scan finds.
func TestBuildMeetsChanges(t *testing.T) {
	for _, k := range indexKinds {
		if strings.HasPrefix(k.define, "COUNT") { // those are counted at once
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			t.Run("file", func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "store")
				file, err := bolt.Open(bolt.Options{Path: path, Sync: kv.SyncNever})
				if err != nil {
					t.Fatal(err)
				}
				passed := new(atomic.Int64)
				mine := &meetingFile{cutStore: cutStore{Store: file, passed: passed}}
				other := &cutStore{Store: file, passed: passed}
				other.left.Store(-1)
				buildMeets(t, k.define, k.ask, k.plain, &mine.meeting, openOnStore(t, mine), openOnStore(t, other))
				if err := file.Close(); err != nil {
					t.Fatal(err)
				}
				sound(t, path)
			})
			t.Run("cluster", func(t *testing.T) {
				c, prefix := stub.Shared(t)
				var stores [2]*meetingCluster
				for i := range stores {
					st, err := tikv.Open(context.Background(), tikv.Options{PD: []string{c.PD}, Prefix: prefix,
						Counter: record.MayCount, Steady: catalog.Steady})
					if err != nil {
						t.Fatal(err)
					}
					stores[i] = &meetingCluster{Store: st}
				}
				buildMeets(t, k.define, k.ask, k.plain, &stores[0].meeting, openOnStore(t, stores[0]), openOnStore(t, stores[1]))
			})
		})
	}
}

// buildMeets has e build an index whose first batch meets the changes, by the other one.
func buildMeets(t *testing.T, define, ask, plain string, m *meeting, e, other *engine.Engine) {
	s, o := owner(t, e), owner(t, other)
	const n = 300
	fill(t, s, n)
	changes := func() {
		for _, text := range changesBeside {
			run(t, o, text)
		}
	}
	m.before.Store(&changes)
	run(t, s, "DEFINE INDEX i ON t "+define)
	if m.refused.Load() != 1 {
		t.Errorf("%d batches of %d were refused, not 1", m.refused.Load(), m.batches.Load())
	}
	for _, by := range []*engine.Session{s, o} {
		if got, want := run(t, by, ask)[0].Value.Text(), run(t, by, plain)[0].Value.Text(); got != want {
			t.Errorf("by the index: %.300s\nby a scan: %.300s", got, want)
		}
	}
	if got := run(t, o, "SELECT VALUE id FROM t WHERE n = 1000005")[0].Value; got.Len() != 1 {
		t.Errorf("a change is lost: %s", got.Text())
	}
	if _, err := untilCommitted(o, "DELETE t:5..=15"); err != nil { // an entry that is wrong stays, and is found
		t.Error(err)
	}
	if got, want := run(t, s, ask)[0].Value.Text(), run(t, s, plain)[0].Value.Text(); got != want {
		t.Errorf("without them, by the index: %.300s\nby a scan: %.300s", got, want)
	}
	for _, e := range []*engine.Engine{e, other} {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

// TestIndexesBuiltAmongServers: every kind of index is filled while two other servers write to its table all the time, and
// has in the end what a scan finds.
func TestIndexesBuiltAmongServers(t *testing.T) {
	for _, k := range indexKinds {
		t.Run(k.name, func(t *testing.T) {
			c, prefix := stub.Shared(t)
			all := openOn(t, c, prefix, 3)
			s := owner(t, all[0])
			const n = 1500
			fill(t, s, n)
			ctx, stop := context.WithCancel(context.Background())
			var writers sync.WaitGroup
			for w := range 4 {
				writers.Go(func() { writeBeside(t, ctx, owner(t, all[1+w%2]), uint64(w), n) })
			}
			_, err := untilCommitted(s, "DEFINE INDEX i ON t "+k.define)
			stop()
			writers.Wait()
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range all {
				by := owner(t, e)
				if got, want := run(t, by, k.ask)[0].Value.Text(), run(t, by, k.plain)[0].Value.Text(); got != want {
					t.Errorf("by the index: %.200s\nby a scan: %.200s", got, want)
				}
			}
		})
	}
}

// TestUniqueIndexOverDuplicatesAmongServers: a build that meets duplicates ends with an error, and takes the definition
// back, while another server writes.
func TestUniqueIndexOverDuplicatesAmongServers(t *testing.T) {
	c, prefix := stub.Shared(t)
	all := openOn(t, c, prefix, 2)
	s, o := owner(t, all[0]), owner(t, all[1])
	fill(t, s, 500)
	run(t, s, "CREATE t:1000000 SET n = 77")
	ctx, stop := context.WithCancel(context.Background())
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			run(t, o, fmt.Sprintf("UPDATE t:%d SET k += 1, n = %d", 100+i%300, 5000+i), allowErrors)
		}
	})
	_, err := untilCommitted(s, "DEFINE INDEX i ON t FIELDS n UNIQUE")
	stop()
	writer.Wait()
	if err == nil || !strings.Contains(err.Error(), "already contains 77") {
		t.Errorf("the build ends with %v", err)
	}
	if got := run(t, o, "RETURN (INFO FOR TABLE t).indexes")[0].Value; got.Object().Len() != 0 {
		t.Errorf("it stays defined: %s", got.Text())
	}
	run(t, o, "CREATE t:1000001 SET n = 77")
}

// TestIndexRemovedAmongServers: another server removes an index while it is built. The statement that waits is told, and
// nothing of the index stays.
func TestIndexRemovedAmongServers(t *testing.T) {
	c, prefix := stub.Shared(t)
	st, err := tikv.Open(context.Background(), tikv.Options{PD: []string{c.PD}, Prefix: prefix,
		Counter: record.MayCount, Steady: catalog.Steady})
	if err != nil {
		t.Fatal(err)
	}
	mine := &meetingCluster{Store: st}
	e, other := openOnStore(t, mine), openOn(t, c, prefix, 1)[0]
	defer func() { _ = e.Close(context.Background()) }()
	s, o := owner(t, e), owner(t, other)
	fill(t, s, 300)
	keys := func() int64 {
		n := int64(0)
		snap, err := st.Begin(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		defer snap.Release()
		cur := snap.Scan(kv.Range{}, kv.ScanOptions{KeysOnly: true})
		defer cur.Close()
		for cur.Next() {
			if bytes.Contains(cur.Key(), []byte("index job ")) || bytes.Contains(cur.Key(), []byte("index holder ")) {
				n += 1000 // a job is left
			}
			n++
		}
		if err := cur.Err(); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := keys()
	remove := func() { run(t, o, "REMOVE INDEX i ON t") }
	mine.before.Store(&remove)
	if res := run(t, s, "DEFINE INDEX i ON t FIELDS k", allowErrors); res[0].Err == nil {
		t.Error("the statement that waits is told of an index that is gone")
	}
	after := keys()
	for end := time.Now().Add(time.Minute); after > before+20; after = keys() {
		if time.Now().After(end) {
			t.Fatalf("%d keys before, %d after", before, after)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
