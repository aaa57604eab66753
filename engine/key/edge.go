package key

import (
	"encoding/binary"
	"unsafe"

	"github.com/nacredb/nacre/engine/value"
)

// Direction is which end of an edge a node is.
type Direction byte

// The directions; incoming edges sort before outgoing ones.
const (
	In  Direction = 0x02 // the node is the edge's out: <-edge
	Out Direction = 0x03 // the node is the edge's in: ->edge
)

// Edge is the key of one adjacency entry: node (of table tb) has an edge of table edgeTable with
// key edge. Its value is the other end, made by EdgeEnd. RELATE writes two: Out at the in node, In
// at the out node.
func Edge(dst []byte, ns, db, tb uint32, node value.Value, dir Direction, edgeTable uint32, edge value.Value) []byte {
	return AppendRecordKey(EdgePrefix(dst, ns, db, tb, node, dir, edgeTable), edge)
}

// EdgePrefix is the prefix of a node's edges of one direction and table; they follow in the order
// of their keys.
func EdgePrefix(dst []byte, ns, db, tb uint32, node value.Value, dir Direction, edgeTable uint32) []byte {
	return appendUint32(EdgeDirection(dst, ns, db, tb, node, dir), edgeTable)
}

// EdgeDirection is the prefix of a node's edges of one direction, grouped by table id.
func EdgeDirection(dst []byte, ns, db, tb uint32, node value.Value, dir Direction) []byte {
	return append(EdgeNode(dst, ns, db, tb, node), byte(dir))
}

// EdgeNode is the prefix of all edges of a node.
func EdgeNode(dst []byte, ns, db, tb uint32, node value.Value) []byte {
	return AppendRecordKey(appendTB(dst, ClassEdge, ns, db, tb), node)
}

// EdgeRange is the half-open range of a node's edges whose keys are within r (nil: all).
func EdgeRange(ns, db, tb uint32, node value.Value, dir Direction, edgeTable uint32,
	r *value.Range) (start, end []byte) {
	return withinRange(EdgePrefix(nil, ns, db, tb, node, dir, edgeTable), r)
}

// DecodeEdge is the edge in a key made by Edge. The node is skipped unread.
func DecodeEdge(k []byte) (dir Direction, edgeTable uint32, edge value.Value, err error) {
	n := SpaceLen(k)
	if n == 0 || Class(k[0]) != ClassEdge {
		return 0, 0, value.None, ErrMalformed
	}
	rest, err := skipRecordKey(k[n:])
	if err != nil || len(rest) < 5 {
		return 0, 0, value.None, ErrMalformed
	}
	edge, err = wholeRecordKey(rest[5:])
	return Direction(rest[0]), binary.BigEndian.Uint32(rest[1:]), edge, err
}

// DecodeEdgeNode is the node in a key made by Edge.
func DecodeEdgeNode(k []byte) (value.Value, error) {
	n := SpaceLen(k)
	if n == 0 || Class(k[0]) != ClassEdge {
		return value.None, ErrMalformed
	}
	node, _, err := ReadRecordKey(k[n:])
	return node, err
}

// ID is a record id as adjacency entries hold it: the same bytes for the same record, independent of table names.
//
//	table4 RK
type ID string

// IDOf is the ID in bytes that do not change while it is used.
func IDOf(b []byte) ID { return ID(unsafe.String(unsafe.SliceData(b), len(b))) }

// Table is the id of the table of the record, which has at least four bytes.
func (id ID) Table() uint32 {
	return uint32(id[0])<<24 | uint32(id[1])<<16 | uint32(id[2])<<8 | uint32(id[3])
}

// Decode is the table and the key of the record.
func (id ID) Decode() (tb uint32, record value.Value, err error) {
	return DecodeEdgeEnd(unsafe.Slice(unsafe.StringData(string(id)), len(id)))
}

// EdgeIDAfter is the direction and the edge in a key made by Edge, whose node ends behind n bytes. The edge is a part
// of k.
func EdgeIDAfter(k []byte, n int) (dir Direction, edge ID, err error) {
	if len(k) < n+6 {
		return 0, "", ErrMalformed
	}
	return Direction(k[n]), IDOf(k[n+1:]), nil
}

// EdgeDirectionOf is EdgeDirection for a node given by its ID.
func EdgeDirectionOf(dst []byte, ns, db uint32, node ID, dir Direction) []byte {
	dst = append(appendDB(dst, ClassEdge, ns, db), node...)
	return append(dst, byte(dir))
}

// EdgeEnd is the value of an adjacency entry: the node at the other end.
//
//	table4 RK
func EdgeEnd(dst []byte, tb uint32, node value.Value) []byte {
	return AppendRecordKey(appendUint32(dst, tb), node)
}

// DecodeEdgeEnd reads a value made by EdgeEnd.
func DecodeEdgeEnd(b []byte) (tb uint32, node value.Value, err error) {
	if len(b) < 4 {
		return 0, value.None, ErrMalformed
	}
	node, err = wholeRecordKey(b[4:])
	return binary.BigEndian.Uint32(b), node, err
}

// Reference is the key that says: field of the record referrer (of referrerTable) points at target
// (of tb). It has no value.
func Reference(dst []byte, ns, db, tb uint32, target value.Value, referrerTable uint32, field string,
	referrer value.Value) []byte {
	return AppendRecordKey(ReferenceField(dst, ns, db, tb, target, referrerTable, field), referrer)
}

// ReferenceField is the prefix of the references to target from one field of a table.
func ReferenceField(dst []byte, ns, db, tb uint32, target value.Value, referrerTable uint32, field string) []byte {
	return appendText(ReferenceTable(dst, ns, db, tb, target, referrerTable), field)
}

// ReferenceTable is the prefix of the references to target from one table.
func ReferenceTable(dst []byte, ns, db, tb uint32, target value.Value, referrerTable uint32) []byte {
	return appendUint32(ReferenceTarget(dst, ns, db, tb, target), referrerTable)
}

// ReferenceTarget is the prefix of all references to target.
func ReferenceTarget(dst []byte, ns, db, tb uint32, target value.Value) []byte {
	return AppendRecordKey(appendTB(dst, ClassReference, ns, db, tb), target)
}

// ReferenceRange is the half-open range of the references to target from one field whose referrers
// are within r (nil: all).
func ReferenceRange(ns, db, tb uint32, target value.Value, referrerTable uint32, field string,
	r *value.Range) (start, end []byte) {
	return withinRange(ReferenceField(nil, ns, db, tb, target, referrerTable, field), r)
}

// DecodeReference is the referrer in a key made by Reference. The target is skipped unread.
func DecodeReference(k []byte) (referrerTable uint32, field string, referrer value.Value, err error) {
	n := SpaceLen(k)
	if n == 0 || Class(k[0]) != ClassReference {
		return 0, "", value.None, ErrMalformed
	}
	rest, err := skipRecordKey(k[n:])
	if err != nil || len(rest) < 4 {
		return 0, "", value.None, ErrMalformed
	}
	field, tail, err := readText(rest[4:])
	if err != nil {
		return 0, "", value.None, err
	}
	referrer, err = wholeRecordKey(tail)
	return binary.BigEndian.Uint32(rest), field, referrer, err
}
