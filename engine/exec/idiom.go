package exec

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/fn"
	"github.com/nacredb/nacre/engine/inside"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// idiom evaluates a path. A path that does not start from a value starts from the current document.
func (r *Run) idiom(ctx context.Context, env *Env, x *ast.Idiom) (value.Value, error) {
	switch first := x.Parts[0].(type) {
	case *ast.PartStart:
		v, err := r.Eval(ctx, env, first.X)
		if err != nil {
			return value.None, err
		}
		return r.walk(ctx, env, v, x.Parts[1:], false)
	case *ast.PartField:
		if len(x.Parts) == 1 {
			if doc := env.This(); doc.Kind() == value.KindObject {
				v, _ := doc.Object().Get(first.Name)
				return v, nil
			}
		}
	case *ast.PartDoc:
		if v := env.This(); v.Kind() == value.KindArray { // a row that is a list: of each element
			records := make([]value.Value, v.Len())
			for i, e := range v.Elems() {
				records[i] = RecordOf(e)
			}
			return r.mapParts(ctx, env, value.ArrayOf(records), x.Parts[1:])
		}
		return r.walk(ctx, env, RecordOf(env.This()), x.Parts[1:], false)
	}
	return r.walk(ctx, env, env.This(), x.Parts, false)
}

// RecordOf is the record id of a document, or of a record id itself; else NONE.
func RecordOf(v value.Value) value.Value {
	switch v.Kind() {
	case value.KindRecord:
		return v
	case value.KindObject:
		if id, ok := v.Object().Get("id"); ok && id.Kind() == value.KindRecord {
			return id
		}
	}
	return value.None
}

// walk follows parts from v. Access that leads nowhere is NONE, never an error. Once a field, .* or
// a graph part with more behind it has mapped over an array (mapped), the parts after it have been
// applied to each element, and deeper arrays are mapped one part at a time.
func (r *Run) walk(ctx context.Context, env *Env, v value.Value, parts []ast.Part, mapped bool) (value.Value, error) {
	found := false // v is what a graph part found, or some of it: one list of records
	for i := 0; i < len(parts); i++ {
		var err error
		switch p := parts[i].(type) {
		case *ast.PartField:
			if v.Kind() == value.KindArray && !mapped {
				return r.mapParts(ctx, env, v, parts[i:])
			}
			v, err = r.field(ctx, v, p.Name)
		case *ast.PartAll:
			if v.Kind() == value.KindArray {
				if v, err = r.fetchAll(ctx, v); err != nil {
					return value.None, err
				}
				if i+1 < len(parts) && !mapped {
					return r.mapParts(ctx, env, v, parts[i+1:])
				}
				break
			}
			v, err = r.all(ctx, v)
		case *ast.PartLast:
			v = inside.Last(v)
		case *ast.PartIndex:
			v, err = r.index(ctx, env, v, p.X)
		case *ast.PartWhere:
			around := env
			if found { // of a path over edges
				around = env.withRow(value.None).WithDoc(value.None)
				around.stands = asElement
			}
			v, err = r.filter(ctx, around, v, p.X)
		case *ast.PartOptional:
			if v.IsNullish() {
				return v, nil
			}
		case *ast.PartFlatten:
			v = inside.Flatten(v)
		case *ast.PartDestructure:
			v, err = r.destructure(ctx, env, v, p.Fields, parts[i:]...)
			found = false
		case *ast.PartMethod:
			v, err = r.method(ctx, env, v, p)
			found = false
		case *ast.PartCall:
			v, err = r.callPart(ctx, env, v, p.Args)
		case *ast.PartGraph:
			n := graphRun(parts[i:])
			if v.Kind() == value.KindArray && !mapped && !found && len(parts)-i > 1 {
				return r.mapParts(ctx, env, v, parts[i:])
			}
			v, err = r.graph(ctx, env, v, parts[i:i+n])
			found = true
			i += n - 1
		case *ast.PartRecurse:
			return r.recurse(ctx, env, v, p.Recurse, parts[i+1:])
		case *ast.PartRepeat:
			v, err = r.repeat(ctx, env, v)
		default:
			return value.None, NotRunnable(p)
		}
		if err == nil && !v.Light() {
			v, err = r.weighed(v)
		}
		if err != nil {
			return value.None, err
		}
	}
	return v, nil
}

// graphRun is how many graph parts stand in a row.
func graphRun(parts []ast.Part) int {
	n := 0
	for n < len(parts) {
		if _, ok := parts[n].(*ast.PartGraph); !ok {
			break
		}
		n++
	}
	return n
}

func (r *Run) mapParts(ctx context.Context, env *Env, v value.Value, parts []ast.Part) (value.Value, error) {
	out, sum, ahead := make([]value.Value, v.Len()), held(0), record.Ahead{}
	for i, e := range v.Elems() {
		if err := r.reach(ctx, &ahead, v.Elems()[i:], parts); err != nil {
			return value.None, err
		}
		w, err := r.walk(ctx, env, e, parts, true)
		if err == nil {
			err = sum.add(r, w)
		}
		if err != nil {
			return value.None, err
		}
		out[i] = w
	}
	return value.ArrayOf(out), nil
}

// field is v.name: of an object, of each element of an array, or of a link. A link reads the part of its key that has
// the name, else the field of its record.
//
// SECURITY: the key comes first. A record may be changed, its key may not, and rules such as id.tenant =
// $auth.id.tenant rest on the key.
func (r *Run) field(ctx context.Context, v value.Value, name string) (value.Value, error) {
	switch v.Kind() {
	case value.KindObject:
		w, _ := v.Object().Get(name)
		return w, nil
	case value.KindRecord:
		if w, ok := v.Record().Part(name); ok {
			return w, nil
		}
		id := v.Record()
		if id.Key.Kind() == value.KindRange {
			return value.None, nil
		}
		g, err := r.Gate()
		if err != nil {
			return value.None, err
		}
		return g.Field(ctx, id, name)
	case value.KindArray:
		out, sum := make([]value.Value, v.Len()), held(0)
		for i, e := range v.Elems() {
			w, err := r.field(ctx, e, name)
			if err == nil {
				err = sum.add(r, w)
			}
			if err != nil {
				return value.None, err
			}
			out[i] = w
		}
		return value.ArrayOf(out), nil
	case value.KindGeometry:
		return v.Geometry().Field(name), nil
	}
	return value.None, nil
}

// all is v.* of anything but an array: what has nothing inside gives NONE.
func (r *Run) all(ctx context.Context, v value.Value) (value.Value, error) {
	switch v.Kind() {
	case value.KindSet:
		return r.fetchAll(ctx, value.ArrayOf(v.Elems()))
	case value.KindObject:
		return v, nil
	case value.KindRecord:
		return r.Fetch(ctx, v.Record())
	}
	return value.None, nil
}

// fetchAll puts records in the place of the links in an array.
func (r *Run) fetchAll(ctx context.Context, v value.Value) (value.Value, error) {
	elems, sum, ahead := v.Elems(), held(0), record.Ahead{}
	var out []value.Value
	for i, e := range elems {
		if e.Kind() != value.KindRecord {
			continue
		}
		if err := r.reach(ctx, &ahead, elems[i:]); err != nil {
			return value.None, err
		}
		if out == nil {
			out = append([]value.Value(nil), elems...)
		}
		doc, err := r.Fetch(ctx, e.Record())
		if err == nil {
			err = sum.add(r, doc)
		}
		if err != nil {
			return value.None, err
		}
		out[i] = doc
	}
	if out == nil {
		return v, nil
	}
	return value.ArrayOf(out), nil
}

// index is v[x]: a number or range into an array, a name into an object, a number or name into the key of a record.
func (r *Run) index(ctx context.Context, env *Env, v value.Value, x ast.Expr) (value.Value, error) {
	at, err := r.Eval(ctx, env, x)
	if err != nil {
		return value.None, err
	}
	switch v.Kind() {
	case value.KindArray, value.KindSet:
		if at.Kind() == value.KindRange && v.Kind() == value.KindArray {
			return inside.Slice(v.Elems(), at.Range()), nil
		}
		return inside.Element(v, at), nil
	case value.KindRecord:
		if at.Kind() == value.KindString {
			w, _ := v.Record().Part(at.Str())
			return w, nil
		}
		return inside.Element(v.Record().Key, at), nil
	case value.KindObject:
		switch at.Kind() {
		case value.KindString:
			w, _ := v.Object().Get(at.Str())
			return w, nil
		case value.KindInt:
			w, _ := v.Object().Get(at.Text())
			return w, nil
		}
	}
	return value.None, nil
}

// filter is v[WHERE x]: elements are tried as the document; links are looked through but kept.
func (r *Run) filter(ctx context.Context, env *Env, v value.Value, x ast.Expr) (value.Value, error) {
	one := [1]value.Value{v}
	elems := one[:]
	if v.Kind() == value.KindArray {
		elems = v.Elems()
	}
	inner := env.WithThis(value.None)
	inner.stands = asElement
	out, ahead := make([]value.Value, 0, len(elems)), record.Ahead{}
	for i, e := range elems {
		if err := r.reach(ctx, &ahead, elems[i:]); err != nil {
			return value.None, err
		}
		inner.SetDoc(e)
		ok, err := r.Eval(ctx, inner, x)
		if err != nil {
			return value.None, err
		}
		if value.Truthy(ok) {
			out = append(out, e)
		}
	}
	return value.ArrayOf(out), nil
}

// destructure is v.{a, b: x, c.*, d.{e}}: the fields of c stand beside a, where c is an object; the last of equal names
// counts.
func (r *Run) destructure(ctx context.Context, env *Env, v value.Value,
	fields []ast.DestructureField, path ...ast.Part) (value.Value, error) {
	switch v.Kind() {
	case value.KindArray:
		out, sum, ahead := make([]value.Value, v.Len()), held(0), record.Ahead{}
		for i, e := range v.Elems() {
			if err := r.reach(ctx, &ahead, v.Elems()[i:], path); err != nil {
				return value.None, err
			}
			w, err := r.destructure(ctx, env, e, fields)
			if err == nil {
				err = sum.add(r, w)
			}
			if err != nil {
				return value.None, err
			}
			out[i] = w
		}
		return value.ArrayOf(out), nil
	case value.KindRecord:
		doc, err := r.Fetch(ctx, v.Record())
		if err != nil || doc.Kind() != value.KindObject {
			return value.None, err
		}
		return r.destructureDoc(ctx, env, doc, v.Record(), fields)
	case value.KindObject:
		return r.destructureDoc(ctx, env, v, nil, fields)
	}
	return value.None, nil
}

// destructureDoc destructures an object. link is the id that led to it, whose key is read as field does; nil: none.
func (r *Run) destructureDoc(ctx context.Context, env *Env, v value.Value, link *value.RecordID,
	fields []ast.DestructureField) (value.Value, error) {
	inner, sum := env.WithThis(v), held(0)
	out := make([]value.Field, 0, len(fields))
	for i := range fields {
		f := &fields[i]
		w, err := r.destructured(ctx, inner, v.Object(), link, f)
		if err == nil {
			err = sum.add(r, w)
		}
		switch {
		case err != nil:
			return value.None, err
		case !f.All, isLink(v.Object(), f.Name):
			out = append(out, value.Field{Name: f.Name, Value: w})
		case w.Kind() == value.KindObject:
			out = append(out, w.Object().Fields()...)
		}
	}
	return value.ObjectOf(value.NewObject(out...)), nil
}

// isLink reports whether a field leads to another record: its .* is that record, and not fields of this one.
func isLink(o *value.Object, name string) bool {
	v, _ := o.Get(name)
	return v.Kind() == value.KindRecord
}

// destructured is the value of one field of a destructuring.
func (r *Run) destructured(ctx context.Context, env *Env, o *value.Object, link *value.RecordID,
	f *ast.DestructureField) (value.Value, error) {
	if f.Expr != nil {
		return r.Eval(ctx, env, f.Expr)
	}
	v, ok := link.Part(f.Name)
	if !ok {
		v, _ = o.Get(f.Name)
	}
	switch {
	case f.Nested != nil:
		return r.destructure(ctx, env, v, f.Nested)
	case f.All && v.Kind() == value.KindRecord:
		return r.Fetch(ctx, v.Record())
	}
	return v, nil
}

// method is v.name(args): a built-in of v's kind, else a closure in a field of an object.
func (r *Run) method(ctx context.Context, env *Env, v value.Value, p *ast.PartMethod) (value.Value, error) {
	m, ok := p.Impl.(*fn.Method)
	if !ok {
		m, ok = r.Ex.Functions.Method(p.Name)
	}
	if !ok {
		if v.Kind() == value.KindObject {
			if f, _ := v.Object().Get(p.Name); f.Kind() == value.KindClosure {
				return r.callPart(ctx, env, f, p.Args)
			}
		}
		return value.None, fn.NoMethod(p.Name, v)
	}
	if f, ok := m.For(v.Kind()); ok {
		if err := r.mayCall(f); err != nil {
			return value.None, err
		}
	}
	base := len(r.args)
	r.args = append(r.args, v)
	if err := r.push(ctx, env, p.Args); err != nil {
		r.pop(base)
		return value.None, err
	}
	v, err := m.Call(r.enterHost(ctx, env, p.Name), r.args[base:len(r.args):len(r.args)])
	r.leaveHost()
	if err == nil {
		err = r.bounded(ctx, v, r.args[base:])
	}
	r.pop(base)
	return v, err
}

// callPart is v(args).
func (r *Run) callPart(ctx context.Context, env *Env, f value.Value, args []ast.Expr) (value.Value, error) {
	base := len(r.args)
	if err := r.push(ctx, env, args); err != nil {
		return value.None, err
	}
	v, err := r.call(ctx, env, f, r.args[base:len(r.args):len(r.args)], nil)
	r.pop(base)
	return v, err
}

// repeat is .@ outside a recursion; inside one, recurse.go puts the depth on the run.
func (r *Run) repeat(ctx context.Context, env *Env, v value.Value) (value.Value, error) {
	if r.tree == nil {
		return value.None, errs.Internal("Tried to use a `@` repeat recurse symbol in a position where it is not supported")
	}
	return r.tree.descend(ctx, r, env, v)
}
