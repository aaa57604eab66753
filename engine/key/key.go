// Package key draws every key of the store. A key is a fixed-width space prefix (a class byte and
// the ids of what it belongs to, big endian) followed by an order-preserving tuple:
//
//	class            space prefix              tuple
//	0x10 meta        class                     name
//	0x11 root def    class                     kind1 name…
//	0x12 ns def      class ns4                 kind1 name…
//	0x13 db def      class ns4 db4             kind1 name…
//	0x14 table def   class ns4 db4 tb4         kind1 name…
//	0x18 node        class                     uuid16
//	0x19 process     class                     id16 part1
//	0x1a sequence    class ns4 db4             name…
//	0x1b past def    class                     (db def or table def, as text) ^version8
//	0x20 record      class ns4 db4 tb4         RK
//	0x21 edge        class ns4 db4 tb4         RK(node) direction1 edgeTable4 RK(edge)
//	0x22 reference   class ns4 db4 tb4         RK(target) table4 field RK(referrer)
//	0x23 history     class ns4 db4 tb4         RK ^version8
//	0x28 index       class ns4 db4 tb4 ix4     V… RK       (unique: V… alone, RK in the value)
//	0x29 index data  class ns4 db4 tb4 ix4     part1 …     (drawn by the index that owns it)
//	0x2a counter     class ns4 db4 tb4 ix4     shard4      (ix 0: rows of the table)
//	0x30 change      class ns4 db4             versionstamp8 tb4
//	0x31 live query  class ns4 db4 tb4         live16
//	0x32 blob        class ns4 db4             id16 part4   (files of models, in parts)
//
// Names map to numeric ids in the catalog, also for tables that are named by an edge or a link but
// never defined, so a rename touches no data and DROP is one space. name and field are escaped
// text: 0x00 becomes 0x00 0xff, and 0x00 0x01 ends it.
//
// RK, a record key, sorts as record ids do (int < string < uuid < array < object):
//
//	int      0x20-n … 0x20+n, then n ≤ 8 bytes big endian (of i; of ^-i where negative); 0 is 0x20
//	string   0x30 text 0x00 0x01
//	uuid     0x40 16 bytes
//	array    0x50 V… 0x01
//	object   0x60 (text V)… 0x01     each name with 0x02 before it
//	range    0x70 bound bound        only inside other values
//
// V, any value, sorts as the language's total order:
//
//	0x02 NONE   0x03 NULL   0x04 false   0x05 true
//	number   0x06 double8 n1 rest[n] [kind1]     see number.go
//	string   0x07 text 0x00 0x01     duration 0x08 secs8 nanos4     datetime 0x09 secs8^sign nanos4
//	uuid     0x0a 16 bytes           array    0x0b V… 0x01          set      0x0c V… 0x01
//	object   0x0d (0x02 text V)… 0x01         geometry 0x0e kind1 parts
//	bytes    0x0f as text            table    0x10 text             record   0x11 table-text RK
//	file     0x12 bucket key         regex    0x13 text             range    0x14 bound bound
//
// bound is 0x02 (none), 0x03 V (included) or 0x04 V (excluded). Every first byte of V and RK is
// above 0x01, which ends lists. No V or RK is the start of another one, so a key that starts with one
// is a contiguous range, up to PrefixEnd.
//
// There are two spellings of numbers. In an index 1, 1f and 1dec are one key, because they are
// equal. In a record key they are three, in that order, because the language keeps t:[1], t:[1f]
// and t:[1dec] apart and must give each back as it was; -0f is 0f.
//
// The package builds and reads keys; it does no I/O and knows no definitions. Functions that take
// dst append to it and give it back.
package key

import (
	"encoding/binary"
	"errors"
	"slices"
)

// ErrMalformed is a key that this package did not make.
var ErrMalformed = errors.New("malformed key")

// Class is the first byte of a key.
type Class byte

// The classes; their numbers are on disk.
const (
	ClassMeta      Class = 0x10
	ClassRootDef   Class = 0x11
	ClassNSDef     Class = 0x12
	ClassDBDef     Class = 0x13
	ClassTableDef  Class = 0x14
	ClassNode      Class = 0x18
	ClassProcess   Class = 0x19
	ClassSequence  Class = 0x1a
	ClassPastDef   Class = 0x1b
	ClassRecord    Class = 0x20
	ClassEdge      Class = 0x21
	ClassReference Class = 0x22
	ClassHistory   Class = 0x23
	ClassIndex     Class = 0x28
	ClassIndexData Class = 0x29
	ClassCounter   Class = 0x2a
	ClassChange    Class = 0x30
	ClassLive      Class = 0x31
	ClassBlob      Class = 0x32
)

// ids is how many ids are in the space prefix; -1 for what is not a class.
func (c Class) ids() int {
	switch c {
	case ClassMeta, ClassRootDef, ClassNode, ClassProcess, ClassPastDef:
		return 0
	case ClassNSDef:
		return 1
	case ClassDBDef, ClassSequence, ClassChange, ClassBlob:
		return 2
	case ClassTableDef, ClassRecord, ClassEdge, ClassReference, ClassHistory, ClassLive:
		return 3
	case ClassIndex, ClassIndexData, ClassCounter:
		return 4
	}
	return -1
}

// SpaceLen is the length of k's space prefix: what stores may keep together. It is 0 for what is not a key.
func SpaceLen(k []byte) int {
	if len(k) == 0 {
		return 0
	}
	n := 1 + 4*Class(k[0]).ids()
	if n < 1 || len(k) < n {
		return 0
	}
	return n
}

// NamespacePrefixes are the prefixes of all that is inside a namespace.
func NamespacePrefixes(ns uint32) [][]byte { return prefixes(ns) }

// DatabasePrefixes are the prefixes of all that is inside a database.
func DatabasePrefixes(ns, db uint32) [][]byte { return prefixes(ns, db) }

// TablePrefixes are the prefixes of all that is inside a table; its change feed and its history stay.
func TablePrefixes(ns, db, tb uint32) [][]byte {
	return slices.DeleteFunc(prefixes(ns, db, tb), func(p []byte) bool { return Class(p[0]) == ClassHistory })
}

// IndexPrefixes are the prefixes of all that is inside an index.
func IndexPrefixes(ns, db, tb, ix uint32) [][]byte { return prefixes(ns, db, tb, ix) }

// prefixes makes one prefix for each class whose space has at least these ids.
func prefixes(ids ...uint32) [][]byte {
	classes := [...]Class{ClassNSDef, ClassDBDef, ClassTableDef, ClassSequence, ClassRecord, ClassEdge, ClassReference,
		ClassHistory, ClassIndex, ClassIndexData, ClassCounter, ClassChange, ClassLive, ClassBlob}
	var out [][]byte
	for _, c := range classes {
		if c.ids() < len(ids) {
			continue
		}
		k := make([]byte, 0, 1+4*len(ids))
		k = append(k, byte(c))
		for _, id := range ids {
			k = appendUint32(k, id)
		}
		out = append(out, k)
	}
	return out
}

// PrefixEnd is the first key after all keys that start with prefix; nil where there is no such key.
func PrefixEnd(prefix []byte) []byte { return after(append([]byte(nil), prefix...)) }

// AppendPrefixEnd appends PrefixEnd to dst, which is empty; nil where there is no such key.
func AppendPrefixEnd(dst, prefix []byte) []byte { return after(append(dst, prefix...)) }

// after turns k itself into the first key after all that start with it.
func after(k []byte) []byte {
	for i := len(k) - 1; i >= 0; i-- {
		if k[i] != 0xff {
			k[i]++
			return k[:i+1]
		}
	}
	return nil
}

// PrefixRange is the half-open range of all keys that start with prefix, which it keeps as start.
func PrefixRange(prefix []byte) (start, end []byte) { return prefix, PrefixEnd(prefix) }

func appendUint32(dst []byte, n uint32) []byte { return binary.BigEndian.AppendUint32(dst, n) }

// usualKey is room for most keys: one that is made from nothing does not grow step by step.
const usualKey = 48

func appendNS(dst []byte, c Class, ns uint32) []byte {
	if cap(dst) == 0 {
		dst = make([]byte, 0, usualKey)
	}
	return appendUint32(append(dst, byte(c)), ns)
}

func appendDB(dst []byte, c Class, ns, db uint32) []byte {
	return appendUint32(appendNS(dst, c, ns), db)
}

func appendTB(dst []byte, c Class, ns, db, tb uint32) []byte {
	return appendUint32(appendDB(dst, c, ns, db), tb)
}

func appendIX(dst []byte, c Class, ns, db, tb, ix uint32) []byte {
	return appendUint32(appendTB(dst, c, ns, db, tb), ix)
}
