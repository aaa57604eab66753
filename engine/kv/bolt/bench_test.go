package bolt_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/bolt"
	"github.com/nacredb/nacre/engine/kv/kvtest"
)

func BenchmarkStore(b *testing.B) {
	for _, mode := range []kv.Sync{kv.SyncEvery, kv.SyncNever, kv.Sync(100 * time.Millisecond)} {
		b.Run("sync "+mode.String(), func(b *testing.B) {
			var path string
			kvtest.Bench(b, func(t testing.TB) kv.Store {
				path = filepath.Join(t.TempDir(), "x.db")
				return open(t, bolt.Options{Path: path, Sync: mode})
			}, func(t testing.TB, st kv.Store) kv.Store {
				if err := st.Close(); err != nil {
					t.Fatal(err)
				}
				return open(t, bolt.Options{Path: path, Sync: mode})
			})
		})
	}
}

// BenchmarkOpen is the start of a new store, and that of one that was stopped.
func BenchmarkOpen(b *testing.B) {
	b.Run("new", func(b *testing.B) {
		for range b.N {
			st := open(b, bolt.Options{Path: filepath.Join(b.TempDir(), "x.db")})
			b.StopTimer()
			st.Close()
			b.StartTimer()
		}
	})
	b.Run("again", func(b *testing.B) {
		path := filepath.Join(b.TempDir(), "x.db")
		for range b.N {
			st := open(b, bolt.Options{Path: path})
			b.StopTimer()
			st.Close()
			b.StartTimer()
		}
	})
}
