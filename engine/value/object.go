package value

import (
	"iter"
	"slices"
	"strings"
)

// Field is one entry of an object.
type Field struct {
	Name  string
	Value Value
}

// Object is an immutable map with string keys in ascending byte order. One that came from storage
// is still encoded (see record.go): Get reads a single field out of the bytes, With and Without
// remember what changed, and an operation that needs all fields decodes them once, which is safe from any
// number of goroutines.
type Object struct {
	fields []Field
	enc    *encoded // not nil: the fields are in there
}

var emptyObject = &Object{}

// NewObject makes an object of fields; it sorts them (in place), and of equal names the last one wins.
func NewObject(fields ...Field) *Object {
	o := &Object{fields: fields}
	o.Sort()
	return o
}

// CopyObject is NewObject that copies fields, so that a small object is one allocation.
func CopyObject(fields ...Field) *Object {
	o, own := MakeObject(len(fields))
	copy(own, fields)
	o.Sort()
	return o
}

// Sort puts the fields of an object that was just made, and is in no value yet, in the order of their names; of equal
// names the last one wins.
func (o *Object) Sort() {
	fields := o.fields
	if ascending(fields) {
		return
	}
	slices.SortStableFunc(fields, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
	out := fields[:0]
	for i, f := range fields {
		if i+1 < len(fields) && fields[i+1].Name == f.Name {
			continue
		}
		out = append(out, f)
	}
	o.fields = out
}

// ascending reports whether the names of fields are in order, none of them twice.
func ascending(fields []Field) bool {
	for i := 1; i < len(fields); i++ {
		if fields[i-1].Name >= fields[i].Name {
			return false
		}
	}
	return true
}

// ObjectOfSorted makes an object that takes over fields, which are sorted and distinct already.
func ObjectOfSorted(fields []Field) *Object { return &Object{fields: fields} }

// MakeObject makes an object of n fields for the caller to fill in, in the order of their names, before it uses the
// object. A small object and its fields are one allocation.
func MakeObject(n int) (o *Object, fields []Field) {
	switch n {
	case 1:
		m := &struct {
			Object
			room [1]Field
		}{}
		o, fields = &m.Object, m.room[:]
	case 2:
		m := &struct {
			Object
			room [2]Field
		}{}
		o, fields = &m.Object, m.room[:]
	case 3:
		m := &struct {
			Object
			room [3]Field
		}{}
		o, fields = &m.Object, m.room[:]
	default:
		o, fields = &Object{}, make([]Field, n)
	}
	o.fields = fields
	return o, fields
}

// Objects makes objects for a list that holds all of them: many of them are one allocation. The zero Objects is ready.
type Objects struct {
	objects []Object
	fields  []Field
	made    int // how many were made at once, last

	allObjects []Object // what was made at once, last
	allFields  []Field
}

// mostObjects is how many objects are made at once. One that is kept keeps all of them.
const mostObjects = 32

// Make is MakeObject.
func (m *Objects) Make(n int) (*Object, []Field) {
	if len(m.objects) == 0 || len(m.fields) < n {
		m.made = min(2*m.made+min(m.made, 2)+1, mostObjects) // 1, 4, 11, 25: most answers are short
		m.objects, m.fields = make([]Object, m.made), make([]Field, m.made*n)
		m.allObjects, m.allFields = m.objects, m.fields
	}
	o, fields := &m.objects[0], m.fields[:n:n]
	m.objects, m.fields = m.objects[1:], m.fields[n:]
	o.fields = fields
	return o, fields
}

// Reuse takes the room back of the objects that were made last: none that was made may be in use any more.
func (m *Objects) Reuse() { m.objects, m.fields = m.allObjects, m.allFields }

// Len is the number of fields.
func (o *Object) Len() int {
	if o.enc != nil {
		return int(o.enc.n)
	}
	return len(o.fields)
}

// Fields are all fields in name order; read-only.
func (o *Object) Fields() []Field {
	if o.enc != nil {
		return o.enc.all()
	}
	return o.fields
}

// All walks the fields in name order. Unlike Fields it keeps nothing of a stored record: it is for those who read each
// field once.
func (o *Object) All() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if o.enc != nil && o.enc.cached() == nil {
			o.enc.walk(yield)
			return
		}
		for _, f := range o.Fields() {
			if !yield(f.Name, f.Value) {
				return
			}
		}
	}
}

// Get is the value of a field, and whether it is there.
func (o *Object) Get(name string) (Value, bool) {
	if o.enc != nil {
		return o.enc.get(name)
	}
	if i, ok := findField(o.fields, name); ok {
		return o.fields[i].Value, true
	}
	return None, false
}

// Raw is the wire form of a field of an object that is a stored record, as it was stored; nil where the object or the
// field is anything else. It is read-only.
func (o *Object) Raw(name string) []byte {
	e := o.enc
	if e == nil || e.width == 0 || e.special {
		return nil
	}
	if _, edited := e.findEdit(name); edited {
		return nil
	}
	start, end, ok := e.find(name)
	if !ok {
		return nil
	}
	return e.rec[start:end:end]
}

// With is o with one field set.
func (o *Object) With(name string, v Value) *Object {
	if o.enc != nil {
		return o.enc.edited(edit{name: name, value: v})
	}
	i, ok := findField(o.fields, name)
	if ok {
		out := slices.Clone(o.fields)
		out[i].Value = v
		return &Object{fields: out}
	}
	with, out := MakeObject(len(o.fields) + 1)
	copy(out, o.fields[:i])
	out[i] = Field{name, v}
	copy(out[i+1:], o.fields[i:])
	return with
}

// Without is o less one field; o itself where the field is not there.
func (o *Object) Without(name string) *Object {
	if o.enc != nil {
		if !o.enc.has(name) {
			return o
		}
		return o.enc.edited(edit{name: name, gone: true})
	}
	i, ok := findField(o.fields, name)
	if !ok {
		return o
	}
	out := make([]Field, 0, len(o.fields)-1)
	out = append(out, o.fields[:i]...)
	return &Object{fields: append(out, o.fields[i+1:]...)}
}

// WithAll is o with many fields set in one pass; NONE removes a field, and of equal names the last one wins. It takes
// over fields.
func (o *Object) WithAll(fields []Field) *Object {
	fields = NewObject(fields...).fields
	edits := make([]edit, len(fields))
	for i, f := range fields {
		edits[i] = edit{name: f.Name, value: f.Value, gone: f.Value.IsNone()}
	}
	return o.with(edits)
}

// with is o with edits, one per name; it sorts them.
func (o *Object) with(edits []edit) *Object {
	if len(edits) <= 1 || o.enc != nil && len(edits) <= maxEdits {
		for i := range edits {
			if d := &edits[i]; d.gone {
				o = o.Without(d.name)
			} else {
				o = o.With(d.name, d.value)
			}
		}
		return o
	}
	slices.SortFunc(edits, func(a, b edit) int { return strings.Compare(a.name, b.name) })
	old := o.Fields()
	out := make([]Field, 0, len(old)+len(edits))
	for i := range edits {
		d := &edits[i]
		at, ok := findField(old, d.name)
		out = append(out, old[:at]...)
		if old = old[at:]; ok {
			old = old[1:]
		}
		if !d.gone {
			out = append(out, Field{d.name, d.value})
		}
	}
	return &Object{fields: append(out, old...)}
}

// findField is the place of name in sorted fields, or the place where it would be.
func findField(fields []Field, name string) (int, bool) {
	lo, hi := 0, len(fields)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if fields[mid].Name < name {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, lo < len(fields) && fields[lo].Name == name
}

// SetOfSorted makes a set that takes over elems, which ascend strictly in the total order.
func SetOfSorted(elems []Value) Value { return setOfSorted(elems) }
