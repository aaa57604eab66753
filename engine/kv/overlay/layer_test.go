package overlay

import (
	"encoding/binary"
	"sync"
	"testing"
)

// scattered is key i of many in random order.
func scattered(i int) []byte {
	return binary.BigEndian.AppendUint64([]byte("record--"), uint64(i)*0x9e3779b97f4a7c15)
}

// TestLayerIsItsTree holds that a layer, its snapshots and one made of a tree say of each key what a tree would.
func TestLayerIsItsTree(t *testing.T) {
	var l Layer
	const most = 3 * filterFrom
	sizes := []int{0, 1, filterFrom - 1, filterFrom, filterFrom + 1, 2 * filterFrom, most}
	snaps := map[int]Layer{}
	for i := range most + 1 {
		for _, n := range sizes {
			if n == i {
				snaps[n] = l.Snapshot()
			}
		}
		if _, replaced := l.Set(scattered(i), scattered(-i)); replaced {
			t.Fatalf("key %d was there", i)
		}
	}
	for _, n := range sizes {
		held, made := snaps[n], LayerOf(snaps[n].Tree)
		for i := range most + 1 {
			for name, of := range map[string]*Layer{"snapshot": &held, "made": &made} {
				v, ok := of.Get(scattered(i))
				if ok != (i < n) || ok && string(v) != string(scattered(-i)) {
					t.Fatalf("%s of %d keys: key %d is there: %v", name, n, i, ok)
				}
			}
		}
	}
	if old, replaced := l.Set(scattered(5), nil); !replaced || string(old) != string(scattered(-5)) {
		t.Error("key 5 was not there")
	}
	if v, ok := l.Get(scattered(5)); v != nil || !ok {
		t.Error("a deleted key is known, without a value")
	}
}

// TestLayerBesideItsReaders reads snapshots while the layer grows.
func TestLayerBesideItsReaders(t *testing.T) {
	var l Layer
	var readers sync.WaitGroup
	defer readers.Wait()
	for i := range 4 * filterFrom {
		l.Set(scattered(i), nil)
		if i%filterFrom != filterFrom-1 {
			continue
		}
		s := l.Snapshot()
		readers.Go(func() {
			for j := range i + filterFrom {
				if _, ok := s.Get(scattered(j)); ok != (j <= i) {
					t.Errorf("key %d of a snapshot of %d: %v", j, i+1, ok)
					return
				}
			}
		})
	}
}

// BenchmarkAbsent looks for keys that are not there, as reads of what is below the layer do.
func BenchmarkAbsent(b *testing.B) {
	var l Layer
	const keys = 300_000
	for i := range keys {
		l.Set(scattered(i), nil)
	}
	absent := make([][]byte, 1<<16)
	for i := range absent {
		absent[i] = scattered(keys + i)
	}
	for name, get := range map[string]func([]byte) ([]byte, bool){"tree": l.Tree.Get, "layer": l.Get} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				get(absent[i%len(absent)])
			}
		})
	}
}

// BenchmarkLayerSet puts a key in, with the filter kept.
func BenchmarkLayerSet(b *testing.B) {
	for _, name := range []string{"tree", "layer"} {
		b.Run(name, func(b *testing.B) {
			keys := make([][]byte, 300_000)
			for i := range keys {
				keys[i] = scattered(i)
			}
			b.ReportAllocs()
			for b.Loop() {
				var l Layer
				for _, k := range keys {
					if name == "tree" {
						l.Tree.Set(k, k)
					} else {
						l.Set(k, k)
					}
				}
			}
		})
	}
}
