package graph

import (
	"math"
	"slices"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/gql"
	"github.com/nacredb/nacre/engine/plan"
)

// planner makes the operators of one MATCH.
type planner struct {
	x     *runner
	s     *matchStep
	bound map[int]bool // variables of the MATCH that are bound so far
	rest  []*cond      // conditions of the MATCH that are not tried yet
	tail  *op          // where the next operator goes
	left  bool         // the part at work is found leftwards
	inner []*cond      // conditions of the pattern at work
	free  bool         // conditions of the MATCH may be tried where the plan has come to
	last  *edgeOp      // the operator added last, if it goes over an edge
	asked bool         // the plan depends on what is stored
	ends  []int        // of a path search: the variables of its end nodes, which conditions may be about
}

// keptPlan is a plan for all runs of a program: it depends on the text and on the rules that are off, on nothing else.
type keptPlan struct {
	first op
	off   plan.Rules
}

// plan makes the operators of a MATCH, once for a program at work, or once for all where it may.
func (x *runner) plan(s *matchStep) (op, error) {
	off := x.r.Ex.PlanOff
	if k := s.kept.Load(); k != nil && k.off == off {
		return k.first, nil
	}
	if o, ok := x.plans[s]; ok {
		return o, nil
	}
	o, asked, err := x.newPlan(s)
	if err != nil {
		return nil, err
	}
	if !asked {
		s.kept.Store(&keptPlan{o, off})
		return o, nil
	}
	if x.plans == nil {
		x.plans = map[*matchStep]op{}
	}
	x.plans[s] = o
	return o, nil
}

// newPlan makes the operators of a MATCH. asked: they depend on what is stored by now.
func (x *runner) newPlan(s *matchStep) (first op, asked bool, err error) {
	pl := &planner{x: x, s: s, bound: map[int]bool{}, rest: slices.Clone(s.conds)}
	pl.tail = &first
	left := slices.Clone(s.patterns)
	for len(left) > 0 {
		best, at, err := pl.next(left)
		if err != nil {
			return nil, false, err
		}
		if err := pl.pattern(left[best], at); err != nil {
			return nil, false, err
		}
		left = slices.Delete(left, best, best+1)
	}
	if len(pl.rest) > 0 {
		pl.add(&testOp{conds: pl.rest})
	}
	pl.add(&doneOp{})
	return first, pl.asked, nil
}

// next chooses the pattern to go on with, and the node where it begins.
func (pl *planner) next(left []*pathPattern) (best, at int, err error) {
	if pl.x.r.Ex.PlanOff.Has(plan.GraphStart) {
		at, _, err = pl.start(left[0])
		return 0, at, err
	}
	cost := math.Inf(1)
	for i, p := range left {
		if n, c := pl.sureStart(p); n >= 0 && c < cost {
			best, at, cost = i, n, c
		}
	}
	if cost <= oneRecord {
		return best, at, nil
	}
	for i, p := range left {
		n, c, err := pl.start(p)
		if err != nil {
			return 0, 0, err
		}
		if c < cost {
			best, at, cost = i, n, c
		}
	}
	return best, at, nil
}

func (pl *planner) add(o op) {
	pl.last = nil
	*pl.tail = o
	pl.tail = o.after()
}

// binds reports whether all variables in needs are bound.
func (pl *planner) binds(needs []int) bool {
	for _, at := range needs {
		if !pl.bound[at] {
			return false
		}
	}
	return true
}

// ripe takes the conditions that can be tried by now.
func (pl *planner) ripe() []*cond {
	var out []*cond
	take := func(from *[]*cond, may func(*cond) bool) {
		kept := (*from)[:0:0]
		for _, c := range *from {
			if pl.binds(c.needs) && may(c) {
				out = append(out, c)
			} else {
				kept = append(kept, c)
			}
		}
		*from = kept
	}
	take(&pl.inner, func(*cond) bool { return true })
	if pl.free && !pl.x.r.Ex.PlanOff.Has(plan.GraphPush) {
		take(&pl.rest, func(c *cond) bool { return pl.mayPush(c) })
	}
	return out
}

// mayPush reports whether a condition of the MATCH may be tried inside of the pattern at work: before a path search
// chooses only what is about the ends of its paths.
func (pl *planner) mayPush(c *cond) bool {
	if pl.ends == nil {
		return true
	}
	for _, at := range c.needs {
		if !slices.Contains(pl.ends, at) {
			return false
		}
	}
	return true
}

// mayStart is the node at a place of a pattern, where it may begin there; else nil. Searches begin at an end.
func mayStart(p *pathPattern, i int) *nodeFactor {
	n, ok := p.factors[i].(*nodeFactor)
	ends := searches(p) || p.prefix.Mode >= gql.PathSimple
	if !ok || ends && i != 0 && i != len(p.factors)-1 {
		return nil
	}
	return n
}

// sureStart is where a pattern begins if that is clear without a look at what is stored: at a record that is known, or
// named by its id. -1: it is not.
func (pl *planner) sureStart(p *pathPattern) (int, float64) {
	named := -1
	for i := range p.factors {
		n := mayStart(p, i)
		switch {
		case n == nil || !pl.reachable(p, i):
		case pl.known(n):
			return i, 0
		case named < 0 && pl.named(p, n):
			named = i
		}
	}
	return named, oneRecord
}

// start chooses the node where a pattern begins, and what that is likely to cost.
func (pl *planner) start(p *pathPattern) (int, float64, error) {
	best, cost := -1, math.Inf(1)
	off := pl.x.r.Ex.PlanOff.Has(plan.GraphStart)
	for i := range p.factors {
		n := mayStart(p, i)
		if n == nil {
			continue
		}
		c, err := pl.cost(p, n)
		if err != nil {
			return 0, 0, err
		}
		if c < cost && pl.reachable(p, i) {
			best, cost = i, c
		}
		if best >= 0 && (off || cost <= oneRecord) {
			break
		}
	}
	if best < 0 {
		return 0, 0,
			errs.Internal("A condition inside of a quantified pattern of GQL may only be about what is bound before it")
	}
	return best, cost, nil
}

// reachable reports whether the conditions inside of quantified parts have what they need when the pattern begins at i.
func (pl *planner) reachable(p *pathPattern, i int) bool {
	for at, f := range p.factors {
		e, ok := f.(*edgeFactor)
		if !ok || e.quant == nil {
			continue
		}
		for _, c := range e.conds {
			for _, need := range c.needs {
				if need != e.v.slot && !pl.bound[need] && !boundBetween(p, need, i, at) {
					return false
				}
			}
		}
	}
	return true
}

// boundBetween reports whether a variable is bound by the factors from i on to at, which is where it is wanted.
func boundBetween(p *pathPattern, slot, i, at int) bool {
	low, high := i, at
	if at < i { // all that is to the right comes before
		low, high = at+1, len(p.factors)
	}
	for _, f := range p.factors[low:high] {
		found := false
		f.each(func(v *variable) { found = found || v.slot == slot })
		if found {
			return true
		}
	}
	return false
}

// oneRecord is the cost of a start at a record that is known by its id.
const oneRecord = 2

// known reports whether the record of a node is known before the pattern.
func (pl *planner) known(n *nodeFactor) bool { return !n.fresh || pl.bound[n.v.slot] }

// named reports whether a node is at most one record: of one table, with an id that is known.
func (pl *planner) named(p *pathPattern, n *nodeFactor) bool {
	_, one := n.label.(*gql.LabelName)
	return one && slices.ContainsFunc(pl.probes(p, n), (*probe).byID)
}

// cost is about how many records a start at a node reads.
func (pl *planner) cost(p *pathPattern, n *nodeFactor) (float64, error) {
	if pl.known(n) {
		return 0, nil
	}
	if pl.named(p, n) {
		return oneRecord, nil
	}
	pl.asked = true
	probes := pl.probes(p, n)
	names, err := pl.x.nodeTables(n.label)
	if err != nil {
		return 0, err
	}
	total := 1.0
	for _, name := range names {
		tb, err := pl.x.r.Table(name)
		if err != nil {
			return 0, err
		}
		if tb == nil {
			continue
		}
		rows, err := pl.x.g.RowGuess(tb)
		if err != nil {
			return 0, err
		}
		c := float64(rows)
		for _, pr := range probes {
			switch {
			case pr.prop == "id" && pr.op == gql.Equal:
				c = min(c, 1)
			case !indexed(tb, pr.prop):
				c *= 0.9
			case pr.op == gql.Equal:
				c = min(c, 2+float64(rows)/1000)
			default:
				c = min(c, 2+float64(rows)/3)
			}
		}
		total += c
	}
	return total, nil
}

// probes are the conditions on a node that an index may answer.
func (pl *planner) probes(p *pathPattern, n *nodeFactor) []*probe {
	if pl.x.r.Ex.PlanOff.Has(plan.GraphPush) {
		return nil
	}
	var out []*probe
	take := func(cs []*cond) {
		for _, c := range cs {
			if c.probe != nil && c.probe.slot == n.v.slot && pl.binds(c.probe.needs) {
				out = append(out, c.probe)
			}
		}
	}
	take(p.conds)
	for _, c := range pl.rest {
		if pl.ends == nil || pl.mayPush(c) {
			take([]*cond{c})
		}
	}
	return out
}

// pattern adds the operators of one pattern that begins at a node.
func (pl *planner) pattern(p *pathPattern, at int) error {
	pl.inner, pl.free = slices.Clone(p.conds), true
	pl.ends = nil
	search := searches(p)
	if search && !pl.s.keep {
		pl.ends = endsOf(p)
	}
	body := &patternOp{p: p, repeat: pl.s.repeat, search: search, pair: search && pl.onePair(p),
		trail: search || p.v != nil || p.prefix.Mode >= gql.PathSimple || keepsTrail(p.factors)}
	pl.add(body)
	after := body.after()
	pl.tail = &body.body
	if o := pl.search(p, at); o != nil {
		if err := pl.searching(p, o); err != nil {
			return err
		}
		body.search = false
	} else if err := pl.chain(p.factors, at); err != nil {
		return err
	}
	if len(pl.inner) > 0 { // what waits for variables of patterns to come
		pl.rest = append(pl.rest, pl.inner...)
		pl.inner = nil
	}
	end := &patternEndOp{pattern: body}
	pl.add(end)
	pl.tail, pl.ends = after, nil
	if search {
		if ready := pl.ripe(); len(ready) > 0 {
			pl.add(&testOp{conds: ready})
		}
	}
	return nil
}

// keepsTrail reports whether operators of factors look at the path so far.
func keepsTrail(fs []factor) bool {
	for _, f := range fs {
		p, ok := f.(*paren)
		if !ok {
			continue
		}
		if p.sub != nil || p.mode >= gql.PathTrail || len(p.term.branches) > 1 {
			return true
		}
		if keepsTrail(p.term.branches[0].factors) {
			return true
		}
	}
	return false
}

// onePair reports whether both end nodes of a pattern are known before it, by their variables or by their ids.
func (pl *planner) onePair(p *pathPattern) bool {
	for _, i := range [...]int{0, len(p.factors) - 1} {
		n, ok := p.factors[i].(*nodeFactor)
		if !ok || !pl.known(n) && !slices.ContainsFunc(pl.probes(p, n), (*probe).byID) {
			return false
		}
	}
	return true
}

// byID reports whether a probe leaves one record.
func (pr *probe) byID() bool { return pr.prop == "id" && pr.op == gql.Equal }

// endsOf are the variables of the first and the last node.
func endsOf(p *pathPattern) []int {
	out := []int{}
	for _, i := range [...]int{0, len(p.factors) - 1} {
		if n, ok := p.factors[i].(*nodeFactor); ok {
			out = append(out, n.v.slot)
		}
	}
	return out
}

// chain adds the operators of factors from a node on to the right, and then to the left.
func (pl *planner) chain(fs []factor, at int) error {
	n := fs[at].(*nodeFactor)
	pl.node(n, true)
	if err := pl.rightwards(fs[at+1:]); err != nil {
		return err
	}
	if at == 0 {
		return nil
	}
	if at < len(fs)-1 {
		pl.add(&backOp{slot: n.v.slot})
	}
	return pl.leftwards(fs[:at])
}

func (pl *planner) rightwards(fs []factor) error {
	for _, f := range fs {
		if err := pl.factor(f); err != nil {
			return err
		}
	}
	return nil
}

func (pl *planner) leftwards(fs []factor) error {
	was := pl.left
	pl.left = true
	defer func() { pl.left = was }()
	for i := len(fs) - 1; i >= 0; i-- {
		if err := pl.factor(fs[i]); err != nil {
			return err
		}
	}
	return nil
}

// node adds a node; scan: the pattern begins there.
func (pl *planner) node(n *nodeFactor, scan bool) *nodeOp {
	o := &nodeOp{n: n, scan: scan, bind: n.fresh && !pl.bound[n.v.slot], left: pl.left}
	if scan && o.bind {
		o.probes = pl.probes(&pathPattern{conds: pl.inner}, n)
	}
	if pl.last != nil && !o.bind {
		pl.last.to = n.v.slot
	}
	pl.bound[n.v.slot] = true
	o.conds = pl.ripe()
	pl.add(o)
	return o
}

func (pl *planner) edge(e *edgeFactor, conds []*cond) *edgeOp {
	o := &edgeOp{e: e, dir: e.dir, only: edgeTables(e.label), conds: conds, to: -1, left: pl.left,
		bind: len(conds) > 0 || e.v.wanted}
	if pl.left {
		o.dir = turned(e.dir)
	}
	o.walk = walkOf(o)
	return o
}

// walkOf numbers the ways of going over edges: operators with the same number find the same edges.
func walkOf(o *edgeOp) int { return o.e.number*4 + int(o.dir) }

// number is the same for edges with the same label.
func (b *binder) number(l gql.Label) int {
	text := gql.LabelText(l)
	at := slices.Index(b.labels, text)
	if at < 0 {
		at = len(b.labels)
		b.labels = append(b.labels, text)
	}
	return at
}

func (pl *planner) factor(f factor) error {
	switch f := f.(type) {
	case *nodeFactor:
		pl.node(f, false)
	case *edgeFactor:
		if f.quant != nil {
			return pl.repeatEdge(f)
		}
		pl.bound[f.v.slot] = true
		o := pl.edge(f, pl.ripe())
		pl.add(o)
		pl.last = o
	case *paren:
		return pl.paren(f)
	}
	return nil
}

// repeatEdge adds a quantified edge: each edge, and the node behind it.
func (pl *planner) repeatEdge(e *edgeFactor) error {
	o := &loopOp{min: e.quant.Min, max: e.quant.Max, left: pl.left, what: e.text}
	if e.group != nil {
		o.pairs = []pair{{e.v, e.group}}
	}
	pl.add(o)
	after := pl.tail
	pl.tail = &o.body
	pl.add(pl.edge(e, e.conds))
	pl.add(&nodeOp{n: &nodeFactor{v: e.mid, text: "()"}, bind: true, left: pl.left})
	pl.add(&turnOp{})
	pl.tail = after
	if e.group != nil {
		pl.bound[e.group.slot] = true
	}
	return nil
}

// paren adds a pattern in parentheses.
func (pl *planner) paren(p *paren) error {
	var loop *loopOp
	after := pl.tail
	outer, free := pl.inner, pl.free
	if p.quant != nil {
		loop = &loopOp{min: p.quant.Min, max: p.quant.Max, left: pl.left, what: p.text, pairs: p.pairs, low: p.low,
			high: p.high}
		if p.quant.Optional {
			loop.low, loop.high = 0, 0
			p.each(func(v *variable) { loop.optional = append(loop.optional, v.slot) })
		}
		pl.add(loop)
		after = pl.tail
		pl.tail = &loop.body
		pl.inner, pl.free = nil, false
	}
	pl.inner = append(slices.Clone(p.conds), pl.inner...)
	var part *partOp
	if p.mode >= gql.PathTrail {
		part = &partOp{mode: p.mode, left: pl.left}
		pl.add(part)
	}
	if p.sub != nil {
		pl.add(&subOp{})
	}
	if err := pl.term(p.term, p.text); err != nil {
		return err
	}
	if p.sub != nil {
		pl.add(&subEndOp{v: p.sub, left: pl.left})
		pl.bound[p.sub.slot] = true
	}
	if part != nil {
		pl.add(&partEndOp{})
	}
	if ready := pl.ripe(); len(ready) > 0 {
		pl.add(&testOp{conds: ready})
	}
	if loop == nil {
		return nil
	}
	if len(pl.inner) > 0 {
		return errs.Internal("A condition inside of a quantified pattern of GQL may only be about what is bound " +
			"before it")
	}
	pl.add(&turnOp{})
	pl.tail, pl.inner, pl.free = after, outer, free
	for _, pr := range p.pairs {
		pl.bound[pr.outer.slot] = true
	}
	return nil
}

// term adds the branches of a pattern.
func (pl *planner) term(t *term, text string) error {
	walk := func(c *concat) error {
		if pl.left {
			return pl.leftwards(c.factors)
		}
		return pl.rightwards(c.factors)
	}
	if len(t.branches) == 1 {
		return walk(t.branches[0])
	}
	o := &altOp{dedup: !t.multi, what: text, branches: make([]op, len(t.branches)), absent: make([][]int,
		len(t.branches))}
	inner, bound := pl.inner, pl.bound
	all := map[int]bool{}
	t.each(func(v *variable) {
		if !bound[v.slot] {
			all[v.slot] = true
		}
	})
	pl.add(o)
	after := pl.tail
	var rest []*cond
	free := pl.free
	for i, c := range t.branches {
		pl.inner, pl.free = nil, false
		pl.bound = cloneSet(bound)
		mine := map[int]bool{}
		for _, f := range c.factors {
			f.each(func(v *variable) { mine[v.slot] = true })
		}
		for at := range all {
			if !mine[at] {
				o.absent[i] = append(o.absent[i], at)
			}
		}
		pl.tail = &o.branches[i]
		if err := walk(c); err != nil {
			return err
		}
		rest = append(rest, pl.inner...)
		pl.add(&altEndOp{alt: o})
	}
	pl.inner, pl.bound, pl.tail, pl.free = append(inner, rest...), bound, after, free
	for at := range all {
		pl.bound[at] = true
		if at >= 0 {
			o.vars = append(o.vars, at)
		}
	}
	slices.Sort(o.vars)
	return nil
}

func cloneSet(s map[int]bool) map[int]bool {
	out := make(map[int]bool, len(s))
	for k, v := range s {
		out[k] = v
	}
	return out
}

// backOp goes back to the node where the pattern began.
type backOp struct {
	link
	slot int
}

func (*backOp) text() string { return "" }

func (o *backOp) run(m *match) error {
	was := m.cur
	m.cur = m.x.row[o.slot].el
	err := o.next.run(m)
	m.cur = was
	return err
}
