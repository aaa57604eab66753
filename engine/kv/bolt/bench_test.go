package bolt_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

// BenchmarkReplay is the start after a kill with as many rows of 200 bytes, in random key order, in the log as start a
// checkpoint.
func BenchmarkReplay(b *testing.B) {
	const keys, batch = 300_000, 1000
	opt := bolt.Options{Path: filepath.Join(b.TempDir(), "x.db"), Sync: kv.SyncNever, CheckpointKeys: 1 << 40,
		CheckpointBytes: 1 << 50}
	st := open(b, opt)
	for at := 0; at < keys; at += batch {
		ws := make([]kv.Write, batch)
		for i := range ws {
			ws[i] = kv.Write{Key: fmt.Appendf(nil, "space---%016x", uint64(at+i)*0x9e3779b97f4a7c15),
				Value: make([]byte, 200)}
		}
		slices.SortFunc(ws, func(a, b kv.Write) int { return bytes.Compare(a.Key, b.Key) })
		if _, err := st.Commit(b.Context(), &kv.Batch{Writes: ws}); err != nil {
			b.Fatal(err)
		}
	}
	killed := b.TempDir()
	if err := os.CopyFS(killed, os.DirFS(opt.Path)); err != nil { // as a kill leaves it
		b.Fatal(err)
	}
	closeStore(b, st)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		opt.Path = filepath.Join(b.TempDir(), "x.db")
		if err := os.CopyFS(opt.Path, os.DirFS(killed)); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		st := open(b, opt)
		b.StopTimer()
		closeStore(b, st)
		b.StartTimer()
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
