package graph

import (
	"github.com/nacredb/nacre/engine/gql"
	"github.com/nacredb/nacre/engine/record"
)

// hopList is the edges of a node that an operator may go over.
type hopList struct {
	walk int // the way of going over them
	hops []hop
	to   map[uint64][]int32 // the places in hops by the hash of the node behind; nil until it is wanted
}

// hop is an edge as it is walked: the edge, and the node at its other end.
type hop struct {
	edge record.ID
	hash uint64 // of edge
	node *element
}

// same reports whether two hops go over one edge.
func (h *hop) same(other *hop) bool { return h.hash == other.hash && h.edge == other.edge }

// edgeSlot binds the edge of a hop.
func (x *runner) edgeSlot(h *hop) (slot, error) {
	e, err := x.met(h.edge)
	if err != nil {
		return slot{}, err
	}
	return slot{kind: isEdge, el: e}, nil
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
	if node.table.id == 0 {
		return nil, nil
	}
	walk := func(dir record.Direction) error {
		return x.g.EachLink(x.ctx, node.packed, dir, o.only, func(l record.Link) (bool, error) {
			if err := x.r.Tick(x.ctx); err != nil {
				return false, err
			}
			other, err := x.otherEnd(o, l)
			if other == nil || err != nil {
				return err == nil, err
			}
			if dir == record.In && o.dir == gql.Either && other.is(node) {
				return true, nil // a loop was met as an edge out
			}
			hops = append(hops, hop{edge: l.Edge, hash: t.hashOf(l.Edge), node: other})
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

// otherEnd is the node that a link leads to; nil where the label leaves the edge out, or the edge hides the node.
func (x *runner) otherEnd(o *edgeOp, l record.Link) (*element, error) {
	if o.only == nil {
		tb, err := x.tableOf(l.Edge.Table())
		if err != nil || !gql.Matches(o.e.label, tb.name) {
			return nil, err
		}
	}
	switch {
	case l.Other != "":
		return x.met(l.Other)
	case l.Named != nil:
		return x.element(l.Named)
	}
	return nil, nil
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
	id   record.ID
	hash uint64
}

// fewEdges is how many bound edges are looked through one by one.
const fewEdges = 16

func (s *edgeSet) has(h *hop) bool {
	if s.count != nil && s.count[h.hash] == 0 {
		return false
	}
	for i := range s.edges {
		if s.edges[i].hash == h.hash && s.edges[i].id == h.edge {
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
