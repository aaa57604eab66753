package overlay

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestLoaderAgreesWithSet: batches that are loaded leave what they leave when their keys are set in turn, deletions and
// changes afterwards included.
func TestLoaderAgreesWithSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		space := rapid.SampledFrom([]int{5, 300, 20_000}).Draw(t, "keys")
		most := rapid.SampledFrom([]int{1, 20, 700}).Draw(t, "most")
		var l Loader
		truth := map[string]string{}
		set := func(k, v string) { truth[k] = v }
		for range rapid.IntRange(0, 60).Draw(t, "batches") {
			batch := map[string]string{}
			for range rnd.IntN(most + 1) {
				batch[fmt.Sprintf("%05d", rnd.IntN(space))] = fmt.Sprint(rnd.Uint32())
			}
			var keys, vals [][]byte
			for k := range batch {
				keys = append(keys, []byte(k))
			}
			slices.SortFunc(keys, slices.Compare)
			for _, k := range keys {
				vals = append(vals, []byte(batch[string(k)]))
				set(string(k), batch[string(k)])
			}
			l.Add(keys, vals)
		}
		tree := l.Tree()
		checkTree(t, rnd, &tree, truth)
		before := tree.Snapshot()
		was := map[string]string{}
		for k, v := range truth {
			was[k] = v
		}
		for range rnd.IntN(500) {
			k := fmt.Sprintf("%05d", rnd.IntN(space))
			if rnd.IntN(2) == 0 {
				v := fmt.Sprint(rnd.Uint32())
				tree.Set([]byte(k), []byte(v))
				set(k, v)
			} else {
				tree.Delete([]byte(k))
				delete(truth, k)
			}
		}
		checkTree(t, rnd, &tree, truth)
		checkTree(t, rnd, &before, was)
	})
}

// TestLoaderKeepsDeletions: nil values stay nil, empty ones empty; so does what several goroutines merge.
func TestLoaderKeepsDeletions(t *testing.T) {
	var l Loader
	const n = 2 * sharedMerge
	for batch := range 4 {
		var keys, vals [][]byte
		for i := batch; i < n; i += 4 {
			keys = append(keys, fmt.Appendf(nil, "%08d", i))
			vals = append(vals, []byte{byte(batch)})
		}
		l.Add(keys, vals)
	}
	l.Add([][]byte{[]byte("00000005"), []byte("00000006")}, [][]byte{nil, {}})
	tree := l.Tree()
	if tree.Len() != n {
		t.Fatalf("got %d keys, want %d", tree.Len(), n)
	}
	var c Cursor
	i := 0
	for ok := c.First(&tree, nil); ok; ok = c.Next() {
		if want := fmt.Sprintf("%08d", i); string(c.Key()) != want {
			t.Fatalf("got key %s, want %s", c.Key(), want)
		}
		switch v := c.Value(); {
		case i == 5 && v != nil, i == 6 && (v == nil || len(v) > 0), i > 6 && v[0] != byte(i%4):
			t.Errorf("key %d has %v", i, v)
		}
		i++
	}
	if empty := new(Loader).Tree(); empty.Len() != 0 {
		t.Error("an empty loader made a tree with keys")
	}
}
