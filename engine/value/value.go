// Package value is the data model: one small struct for every value of the language, its total
// order, equality, arithmetic, canonical text, type grammar with coercion and casts, and the CBOR
// codec that is both the storage and the wire form.
//
// Values are immutable: they may be shared, and slices and objects got out of one must
// not be written to. Ints, floats, bools, decimals, durations and datetimes never allocate.
// The package knows nothing of queries, storage keys or sessions.
package value

import (
	"math"
	"time"
	"unsafe"

	"github.com/nacredb/nacre/engine/decimal"
)

// Value is any value of the language. The zero Value is NONE. 24 bytes:
//
//	kind     flag  aux      n                 p
//	bool                    0 or 1
//	int                     int64
//	float                   IEEE bits
//	decimal  sign+  high     low 64 bits               coefficient is 96 bits unsigned
//	         scale  32 bits
//	string                  length            data
//	table                   length            data
//	bytes                   length            data
//	duration       nanos    seconds uint64
//	datetime       nanos    seconds int64 since 1970-01-01 UTC
//	array, set levels weight length           first element
//	object, record,
//	range      levels weight                  pointer to the struct
//	geometry         weight                   pointer to the struct
//	  stored  kind+  weight length            pointer to a lazyGeometry
//	others                                    pointer to the struct (UUID, File, …)
//
// weight is that of Weight, up to 32 bits; levels is how deep the value nests.
//
// Three fields, because the compiler keeps structs of at most four in registers: kind, flag and aux are in one word.
type Value struct {
	tag uint64 // kind in the lowest byte, flag in the next one, aux in the upper half
	n   uint64
	p   unsafe.Pointer
}

// tagOf is the tag of a kind whose flag and aux are 0.
func tagOf(k Kind) uint64 { return uint64(k) }

// tagWith is a tag of all its parts.
func tagWith(k Kind, flag uint8, aux uint32) uint64 {
	return uint64(k) | uint64(flag)<<8 | uint64(aux)<<32
}

func (v Value) flag() uint8 { return uint8(v.tag >> 8) }

func (v Value) aux() uint32 { return uint32(v.tag >> 32) }

// as is v with another kind.
func (v Value) as(k Kind) Value {
	v.tag = v.tag&^0xff | uint64(k)
	return v
}

// None and Null are the two empty values.
var (
	None = Value{}
	Null = Value{tag: tagOf(KindNull)}
)

// Kind is v's kind.
func (v Value) Kind() Kind { return Kind(v.tag) }

// IsNone reports whether v is NONE.
func (v Value) IsNone() bool { return v.Kind() == KindNone }

// IsNull reports whether v is NULL.
func (v Value) IsNull() bool { return v.Kind() == KindNull }

// IsNullish reports whether v is NONE or NULL.
func (v Value) IsNullish() bool { return v.Kind() <= KindNull }

// Bool makes a bool.
func Bool(b bool) Value {
	if b {
		return Value{tag: tagOf(KindBool), n: 1}
	}
	return Value{tag: tagOf(KindBool)}
}

// Bool is the payload of a bool.
func (v Value) Bool() bool { return v.n != 0 }

// Int makes an int.
func Int(i int64) Value { return Value{tag: tagOf(KindInt), n: uint64(i)} }

// Int is the payload of an int.
func (v Value) Int() int64 { return int64(v.n) }

// Float makes a float.
func Float(f float64) Value { return Value{tag: tagOf(KindFloat), n: math.Float64bits(f)} }

// Float is the payload of a float.
func (v Value) Float() float64 { return math.Float64frombits(v.n) }

// Str makes a string. The text must be valid UTF-8.
func Str(s string) Value {
	return Value{tag: tagOf(KindString), n: uint64(len(s)), p: unsafe.Pointer(unsafe.StringData(s))}
}

// Str is the payload of a string (and of a table: its name).
func (v Value) Str() string { return unsafe.String((*byte)(v.p), int(v.n)) }

// TableOf makes a table name value.
func TableOf(name string) Value {
	return Str(name).as(KindTable)
}

// Table is the name in a table value.
func (v Value) Table() string { return v.Str() }

// BytesOf makes a bytes value that takes over b.
func BytesOf(b []byte) Value {
	return Value{tag: tagOf(KindBytes), n: uint64(len(b)), p: unsafe.Pointer(unsafe.SliceData(b))}
}

// Bytes is the payload of bytes; read-only.
func (v Value) Bytes() []byte { return unsafe.Slice((*byte)(v.p), int(v.n)) }

// ArrayOf makes an array that takes over elems.
func ArrayOf(elems []Value) Value {
	return Value{tag: tagOf(KindArray), n: uint64(len(elems)),
		p: unsafe.Pointer(unsafe.SliceData(elems))}.loadedWithElems(elems)
}

// Array makes an array of its arguments.
func Array(elems ...Value) Value { return ArrayOf(elems) }

// Elems are the elements of an array or set; read-only.
func (v Value) Elems() []Value { return unsafe.Slice((*Value)(v.p), int(v.n)) }

// Len is the number of elements of an array or set, or the bytes of a string or bytes value.
func (v Value) Len() int { return int(v.n) }

// setOfSorted makes a set that takes over elems, which are sorted and distinct already.
func setOfSorted(elems []Value) Value {
	return ArrayOf(elems).as(KindSet)
}

// ObjectOf makes an object value. A nil o is the empty object.
func ObjectOf(o *Object) Value {
	if o == nil {
		o = emptyObject
	}
	return Value{tag: tagOf(KindObject), p: unsafe.Pointer(o)}.loadedWithFields(o)
}

// Object is the payload of an object.
func (v Value) Object() *Object { return (*Object)(v.p) }

// Duration is a span of time that is never negative: seconds and 0 ≤ Nanos < 1e9.
type Duration struct {
	Secs  uint64
	Nanos uint32
}

// DurationOf makes a duration.
func DurationOf(d Duration) Value { return Value{tag: tagWith(KindDuration, 0, d.Nanos), n: d.Secs} }

// Duration is the payload of a duration.
func (v Value) Duration() Duration { return Duration{Secs: v.n, Nanos: v.aux()} }

// Std is d for timers: the longest that Go has for what is longer.
func (d Duration) Std() time.Duration {
	const longest = uint64(1<<63-1) / uint64(time.Second)
	if d.Secs >= longest {
		return 1<<63 - 1
	}
	return time.Duration(d.Secs)*time.Second + time.Duration(d.Nanos)
}

// DurationFrom is d as the language has it; a negative one is zero.
func DurationFrom(d time.Duration) Duration {
	if d < 0 {
		d = 0
	}
	return Duration{Secs: uint64(d / time.Second), Nanos: uint32(d % time.Second)}
}

// Datetime is an instant: seconds since the Unix epoch (proleptic Gregorian, UTC) and 0 ≤ Nanos < 1e9.
type Datetime struct {
	Secs  int64
	Nanos uint32
}

// DatetimeOf makes a datetime.
func DatetimeOf(d Datetime) Value {
	return Value{tag: tagWith(KindDatetime, 0, d.Nanos), n: uint64(d.Secs)}
}

// Datetime is the payload of a datetime.
func (v Value) Datetime() Datetime { return Datetime{Secs: int64(v.n), Nanos: v.aux()} }

// DecimalOf makes a decimal.
func DecimalOf(d decimal.Decimal) Value {
	f := d.Scale
	if d.Neg {
		f |= 0x80
	}
	return Value{tag: tagWith(KindDecimal, f, d.Hi), n: d.Lo}
}

// Decimal is the payload of a decimal.
func (v Value) Decimal() decimal.Decimal {
	return decimal.Decimal{Hi: v.aux(), Lo: v.n, Neg: v.flag()&0x80 != 0, Scale: v.flag() & 0x7f}
}

// UUID is 16 bytes in network order.
type UUID [16]byte

// UUIDOf makes a uuid.
func UUIDOf(u UUID) Value { return Value{tag: tagOf(KindUUID), p: unsafe.Pointer(&u)} }

// UUID is the payload of a uuid.
func (v Value) UUID() UUID { return *(*UUID)(v.p) }

// RecordID names a record: a table and a key of kind int, string, uuid, array or object, or, as
// the target of a scan, a range of such keys.
type RecordID struct {
	Table string
	Key   Value
}

// Part is the part of an object key that has a name; false where the key is no object, has no such part, or r is nil.
func (r *RecordID) Part(name string) (Value, bool) {
	if r == nil || r.Key.Kind() != KindObject {
		return None, false
	}
	return r.Key.Object().Get(name)
}

// RecordOf makes a record id value that takes over r.
func RecordOf(r *RecordID) Value {
	return Value{tag: tagOf(KindRecord), p: unsafe.Pointer(r)}.loadedWithKey(r)
}

// Record makes a record id value.
func Record(table string, key Value) Value { return RecordOf(&RecordID{Table: table, Key: key}) }

// Record is the payload of a record id.
func (v Value) Record() *RecordID { return (*RecordID)(v.p) }

// File points at an object in a bucket. Key starts with "/".
type File struct{ Bucket, Key string }

// FileOf makes a file pointer.
func FileOf(f *File) Value { return Value{tag: tagOf(KindFile), p: unsafe.Pointer(f)} }

// File is the payload of a file pointer.
func (v Value) File() *File { return (*File)(v.p) }

// BoundKind says how a range ends.
type BoundKind uint8

// The kinds of bounds.
const (
	Unbounded BoundKind = iota
	Included
	Excluded
)

// Bound is one end of a range.
type Bound struct {
	Kind  BoundKind
	Value Value
}

// Range is start..end. The plain form a..b has an included start and an excluded end.
type Range struct{ Start, End Bound }

// RangeOf makes a range.
func RangeOf(r *Range) Value {
	return Value{tag: tagOf(KindRange), p: unsafe.Pointer(r)}.loadedWithBounds(r)
}

// Range is the payload of a range.
func (v Value) Range() *Range { return (*Range)(v.p) }

// Closure is a function value. The evaluator owns what is inside; here it only has a text.
type Closure interface {
	// Text is the canonical source, e.g. "|$x: any| $x".
	Text() string
	// Size is about how many bytes Text has, without making it.
	Size() int
}

// ClosureOf makes a function value.
func ClosureOf(c Closure) Value { return Value{tag: tagOf(KindClosure), p: unsafe.Pointer(&c)} }

// Closure is the payload of a function value.
func (v Value) Closure() Closure { return *(*Closure)(v.p) }

// RegexOf makes a regex.
func RegexOf(r *Regex) Value { return Value{tag: tagOf(KindRegex), p: unsafe.Pointer(r)} }

// Regex is the payload of a regex.
func (v Value) Regex() *Regex { return (*Regex)(v.p) }

// Geometry is one of the seven GeoJSON kinds.
type Geometry struct {
	Kind  GeometryKind
	Point Point       // KindPoint
	Line  []Point     // line, multipoint
	Rings [][]Point   // polygon (exterior first), multiline
	Polys [][][]Point // multipolygon
	Items []*Geometry // collection

	around unsafe.Pointer // *box, once it is known; see box
}

// Point is a longitude (X) and a latitude (Y) in degrees.
type Point struct{ X, Y float64 }

// GeometryKind is the shape of a geometry.
type GeometryKind uint8

// The shapes in comparison order.
const (
	GeometryPoint GeometryKind = iota
	GeometryLine
	GeometryPolygon
	GeometryMultiPoint
	GeometryMultiLine
	GeometryMultiPolygon
	GeometryCollection
)

// GeometryOf makes a geometry.
func GeometryOf(g *Geometry) Value {
	return Value{tag: tagWith(KindGeometry, 0, g.weight()), p: unsafe.Pointer(g)}
}

// Geometry is the payload of a geometry.
func (v Value) Geometry() *Geometry {
	if v.flag() == 0 {
		return (*Geometry)(v.p)
	}
	return v.decodeGeometry()
}

// IDKey is a record id that can be compared and be the key of a map.
type IDKey struct {
	table string
	kind  Kind
	i     int64
	s     string
}

// KeyOf is the key of id.
func KeyOf(id *RecordID) IDKey {
	k := IDKey{table: id.Table, kind: id.Key.Kind()}
	switch k.kind {
	case KindInt:
		k.i = id.Key.Int()
	case KindString:
		k.s = id.Key.Str()
	default:
		k.s = id.Key.Text()
	}
	return k
}
