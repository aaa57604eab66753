package value

import (
	"slices"
	"strings"
	"unsafe"
)

// Detach gives v without any tie to memory that it was read from. Values of a stored record alias
// its bytes, which a store lends only until its snapshot is released: a value that lives longer, such
// as the result of a statement, is detached first. A row that is still encoded costs one copy.
func Detach(v Value) Value {
	var d detacher
	return d.value(v)
}

// detacher detaches values. It copies a name that objects share once: the rows of a projection take their names from
// one place.
type detacher struct {
	from, to [8]string
	next     int
}

// name is a copy of a name.
func (d *detacher) name(s string) string {
	for i := range d.from {
		if len(d.from[i]) == len(s) && unsafe.StringData(d.from[i]) == unsafe.StringData(s) {
			return d.to[i]
		}
	}
	c := strings.Clone(s)
	d.from[d.next], d.to[d.next] = s, c
	d.next = (d.next + 1) % len(d.from)
	return c
}

func (d *detacher) value(v Value) Value {
	switch v.Kind() {
	case KindString, KindTable:
		s := Str(strings.Clone(v.Str()))
		s = s.as(v.Kind())
		return s
	case KindBytes:
		return BytesOf(slices.Clone(v.Bytes()))
	case KindArray, KindSet:
		a := ArrayOf(d.all(v.Elems()))
		a = a.as(v.Kind())
		return a
	case KindObject:
		return ObjectOf(d.object(v.Object()))
	case KindRecord:
		r := v.Record()
		return Record(d.name(r.Table), d.value(r.Key))
	case KindFile:
		f := v.File()
		return FileOf(&File{Bucket: strings.Clone(f.Bucket), Key: strings.Clone(f.Key)})
	case KindRange:
		r := *v.Range()
		r.Start.Value, r.End.Value = d.value(r.Start.Value), d.value(r.End.Value)
		return RangeOf(&r)
	case KindGeometry:
		if v.flag() == 0 {
			return v
		}
		return GeometryOf(v.Geometry())
	default:
		// Scalars are in the struct; uuids, regexes and closures have memory of their own.
		return v
	}
}

func (d *detacher) all(elems []Value) []Value {
	if !slices.ContainsFunc(elems, Value.borrows) {
		return elems
	}
	out := make([]Value, len(elems))
	var ids []RecordID // room for those to come: one that is kept keeps all of them
	for i := range elems {
		if elems[i].Kind() != KindRecord {
			out[i] = d.value(elems[i])
			continue
		}
		if len(ids) == 0 {
			ids = make([]RecordID, min(len(elems)-i, mostIDs))
		}
		r := elems[i].Record()
		ids[0] = RecordID{Table: d.name(r.Table), Key: d.value(r.Key)}
		out[i] = RecordOf(&ids[0])
		ids = ids[1:]
	}
	return out
}

// mostIDs is how many record ids of an array are made at once.
const mostIDs = 32

// borrows reports whether v may alias the bytes that it was read from.
func (v Value) borrows() bool {
	switch v.Kind() {
	case KindString, KindTable, KindBytes, KindArray, KindSet, KindObject, KindRecord, KindFile, KindRange:
		return true
	case KindGeometry:
		return v.flag() != 0
	}
	return false
}

func (d *detacher) object(o *Object) *Object {
	if o.enc == nil {
		out, fields := MakeObject(len(o.fields))
		for i, f := range o.fields {
			fields[i] = Field{d.name(f.Name), d.value(f.Value)}
		}
		return out
	}
	e := o.enc
	l := &lazyObject{encoded: encoded{rec: slices.Clone(e.rec), head: e.head, base: e.base, n: e.n, width: e.width,
		special: e.special}}
	for _, x := range e.edits {
		l.edits = append(l.edits, edit{strings.Clone(x.name), d.value(x.value), x.gone})
	}
	return l.object()
}
