package graph

import (
	"hash/maphash"
	"slices"

	"github.com/nacredb/nacre/engine/gql"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// element is a node or an edge that a program has met, with what was read of it. Several elements may stand for one
// record, so identity is hash and id, never the pointer.
type element struct {
	id    *value.RecordID
	hash  uint64
	epoch uint32        // of the table when doc and shown were read; 0: never
	shown bool          // the record exists and the caller may see it
	raw   record.Stored // its image, where the caller sees it as it is stored; else nil
	doc   value.Value   // NONE while raw was not decoded
	hops  []hopList
	next  *element // another one at the same place of the table
}

func (e *element) is(other *element) bool {
	return e == other || e.hash == other.hash && sameID(e.id, other.id)
}

// hopList is the edges of a node that an operator may go over.
type hopList struct {
	walk int // the way of going over them
	hops []hop
	to   map[uint64][]int32 // the places in hops by the hash of the node behind; nil until it is wanted
}

// hop is an edge as it is walked: the edge, and the node at its other end.
type hop struct {
	edge *value.RecordID
	hash uint64 // of edge
	node *element
}

// elements are those that a program has met, chained in a hash table. It forgets them all when it is full: they are
// read again.
type elements struct {
	table []*element // by the low bits of their hashes; a power of two of them
	n     int
	epoch uint32
	hops  int // in the lists of all elements
	seed  maphash.Seed
	name  string // of the table whose hash was asked for last
	hash  uint64
	room  []element // for those to come
	space []hop     // for lists to come
	found []hop     // of the list that is being read
}

// How many elements, and hops of lists, room is made for at once.
const (
	elementRoom = 32
	hopSpace    = 256
)

// add makes an element.
func (t *elements) add(id *value.RecordID, hash uint64) *element {
	if len(t.room) == 0 {
		t.room = make([]element, min(max(t.n, 4), elementRoom))
	}
	e := &t.room[0]
	t.room = t.room[1:]
	e.id, e.hash = id, hash
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
func (t *elements) find(id *value.RecordID, hash uint64) *element {
	if len(t.table) == 0 {
		return nil
	}
	e := t.table[hash&uint64(len(t.table)-1)]
	for e != nil && (e.hash != hash || !sameID(e.id, id)) {
		e = e.next
	}
	return e
}

// weight is about how many bytes the elements take.
func (t *elements) weight() int { return t.n*elementWeight + t.hops*hopWeight }

// list is a copy of hops that stays.
func (t *elements) list(hops []hop) []hop {
	n := len(hops)
	if n > hopSpace/4 {
		return slices.Clone(hops)
	}
	if n > len(t.space) {
		t.space = make([]hop, min(max(t.hops, 16+n), hopSpace))
	}
	out := t.space[:n:n]
	t.space = t.space[n:]
	copy(out, hops)
	return out
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
func (t *elements) hashOf(id *value.RecordID) uint64 {
	if id.Table != t.name || t.hash == 0 {
		t.name, t.hash = id.Table, maphash.String(t.seed, id.Table)|1
	}
	switch id.Key.Kind() {
	case value.KindInt:
		h := (t.hash ^ uint64(id.Key.Int())) * 0x9E3779B97F4A7C15 // Fibonacci hashing, Knuth, TAOCP 6.4
		return h ^ h>>29
	case value.KindString:
		return t.hash ^ maphash.String(t.seed, id.Key.Str())
	}
	return t.hash ^ maphash.String(t.seed, id.Key.Text())
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
}

// element is the element of a record.
func (x *runner) element(id *value.RecordID) *element {
	t := &x.seen
	h := t.hashOf(id)
	if e := t.find(id, h); e != nil {
		return e
	}
	if t.n >= keptElements {
		t.forget()
	}
	return t.add(id, h)
}

// see reads a record as the caller may see it; false where it is missing or hidden.
func (x *runner) see(e *element) (bool, error) {
	if e.epoch == x.seen.epoch {
		return e.shown, nil
	}
	if err := x.r.Tick(x.ctx); err != nil {
		return false, err
	}
	tb, err := x.table(e.id.Table)
	if err != nil {
		return false, err
	}
	var raw record.Stored
	var doc value.Value
	ok := false
	if tb != nil {
		if raw, doc, ok, err = x.g.Peek(x.ctx, tb, e.id); err != nil {
			return false, err
		}
	}
	return ok, x.keep(e, raw, doc, ok)
}

// keep remembers a record that was read.
func (x *runner) keep(e *element, raw record.Stored, doc value.Value, ok bool) error {
	e.raw, e.doc, e.shown, e.epoch, e.hops = raw, doc, ok, x.seen.epoch, nil
	return x.r.Mem.Reach(x.seen.weight())
}

// load is see for what a slot is bound to.
func (x *runner) load(s *slot) (bool, error) { return x.see(x.elementOf(s)) }

// document is what a slot is bound to, read; false where it is missing or hidden.
func (x *runner) document(s *slot) (value.Value, bool, error) {
	e := x.elementOf(s)
	if ok, err := x.see(e); err != nil || !ok {
		return value.None, false, err
	}
	if e.raw != nil && e.doc.IsNone() {
		var err error
		if e.doc, err = e.raw.Record(); err != nil {
			return value.None, false, err
		}
	}
	return e.doc, true, nil
}

// field is a field of what a slot is bound to; NONE where either is missing or hidden.
func (x *runner) field(s *slot, name string) (value.Value, error) {
	e := x.elementOf(s)
	if ok, err := x.see(e); err != nil || !ok {
		return value.None, err
	}
	if e.doc.IsNone() {
		return e.raw.Field(name)
	}
	v, _ := e.doc.Object().Get(name)
	return v, nil
}

// elementOf is the element of a node or edge that a slot is bound to.
func (x *runner) elementOf(s *slot) *element {
	if s.el == nil {
		s.el = x.element(s.id)
	}
	return s.el
}

// hopsOf are the edges of a node that an operator may go over.
func (x *runner) hopsOf(o *edgeOp, node *element) ([]hop, error) {
	l, err := x.hopList(o, node)
	if err != nil {
		return nil, err
	}
	return l.hops, nil
}

func (x *runner) hopList(o *edgeOp, node *element) (*hopList, error) {
	if node.epoch == x.seen.epoch {
		for i := range node.hops {
			if node.hops[i].walk == o.walk {
				return &node.hops[i], nil
			}
		}
	}
	hops, err := x.readHops(o, node)
	if err != nil {
		return nil, err
	}
	if node.epoch != x.seen.epoch { // the table was full
		return &hopList{walk: o.walk, hops: hops}, nil
	}
	x.seen.hops += len(hops) + 1
	node.hops = append(node.hops, hopList{walk: o.walk, hops: hops})
	l := &node.hops[len(node.hops)-1]
	if x.seen.hops > keptHops {
		kept := *l
		x.seen.forget()
		return &kept, nil
	}
	return l, x.r.Mem.Reach(x.seen.weight())
}

// readHops reads the edges of a node from the store.
func (x *runner) readHops(o *edgeOp, node *element) ([]hop, error) {
	t := &x.seen
	hops := t.found[:0]
	t.found = nil
	defer func() { t.found = hops[:0] }()
	walk := func(dir record.Direction) error {
		return x.g.EachEdge(x.ctx, node.id, dir, o.only, nil, func(h record.Hop) (bool, error) {
			if err := x.r.Tick(x.ctx); err != nil {
				return false, err
			}
			if h.Other == nil || o.only == nil && !gql.Matches(o.e.label, h.Edge.Table) {
				return true, nil
			}
			other := x.element(h.Other)
			if dir == record.In && o.dir == gql.Either && other.is(node) {
				return true, nil // a loop was met as an edge out
			}
			hops = append(hops, hop{edge: h.Edge, hash: x.seen.hashOf(h.Edge), node: other})
			return true, x.r.Mem.Reach(len(hops) * hopWeight)
		})
	}
	if o.dir == gql.Right || o.dir == gql.Either {
		if err := walk(record.Out); err != nil {
			return nil, err
		}
	}
	if o.dir == gql.Left || o.dir == gql.Either {
		if err := walk(record.In); err != nil {
			return nil, err
		}
	}
	return t.list(hops), nil
}

// manyHops is how many edges a node has before those that lead to one node are found by a table.
const manyHops = 32

// hopsTo are the edges of a node that lead to target, among those that an operator may go over.
func (x *runner) hopsTo(o *edgeOp, node, target *element) ([]hop, error) {
	l, err := x.hopList(o, node)
	if err != nil {
		return nil, err
	}
	var out []hop
	if len(l.hops) <= manyHops {
		first := -1
		for i := range l.hops {
			if !l.hops[i].node.is(target) {
				continue
			}
			if first < 0 {
				first, out = i, l.hops[i:i+1:i+1]
			} else {
				out = append(out, l.hops[i])
			}
		}
		return out, nil
	}
	if l.to == nil {
		l.to = make(map[uint64][]int32, len(l.hops))
		for i := range l.hops {
			h := l.hops[i].node.hash
			l.to[h] = append(l.to[h], int32(i))
		}
		if err := x.r.Mem.Reach(len(l.hops) * hopWeight); err != nil {
			return nil, err
		}
	}
	for _, i := range l.to[target.hash] {
		if l.hops[i].node.is(target) {
			out = append(out, l.hops[i])
		}
	}
	return out, nil
}

// edgeSet is the edges that a match has bound. They are taken out in the reverse order.
type edgeSet struct {
	edges []boundEdge
	count map[uint64]int // by hash; nil while there are few
}

type boundEdge struct {
	id   *value.RecordID
	hash uint64
}

// fewEdges is how many bound edges are looked through one by one.
const fewEdges = 16

func (s *edgeSet) has(h *hop) bool {
	if s.count != nil && s.count[h.hash] == 0 {
		return false
	}
	for i := range s.edges {
		if s.edges[i].hash == h.hash && sameID(s.edges[i].id, h.edge) {
			return true
		}
	}
	return false
}

func (s *edgeSet) push(h *hop) {
	s.edges = append(s.edges, boundEdge{h.edge, h.hash})
	if s.count != nil {
		s.count[h.hash]++
	} else if len(s.edges) > fewEdges {
		s.count = map[uint64]int{}
		for i := range s.edges {
			s.count[s.edges[i].hash]++
		}
	}
}

func (s *edgeSet) pop(n int) {
	for range n {
		last := len(s.edges) - 1
		if s.count != nil {
			s.count[s.edges[last].hash]--
		}
		s.edges = s.edges[:last]
	}
}

// takes adds edges, or none of them where one is bound already.
func (s *edgeSet) takes(hops []hop) bool {
	for i := range hops {
		if s.has(&hops[i]) {
			return false
		}
	}
	for i := range hops {
		s.push(&hops[i])
	}
	return true
}
