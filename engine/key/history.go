package key

import (
	"encoding/binary"

	"github.com/nacredb/nacre/engine/value"
)

// versionLen is the length of the version that ends a key of the past.
const versionLen = 8

// History is the key of a record as it was from version on, newest first.
func History(dst []byte, ns, db, tb uint32, key value.Value, version uint64) []byte {
	return AppendVersion(HistoryPrefix(dst, ns, db, tb, key), version)
}

// HistoryPrefix is the prefix of all versions of a record.
func HistoryPrefix(dst []byte, ns, db, tb uint32, key value.Value) []byte {
	return AppendRecordKey(appendTB(dst, ClassHistory, ns, db, tb), key)
}

// HistoryRange is the half-open range of all versions of the records of a table within r (nil: all).
func HistoryRange(ns, db, tb uint32, r *value.Range) (start, end []byte) {
	return withinRange(appendTB(nil, ClassHistory, ns, db, tb), r)
}

// DecodeHistory is the record key and version in a key made by History.
func DecodeHistory(k []byte) (key value.Value, version uint64, err error) {
	n := SpaceLen(k)
	if n == 0 || Class(k[0]) != ClassHistory || len(k) < n+versionLen {
		return value.None, 0, ErrMalformed
	}
	prefix, version := CutVersion(k)
	key, err = wholeRecordKey(prefix[n:])
	return key, version, err
}

// Past is the key of what stood at the key k from version on: for keys of records (see History) and of definitions in
// databases and tables. Keys of the past sort as the keys that they are of, the versions of each newest first. It gives
// dst as it is for all other keys: their past is not kept.
func Past(dst, k []byte, version uint64) []byte {
	n := len(dst)
	if dst = PastPrefix(dst, k); len(dst) == n {
		return dst
	}
	return AppendVersion(dst, version)
}

// PastPrefix is the prefix of all versions of a key, and of nothing else; dst as it is where its past is not kept.
func PastPrefix(dst, k []byte) []byte {
	n := SpaceLen(k)
	if n == 0 || len(k) == n {
		return dst
	}
	switch Class(k[0]) {
	case ClassRecord:
		return append(append(dst, byte(ClassHistory)), k[1:]...)
	case ClassDBDef, ClassTableDef:
		switch Kind(k[n]) {
		case KindGrant, KindTableName:
			return dst // no statement shows them as they were
		}
		return appendText(append(dst, byte(ClassPastDef)), string(k))
	}
	return dst
}

// PastDefRange is the half-open range of all versions of the definitions whose keys start with prefix: one made by
// DBDef or TableDef without a name.
func PastDefRange(prefix []byte) (start, end []byte) {
	start = appendText([]byte{byte(ClassPastDef)}, string(prefix))
	return PrefixRange(start[:len(start)-2]) // without what ends a text
}

// DecodePastDef is the definition's key and the version in a key made by Past.
func DecodePastDef(k []byte) (def []byte, version uint64, err error) {
	if len(k) < 1+versionLen || Class(k[0]) != ClassPastDef {
		return nil, 0, ErrMalformed
	}
	prefix, version := CutVersion(k)
	s, rest, err := readText(prefix[1:])
	if err != nil || len(rest) != 0 {
		return nil, 0, ErrMalformed
	}
	return []byte(s), version, nil
}

// CutVersion takes the version off a key of the past, which must have one.
func CutVersion(k []byte) (prefix []byte, version uint64) {
	at := len(k) - versionLen
	return k[:at:at], ^binary.BigEndian.Uint64(k[at:])
}

// AppendVersion ends a key of the past that PastPrefix or HistoryPrefix began.
func AppendVersion(dst []byte, version uint64) []byte {
	return binary.BigEndian.AppendUint64(dst, ^version)
}
