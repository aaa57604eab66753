package bolt

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/wal"
)

// TestFilesAreThoseOfBbolt: what checkpoints write is a file that bbolt finds nothing wrong with: every page is in the
// tree or in the free list, once, and keys are in order. It holds what a map holds, and so do snapshots that stay open
// over some checkpoints.
func TestFilesAreThoseOfBbolt(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { checkAgainstBbolt(t, rand.New(rand.NewPCG(seed, 7)), Options{}) })
	}
}

// checkAgainstBbolt writes and reads at random, in three lives of a store, and gives how many look-ups a filter of its
// keys has answered.
func checkAgainstBbolt(t *testing.T, rnd *rand.Rand, opt Options) (denied int) {
	path := filepath.Join(t.TempDir(), "x.db")
	opt.Path, opt.CheckpointKeys, opt.Sync = path, 100+rnd.IntN(800), kv.SyncNever
	space, longKeys, longValues := 200+rnd.IntN(20_000), rnd.IntN(3) == 0, rnd.IntN(2) == 0
	truth := map[string]string{}
	for range 3 {
		st, err := Open(opt)
		if err != nil {
			t.Fatal(err)
		}
		var open []seen
		for range 25 {
			writes := someWrites(rnd, space, longKeys, longValues)
			if rnd.IntN(30) == 0 { // nothing stays
				writes = nil
				for _, k := range slices.Sorted(maps.Keys(truth)) {
					writes = append(writes, kv.Write{Key: []byte(k)})
				}
			}
			b := &kv.Batch{Writes: writes}
			for _, w := range writes {
				if w.Value == nil {
					delete(truth, string(w.Key))
				} else {
					truth[string(w.Key)] = string(w.Value)
				}
			}
			if _, err := st.Commit(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			if rnd.IntN(10) == 0 {
				sn, err := st.Begin(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				open = append(open, seen{sn, maps.Clone(truth)})
			}
			denied += lookUp(t, rnd, st, truth, writes)
			if len(open) > 3 || len(open) > 0 && rnd.IntN(20) == 0 {
				i := rnd.IntN(len(open))
				open[i].check(t)
				open = slices.Delete(open, i, i+1)
			}
		}
		for _, s := range open {
			s.check(t)
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
		checkFileByBbolt(t, path, truth)
	}
	return denied
}

// someWrites are runs of keys, single ones, and deletions of both.
func someWrites(rnd *rand.Rand, space int, longKeys, longValues bool) []kv.Write {
	key := func(i int) string {
		k := fmt.Sprintf("%c%06d", 'a'+i%3, i)
		if longKeys && i%37 == 0 {
			k += string(bytes.Repeat([]byte("k"), i%9000))
		}
		return k
	}
	writes := map[string][]byte{}
	for range 1 + rnd.IntN(4) {
		from, n, step := rnd.IntN(space), 1+rnd.IntN(1+rnd.IntN(400)), 1
		if rnd.IntN(2) == 0 {
			step = 1 + rnd.IntN(50)
		}
		gone := rnd.IntN(5) < 2
		for i := range n {
			k := key((from + i*step) % space)
			v := bytes.Repeat([]byte{byte(i)}, rnd.IntN(120))
			if longValues && rnd.IntN(50) == 0 {
				v = bytes.Repeat([]byte{byte(i)}, rnd.IntN(30_000))
			}
			if writes[k] = v; gone {
				writes[k] = nil
			}
		}
	}
	var out []kv.Write
	for _, k := range slices.Sorted(maps.Keys(writes)) {
		out = append(out, kv.Write{Key: []byte(k), Value: writes[k]})
	}
	return out
}

// TestBuiltFilesAreThoseOfBbolt: what a Builder makes is such a file, too, of any size and shape of its content.
func TestBuiltFilesAreThoseOfBbolt(t *testing.T) {
	for seed, n := range []int{0, 1, 2, 3, 50, 120, 700, 5000, 9000, 40_000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(uint64(seed), 13))
			longKeys, longValues := seed%2 == 0, seed%3 == 0
			truth := map[string]string{}
			for i := range n {
				k := fmt.Sprintf("%06d", i*7)
				if longKeys && rnd.IntN(10) == 0 {
					k += strings.Repeat("k", rnd.IntN(9000))
				}
				v := strings.Repeat("v", rnd.IntN(120))
				if longValues && rnd.IntN(50) == 0 {
					v = strings.Repeat("v", rnd.IntN(300_000))
				}
				truth[k] = v
			}
			path := filepath.Join(t.TempDir(), "x.db")
			b, err := NewBuilder(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range slices.Sorted(maps.Keys(truth)) {
				if err := b.Put([]byte(k), []byte(truth[k])); err != nil {
					t.Fatal(err)
				}
			}
			if err := b.Finish(9); err != nil {
				t.Fatal(err)
			}
			checkFileByBbolt(t, path, truth)
			st := mustOpen(t, Options{Path: path, CheckpointKeys: 200})
			sn, err := st.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			seen{sn, truth}.check(t)
			for range 20 { // what is built can be changed
				writes := someWrites(rnd, 7*n+1, longKeys, longValues)
				if _, err := st.Commit(t.Context(), &kv.Batch{Writes: writes}); err != nil {
					t.Fatal(err)
				}
				for _, w := range writes {
					if delete(truth, string(w.Key)); w.Value != nil {
						truth[string(w.Key)] = string(w.Value)
					}
				}
			}
			if err := st.Close(); err != nil {
				t.Fatal(err)
			}
			checkFileByBbolt(t, path, truth)
		})
	}
}

// seen is a snapshot with what it has to show.
type seen struct {
	kv.Snapshot
	truth map[string]string
}

func (s seen) check(t *testing.T) {
	t.Helper()
	defer s.Release()
	n, c := 0, s.Scan(kv.Range{}, kv.ScanOptions{})
	defer c.Close()
	for ; c.Next(); n++ {
		if want, ok := s.truth[string(c.Key())]; !ok || want != string(c.Value()) {
			t.Fatalf("a snapshot shows %.40q with %d bytes, want %v, %d bytes", c.Key(), len(c.Value()), ok, len(want))
		}
	}
	if c.Err() != nil || n != len(s.truth) {
		t.Fatalf("a snapshot shows %d keys, want %d: %v", n, len(s.truth), c.Err())
	}
}

// checkFileByBbolt holds a closed store to bbolt's own check, and to a map.
func checkFileByBbolt(t *testing.T, path string, truth map[string]string) {
	t.Helper()
	db, err := bbolt.Open(filepath.Join(path, dataFile), 0o600, &bbolt.Options{ReadOnly: true, PreLoadFreelist: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.View(func(tx *bbolt.Tx) error {
		for err := range tx.Check() {
			t.Error(err)
		}
		n := 0
		return tx.Bucket(dataBucket()).ForEach(func(k, v []byte) error {
			if want, ok := truth[string(k)]; !ok || want != string(wal.Unseal(v)) || !wal.Verify(k, v) {
				t.Errorf("%.40q has %d bytes, want %v, %d bytes", k, len(v), ok, len(want))
			}
			n++
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}
