package overlay

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/nacredb/nacre/engine/kv"
)

// TestRunIsItsSets drives a tree by runs, with single changes in between, beside one whose keys are set one by one, and
// holds that the snapshots of both stay what they were.
func TestRunIsItsSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var got, want Tree
		type held struct{ got, want Tree }
		var snaps []held
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		space := rapid.SampledFrom([]int{100, 3000, 50000}).Draw(t, "keys")
		for step := range rapid.IntRange(1, 30).Draw(t, "steps") {
			from, width := rnd.IntN(space), 1+rnd.IntN(space)
			if rnd.IntN(2) == 0 {
				from, width = space+step*1000, 1000 // behind all
			}
			run := map[uint64]bool{}
			for range rnd.IntN(1 + rapid.SampledFrom([]int{30, 300, 3000}).Draw(t, "run")) {
				run[uint64(from+rnd.IntN(width))] = true
			}
			var keys, vals [][]byte
			for n := range run {
				keys = append(keys, binary.BigEndian.AppendUint64(nil, n))
			}
			slices.SortFunc(keys, bytes.Compare)
			for i := range keys {
				v := fmt.Appendf(nil, "%d %d", step, i)
				if rnd.IntN(5) == 0 {
					v = nil
				}
				vals = append(vals, v)
				want.Set(keys[i], v)
			}
			got.SetRun(keys, vals)
			if rnd.IntN(3) == 0 {
				snaps = append(snaps, held{got.Snapshot(), want.Snapshot()})
			}
			for range rnd.IntN(20) {
				k := binary.BigEndian.AppendUint64(nil, uint64(rnd.IntN(space)))
				if rnd.IntN(2) == 0 {
					got.Delete(k)
					want.Delete(k)
				} else {
					got.Set(k, k)
					want.Set(k, k)
				}
			}
		}
		for _, h := range append(snaps, held{got, want}) {
			sameTree(t, &h.got, &h.want)
		}
	})
}

func sameTree(t *rapid.T, got, want *Tree) {
	if got.Len() != want.Len() {
		t.Fatalf("%d keys, want %d", got.Len(), want.Len())
	}
	checkShape(t, got.root, nil, nil)
	var g, w Cursor
	more := g.First(got, nil)
	for ok := w.First(want, nil); ok; ok = w.Next() {
		if !more || !bytes.Equal(g.Key(), w.Key()) || !bytes.Equal(g.Value(), w.Value()) ||
			(g.Value() == nil) != (w.Value() == nil) {
			t.Fatalf("not the same at key %x", w.Key())
		}
		if v, there := got.Get(w.Key()); !there || !bytes.Equal(v, w.Value()) {
			t.Fatalf("key %x is not found", w.Key())
		}
		more = g.Next()
	}
	if more {
		t.Fatalf("key %x is too many", g.Key())
	}
}

// checkShape holds that nodes have as many items as they may, which lie between the keys above; to may be nil.
func checkShape(t *rapid.T, n *node, from, to []byte) {
	if n == nil {
		return
	}
	if n.size() > fanout || n.size() == 0 {
		t.Fatalf("a node of %d", n.size())
	}
	for _, it := range n.items {
		if k := it.key(); bytes.Compare(k, from) < 0 || to != nil && bytes.Compare(k, to) >= 0 {
			t.Fatalf("key %x is outside %x and %x", k, from, to)
		}
	}
	checkHeads(t, n)
	if n.branch == nil {
		return
	}
	for i, b := range n.bounds {
		low, high := from, to
		if i > 0 {
			low = b.key()
		}
		if i+1 < len(n.bounds) {
			high = n.bounds[i+1].key()
		}
		checkShape(t, n.kids[i], low, high)
	}
	if slices.ContainsFunc(n.kids[len(n.bounds):], func(kid *node) bool { return kid != nil }) {
		t.Fatal("a child without a bound")
	}
}

// checkHeads holds that a node knows the prefix and the heads of its keys.
func checkHeads(t *rapid.T, n *node) {
	check := func(key []byte, head uint64) {
		if !n.has(key) || kv.Head(key[n.prefix.n:]) != head {
			t.Fatalf("%x has the head %x behind %x", key, head, n.prefix.bytes())
		}
	}
	for _, it := range n.items {
		check(it.key(), it.head)
	}
	if n.branch == nil {
		return
	}
	for i := 1; i < len(n.bounds); i++ {
		check(n.bounds[i].key(), n.bounds[i].head)
	}
}

// TestKeysOfAllShapes drives a tree by runs and single changes whose keys are prefixes of each other, end with zeros,
// or share long prefixes in groups, beside a map.
func TestKeysOfAllShapes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		const table = "the prefix of a table, "
		groups := [][]byte{nil, {0}, []byte(table), []byte(table + "and an index"), {0xff, 0xff}}
		if one := rapid.IntRange(-1, len(groups)-1).Draw(t, "only"); one >= 0 {
			groups = groups[one : one+1]
		}
		key := func() []byte {
			k := slices.Clone(groups[rnd.IntN(len(groups))])
			for range 1 + rnd.IntN(10) {
				k = append(k, []byte{0, 0, 1, 'a', 'b', 0xff}[rnd.IntN(6)])
			}
			return k
		}
		var tree Tree
		truth, snaps := map[string]string{}, []Tree{}
		for step := range rapid.IntRange(1, 40).Draw(t, "steps") {
			run := map[string]string{}
			for range rnd.IntN(rapid.SampledFrom([]int{2, 40, 400}).Draw(t, "run")) {
				run[string(key())] = fmt.Sprint(step)
			}
			keys, vals := [][]byte{}, [][]byte{}
			for _, k := range slices.Sorted(maps.Keys(run)) {
				keys, vals = append(keys, []byte(k)), append(vals, []byte(run[k]))
			}
			tree.SetRun(keys, vals)
			maps.Copy(truth, run)
			if rnd.IntN(3) == 0 {
				snaps = append(snaps, tree.Snapshot())
			}
			for range rnd.IntN(40) {
				if k := key(); rnd.IntN(3) == 0 {
					tree.Delete(k)
					delete(truth, string(k))
				} else {
					tree.Set(k, k)
					truth[string(k)] = string(k)
				}
			}
		}
		var l Loader
		var keys, vals [][]byte
		for _, k := range slices.Sorted(maps.Keys(truth)) {
			keys, vals = append(keys, []byte(k)), append(vals, []byte(truth[k]))
		}
		l.Add(keys, vals)
		for _, got := range []Tree{tree, l.Tree()} {
			checkShape(t, got.root, nil, nil)
			var c Cursor
			ok, i := c.First(&got, nil), 0
			for ; ok && i < len(keys); ok, i = c.Next(), i+1 {
				if !bytes.Equal(c.Key(), keys[i]) || !bytes.Equal(c.Value(), vals[i]) {
					t.Fatalf("item %d is %x with %q, want %x with %q", i, c.Key(), c.Value(), keys[i], vals[i])
				}
			}
			if ok || i < len(keys) || got.Len() != len(keys) {
				t.Fatalf("%d keys of %d, want %d", i, got.Len(), len(keys))
			}
			for range 200 {
				k := key()
				v, found := got.Get(k)
				if want, there := truth[string(k)]; found != there || string(v) != want {
					t.Fatalf("%x is %q %v, want %q %v", k, v, found, want, there)
				}
			}
		}
		for _, s := range snaps {
			checkShape(t, s.root, nil, nil)
		}
	})
}

// BenchmarkRun puts 300,000 keys in, as many as start a checkpoint, in commits of some size that are published, as runs
// and one by one.
func BenchmarkRun(b *testing.B) {
	const keys = 300_000
	for _, order := range []string{"random", "rising"} {
		for _, size := range []int{100, 1000, 32768} {
			var runs [][][]byte
			for at := 0; at < keys; at += size {
				var run [][]byte
				for i := range min(size, keys-at) {
					n := uint64(at + i)
					if order == "random" {
						n *= 0x9e3779b97f4a7c15
					}
					run = append(run, binary.BigEndian.AppendUint64([]byte("*namespace database table "), n))
				}
				slices.SortFunc(run, bytes.Compare)
				runs = append(runs, run)
			}
			for _, how := range []string{"one by one", "run"} {
				b.Run(fmt.Sprintf("%s/%d/%s", order, size, how), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						var l Layer
						for _, run := range runs {
							if how == "run" {
								l.SetRun(run, run)
							} else {
								for _, k := range run {
									l.Set(k, k)
								}
							}
							l.Snapshot()
						}
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/keys, "ns/key")
				})
			}
		}
	}
}
