package graph

import "github.com/nacredb/nacre/engine/record"

// flood is a breadth-first search from one node, a layer at a time.
type flood struct {
	h    *hunt
	hop  *edgeOp
	all  bool // all shortest ways to a node are kept, else one
	seen map[uint64]*reach
	met  []*reach // all nodes, nearest first
	edge []*reach // the last layer
	dist int      // of the last layer
}

// reach is a node that a flood has come to.
type reach struct {
	el   *element
	dist int
	from []arrival
	next *reach // another one with the same hash
}

// arrival is one way to come to a node: the last edge, and the node before it.
type arrival struct {
	edge record.ID
	hash uint64
	from *reach
}

// arrivalWeight is about how many bytes a node and a way to it take.
const arrivalWeight = 160

func (f *flood) begin(e *element) {
	f.seen = map[uint64]*reach{}
	f.edge = []*reach{f.add(e)}
}

func (f *flood) add(e *element) *reach {
	r := &reach{el: e, dist: f.dist, next: f.seen[e.hash]}
	f.seen[e.hash] = r
	f.met = append(f.met, r)
	return r
}

// find holds the state of a node; nil: the flood has not come to it.
func (f *flood) find(e *element) *reach {
	r := f.seen[e.hash]
	for r != nil && !r.el.is(e) {
		r = r.next
	}
	return r
}

// expand moves to the next layer.
func (f *flood) expand() error {
	x := f.h.x
	var next []*reach
	last := f.edge
	f.dist++
	var ahead record.Ahead
	for i, r := range last {
		if n := ahead.Due(x.g, len(last)-i); n > 0 {
			nodes := make([]record.ID, n)
			for j, near := range last[i : i+n] {
				nodes[j] = near.el.packed
			}
			most, err := x.aheadFrom(nodes, f.hop)
			if err != nil {
				return err
			}
			ahead.Read(n, most)
		}
		hops, err := x.hopsOf(f.hop, r.el)
		if err != nil {
			return err
		}
		for i := range hops {
			e := &hops[i]
			known := f.find(e.node)
			if known != nil && (!f.all || known.dist != f.dist) {
				continue
			}
			if ok, err := f.h.may(f.hop, e); err != nil {
				return err
			} else if !ok {
				continue
			}
			if known == nil {
				if ok, err := x.isNode(nil, e.node); err != nil {
					return err
				} else if !ok {
					continue
				}
				known = f.add(e.node)
				next = append(next, known)
			}
			known.from = append(known.from, arrival{e.edge, e.hash, r})
			f.h.held += arrivalWeight
			if err := x.r.Mem.Charge(arrivalWeight); err != nil {
				return err
			}
			if len(f.met) > x.r.Ex.Limits.GraphPaths {
				return x.tooManyPaths()
			}
		}
	}
	f.edge = next
	return nil
}

// to moves on until the layer at a distance is known.
func (f *flood) to(dist int) error {
	if f.seen == nil {
		f.begin(f.h.start)
	}
	for f.dist < dist && len(f.edge) > 0 {
		if err := f.expand(); err != nil {
			return err
		}
	}
	return nil
}
