package engine_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/nacredb/nacre/engine"
)

// BenchmarkDurableCommit compares, on one disk and in turns, what an embedded engine commits (a CREATE each, synced) with
// a plain bbolt file in which every request is an Update of its own that puts a value of that size at a random key. x-update is the ratio
// of the two.
func BenchmarkDurableCommit(b *testing.B) {
	for _, writers := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("%d writers", writers), func(b *testing.B) {
			dir := b.TempDir()
			e, err := engine.Open(context.Background(), "bolt://"+filepath.Join(dir, "nacre.db"), engine.Options{Unauthenticated: true})
			if err != nil {
				b.Fatal(err)
			}
			defer e.Close(context.Background())
			db, err := bbolt.Open(filepath.Join(dir, "plain.db"), 0o600, nil)
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			if err := db.Update(func(tx *bbolt.Tx) error { _, err := tx.CreateBucket([]byte("t")); return err }); err != nil {
				b.Fatal(err)
			}
			sessions := make([]*engine.Session, writers)
			for i := range sessions {
				sessions[i] = owner(b, e)
			}
			create := func(w int) {
				runWith(b, sessions[w], "CREATE t SET name = 'a name of some length', age = 5 RETURN NONE", nil)
			}
			update := func(int) {
				err := db.Update(func(tx *bbolt.Tx) error {
					return tx.Bucket([]byte("t")).Put(binary.BigEndian.AppendUint64(nil, rand.Uint64()), make([]byte, 64))
				})
				if err != nil {
					b.Error(err)
				}
			}
			create(0)
			b.ResetTimer()
			var ours, theirs time.Duration
			oursN, theirsN := 0, 0
			for left := b.N; left > 0; {
				n := min(left, 2000) // in turns, so that both meet the same machine
				ours += inParallel(writers, n, create)
				oursN += n
				few := max(n/10, writers)
				theirs += inParallel(writers, few, update)
				theirsN += few
				left -= n
			}
			mine, plain := float64(oursN)/ours.Seconds(), float64(theirsN)/theirs.Seconds()
			b.ReportMetric(mine, "creates/s")
			b.ReportMetric(plain, "updates/s")
			b.ReportMetric(mine/plain, "x-update")
		})
	}
}

// inParallel runs f n times in all, in as many goroutines as there are writers.
func inParallel(writers, n int, f func(writer int)) time.Duration {
	began := time.Now()
	var wg sync.WaitGroup
	var taken atomic.Int64
	for w := range writers {
		wg.Go(func() {
			for taken.Add(1) <= int64(n) {
				f(w)
			}
		})
	}
	wg.Wait()
	return time.Since(began)
}
