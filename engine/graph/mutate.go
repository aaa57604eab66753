package graph

import (
	"slices"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/gql"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// mutation binds a statement that writes. It takes all rows before it writes for the first.
func (b *binder) mutation(s gql.Step, sc *scope) (barrier, error) {
	switch s := s.(type) {
	case *gql.Insert:
		return b.insert(s, sc)
	case *gql.Set:
		return b.set(s, sc)
	case *gql.Remove:
		out := &changeStep{text: "Remove"}
		for _, it := range s.Items {
			v, err := b.mutable(it.Var, sc)
			if err != nil {
				return nil, err
			}
			out.add(&change{slot: v.slot, unset: true, name: it.Prop.Text})
		}
		return out, nil
	case *gql.Delete:
		out := &deleteStep{detach: s.Detach}
		for _, n := range s.Vars {
			v, err := b.mutable(n, sc)
			if err != nil {
				return nil, err
			}
			out.slots = append(out.slots, v.slot)
		}
		return out, nil
	}
	return nil, errs.Internal("Unknown statement of GQL")
}

// mutable finds a variable that holds one record.
func (b *binder) mutable(n gql.Name, sc *scope) (*variable, error) {
	v, err := b.lookup(sc, n)
	if err != nil {
		return nil, err
	}
	switch v.kind {
	case varGroup, varPath:
		return nil, b.fail(n.Span,
			"Cannot mutate `%s`: a group or path variable holds a composite value, not a record", n.Text)
	case varValue:
		return nil, b.fail(n.Span, "Cannot mutate `%s`: it holds a value, not a record", n.Text)
	}
	return v, nil
}

// eachRow calls f with each row as the current one and gives the rows as they are then.
func eachRow(x *runner, l *linear, rows [][]slot, f func() error) ([][]slot, error) {
	out := make([][]slot, 0, len(rows))
	err := l.each(x, rows, func() error {
		if err := f(); err != nil {
			return err
		}
		out = append(out, slices.Clone(x.row[l.low:l.high]))
		return x.holds(len(out), l.high-l.low)
	})
	x.forget()
	return out, err
}

// writes runs a statement on one record, and gives the record as the caller sees it afterwards; false where nothing was
// written, or nothing can be seen of it.
func (x *runner) writes(s ast.Statement) (*value.RecordID, bool, error) {
	x.forget()
	v, err := x.r.Exec(x.ctx, x.r.Base, s)
	x.forget()
	if err != nil || v.Kind() != value.KindArray || v.Len() != 1 || v.Elems()[0].Kind() != value.KindObject {
		return nil, false, err
	}
	id, _ := v.Elems()[0].Object().Get("id")
	if id.Kind() != value.KindRecord {
		return nil, false, nil
	}
	return id.Record(), true, nil
}

func literal(id *value.RecordID) ast.Expr { return &ast.Literal{Value: value.RecordOf(id)} }

// insertStep is INSERT.
type insertStep struct{ parts []insertPart }

// insertPart makes a node, or an edge where table is one of edges.
type insertPart struct {
	slot     int
	table    string
	props    evalFn // nil: none
	edge     bool
	from, to int
	names    [2]string
}

func (b *binder) insert(s *gql.Insert, sc *scope) (barrier, error) {
	out := &insertStep{}
	for _, p := range s.Paths {
		at := make([]int, len(p.Nodes))
		for i, n := range p.Nodes {
			part, slot, err := b.insertNode(n, sc)
			if err != nil {
				return nil, err
			}
			if at[i] = slot; part != nil {
				out.parts = append(out.parts, *part)
			}
		}
		for i, e := range p.Edges {
			part := insertPart{table: e.Label.Text, edge: true, from: at[i], to: at[i+1],
				names: [2]string{p.Nodes[i].Var.Text, p.Nodes[i+1].Var.Text}}
			if e.Left {
				part.from, part.to = part.to, part.from
				part.names[0], part.names[1] = part.names[1], part.names[0]
			}
			if err := b.insertNew(&part, e.Var, e.Props, varEdge, sc); err != nil {
				return nil, err
			}
			out.parts = append(out.parts, part)
		}
	}
	return out, nil
}

// insertNode binds a node of INSERT; nil where it is there already.
func (b *binder) insertNode(n *gql.InsertNode, sc *scope) (*insertPart, int, error) {
	if n.Label.Text == "" {
		v := sc.find(n.Var.Text)
		if v == nil {
			return nil, 0, b.fail(n.Span, "A new INSERT node requires a label, e.g. `(a:Label {…})`")
		}
		if v.kind != varNode {
			return nil, 0, b.fail(n.Var.Span, "Variable `%s` is already bound as %s but reused as a node", n.Var.Text,
				v.kind)
		}
		v.want()
		return nil, v.slot, nil
	}
	part := &insertPart{table: n.Label.Text}
	err := b.insertNew(part, n.Var, n.Props, varNode, sc)
	return part, part.slot, err
}

func (b *binder) insertNew(part *insertPart, name gql.Name, props []gql.Field, kind varKind, sc *scope) error {
	if name.Text != "" && sc.find(name.Text) != nil {
		return b.fail(name.Span, "Variable `%s` is already bound and cannot be created by INSERT", name.Text)
	}
	if len(props) > 0 {
		var err error
		if part.props, err = b.object(props, sc); err != nil {
			return err
		}
	}
	part.slot = b.declare(sc, name.Text, kind).slot
	return nil
}

func (s *insertStep) whole(x *runner, l *linear, rows [][]slot) ([][]slot, error) {
	return eachRow(x, l, rows, func() error {
		for i := range s.parts {
			if err := s.parts[i].make(x); err != nil {
				return err
			}
		}
		return nil
	})
}

// make makes one record for the current row. One that the caller may not write is not made, and its variable is null.
func (p *insertPart) make(x *runner) error {
	var data *ast.Data
	if p.props != nil {
		v, err := p.props(x)
		if err != nil {
			return err
		}
		data = &ast.Data{Kind: ast.DataContent, X: &ast.Literal{Value: v}}
	}
	var s ast.Statement = &ast.Create{Targets: []ast.Expr{&ast.Table{Name: p.table}}, Data: data}
	if p.edge {
		var ends [2]ast.Expr
		for i, at := range [...]int{p.from, p.to} {
			if x.row[at].kind != isNode {
				name := p.names[i]
				if name == "" {
					name = "()"
				}
				return errs.Internal("INSERT edge endpoint `%s` did not resolve to a record", name)
			}
			ends[i] = literal(x.row[at].el.recordID())
		}
		s = &ast.Relate{From: ends[0], Edge: &ast.Table{Name: p.table}, To: ends[1], Data: data}
	}
	id, ok, err := x.writes(s)
	if err != nil {
		return err
	}
	switch {
	case !ok:
		x.unbind([]int{p.slot})
	case p.edge:
		e, err := x.element(id)
		if err != nil {
			return err
		}
		x.row[p.slot] = slot{kind: isEdge, el: e}
	default:
		e, err := x.element(id)
		if err != nil {
			return err
		}
		x.row[p.slot] = nodeSlot(e)
	}
	return nil
}

// change is one assignment: x.name = e, x = {…} where name is "", or REMOVE x.name.
type change struct {
	slot  int
	name  string
	unset bool
	x     evalFn
}

// changeStep is SET and REMOVE. Consecutive changes of one variable make one UPDATE.
type changeStep struct {
	runs [][]*change
	text string
}

// add appends a change to the run that it belongs to.
func (s *changeStep) add(c *change) {
	if n := len(s.runs); n > 0 {
		last := s.runs[n-1][0]
		if last.slot == c.slot && last.unset == c.unset && last.name != "" && c.name != "" {
			s.runs[n-1] = append(s.runs[n-1], c)
			return
		}
	}
	s.runs = append(s.runs, []*change{c})
}

func (b *binder) set(s *gql.Set, sc *scope) (barrier, error) {
	out := &changeStep{text: "Set"}
	for _, it := range s.Items {
		v, err := b.mutable(it.Var, sc)
		if err != nil {
			return nil, err
		}
		x, err := b.expr(it.X, sc)
		if err != nil {
			return nil, err
		}
		out.add(&change{slot: v.slot, name: it.Prop.Text, x: x})
	}
	return out, nil
}

func (s *changeStep) whole(x *runner, l *linear, rows [][]slot) ([][]slot, error) {
	return eachRow(x, l, rows, func() error {
		for _, run := range s.runs {
			if err := x.change(run); err != nil {
				return err
			}
		}
		return nil
	})
}

// change makes a run of changes. What was not changed becomes null: it is gone, or the caller may not change it.
func (x *runner) change(run []*change) error {
	at := run[0].slot
	s := x.row[at]
	if s.kind != isNode && s.kind != isEdge {
		return nil
	}
	data := &ast.Data{Kind: ast.DataSet}
	for _, c := range run {
		place := &ast.Idiom{Parts: []ast.Part{&ast.PartField{Name: c.name}}}
		if c.unset {
			data.Kind, data.Unset = ast.DataUnset, append(data.Unset, place)
			continue
		}
		v, err := c.x(x)
		if err != nil {
			return err
		}
		if c.name == "" {
			if data, err = x.content(&s, v); err != nil {
				return err
			}
			break
		}
		data.Set = append(data.Set, ast.Assign{Place: place, X: &ast.Literal{Value: v}})
	}
	_, ok, err := x.writes(&ast.Update{Targets: []ast.Expr{literal(s.el.recordID())}, Data: data})
	if err == nil && !ok {
		x.unbind([]int{at})
	}
	return err
}

// content returns the record after x = {…}: an edge keeps its ends.
func (x *runner) content(s *slot, v value.Value) (*ast.Data, error) {
	if s.kind == isEdge {
		in, out, err := x.g.Ends(x.ctx, s.el.recordID())
		if err != nil {
			return nil, err
		}
		o := v.Object()
		if in != nil {
			o = o.With("in", value.RecordOf(in))
		}
		if out != nil {
			o = o.With("out", value.RecordOf(out))
		}
		v = value.ObjectOf(o)
	}
	return &ast.Data{Kind: ast.DataContent, X: &ast.Literal{Value: v}}, nil
}

// deleteStep is DELETE.
type deleteStep struct {
	slots  []int
	detach bool
}

func (s *deleteStep) whole(x *runner, l *linear, rows [][]slot) ([][]slot, error) {
	gone := map[value.IDKey]bool{}
	out, err := eachRow(x, l, rows, func() error {
		for _, at := range s.slots {
			if err := s.delete(x, at, gone); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, row := range out { // what was deleted for one row is gone in all
		for i := range row {
			if (row[i].kind == isNode || row[i].kind == isEdge) && gone[value.KeyOf(row[i].el.recordID())] {
				row[i] = slot{kind: isNull, val: value.Null}
			}
		}
	}
	return out, nil
}

// delete deletes the record of a variable.
func (s *deleteStep) delete(x *runner, at int, gone map[value.IDKey]bool) error {
	b := x.row[at]
	if b.kind != isNode && b.kind != isEdge {
		return nil
	}
	id := b.el.recordID()
	if gone[value.KeyOf(id)] {
		return nil
	}
	x.forget()
	tb, err := x.r.Table(id.Table)
	if err != nil || tb == nil {
		return err
	}
	row, err := x.g.Pick(x.ctx, tb, id, record.Deleting)
	if err != nil {
		return err
	}
	if row == nil {
		x.unbind([]int{at})
		return nil
	}
	var edges []*value.RecordID
	if b.kind == isNode {
		linked, err := x.g.Linked(tb, id)
		if err != nil {
			return err
		}
		if linked && !s.detach {
			return errs.Internal("Cannot DELETE `%s` because it still has connected edges; use `DETACH DELETE` "+
				"to remove the edges as well",
				value.RecordOf(id).Text())
		}
		for _, dir := range [...]record.Direction{record.Out, record.In} {
			err := x.g.EachEdge(x.ctx, id, dir, nil, nil, func(h record.Hop) (bool, error) {
				edges = append(edges, h.Edge)
				return true, x.r.Mem.Reach(len(edges) * 96)
			})
			if err != nil {
				return err
			}
		}
	}
	ok, err := x.g.Delete(x.ctx, tb, id, row.Stored)
	if err != nil {
		return err
	}
	x.unbind([]int{at})
	if ok {
		gone[value.KeyOf(id)] = true
	}
	for _, id := range edges {
		tb, err := x.r.Table(id.Table)
		if err != nil {
			return err
		}
		if tb == nil {
			continue
		}
		there, err := x.g.Exists(tb, id.Key)
		if err != nil {
			return err
		}
		if !there {
			gone[value.KeyOf(id)] = true
		}
	}
	return nil
}
