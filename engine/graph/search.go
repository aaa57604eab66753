package graph

import (
	"slices"
	"sort"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/gql"
	"github.com/nacredb/nacre/engine/plan"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// searches reports whether a pattern chooses among its paths.
func searches(p *pathPattern) bool { return p.prefix.Search > gql.SearchAll }

// patternOp begins a path pattern: it has a path and, where edges may be repeated or paths are searched for, a set of
// used edges of its own.
type patternOp struct {
	link
	p      *pathPattern
	body   op
	repeat bool
	search bool // body finds all paths, and some of them are chosen
}

func (o *patternOp) text() string {
	if o.search {
		return "Choose " + o.p.text
	}
	return "Pattern " + o.p.text
}

func (o *patternOp) run(m *match) error {
	trail, used, cur := m.trail, m.used, m.cur
	defer func() { m.trail, m.used, m.cur = trail, used, cur }()
	m.trail = newTrail(o.p.prefix.Mode)
	m.cur = nil
	if o.repeat && o.p.prefix.Mode >= gql.PathTrail {
		m.used = map[idKey]struct{}{}
	}
	if !o.search {
		return o.body.run(m)
	}
	return o.choose(m, used)
}

func newTrail(mode gql.PathMode) *trail {
	t := &trail{mode: mode}
	if mode >= gql.PathSimple {
		t.nodes = map[idKey]int{}
	}
	return t
}

// patternEndOp ends a path pattern: it binds the variable of the path and goes on.
type patternEndOp struct {
	link
	pattern *patternOp
}

func (*patternEndOp) text() string { return "" }

func (o *patternEndOp) run(m *match) error {
	p := o.pattern
	if v := p.p.v; v != nil {
		m.x.row[v.slot] = slot{kind: isPath, list: m.trail.whole()}
	}
	if m.took != nil {
		return m.took(m)
	}
	trail := m.trail
	err := p.next.run(m)
	m.trail = trail
	return err
}

// found is a path that a search may choose.
type found struct {
	row   []slot
	edges []idKey
	len   int
}

// choose finds all paths of the pattern, and goes on with those that the prefix keeps for each pair of end nodes.
func (o *patternOp) choose(m *match, used map[idKey]struct{}) error {
	x := m.x
	defer x.r.Mem.Rewind(x.r.Mem.Mark())
	var order [][2]idKey
	pairs := map[[2]idKey][]found{}
	n := 0
	m.used = map[idKey]struct{}{} // the pattern is matched for itself: its paths are trails
	took := m.took
	m.took = func(m *match) error {
		if n++; n > x.r.Ex.Limits.GraphPaths {
			return x.tooManyPaths()
		}
		whole := m.trail.whole()
		pair := [2]idKey{keyOf(whole[0].id), keyOf(whole[len(whole)-1].id)}
		f := found{row: slices.Clone(x.row[o.p.low:o.p.high]), len: len(whole) / 2}
		for i := 1; i < len(whole); i += 2 {
			f.edges = append(f.edges, keyOf(whole[i].id))
		}
		if pairs[pair] == nil {
			order = append(order, pair)
		}
		pairs[pair] = append(pairs[pair], f)
		return x.r.Mem.Charge(128 + len(f.row)*slotSize + len(f.edges)*48)
	}
	err := o.body.run(m)
	m.took, m.used = took, used
	if err != nil {
		return err
	}
	k, err := x.pathCount(o.p)
	if err != nil {
		return err
	}
	for _, pair := range order {
		for _, f := range chosen(pairs[pair], o.p.prefix.Search, k) {
			if err := o.goOn(m, &f); err != nil {
				return err
			}
		}
	}
	return nil
}

// pathCount is the number of a search prefix.
func (x *runner) pathCount(p *pathPattern) (int, error) {
	if p.count == nil {
		return 1, nil
	}
	n, err := x.count(p.count, "A search prefix")
	if err == nil && n == 0 {
		err = errs.Internal("The path count of a search prefix must be a positive integer")
	}
	return n, err
}

// chosen are the paths of one pair of end nodes that a prefix keeps.
func chosen(all []found, s gql.Search, k int) []found {
	if s != gql.SearchAny {
		sort.SliceStable(all, func(i, j int) bool { return all[i].len < all[j].len })
	}
	switch s {
	case gql.SearchAllShortest:
		k = 1
	case gql.SearchGroups:
	default:
		return all[:min(k, len(all))]
	}
	groups := 0
	for i := range all {
		if i == 0 || all[i].len != all[i-1].len {
			if groups++; groups > k {
				return all[:i]
			}
		}
	}
	return all
}

// goOn continues with a path that was chosen, if none of its edges is used elsewhere.
func (o *patternOp) goOn(m *match, f *found) error {
	if m.used != nil {
		for _, e := range f.edges {
			if _, again := m.used[e]; again {
				return nil
			}
		}
		for _, e := range f.edges {
			m.used[e] = struct{}{}
		}
		defer func() {
			for _, e := range f.edges {
				delete(m.used, e)
			}
		}()
	}
	copy(m.x.row[o.p.low:o.p.high], f.row)
	return o.next.run(m)
}

// shortOp finds shortest paths over one quantified edge by layers, from the node that the pattern has come to.
type shortOp struct {
	link
	p    *pathPattern
	hop  *edgeOp
	end  *nodeOp
	min  int
	max  int
	all  bool // all of the least length, else one
	left bool
}

func (o *shortOp) text() string { return "Search " + o.hop.e.text }

// short decides whether a search prefix can be answered by layers: one quantified edge between two nodes, and no more
// than the least length is wanted.
func (pl *planner) short(p *pathPattern, at int) *shortOp {
	if !searches(p) || len(p.factors) != 3 || p.prefix.Mode == gql.PathSimple ||
		pl.x.r.Ex.PlanOff.Has(plan.GraphSearch) {
		return nil
	}
	e, ok := p.factors[1].(*edgeFactor)
	if !ok || e.quant == nil || e.quant.Min > 1 || e.dir == gql.Either {
		return nil
	}
	if pl.s.keep && len(pl.s.conds) > 0 {
		return nil
	}
	o := &shortOp{p: p, min: e.quant.Min, max: e.quant.Max, left: at != 0}
	switch p.prefix.Search {
	case gql.SearchAllShortest:
		o.all = true
	case gql.SearchShortest, gql.SearchAny, gql.SearchGroups:
		if lit, ok := p.prefix.Count.(*gql.Literal); p.prefix.Count != nil && (!ok || lit.Value.Int() != 1) {
			return nil
		}
		o.all = p.prefix.Search == gql.SearchGroups
	}
	return o
}

// shortest adds the operators of a search by layers.
func (pl *planner) shortest(p *pathPattern, at int, o *shortOp) error {
	start, end := p.factors[0].(*nodeFactor), p.factors[2].(*nodeFactor)
	if o.left {
		start, end = end, start
	}
	pl.node(start, true)
	pl.left = o.left
	e := p.factors[1].(*edgeFactor)
	o.hop = pl.edge(e, e.conds)
	pl.add(o)
	if e.group != nil {
		pl.bound[e.group.slot] = true
	}
	o.end = pl.node(end, false)
	pl.left = false
	pl.tail = &o.next // the search itself looks at the end nodes
	return nil
}

// reach is a node that a search has come to.
type reach struct {
	id   *value.RecordID
	dist int
	from []arrival
}

// arrival is one way to come to a node: the last edge, and the node before it.
type arrival struct {
	hop  record.Hop
	from *reach
}

func (o *shortOp) run(m *match) error {
	x := m.x
	defer x.r.Mem.Rewind(x.r.Mem.Mark())
	start := m.cur
	defer func() { m.cur = start }()
	origin := &reach{id: start}
	if o.min == 0 {
		if stop, err := o.offer(m, origin); err != nil || stop {
			return err
		}
	}
	seen := map[idKey]*reach{}
	if o.min == 0 || o.p.prefix.Mode == gql.PathAcyclic {
		seen[keyOf(start)] = origin
	}
	layer := []*reach{origin}
	for dist := 1; len(layer) > 0 && (o.max < 0 || dist <= o.max); dist++ {
		next, err := o.expand(m, layer, seen, dist)
		if err != nil {
			return err
		}
		for _, r := range next {
			if stop, err := o.offer(m, r); err != nil || stop {
				return err
			}
			m.cur = start
		}
		layer = next
	}
	return nil
}

// expand finds the nodes one edge further on.
func (o *shortOp) expand(m *match, layer []*reach, seen map[idKey]*reach, dist int) ([]*reach, error) {
	x := m.x
	var next []*reach
	for _, r := range layer {
		if dist > 1 && sameID(r.id, m.cur) {
			continue // back at the start: what lies behind is nearer without the detour
		}
		hops, err := x.hopsOf(o.hop, r.id)
		if err != nil {
			return nil, err
		}
		for i := range hops {
			if err := x.r.Tick(x.ctx); err != nil {
				return nil, err
			}
			h := &hops[i]
			k := keyOf(h.Other)
			known := seen[k]
			if known != nil && (!o.all || known.dist != dist || len(known.from) == 0) {
				continue
			}
			x.row[o.hop.e.v.slot] = edgeSlot(h.Edge)
			if ok, err := x.meets(o.hop.conds); err != nil {
				return nil, err
			} else if !ok {
				continue
			}
			if known != nil {
				known.from = append(known.from, arrival{*h, r})
				continue
			}
			if ok, err := x.isNode(nil, h.Other); err != nil {
				return nil, err
			} else if !ok {
				continue
			}
			known = &reach{id: h.Other, dist: dist, from: []arrival{{*h, r}}}
			seen[k] = known
			next = append(next, known)
			if len(seen) > x.r.Ex.Limits.GraphPaths {
				return nil, x.tooManyPaths()
			}
			if err := x.r.Mem.Charge(256); err != nil {
				return nil, err
			}
		}
	}
	return next, nil
}

// offer goes on with the paths to a node if it is an end of the pattern; stop: no other node can be one.
func (o *shortOp) offer(m *match, r *reach) (stop bool, err error) {
	x := m.x
	ok, err := o.end.accepts(m, r.id)
	if err != nil || !ok {
		return false, err
	}
	stop = !o.end.bind
	if r.dist >= mostDepth {
		return stop, errs.Internal("GQL MATCH found a path of more than %d edges", mostDepth)
	}
	paths := 0
	hops := make([]record.Hop, r.dist)
	var walk func(at *reach) error
	walk = func(at *reach) error {
		if at.dist == 0 {
			if paths++; paths > x.r.Ex.Limits.GraphPaths {
				return x.tooManyPaths()
			}
			return o.emit(m, r, hops)
		}
		for i := range at.from {
			hops[at.dist-1] = at.from[i].hop
			if err := walk(at.from[i].from); err != nil {
				return err
			}
			if !o.all {
				break
			}
		}
		return x.r.Tick(x.ctx)
	}
	return stop, walk(r)
}

// emit goes on with one path.
func (o *shortOp) emit(m *match, r *reach, hops []record.Hop) error {
	x := m.x
	if m.used != nil {
		for i := range hops {
			if _, again := m.used[keyOf(hops[i].Edge)]; again {
				return nil
			}
		}
		for i := range hops {
			m.used[keyOf(hops[i].Edge)] = struct{}{}
		}
		defer func() {
			for i := range hops {
				delete(m.used, keyOf(hops[i].Edge))
			}
		}()
	}
	t := m.trail
	side := &t.right
	if o.left {
		side = &t.left
	}
	was := len(*side)
	for i := range hops {
		*side = append(*side, edgeSlot(hops[i].Edge), nodeSlot(hops[i].Other))
	}
	defer func() { *side = (*side)[:was] }()
	if g := o.hop.e.group; g != nil {
		list := make([]slot, len(hops))
		for i := range hops {
			list[i] = edgeSlot(hops[i].Edge)
		}
		if o.left {
			slices.Reverse(list)
		}
		x.row[g.slot] = slot{kind: isList, list: list}
	}
	m.cur = r.id
	if o.end.bind {
		x.row[o.end.n.v.slot] = nodeSlot(r.id)
	}
	return o.next.run(m)
}
