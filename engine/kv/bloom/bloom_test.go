package bloom

import (
	"encoding/binary"
	"fmt"
	"sync"
	"testing"
)

// scattered is key i of many in random order.
func scattered(i int) []byte {
	return binary.BigEndian.AppendUint64([]byte("record--"), uint64(i)*0x9e3779b97f4a7c15)
}

// TestFilterIsSeldomWrong holds what the filter is for: it knows all keys that it was given, and seldom another one.
func TestFilterIsSeldomWrong(t *testing.T) {
	for _, c := range []struct{ keys, room, most int }{
		{600_000, 1 << 24, 500}, {400_000, 1 << 22, 50}, {1, 0, 1}, {3, 65, 1}, {100, 1000, 10},
	} {
		t.Run(fmt.Sprint(c.keys), func(t *testing.T) {
			f := New(c.room)
			if n := 64 * len(f.words); n < c.room || n > c.room+64 {
				t.Errorf("%d bits take %d", c.room, n)
			}
			for i := range c.keys / 2 {
				f.Add(scattered(i))
			}
			var rest [][]byte
			for i := c.keys / 2; i < c.keys; i++ {
				rest = append(rest, scattered(i))
			}
			f.AddAll(rest)
			wrong := 0
			for i := range c.keys {
				if !f.MayHave(scattered(i)) {
					t.Fatalf("key %d is not known", i)
				}
				if f.MayHave(scattered(c.keys + i)) {
					wrong++
				}
			}
			if wrong > c.keys/c.most {
				t.Errorf("%d of %d absent keys may be there", wrong, c.keys)
			}
		})
	}
}

// TestReadersBesideTheWriter asks for what was added while more is.
func TestReadersBesideTheWriter(t *testing.T) {
	f := New(1 << 16)
	var readers sync.WaitGroup
	defer readers.Wait()
	for i := range 4096 {
		f.Add(scattered(i))
		if i%512 != 511 {
			continue
		}
		readers.Go(func() {
			for j := range i {
				if !f.MayHave(scattered(j)) {
					t.Errorf("key %d of %d is not known", j, i)
					return
				}
			}
		})
	}
}

// BenchmarkMayHave asks for absent keys in a small filter and in one that no cache holds.
func BenchmarkMayHave(b *testing.B) {
	for _, keys := range []int{10_000, 3_000_000} {
		b.Run(fmt.Sprint(keys), func(b *testing.B) {
			f := New(10 * keys)
			for i := range keys {
				f.Add(scattered(i))
			}
			absent := make([][]byte, 1<<12)
			for i := range absent {
				absent[i] = scattered(keys + i)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				f.MayHave(absent[i%len(absent)])
			}
		})
	}
}
