package graph

import (
	"errors"
	"slices"
	"sort"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/gql"
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
	trail  bool // operators look at the path so far
	search bool // body finds all paths, and some of them are chosen
	pair   bool // of a search: both ends are known by then, so all paths are of one pair of end nodes
}

func (o *patternOp) text() string {
	if o.search {
		return "Choose " + o.p.text
	}
	return "Pattern " + o.p.text
}

func (o *patternOp) run(m *match) error {
	trail, used, cur, most := m.trail, m.used, m.cur, m.most
	defer func() { m.trail, m.used, m.cur, m.most = trail, used, cur, most }()
	m.trail = nil
	if o.trail {
		m.trail = newTrail(o.p.prefix.Mode)
	}
	m.cur, m.most = nil, -1
	if o.repeat && o.p.prefix.Mode >= gql.PathTrail {
		m.used = &edgeSet{}
	}
	if !o.search {
		return o.body.run(m)
	}
	return o.choose(m, used)
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
		path, err := m.trail.whole(m.x)
		if err != nil {
			return err
		}
		m.x.row[v.slot] = slot{kind: isPath, list: path}
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
	edges []hop
	n     int // of edges
}

func (f *found) weight() int { return 64 + len(f.row)*slotSize + len(f.edges)*24 }

// choice is a search at work that tries the paths of its pattern one by one. Those of ANY go on as they are found.
// Others are looked for by length, in rounds: each finds the paths up to a length, and those of them that are longer
// than the paths of the round before go on, as far as the prefix keeps them. It holds only those of one round.
type choice struct {
	o     *patternOp
	used  *edgeSet // of what is around the pattern
	kind  gql.Search
	k     int
	n     int // paths that were found
	pairs map[[2]value.IDKey]*chosen
	order []*chosen
	low   int // paths of so many edges were found in the rounds before
	held  int // bytes of the paths that are kept
	most  int // as much as that was
}

// chosen are the paths of one pair of end nodes that are kept, the shortest first. Those that went on have no row.
type chosen struct {
	paths []found
	sent  int
	n     int // lengths of paths; of ANY, paths
}

// errChosen ends a search whose only pair of end nodes has all paths that are wanted.
var errChosen = errors.New("all paths are chosen")

// choose looks at all paths of the pattern, and goes on with those that the prefix keeps for each pair of end nodes.
func (o *patternOp) choose(m *match, used *edgeSet) error {
	x := m.x
	k, err := x.pathCount(o.p)
	if err != nil {
		return err
	}
	c := &choice{o: o, used: used, kind: o.p.prefix.Search, k: k, pairs: map[[2]value.IDKey]*chosen{}, low: -1}
	defer func() { x.r.Mem.Release(c.most + len(c.order)*pairWeight) }()
	if c.kind == gql.SearchAny {
		_, err := c.round(m, -1)
		return err
	}
	step, before := 1, 0
	for bound := leastEdges(o.p.factors); ; bound += step {
		m.cut, m.steps = false, 0
		done, err := c.round(m, bound)
		if err != nil {
			return err
		}
		done = done || !m.cut
		steps := m.steps
		if err := c.send(m); err != nil || done {
			return err
		}
		if c.low, step = bound, step*2; steps >= 2*before { // longer paths are many more: take care
			step = 1
		}
		before = steps
	}
}

// round looks at the paths of up to bound edges; -1: of any number. done: no more are wanted.
func (c *choice) round(m *match, bound int) (done bool, err error) {
	took, used := m.took, m.used
	m.used = &edgeSet{} // the pattern is matched for itself: its paths are trails
	m.took = func(m *match) error { return c.take(m, took) }
	m.most = bound
	err = c.o.body.run(m)
	m.took, m.used, m.most = took, used, -1
	if err == errChosen {
		return true, nil
	}
	return c.o.pair && len(c.order) == 1 && c.kind != gql.SearchAny && c.full(c.order[0]), err
}

// send goes on with the paths that were kept since it was called last.
func (c *choice) send(m *match) error {
	m.used = c.used
	for _, p := range c.order {
		for ; p.sent < len(p.paths); p.sent++ {
			f := &p.paths[p.sent]
			if err := c.o.goOn(m, f); err != nil {
				return err
			}
			c.held -= f.weight()
			f.row, f.edges = nil, nil
		}
	}
	return nil
}

// leastEdges is the number of edges of the shortest path that factors may have.
func leastEdges(fs []factor) int {
	n := 0
	for _, f := range fs {
		switch f := f.(type) {
		case *edgeFactor:
			if f.quant == nil {
				n++
			} else {
				n += f.quant.Min
			}
		case *paren:
			least := -1
			for _, br := range f.term.branches {
				if l := leastEdges(br.factors); least < 0 || l < least {
					least = l
				}
			}
			if f.quant != nil {
				least *= f.quant.Min
			}
			n += least
		}
	}
	return n
}

// pairWeight is about how many bytes a pair of end nodes takes.
const pairWeight = 256

// take looks at the path at work. took is who takes what goes on.
func (c *choice) take(m *match, took func(*match) error) error {
	x, n := m.x, m.trail.length()
	if n <= c.low {
		return nil
	}
	if c.n++; c.n > x.r.Ex.Limits.GraphPaths {
		return x.tooManyPaths()
	}
	left, right := m.trail.ends()
	pair := [2]value.IDKey{value.KeyOf(left.recordID()), value.KeyOf(right.recordID())}
	p := c.pairs[pair]
	if p == nil {
		p = &chosen{}
		c.pairs[pair] = p
		c.order = append(c.order, p)
		if err := x.r.Mem.Charge(pairWeight); err != nil {
			return err
		}
	}
	if c.kind == gql.SearchAny {
		return c.any(m, p, took)
	}
	if !c.wants(p, n) {
		return nil
	}
	c.keep(p, found{row: slices.Clone(x.row[c.o.p.low:c.o.p.high]), edges: m.trail.edges(), n: n})
	if c.held > c.most {
		if err := x.r.Mem.Charge(c.held - c.most); err != nil {
			return err
		}
		c.most = c.held
	}
	if c.o.pair && c.full(p) {
		m.most = p.paths[len(p.paths)-1].n
		if !c.groups() {
			m.most--
		}
		if m.most < 0 {
			return errChosen
		}
	}
	return nil
}

// any goes on with the path at work while its pair has too few.
func (c *choice) any(m *match, p *chosen, took func(*match) error) error {
	if p.n >= c.k {
		return nil
	}
	p.n++
	mine, mineUsed := m.took, m.used
	m.took, m.used = took, c.used
	err := c.o.goOn(m, &found{edges: m.trail.edges()})
	m.took, m.used = mine, mineUsed
	if err == nil && c.o.pair && p.n >= c.k {
		return errChosen
	}
	return err
}

// groups reports whether all paths of a length are kept, or none.
func (c *choice) groups() bool { return c.kind == gql.SearchAllShortest || c.kind == gql.SearchGroups }

// full reports whether only a shorter path, or one of groups that is as long as the longest, can still be wanted.
func (c *choice) full(p *chosen) bool {
	if !c.groups() {
		return len(p.paths) >= c.k
	}
	k := c.k
	if c.kind == gql.SearchAllShortest {
		k = 1
	}
	return p.n >= k
}

// wants reports whether a path of that length would be kept.
func (c *choice) wants(p *chosen, length int) bool {
	if !c.full(p) {
		return true
	}
	longest := p.paths[len(p.paths)-1].n
	return length < longest || c.groups() && length == longest
}

// keep puts a path behind those that are no longer, and drops what is not wanted any more.
func (c *choice) keep(p *chosen, f found) {
	full := c.full(p)
	n := f.n
	at := sort.Search(len(p.paths), func(i int) bool { return p.paths[i].n > n })
	fresh := at == 0 || p.paths[at-1].n != n
	p.paths = slices.Insert(p.paths, at, f)
	c.held += f.weight()
	if fresh {
		p.n++ // lengths
	}
	last := len(p.paths) - 1
	switch {
	case !full || c.groups() && !fresh:
		return
	case c.groups():
		longest := p.paths[last].n
		last = sort.Search(len(p.paths), func(i int) bool { return p.paths[i].n >= longest })
		p.n--
	}
	for i := last; i < len(p.paths); i++ {
		c.held -= p.paths[i].weight()
	}
	p.paths = slices.Delete(p.paths, last, len(p.paths))
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

// goOn continues with a path that was chosen, if none of its edges is used elsewhere.
func (o *patternOp) goOn(m *match, f *found) error {
	if m.used != nil {
		if !m.used.takes(f.edges) {
			return nil
		}
		defer m.used.pop(len(f.edges))
	}
	if f.row != nil { // else it is there
		copy(m.x.row[o.p.low:o.p.high], f.row)
	}
	trail, most := m.trail, m.most
	m.most = -1
	err := o.next.run(m)
	m.trail, m.most = trail, most
	return err
}
