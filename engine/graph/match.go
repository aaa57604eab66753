package graph

import (
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
	cur    *value.RecordID    // the node that the pattern has come to; nil: it has not begun
	used   map[idKey]struct{} // edges that are bound; nil: they may be bound again
	trail  *trail
	frames []*frame
	marks  []int // lengths of the trail where parenthesised patterns began
	alts   []map[string]struct{}
	took   func(m *match) error // takes what a path search has found
}

// trail is the elements of the path at work: what was found rightwards of its start, and what leftwards, last first.
type trail struct {
	right, left []slot
	mode        gql.PathMode
	nodes       map[idKey]int
	length      int // edges
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
	m := &match{x: x}
	if !s.repeat {
		m.used = map[idKey]struct{}{}
	}
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
		return o.begin(m, s.id)
	}
	names, err := x.nodeTables(o.n.label)
	if err != nil {
		return err
	}
	for _, name := range names {
		sel, any, err := o.query(x, name)
		if err != nil {
			return err
		}
		if !any {
			continue
		}
		err = x.r.EachRow(x.ctx, x.r.Base, sel, func(doc value.Value) (bool, error) {
			id, _ := doc.Object().Get("id")
			if id.Kind() != value.KindRecord {
				return true, nil
			}
			if err := x.keep(keyOf(id.Record()), doc, true); err != nil {
				return false, err
			}
			return true, o.begin(m, id.Record())
		})
		if err != nil {
			return err
		}
	}
	return nil
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
func (o *nodeOp) begin(m *match, id *value.RecordID) error {
	m.cur = id
	if t := m.trail; t != nil {
		t.right = append(t.right, nodeSlot(id))
		defer func() { t.right = t.right[:len(t.right)-1] }()
		if t.nodes != nil {
			k := keyOf(id)
			t.nodes[k]++
			defer func() { t.nodes[k]-- }()
		}
	}
	return o.visit(m, id)
}

// visit looks at the node that the pattern has come to.
func (o *nodeOp) visit(m *match, id *value.RecordID) error {
	if ok, err := o.accepts(m, id); err != nil || !ok {
		return err
	}
	return o.next.run(m)
}

// accepts is visit without going on: the variable is bound where it is true.
func (o *nodeOp) accepts(m *match, id *value.RecordID) (bool, error) {
	x := m.x
	ok, err := x.isNode(o.n.label, id)
	if err != nil || !ok {
		return false, err
	}
	s := &x.row[o.n.v.slot]
	if o.bind {
		*s = nodeSlot(id)
	} else if s.kind != isNode || !sameID(s.id, id) {
		return false, nil
	}
	return x.meets(o.conds)
}

// isNode reports whether a record is a node with the label that the caller may see.
func (x *runner) isNode(l gql.Label, id *value.RecordID) (bool, error) {
	if !gql.Matches(l, id.Table) {
		return false, nil
	}
	rel, err := x.isRelation(id.Table)
	if err != nil || rel && !names(l, id.Table) {
		return false, err
	}
	_, ok, err := x.load(id)
	return ok, err
}

// isRelation reports whether a table holds edges.
func (x *runner) isRelation(table string) (bool, error) {
	if rel, ok := x.rel[table]; ok {
		return rel, nil
	}
	tb, err := x.r.Table(table)
	if err != nil {
		return false, err
	}
	if x.rel == nil {
		x.rel = map[string]bool{}
	}
	x.rel[table] = tb != nil && tb.Define.Kind == ast.TableRelation
	return x.rel[table], nil
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
	dir   gql.Dir // as it is walked
	only  []string
	conds []*cond
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

// hopKey is a question for the edges of a node.
type hopKey struct {
	node idKey
	op   *edgeOp
}

// hopsOf are the edges of a node that an operator may go over.
func (x *runner) hopsOf(o *edgeOp, node *value.RecordID) ([]record.Hop, error) {
	k := hopKey{keyOf(node), o}
	if hops, ok := x.hops[k]; ok {
		return hops, nil
	}
	hops := []record.Hop{}
	walk := func(dir record.Direction) error {
		return x.g.EachEdge(x.ctx, node, dir, o.only, nil, func(h record.Hop) (bool, error) {
			if err := x.r.Tick(x.ctx); err != nil {
				return false, err
			}
			if h.Other == nil || o.only == nil && !gql.Matches(o.e.label, h.Edge.Table) {
				return true, nil
			}
			if dir == record.In && o.dir == gql.Either && sameID(h.Other, node) {
				return true, nil // a loop was met as an edge out
			}
			hops = append(hops, h)
			return true, x.r.Mem.Reach(len(hops) * 160)
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
	if x.held+len(hops) > keptHops {
		clear(x.hops)
		x.held = 0
	}
	if len(hops) <= keptHops {
		x.hops[k] = hops
		x.held += len(hops) + 1
	}
	return hops, x.r.Mem.Reach(x.held * 160)
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
	hops, err := x.hopsOf(o, m.cur)
	if err != nil || len(hops) == 0 {
		return err
	}
	if err := x.deeper(); err != nil {
		return err
	}
	defer func(was *value.RecordID) {
		m.cur = was
		x.deep--
	}(m.cur)
	for i := range hops {
		if err := x.r.Tick(x.ctx); err != nil {
			return err
		}
		if err := o.over(m, &hops[i]); err != nil {
			return err
		}
	}
	return nil
}

// over goes over one edge.
func (o *edgeOp) over(m *match, h *record.Hop) error {
	x := m.x
	var k idKey
	if m.used != nil {
		k = keyOf(h.Edge)
		if _, again := m.used[k]; again {
			return nil
		}
	}
	x.row[o.e.v.slot] = edgeSlot(h.Edge)
	if ok, err := x.meets(o.conds); err != nil || !ok {
		return err
	}
	if m.used != nil {
		m.used[k] = struct{}{}
		defer delete(m.used, k)
	}
	m.cur = h.Other
	t := m.trail
	if t == nil {
		return o.next.run(m)
	}
	if !t.push(o.left, h) {
		return nil
	}
	err := o.next.run(m)
	t.pop(o.left)
	return err
}

// push adds an edge and the node behind it; false where the path mode forbids that.
func (t *trail) push(left bool, h *record.Hop) bool {
	if t.nodes != nil {
		k := keyOf(h.Other)
		side := t.right
		if left {
			side = t.left
		}
		if t.mode == gql.PathSimple && t.length > 0 && t.closed() {
			return false // a simple path ends where it comes back to its start
		}
		if t.nodes[k] > 0 {
			start := t.right[0].id
			if t.mode != gql.PathSimple || !sameID(start, h.Other) || len(side) == 0 && left && len(t.right) > 1 {
				return false
			}
		}
		t.nodes[k]++
	}
	t.length++
	if left {
		t.left = append(t.left, edgeSlot(h.Edge), nodeSlot(h.Other))
	} else {
		t.right = append(t.right, edgeSlot(h.Edge), nodeSlot(h.Other))
	}
	return true
}

// closed reports whether the path is back at its start.
func (t *trail) closed() bool {
	side := t.right
	if len(t.left) > 0 {
		side = t.left
	}
	return sameID(side[len(side)-1].id, t.right[0].id)
}

func (t *trail) pop(left bool) {
	side := &t.right
	if left {
		side = &t.left
	}
	n := len(*side)
	if t.nodes != nil {
		t.nodes[keyOf((*side)[n-1].id)]--
	}
	*side = (*side)[:n-2]
	t.length--
}

// whole is the path from its left end to its right end.
func (t *trail) whole() []slot {
	out := make([]slot, 0, len(t.left)+len(t.right))
	for i := len(t.left) - 1; i >= 0; i-- {
		out = append(out, t.left[i])
	}
	return append(out, t.right...)
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
	m.marks = append(m.marks, m.trail.size())
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

// size is how many elements the path has.
func (t *trail) size() int {
	if t == nil {
		return 0
	}
	return len(t.left) + len(t.right)
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
	add := func(ss []slot) {
		for i := range ss {
			if ss[i].id != nil {
				key = value.RecordOf(ss[i].id).AppendText(key)
			}
			key = append(key, 0)
		}
	}
	add(m.trail.left)
	key = append(key, 1)
	add(m.trail.right)
	for _, at := range o.alt.vars {
		s := m.x.row[at]
		key = append(key, byte(s.kind), 2)
		add([]slot{s})
		add(s.list)
	}
	return string(key)
}

// subOp notes where a parenthesised pattern begins, subEndOp binds its path.
type subOp struct{ link }

func (*subOp) text() string { return "" }

func (o *subOp) run(m *match) error {
	m.marks = append(m.marks, m.trail.size())
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
	since := m.trail.size() - mark
	var list []slot
	if o.left {
		all := m.trail.left
		for i := len(all) - 1; i >= len(all)-since; i-- {
			list = append(list, all[i])
		}
		if rest := len(all) - since; rest > 0 {
			list = append(list, all[rest-1])
		} else {
			list = append(list, m.trail.right[0])
		}
	} else {
		all := m.trail.right
		list = slices.Clone(all[max(len(all)-since-1, 0):])
	}
	m.x.row[o.v.slot] = slot{kind: isPath, list: list}
	m.marks = m.marks[:n]
	err := o.next.run(m)
	m.marks = append(m.marks, mark)
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
