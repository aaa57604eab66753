package exec

import (
	"context"
	"slices"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/inside"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// image is a record, or a value inside of one, on its way through assignments: as it is stored, and as the caller sees
// it. Conditions on the way (a[WHERE b]) are tried on what is seen, and what is stored is changed.
//
// SECURITY: the two are walked side by side. Where all is hidden that is stored at some place, what is seen there goes
// on by itself: it alone tries conditions, which may THROW what they read or show by what they change, and meets
// errors.
type image struct{ doc, seen value.Value }

// assigner makes the assignments of one record.
type assigner struct {
	r     *Run
	env   *Env
	apart bool // seen is not what is stored; else seen is left alone
	mute  bool // nothing of what is stored is seen: no condition is tried, and what fails changes nothing
}

// assigner is for a record that is stored as im.doc. Those who may read everything see what is stored: the rest of
// im.seen, which has the COMPUTED fields besides, has no place to assign to.
func (r *Run) assigner(env *Env, im image) assigner {
	return assigner{r: r, env: env, apart: im.doc != im.seen && !r.Auth.CanRead()}
}

// assign puts v at a place. Objects that are missing on the way are made; a place inside something that has no inside,
// or beyond the end of an array, is left alone without an error.
func (a assigner) assign(ctx context.Context, im image, parts []ast.Part, op ast.AssignOp,
	v value.Value) (image, error) {
	parts, err := a.resolve(ctx, parts)
	if err != nil {
		return im, err
	}
	if err := a.storable(parts, op, v); err != nil {
		return im, err
	}
	if op == ast.AssignAdd && a.intoSet(parts) {
		return a.rewrite(ctx, im, parts, func(a assigner, old image) (image, error) {
			return a.combine(op, old.orSet(), v)
		})
	}
	return a.rewrite(ctx, im, parts, func(a assigner, old image) (image, error) { return a.combine(op, old, v) })
}

// intoSet reports whether a place is a field that holds a set by its definition.
func (a assigner) intoSet(parts []ast.Part) bool {
	if a.env == nil || a.env.table == nil {
		return false
	}
	f := a.env.table.Field(ast.Text(&ast.Idiom{Parts: parts}))
	return f != nil && f.Define.Type.HoldsSet()
}

// orSet is the image with an empty set where there is nothing.
func (im image) orSet() image {
	if im.doc.IsNone() {
		im.doc = value.SetOf(nil)
		if im.seen.IsNone() {
			im.seen = im.doc
		}
	}
	return im
}

// storable refuses what cannot be stored where it depends on what is there, which may be hidden, whether it would be.
func (a assigner) storable(parts []ast.Part, op ast.AssignOp, v value.Value) error {
	if a.r.Auth.CanRead() || op == ast.AssignSet && len(parts) == 1 {
		return nil
	}
	switch v.Kind() {
	case value.KindClosure, value.KindArray, value.KindObject, value.KindSet:
		return record.Storable(v)
	}
	return nil
}

// resolve evaluates the indexes of a place.
//
// SECURITY: they are evaluated once, not for each element on the way: how many there are may be hidden.
func (a assigner) resolve(ctx context.Context, parts []ast.Part) ([]ast.Part, error) {
	out := parts
	for i, p := range parts {
		at, ok := p.(*ast.PartIndex)
		if !ok {
			continue
		}
		if _, ok := at.X.(*ast.Literal); ok {
			continue
		}
		v, err := a.r.Eval(ctx, a.env, at.X)
		if err != nil {
			return nil, err
		}
		if &out[0] == &parts[0] {
			out = slices.Clone(parts)
		}
		out[i] = &ast.PartIndex{X: &ast.Literal{Value: v}}
	}
	return out, nil
}

// combine is the operator at its place.
func (a assigner) combine(op ast.AssignOp, old image, v value.Value) (image, error) {
	if a.apart && !a.mute && isArray(old.doc) && isArray(old.seen) && op != ast.AssignSet {
		return combineLists(op, old, v)
	}
	now, err := combine(op, old.doc, v)
	if !a.apart {
		return image{doc: now}, err
	}
	if err != nil { // SECURITY: it would tell of what is hidden in the old value
		now = old.doc
	}
	if a.mute {
		return image{doc: now}, nil
	}
	seen, err := combine(op, old.seen, v)
	return image{now, seen}, err
}

// combineLists is the operator on a list whose elements may hide something: the list as it is seen says which of them
// stay, and which are new.
func combineLists(op ast.AssignOp, old image, v value.Value) (image, error) {
	seen, err := combine(op, old.seen, v)
	if err != nil || !isArray(seen) {
		return old, err
	}
	more := []value.Value{v}
	if isArray(v) {
		more = v.Elems()
	}
	was, is := slices.Concat(old.seen.Elems(), more), slices.Concat(old.doc.Elems(), more)
	out, result := make([]value.Value, 0, seen.Len()), seen.Elems()
	for i := range was {
		if len(out) < len(result) && was[i] == result[len(out)] {
			out = append(out, is[i])
		}
	}
	return image{value.ArrayOf(out), seen}, nil
}

// rewrite replaces what is at a place by what f makes of it.
func (a assigner) rewrite(ctx context.Context, im image, parts []ast.Part,
	f func(assigner, image) (image, error)) (image, error) {
	if a.apart && !a.mute && im.parted() {
		return a.split(ctx, im, parts, f)
	}
	if len(parts) == 0 {
		return f(a, im)
	}
	rest := parts[1:]
	inside := func(im image) (image, error) { return a.rewrite(ctx, im, rest, f) }
	switch p := parts[0].(type) {
	case *ast.PartField:
		if isArray(im.doc) {
			return a.mapElems(im, func(e image) (image, error) { return a.rewrite(ctx, e, parts, f) })
		}
		return a.withField(im, p.Name, inside)
	case *ast.PartIndex:
		at := p.X.(*ast.Literal).Value // see resolve
		if i, ok := elemIndex(im.doc, at); ok {
			return a.withElem(im, i, inside)
		}
		if !isArray(im.doc) {
			return a.withField(im, fieldName(at), inside)
		}
	case *ast.PartAll:
		out, err := a.mapElems(im, inside)
		if err == nil && len(rest) == 0 && isArray(out.doc) {
			out = a.withoutWhere(out, value.Value.IsNone)
		}
		return out, err
	case *ast.PartLast:
		if isArray(im.doc) && im.doc.Len() > 0 {
			return a.withElem(im, im.doc.Len()-1, inside)
		}
	case *ast.PartWhere:
		return a.mapElems(im, func(e image) (image, error) {
			ok, err := a.meets(ctx, e, p.X)
			if err != nil || !ok {
				return e, err
			}
			return inside(e)
		})
	case *ast.PartFlatten, *ast.PartOptional:
		return inside(im)
	}
	return im, nil
}

// parted reports whether what is seen at a place is another kind of thing than what is stored there: all of it is
// hidden, or the caller has written over it what a hidden value did not take.
func (im image) parted() bool {
	return im.seen.IsNone() && !im.doc.IsNone() || shape(im.seen) != shape(im.doc)
}

// shape is how assignments go into a value.
func shape(v value.Value) value.Kind {
	switch k := v.Kind(); k {
	case value.KindArray, value.KindObject:
		return k
	case value.KindNone, value.KindNull, value.KindRecord: // they give way
		return value.KindNone
	}
	return value.KindString // any kind without parts
}

// split goes on with what is stored and what is seen of it, nothing, each by itself.
func (a assigner) split(ctx context.Context, im image, parts []ast.Part,
	f func(assigner, image) (image, error)) (image, error) {
	seen, err := assigner{r: a.r, env: a.env}.rewrite(ctx, image{doc: im.seen}, parts, f)
	if err != nil {
		return im, err
	}
	a.mute = true
	out, err := a.rewrite(ctx, im, parts, f)
	return image{out.doc, seen.doc}, err
}

// meets tries a condition on an element as the caller sees it.
func (a assigner) meets(ctx context.Context, e image, cond ast.Expr) (bool, error) {
	v := e.doc
	switch {
	case a.mute, a.apart && e.seen.IsNone() && !e.doc.IsNone():
		return false, nil
	case a.apart:
		v = e.seen
	}
	got, err := a.r.Eval(ctx, a.env.WithThis(v), cond)
	return value.Truthy(got), err
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
func (a assigner) withField(im image, name string, f func(image) (image, error)) (image, error) {
	var old image
	switch im.doc.Kind() {
	case value.KindObject:
		old.doc, _ = im.doc.Object().Get(name)
	case value.KindNone, value.KindNull, value.KindRecord: // a link gives way to what is written inside it, as upstream
	default:
		return im, nil
	}
	if a.apart {
		old.seen = field(im.seen, name)
	}
	now, err := f(old)
	if err != nil || now == old {
		return im, err
	}
	out := image{inside.WithField(im.doc, name, now.doc), im.seen}
	if a.apart {
		out.seen = inside.WithField(im.seen, name, now.seen)
	}
	return out, nil
}

func (a assigner) withElem(im image, i int, f func(image) (image, error)) (image, error) {
	now, err := f(image{im.doc.Elems()[i], a.elem(im, i)})
	if err != nil {
		return im, err
	}
	if now.doc.IsNone() {
		return a.without(im, i), nil
	}
	return image{inside.WithElement(im.doc, i, now.doc), a.replaced(im.seen, i, now.seen)}, nil
}

// elem returns the visible part of an element.
func (a assigner) elem(im image, i int) value.Value {
	if !a.apart || !isArray(im.seen) || i >= im.seen.Len() {
		return value.None
	}
	return im.seen.Elems()[i]
}

// replaced is an array as it is seen with another element at i.
func (a assigner) replaced(seen value.Value, i int, x value.Value) value.Value {
	if !a.apart || !isArray(seen) || i >= seen.Len() {
		return seen
	}
	return inside.WithElement(seen, i, x)
}

// mapElems rewrites every element of an array or every value of an object. What becomes NONE goes.
func (a assigner) mapElems(im image, f func(image) (image, error)) (image, error) {
	switch im.doc.Kind() {
	case value.KindArray:
		return a.mapArray(im, f)
	case value.KindObject:
		return a.mapObject(im, f)
	}
	return im, nil
}

func (a assigner) mapArray(im image, f func(image) (image, error)) (image, error) {
	out, seen := make([]value.Value, 0, im.doc.Len()), []value.Value(nil)
	for i, e := range im.doc.Elems() {
		now, err := f(image{e, a.elem(im, i)})
		if err != nil {
			return im, err
		}
		if now.doc.IsNone() && !e.IsNone() {
			continue
		}
		out = append(out, now.doc)
		if a.apart {
			seen = append(seen, now.seen)
		}
	}
	if a.apart && isArray(im.seen) {
		im.seen = value.ArrayOf(seen)
	}
	return image{value.ArrayOf(out), im.seen}, nil
}

func (a assigner) mapObject(im image, f func(image) (image, error)) (image, error) {
	fields := im.doc.Object().Fields()
	out := make([]value.Field, 0, len(fields))
	for _, fd := range fields {
		old := image{doc: fd.Value}
		if a.apart {
			old.seen = field(im.seen, fd.Name)
		}
		now, err := f(old)
		if err != nil {
			return im, err
		}
		if !now.doc.IsNone() {
			out = append(out, value.Field{Name: fd.Name, Value: now.doc})
		}
		if a.apart && im.seen.Kind() == value.KindObject && now.seen != old.seen {
			im.seen = inside.WithField(im.seen, fd.Name, now.seen)
		}
	}
	return image{value.ObjectOf(value.ObjectOfSorted(out)), im.seen}, nil
}

// unset removes what is at a place.
func (a assigner) unset(ctx context.Context, im image, parts []ast.Part) (image, error) {
	parts, err := a.resolve(ctx, parts)
	if err != nil {
		return im, err
	}
	return a.remove(ctx, im, parts)
}

// remove is unset with indexes that are resolved.
func (a assigner) remove(ctx context.Context, im image, parts []ast.Part) (image, error) {
	n := len(parts) - 1
	if n < 0 {
		return im, nil
	}
	// The last step removes from its container; what is before it leads there.
	if n > 0 {
		return a.rewrite(ctx, im, parts[:n], func(a assigner, im image) (image, error) {
			return a.remove(ctx, im, parts[n:])
		})
	}
	switch p := parts[0].(type) {
	case *ast.PartField:
		switch im.doc.Kind() {
		case value.KindObject:
			return a.withoutField(im, p.Name), nil
		case value.KindArray:
			return a.mapElems(im, func(e image) (image, error) { return a.remove(ctx, e, parts) })
		}
	case *ast.PartIndex:
		at := p.X.(*ast.Literal).Value // see resolve
		if i, ok := elemIndex(im.doc, at); ok {
			return a.without(im, i), nil
		}
		if im.doc.Kind() == value.KindObject {
			return a.withoutField(im, fieldName(at)), nil
		}
	case *ast.PartLast:
		if isArray(im.doc) && im.doc.Len() > 0 {
			return a.without(im, im.doc.Len()-1), nil
		}
	case *ast.PartAll:
		switch im.doc.Kind() {
		case value.KindArray:
			return image{value.Array(), value.Array()}, nil
		case value.KindObject:
			return image{value.ObjectOf(nil), value.ObjectOf(nil)}, nil
		}
	case *ast.PartWhere:
		if isArray(im.doc) {
			return a.unsetWhere(ctx, im, p.X)
		}
	}
	return im, nil
}

func (a assigner) withoutField(im image, name string) image {
	im.doc = value.ObjectOf(im.doc.Object().Without(name))
	if a.apart {
		im.seen = inside.WithField(im.seen, name, value.None)
	}
	return im
}

func (a assigner) unsetWhere(ctx context.Context, im image, cond ast.Expr) (image, error) {
	gone := make([]bool, im.doc.Len())
	for i, e := range im.doc.Elems() {
		var err error
		if gone[i], err = a.meets(ctx, image{e, a.elem(im, i)}, cond); err != nil {
			return im, err
		}
	}
	return a.keep(im, func(i int) bool { return !gone[i] }), nil
}

// withoutWhere removes the elements that are gone.
func (a assigner) withoutWhere(im image, gone func(value.Value) bool) image {
	elems := im.doc.Elems()
	return a.keep(im, func(i int) bool { return !gone(elems[i]) })
}

func (a assigner) without(im image, i int) image {
	return a.keep(im, func(j int) bool { return j != i })
}

// keep keeps some elements, by their places.
func (a assigner) keep(im image, keeps func(i int) bool) image {
	im.doc = inside.Kept(im.doc, keeps)
	if a.apart && isArray(im.seen) {
		im.seen = inside.Kept(im.seen, keeps)
	}
	return im
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
