package graph

import (
	"slices"
	"sync/atomic"

	"github.com/nacredb/nacre/engine/gql"
	"github.com/nacredb/nacre/engine/parse"
	"github.com/nacredb/nacre/engine/value"
)

// cond is a condition of a pattern with the variables of its MATCH that it needs. It is tried as soon as they are
// bound.
type cond struct {
	fn    condFn
	needs []int
	text  string
	probe *probe // what an index can answer of it; nil: nothing
}

// probe is property op value, where the value does not depend on the node.
type probe struct {
	slot  int
	prop  string
	op    gql.Op
	of    evalFn
	needs []int // variables of the MATCH that the value depends on
}

// factor is *node, *edge or *paren.
type factor interface{ each(f func(v *variable)) }

// node is a node pattern. Its variable may be bound before the MATCH.
type nodeFactor struct {
	v     *variable
	fresh bool // v is bound by this MATCH
	label gql.Label
	text  string
}

// edgeFactor is an edge pattern. With a quantifier, group gathers what v is bound to.
type edgeFactor struct {
	v     *variable
	group *variable // nil: no name for it
	mid   *variable // of a quantified edge: the node behind each of its edges
	label gql.Label
	conds []*cond // of a quantified edge: tried for each of its edges
	dir   gql.Dir
	quant *gql.Quant
	text  string

	number int // of the label
}

// paren is a pattern in parentheses.
type paren struct {
	sub       *variable // nil: none
	mode      gql.PathMode
	term      *term
	conds     []*cond
	quant     *gql.Quant
	pairs     []pair // variables inside, and the groups that they are outside
	low, high int    // the slots of what is inside
	text      string
}

// pair is a variable inside of a quantified pattern, and what it is outside.
type pair struct{ inner, outer *variable }

type term struct {
	branches []*concat
	multi    bool
}

type concat struct{ factors []factor }

func (n *nodeFactor) each(f func(*variable)) { f(n.v) }

func (e *edgeFactor) each(f func(*variable)) {
	if e.quant == nil {
		f(e.v)
	} else if e.group != nil {
		f(e.group)
	}
}

func (p *paren) each(f func(*variable)) {
	if p.sub != nil {
		f(p.sub)
	}
	if p.quant != nil && !p.quant.Optional {
		for _, pr := range p.pairs {
			f(pr.outer)
		}
		return
	}
	p.term.each(f)
}

func (t *term) each(f func(*variable)) {
	for _, c := range t.branches {
		for _, x := range c.factors {
			x.each(f)
		}
	}
}

// pathPattern is one path pattern of a MATCH.
type pathPattern struct {
	v         *variable // of the path; nil: none
	prefix    gql.Prefix
	count     evalFn // of the prefix; nil: 1
	factors   []factor
	conds     []*cond // inline conditions
	low, high int
	text      string
}

// matchStep is MATCH and OPTIONAL MATCH.
type matchStep struct {
	optional bool
	repeat   bool // REPEATABLE ELEMENTS
	keep     bool // the prefixes come from KEEP: they choose among what WHERE leaves
	patterns []*pathPattern
	conds    []*cond
	fresh    []int // slots that it binds
	text     string
	kept     atomic.Pointer[keptPlan]
}

// matcher binds one MATCH.
type matcher struct {
	b        *binder
	sc       *scope
	optional bool
	fresh    map[int]bool
	conds    *[]*cond // where the inline conditions of the pattern at hand go
	pending  []func() error
}

func (b *binder) matchStep(s *gql.Match, sc *scope) (*matchStep, error) {
	return b.matchIn(s, sc, s.Optional)
}

func (b *binder) matchIn(s *gql.Match, sc *scope, optional bool) (*matchStep, error) {
	out := &matchStep{optional: s.Optional, repeat: s.Mode == gql.ModeRepeatable, text: b.src[s.Span.Start:s.Span.End]}
	before := map[string]bool{}
	for name := range sc.vars {
		before[name] = true
	}
	m := &matcher{b: b, sc: sc, optional: optional, fresh: map[int]bool{}}
	for _, p := range s.Patterns {
		pt, err := m.pattern(p, s)
		if err != nil {
			return nil, err
		}
		out.patterns = append(out.patterns, pt)
	}
	for _, f := range m.pending {
		if err := f(); err != nil {
			return nil, err
		}
	}
	out.keep = s.Keep != nil
	if s.Where != nil {
		var err error
		if out.conds, err = m.conjuncts(s.Where, sc); err != nil {
			return nil, err
		}
	}
	for at := range m.fresh {
		out.fresh = append(out.fresh, at)
	}
	slices.Sort(out.fresh)
	if s.Yield != nil {
		return out, b.yield(s, sc, before)
	}
	return out, nil
}

// yield hides the variables of a MATCH that YIELD does not name.
func (b *binder) yield(s *gql.Match, sc *scope, before map[string]bool) error {
	names := map[string]bool{}
	for _, n := range s.Yield {
		if _, err := b.lookup(sc, n); err != nil {
			return err
		}
		names[n.Text] = true
	}
	for name := range sc.vars {
		if !names[name] && !before[name] {
			delete(sc.vars, name)
		}
	}
	return nil
}

// pattern binds one path pattern: its variables now, its conditions when all variables of the MATCH are known.
func (m *matcher) pattern(p *gql.Path, s *gql.Match) (*pathPattern, error) {
	b := m.b
	out := &pathPattern{low: b.slots, text: b.src[p.Span.Start:p.Span.End]}
	if p.Prefix != nil {
		out.prefix = *p.Prefix
	}
	if s.Keep != nil {
		if p.Prefix != nil {
			return nil, b.fail(s.Keep.Span, "KEEP and a prefix of a path pattern may not stand together")
		}
		out.prefix = *s.Keep
	}
	if out.prefix.Count != nil {
		var err error
		if out.count, err = b.expr(out.prefix.Count, m.sc); err != nil {
			return nil, err
		}
	}
	m.conds = &out.conds
	t, err := m.term(p.Term, m.sc)
	if err != nil {
		return nil, err
	}
	if len(t.branches) == 1 && !t.multi {
		out.factors = t.branches[0].factors
	} else {
		out.factors = []factor{&paren{term: t}}
	}
	if s.Mode == gql.ModeRepeatable && out.prefix.Mode <= gql.PathWalk && out.prefix.Search <= gql.SearchAll &&
		open(out.factors) {
		return nil, b.fail(p.Span,
			"With REPEATABLE ELEMENTS a quantifier without an end needs a restricting path mode or a search prefix")
	}
	if p.Var.Text != "" {
		if v := m.sc.find(p.Var.Text); v != nil {
			if v.kind == varPath {
				return nil, b.fail(p.Var.Span, "Path variable `%s` is declared more than once", p.Var.Text)
			}
			return nil, b.fail(p.Var.Span, "Variable `%s` is already bound as %s but reused as a path", p.Var.Text,
				v.kind)
		}
		out.v = m.declare(m.sc, p.Var.Text, varPath)
		out.v.wanted = true
	}
	out.high = b.slots
	return out, nil
}

// open reports whether a quantifier among the factors has no end.
func open(fs []factor) bool {
	for _, f := range fs {
		switch f := f.(type) {
		case *edgeFactor:
			if f.quant != nil && f.quant.Max < 0 {
				return true
			}
		case *paren:
			if f.quant != nil && f.quant.Max < 0 {
				return true
			}
			for _, c := range f.term.branches {
				if f.mode < gql.PathTrail && open(c.factors) {
					return true
				}
			}
		}
	}
	return false
}

// declare adds a variable that the MATCH binds.
func (m *matcher) declare(sc *scope, name string, kind varKind) *variable {
	v := m.b.declare(sc, name, kind)
	v.optional = m.optional
	m.fresh[v.slot] = true
	return v
}

func (m *matcher) term(t *gql.Term, sc *scope) (*term, error) {
	out := &term{multi: t.Multi}
	for _, c := range t.Branches {
		bc, err := m.concat(c, sc)
		if err != nil {
			return nil, err
		}
		out.branches = append(out.branches, bc)
	}
	return out, nil
}

// concat binds factors, and puts a nameless node where two edges meet or a pattern begins or ends with one.
func (m *matcher) concat(c *gql.Concat, sc *scope) (*concat, error) {
	out := &concat{}
	node := func() {
		out.factors = append(out.factors, &nodeFactor{v: m.declare(sc, "", varNode), fresh: true, text: "()"})
	}
	for i, f := range c.Factors {
		_, isNode := f.(*gql.Node)
		if !isNode && (i == 0 || !isNodeFactor(out.factors[len(out.factors)-1])) {
			node()
		}
		var bf factor
		var err error
		switch f := f.(type) {
		case *gql.Node:
			bf, err = m.node(f, sc)
		case *gql.Edge:
			bf, err = m.edge(f, sc)
		case *gql.Group:
			bf, err = m.paren(f, sc)
		}
		if err != nil {
			return nil, err
		}
		out.factors = append(out.factors, bf)
	}
	if !isNodeFactor(out.factors[len(out.factors)-1]) {
		node()
	}
	return out, nil
}

func isNodeFactor(f factor) bool {
	_, ok := f.(*nodeFactor)
	return ok
}

func (m *matcher) node(n *gql.Node, sc *scope) (*nodeFactor, error) {
	out := &nodeFactor{label: n.Label, text: m.b.src[n.Span.Start:n.Span.End]}
	if v := sc.find(n.Var.Text); n.Var.Text != "" && v != nil {
		switch {
		case v.kind != varNode:
			return nil, m.b.fail(n.Var.Span, "Variable `%s` is already bound as %s but reused as a node", n.Var.Text,
				v.kind)
		case v.optional && !m.optional && !m.fresh[v.slot]:
			return nil, m.b.fail(n.Var.Span,
				"Variable `%s` was first bound inside an OPTIONAL and cannot be re-declared outside it", n.Var.Text)
		}
		if sc != m.sc && sc.vars[n.Var.Text] == nil && m.fresh[v.slot] {
			return nil, m.b.fail(n.Var.Span,
				"Variable `%s` is already bound as a node but reused inside of a quantified pattern", n.Var.Text)
		}
		v.want()
		out.v, out.fresh = v, m.fresh[v.slot]
	} else {
		out.v, out.fresh = m.declare(sc, n.Var.Text, varNode), true
	}
	m.inline(m.conds, out.v, n.Where, n.Props, sc)
	return out, nil
}

// inline binds the conditions of a node or edge once all variables of the MATCH are known.
func (m *matcher) inline(into *[]*cond, v *variable, where gql.Expr, props []gql.Field, sc *scope) {
	m.pending = append(m.pending, func() error {
		if where != nil {
			cs, err := m.conjuncts(where, sc)
			if err != nil {
				return err
			}
			*into = append(*into, cs...)
		}
		for _, p := range props {
			c, err := m.property(v, p, sc)
			if err != nil {
				return err
			}
			*into = append(*into, c)
		}
		return nil
	})
}

// property is {p: e}: the same as x.p = e, also for what has no name.
func (m *matcher) property(v *variable, p gql.Field, sc *scope) (*cond, error) {
	const self = "\x00self"
	inner := newScope(sc)
	inner.vars[self] = v
	x := &gql.Binary{Op: gql.Equal, L: &gql.Prop{X: &gql.Ref{Name: gql.Name{Text: self}}, Name: p.Name}, R: p.X,
		Span: p.Name.Span}
	c, err := m.cond(x, inner)
	if err == nil {
		c.text = p.Name.Text + " = " + gql.ExprText(p.X)
	}
	return c, err
}

// conjuncts binds a condition in the parts that AND joins.
func (m *matcher) conjuncts(x gql.Expr, sc *scope) ([]*cond, error) {
	if b, ok := x.(*gql.Binary); ok && b.Op == gql.And {
		l, err := m.conjuncts(b.L, sc)
		if err != nil {
			return nil, err
		}
		r, err := m.conjuncts(b.R, sc)
		return append(l, r...), err
	}
	c, err := m.cond(x, sc)
	return []*cond{c}, err
}

func (m *matcher) cond(x gql.Expr, sc *scope) (*cond, error) {
	fn, err := m.b.cond(x, sc)
	if err != nil {
		return nil, err
	}
	c := &cond{fn: fn, text: gql.ExprText(x), needs: m.needs(x, sc)}
	c.probe, err = m.probe(x, sc)
	return c, err
}

// needs are the slots of this MATCH that an expression reads.
func (m *matcher) needs(x gql.Expr, sc *scope) []int {
	var out []int
	eachRef(x, func(r *gql.Ref) {
		if v := sc.find(r.Name.Text); v != nil && m.fresh[v.slot] && !slices.Contains(out, v.slot) {
			out = append(out, v.slot)
		}
	})
	return out
}

var flipped = map[gql.Op]gql.Op{gql.Equal: gql.Equal, gql.Less: gql.More, gql.LessEqual: gql.MoreEqual,
	gql.More:      gql.Less,
	gql.MoreEqual: gql.LessEqual}

// probe finds property op value in a condition.
func (m *matcher) probe(x gql.Expr, sc *scope) (*probe, error) {
	c, ok := x.(*gql.Binary)
	if !ok || flipped[c.Op] == 0 && c.Op != gql.Equal {
		return nil, nil
	}
	for _, side := range [...]struct {
		op   gql.Op
		l, r gql.Expr
	}{{c.Op, c.L, c.R}, {flipped[c.Op], c.R, c.L}} {
		ref, prop := probed(side.l, side.op)
		if ref == nil {
			continue
		}
		v := sc.find(ref.Name.Text)
		if v == nil || v.kind != varNode || slices.Contains(m.needs(side.r, sc), v.slot) {
			continue
		}
		of, err := m.b.expr(side.r, sc)
		if _, ok := side.l.(*gql.Func); ok {
			of = recordNamed(of)
		}
		return &probe{slot: v.slot, prop: prop, op: side.op, of: of, needs: m.needs(side.r, sc)}, err
	}
	return nil, nil
}

// probed are the variable and the property of x.name; ELEMENT_ID(x) = … asks for the id.
func probed(x gql.Expr, op gql.Op) (*gql.Ref, string) {
	switch x := x.(type) {
	case *gql.Prop:
		ref, _ := x.X.(*gql.Ref)
		return ref, x.Name.Text
	case *gql.Func:
		if x.Name == "ELEMENT_ID" && op == gql.Equal && len(x.Args) == 1 {
			ref, _ := x.Args[0].(*gql.Ref)
			return ref, "id"
		}
	}
	return nil, ""
}

// recordNamed gives the record that a text names, NULL where it names none.
func recordNamed(of evalFn) evalFn {
	return func(x *runner) (value.Value, error) {
		v, err := of(x)
		if err != nil || v.Kind() != value.KindString {
			return value.Null, err
		}
		id, err := parse.RecordID(v.Str())
		if err != nil {
			return value.Null, nil // no record has such an id
		}
		return id, nil
	}
}

func (m *matcher) edge(e *gql.Edge, sc *scope) (*edgeFactor, error) {
	out := &edgeFactor{label: e.Label, dir: e.Dir, quant: e.Quant, text: m.b.src[e.Span.Start:e.Span.End],
		number: m.b.number(e.Label)}
	if e.Var.Text != "" {
		if v := sc.find(e.Var.Text); v != nil {
			if v.kind == varEdge || v.kind == varGroup {
				return nil, m.b.fail(e.Var.Span, "Edge variable `%s` cannot be repeated", e.Var.Text)
			}
			what := "an edge"
			if e.Quant != nil {
				what = "an edge group"
			}
			return nil, m.b.fail(e.Var.Span, "Variable `%s` is already bound as %s but reused as %s", e.Var.Text,
				v.kind, what)
		}
	}
	if e.Quant == nil {
		out.v = m.declare(sc, e.Var.Text, varEdge)
		m.inline(m.conds, out.v, e.Where, e.Props, sc)
		return out, nil
	}
	if e.Var.Text != "" {
		out.group = m.declare(sc, e.Var.Text, varGroup)
	}
	inner := newScope(sc) // the conditions are about each edge
	out.v, out.mid = m.declare(inner, e.Var.Text, varEdge), m.declare(inner, "", varNode)
	if out.group != nil {
		out.group.of = out.v
	}
	m.inline(&out.conds, out.v, e.Where, e.Props, inner)
	return out, nil
}

func (m *matcher) paren(g *gql.Group, sc *scope) (*paren, error) {
	b := m.b
	out := &paren{mode: g.Mode, quant: g.Quant, low: b.slots, text: b.src[g.Span.Start:g.Span.End]}
	repeated := g.Quant != nil && !g.Quant.Optional
	inner := sc
	if repeated {
		inner = newScope(sc)
		if !hasEdge(g.Term) {
			return nil, b.fail(g.Span, "A quantified pattern must have an edge in each of its branches")
		}
	}
	was := m.conds
	m.conds = &out.conds
	var err error
	out.term, err = m.term(g.Term, inner)
	m.conds = was
	if err != nil {
		return nil, err
	}
	if g.Where != nil {
		m.inline(&out.conds, nil, g.Where, nil, inner)
	}
	if g.Var.Text != "" {
		if v := inner.find(g.Var.Text); v != nil {
			return nil, b.fail(g.Var.Span, "Variable `%s` is already bound as %s but reused as a path", g.Var.Text,
				v.kind)
		}
		out.sub = m.declare(inner, g.Var.Text, varPath)
		out.sub.wanted = true
	}
	out.high = b.slots
	if repeated {
		for _, v := range inner.list {
			if sc.find(v.name) != nil {
				return nil, b.fail(g.Span, "Variable `%s` is already bound as %s but reused as a group", v.name,
					sc.find(v.name).kind)
			}
			group := m.declare(sc, v.name, varGroup)
			group.of = v
			out.pairs = append(out.pairs, pair{v, group})
		}
	}
	return out, nil
}

// hasEdge reports whether every branch of a pattern goes over an edge.
func hasEdge(t *gql.Term) bool {
	for _, c := range t.Branches {
		found := false
		for _, f := range c.Factors {
			switch f := f.(type) {
			case *gql.Edge:
				found = found || f.Quant == nil || f.Quant.Min > 0
			case *gql.Group:
				found = found || (f.Quant == nil || f.Quant.Min > 0) && hasEdge(f.Term)
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// optionalStep is OPTIONAL { MATCH … }.
type optionalStep struct {
	steps []step
	fresh []int
}

func (b *binder) optionalBlock(s *gql.OptionalBlock, sc *scope) (*optionalStep, error) {
	out := &optionalStep{}
	low := b.slots
	for _, in := range s.Steps {
		var st step
		var err error
		switch in := in.(type) {
		case *gql.Match:
			st, err = b.matchIn(in, sc, true)
		case *gql.OptionalBlock:
			st, err = b.optionalBlock(in, sc)
		}
		if err != nil {
			return nil, err
		}
		out.steps = append(out.steps, st)
	}
	for at := low; at < b.slots; at++ {
		out.fresh = append(out.fresh, at)
	}
	return out, nil
}

func (s *optionalStep) run(x *runner, k func() error) error {
	any := false
	err := runSteps(x, s.steps, func() error {
		any = true
		return k()
	})
	if err != nil || any {
		return err
	}
	x.unbind(s.fresh)
	return k()
}
