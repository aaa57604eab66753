package value

import (
	"slices"
	"sort"
	"strings"
)

// Field is one entry of an object.
type Field struct {
	Name  string
	Value Value
}

// Object is an immutable map with string keys in ascending byte order. One that came from storage
// may still be encoded: Get reads a single field out of the bytes; anything that needs more decodes
// it once and keeps the result with the caller (an Object is never changed after it is shared).
type Object struct {
	fields []Field
}

var emptyObject = &Object{}

// NewObject makes an object of fields; it sorts them (in place), and of equal names the last one wins.
func NewObject(fields ...Field) *Object {
	slices.SortStableFunc(fields, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
	out := fields[:0]
	for i, f := range fields {
		if i+1 < len(fields) && fields[i+1].Name == f.Name {
			continue
		}
		out = append(out, f)
	}
	return &Object{fields: out}
}

// ObjectOfSorted makes an object that takes over fields, which are sorted and distinct already.
func ObjectOfSorted(fields []Field) *Object { return &Object{fields: fields} }

// Len is the number of fields.
func (o *Object) Len() int { return len(o.Fields()) }

// Fields are all fields in name order; read-only.
func (o *Object) Fields() []Field { return o.fields }

// Get is the value of a field, and whether it is there.
func (o *Object) Get(name string) (Value, bool) {
	f := o.Fields()
	i := sort.Search(len(f), func(i int) bool { return f[i].Name >= name })
	if i < len(f) && f[i].Name == name {
		return f[i].Value, true
	}
	return None, false
}

// With is o with one field set.
func (o *Object) With(name string, v Value) *Object {
	f := o.Fields()
	i := sort.Search(len(f), func(i int) bool { return f[i].Name >= name })
	if i < len(f) && f[i].Name == name {
		out := append([]Field(nil), f...)
		out[i].Value = v
		return &Object{fields: out}
	}
	out := make([]Field, 0, len(f)+1)
	out = append(out, f[:i]...)
	out = append(out, Field{name, v})
	return &Object{fields: append(out, f[i:]...)}
}

// Without is o less one field; o itself where the field is not there.
func (o *Object) Without(name string) *Object {
	f := o.Fields()
	i := sort.Search(len(f), func(i int) bool { return f[i].Name >= name })
	if i == len(f) || f[i].Name != name {
		return o
	}
	out := make([]Field, 0, len(f)-1)
	out = append(out, f[:i]...)
	return &Object{fields: append(out, f[i+1:]...)}
}

// SetOfSorted makes a set that takes over elems, which ascend strictly in the total order.
func SetOfSorted(elems []Value) Value { return setOfSorted(elems) }
