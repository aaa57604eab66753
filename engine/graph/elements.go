package graph

import (
	"hash/maphash"
	"slices"

	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// elements are those that a program has met, chained in a hash table. It forgets them all when it is full: they are
// read again.
type elements struct {
	table   []*element // by the low bits of their hashes; a power of two of them
	n       int
	epoch   uint32
	hops    int // in the lists of all elements
	seed    maphash.Seed
	scratch []byte // the packed id that is looked for
	packed  []byte // room for packed ids that were made here

	room  rooms[element]
	space rooms[hop]
	found []hop // of the list that is being read
}

// What a program keeps at hand of what it has read, and about how many bytes each of them takes.
const (
	keptElements  = 1 << 17
	keptHops      = 1 << 19
	elementWeight = 320
	hopWeight     = 96
)

func newElements() elements { return elements{epoch: 1, seed: maphash.MakeSeed()} }

// hashOf is the same for equal ids, within one program.
func (t *elements) hashOf(packed record.ID) uint64 { return maphash.String(t.seed, string(packed)) }

// add makes an element.
func (t *elements) add(packed record.ID, hash uint64, tb *table, id *value.RecordID) *element {
	e := &t.room.take(1)[0]
	e.packed, e.hash, e.table, e.id = packed, hash, tb, id
	if t.n++; t.n > len(t.table) {
		t.grow()
	}
	t.put(e)
	return e
}

func (t *elements) put(e *element) {
	at := &t.table[e.hash&uint64(len(t.table)-1)]
	e.next, *at = *at, e
}

// grow makes a table of twice the size.
func (t *elements) grow() {
	was := t.table
	t.table = make([]*element, max(2*len(was), 16))
	for _, e := range was {
		for e != nil {
			next := e.next
			t.put(e)
			e = next
		}
	}
}

// find is the element of a record; nil: it was not met.
func (t *elements) find(packed record.ID, hash uint64) *element {
	if len(t.table) == 0 {
		return nil
	}
	e := t.table[hash&uint64(len(t.table)-1)]
	for e != nil && (e.hash != hash || e.packed != packed) {
		e = e.next
	}
	return e
}

// weight is about how many bytes the elements take.
func (t *elements) weight() int { return t.n*elementWeight + t.hops*hopWeight }

// keep copies a packed id that was made here.
func (t *elements) keep(b []byte) record.ID {
	if len(b) > cap(t.packed)-len(t.packed) {
		t.packed = make([]byte, 0, max(len(b), min(max(16*t.n, 32), 1024)))
	}
	n := len(t.packed)
	t.packed = append(t.packed, b...)
	return record.IDOf(t.packed[n:])
}

// list is a copy of hops that stays.
func (t *elements) list(hops []hop) []hop {
	if len(hops) > mostRoom/4 {
		return slices.Clone(hops)
	}
	out := t.space.take(len(hops))
	copy(out, hops)
	return out
}

// forget drops what was read: something was written, or the table is full.
func (t *elements) forget() {
	for _, e := range t.table {
		for e != nil { // elements that are in use must not keep all others alive
			next := e.next
			e.hops, e.raw, e.doc, e.next = nil, nil, value.None, nil
			e = next
		}
	}
	t.table, t.n = nil, 0
	t.epoch++
	t.hops = 0
	t.room.drop()
	t.space.drop()
}

// reset makes the elements ready for another program run. It keeps the room that they took where that is little.
func (t *elements) reset() {
	if len(t.table) > pooledElements {
		t.table = nil
	}
	clear(t.table)
	clear(t.found[:cap(t.found)])
	if cap(t.found) > pooledElements {
		t.found = nil
	}
	t.room.reset(pooledElements)
	t.space.reset(pooledElements)
	t.n, t.hops, t.epoch, t.packed = 0, 0, 1, nil
}

// pooledElements bounds what a program keeps from one run to the next: elements, and hops.
const pooledElements = 4096

// rooms is memory for many things that are made one after the other and given up together.
type rooms[T any] struct {
	all  [][]T
	next int // the room that is taken from
	used int // of that
}

// mostRoom is how many things one room is for.
const mostRoom = 256

// take gives n zero things side by side, n being at most mostRoom.
func (r *rooms[T]) take(n int) []T {
	if n == 0 {
		return nil
	}
	for ; r.next < len(r.all); r.next, r.used = r.next+1, 0 {
		if room := r.all[r.next]; r.used+n <= len(room) {
			r.used += n
			return room[r.used-n : r.used : r.used]
		}
	}
	size := mostRoom
	if len(r.all) < 4 {
		size = 16 << len(r.all)
	}
	r.all, r.used = append(r.all, make([]T, max(size, n))), n
	return r.all[r.next][:n:n]
}

// drop forgets all rooms: what was taken from them is in use.
func (r *rooms[T]) drop() { r.all, r.next, r.used = nil, 0, 0 }

// reset gives all things up, and keeps rooms for no more than most of them.
func (r *rooms[T]) reset(most int) {
	for i, room := range r.all {
		if most -= len(room); most < 0 {
			clear(r.all[i:])
			r.all = r.all[:i]
			break
		}
		if i <= r.next {
			clear(room)
		}
	}
	r.next, r.used = 0, 0
}
