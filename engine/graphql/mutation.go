package graphql

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/value"
)

// mutation runs one mutation field.
func (x *runner) mutation(ctx context.Context, root *root, p *pick) error {
	o := root.obj
	switch root.act {
	case actCreate:
		return x.create(ctx, o, p, p.arg("data"))
	case actDelete:
		return x.delete(ctx, root, p)
	case actUpdate, actUpsert:
		return x.update(ctx, root, p)
	}
	return errMismatch // signing in is not for statements
}

// written are the members of an input of a table, and the id and ends among them.
type written struct {
	data        value.Value // an object; NONE: nothing is set
	id, in, out value.Value
}

// writtenOf reads an input of a table. Members that are null are left out.
func (x *runner) writtenOf(o *object, v value.Value) (written, error) {
	var out written
	if v.Kind() != value.KindObject {
		return out, resolving("'data' must be an object")
	}
	var fields []value.Field
	for _, m := range v.Object().Fields() {
		if m.Value.IsNullish() {
			continue
		}
		var err error
		switch {
		case m.Name == "id":
			out.id, err = x.o.conv.key(o.table, m.Value)
		case o.relation && m.Name == "in":
			out.in, err = x.o.conv.id(m.Value)
		case o.relation && m.Name == "out":
			out.out, err = x.o.conv.id(m.Value)
		default:
			f := o.fields[m.Name]
			if f == nil || f.shape == nil {
				return out, resolving("Field `%s` not found", m.Name)
			}
			var to value.Value
			to, err = x.o.conv.to(m.Value, f.shape)
			fields = append(fields, value.Field{Name: f.real, Value: to})
		}
		if err != nil {
			return out, err
		}
	}
	if len(fields) > 0 {
		out.data = value.ObjectOf(value.NewObject(fields...))
	}
	return out, nil
}

// clause is the data clause that sets what was written; nil for nothing.
func (w *written) clause(kind ast.DataKind) *ast.Data {
	if w.data.IsNone() {
		return nil
	}
	return &ast.Data{Kind: kind, X: literalOf(w.data)}
}

// run runs a statement that writes; its rows as a list.
func (x *runner) run(ctx context.Context, s ast.Statement) ([]value.Value, error) {
	x.plans++
	v, _, err := x.r.Statement(ctx, s)
	if err == nil {
		err = x.r.Mem.Charge(value.Weight(v))
	}
	if err != nil {
		return nil, x.engine(ctx, err)
	}
	switch {
	case v.Kind() == value.KindArray:
		return v.Elems(), nil
	case v.IsNullish():
		return nil, nil
	}
	return []value.Value{v}, nil
}

var errNoResult = errors.New("Error resolving request: Create returned no result for bulk create")

// create makes one record, and an edge where the table is a relation.
func (x *runner) create(ctx context.Context, o *object, p *pick, data value.Value) error {
	w, err := x.writtenOf(o, data)
	if err != nil {
		return err
	}
	var target ast.Expr = &ast.Table{Name: o.table}
	if !w.id.IsNone() {
		target = literalOf(w.id)
	}
	var s ast.Statement = &ast.Create{Targets: []ast.Expr{target}, Data: w.clause(ast.DataContent)}
	if o.relation {
		if w.in.IsNone() || w.out.IsNone() {
			end := "in"
			if !w.in.IsNone() {
				end = "out"
			}
			return resolving("Relation create requires '%s' field", end)
		}
		s = &ast.Relate{From: literalOf(w.in), Edge: target, To: literalOf(w.out), Data: w.clause(ast.DataContent)}
	}
	rows, err := x.run(ctx, s)
	if err != nil {
		return err
	}
	return x.changed(ctx, o, p, rows)
}

// changed writes the one record that a statement changed; null for none.
func (x *runner) changed(ctx context.Context, o *object, p *pick, rows []value.Value) error {
	if len(rows) == 0 || exec.RecordOf(rows[0]).IsNone() {
		return x.null()
	}
	picks, err := p.of(x.o, o.name)
	if err != nil {
		return err
	}
	if err := x.gather(ctx, o, rows[:1], picks); err != nil {
		return err
	}
	return x.object(ctx, o, rows[0], picks)
}

// update changes one record, or all that a filter finds.
func (x *runner) update(ctx context.Context, root *root, p *pick) error {
	o := root.obj
	w, err := x.writtenOf(o, p.arg("data"))
	if err != nil {
		return err
	}
	s := &ast.Update{Upsert: root.act == actUpsert}
	if s.Upsert && o.relation {
		w.data = withEnds(w)
	}
	if s.Data = w.clause(ast.DataMerge); s.Upsert {
		s.Data = w.clause(ast.DataContent)
	}
	if root.bulk {
		if !w.id.IsNone() {
			return resolving("'data' cannot set the id of several records")
		}
		s.Targets = []ast.Expr{&ast.Table{Name: o.table}}
		if s.Where, err = x.condition(o, p); err != nil {
			return err
		}
	} else {
		id, err := x.o.conv.key(o.table, p.arg("id"))
		if err != nil {
			return err
		}
		if !w.id.IsNone() && !value.Equal(w.id, id) {
			return resolving("The id in 'data' is not the id of the record")
		}
		s.Targets = []ast.Expr{literalOf(id)}
	}
	rows, err := x.run(ctx, s)
	if err != nil {
		return err
	}
	if !root.bulk {
		return x.changed(ctx, o, p, rows)
	}
	picks, err := p.of(x.o, o.name)
	if err != nil {
		return err
	}
	rows = slices.DeleteFunc(slices.Clone(rows), func(v value.Value) bool { return exec.RecordOf(v).IsNone() })
	if err := x.gather(ctx, o, rows, picks); err != nil {
		return err
	}
	return x.objects(ctx, o, rows, picks)
}

// withEnds is the data of an edge with its ends.
func withEnds(w written) value.Value {
	fields := []value.Field{}
	if !w.data.IsNone() {
		fields = append(fields, w.data.Object().Fields()...)
	}
	for _, end := range [...]value.Field{{Name: "in", Value: w.in}, {Name: "out", Value: w.out}} {
		if !end.Value.IsNone() {
			fields = append(fields, end)
		}
	}
	return value.ObjectOf(value.NewObject(fields...))
}

// condition is the where of a mutation: an empty one holds for all records.
func (x *runner) condition(o *object, p *pick) (ast.Expr, error) {
	v := p.arg("where")
	if v.IsNullish() || v.Kind() == value.KindObject && v.Object().Len() == 0 {
		return nil, nil
	}
	return (&conditions{x.o.conv}).table(o, v, nil)
}

// delete deletes one record, or all that a filter finds.
func (x *runner) delete(ctx context.Context, root *root, p *pick) error {
	o := root.obj
	s := &ast.Delete{Output: &ast.Output{Kind: ast.OutputBefore}}
	if root.bulk {
		where, err := x.condition(o, p)
		if err != nil {
			return err
		}
		s.Targets, s.Where = []ast.Expr{&ast.Table{Name: o.table}}, where
	} else {
		id, err := x.o.conv.key(o.table, p.arg("id"))
		if err != nil {
			return err
		}
		s.Targets = []ast.Expr{literalOf(id)}
	}
	rows, err := x.run(ctx, s)
	if err != nil {
		return err
	}
	if root.bulk {
		x.buf = strconv.AppendInt(x.buf, int64(len(rows)), 10)
		return nil
	}
	return x.flag(true) // whether there was one or not
}
