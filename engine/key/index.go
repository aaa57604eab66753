package key

import (
	"encoding/binary"

	"github.com/nacredb/nacre/engine/value"
)

// Index is the key of an entry of an ordered index: the fields' values, then the record. It has no
// value. A unique index uses it too for entries that are exempt from uniqueness (see IndexUnique).
func Index(dst []byte, ns, db, tb, ix uint32, fields []value.Value, record value.Value) []byte {
	return AppendRecordKey(IndexUnique(dst, ns, db, tb, ix, fields), record)
}

// IndexUnique is the key of an entry of a unique index: the fields' values alone. Its value is the
// record's key, by AppendRecordKey. It is also what all entries with these leading values start with.
func IndexUnique(dst []byte, ns, db, tb, ix uint32, fields []value.Value) []byte {
	dst = appendIX(dst, ClassIndex, ns, db, tb, ix)
	for i := range fields {
		dst = AppendValue(dst, fields[i])
	}
	return dst
}

// IndexRange is the half-open range of the entries whose first fields equal lead and whose next
// field is between from and to. With both unbounded it is all entries that start with lead.
func IndexRange(ns, db, tb, ix uint32, lead []value.Value, from, to value.Bound) (start, end []byte) {
	prefix := IndexUnique(nil, ns, db, tb, ix, lead)
	own := func() []byte { return append(make([]byte, 0, len(prefix)+32), prefix...) }
	start, end = prefix, after(own())
	switch from.Kind {
	case value.Included:
		start = AppendValue(own(), from.Value)
	case value.Excluded:
		start = after(AppendValue(own(), from.Value))
	}
	switch to.Kind {
	case value.Included:
		end = after(AppendValue(own(), to.Value))
	case value.Excluded:
		end = AppendValue(own(), to.Value)
	}
	if string(start) > string(end) {
		end = start
	}
	return start, end
}

// DecodeIndex is the record in a key made by Index for that number of fields, or in the value of an
// entry made by IndexUnique: stored is the entry's value, which is empty for the former.
func DecodeIndex(k, stored []byte, fields int) (value.Value, error) {
	if len(stored) > 0 {
		return wholeRecordKey(stored)
	}
	n := SpaceLen(k)
	if n == 0 || Class(k[0]) != ClassIndex {
		return value.None, ErrMalformed
	}
	k = k[n:]
	for range fields {
		var err error
		if k, err = folded.skip(k, maxDepth); err != nil {
			return value.None, err
		}
	}
	return wholeRecordKey(k)
}

// IndexFields is the part of an index key that holds its first n values: equal for equal values.
// It is a part of k.
func IndexFields(k []byte, n int) ([]byte, error) {
	space := SpaceLen(k)
	if space == 0 || Class(k[0]) != ClassIndex {
		return nil, ErrMalformed
	}
	rest := k[space:]
	for range n {
		var err error
		if rest, err = folded.skip(rest, maxDepth); err != nil {
			return nil, err
		}
	}
	return k[space : len(k)-len(rest)], nil
}

// IndexData is the key of data of a full-text or vector index: part names one of its
// structures, and the index appends the rest with AppendUint, AppendText, AppendValue or
// AppendRecordKey.
func IndexData(dst []byte, ns, db, tb, ix uint32, part byte) []byte {
	return append(appendIX(dst, ClassIndexData, ns, db, tb, ix), part)
}

// AppendUint appends n, eight bytes big endian.
func AppendUint(dst []byte, n uint64) []byte { return binary.BigEndian.AppendUint64(dst, n) }

// AppendText appends s so that it sorts bytewise and ends by itself.
func AppendText(dst []byte, s string) []byte { return appendText(dst, s) }

// ReadUint reads what AppendUint wrote.
func ReadUint(k []byte) (n uint64, rest []byte, err error) {
	if len(k) < 8 {
		return 0, nil, ErrMalformed
	}
	return binary.BigEndian.Uint64(k), k[8:], nil
}

// ReadText reads what AppendText wrote.
func ReadText(k []byte) (s string, rest []byte, err error) { return readText(k) }

// Counter is the key of one part of a count: the rows of a table (ix 0) or the entries of a count
// index. The count is the sum over all shards.
func Counter(dst []byte, ns, db, tb, ix, shard uint32) []byte {
	return appendUint32(appendIX(dst, ClassCounter, ns, db, tb, ix), shard)
}

// CounterPrefix is the prefix of all parts of a count.
func CounterPrefix(dst []byte, ns, db, tb, ix uint32) []byte {
	return appendIX(dst, ClassCounter, ns, db, tb, ix)
}

// MayCount reports whether k may be a counter, to which transactions add without reading it: one made by Counter, or
// one of the short keys that indexes with structures of their own count with.
func MayCount(k []byte) bool {
	if len(k) == 0 {
		return false
	}
	switch Class(k[0]) {
	case ClassCounter:
		return true
	case ClassIndexData:
		n := SpaceLen(k)
		return n > 0 && len(k) <= n+2
	}
	return false
}
