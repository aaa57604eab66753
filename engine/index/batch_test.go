package index

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestEntriesAreSortedByTheirKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		short := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 'a', 0xff}), 0, 12)
		shared := short.Draw(t, "shared")
		b := &Batch{}
		for _, k := range rapid.SliceOfN(short, 0, 60).Draw(t, "keys") {
			put(b, slices.Concat(shared, k))
		}
		checkSorted(t, b)
	})
}

// put gathers a key without a value, which has no errors.
func put(b *Batch, k []byte) { _ = b.gather(k, nil) }

// checkSorted holds that each entry comes once, in the order of the keys.
func checkSorted(t interface{ Fatalf(string, ...any) }, b *Batch) {
	var got [][]byte
	seen := make([]bool, len(b.entries))
	for _, o := range b.sorted() {
		if seen[o.at] {
			t.Fatalf("entry %d comes twice", o.at)
		}
		seen[o.at] = true
		got = append(got, b.keyOf(int(o.at)))
	}
	if len(got) != len(b.entries) || !slices.IsSortedFunc(got, bytes.Compare) {
		t.Fatalf("%x comes as %x", b.blocks, got)
	}
}

// TestManyEntriesAreSorted does the same for more than are sorted by comparisons. Their heads differ in one byte up to
// all.
func TestManyEntriesAreSorted(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for differ := 1; differ <= 10; differ++ {
		b := &Batch{}
		for range fewHeads * 3 {
			k := []byte("the same in all keys")
			for range differ {
				k = append(k, byte(rnd.Uint32()))
			}
			put(b, k[:len(k)-rnd.IntN(2)])
		}
		checkSorted(t, b)
	}
}

// BenchmarkSorted sorts 32,768 entries of random numbers, and of numbers that rise.
func BenchmarkSorted(b *testing.B) {
	for _, name := range []string{"Random", "Rising"} {
		batch := &Batch{}
		for i := range uint64(32768) {
			n := i
			if name == "Random" {
				n = i * 0x9e3779b97f4a7c15 >> 44
			}
			k := binary.BigEndian.AppendUint32([]byte("namespace database table index"), uint32(n))
			put(batch, binary.BigEndian.AppendUint64(k, i))
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				batch.sorted()
			}
		})
	}
}
