package exec

import (
	"context"
	"slices"
	"sort"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/plan"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// stop is where a traversal stands: a record, or the value of a (SELECT …) step.
type stop = record.Stop

// graph follows a run of graph parts from a record, an object with an id, or each element of an
// array of those. Every step flattens; what has no record leads to NONE.
func (r *Run) graph(ctx context.Context, env *Env, v value.Value, parts []ast.Part) (value.Value, error) {
	room := r.Ex.rooms.Take()
	defer r.Ex.rooms.Give(room)
	level := room.Next()
	switch v.Kind() {
	case value.KindArray:
		level = slices.Grow(level, v.Len())
		for _, e := range v.Elems() {
			id := RecordOf(e)
			if id.IsNone() && e.Kind() != value.KindObject {
				return r.graphEach(ctx, env, v.Elems(), parts)
			}
			if !id.IsNone() {
				level = append(level, stop{At: id})
			}
		}
	default:
		id := RecordOf(v)
		if id.IsNone() {
			if v.Kind() == value.KindObject {
				return value.Array(), nil
			}
			return value.None, nil
		}
		level = append(level, stop{At: id})
	}
	room.Keep(level)
	only := parts[len(parts)-1].(*ast.PartGraph).Graph.Only
	for len(parts) > 0 {
		var err error
		g := parts[0].(*ast.PartGraph).Graph
		if parts = parts[1:]; len(parts) > 0 && plan.LeadsAcross(g, parts[0].(*ast.PartGraph).Graph) {
			level, err = r.across(ctx, room.Next(), level, g, parts[0].(*ast.PartGraph).Graph.Tables[0].Table)
			parts = parts[1:]
		} else {
			level, err = r.hop(ctx, env, room.Next(), level, g)
		}
		if err != nil {
			return value.None, err
		}
		room.Keep(level)
	}
	if only && len(level) < 2 {
		if len(level) == 0 {
			return value.None, nil
		}
		return level[0].At, nil
	}
	return value.ArrayOf(record.Stands(level)), nil
}

// graphEach applies graph to each element. Elements that are no records lead nowhere, and lists are flattened.
func (r *Run) graphEach(ctx context.Context, env *Env, elems []value.Value, parts []ast.Part) (value.Value, error) {
	var out []value.Value
	for _, e := range elems {
		if err := r.Tick(ctx); err != nil {
			return value.None, err
		}
		v, err := r.graph(ctx, env, e, parts)
		if err != nil {
			return value.None, err
		}
		if v.Kind() == value.KindArray {
			out = append(out, v.Elems()...)
		} else {
			out = append(out, v)
		}
	}
	return value.ArrayOf(out), nil
}

// hop takes one step from every stop. It appends to room, which is empty.
func (r *Run) hop(ctx context.Context, env *Env, room, from []stop, g *ast.Graph) ([]stop, error) {
	return r.eachStop(ctx, g, room, from, func(out []stop, s *stop, id *value.RecordID) (_ []stop, err error) {
		mark := len(out)
		if g.Dir == ast.DirRef {
			out, err = r.references(ctx, env, out, id, g)
		} else {
			out, err = r.neighbours(ctx, env, out, s, id, g)
		}
		if err != nil || g.Plain() {
			return out, err
		}
		found, err := r.lookup(ctx, env, s.At, out[mark:], g)
		kept := append(out[:mark], found...)
		clear(out[min(len(kept), len(out)):])
		return kept, err
	})
}

// eachStop is what step, which is of g, appends to room from every stop that is a record.
func (r *Run) eachStop(ctx context.Context, g *ast.Graph, room, from []stop,
	step func(out []stop, s *stop, id *value.RecordID) ([]stop, error)) (out []stop, err error) {
	out = room
	ahead := record.Ahead{}
	for i := range from {
		out = record.Reserve(out, i, len(from))
		gate, err := r.nears(ctx)
		if gate != nil {
			err = ahead.Step(gate, g, from[i:])
		}
		if err != nil {
			return nil, err
		}
		id := RecordOf(from[i].At)
		if id.IsNone() {
			continue
		}
		if out, err = step(out, &from[i], id.Record()); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// across is hop over the edges of g, and hop to the records of a table that the edges lead to. It makes no stop of an
// edge that leads there.
func (r *Run) across(ctx context.Context, room, from []stop, g *ast.Graph, to string) ([]stop, error) {
	return r.eachStop(ctx, g, room, from, func(out []stop, s *stop, id *value.RecordID) ([]stop, error) {
		return r.acrossFrom(ctx, out, s, id, g, to)
	})
}

func (r *Run) acrossFrom(ctx context.Context, out []stop, s *stop, id *value.RecordID, g *ast.Graph,
	to string) ([]stop, error) {
	gate, err := r.Gate()
	if err != nil {
		return nil, err
	}
	found := false
	if s.In == nil && s.Out == nil {
		edges := []string{g.Tables[0].Table}
		err = gate.EachEnd(ctx, id, record.Way(g.Dir), edges, to, func(h record.Hop) (bool, error) {
			found = true
			if h.Other != nil && h.Other.Table == to {
				out = append(out, stop{At: value.RecordOf(h.Other)})
				return true, r.Tick(ctx)
			}
			e := record.StopAt(h, id, g.Dir)
			out, err = r.oneWay(ctx, out, &e, h.Edge, g.Dir, to, nil)
			return err == nil, err
		})
	}
	if found || err != nil {
		return out, err
	}
	var edges []stop
	if s.In != nil || s.Out != nil {
		edges, err = r.oneWay(ctx, nil, s, id, g.Dir, g.Tables[0].Table, nil)
	} else if end, e := r.endpoint(ctx, id, g.Dir); e != nil || end != nil && end.Table == g.Tables[0].Table {
		edges, err = []stop{{At: value.RecordOf(end)}}, e
	}
	for i := range edges {
		if err != nil {
			break
		}
		out, err = r.oneWay(ctx, out, &edges[i], edges[i].At.Record(), g.Dir, to, nil)
	}
	return out, err
}

// neighbours appends what one step over edges finds from a record.
func (r *Run) neighbours(ctx context.Context, env *Env, out []stop, s *stop, id *value.RecordID,
	g *ast.Graph) ([]stop, error) {
	dirs := []ast.GraphDir{g.Dir}
	if g.Dir == ast.DirBoth {
		dirs = []ast.GraphDir{ast.DirIn, ast.DirOut}
	}
	tables := g.Tables
	if g.Any {
		tables = []ast.GraphTable{{}}
	}
	var err error
	for i := range tables {
		t := &tables[i]
		var key *value.Range
		if t.Key != nil {
			k, err := r.key(ctx, env, t.Key)
			if err != nil {
				return nil, err
			}
			key = k.Range()
		}
		for _, dir := range dirs {
			if out, err = r.oneWay(ctx, out, s, id, dir, t.Table, key); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// oneWay appends the edges of a record in one direction and, where the record is an edge itself, its end there, sorted.
func (r *Run) oneWay(ctx context.Context, out []stop, s *stop, id *value.RecordID, dir ast.GraphDir, table string,
	key *value.Range) ([]stop, error) {
	end, mark := s.End(dir), len(out)
	if end != nil && end.Table == table && key == nil {
		return append(out, stop{At: value.RecordOf(end)}), nil
	}
	edges, err := r.edges(ctx, id, dir, table, key)
	if err != nil {
		return nil, err
	}
	for i := range edges {
		out = append(out, record.StopAt(edges[i], id, dir))
	}
	// One table has edges, or the ends of an edge, as a rule.
	if s.In == nil && key == nil && (len(edges) == 0 || table == "") {
		if end, err = r.endpoint(ctx, id, dir); err != nil {
			return nil, err
		}
	}
	if end == nil || table != "" && end.Table != table || key != nil {
		return out, nil
	}
	at := stop{At: value.RecordOf(end)}
	place := mark + sort.Search(len(out)-mark, func(i int) bool { return value.Compare(at.At, out[mark+i].At) < 0 })
	return slices.Insert(out, place, at), nil
}

// endpoint reads a record that may be an edge and gives its end in a direction, or nil.
func (r *Run) endpoint(ctx context.Context, id *value.RecordID, dir ast.GraphDir) (*value.RecordID, error) {
	g, err := r.Gate()
	if err != nil {
		return nil, err
	}
	in, out, err := g.Ends(ctx, id)
	if dir == ast.DirIn {
		return in, err
	}
	return out, err
}

// lookup runs the clauses of a parenthesised step over what it found.
func (r *Run) lookup(ctx context.Context, env *Env, from value.Value, found []stop, g *ast.Graph) ([]stop, error) {
	sel := &ast.Select{
		Projections: g.Select, Where: g.Where, Split: g.Split, Group: g.Group, Order: g.Order, Limit: g.Limit,
		Start: g.Start,
	}
	if sel.Projections == nil {
		sel.Projections = idOnly
	}
	vs, err := r.selectFrom(ctx, env.withRow(from), sel, value.ArrayOf(record.Stands(found)))
	if err != nil {
		return nil, err
	}
	if g.Only && len(vs) > 1 {
		return nil, errs.SingleOutput()
	}
	out := make([]stop, 0, len(vs))
	for _, v := range vs {
		out = append(out, stop{At: v})
	}
	return out, nil
}

// idOnly is the projection of a step that has clauses but no SELECT.
var idOnly = &ast.Projections{
	Value:  true,
	Fields: []ast.Projection{{X: &ast.Idiom{Parts: []ast.Part{&ast.PartField{Name: "id"}}}}},
}
