package fn

import (
	"slices"
	"sync"

	"github.com/nacredb/nacre/engine/value"
)

// scratch is memory that a call works in and gives back, so that results without memory of their own cost none.
type scratch struct {
	a, b   []rune
	ints   []int
	cells  []int32
	pairs  []uint64
	floats []float64
	values []value.Value
	text   []byte
}

// scratches is a stock of scratch memory, safe for concurrent use.
type scratches struct{ pool sync.Pool }

// maxScratch is how many elements of a slice are kept for later calls.
const maxScratch = 16 << 10

// scratch takes memory from the stock; done gives it back, and nothing may refer to it from then on.
func (c Call) scratch() *scratch {
	if s, ok := c.Func.table.scratches.pool.Get().(*scratch); ok {
		return s
	}
	return new(scratch)
}

func (c Call) done(s *scratch) {
	clear(s.values[:cap(s.values)]) // no value lives on here
	if max(cap(s.a), cap(s.b), cap(s.ints), cap(s.cells), cap(s.pairs), cap(s.floats), cap(s.values),
		cap(s.text)/8) <= maxScratch {
		c.Func.table.scratches.pool.Put(s)
	}
}

// room is n elements of *buf, made larger where needed, with what they last held.
func room[T any](buf *[]T, n int) []T {
	*buf = slices.Grow((*buf)[:0], n)[:n]
	return *buf
}

// runes puts the characters of s into buf.
func runes(buf *[]rune, s string) []rune {
	out := slices.Grow((*buf)[:0], len(s))
	for _, r := range s {
		out = append(out, r)
	}
	*buf = out
	return out
}
