package value

import (
	"slices"
	"strings"
)

// Detach gives v without any tie to memory that it was read from. Values of a stored record alias
// its bytes, which a store lends only until its snapshot is released: whatever outlives that, such
// as the result of a statement, is detached first. A row that is still encoded costs one copy.
func Detach(v Value) Value {
	switch v.kind {
	case KindString, KindTable:
		s := Str(strings.Clone(v.Str()))
		s.kind = v.kind
		return s
	case KindBytes:
		return BytesOf(slices.Clone(v.Bytes()))
	case KindArray, KindSet:
		a := ArrayOf(detachAll(v.Elems()))
		a.kind = v.kind
		return a
	case KindObject:
		return ObjectOf(v.Object().detach())
	case KindRecord:
		r := v.Record()
		return Record(strings.Clone(r.Table), Detach(r.Key))
	case KindFile:
		f := v.File()
		return FileOf(&File{Bucket: strings.Clone(f.Bucket), Key: strings.Clone(f.Key)})
	case KindRange:
		r := *v.Range()
		r.Start.Value, r.End.Value = Detach(r.Start.Value), Detach(r.End.Value)
		return RangeOf(&r)
	case KindGeometry:
		if v.flag == 0 {
			return v
		}
		return GeometryOf(v.Geometry())
	default:
		// Scalars are in the struct; uuids, regexes and closures have memory of their own.
		return v
	}
}

func detachAll(elems []Value) []Value {
	if !slices.ContainsFunc(elems, Value.borrows) {
		return elems
	}
	out := make([]Value, len(elems))
	for i := range elems {
		out[i] = Detach(elems[i])
	}
	return out
}

// borrows reports whether v may alias the bytes that it was read from.
func (v Value) borrows() bool {
	switch v.kind {
	case KindString, KindTable, KindBytes, KindArray, KindSet, KindObject, KindRecord, KindFile, KindRange:
		return true
	case KindGeometry:
		return v.flag != 0
	}
	return false
}

func (o *Object) detach() *Object {
	if o.enc == nil {
		out := make([]Field, len(o.fields))
		for i, f := range o.fields {
			out[i] = Field{strings.Clone(f.Name), Detach(f.Value)}
		}
		return ObjectOfSorted(out)
	}
	e := o.enc
	l := &lazyObject{encoded: encoded{rec: slices.Clone(e.rec), head: e.head, base: e.base, n: e.n, width: e.width,
		special: e.special}}
	for _, d := range e.edits {
		l.edits = append(l.edits, edit{strings.Clone(d.name), Detach(d.value), d.gone})
	}
	return l.object()
}
