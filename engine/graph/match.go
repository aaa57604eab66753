package graph

import (
	"encoding/binary"
	"slices"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/gql"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// match is a MATCH at work for one row.
type match struct {
	x      *runner
	k      func() error
	cur    *element // the node that the pattern has come to; nil: it has not begun
	used   *edgeSet // edges that are bound; nil: they may be bound again
	own    edgeSet  // what used is, outside of searches
	trail  *trail
	frames []*frame
	marks  []int // lengths of the trail where parenthesised patterns began
	alts   []map[string]struct{}
	took   func(m *match) error // takes what a path search has found
	most   int                  // edges of the longest path that is wanted; -1: any
	cut    bool                 // a path was left out for that
	steps  int                  // edges that were gone over
}

// op is an operator of a pattern. run binds, goes on with the next one for each binding, and takes it back.
type op interface {
	run(m *match) error
	after() *op // where the next one goes
	text() string
}

type link struct{ next op }

func (l *link) after() *op { return &l.next }

// unbind makes variables null.
func (x *runner) unbind(slots []int) {
	for _, at := range slots {
		x.row[at] = slot{kind: isNull, val: value.Null}
	}
}

func (s *matchStep) run(x *runner, k func() error) error {
	first, err := x.plan(s)
	if err != nil {
		return err
	}
	m := x.newMatch(!s.repeat)
	defer x.endMatch(m)
	any := false
	m.k = func() error {
		any = true
		if x.found++; x.found > x.r.Ex.Limits.GraphRows {
			return errs.Internal("GQL MATCH exceeded SERVICE_GQL_MAX_OUTPUT_ROWS (%d); the patterns found too "+
				"many rows",
				x.r.Ex.Limits.GraphRows)
		}
		return k()
	}
	if err := first.run(m); err != nil || any || !s.optional {
		return err
	}
	x.unbind(s.fresh)
	return k()
}

// newMatch is a match, in memory that is idle where there is some; once: edges are bound once.
func (x *runner) newMatch(once bool) *match {
	m := x.match
	if x.match = nil; m == nil {
		m = &match{}
	}
	*m = match{x: x, most: -1, own: m.own}
	if once {
		m.used = &m.own
	}
	return m
}

// endMatch makes a match idle.
func (x *runner) endMatch(m *match) {
	edges := m.own.edges[:0]
	if cap(edges) > pooledElements {
		edges = nil
	}
	clear(edges[:cap(edges)])
	*m = match{own: edgeSet{edges: edges}}
	x.match = m
}

// doneOp ends a MATCH.
type doneOp struct{ link }

func (*doneOp) text() string       { return "" }
func (*doneOp) run(m *match) error { return m.k() }

// meets tries conditions on the current row.
func (x *runner) meets(cs []*cond) (bool, error) {
	for _, c := range cs {
		if t, err := c.fn(x); err != nil || t != yes {
			return false, err
		}
	}
	return true, nil
}

// nodeOp is a node: it is scanned for where the pattern begins, and else looked at.
type nodeOp struct {
	link
	n      *nodeFactor
	bind   bool // the variable gets its value here
	scan   bool // the pattern begins here, with no record known
	conds  []*cond
	probes []*probe
	left   bool // it is found leftwards of the start
}

func (o *nodeOp) text() string {
	kind := "Check "
	switch {
	case o.scan && o.bind:
		kind = "Scan "
	case o.scan:
		kind = "Start "
	}
	return kind + o.n.text + condTexts(o.conds)
}

func condTexts(cs []*cond) string {
	out := ""
	for i, c := range cs {
		out += []string{" WHERE ", " AND "}[min(i, 1)] + c.text
	}
	return out
}

func (o *nodeOp) run(m *match) error {
	x := m.x
	if !o.scan {
		return o.visit(m, m.cur)
	}
	was := m.cur
	defer func() { m.cur = was }()
	if !o.bind {
		s := &x.row[o.n.v.slot]
		if s.kind != isNode {
			return nil
		}
		return o.begin(m, s.el)
	}
	return o.each(x, func(e *element) error { return o.begin(m, e) })
}

// each calls f with the records that the probes leave of the tables of the label.
func (o *nodeOp) each(x *runner, f func(*element) error) error {
	names, err := x.nodeTables(o.n.label)
	if err != nil {
		return err
	}
	if e, err := o.record(x, names); err != nil {
		return err
	} else if e != nil {
		if ok, err := x.see(e); err != nil || !ok {
			return err
		}
		return f(e)
	}
	for _, name := range names {
		sel, any, err := o.query(x, name)
		if err != nil {
			return err
		}
		if !any {
			continue
		}
		b := begins{x: x, next: o.next, give: func(doc value.Value) error {
			id, _ := doc.Object().Get("id")
			if id.Kind() != value.KindRecord {
				return nil
			}
			e, err := x.element(id.Record())
			if err != nil {
				return err
			}
			if err := x.keep(e, nil, doc, true); err != nil {
				return err
			}
			return f(e)
		}}
		err = b.each(func(take func(doc value.Value) error) error {
			return x.r.EachRow(x.ctx, x.r.Base, sel, func(doc value.Value) (bool, error) { return true, take(doc) })
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// record is the only record that the probes leave, where they name one of a table in names; nil: they do not.
func (o *nodeOp) record(x *runner, names []string) (*element, error) {
	for _, p := range o.probes {
		if p.prop != "id" || p.op != gql.Equal {
			continue
		}
		v, err := p.of(x)
		if err != nil {
			return nil, err
		}
		if v.Kind() != value.KindRecord || v.Record().Key.Kind() == value.KindRange {
			continue
		}
		id := v.Record()
		if !slices.Contains(names, id.Table) {
			continue
		}
		e, err := x.element(id)
		if err != nil {
			return nil, err
		}
		if tb, err := x.defined(e.table); tb == nil || err != nil {
			return nil, err // SELECT says that there is no such table
		}
		return e, nil
	}
	return nil, nil
}

// query is the SELECT that finds candidates in a table; false where the probes leave none.
func (o *nodeOp) query(x *runner, table string) (*ast.Select, bool, error) {
	sel := &ast.Select{Projections: &ast.Projections{Fields: []ast.Projection{{All: true}}},
		From: []ast.Expr{&ast.Table{Name: table}}}
	for _, p := range o.probes {
		v, err := p.of(x)
		if err != nil {
			return nil, false, err
		}
		if v.IsNullish() {
			return nil, false, nil // a comparison with null is unknown
		}
		c := &ast.Binary{Op: operators[p.op], L: &ast.Idiom{Parts: []ast.Part{&ast.PartField{Name: p.prop}}},
			R: &ast.Literal{Value: v}}
		if sel.Where == nil {
			sel.Where = c
		} else {
			sel.Where = &ast.Binary{Op: ast.OpAnd, L: sel.Where, R: c}
		}
	}
	return sel, true, nil
}

// begin starts the path at a node.
func (o *nodeOp) begin(m *match, e *element) error {
	m.cur = e
	t := m.trail
	if t == nil {
		return o.visit(m, e)
	}
	was := t.start
	t.begin(e)
	err := o.visit(m, e)
	t.unbegin(was)
	return err
}

// visit looks at the node that the pattern has come to.
func (o *nodeOp) visit(m *match, e *element) error {
	if ok, err := o.accepts(m, e); err != nil || !ok {
		return err
	}
	return o.next.run(m)
}

// accepts is visit without going on: the variable is bound where it is true.
func (o *nodeOp) accepts(m *match, e *element) (bool, error) {
	x := m.x
	ok, err := x.isNode(o.n.label, e)
	if err != nil || !ok {
		return false, err
	}
	s := &x.row[o.n.v.slot]
	if o.bind {
		*s = nodeSlot(e)
	} else if s.kind != isNode || !s.el.is(e) {
		return false, nil
	}
	if len(o.conds) == 0 {
		return true, nil
	}
	return x.meets(o.conds)
}

// isNode reports whether a record is a node with the label that the caller may see.
func (x *runner) isNode(l gql.Label, e *element) (bool, error) {
	if l != nil && !gql.Matches(l, e.table.name) {
		return false, nil
	}
	if _, err := x.defined(e.table); err != nil || e.table.relation() && !names(l, e.table.name) {
		return false, err
	}
	return x.see(e)
}

// names reports whether a label expression names a table.
func names(l gql.Label, table string) bool {
	switch l := l.(type) {
	case *gql.LabelName:
		return l.Name.Text == table
	case *gql.LabelAnd:
		return names(l.L, table) || names(l.R, table)
	case *gql.LabelOr:
		return names(l.L, table) || names(l.R, table)
	}
	return false
}

// nodeTables are the tables whose records may be nodes with a label.
func (x *runner) nodeTables(l gql.Label) ([]string, error) {
	if n, ok := l.(*gql.LabelName); ok {
		return []string{n.Name.Text}, nil // SELECT says where there is none
	}
	all, err := x.r.Cat.Tables(x.g.DB)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, tb := range all {
		if gql.Matches(l, tb.Name) && (tb.Define.Kind != ast.TableRelation || names(l, tb.Name)) {
			out = append(out, tb.Name)
		}
	}
	return out, nil
}

// edgeOp goes over an edge.
type edgeOp struct {
	link
	e     *edgeFactor
	dir   gql.Dir  // as it is walked
	walk  int      // the number of the way of going over edges
	only  []string // the tables of the edges; nil: any
	bind  bool     // something reads the variable
	conds []*cond
	to    int // the variable of the node behind it, where that is bound already; -1: it is not
	left  bool
}

func (o *edgeOp) text() string { return "Expand " + o.e.text + condTexts(o.conds) }

// edgeTables are the tables that a label names one by one; nil: any table may do.
func edgeTables(l gql.Label) []string {
	switch l := l.(type) {
	case *gql.LabelName:
		return []string{l.Name.Text}
	case *gql.LabelOr:
		a, b := edgeTables(l.L), edgeTables(l.R)
		if a != nil && b != nil {
			for _, t := range b {
				if !slices.Contains(a, t) {
					a = append(a, t)
				}
			}
			return a
		}
	}
	return nil
}

// turned is a direction read from the other end.
func turned(d gql.Dir) gql.Dir {
	switch d {
	case gql.Right:
		return gql.Left
	case gql.Left:
		return gql.Right
	}
	return d
}

// mostDepth bounds how long a path may be, in edges, with all that is inside and around it: each edge of a path takes
// some stack.
const mostDepth = 10_000

func (x *runner) deeper() error {
	if x.deep++; x.deep > mostDepth {
		return errs.Internal("GQL MATCH found a path of more than %d edges", mostDepth)
	}
	return x.r.Mem.Reach(x.deep * 2048)
}

func (o *edgeOp) run(m *match) error {
	x := m.x
	var hops []hop
	var err error
	if to := o.target(x); to != nil {
		var may bool
		if may, err = x.closes(o, m.cur, to); err != nil || !may {
			return err
		}
		hops, err = x.hopsTo(o, m.cur, to)
	} else {
		hops, err = x.hopsOf(o, m.cur)
	}
	if err != nil || len(hops) == 0 {
		return err
	}
	if err := x.deeper(); err != nil {
		return err
	}
	was := m.cur
	var ahead record.Ahead
	for i := range hops {
		if err = x.r.Tick(x.ctx); err != nil {
			break
		}
		if n := ahead.Due(x.g, len(hops)-i); n > 0 {
			most, failed := x.aheadOf(hops[i:i+n], o.next)
			if err = failed; err != nil {
				break
			}
			ahead.Read(n, most)
		}
		if err = o.over(m, &hops[i]); err != nil {
			break
		}
	}
	m.cur = was
	x.deep--
	return err
}

// target is the node that the edge must lead to, where it is known.
func (o *edgeOp) target(x *runner) *element {
	if o.to < 0 {
		return nil
	}
	if s := &x.row[o.to]; s.kind == isNode {
		return s.el
	}
	return nil
}

// over goes over one edge.
func (o *edgeOp) over(m *match, h *hop) error {
	x := m.x
	if m.used != nil && m.used.has(h) {
		return nil
	}
	if o.bind {
		var err error
		if x.row[o.e.v.slot], err = x.edgeSlot(h); err != nil {
			return err
		}
	}
	if len(o.conds) > 0 {
		if ok, err := x.meets(o.conds); err != nil || !ok {
			return err
		}
	}
	t := m.trail
	if m.most >= 0 {
		if m.steps++; t.length() >= m.most {
			m.cut = true
			return nil
		}
	}
	if t != nil && (!t.partsAllow(h) || !t.push(o.left, h)) {
		return nil
	}
	if m.used != nil {
		m.used.push(h)
	}
	m.cur = h.node
	err := o.next.run(m)
	if m.used != nil {
		m.used.pop(1)
	}
	if t != nil {
		t.pop(o.left)
	}
	return err
}

// frame is a repetition at work.
type frame struct {
	op    *loopOp
	n     int
	paths int
	lists [][]slot
}

// loopOp repeats its body.
type loopOp struct {
	link
	min, max  int
	body      op
	pairs     []pair
	low, high int   // slots of the body, which are put back after each repetition; equal: none
	optional  []int // of (…)?: what is null where it is skipped
	left      bool
	what      string
}

func (o *loopOp) text() string { return "Repeat " + o.what }

func (o *loopOp) run(m *match) error {
	f := &frame{op: o, lists: make([][]slot, len(o.pairs))}
	m.frames = append(m.frames, f)
	err := o.turn(m, f)
	m.frames = m.frames[:len(m.frames)-1]
	return err
}

// turn goes on behind the repetition, and repeats once more.
func (o *loopOp) turn(m *match, f *frame) error {
	x := m.x
	if f.paths++; f.paths > x.r.Ex.Limits.GraphPaths {
		return x.tooManyPaths()
	}
	if f.n >= o.min {
		if err := o.leave(m, f); err != nil {
			return err
		}
	}
	if o.max >= 0 && f.n >= o.max {
		return nil
	}
	return o.body.run(m)
}

func (x *runner) tooManyPaths() error {
	return errs.Internal("GQL MATCH path traversal exceeded SERVICE_GQL_MAX_PATH_ROWS (%d); the quantified "+
		"pattern produced too many "+
		"paths from a single source row", x.r.Ex.Limits.GraphPaths)
}

// leave goes on behind the repetition.
func (o *loopOp) leave(m *match, f *frame) error {
	x := m.x
	for i, p := range o.pairs {
		if !p.outer.wanted {
			continue
		}
		list := slices.Clone(f.lists[i])
		if o.left {
			slices.Reverse(list)
		}
		if list == nil {
			list = []slot{}
		}
		x.row[p.outer.slot] = slot{kind: isList, list: list}
	}
	if f.n == 0 {
		x.unbind(o.optional)
	}
	m.frames = m.frames[:len(m.frames)-1]
	err := o.next.run(m)
	m.frames = append(m.frames, f)
	return err
}

// turnOp ends the body of a repetition.
type turnOp struct{ link }

func (*turnOp) text() string { return "" }

func (*turnOp) run(m *match) error {
	x, f := m.x, m.frames[len(m.frames)-1]
	o := f.op
	for i, p := range o.pairs {
		if p.outer.wanted {
			f.lists[i] = append(f.lists[i], x.row[p.inner.slot])
		}
	}
	var saved []slot
	if o.high > o.low {
		saved = slices.Clone(x.row[o.low:o.high])
	}
	f.n++
	err := o.turn(m, f)
	f.n--
	for i, p := range o.pairs {
		if p.outer.wanted {
			f.lists[i] = f.lists[i][:len(f.lists[i])-1]
		}
	}
	if saved != nil {
		copy(x.row[o.low:o.high], saved)
	}
	return err
}

// altOp tries branches; each of them ends with an altEndOp.
type altOp struct {
	link
	branches []op
	absent   [][]int // by branch: the variables of the others
	dedup    bool
	vars     []int
	what     string
}

func (o *altOp) text() string { return "Either " + o.what }

func (o *altOp) run(m *match) error {
	m.alts = append(m.alts, map[string]struct{}{})
	m.marks = append(m.marks, m.trail.length())
	defer func() {
		m.alts, m.marks = m.alts[:len(m.alts)-1], m.marks[:len(m.marks)-1]
	}()
	was := m.cur
	for i, br := range o.branches {
		m.x.unbind(o.absent[i])
		m.cur = was
		if err := br.run(m); err != nil {
			return err
		}
	}
	m.cur = was
	return nil
}

// altEndOp goes on behind an alternation, once for what several branches find alike.
type altEndOp struct {
	link
	alt *altOp
}

func (*altEndOp) text() string { return "" }

func (o *altEndOp) run(m *match) error {
	x := m.x
	n, k := len(m.alts)-1, len(m.marks)-1
	seen, mark := m.alts[n], m.marks[k]
	if o.alt.dedup {
		key := o.key(m, mark)
		if _, again := seen[key]; again {
			return nil
		}
		if len(seen) >= x.r.Ex.Limits.GraphJoins {
			return x.tooMany("SERVICE_GQL_MAX_JOIN_BUILD_ROWS", x.r.Ex.Limits.GraphJoins)
		}
		if err := x.r.Mem.Charge(len(key) + 32); err != nil {
			return err
		}
		seen[key] = struct{}{}
	}
	m.alts, m.marks = m.alts[:n], m.marks[:k]
	err := o.alt.next.run(m)
	m.alts, m.marks = append(m.alts, seen), append(m.marks, mark)
	return err
}

// key tells what a branch has found: the elements of the path since the alternation began, and its variables.
func (o *altEndOp) key(m *match, _ int) string {
	var key []byte
	add := func(id record.ID) { key = append(binary.AppendUvarint(key, uint64(len(id))), id...) }
	of := func(s *slot) {
		if s.el == nil {
			add("")
		} else {
			add(s.el.packed)
		}
	}
	for _, side := range [...][]hop{m.trail.left, m.trail.right} {
		key = binary.AppendUvarint(key, uint64(len(side)))
		for i := range side {
			add(side[i].edge)
		}
	}
	add(m.cur.packed)
	for _, at := range o.alt.vars {
		s := &m.x.row[at]
		key = binary.AppendUvarint(append(key, byte(s.kind)), uint64(len(s.list)))
		of(s)
		for i := range s.list {
			of(&s.list[i])
		}
	}
	return string(key)
}

// subOp notes where a parenthesised pattern begins, subEndOp binds its path.
type subOp struct{ link }

func (*subOp) text() string { return "" }

func (o *subOp) run(m *match) error {
	m.marks = append(m.marks, m.trail.length())
	err := o.next.run(m)
	m.marks = m.marks[:len(m.marks)-1]
	return err
}

type subEndOp struct {
	link
	v    *variable
	left bool
}

func (*subEndOp) text() string { return "" }

func (o *subEndOp) run(m *match) error {
	n := len(m.marks) - 1
	mark := m.marks[n]
	other := len(m.trail.left) // edges on the other side, which were there before
	if o.left {
		other = len(m.trail.right)
	}
	path, err := m.trail.since(m.x, mark-other, o.left)
	if err != nil {
		return err
	}
	m.x.row[o.v.slot] = slot{kind: isPath, list: path}
	m.marks = m.marks[:n]
	err = o.next.run(m)
	m.marks = append(m.marks, mark)
	return err
}

// partOp begins a parenthesised pattern with a path mode, partEndOp ends it.
type partOp struct {
	link
	mode gql.PathMode
	left bool
}

func (*partOp) text() string { return "" }

func (o *partOp) run(m *match) error {
	t := m.trail
	from := len(t.right)
	if o.left {
		from = len(t.left)
	}
	t.parts = append(t.parts, modePart{o.mode, o.left, from})
	err := o.next.run(m)
	t.parts = t.parts[:len(t.parts)-1]
	return err
}

type partEndOp struct{ link }

func (*partEndOp) text() string { return "" }

func (o *partEndOp) run(m *match) error {
	t := m.trail
	last := t.parts[len(t.parts)-1]
	t.parts = t.parts[:len(t.parts)-1]
	err := o.next.run(m)
	t.parts = append(t.parts, last)
	return err
}

// testOp tries conditions between other operators.
type testOp struct {
	link
	conds []*cond
}

func (o *testOp) text() string { return "Filter" + condTexts(o.conds) }

func (o *testOp) run(m *match) error {
	if ok, err := m.x.meets(o.conds); err != nil || !ok {
		return err
	}
	return o.next.run(m)
}
