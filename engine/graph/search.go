package graph

import (
	"slices"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/gql"
	"github.com/nacredb/nacre/engine/plan"
)

// searchOp finds the paths that a search prefix keeps, over one quantified edge between two nodes, from the node that
// the pattern has come to. Only paths that are kept are made:
//
//   - One shortest path, and all of them, come from a breadth-first search: from both ends where the other end is known,
//     else from the start to all ends.
//   - Other prefixes ask for each pair of ends by length: a depth-first search from the end that enters no node that is
//     too far from the start.
type searchOp struct {
	link
	p    *pathPattern
	hop  *edgeOp
	back *edgeOp // the same edges, walked the other way
	end  *nodeOp
	ends *nodeOp // finds the few records that can be the end; nil: there are many
	min  int
	max  int // -1: none
	left bool
}

func (o *searchOp) text() string {
	t := "Search " + o.hop.e.text + " to " + o.end.n.text + condTexts(o.end.conds)
	if o.ends != nil || !o.end.bind {
		t += ", from both ends"
	}
	return t
}

// fewEnds is how many end nodes are each searched for from both sides.
const fewEnds = 16

// search decides whether a search prefix can be answered without finding all paths first: one quantified edge between
// two nodes.
func (pl *planner) search(p *pathPattern, at int) *searchOp {
	if !searches(p) || len(p.factors) != 3 || pl.x.r.Ex.PlanOff.Has(plan.GraphSearch) {
		return nil
	}
	e, ok := p.factors[1].(*edgeFactor)
	if !ok || e.quant == nil || pl.s.keep && len(pl.s.conds) > 0 {
		return nil
	}
	return &searchOp{p: p, min: e.quant.Min, max: e.quant.Max, left: at != 0}
}

// searching adds the operators of a search.
func (pl *planner) searching(p *pathPattern, o *searchOp) error {
	start, end := p.factors[0].(*nodeFactor), p.factors[2].(*nodeFactor)
	if o.left {
		start, end = end, start
	}
	pl.node(start, true)
	pl.left = o.left
	e := p.factors[1].(*edgeFactor)
	o.hop = pl.edge(e, e.conds)
	back := *o.hop
	back.dir = turned(back.dir)
	back.walk = walkOf(&back)
	o.back = &back
	pl.add(o)
	if end.fresh && !pl.bound[end.v.slot] {
		c, err := pl.cost(p, end)
		if err != nil {
			return err
		}
		if probes := pl.probes(&pathPattern{conds: pl.inner}, end); len(probes) > 0 && c <= fewEnds {
			o.ends = &nodeOp{n: end, scan: true, bind: true, probes: probes}
		}
	}
	if e.group != nil {
		pl.bound[e.group.slot] = true
	}
	o.end = pl.node(end, false)
	pl.left = false
	pl.tail = &o.next // the search itself looks at the end nodes
	return nil
}

// hunt is a search at work from one node.
type hunt struct {
	o     *searchOp
	m     *match
	x     *runner
	start *element
	kind  gql.Search
	k     int // paths, or lengths of paths, for each pair of ends
	paths int // that were found
	edge  int // the variable of the edge
	held  int // bytes of the floods
}

func (o *searchOp) run(m *match) error {
	x := m.x
	k, err := x.pathCount(o.p)
	if err != nil {
		return err
	}
	h := &hunt{o: o, m: m, x: x, start: m.cur, kind: o.p.prefix.Search, k: k, edge: o.hop.e.v.slot}
	defer func() {
		m.cur = h.start
		x.r.Mem.Release(h.held)
	}()
	ends, known, err := h.knownEnds()
	if err != nil {
		return err
	}
	if !known {
		return h.everywhere()
	}
	for _, e := range ends {
		if err := h.pair(e); err != nil {
			return err
		}
	}
	return nil
}

// single reports whether the paths of least length are all that is wanted, and those can not be shorter than two
// neighbours are apart.
func (h *hunt) single() bool {
	if h.o.min > 1 {
		return false
	}
	return h.kind == gql.SearchAllShortest || h.k == 1
}

// all reports whether all paths of a length are wanted.
func (h *hunt) all() bool { return h.kind == gql.SearchAllShortest || h.kind == gql.SearchGroups }

// knownEnds are the end nodes, where they are known before the search.
func (h *hunt) knownEnds() (ends []*element, known bool, err error) {
	x, o := h.x, h.o
	if !o.end.bind {
		s := &x.row[o.end.n.v.slot]
		if s.kind != isNode {
			return nil, true, nil
		}
		return []*element{s.el}, true, nil
	}
	if o.ends == nil {
		return nil, false, nil
	}
	err = o.ends.each(x, func(e *element) error {
		if ends = append(ends, e); len(ends) > fewEnds {
			return errEnough
		}
		return nil
	})
	if err == errEnough {
		return nil, false, nil
	}
	return ends, true, err
}

// pair goes on with the paths to one end node.
func (h *hunt) pair(end *element) error {
	ok, err := h.o.end.accepts(h.m, end)
	if err != nil || !ok {
		return err
	}
	if end.is(h.start) || !h.single() {
		return h.byLength(&flood{h: h, hop: h.o.hop}, end)
	}
	return h.fromBothEnds(end)
}

// everywhere goes on with the paths to all end nodes that can be reached.
func (h *hunt) everywhere() error {
	f := &flood{h: h, hop: h.o.hop, all: h.all()}
	f.begin(h.start)
	for i := 0; ; i++ {
		for i == len(f.met) { // a search by length may have moved the flood on
			if len(f.edge) == 0 || h.o.max >= 0 && f.dist >= h.o.max {
				return nil
			}
			if err := f.expand(); err != nil {
				return err
			}
		}
		if err := h.found(f, f.met[i]); err != nil {
			return err
		}
	}
}

// found goes on with the paths to a node that the flood has come to, if it can be the end.
func (h *hunt) found(f *flood, r *reach) error {
	ok, err := h.o.end.accepts(h.m, r.el)
	if err != nil || !ok {
		return err
	}
	if h.single() && r.dist > 0 {
		return h.spread(r, nil)
	}
	return h.byLength(f, r.el)
}

// fromBothEnds finds shortest paths to one end node: the smaller edge of two floods moves until they meet. Both move by
// whole layers, so each shortest path leads through exactly one of the nodes where they meet first.
func (h *hunt) fromBothEnds(end *element) error {
	if inside, err := h.x.isNode(nil, end); err != nil || !inside {
		return err
	}
	there, back := &flood{h: h, hop: h.o.hop, all: h.all()}, &flood{h: h, hop: h.o.back, all: h.all()}
	there.begin(h.start)
	back.begin(end)
	for {
		if h.o.max >= 0 && there.dist+back.dist >= h.o.max || len(there.edge) == 0 || len(back.edge) == 0 {
			return nil
		}
		f, other := there, back
		if len(back.edge) < len(there.edge) {
			f, other = back, there
		}
		if err := f.expand(); err != nil {
			return err
		}
		met := false
		for _, r := range f.edge {
			o := other.find(r.el)
			if o == nil {
				continue
			}
			met = true
			if f == back {
				r, o = o, r
			}
			if err := h.spread(r, o); err != nil {
				return err
			}
			if !h.all() {
				return nil
			}
		}
		if met {
			return nil
		}
	}
}

// spread goes on with the paths from the start to r, and from there over the flood that came from the end; nil: r is
// the end.
func (h *hunt) spread(r, back *reach) error {
	n := r.dist
	if back != nil {
		n += back.dist
	}
	if n >= mostDepth {
		return errs.Internal("GQL MATCH found a path of more than %d edges", mostDepth)
	}
	hops := make([]hop, n)
	var behind, before func(at *reach) error
	behind = func(at *reach) error {
		if at == nil || at.dist == 0 {
			return h.emit(hops)
		}
		return h.each(at, func(a arrival) error {
			hops[n-at.dist] = hop{edge: a.edge, hash: a.hash, node: a.from.el}
			return behind(a.from)
		})
	}
	before = func(at *reach) error {
		if at.dist == 0 {
			return behind(back)
		}
		return h.each(at, func(a arrival) error {
			hops[at.dist-1] = hop{edge: a.edge, hash: a.hash, node: at.el}
			return before(a.from)
		})
	}
	return before(r)
}

// each calls f with the ways to a node: with one of them, or with all.
func (h *hunt) each(r *reach, f func(arrival) error) error {
	for _, a := range r.from {
		if err := h.x.r.Tick(h.x.ctx); err != nil {
			return err
		}
		if err := f(a); err != nil || !h.all() {
			return err
		}
	}
	return nil
}

// emit goes on with one path, given from the start on.
func (h *hunt) emit(hops []hop) error {
	m, x, o := h.m, h.x, h.o
	if h.paths++; h.paths > x.r.Ex.Limits.GraphPaths {
		return x.tooManyPaths()
	}
	if m.used != nil {
		if !m.used.takes(hops) {
			return nil
		}
		defer m.used.pop(len(hops))
	}
	side := &m.trail.right
	if o.left {
		side = &m.trail.left
	}
	was := len(*side)
	*side = append(*side, hops...)
	if g := o.hop.e.group; g != nil {
		list := make([]slot, len(hops))
		for i := range hops {
			var err error
			if list[i], err = x.edgeSlot(&hops[i]); err != nil {
				return err
			}
		}
		if o.left {
			slices.Reverse(list)
		}
		x.row[g.slot] = slot{kind: isList, list: list}
	}
	end := h.start
	if len(hops) > 0 {
		end = hops[len(hops)-1].node
	}
	m.cur = end
	if o.end.bind {
		x.row[o.end.n.v.slot] = nodeSlot(end)
	}
	err := o.next.run(m)
	*side = (*side)[:was]
	m.cur = h.start
	return err
}

// may reports whether the search may go over an edge.
func (h *hunt) may(op *edgeOp, e *hop) (bool, error) {
	if err := h.x.r.Tick(h.x.ctx); err != nil {
		return false, err
	}
	if len(op.conds) == 0 {
		return true, nil
	}
	var err error
	if h.x.row[h.edge], err = h.x.edgeSlot(e); err != nil {
		return false, err
	}
	return h.x.meets(op.conds)
}
