package value

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
)

// A stored record is the wire form of its object behind a head that says where each field is:
//
//	format1    0x40 | width code | 0x08 if map holds regexes (tag 60, which the wire does not know);
//	           width 1, 2 or 4 bytes for codes 0, 1, 2
//	n[width]   how many fields, big endian
//	at[width]  for each field, where its name starts, counted from the start of map
//	map        the object in the canonical CBOR of codec.go
//
// One field is found by binary search over at; a row goes out to a client as map, as it is. Inside
// it maps have no heads of their own: a field that is an object stays a part of the same bytes and
// is searched from its front.
//
// A record that is read is trusted to be one that EncodeRecord wrote: stores check what they read
// (CRC) before it comes here. Bytes that are not one make the accessors panic with *DecodeError;
// CheckRecord tells beforehand.
const (
	recordFormat     = 0x40
	recordFormatMask = 0xf4
	recordSpecial    = 0x08
	maxRecord        = math.MaxInt32
	storedDepth      = 4 * maxEncodeDepth // tags and bounds count as levels too
)

// maxEdits is how many changes With and Without keep beside encoded bytes before they decode them.
const maxEdits = 16

// scanLimit is the most fields that a map without a head may have for Get to search it unread.
const scanLimit = 24

// encoded is an object in its bytes, and what has been changed since.
type encoded struct {
	rec     []byte // a stored record, or an inner map; nothing after it
	head    uint32 // where the map starts in rec
	base    uint32 // fields in the map
	n       uint32 // fields after edits
	width   uint8  // bytes per offset; 0 for inner maps
	special bool   // the bytes may hold regexes
	edits   []edit // in name order, one per name
	cache   atomic.Pointer[Field]
}

// edit sets or removes one field.
type edit struct {
	name  string
	value Value
	gone  bool
}

// lazyObject is an Object and its encoded part in one allocation.
type lazyObject struct {
	Object
	encoded
}

func (l *lazyObject) object() *Object {
	l.Object.enc = &l.encoded
	return &l.Object
}

// RecordObject makes an object of a stored record without copying or decoding it: b must not change
// as long as the object or anything got out of it is used. It fails if b has no sound head.
func RecordObject(b []byte) (*Object, error) {
	head, n, width, err := splitRecord(b)
	if err != nil {
		return nil, err
	}
	l := &lazyObject{encoded: encoded{rec: b, head: head, base: n, n: n, width: width,
		special: b[0]&recordSpecial != 0}}
	return l.object(), nil
}

// Stored is the stored record that o is, when RecordObject made it and nothing was changed in it since. The bytes are
// those that RecordObject was given.
func (o *Object) Stored() ([]byte, bool) {
	if o.enc == nil || o.enc.width == 0 || len(o.enc.edits) > 0 {
		return nil, false
	}
	return o.enc.rec, true
}

// RecordMap is the part of a stored record that is the wire form of its object, a part of b. It
// fails on a record that holds what the wire has no form for.
func RecordMap(b []byte) ([]byte, error) {
	head, _, _, err := splitRecord(b)
	if err == nil && b[0]&recordSpecial != 0 {
		err = errNotEncodable()
	}
	return b[head:], err
}

// RecordField is one field of a stored record, without an object in between. The value aliases b.
func RecordField(b []byte, name string) (Value, bool, error) {
	head, n, width, err := splitRecord(b)
	if err != nil {
		return None, false, err
	}
	e := encoded{rec: b, head: head, base: n, width: width, special: b[0]&recordSpecial != 0}
	v, ok := e.lookup(name)
	return v, ok, nil
}

// CheckRecord decodes all of a stored record and reports whether it is what EncodeRecord would write.
func CheckRecord(b []byte) error {
	head, _, _, err := splitRecord(b)
	if err != nil {
		return err
	}
	d := decoder{b: b, pos: int(head), depth: storedDepth, special: true}
	v, err := d.value()
	if err != nil {
		return err
	}
	if v.Kind() != KindObject || d.pos != len(b) {
		return recordError(d.pos, "not one object")
	}
	again, err := EncodeRecord(nil, v.Object())
	if err != nil {
		return err
	}
	if !bytes.Equal(again, b) {
		return recordError(0, "not in canonical form")
	}
	return nil
}

func recordError(pos int, reason string) error {
	return &DecodeError{Format: "record", Offset: pos, Reason: reason}
}

// splitRecord reads the head.
func splitRecord(b []byte) (head, n uint32, width uint8, err error) {
	if len(b) < 2 || len(b) > maxRecord || b[0]&recordFormatMask != recordFormat || b[0]&3 == 3 {
		return 0, 0, 0, recordError(0, "unknown format")
	}
	width = 1 << (b[0] & 3)
	if len(b) < 1+int(width) {
		return 0, 0, 0, recordError(0, "cut in its head")
	}
	count := offset(b[1:], width, 0)
	at := 1 + int(width)*(count+1)
	if count > len(b) || len(b) <= at {
		return 0, 0, 0, recordError(0, "cut in its head")
	}
	return uint32(at), uint32(count), width, nil
}

// offset is the i-th number in a table of numbers of width bytes.
func offset(table []byte, width uint8, i int) int {
	switch width {
	case 1:
		return int(table[i])
	case 2:
		return int(binary.BigEndian.Uint16(table[2*i:]))
	default:
		return int(binary.BigEndian.Uint32(table[4*i:]))
	}
}

// EncodeRecord appends the stored form of o. What is still encoded in it is copied, not decoded.
// It fails on what cannot be stored (closures) and on records of more than 2 GiB.
func EncodeRecord(dst []byte, o *Object) ([]byte, error) {
	if e := o.enc; e != nil && e.width > 0 && len(e.edits) == 0 {
		return append(dst, e.rec...), nil
	}
	var few [64]uint32
	at := few[:0]
	if o.Len() > len(few) {
		at = make([]uint32, 0, o.Len())
	}
	start, special := len(dst), false
	e := encoder{depth: maxEncodeDepth, special: &special}
	dst, at, err := e.entries(beginRecord(dst, o.Len()), o, at)
	if err != nil {
		return dst, err
	}
	return endRecord(dst, start, at, special)
}

// beginRecord begins a record of n fields: the map is appended next. It makes room for a head of two-byte offsets;
// endRecord moves the map when that turns out to need another.
func beginRecord(dst []byte, n int) []byte {
	return slices.Grow(dst, 1+2*(n+1))[:len(dst)+1+2*(n+1)]
}

// endRecord makes the head, given dst with the record from start on, and where each entry of its map starts in dst.
func endRecord(dst []byte, start int, at []uint32, special bool) ([]byte, error) {
	mapStart := start + 1 + 2*(len(at)+1)
	size := len(dst) - mapStart
	if size > maxRecord {
		return dst, fmt.Errorf("record of %d bytes is too large", size)
	}
	code := widthCode(size)
	head := 1 + (len(at)+1)<<code
	if shift := start + head - mapStart; shift > 0 {
		dst = append(dst, make([]byte, shift)...)
		copy(dst[start+head:], dst[mapStart:mapStart+size])
	} else if shift < 0 {
		copy(dst[start+head:], dst[mapStart:])
		dst = dst[:start+head+size]
	}
	dst[start] = recordFormat | byte(code)
	if special {
		dst[start] |= recordSpecial
	}
	table := dst[start+1 : start+head]
	putOffset(table, code, 0, uint32(len(at)))
	for i, p := range at {
		putOffset(table, code, i+1, p-uint32(mapStart))
	}
	return dst, nil
}

// widthCode is the smallest width for offsets into a map of size bytes. The number of fields fits too.
func widthCode(size int) int {
	switch {
	case size <= math.MaxUint8:
		return 0
	case size <= math.MaxUint16:
		return 1
	default:
		return 2
	}
}

func putOffset(table []byte, code, i int, p uint32) {
	switch code {
	case 0:
		table[i] = byte(p)
	case 1:
		binary.BigEndian.PutUint16(table[2*i:], uint16(p))
	default:
		binary.BigEndian.PutUint32(table[4*i:], p)
	}
}
