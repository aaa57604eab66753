package value

import (
	"math"
	"slices"
	"unicode/utf8"

	"github.com/nacredb/nacre/engine/decimal"
	"github.com/nacredb/nacre/engine/errs"
)

// RecordParser reads the text of a record id, e.g. "person:1". The language's parser is one.
type RecordParser interface {
	ParseRecord(s string) (Value, error)
}

// maxRangeElems bounds the array that a range is cast to.
const maxRangeElems = 1<<20 + 1

// Cast is <t>v: as Coerce, and strings are parsed, everything becomes a string, and collections turn
// into one another. The error is a *CoerceError, or an *errs.Error for a range that is too long.
func Cast(v Value, t *Type, p RecordParser) (Value, error) {
	if out, ok := coerceScalar(v, t); ok {
		return out, nil
	}
	switch t.Kind {
	case TypeArray, TypeSet:
		return castElems(v, t, p)
	case TypeUnion:
		if v.IsNullish() && !slices.ContainsFunc(t.Alts, func(alt *Type) bool { return Is(v, alt) }) {
			return None, misfit(v, t, true) // not even by a cast to string
		}
		// A decimal that is refused where an int is asked for does not become a text instead.
		fraction := v.Kind() == KindDecimal &&
			slices.ContainsFunc(t.Alts, func(alt *Type) bool { return alt.Kind == TypeInt })
		for _, alt := range t.Alts {
			if alt.Kind == TypeString && fraction || !castsInUnion(v, alt) {
				continue
			}
			if out, err := Cast(v, alt, p); err == nil {
				return out, nil
			}
		}
		return None, misfit(v, t, true)
	}
	if out, ok := castScalar(v, t, p); ok {
		return out, nil
	}
	return None, misfit(v, t, true)
}

// castsInUnion reports whether a cast of v to t is tried where t is one of several types. There, an array is no set, a
// set no array, an array no point, and a string no record of a certain table: another type may fit better.
func castsInUnion(v Value, t *Type) bool {
	switch t.Kind {
	case TypeArray, TypeSet:
		if v.Kind() != KindArray && t.Kind == TypeArray || v.Kind() != KindSet && t.Kind == TypeSet {
			return false
		}
		return t.Elem == nil || !slices.ContainsFunc(v.Elems(), func(e Value) bool { return !castsInUnion(e, t.Elem) })
	case TypePoint, TypeGeometry:
		return v.Kind() == KindGeometry
	case TypeRecord:
		return v.Kind() == KindRecord || len(t.Tables) == 0
	}
	return true
}

// castScalar does what Cast does beyond coercion for all but collections and unions.
func castScalar(v Value, t *Type, p RecordParser) (Value, bool) {
	switch t.Kind {
	case TypeString:
		s, ok := castText(v)
		return Str(s), ok
	case TypeTable:
		if v.Kind() == KindTable {
			return v, t.takesTable(v.Table())
		}
		s, ok := castText(v)
		return TableOf(s), ok && t.takesTable(s)
	case TypeRange:
		if v.Kind() == KindArray && v.Len() == 2 {
			e := v.Elems()
			return RangeOf(&Range{Start: Bound{Included, e[0]}, End: Bound{Excluded, e[1]}}), true
		}
	case TypePoint:
		return castPoint(v)
	case TypeGeometry:
		for _, shape := range t.Shapes {
			if shape == GeometryPoint {
				return castPoint(v)
			}
		}
	case TypeBytes:
		return castBytes(v)
	default:
		if v.Kind() == KindString {
			return parseAs(v.Str(), t, p)
		}
	}
	return None, false
}

// castText is ToString, but bytes are decoded as UTF-8.
func castText(v Value) (string, bool) {
	if v.Kind() == KindBytes {
		return string(v.Bytes()), utf8.Valid(v.Bytes())
	}
	return ToString(v), true
}

func castPoint(v Value) (Value, bool) {
	if v.Kind() != KindArray || v.Len() != 2 {
		return None, false
	}
	e := v.Elems()
	if !e[0].Kind().IsNumber() || !e[1].Kind().IsNumber() {
		return None, false
	}
	return GeometryOf(&Geometry{Kind: GeometryPoint, Point: Point{e[0].AsFloat(), e[1].AsFloat()}}), true
}

// castBytes takes the UTF-8 of a string, or the low eight bits of the ints of an array.
func castBytes(v Value) (Value, bool) {
	if v.Kind() == KindString {
		return BytesOf([]byte(v.Str())), true
	}
	if v.Kind() != KindArray {
		return None, false
	}
	out := make([]byte, v.Len())
	for i, e := range v.Elems() {
		n, err := Cast(e, intType, nil)
		if err != nil {
			return None, false
		}
		out[i] = byte(n.Int())
	}
	return BytesOf(out), true
}

var intType = Simple(TypeInt)

// parseAs reads the text of a t.
func parseAs(s string, t *Type, p RecordParser) (Value, bool) {
	switch t.Kind {
	case TypeBool:
		return Bool(s == "true"), s == "true" || s == "false"
	case TypeInt:
		i, err := ParseInt(s)
		return Int(i), err == nil
	case TypeFloat:
		f, err := ParseFloat(s)
		return Float(f), err == nil
	case TypeDecimal:
		d, err := decimal.Parse(s)
		return DecimalOf(d), err == nil
	case TypeNumber:
		n, err := ParseNumber(s)
		return n, err == nil
	case TypeDatetime:
		d, err := ParseDatetime(s)
		return DatetimeOf(d), err == nil
	case TypeDuration:
		d, err := ParseDuration(s)
		return DurationOf(d), err == nil
	case TypeUUID:
		u, err := ParseUUID(s)
		if err != nil {
			return None, false
		}
		return UUIDOf(u), true
	case TypeRegex:
		re, err := CompileRegex(s)
		return RegexOf(re), err == nil
	case TypeRecord:
		if p == nil {
			return None, false
		}
		r, err := p.ParseRecord(s)
		return r, err == nil && r.Kind() == KindRecord && t.takesTable(r.Record().Table)
	}
	return None, false
}

// castElems turns v into an array or set and casts the elements.
func castElems(v Value, t *Type, p RecordParser) (Value, error) {
	elems, err := elemsOf(v, t)
	if err != nil {
		return None, err
	}
	if t.Kind == TypeArray && t.Max >= 0 && len(elems) != t.Max {
		return None, misfitLen(t, len(elems), true)
	}
	fresh := v.Kind() != KindArray && v.Kind() != KindSet
	if t.Elem != nil && t.Elem.Kind != TypeAny {
		out, err := mapElems(elems, t, func(e Value) (Value, error) { return Cast(e, t.Elem, p) })
		if err != nil {
			return None, err
		}
		if out != nil {
			elems, fresh = out, true
		}
	}
	switch {
	case t.Kind == TypeArray:
		return ArrayOf(elems), nil
	case v.Kind() == KindSet && !fresh:
		v = setOfSorted(elems)
	case fresh:
		v = SetOf(elems)
	default:
		v = Set(elems...)
	}
	if t.Max >= 0 && v.Len() != t.Max {
		return None, misfitLen(t, v.Len(), true)
	}
	return v, nil
}

// elemsOf are the elements of an array, set, range of ints, or bytes.
func elemsOf(v Value, t *Type) ([]Value, error) {
	switch v.Kind() {
	case KindArray, KindSet:
		return v.Elems(), nil
	case KindBytes:
		out := make([]Value, v.Len())
		for i, b := range v.Bytes() {
			out[i] = Int(int64(b))
		}
		return out, nil
	case KindRange:
		first, last, ok := v.Range().Ints()
		switch {
		case !ok:
			return nil, misfit(v, t, true)
		case last < first:
			return nil, nil
		case uint64(last)-uint64(first) >= maxRangeElems:
			return nil, errs.Internal("Casting range `%s` to an array would create an array larger then the max allocation limit.", v.Brief())
		}
		out := make([]Value, last-first+1)
		for i := range out {
			out[i] = Int(first + int64(i))
		}
		return out, nil
	}
	return nil, misfit(v, t, true)
}

// Ints are the first and last int of r, where its bounds are whole numbers or open; an open bound is the
// end of the ints. No int lies in r if last < first. Other bounds give false.
func (r *Range) Ints() (first, last int64, ok bool) {
	first, last = math.MinInt64, math.MaxInt64
	if r.Start.Kind != Unbounded {
		i, ok := toInt(r.Start.Value)
		if !ok {
			return 0, 0, false
		}
		first = i.Int()
	}
	if r.End.Kind != Unbounded {
		i, ok := toInt(r.End.Value)
		if !ok {
			return 0, 0, false
		}
		last = i.Int()
	}
	if r.Start.Kind == Excluded && first == math.MaxInt64 || r.End.Kind == Excluded && last == math.MinInt64 {
		return 1, 0, true
	}
	if r.Start.Kind == Excluded {
		first++
	}
	if r.End.Kind == Excluded {
		last--
	}
	return first, last, true
}
