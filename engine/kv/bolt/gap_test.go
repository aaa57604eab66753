package bolt

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/overlay"
)

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
	st, err := Open(Options{Path: filepath.Join(b.TempDir(), "x.db"), Sync: kv.SyncNever})
	if err != nil {
		b.Fatal(err)
	}
	key := func(run, i, end int) []byte {
		return fmt.Appendf(nil, "namespace database table %06d %06d %d", run, i, end)
	}
	var all overlay.Tree
	for run := range keys {
		for i := range 10 {
			all.Set(key(run, i, 0), make([]byte, 30))
		}
	}
	if res := st.checkpoint(all, 1, 0, func(*base) {}); res.err != nil {
		b.Fatal(res.err)
	}
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
				view, err := st.pager.view()
				if err != nil {
					b.Fatal(err)
				}
				var cur overlay.Cursor
				in := changes{cur: &cur, more: cur.First(&t, nil), keys: keys, size: 1 << 30}
				var r rewriter
				r.w.begin(st.pager)
				if _, err := r.rewrite(view, &in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
