package overlay

import (
	"bytes"

	"github.com/nacredb/nacre/engine/kv"
)

// Scan walks the keys of a range of one Tree, in either direction. It implements neither limits
// nor deletions: those are its users'. The zero Scan is at its end.
type Scan struct {
	cur     Cursor
	bound   []byte // the end (forward) or the start (reverse); nil = none
	reverse bool
	started bool
	valid   bool
}

// Begin prepares a walk over r of t; the first Next moves to its first key.
func (s *Scan) Begin(t *Tree, r kv.Range, reverse bool) {
	s.reverse, s.started = reverse, false
	if reverse {
		s.bound, s.valid = r.Start, s.cur.Last(t, r.End)
	} else {
		s.bound, s.valid = r.End, s.cur.First(t, r.Start)
	}
	s.check()
}

// check ends the walk at the bound.
func (s *Scan) check() {
	if !s.valid || s.bound == nil {
		return
	}
	c := bytes.Compare(s.cur.Key(), s.bound)
	s.valid = s.reverse && c >= 0 || !s.reverse && c < 0
}

// Next moves on and reports whether there is a key.
func (s *Scan) Next() bool {
	if !s.started {
		s.started = true
		return s.valid
	}
	if !s.valid {
		return false
	}
	if s.reverse {
		s.valid = s.cur.Prev()
	} else {
		s.valid = s.cur.Next()
	}
	s.check()
	return s.valid
}

// Valid reports whether the walk has not ended; before the first Next, whether it has any key.
func (s *Scan) Valid() bool { return s.valid }

// Key is the key that the walk is at.
func (s *Scan) Key() []byte { return s.cur.Key() }

// Value is the value that the walk is at.
func (s *Scan) Value() []byte { return s.cur.Value() }

// Later is the pair that the walk comes to n steps on, where it is in the same node; a deletion has no value. The walk
// must be at a key, and may end before that pair.
func (s *Scan) Later(n int) (key, value []byte, ok bool) {
	at := &s.cur.path[s.cur.depth-1]
	if s.reverse {
		n = -n
	}
	i := at.i + n
	if i < 0 || i >= len(at.node.items) {
		return nil, nil, false
	}
	it := &at.node.items[i]
	return it.key(), it.val(), true
}

// Beyond puts pairs that follow the one that the walk is at into dst and reports how many. The walk is then at the last
// of them. It ends early before a deletion, and may end early elsewhere; backwards it gives nothing.
func (s *Scan) Beyond(dst []kv.Pair) (n int) {
	if !s.valid || !s.started || s.reverse {
		return 0
	}
	at := &s.cur.path[s.cur.depth-1]
	items := at.node.items
	if s.bound != nil && bytes.Compare(items[len(items)-1].key(), s.bound) >= 0 {
		end, _ := at.node.find(s.bound)
		items = items[:end]
	}
	for n < len(dst) && at.i+1 < len(items) {
		next := &items[at.i+1]
		if next.v == nil {
			break
		}
		dst[n] = kv.Pair{Key: next.key(), Value: next.val()}
		n++
		at.i++
	}
	return n
}
