package exec

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/column"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/inside"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// FetchPaths compiles FETCH or OMIT: idioms, type::field(s) calls, and parameters that hold names.
func (r *Run) FetchPaths(ctx context.Context, env *Env, xs []ast.Expr) ([][]ast.Part, error) {
	var out [][]ast.Part
	for _, x := range xs {
		switch x := x.(type) {
		case *ast.Idiom:
			out = append(out, x.Parts)
			continue
		case *ast.Table:
			out = append(out, []ast.Part{&ast.PartField{Name: x.Name}})
			continue
		case *ast.Call:
			if SelfNaming(x) {
				ids, _, err := r.FieldPaths(ctx, env, x)
				if err != nil {
					return nil, err
				}
				for _, id := range ids {
					out = append(out, id.Parts)
				}
				continue
			}
		}
		v, err := r.Eval(ctx, env, x)
		if err != nil {
			return nil, err
		}
		if v.Kind() != value.KindString {
			return nil, errs.Internal("Found %s on FETCH CLAUSE, but FETCH expects an idiom, a string or fields", v.Brief())
		}
		id, err := r.Ex.ReadPath(v.Str())
		if err != nil {
			return nil, errs.Internal("Invalid field path '%s': %s", v.Str(), err)
		}
		out = append(out, id.Parts)
	}
	return out, nil
}

// fetcher reads the records behind links, for one FETCH. Rows often link to the same records: those that are the same
// whenever they are read are kept.
type fetcher struct {
	r     *Run
	known map[string]value.Value // by the wire form of the link; NONE: there is no record
	buf   []byte
}

// maxKnown is how many records a fetcher keeps.
const maxKnown = 16384

// record reads the record behind a link; NONE where it is missing or hidden.
func (f *fetcher) record(ctx context.Context, link value.Value) (value.Value, error) {
	id := link.Record()
	if f.r.Tx.Writable() { // a writing transaction may change what was read
		return f.r.Fetch(ctx, id)
	}
	var err error
	if f.buf, err = value.AppendCBOR(f.buf[:0], link); err != nil {
		return f.r.Fetch(ctx, id)
	}
	if doc, ok := f.known[string(f.buf)]; ok {
		return doc, nil
	}
	doc, err := f.r.Fetch(ctx, id)
	if err != nil {
		return value.None, err
	}
	return doc, f.keep(id.Table, doc)
}

// keep keeps the record of the link in buf, where it is the same each time: nothing of it is computed or hidden.
func (f *fetcher) keep(table string, doc value.Value) error {
	if len(f.known) >= maxKnown {
		return nil
	}
	g, err := f.r.Gate()
	if err != nil {
		return err
	}
	plain, err := g.ReadsPlain(table)
	if !plain || err != nil {
		return err
	}
	if f.known == nil {
		f.known = make(map[string]value.Value)
	}
	f.known[string(f.buf)] = doc
	return nil
}

// into puts records in the place of the links at a path: NONE for those that are missing or
// hidden. A path that leads nowhere changes nothing.
func (f *fetcher) into(ctx context.Context, v value.Value, path []ast.Part) (value.Value, error) {
	if v.Kind() == value.KindRecord {
		if err := f.r.Tick(ctx); err != nil {
			return value.None, err
		}
		doc, err := f.record(ctx, v)
		if err != nil || doc.IsNone() {
			return value.None, err
		}
		v = doc
	}
	if len(path) == 0 {
		if v.Kind() != value.KindArray {
			return v, nil
		}
		return f.eachElem(ctx, v, nil)
	}
	switch p := path[0].(type) {
	case *ast.PartField:
		return f.fetchField(ctx, v, p.Name, path)
	case *ast.PartGraph:
		return f.fetchField(ctx, v, column.Step(p.Graph), path)
	case *ast.PartAll:
		if v.Kind() == value.KindArray {
			return f.eachElem(ctx, v, path[1:])
		}
		if v.Kind() == value.KindObject {
			return f.eachField(ctx, v, path[1:])
		}
	case *ast.PartIndex:
		lit, ok := p.X.(*ast.Literal)
		if !ok || v.Kind() != value.KindArray {
			return v, nil
		}
		i, ok := inside.Whole(lit.Value)
		if !ok || i < 0 || i >= int64(v.Len()) {
			return v, nil
		}
		return f.oneElem(ctx, v, int(i), path[1:])
	case *ast.PartLast:
		if v.Kind() == value.KindArray && v.Len() > 0 {
			return f.oneElem(ctx, v, v.Len()-1, path[1:])
		}
	}
	return v, nil
}

func (f *fetcher) fetchField(ctx context.Context, v value.Value, name string, path []ast.Part) (value.Value, error) {
	switch v.Kind() {
	case value.KindArray:
		return f.eachElem(ctx, v, path)
	case value.KindObject:
		if len(path) == 1 && len(f.known) > 0 {
			if doc, ok := f.known[string(v.Object().Raw(name))]; ok && doc.Kind() == value.KindObject {
				return value.ObjectOf(v.Object().With(name, doc)), nil
			}
		}
		old, ok := v.Object().Get(name)
		if !ok {
			return v, nil
		}
		now, err := f.into(ctx, old, path[1:])
		if err != nil {
			return value.None, err
		}
		return value.ObjectOf(v.Object().With(name, now)), nil
	}
	return v, nil
}

func (f *fetcher) eachElem(ctx context.Context, v value.Value, path []ast.Part) (value.Value, error) {
	out, sum, ahead := make([]value.Value, v.Len()), held(0), record.Ahead{}
	for i, e := range v.Elems() {
		if err := f.r.reach(ctx, &ahead, v.Elems()[i:]); err != nil {
			return value.None, err
		}
		w, err := f.into(ctx, e, path)
		if err == nil {
			err = sum.add(f.r, w)
		}
		if err != nil {
			return value.None, err
		}
		out[i] = w
	}
	return value.ArrayOf(out), nil
}

// reach is Tick at an element of a list, with the elements from that one on: paths are about to be followed from each;
// none of parts, or no path, is the link that it is.
func (r *Run) reach(ctx context.Context, a *record.Ahead, next []value.Value, paths ...[]ast.Part) error {
	g, err := r.nears(ctx)
	switch {
	case g == nil:
		return err
	case len(paths) == 0:
		return a.Reach(g, next)
	}
	return a.Follow(g, next, paths...)
}

// nears is Tick, and gives the gate to read ahead by; nil where the store is here, or no database is in use.
func (r *Run) nears(ctx context.Context) (*record.Gate, error) {
	if err := r.Tick(ctx); err != nil || !r.Tx.Prefetches() || r.Auth.DB == "" {
		return nil, err
	}
	return r.Gate()
}

func (f *fetcher) oneElem(ctx context.Context, v value.Value, i int, path []ast.Part) (value.Value, error) {
	w, err := f.into(ctx, v.Elems()[i], path)
	if err != nil {
		return value.None, err
	}
	out := append([]value.Value(nil), v.Elems()...)
	out[i] = w
	return value.ArrayOf(out), nil
}

func (f *fetcher) eachField(ctx context.Context, v value.Value, path []ast.Part) (value.Value, error) {
	fields, sum := append([]value.Field(nil), v.Object().Fields()...), held(0)
	for i := range fields {
		w, err := f.into(ctx, fields[i].Value, path)
		if err == nil {
			err = sum.add(f.r, w)
		}
		if err != nil {
			return value.None, err
		}
		fields[i].Value = w
	}
	return value.ObjectOf(value.ObjectOfSorted(fields)), nil
}

// Follow puts records in the places of the links in v that paths lead to.
func (r *Run) Follow(ctx context.Context, v value.Value, paths [][]ast.Part) (value.Value, error) {
	links, err := &fetcher{r: r}, error(nil)
	for _, p := range paths {
		if v, err = links.into(ctx, v, p); err != nil {
			return value.None, err
		}
	}
	return v, nil
}
