package dump

import (
	"github.com/nacredb/nacre/engine/value"
)

// appendLiteral appends an expression that evaluates to v. That is its canonical text but for values whose text reads
// back as something else, or not at all: bare table names, sets that begin with a record id, files and tables with odd
// names. Those are written as calls, casts and quoted names.
func appendLiteral(dst []byte, v value.Value) []byte {
	if v.Kind() == value.KindObject { // first, for records come in stored bytes
		return v.Object().AppendWith(dst, appendLiteral)
	}
	if plain(v) {
		return v.AppendText(dst)
	}
	switch v.Kind() {
	case value.KindDecimal:
		return value.DecimalOf(v.Decimal().Normalize()).AppendText(dst)
	case value.KindTable:
		dst = append(dst, "type::table("...)
		return append(value.AppendQuoted(dst, v.Table()), ')')
	case value.KindArray:
		return append(appendLiterals(append(dst, '['), v.Elems()), ']')
	case value.KindSet:
		return append(appendLiterals(append(dst, "<set>["...), v.Elems()), ']')
	case value.KindRecord:
		return appendRecord(dst, v.Record())
	case value.KindFile:
		dst = append(dst, "type::file("...)
		dst = append(value.AppendQuoted(dst, v.File().Bucket), ", "...)
		return append(value.AppendQuoted(dst, v.File().Key), ')')
	case value.KindRange:
		return appendRange(dst, v.Range(), appendBound)
	case value.KindGeometry:
		return appendCollection(dst, v.Geometry().Items)
	}
	return v.AppendText(dst)
}

// appendCollection writes a collection of geometries as objects: the reference reads no (x, y) there.
func appendCollection(dst []byte, items []*value.Geometry) []byte {
	dst = append(dst, "{ type: 'GeometryCollection', geometries: ["...)
	for i, g := range items {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = value.ObjectOf(g.Object()).AppendText(dst)
	}
	return append(dst, "] }"...)
}

func appendRecordKey(dst []byte, k value.Value) []byte {
	switch k.Kind() {
	case value.KindString:
		return value.AppendRecordIdent(dst, k.Str())
	case value.KindRange:
		return appendRange(dst, k.Range(), appendRecordKey)
	}
	return appendLiteral(dst, k)
}

// appendRecord writes a record id; its text, with the table's name quoted and the key by appendLiteral.
func appendRecord(dst []byte, id *value.RecordID) []byte {
	dst = append(dst, '`')
	for i := range len(id.Table) {
		if c := id.Table[i]; c == '`' || c == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, id.Table[i])
	}
	return appendRecordKey(append(dst, "`:"...), id.Key)
}

func appendLiterals(dst []byte, elems []value.Value) []byte {
	for i, e := range elems {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = appendLiteral(dst, e)
	}
	return dst
}

func appendRange(dst []byte, r *value.Range, bound func([]byte, value.Value) []byte) []byte {
	if r.Start.Kind != value.Unbounded {
		dst = bound(dst, r.Start.Value)
	}
	if r.Start.Kind == value.Excluded {
		dst = append(dst, '>')
	}
	dst = append(dst, ".."...)
	if r.End.Kind == value.Included {
		dst = append(dst, '=')
	}
	if r.End.Kind != value.Unbounded {
		dst = bound(dst, r.End.Value)
	}
	return dst
}

// appendBound writes one end of a range; one that is no plain literal stands in parentheses.
func appendBound(dst []byte, v value.Value) []byte {
	if plainBound(v) {
		return appendLiteral(dst, v)
	}
	return append(appendLiteral(append(dst, '('), v), ')')
}

// plain reports whether the canonical text of v reads back as v.
func plain(v value.Value) bool {
	switch v.Kind() {
	case value.KindDecimal:
		return v.Decimal() == v.Decimal().Normalize() // the text of trailing zeros is read without them
	case value.KindTable:
		return false
	case value.KindGeometry:
		return v.Geometry().Kind != value.GeometryCollection
	case value.KindFile:
		return plainName(v.File().Bucket) && plainPath(v.File().Key)
	case value.KindSet:
		if v.Len() > 0 && v.Elems()[0].Kind() == value.KindRecord {
			return false
		}
		return allPlain(v.Elems())
	case value.KindArray:
		return allPlain(v.Elems())
	case value.KindObject:
		for _, f := range v.Object().Fields() {
			if !plain(f.Value) {
				return false
			}
		}
	case value.KindRecord:
		return plainName(v.Record().Table) && !value.IsReserved(v.Record().Table) && plain(v.Record().Key)
	case value.KindRange:
		r := v.Range()
		return plainBound(r.Start.Value) && plainBound(r.End.Value)
	}
	return true
}

func allPlain(elems []value.Value) bool {
	for _, e := range elems {
		if !plain(e) {
			return false
		}
	}
	return true
}

func plainBound(v value.Value) bool {
	return v.Kind() != value.KindRange && v.Kind() != value.KindRecord && plain(v)
}

// plainName reports whether name is an identifier that needs no quotes anywhere.
func plainName(name string) bool {
	for i := range len(name) {
		c := name[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// plainPath reports whether a file's key needs no escapes.
func plainPath(key string) bool {
	for i := range len(key) {
		c := key[i]
		if c != '/' && c != '_' && c != '-' && c != '.' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') &&
			(c < '0' || c > '9') {
			return false
		}
	}
	return true
}
