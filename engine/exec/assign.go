package exec

import (
	"slices"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

// assign puts v at a place inside doc. Objects that are missing on the way are made; a place inside something that has
// no inside, or beyond the end of an array, is left alone without an error.
func (r *Run) assign(env *Env, doc value.Value, parts []ast.Part, op ast.AssignOp, v value.Value) (value.Value, error) {
	return r.rewrite(env, doc, parts, func(old value.Value) (value.Value, error) { return combine(op, old, v) })
}

// rewrite replaces what is at a place by what f makes of it.
func (r *Run) rewrite(env *Env, doc value.Value, parts []ast.Part, f func(value.Value) (value.Value, error)) (value.Value, error) {
	if len(parts) == 0 {
		return f(doc)
	}
	rest := parts[1:]
	inside := func(v value.Value) (value.Value, error) { return r.rewrite(env, v, rest, f) }
	switch p := parts[0].(type) {
	case *ast.PartField:
		if isArray(doc) {
			return mapElems(doc, func(e value.Value) (value.Value, error) { return r.rewrite(env, e, parts, f) })
		}
		return withField(doc, p.Name, inside)
	case *ast.PartIndex:
		at, err := r.Eval(env, p.X)
		if err != nil {
			return doc, err
		}
		if i, ok := elemIndex(doc, at); ok {
			return withElem(doc, i, inside)
		}
		if !isArray(doc) {
			return withField(doc, fieldName(at), inside)
		}
	case *ast.PartAll:
		out, err := mapElems(doc, inside)
		if err == nil && len(rest) == 0 && isArray(out) {
			out = value.ArrayOf(slices.DeleteFunc(out.Elems(), value.Value.IsNone))
		}
		return out, err
	case *ast.PartLast:
		if isArray(doc) && doc.Len() > 0 {
			return withElem(doc, doc.Len()-1, inside)
		}
	case *ast.PartWhere:
		return mapElems(doc, func(e value.Value) (value.Value, error) {
			ok, err := r.Eval(env.WithThis(e), p.X)
			if err != nil || !value.Truthy(ok) {
				return e, err
			}
			return inside(e)
		})
	case *ast.PartFlatten, *ast.PartOptional:
		return inside(doc)
	}
	return doc, nil
}

func isArray(v value.Value) bool { return v.Kind() == value.KindArray }

// fieldName is the name that an index in brackets stands for in an object.
func fieldName(at value.Value) string {
	if at.Kind() == value.KindString {
		return at.Str()
	}
	return at.Text()
}

// elemIndex is the position in an array that at means, if it is one.
func elemIndex(v, at value.Value) (int, bool) {
	if !isArray(v) || at.Kind() != value.KindInt || at.Int() < 0 || at.Int() >= int64(v.Len()) {
		return 0, false
	}
	return int(at.Int()), true
}

// withField rewrites one field of an object, or of a new one where there is nothing.
func withField(doc value.Value, name string, f func(value.Value) (value.Value, error)) (value.Value, error) {
	switch doc.Kind() {
	case value.KindObject:
		old, _ := doc.Object().Get(name)
		now, err := f(old)
		if err != nil || now == old {
			return doc, err
		}
		if now.IsNone() {
			return value.ObjectOf(doc.Object().Without(name)), nil
		}
		return value.ObjectOf(doc.Object().With(name, now)), nil
	case value.KindNone, value.KindNull, value.KindRecord: // a link gives way to what is written inside it, as upstream
		now, err := f(value.None)
		if err != nil || now.IsNone() {
			return doc, err
		}
		return value.ObjectOf(value.NewObject(value.Field{Name: name, Value: now})), nil
	}
	return doc, nil
}

func withElem(doc value.Value, i int, f func(value.Value) (value.Value, error)) (value.Value, error) {
	now, err := f(doc.Elems()[i])
	if err != nil {
		return doc, err
	}
	if now.IsNone() {
		return without(doc, i), nil
	}
	elems := append([]value.Value(nil), doc.Elems()...)
	elems[i] = now
	return value.ArrayOf(elems), nil
}

// mapElems rewrites every element of an array or every value of an object. What becomes NONE goes.
func mapElems(doc value.Value, f func(value.Value) (value.Value, error)) (value.Value, error) {
	switch doc.Kind() {
	case value.KindArray:
		out := make([]value.Value, 0, doc.Len())
		for _, e := range doc.Elems() {
			now, err := f(e)
			if err != nil {
				return doc, err
			}
			if !now.IsNone() || e.IsNone() {
				out = append(out, now)
			}
		}
		return value.ArrayOf(out), nil
	case value.KindObject:
		fields := doc.Object().Fields()
		out := make([]value.Field, 0, len(fields))
		for _, fd := range fields {
			now, err := f(fd.Value)
			if err != nil {
				return doc, err
			}
			if !now.IsNone() {
				out = append(out, value.Field{Name: fd.Name, Value: now})
			}
		}
		return value.ObjectOf(value.ObjectOfSorted(out)), nil
	}
	return doc, nil
}

// unset removes what is at a place.
func (r *Run) unset(env *Env, doc value.Value, parts []ast.Part) (value.Value, error) {
	n := len(parts) - 1
	if n < 0 {
		return doc, nil
	}
	// The last step removes from its container; what is before it leads there.
	if n > 0 {
		return r.rewrite(env, doc, parts[:n], func(v value.Value) (value.Value, error) { return r.unset(env, v, parts[n:]) })
	}
	switch p := parts[0].(type) {
	case *ast.PartField:
		switch doc.Kind() {
		case value.KindObject:
			return value.ObjectOf(doc.Object().Without(p.Name)), nil
		case value.KindArray:
			return mapElems(doc, func(e value.Value) (value.Value, error) { return r.unset(env, e, parts) })
		}
	case *ast.PartIndex:
		at, err := r.Eval(env, p.X)
		if err != nil {
			return doc, err
		}
		if i, ok := elemIndex(doc, at); ok {
			return without(doc, i), nil
		}
		if doc.Kind() == value.KindObject {
			return value.ObjectOf(doc.Object().Without(fieldName(at))), nil
		}
	case *ast.PartLast:
		if isArray(doc) && doc.Len() > 0 {
			return without(doc, doc.Len()-1), nil
		}
	case *ast.PartAll:
		switch doc.Kind() {
		case value.KindArray:
			return value.Array(), nil
		case value.KindObject:
			return value.ObjectOf(nil), nil
		}
	case *ast.PartWhere:
		if isArray(doc) {
			return r.unsetWhere(env, doc, p.X)
		}
	}
	return doc, nil
}

func (r *Run) unsetWhere(env *Env, doc value.Value, cond ast.Expr) (value.Value, error) {
	var kept []value.Value
	for _, e := range doc.Elems() {
		ok, err := r.Eval(env.WithThis(e), cond)
		if err != nil {
			return doc, err
		}
		if !value.Truthy(ok) {
			kept = append(kept, e)
		}
	}
	return value.ArrayOf(kept), nil
}

func without(doc value.Value, i int) value.Value {
	elems := doc.Elems()
	out := make([]value.Value, 0, len(elems)-1)
	out = append(out, elems[:i]...)
	return value.ArrayOf(append(out, elems[i+1:]...))
}

// combine is an assignment operator. What does not go together leaves the old value.
func combine(op ast.AssignOp, old, v value.Value) (value.Value, error) {
	switch op {
	case ast.AssignAdd:
		return value.AddAssign(old, v)
	case ast.AssignSub:
		return value.SubAssign(old, v)
	case ast.AssignExtend:
		return value.ExtendAssign(old, v), nil
	}
	return v, nil
}
