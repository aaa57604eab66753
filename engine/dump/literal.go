package dump

import (
	"github.com/nacredb/nacre/engine/value"
)

// appendLiteral appends an expression that evaluates to v. That is its canonical text, except that a bare table name
// would be read as a field: such a one is written as a call.
func appendLiteral(dst []byte, v value.Value) []byte {
	if !hasTable(v) {
		return v.AppendText(dst)
	}
	switch v.Kind() {
	case value.KindTable:
		dst = append(dst, "type::table("...)
		return append(value.AppendQuoted(dst, v.Table()), ')')
	case value.KindArray:
		return append(appendLiterals(append(dst, '['), v.Elems()), ']')
	case value.KindSet:
		dst = appendLiterals(append(dst, '{'), v.Elems())
		if v.Len() < 2 {
			dst = append(dst, ',')
		}
		return append(dst, '}')
	case value.KindObject:
		dst = append(dst, "{ "...)
		for i, f := range v.Object().Fields() {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = append(value.AppendKey(dst, f.Name), ": "...)
			dst = appendLiteral(dst, f.Value)
		}
		return append(dst, " }"...)
	case value.KindRecord:
		id := v.Record()
		dst = append(value.AppendIdent(dst, id.Table), ':')
		return appendLiteral(dst, id.Key)
	case value.KindRange:
		return appendRange(dst, v.Range())
	}
	return v.AppendText(dst)
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

func appendRange(dst []byte, r *value.Range) []byte {
	if r.Start.Kind != value.Unbounded {
		dst = appendLiteral(dst, r.Start.Value)
	}
	if r.Start.Kind == value.Excluded {
		dst = append(dst, '>')
	}
	dst = append(dst, ".."...)
	if r.End.Kind == value.Included {
		dst = append(dst, '=')
	}
	if r.End.Kind != value.Unbounded {
		dst = appendLiteral(dst, r.End.Value)
	}
	return dst
}

// hasTable reports whether a bare table name stands in v.
func hasTable(v value.Value) bool {
	switch v.Kind() {
	case value.KindTable:
		return true
	case value.KindArray, value.KindSet:
		for _, e := range v.Elems() {
			if hasTable(e) {
				return true
			}
		}
	case value.KindObject:
		for _, f := range v.Object().Fields() {
			if hasTable(f.Value) {
				return true
			}
		}
	case value.KindRecord:
		return hasTable(v.Record().Key)
	case value.KindRange:
		r := v.Range()
		return hasTable(r.Start.Value) || hasTable(r.End.Value)
	}
	return false
}
