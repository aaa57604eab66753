package key

import (
	"bytes"
	"encoding/binary"
)

// Change is the key of the changes that one transaction made to one table.
func Change(dst []byte, ns, db uint32, versionstamp uint64, tb uint32) []byte {
	return appendUint32(binary.BigEndian.AppendUint64(appendDB(dst, ClassChange, ns, db), versionstamp), tb)
}

// ChangeRange is the half-open range of a database's changes with since ≤ versionstamp < before; a
// zero before means no upper bound.
func ChangeRange(ns, db uint32, since, before uint64) (start, end []byte) {
	prefix := appendDB(nil, ClassChange, ns, db)
	start = binary.BigEndian.AppendUint64(append([]byte(nil), prefix...), since)
	if before == 0 {
		return start, PrefixEnd(prefix)
	}
	return start, binary.BigEndian.AppendUint64(prefix, max(since, before))
}

// DecodeChange is the versionstamp and table in a key made by Change.
func DecodeChange(k []byte) (versionstamp uint64, tb uint32, err error) {
	n := SpaceLen(k)
	if n == 0 || Class(k[0]) != ClassChange || len(k) != n+12 {
		return 0, 0, ErrMalformed
	}
	return binary.BigEndian.Uint64(k[n:]), binary.BigEndian.Uint32(k[n+8:]), nil
}

// Live is the key of a live query on a table.
func Live(dst []byte, ns, db, tb uint32, id [16]byte) []byte {
	return append(appendTB(dst, ClassLive, ns, db, tb), id[:]...)
}

// LivePrefix is the prefix of all live queries on a table.
func LivePrefix(dst []byte, ns, db, tb uint32) []byte { return appendTB(dst, ClassLive, ns, db, tb) }

// Node is the key of a daemon that shares the store.
func Node(dst []byte, id [16]byte) []byte { return append(append(dst, byte(ClassNode)), id[:]...) }

// Process is the key of a part of what stands of a process that shares the store.
func Process(dst []byte, id [16]byte, part byte) []byte {
	return append(append(append(dst, byte(ClassProcess)), id[:]...), part)
}

// DecodeProcess is the id and the part in a key made by Process.
func DecodeProcess(k []byte) (id [16]byte, part byte, err error) {
	if len(k) != 1+16+1 || Class(k[0]) != ClassProcess {
		return id, 0, ErrMalformed
	}
	return [16]byte(k[1:]), k[17], nil
}

// metaWatch is the name that the keys of Watch begin with.
const metaWatch = "watch"

// Watch is the key of what the processes that share the store watch in a database.
func Watch(dst []byte, db uint32) []byte { return appendUint32(Meta(dst, metaWatch), db) }

// WatchRange is the half-open range of the keys of Watch.
func WatchRange() (start, end []byte) { return PrefixRange(Meta(nil, metaWatch)) }

// DecodeWatch is the database in a key made by Watch.
func DecodeWatch(k []byte) (db uint32, err error) {
	prefix := Meta(nil, metaWatch)
	if len(k) != len(prefix)+4 || !bytes.HasPrefix(k, prefix) {
		return 0, ErrMalformed
	}
	return binary.BigEndian.Uint32(k[len(prefix):]), nil
}

// Names that the keys of Asked, Ask and Answer begin with.
const (
	metaAsked  = "asked"
	metaAsk    = "ask/q"
	metaAnswer = "ask/a"
)

// Asked is the key that changes with each question of a process that shares the store to the others.
func Asked() []byte { return Meta(nil, metaAsked) }

// Ask is the key of a question.
func Ask(dst []byte, id [16]byte) []byte { return append(Meta(dst, metaAsk), id[:]...) }

// AskRange is the half-open range of the keys of Ask.
func AskRange() (start, end []byte) { return PrefixRange(Meta(nil, metaAsk)) }

// DecodeAsk is the question in a key made by Ask.
func DecodeAsk(k []byte) (id [16]byte, err error) {
	prefix := Meta(nil, metaAsk)
	if len(k) != len(prefix)+16 || !bytes.HasPrefix(k, prefix) {
		return id, ErrMalformed
	}
	return [16]byte(k[len(prefix):]), nil
}

// Answer is the key of the answer of a process to a question.
func Answer(dst []byte, id, process [16]byte) []byte {
	return append(append(Meta(dst, metaAnswer), id[:]...), process[:]...)
}

// AnswerRange is the half-open range of the keys of Answer for a question.
func AnswerRange(id [16]byte) (start, end []byte) {
	return PrefixRange(append(Meta(nil, metaAnswer), id[:]...))
}
