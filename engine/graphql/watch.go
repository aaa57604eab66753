package graphql

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// Watch is the live query of a subscription.
func (o *Operation) Watch(readPath func(text string) (*ast.Idiom, error)) (*ast.Live, error) {
	p := o.flat[0]
	root := o.s.subscriptions[p.name]
	if root == nil { // __typename alone
		return nil, resolving("A subscription names one field of a table")
	}
	if err := fetchable(p.arg("fetch"), readPath); err != nil {
		return nil, err
	}
	picks, err := p.of(o, root.obj.name)
	if err != nil {
		return nil, err
	}
	v := p.arg("filter")
	if v.IsNullish() {
		v = p.arg("where")
	}
	var conds []ast.Expr
	if id := p.arg("id"); !id.IsNullish() {
		x, err := o.watched(root.obj, id)
		if err != nil {
			return nil, err
		}
		conds = append(conds, x)
	}
	if !v.IsNullish() {
		x, err := (&conditions{o.conv}).table(root.obj, v, nil)
		if err != nil {
			return nil, err
		}
		conds = append(conds, x)
	}
	return &ast.Live{From: &ast.Table{Name: root.obj.table}, Where: joined(ast.OpAnd, conds),
		Projections: projection(root.obj, picks, nil)}, nil
}

// watched is the condition for one record.
func (o *Operation) watched(obj *object, v value.Value) (ast.Expr, error) {
	if v.Kind() != value.KindString {
		return nil, resolving("id must be a record ID string")
	}
	id, err := o.conv.id(v)
	if err != nil {
		return nil, resolving("Invalid record ID format: %s", errs.Brief(v.Str(), 128))
	}
	if id.Record().Table != obj.table {
		return nil, resolving("Record ID `%s` does not belong to table `%s`", errs.Brief(v.Str(), 128), obj.table)
	}
	return binary(ast.OpEqual, place(nil).field("id").expr(), literalOf(id)), nil
}

// fetchable checks the paths of fetch. Links are followed where they are selected, so nothing else is done with them.
func fetchable(v value.Value, readPath func(text string) (*ast.Idiom, error)) error {
	if v.IsNullish() {
		return nil
	}
	if v.Kind() != value.KindArray {
		return resolving("fetch must be a list of strings")
	}
	for _, e := range v.Elems() {
		if _, err := readPath(value.ToString(e)); err != nil {
			return resolving("Invalid fetch path: %s", errs.Brief(value.ToString(e), 128))
		}
	}
	return nil
}

// Event is the part that tells of a record that a subscription watches.
func (o *Operation) Event(doc value.Value) *Part {
	picks := make([]*pick, len(o.flat)) // of its own: what is read for one event is not that of the next
	for i, p := range o.flat {
		fresh := *p
		fresh.subs = nil
		picks[i] = &fresh
	}
	return &Part{o: o, picks: picks, data: doc, event: true}
}

// told writes the record that an event is about.
func (x *runner) told(ctx context.Context, p *pick, doc value.Value) error {
	obj := x.o.s.subscriptions[p.name].obj
	picks, err := p.of(x.o, obj.name)
	if err != nil {
		return err
	}
	if err := x.gather(ctx, obj, []value.Value{doc}, picks); err != nil {
		return err
	}
	return x.object(ctx, obj, doc, picks)
}
