package key

import (
	"github.com/nacredb/nacre/engine/value"
)

// Record is the key of a record.
func Record(dst []byte, ns, db, tb uint32, key value.Value) []byte {
	return AppendRecordKey(appendTB(dst, ClassRecord, ns, db, tb), key)
}

// RecordOf is the key of a record given by its ID.
func RecordOf(dst []byte, ns, db uint32, id ID) []byte {
	return append(appendDB(dst, ClassRecord, ns, db), id...)
}

// RecordPrefix is the prefix of all records of a table.
func RecordPrefix(dst []byte, ns, db, tb uint32) []byte {
	return appendTB(dst, ClassRecord, ns, db, tb)
}

// RecordRange is the half-open range of the records of a table whose keys are within r; a nil r is
// the whole table. An r that holds nothing gives an empty range.
func RecordRange(ns, db, tb uint32, r *value.Range) (start, end []byte) {
	return withinRange(RecordPrefix(nil, ns, db, tb), r)
}

// withinRange narrows the keys that go on after prefix with one record key to those within r.
func withinRange(prefix []byte, r *value.Range) (start, end []byte) {
	if r == nil {
		return PrefixRange(prefix)
	}
	own := func() []byte { return append(make([]byte, 0, len(prefix)+32), prefix...) }
	start, end = prefix, PrefixEnd(prefix)
	switch r.Start.Kind {
	case value.Included:
		start = AppendRecordKey(own(), r.Start.Value)
	case value.Excluded:
		start = after(AppendRecordKey(own(), r.Start.Value))
	}
	switch r.End.Kind {
	case value.Included:
		end = after(AppendRecordKey(own(), r.End.Value))
	case value.Excluded:
		end = AppendRecordKey(own(), r.End.Value)
	}
	if end != nil && string(start) > string(end) {
		end = start
	}
	return start, end
}

// DecodeRecord is the record key in a key made by Record.
func DecodeRecord(k []byte) (value.Value, error) {
	return lastRecordKey(k, ClassRecord)
}

// RecordPart is the part of a key made by Record that AppendRecordKey has made.
func RecordPart(k []byte) ([]byte, error) {
	n := SpaceLen(k)
	if n == 0 || n == len(k) || Class(k[0]) != ClassRecord {
		return nil, ErrMalformed
	}
	return k[n:], nil
}

// lastRecordKey reads the record key that is all of k after its space.
func lastRecordKey(k []byte, c Class) (value.Value, error) {
	n := SpaceLen(k)
	if n == 0 || Class(k[0]) != c {
		return value.None, ErrMalformed
	}
	return wholeRecordKey(k[n:])
}

func wholeRecordKey(k []byte) (value.Value, error) {
	v, rest, err := ReadRecordKey(k)
	if err != nil {
		return value.None, err
	}
	if len(rest) != 0 {
		return value.None, ErrMalformed
	}
	return v, nil
}
