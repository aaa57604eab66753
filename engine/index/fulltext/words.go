package fulltext

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"unsafe"
)

// wordTable remembers which term an analyzer makes of a word; nil for those that the filters drop. Words of up to 16
// bytes, which most are, lie in the table itself: to find one reads one line of the cache. The zero wordTable is empty
// and ready.
type wordTable struct {
	slots []slot // a power of two, at most half of them in use
	used  int
	long  map[string]*counted // the longer ones
}

// slot has a word as two numbers, and how long it is; 0: it is free.
type slot struct {
	lo, hi uint64
	n      int
	term   *counted
}

// shortWord is how long a word in a slot may be.
const shortWord = 16

// wordSeed is another one in each process, so that no client can choose words that share a slot.
var wordSeed = maphash.Comparable(maphash.MakeSeed(), 0) | 1

// packed is a word, text[from:to], of up to shortWord bytes as two numbers.
func packed(text string, from, to int) (lo, hi uint64) {
	n := to - from
	if from+shortWord <= len(text) {
		b := unsafe.Slice(unsafe.StringData(text), len(text))[from : from+shortWord]
		lo, hi = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
		if n <= 8 {
			return lo & (^uint64(0) >> (64 - 8*n)), 0
		}
		return lo, hi & (^uint64(0) >> (128 - 8*n))
	}
	var b [shortWord]byte
	copy(b[:], text[from:to])
	return binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[8:])
}

// find gives the term of text[from:to], which is not empty, and whether it is known.
func (w *wordTable) find(text string, from, to int) (t *counted, known bool) {
	if to-from > shortWord {
		t, known = w.long[text[from:to]]
		return t, known
	}
	if len(w.slots) == 0 {
		return nil, false
	}
	lo, hi := packed(text, from, to)
	s := w.slotOf(lo, hi, to-from)
	return s.term, s.n > 0
}

// slotOf is the slot that has a word, or the free one where it belongs.
func (w *wordTable) slotOf(lo, hi uint64, n int) *slot {
	mask := uint64(len(w.slots) - 1)
	up, down := bits.Mul64(lo^wordSeed, hi^bits.RotateLeft64(wordSeed, 32)^uint64(n))
	for at := (up ^ down) & mask; ; at = (at + 1) & mask {
		s := &w.slots[at]
		if s.n == 0 || s.lo == lo && s.hi == hi && s.n == n {
			return s
		}
	}
}

// firstSlots is how many slots a table has at first.
const firstSlots = 1 << 10

// put remembers a word that is not known. Of a longer one it keeps the bytes.
func (w *wordTable) put(word string, t *counted) {
	w.used++
	if len(word) > shortWord {
		if w.long == nil {
			w.long = map[string]*counted{}
		}
		w.long[word] = t
		return
	}
	if 2*w.used > len(w.slots) {
		old := w.slots
		w.slots = make([]slot, max(firstSlots, 2*len(old)))
		for i := range old {
			if s := &old[i]; s.n > 0 {
				*w.slotOf(s.lo, s.hi, s.n) = *s
			}
		}
	}
	lo, hi := packed(word, 0, len(word))
	*w.slotOf(lo, hi, len(word)) = slot{lo, hi, len(word), t}
}
