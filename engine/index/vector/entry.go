package vector

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// An entry says which vector a record has. Where the vector is that of a field, as nearly always, it stays in the
// record and the entry has a checksum of its elements; else the entry has the elements themselves.
const (
	numberSize  = 8
	pointerSize = numberSize + 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// InField reports whether the vector of a record, whose image is doc, is the value of a field that the index finds
// again in what is stored.
func InField(ix *catalog.Index, doc value.Value) bool {
	path := ix.Paths
	if len(path) != 1 || len(path[0]) == 0 || !catalog.Plain(path[0]) {
		return false
	}
	_, ok := field(doc, path[0])
	return ok
}

// field is the object that a path ends in.
func field(doc value.Value, path []catalog.Step) (*value.Object, bool) {
	for _, s := range path[:len(path)-1] {
		if doc.Kind() != value.KindObject {
			return nil, false
		}
		doc, _ = doc.Object().Get(s.Name)
	}
	if doc.Kind() != value.KindObject {
		return nil, false
	}
	return doc.Object(), true
}

// width is the size of the elements of a vector.
func (s *Spec) width() int { return s.Dimension * s.size() }

// pointing reports whether entries of vectors in fields may leave the elements out: they must not look like others.
func (s *Spec) pointing() bool { return s.width() > 2*pointerSize }

// appendEntry appends the entry of a vector.
func (x *Index) appendEntry(dst []byte, number uint64, raw []byte, inField bool) []byte {
	dst = binary.BigEndian.AppendUint64(dst, number)
	if inField {
		return binary.BigEndian.AppendUint32(dst, crc32.Checksum(raw, castagnoli))
	}
	return append(dst, raw...)
}

// wellFormed reports whether an entry has one of the two forms.
func (x *Index) wellFormed(entry []byte) bool {
	return len(entry) == numberSize+x.Spec.width() || x.points(entry)
}

// points reports whether the elements of an entry are in the record.
func (x *Index) points(entry []byte) bool { return len(entry) == pointerSize && x.Spec.pointing() }

// agrees reports whether an entry is of a vector.
func (x *Index) agrees(entry, raw []byte) bool {
	if x.points(entry) {
		return binary.BigEndian.Uint32(entry[numberSize:]) == crc32.Checksum(raw, castagnoli)
	}
	return x.wellFormed(entry) && bytes.Equal(entry[numberSize:], raw)
}

// fields reads vectors out of the records of the index's table. The records have to be asked for in the order of their
// keys.
type fields struct {
	x      *Index
	prefix []byte
	cur    *txn.Cursor
	floats []float64
}

// strides is how many records a reader of fields passes by before it looks for one.
const strides = 64

func (x *Index) fields() *fields {
	return &fields{x: x, prefix: key.RecordPrefix(nil, x.ns, x.db, x.tb)}
}

// append appends the elements of the vector that an entry of a record is of.
func (f *fields) append(dst, record, entry []byte) ([]byte, error) {
	if !f.x.wellFormed(entry) {
		return nil, f.x.corrupt("vector")
	}
	if !f.x.points(entry) {
		return append(dst, entry[numberSize:]...), nil
	}
	stored, err := f.record(record)
	if err != nil {
		return nil, err
	}
	if stored == nil {
		return nil, f.x.corrupt("entry: there is no such record")
	}
	if dst, ok, err := f.plain(dst, stored); ok || err != nil {
		return dst, err
	}
	doc, err := value.RecordObject(stored)
	if err != nil {
		return nil, fmt.Errorf("read a record of index %s: %w", f.x.Name, err)
	}
	o, ok := field(value.ObjectOf(doc), f.x.path)
	if !ok {
		return nil, f.x.corrupt("entry: the record has no such field")
	}
	v, _ := o.Get(f.x.path[len(f.x.path)-1].Name)
	return f.x.Spec.Encode(dst, v)
}

// plain appends the elements of an array of floats at the top of a record, as vectors nearly always are; false where it
// is something else.
func (f *fields) plain(dst, stored []byte) ([]byte, bool, error) {
	s := &f.x.Spec
	if len(f.x.path) > 1 || !s.floats() {
		return dst, false, nil
	}
	var ok bool
	var err error
	if f.floats, ok, err = value.RecordFloats(f.floats[:0], stored, f.x.path[0].Name); err != nil {
		return nil, false, fmt.Errorf("read a record of index %s: %w", f.x.Name, err)
	}
	if !ok || len(f.floats) != s.Dimension {
		return dst, false, nil
	}
	return s.appendFloats(dst, f.floats), true, nil
}

// record is the stored form of a record; nil for none.
func (f *fields) record(record []byte) ([]byte, error) {
	for n := 0; f.cur != nil && n < strides; n++ {
		switch c := bytes.Compare(f.cur.Key()[len(f.prefix):], record); {
		case c == 0:
			return f.cur.Value(), nil
		case c > 0:
			return nil, nil
		}
		if !f.cur.Next() {
			return nil, f.cur.Err()
		}
	}
	f.close()
	from := append(bytes.Clone(f.prefix), record...)
	_, end := key.PrefixRange(f.prefix)
	f.cur = f.x.Tx.Scan(kv.Range{Start: from, End: end}, txn.ScanOptions{Untracked: true})
	if !f.cur.Next() {
		return nil, f.cur.Err()
	}
	if !bytes.Equal(f.cur.Key()[len(f.prefix):], record) {
		return nil, nil
	}
	return f.cur.Value(), nil
}

func (f *fields) close() {
	if f.cur != nil {
		f.cur.Close()
		f.cur = nil
	}
}
