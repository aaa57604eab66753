package graph

import (
	"slices"
	"sort"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/gql"
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
	edges []hop
}

// choose finds all paths of the pattern, and goes on with those that the prefix keeps for each pair of end nodes.
func (o *patternOp) choose(m *match, used *edgeSet) error {
	x := m.x
	defer x.r.Mem.Rewind(x.r.Mem.Mark())
	var order [][2]idKey
	pairs := map[[2]idKey][]found{}
	n := 0
	m.used = &edgeSet{} // the pattern is matched for itself: its paths are trails
	took := m.took
	m.took = func(m *match) error {
		if n++; n > x.r.Ex.Limits.GraphPaths {
			return x.tooManyPaths()
		}
		left, right := m.trail.ends()
		pair := [2]idKey{keyOf(left.id), keyOf(right.id)}
		f := found{row: slices.Clone(x.row[o.p.low:o.p.high]), edges: m.trail.edges()}
		if pairs[pair] == nil {
			order = append(order, pair)
		}
		pairs[pair] = append(pairs[pair], f)
		return x.r.Mem.Charge(128 + len(f.row)*slotSize + len(f.edges)*24)
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
		sort.SliceStable(all, func(i, j int) bool { return len(all[i].edges) < len(all[j].edges) })
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
		if i == 0 || len(all[i].edges) != len(all[i-1].edges) {
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
		if !m.used.takes(f.edges) {
			return nil
		}
		defer m.used.pop(len(f.edges))
	}
	copy(m.x.row[o.p.low:o.p.high], f.row)
	return o.next.run(m)
}
