package graphql

import (
	"context"
	"errors"
	"slices"

	gast "github.com/vektah/gqlparser/v2/ast"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// runner is some root fields at work. It belongs to one goroutine.
type runner struct {
	o        *Operation
	r        *exec.Run
	buf      []byte
	failures []*Failure
	path     []any
	plans    int
	version  value.Value // what the root field reads; NONE: the present
	broken   error       // a root field failed
	event    bool        // it is about doc, a record that is watched
	doc      value.Value
}

// errNulled says that a value that cannot be null is missing, and that its failure is recorded.
var errNulled = errors.New("nulled")

// roots writes root fields; nulled says that data as a whole is null.
func (x *runner) roots(ctx context.Context, picks []*pick) (nulled bool, err error) {
	for i, p := range picks {
		if i > 0 {
			x.buf = append(x.buf, ',')
		}
		x.buf = appendKey(x.buf, p.key)
		x.path, x.version = append(x.path[:0], p.key), value.None
		mark := len(x.buf)
		err := x.settle(ctx, p, mark, x.root(ctx, p))
		if err == errNulled {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

// settle ends a field that was written from mark on: one that failed is null, or makes what is around it null
// (errNulled). Other errors end the statement.
func (x *runner) settle(ctx context.Context, p *pick, mark int, err error) error {
	if err == nil {
		return x.roomy(ctx)
	}
	if x.ends(ctx, err) {
		return err
	}
	if err != errNulled {
		x.failed(ctx, p, err)
	}
	if len(x.path) == 1 && err != errNulled { // what was written stays where only its answer fails
		x.broken = err
	}
	x.buf = append(x.buf[:mark], "null"...)
	if p.field.Definition != nil && p.field.Definition.Type.NonNull {
		return errNulled
	}
	return nil
}

// roomy counts what was written.
func (x *runner) roomy(ctx context.Context) error {
	if len(x.buf) > x.r.Ex.Limits.Answer {
		return errs.LargeAnswer(x.r.Ex.Limits.Answer)
	}
	if err := x.r.Tick(ctx); err != nil {
		return err
	}
	return x.r.Mem.Reach(cap(x.buf))
}

// ends reports whether an error ends the statement, not only a field of it.
func (x *runner) ends(ctx context.Context, err error) bool {
	if err == errNulled {
		return false
	}
	return ctx.Err() != nil || errors.Is(err, txn.ErrReadOnly) || errors.Is(err, kv.ErrConflict) ||
		errors.Is(err, kv.ErrReadOnly) || errors.Is(err, kv.ErrNoSpace)
}

func (x *runner) failed(ctx context.Context, p *pick, err error) {
	if len(x.failures) < mostFailures {
		x.failures = append(x.failures, &Failure{Err: x.r.Explain(ctx, err), Path: slices.Clone(x.path),
			Locations: locationOf(p.field.Position)})
	}
}

// engine is an error of the engine, as clients are told of it.
func (x *runner) engine(ctx context.Context, err error) error {
	if err == nil || x.ends(ctx, err) || err == errNulled {
		return err
	}
	e := errs.As(x.r.Explain(ctx, err))
	return &errs.Error{Kind: e.Kind, Msg: "Internal Error: Query execution failed: " + e.Msg, Detail: e.Detail, Err: e}
}

// root writes the value of a root field.
func (x *runner) root(ctx context.Context, p *pick) error {
	defer x.r.Mem.Rewind(x.r.Mem.Mark())
	switch p.name {
	case "__typename":
		x.buf = appendText(x.buf, capital(string(x.o.op.Operation)))
		return nil
	case "__schema", "__type":
		return x.introspect(ctx, p)
	}
	if x.event {
		return x.told(ctx, p, x.doc)
	}
	if x.o.op.Operation == gast.Mutation {
		return x.mutation(ctx, x.o.s.mutations[p.name], p)
	}
	root := x.o.s.queries[p.name]
	if v := p.arg("version"); !v.IsNullish() {
		if v.Kind() != value.KindString {
			return resolving("version must be a datetime string")
		}
		d, err := value.ParseDatetime(v.Str())
		if err != nil {
			return resolving("Invalid version datetime: %s", errs.Brief(v.Str(), 128))
		}
		x.version = value.DatetimeOf(d)
	}
	switch root.act {
	case actList:
		return x.list(ctx, root.obj, p)
	case actFetch, actGet:
		return x.fetch(ctx, root.obj, p)
	case actAggregate:
		return x.aggregate(ctx, root.obj, p)
	case actConnection:
		return x.connection(ctx, root.obj, p)
	}
	return x.function(ctx, root, p)
}

// list is a list of the records of a table.
func (x *runner) list(ctx context.Context, o *object, p *pick) error {
	picks, err := p.of(x.o, o.name)
	if err != nil {
		return err
	}
	s := &ast.Select{From: []ast.Expr{&ast.Table{Name: o.table}}}
	if err := x.clauses(s, o, p); err != nil {
		return err
	}
	docs, err := x.read(ctx, o, picks, s, nil)
	if err != nil {
		return err
	}
	return x.objects(ctx, o, docs, picks)
}

// objects writes a list of records.
func (x *runner) objects(ctx context.Context, o *object, docs []value.Value, picks []*pick) error {
	x.buf = append(x.buf, '[')
	for i, doc := range docs {
		if i > 0 {
			x.buf = append(x.buf, ',')
		}
		x.path = append(x.path, i)
		err := x.object(ctx, o, doc, picks)
		x.path = x.path[:len(x.path)-1]
		if err != nil {
			return err
		}
	}
	x.buf = append(x.buf, ']')
	return nil
}

// fetch reads one record: by its key where the table is given, else by its full id.
func (x *runner) fetch(ctx context.Context, o *object, p *pick) error {
	var id value.Value
	var err error
	if o != nil {
		id, err = x.o.conv.key(o.table, p.arg("id"))
	} else if id, err = x.o.conv.id(p.arg("id")); err == nil {
		if o = x.o.s.tables[id.Record().Table]; o == nil {
			err = x.engine(ctx, errs.TableNotFound(id.Record().Table))
		}
	} else {
		err = resolving("Invalid record ID format")
	}
	if err != nil {
		return err
	}
	return x.one(ctx, o, p, id)
}

// one writes a record by its id; null where it is missing or hidden.
func (x *runner) one(ctx context.Context, o *object, p *pick, id value.Value) error {
	picks, err := p.of(x.o, o.name)
	if err != nil {
		return err
	}
	docs, err := x.byID(ctx, o, picks, []value.Value{id})
	if err != nil {
		return err
	}
	if len(docs) == 0 {
		x.buf = append(x.buf, "null"...)
		return nil
	}
	return x.object(ctx, o, docs[0], picks)
}

// function calls a function of the database.
func (x *runner) function(ctx context.Context, root *root, p *pick) error {
	if root.fn == nil {
		x.buf = append(x.buf, "null"...)
		return nil
	}
	call := &ast.Call{Kind: ast.CallCustom, Path: root.fn.Name}
	for _, param := range root.fn.Params {
		name := graphName(param.Name)
		v, err := x.o.conv.to(p.arg(name), root.args[name])
		if err != nil {
			return err
		}
		call.Args = append(call.Args, literalOf(v))
	}
	x.plans++
	v, err := x.r.Value(ctx, x.r.Base, call)
	if err != nil {
		return x.engine(ctx, err)
	}
	if err := x.gatherValues(ctx, p, root.result, []value.Value{v}); err != nil {
		return err
	}
	return x.value(ctx, v, root.result, p)
}
