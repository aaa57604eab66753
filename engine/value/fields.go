package value

import (
	"encoding/binary"
	"math"
)

// Fields reads the same fields of many rows, one row after the other. It remembers where each field was in the last
// stored record, because the records of a table mostly have the same fields, and makes no object of a record. It
// belongs to one goroutine.
type Fields struct {
	paths []fieldPath
	turn  uint32  // of the row; what a path has of another turn is old
	rec   encoded // the row, if it is a stored record; else rec.width is 0 and doc is the row
	doc   Value
	room  []float64
}

// fieldPath is a field that Fields reads.
type fieldPath struct {
	names []string
	slot  int    // of the first name, in the last stored record
	turn  uint32 // in which v and ok were read
	v     Value
	ok    bool
}

// NewFields makes a reader of the fields at the paths, each of one name or more.
func NewFields(paths [][]string) *Fields {
	f := &Fields{paths: make([]fieldPath, len(paths))}
	for i, names := range paths {
		f.paths[i].names = names
	}
	return f
}

// Stored makes a stored record the row. Values read from it alias b. It fails if b has no sound head.
func (f *Fields) Stored(b []byte) error {
	head, n, width, err := splitRecord(b)
	if err != nil {
		return err
	}
	f.turn++
	r := &f.rec
	r.rec, r.head, r.base, r.n, r.width, r.special = b, head, n, n, width, b[0]&recordSpecial != 0
	return nil
}

// Row makes a value the row.
func (f *Fields) Row(v Value) {
	if v.Kind() == KindObject {
		if e := v.Object().enc; e != nil && e.width > 0 && len(e.edits) == 0 {
			f.turn++
			r := &f.rec
			r.rec, r.head, r.base, r.n, r.width, r.special = e.rec, e.head, e.base, e.n, e.width, e.special
			return
		}
	}
	f.turn++
	f.doc, f.rec.width = v, 0
}

// At is field i of the row: NONE where it, or an object on the way to it, is missing. ok is false where the path leads
// through anything but objects.
func (f *Fields) At(i int) (v Value, ok bool) {
	p := &f.paths[i]
	if f.rec.width > 0 && len(p.names) == 1 {
		if start := f.rec.named(p.slot, p.names[0]); start > 0 {
			if v, ok := lightValue(f.rec.rec[start:]); ok {
				return v, true
			}
		}
	}
	return f.once(p)
}

// once is At for what is dear to find or to read: it is read once a row.
func (f *Fields) once(p *fieldPath) (v Value, ok bool) {
	if p.turn != f.turn {
		p.turn = f.turn
		if f.rec.width > 0 {
			p.v, p.ok = f.rec.at(p)
		} else {
			p.v, p.ok = inObject(f.doc, p.names)
		}
	}
	return p.v, p.ok
}

// lightValue is the value that b begins with, if it is a number, a short text, a bool or NULL.
func lightValue(b []byte) (v Value, ok bool) {
	switch ib := b[0]; {
	case ib < 24:
		return Int(int64(ib)), true
	case ib == 24 && len(b) > 1:
		return Int(int64(b[1])), true
	case ib == 25 && len(b) > 2:
		return Int(int64(binary.BigEndian.Uint16(b[1:]))), true
	case ib == 26 && len(b) > 4:
		return Int(int64(binary.BigEndian.Uint32(b[1:]))), true
	case ib == cborFloat64 && len(b) > 8:
		return Float(math.Float64frombits(binary.BigEndian.Uint64(b[1:]))), true
	case ib >= majorText && ib < majorText+24 && len(b) > int(ib-majorText):
		return Str(aliasText(b[1 : 1+ib-majorText])), true
	case ib == majorText+24 && len(b) > 1 && len(b)-2 >= int(b[1]):
		return Str(aliasText(b[2 : 2+int(b[1])])), true
	case ib == cborTrue || ib == cborFalse:
		return Bool(ib == cborTrue), true
	case ib == cborNull:
		return Null, true
	}
	return None, false
}

// Floats is field i as numbers, if it is an array of ints and floats. They stay valid until the next call.
func (f *Fields) Floats(i int) ([]float64, bool) {
	p := &f.paths[i]
	var ok bool
	if f.rec.width > 0 && len(p.names) == 1 {
		start, end := f.rec.field(p)
		if start == 0 {
			return nil, false
		}
		f.room, ok = storedFloats(f.room[:0], f.rec.rec[start:end])
		return f.room, ok
	}
	v, found := f.At(i)
	if !found {
		return nil, false
	}
	f.room, ok = Floats(f.room[:0], v)
	return f.room, ok
}

// Packed is field i as it is stored, if it is an array of n floats of a stored record at a path of one name: what
// follows the head of the array, 9 bytes for each element. Whether all of them are floats is left to FloatAt.
func (f *Fields) Packed(i, n int) ([]byte, bool) {
	p := &f.paths[i]
	if f.rec.width == 0 || len(p.names) > 1 {
		return nil, false
	}
	start, end := f.rec.field(p)
	if start == 0 {
		return nil, false
	}
	b := f.rec.rec[start:end:end]
	var head [5]byte
	want := putHead(head[:0], majorArray, uint64(n))
	if len(b) == len(want)+PackedFloat*n && string(b[:len(want)]) == string(want) {
		return b[len(want):], true
	}
	return nil, false
}

// PackedFloat is the size of an element of what Packed gives, in bytes.
const PackedFloat = 9

// FloatAt reads element i of what Packed gives. other is 0 if it is a float.
func FloatAt(packed []byte, i int) (x float64, other byte) {
	e := packed[PackedFloat*i:][:PackedFloat]
	return math.Float64frombits(binary.BigEndian.Uint64(e[1:])), e[0] ^ cborFloat64
}

// inObject reads a path of v.
func inObject(v Value, names []string) (Value, bool) {
	for i, name := range names {
		switch {
		case v.Kind() == KindObject:
			v, _ = v.Object().Get(name)
		case v.IsNullish() && i > 0:
			return None, true
		default:
			return None, false
		}
	}
	return v, true
}

// field is where the value at the first name of p starts and ends in a map with a head; start is 0 where it is missing.
func (e *encoded) field(p *fieldPath) (start, end int) {
	name := p.names[0]
	if start = e.named(p.slot, name); start == 0 {
		var slot int
		if slot, start = e.slot(name); start == 0 {
			return 0, 0
		}
		p.slot = slot
	}
	if end = e.place(p.slot + 1); start >= end || end > len(e.rec) {
		panic(recordError(start, "field is not where the head says"))
	}
	return start, end
}

// at reads a path of a map with a head.
func (e *encoded) at(p *fieldPath) (Value, bool) {
	start, end := e.field(p)
	if start == 0 {
		return None, true
	}
	raw := e.rec[start:end:end]
	for _, name := range p.names[1:] {
		if raw[0]&0xe0 != majorMap {
			return None, decodeStored(raw, e.special).IsNullish()
		}
		inner := encoded{rec: raw, base: mapLen(raw)}
		from, to, found := inner.scan(name)
		if !found {
			return None, true
		}
		raw = raw[from:to]
	}
	return storedValue(raw, e.special), true
}

// mapLen is the number of fields of the map that b starts with.
func mapLen(b []byte) uint32 {
	d := decoder{b: b}
	_, n, indef, err := d.head()
	if err == nil && (n > uint64(len(b)) || indef) {
		err = recordError(0, "length runs past the end")
	}
	if err != nil {
		panic(err)
	}
	return uint32(n)
}

// storedValue is decodeStored for bytes that may go on behind the value.
func storedValue(b []byte, special bool) Value {
	if v, ok := lightValue(b); ok {
		return v
	}
	if b[0]&0xe0 == majorMap {
		b = b[:mustSkip(b, 0)]
	}
	return decodeStored(b, special)
}
