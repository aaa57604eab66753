package kvtest

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nacredb/nacre/engine/kv"
)

// benchRows is the size of the store that the read benchmarks run on.
const benchRows = 100_000

// Bench measures a store: reads of a filled one, small commits of 1, 16 and 64 clients that read
// and write one row, and a bulk load. settle, if not nil, is called between filling and reading
// and may give another store with the same contents (after a restart, say).
func Bench(b *testing.B, open Open, settle func(testing.TB, kv.Store) kv.Store) {
	b.Run("read", func(b *testing.B) {
		st := open(b)
		fill(b, st, benchRows, 1000)
		if settle != nil {
			st = settle(b, st)
		}
		defer closeBench(b, st)
		b.Run("begin and release", func(b *testing.B) { benchBegin(b, st) })
		b.Run("get", func(b *testing.B) { benchGet(b, st) })
		b.Run("scan a row", func(b *testing.B) { benchScan(b, st, false) })
		b.Run("scan a row in reverse", func(b *testing.B) { benchScan(b, st, true) })
	})
	for _, clients := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("update a row, %d clients", clients), func(b *testing.B) {
			st := open(b)
			defer closeBench(b, st)
			fill(b, st, 10_000, 1000)
			benchUpdate(b, st, clients)
		})
	}
	b.Run("load a row of 1000", func(b *testing.B) {
		st := open(b)
		defer closeBench(b, st)
		b.ReportAllocs()
		b.ResetTimer()
		fill(b, st, b.N, 1000)
	})
}

func closeBench(b *testing.B, st kv.Store) {
	b.StopTimer()
	if err := st.Close(); err != nil {
		b.Fatal(err)
	}
}

// benchKey is the key of row i: in random order, with a prefix as tables have.
func benchKey(i int) []byte {
	k := append(make([]byte, 0, 24), "space---"...)
	return binary.BigEndian.AppendUint64(k, uint64(i)*0x9e3779b97f4a7c15)
}

// fill writes rows of 200 bytes, some in each batch.
func fill(b *testing.B, st kv.Store, rows, batch int) {
	b.Helper()
	for i := 0; i < rows; {
		n := min(batch, rows-i)
		ws := make([]kv.Write, 0, n)
		for range n {
			ws = append(ws, kv.Write{Key: benchKey(i), Value: make([]byte, 200)})
			i++
		}
		sortWrites(ws)
		if _, err := st.Commit(ctx, &kv.Batch{Writes: ws}); err != nil {
			b.Fatal(err)
		}
	}
}

func benchBegin(b *testing.B, st kv.Store) {
	b.ReportAllocs()
	for range b.N {
		sn, err := st.Begin(ctx)
		if err != nil {
			b.Fatal(err)
		}
		sn.Release()
	}
}

func benchGet(b *testing.B, st kv.Store) {
	sn := Begin(b, st)
	defer sn.Release()
	keys := make([][]byte, benchRows)
	for i := range keys {
		keys[i] = benchKey(i)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		if _, ok, err := sn.Get(keys[i%benchRows]); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}

func benchScan(b *testing.B, st kv.Store, reverse bool) {
	sn := Begin(b, st)
	defer sn.Release()
	b.ReportAllocs()
	b.ResetTimer()
	for done := 0; done < b.N; {
		c := sn.Scan(kv.Range{}, kv.ScanOptions{Reverse: reverse, Limit: b.N - done})
		for c.Next() {
			done++
		}
		if c.Err() != nil {
			b.Fatal(c.Err())
		}
		c.Close()
	}
}

func benchUpdate(b *testing.B, st kv.Store, clients int) {
	b.ReportAllocs()
	b.ResetTimer()
	var wg sync.WaitGroup
	var left, conflicts atomic.Int64
	left.Store(int64(b.N))
	for c := range clients {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(c), 0))
			for left.Add(-1) >= 0 {
				key := benchKey(rnd.IntN(10_000))
				sn, err := st.Begin(ctx)
				if err != nil {
					b.Error(err)
					return
				}
				v, _, err := sn.Get(key)
				if err == nil {
					_, err = st.Commit(ctx, &kv.Batch{Snapshot: sn.Version(), Reads: kv.ReadSet{Keys: [][]byte{key}},
						Writes: []kv.Write{{Key: key, Value: append([]byte(nil), v...)}}})
				}
				sn.Release()
				if err == kv.ErrConflict {
					conflicts.Add(1)
				} else if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tx/s")
	b.ReportMetric(float64(conflicts.Load())/float64(b.N), "conflicts/op")
}
