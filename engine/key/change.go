package key

import "encoding/binary"

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

// NodeLive is the key that says that a live query belongs to a node.
func NodeLive(dst []byte, node, live [16]byte) []byte {
	return append(append(append(dst, byte(ClassNodeLive)), node[:]...), live[:]...)
}
