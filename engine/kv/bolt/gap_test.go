package bolt

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/overlay"
	"go.etcd.io/bbolt"
)

// TestRemoverDeletesWhatIsThere changes a bucket in key order, as a checkpoint does, beside a map.
func TestRemoverDeletesWhatIsThere(t *testing.T) {
	db, err := bbolt.Open(filepath.Join(t.TempDir(), "x.db"), 0o600, &bbolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rnd := rand.New(rand.NewPCG(1, 1))
	key := func(i int) []byte { return fmt.Appendf(nil, "%05d", i) }
	const keys = 5000
	found, absent := 0, 0
	truth := map[string]string{}
	for round := range 30 {
		err := db.Update(func(tx *bbolt.Tx) error {
			data, err := tx.CreateBucketIfNotExists([]byte("d"))
			if err != nil {
				return err
			}
			gone := remover{cur: data.Cursor()}
			for at, run := 0, 0; at < keys; at += run {
				run = 1 + rnd.IntN(1+rnd.IntN(200))
				what := rnd.IntN(3)
				for i := at; i < min(at+run, keys) && err == nil; i++ {
					k := key(i)
					switch what {
					case 0:
						err = data.Put(k, key(round))
						truth[string(k)] = string(key(round))
					case 1:
						if _, there := truth[string(k)]; there {
							found++
						} else {
							absent++
						}
						err = gone.delete(k)
						delete(truth, string(k))
					}
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		err = db.View(func(tx *bbolt.Tx) error {
			data := tx.Bucket([]byte("d"))
			for i := range keys {
				want, there := truth[string(key(i))]
				if v := data.Get(key(i)); (v != nil) != there || string(v) != want {
					t.Fatalf("round %d: key %d is %q, want %q", round, i, v, want)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 1000 || absent < 1000 {
		t.Errorf("%d keys were there and %d were not: too few to tell", found, absent)
	}
}

// TestCheckpointsDeleteWhatIsThere compares a store with a map, over checkpoints of runs of keys that come and go.
func TestCheckpointsDeleteWhatIsThere(t *testing.T) {
	opt := Options{Path: filepath.Join(t.TempDir(), "x.db"), CheckpointKeys: 300, Sync: kv.SyncNever}
	rnd := rand.New(rand.NewPCG(2, 2))
	truth := map[string]string{}
	for round := range 8 {
		st, err := Open(opt)
		if err != nil {
			t.Fatal(err)
		}
		for step := range 40 {
			from, n, gone := rnd.IntN(3000), 1+rnd.IntN(100), rnd.IntN(2) == 0
			b := &kv.Batch{}
			for i := from; i < from+n; i++ {
				k := fmt.Sprintf("%05d", i)
				w := kv.Write{Key: []byte(k), Value: fmt.Appendf(nil, "%d %d", round, step)}
				if truth[k] = string(w.Value); gone {
					w.Value = nil
					delete(truth, k)
				}
				b.Writes = append(b.Writes, w)
			}
			if _, err := st.Commit(t.Context(), b); err != nil {
				t.Fatal(err)
			}
		}
		if err := st.Close(); err != nil { // all of it is in data.db
			t.Fatal(err)
		}
		if st, err = Open(opt); err != nil {
			t.Fatal(err)
		}
		snap, err := st.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3200 {
			k := fmt.Sprintf("%05d", i)
			v, there, err := snap.Get([]byte(k))
			if want, has := truth[k]; err != nil || there != has || !bytes.Equal(v, []byte(want)) {
				t.Fatalf("round %d: key %s is %q, want %q; %v", round, k, v, want, err)
			}
		}
		snap.Release()
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// BenchmarkDeletions is the part of a checkpoint that deletes keys, of those that are there and those that are not,
// which follow each other or do not. The figures are for 10,000 keys.
func BenchmarkDeletions(b *testing.B) {
	const keys = 10_000
	db, err := bbolt.Open(filepath.Join(b.TempDir(), "x.db"), 0o600, &bbolt.Options{NoSync: true})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	key := func(run, i, end int) []byte {
		return fmt.Appendf(nil, "namespace database table %06d %06d %d", run, i, end)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		data, err := tx.CreateBucket([]byte("d"))
		for run := 0; run < keys && err == nil; run++ {
			for i := 0; i < 10 && err == nil; i++ {
				err = data.Put(key(run, i, 0), make([]byte, 30))
			}
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	s := &Store{opt: Options{CheckpointKeys: keys * chunks, CheckpointBytes: 1 << 40}}
	for _, q := range []struct {
		name string
		key  func(int) []byte
	}{
		{"Run/There", func(i int) []byte { return key(i/10, i%10, 0) }},
		{"Run/Missing", func(i int) []byte { return key(7, i, 1) }},
		{"Apart/There", func(i int) []byte { return key(i, i%10, 0) }},
		{"Apart/Missing", func(i int) []byte { return key(i, i%10, 1) }},
	} {
		var t overlay.Tree
		for i := range keys {
			t.Set(q.key(i), nil)
		}
		b.Run(q.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				tx, err := db.Begin(true)
				if err != nil {
					b.Fatal(err)
				}
				var cur overlay.Cursor
				if _, err := s.putChunk(tx.Bucket([]byte("d")), &cur, cur.First(&t, nil)); err != nil {
					b.Fatal(err)
				}
				if err := tx.Rollback(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
