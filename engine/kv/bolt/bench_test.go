package bolt_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.etcd.io/bbolt"

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

// BenchmarkLoad puts 1,200,000 rows of 200 bytes, in random and in ascending key order, into a new store and closes it.
// It tells the bytes of the file for each byte of keys and values, the share of its pages that is free, and the size of
// the log that is left.
func BenchmarkLoad(b *testing.B) {
	const keys, batch = 1_200_000, 1000
	for name, key := range map[string]func(i uint64) uint64{
		"random":    func(i uint64) uint64 { return i * 0x9e3779b97f4a7c15 },
		"ascending": func(i uint64) uint64 { return i },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				opt := bolt.Options{Path: filepath.Join(b.TempDir(), "x.db"), Sync: kv.SyncNever}
				st := open(b, opt)
				for at := uint64(0); at < keys; at += batch {
					ws := make([]kv.Write, batch)
					for i := range ws {
						ws[i] = kv.Write{Key: fmt.Appendf(nil, "space---%016x", key(at+uint64(i))),
							Value: make([]byte, 200)}
					}
					slices.SortFunc(ws, func(a, b kv.Write) int { return bytes.Compare(a.Key, b.Key) })
					if _, err := st.Commit(b.Context(), &kv.Batch{Writes: ws}); err != nil {
						b.Fatal(err)
					}
				}
				closeStore(b, st)
				reportSpace(b, opt.Path, keys*(24+200))
			}
		})
	}
}

// reportSpace tells what a closed store with so many bytes of keys and values takes.
func reportSpace(b *testing.B, path string, content int64) {
	b.Helper()
	db, err := bbolt.Open(filepath.Join(path, "data.db"), 0o600, &bbolt.Options{ReadOnly: true, PreLoadFreelist: true})
	if err != nil {
		b.Fatal(err)
	}
	info, err := os.Stat(db.Path())
	if err != nil {
		b.Fatal(err)
	}
	err = db.View(func(tx *bbolt.Tx) error {
		free := 0
		pages := int(info.Size()) / db.Info().PageSize
		for i := range pages {
			if p, err := tx.Page(i); err == nil && (p == nil || p.Type == "free") {
				free++
			}
		}
		b.ReportMetric(float64(free)/float64(pages), "free/page")
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	logged := int64(0)
	names, err := filepath.Glob(filepath.Join(path, "wal-*.log"))
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range names {
		if info, err := os.Stat(name); err == nil {
			logged += info.Size()
		}
	}
	b.ReportMetric(float64(info.Size())/float64(content), "file/content")
	b.ReportMetric(float64(logged>>20), "MiB-of-log")
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkScatteredScan reads values that are in the log yet and were written in random order, many at once: where
// data.db has none of them, and where it has old ones of all.
func BenchmarkScatteredScan(b *testing.B) {
	const keys, batch = 200_000, 1000
	write := func(st *bolt.Store, salt uint64) {
		for at := 0; at < keys; at += batch {
			ws := make([]kv.Write, batch)
			for i := range ws {
				n := (uint64(at+i)*0x9e3779b1 ^ salt) % keys
				ws[i] = kv.Write{Key: fmt.Appendf(nil, "space---%016x", n*0x9e3779b97f4a7c15),
					Value: bytes.Repeat([]byte{1}, 100)}
			}
			slices.SortFunc(ws, func(a, b kv.Write) int { return bytes.Compare(a.Key, b.Key) })
			ws = slices.CompactFunc(ws, func(a, b kv.Write) bool { return bytes.Equal(a.Key, b.Key) })
			if _, err := st.Commit(b.Context(), &kv.Batch{Writes: ws}); err != nil {
				b.Fatal(err)
			}
		}
	}
	for _, name := range []string{"new", "changed"} {
		b.Run(name, func(b *testing.B) {
			opt := bolt.Options{Path: filepath.Join(b.TempDir(), "x.db"), Sync: kv.SyncNever, CheckpointKeys: 1 << 40,
				CheckpointBytes: 1 << 50}
			st := open(b, opt)
			if name == "changed" {
				write(st, 0)
				closeStore(b, st) // with a checkpoint
				st = open(b, opt)
			}
			defer closeStore(b, st)
			write(st, 12345)
			sn, err := st.Begin(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			defer sn.Release()
			pairs, rows := make([]kv.Pair, 64), 0
			for b.Loop() {
				sum := 0
				rows = 0
				c := sn.Scan(kv.Range{}, kv.ScanOptions{})
				for n := len(pairs); n == len(pairs); {
					n = kv.Fill(c, pairs)
					for i := range pairs[:n] {
						for at := 0; at < len(pairs[i].Value); at += 64 { // each line of the cache
							sum += int(pairs[i].Value[at])
						}
					}
					rows += n
				}
				err := c.Err()
				c.Close()
				if err != nil || sum != 2*rows {
					b.Fatal(sum, rows, err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
		})
	}
}

// BenchmarkBuild makes a store of 300,000 rows of 200 bytes with a Builder.
func BenchmarkBuild(b *testing.B) {
	const keys = 300_000
	for b.Loop() {
		path := filepath.Join(b.TempDir(), "x.db")
		bd, err := bolt.NewBuilder(path)
		if err != nil {
			b.Fatal(err)
		}
		value := make([]byte, 200)
		for i := range keys {
			if err := bd.Put(fmt.Appendf(nil, "space---%016x", i), value); err != nil {
				b.Fatal(err)
			}
		}
		if err := bd.Finish(1); err != nil {
			b.Fatal(err)
		}
		reportSpace(b, path, keys*(24+200))
	}
}
