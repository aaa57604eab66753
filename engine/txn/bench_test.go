package txn_test

import (
	"fmt"
	"testing"

	"github.com/nacredb/nacre/engine/kv/mem"
	"github.com/nacredb/nacre/engine/txn"
)

func BenchmarkTx(b *testing.B) {
	st := mem.New()
	const rows = 100_000
	keys := make([][]byte, rows)
	load := begin(b, st, true)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "space/%08d", i*7919%rows)
		if err := load.Set(keys[i], []byte("a value of some forty bytes, more or less")); err != nil {
			b.Fatal(err)
		}
	}
	if err := load.Commit(ctx); err != nil {
		b.Fatal(err)
	}
	b.Run("begin, get, cancel", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			tx := begin(b, st, false)
			if _, err := tx.Get(keys[i%rows]); err != nil {
				b.Fatal(err)
			}
			tx.Cancel()
		}
	})
	b.Run("get, set, commit", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			tx := begin(b, st, true)
			v, err := tx.Get(keys[i%rows])
			if err != nil {
				b.Fatal(err)
			}
			if err := tx.Set(keys[i%rows], v); err != nil {
				b.Fatal(err)
			}
			if err := tx.Commit(ctx); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("scan a row", func(b *testing.B) {
		b.ReportAllocs()
		for done := 0; done < b.N; {
			tx := begin(b, st, true)
			c := tx.Scan(bounds("space/", ""), txn.ScanOptions{})
			for done < b.N && c.Next() {
				done++
			}
			c.Close()
			tx.Cancel()
		}
	})
	b.Run("set a row and add to its counter", func(b *testing.B) {
		b.ReportAllocs()
		tx := begin(b, st, true)
		defer tx.Cancel()
		for i := range b.N {
			if err := tx.Set(keys[i%rows], keys[i%rows]); err != nil {
				b.Fatal(err)
			}
			if err := tx.Add([]byte("count"), 1); err != nil {
				b.Fatal(err)
			}
		}
	})
}
