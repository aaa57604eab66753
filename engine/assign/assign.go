// Package assign makes the assignments of SET and UNSET: it changes what stands at a place in a record. It evaluates
// nothing itself: who uses it gives an Evaluator for the indexes and conditions of places (a[n + 1], a[WHERE b]).
package assign

import (
	"context"
	"slices"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/inside"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// Image is a record, or a value inside of one, on its way through assignments: as it is stored, and as the caller sees
// it. Conditions on the way (a[WHERE b]) are tried on what is seen, and what is stored is changed.
//
// SECURITY: the two are walked side by side. Where all is hidden that is stored at some place, what is seen there goes
// on by itself: it alone tries conditions, which may THROW what they read or show by what they change, and meets
// errors.
type Image struct{ Doc, Seen value.Value }

// Frame is where expressions are evaluated: E is a type of frames.
type Frame[E any] interface {
	// WithThis is a frame inside of this one, in which v is $this.
	WithThis(v value.Value) E
}

// Evaluator evaluates expressions in frames of type E.
type Evaluator[E any] interface {
	Eval(ctx context.Context, env E, x ast.Expr) (value.Value, error)
	// Checked is v, unless it is too deep or too large for an answer.
	Checked(v value.Value) (value.Value, error)
}

// Assigner makes the assignments of one record.
type Assigner[E Frame[E]] struct {
	Evaluator[E]
	Env   E
	Table *catalog.Table // whose fields say where sets are; nil: there are none
	Reads bool           // the caller may read everything
	Apart bool           // what is seen is not what is stored; else Image.Seen is left alone
	mute  bool           // nothing of what is stored is seen: no condition is tried, and what fails changes nothing
}

// Set puts v at a place. Objects that are missing on the way are made; a place inside something that has no inside,
// or beyond the end of an array, is left alone without an error.
func (a Assigner[E]) Set(ctx context.Context, im Image, parts []ast.Part, op ast.AssignOp,
	v value.Value) (Image, error) {
	parts, err := a.resolve(ctx, parts)
	if err != nil {
		return im, err
	}
	if err := a.storable(parts, op, v); err != nil {
		return im, err
	}
	if op == ast.AssignAdd && a.intoSet(parts) {
		return a.rewrite(ctx, im, parts, func(a Assigner[E], old Image) (Image, error) {
			return a.combine(op, old.orSet(), v)
		})
	}
	return a.rewrite(ctx, im, parts, func(a Assigner[E], old Image) (Image, error) { return a.combine(op, old, v) })
}

// intoSet reports whether a place is a field that holds a set by its definition.
func (a Assigner[E]) intoSet(parts []ast.Part) bool {
	if a.Table == nil {
		return false
	}
	f := a.Table.Field(ast.Text(&ast.Idiom{Parts: parts}))
	return f != nil && f.Define.Type.HoldsSet()
}

// orSet is the Image with an empty set where there is nothing.
func (im Image) orSet() Image {
	if im.Doc.IsNone() {
		im.Doc = value.SetOf(nil)
		if im.Seen.IsNone() {
			im.Seen = im.Doc
		}
	}
	return im
}

// storable refuses what cannot be stored where it depends on what is there, which may be hidden, whether it would be.
func (a Assigner[E]) storable(parts []ast.Part, op ast.AssignOp, v value.Value) error {
	if a.Reads || op == ast.AssignSet && len(parts) == 1 {
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
func (a Assigner[E]) resolve(ctx context.Context, parts []ast.Part) ([]ast.Part, error) {
	out := parts
	for i, p := range parts {
		at, ok := p.(*ast.PartIndex)
		if !ok {
			continue
		}
		if _, ok := at.X.(*ast.Literal); ok {
			continue
		}
		v, err := a.Eval(ctx, a.Env, at.X)
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
func (a Assigner[E]) combine(op ast.AssignOp, old Image, v value.Value) (Image, error) {
	if a.Apart && !a.mute && isArray(old.Doc) && isArray(old.Seen) && op != ast.AssignSet {
		return combineLists(op, old, v)
	}
	now, err := combine(op, old.Doc, v)
	if !a.Apart {
		return Image{Doc: now}, err
	}
	if err != nil { // SECURITY: it would tell of what is hidden in the old value
		now = old.Doc
	}
	if a.mute {
		return Image{Doc: now}, nil
	}
	seen, err := combine(op, old.Seen, v)
	return Image{now, seen}, err
}

// combineLists is the operator on a list whose elements may hide something: the list as it is seen says which of them
// stay, and which are new.
func combineLists(op ast.AssignOp, old Image, v value.Value) (Image, error) {
	seen, err := combine(op, old.Seen, v)
	if err != nil || !isArray(seen) {
		return old, err
	}
	more := []value.Value{v}
	if isArray(v) {
		more = v.Elems()
	}
	was, is := slices.Concat(old.Seen.Elems(), more), slices.Concat(old.Doc.Elems(), more)
	out, result := make([]value.Value, 0, seen.Len()), seen.Elems()
	for i := range was {
		if len(out) < len(result) && was[i] == result[len(out)] {
			out = append(out, is[i])
		}
	}
	return Image{value.ArrayOf(out), seen}, nil
}

// rewrite replaces what is at a place by what f makes of it.
func (a Assigner[E]) rewrite(ctx context.Context, im Image, parts []ast.Part,
	f func(Assigner[E], Image) (Image, error)) (Image, error) {
	if a.Apart && !a.mute && im.parted() {
		return a.split(ctx, im, parts, f)
	}
	if len(parts) == 0 {
		return f(a, im)
	}
	rest := parts[1:]
	within := func(im Image) (Image, error) { return a.rewrite(ctx, im, rest, f) }
	switch p := parts[0].(type) {
	case *ast.PartField:
		if isArray(im.Doc) {
			return a.mapElems(im, func(e Image) (Image, error) { return a.rewrite(ctx, e, parts, f) })
		}
		return a.withField(im, p.Name, within)
	case *ast.PartIndex:
		at := p.X.(*ast.Literal).Value // see resolve
		if i, ok := elemIndex(im.Doc, at); ok {
			return a.withElem(im, i, within)
		}
		if !isArray(im.Doc) {
			return a.withField(im, fieldName(at), within)
		}
	case *ast.PartAll:
		out, err := a.mapElems(im, within)
		if err == nil && len(rest) == 0 && isArray(out.Doc) {
			out = a.withoutWhere(out, value.Value.IsNone)
		}
		return out, err
	case *ast.PartLast:
		if isArray(im.Doc) && im.Doc.Len() > 0 {
			return a.withElem(im, im.Doc.Len()-1, within)
		}
	case *ast.PartWhere:
		return a.mapElems(im, func(e Image) (Image, error) {
			ok, err := a.meets(ctx, e, p.X)
			if err != nil || !ok {
				return e, err
			}
			return within(e)
		})
	case *ast.PartFlatten, *ast.PartOptional:
		return within(im)
	}
	return im, nil
}

// parted reports whether what is seen at a place is another kind of thing than what is stored there: all of it is
// hidden, or the caller has written over it what a hidden value did not take.
func (im Image) parted() bool {
	return im.Seen.IsNone() && !im.Doc.IsNone() || shape(im.Seen) != shape(im.Doc)
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
func (a Assigner[E]) split(ctx context.Context, im Image, parts []ast.Part,
	f func(Assigner[E], Image) (Image, error)) (Image, error) {
	seen, err := a.plain().rewrite(ctx, Image{Doc: im.Seen}, parts, f)
	if err != nil {
		return im, err
	}
	a.mute = true
	out, err := a.rewrite(ctx, im, parts, f)
	return Image{out.Doc, seen.Doc}, err
}

// plain is for what is seen, by itself.
func (a Assigner[E]) plain() Assigner[E] {
	a.Apart, a.mute = false, false
	return a
}

// meets tries a condition on an element as the caller sees it.
func (a Assigner[E]) meets(ctx context.Context, e Image, cond ast.Expr) (bool, error) {
	v := e.Doc
	switch {
	case a.mute, a.Apart && e.Seen.IsNone() && !e.Doc.IsNone():
		return false, nil
	case a.Apart:
		v = e.Seen
	}
	got, err := a.Eval(ctx, a.Env.WithThis(v), cond)
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
func (a Assigner[E]) withField(im Image, name string, f func(Image) (Image, error)) (Image, error) {
	var old Image
	switch im.Doc.Kind() {
	case value.KindObject:
		old.Doc, _ = im.Doc.Object().Get(name)
	case value.KindNone, value.KindNull, value.KindRecord: // a link gives way to what is written inside it, as upstream
	default:
		return im, nil
	}
	if a.Apart {
		old.Seen = inside.Field(im.Seen, name)
	}
	now, err := f(old)
	if err != nil || now == old {
		return im, err
	}
	out := Image{inside.WithField(im.Doc, name, now.Doc), im.Seen}
	if a.Apart {
		out.Seen = inside.WithField(im.Seen, name, now.Seen)
	}
	return out, nil
}

func (a Assigner[E]) withElem(im Image, i int, f func(Image) (Image, error)) (Image, error) {
	now, err := f(Image{im.Doc.Elems()[i], a.elem(im, i)})
	if err != nil {
		return im, err
	}
	if now.Doc.IsNone() {
		return a.without(im, i), nil
	}
	return Image{inside.WithElement(im.Doc, i, now.Doc), a.replaced(im.Seen, i, now.Seen)}, nil
}

// elem returns the visible part of an element.
func (a Assigner[E]) elem(im Image, i int) value.Value {
	if !a.Apart || !isArray(im.Seen) || i >= im.Seen.Len() {
		return value.None
	}
	return im.Seen.Elems()[i]
}

// replaced is an array as it is seen with another element at i.
func (a Assigner[E]) replaced(seen value.Value, i int, x value.Value) value.Value {
	if !a.Apart || !isArray(seen) || i >= seen.Len() {
		return seen
	}
	return inside.WithElement(seen, i, x)
}

// mapElems rewrites every element of an array or every value of an object. What becomes NONE goes.
func (a Assigner[E]) mapElems(im Image, f func(Image) (Image, error)) (Image, error) {
	switch im.Doc.Kind() {
	case value.KindArray:
		return a.mapArray(im, f)
	case value.KindObject:
		return a.mapObject(im, f)
	}
	return im, nil
}

func (a Assigner[E]) mapArray(im Image, f func(Image) (Image, error)) (Image, error) {
	out, seen := make([]value.Value, 0, im.Doc.Len()), []value.Value(nil)
	for i, e := range im.Doc.Elems() {
		now, err := f(Image{e, a.elem(im, i)})
		if err != nil {
			return im, err
		}
		if now.Doc.IsNone() && !e.IsNone() {
			continue
		}
		out = append(out, now.Doc)
		if a.Apart {
			seen = append(seen, now.Seen)
		}
	}
	if a.Apart && isArray(im.Seen) {
		im.Seen = value.ArrayOf(seen)
	}
	return Image{value.ArrayOf(out), im.Seen}, nil
}

func (a Assigner[E]) mapObject(im Image, f func(Image) (Image, error)) (Image, error) {
	fields := im.Doc.Object().Fields()
	out := make([]value.Field, 0, len(fields))
	for _, fd := range fields {
		old := Image{Doc: fd.Value}
		if a.Apart {
			old.Seen = inside.Field(im.Seen, fd.Name)
		}
		now, err := f(old)
		if err != nil {
			return im, err
		}
		if !now.Doc.IsNone() {
			out = append(out, value.Field{Name: fd.Name, Value: now.Doc})
		}
		if a.Apart && im.Seen.Kind() == value.KindObject && now.Seen != old.Seen {
			im.Seen = inside.WithField(im.Seen, fd.Name, now.Seen)
		}
	}
	return Image{value.ObjectOf(value.ObjectOfSorted(out)), im.Seen}, nil
}

// Unset removes what is at a place.
func (a Assigner[E]) Unset(ctx context.Context, im Image, parts []ast.Part) (Image, error) {
	parts, err := a.resolve(ctx, parts)
	if err != nil {
		return im, err
	}
	return a.remove(ctx, im, parts)
}

// remove is Unset with indexes that are resolved.
func (a Assigner[E]) remove(ctx context.Context, im Image, parts []ast.Part) (Image, error) {
	n := len(parts) - 1
	if n < 0 {
		return im, nil
	}
	// The last step removes from its container; what is before it leads there.
	if n > 0 {
		return a.rewrite(ctx, im, parts[:n], func(a Assigner[E], im Image) (Image, error) {
			return a.remove(ctx, im, parts[n:])
		})
	}
	switch p := parts[0].(type) {
	case *ast.PartField:
		switch im.Doc.Kind() {
		case value.KindObject:
			return a.withoutField(im, p.Name), nil
		case value.KindArray:
			return a.mapElems(im, func(e Image) (Image, error) { return a.remove(ctx, e, parts) })
		}
	case *ast.PartIndex:
		at := p.X.(*ast.Literal).Value // see resolve
		if i, ok := elemIndex(im.Doc, at); ok {
			return a.without(im, i), nil
		}
		if im.Doc.Kind() == value.KindObject {
			return a.withoutField(im, fieldName(at)), nil
		}
	case *ast.PartLast:
		if isArray(im.Doc) && im.Doc.Len() > 0 {
			return a.without(im, im.Doc.Len()-1), nil
		}
	case *ast.PartAll:
		switch im.Doc.Kind() {
		case value.KindArray:
			return Image{value.Array(), value.Array()}, nil
		case value.KindObject:
			return Image{value.ObjectOf(nil), value.ObjectOf(nil)}, nil
		}
	case *ast.PartWhere:
		if isArray(im.Doc) {
			return a.unsetWhere(ctx, im, p.X)
		}
	}
	return im, nil
}

func (a Assigner[E]) withoutField(im Image, name string) Image {
	im.Doc = value.ObjectOf(im.Doc.Object().Without(name))
	if a.Apart {
		im.Seen = inside.WithField(im.Seen, name, value.None)
	}
	return im
}

func (a Assigner[E]) unsetWhere(ctx context.Context, im Image, cond ast.Expr) (Image, error) {
	gone := make([]bool, im.Doc.Len())
	for i, e := range im.Doc.Elems() {
		var err error
		if gone[i], err = a.meets(ctx, Image{e, a.elem(im, i)}, cond); err != nil {
			return im, err
		}
	}
	return a.keep(im, func(i int) bool { return !gone[i] }), nil
}

// withoutWhere removes the elements that are gone.
func (a Assigner[E]) withoutWhere(im Image, gone func(value.Value) bool) Image {
	elems := im.Doc.Elems()
	return a.keep(im, func(i int) bool { return !gone(elems[i]) })
}

func (a Assigner[E]) without(im Image, i int) Image {
	return a.keep(im, func(j int) bool { return j != i })
}

// keep keeps some elements, by their places.
func (a Assigner[E]) keep(im Image, keeps func(i int) bool) Image {
	im.Doc = inside.Kept(im.Doc, keeps)
	if a.Apart && isArray(im.Seen) {
		im.Seen = inside.Kept(im.Seen, keeps)
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
