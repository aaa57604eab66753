package value

import (
	"math"
	"slices"
)

// Coerce gives v as a t, strictly: numbers change kind where nothing is lost, a string becomes a table
// name, elements follow their collection; nothing is parsed. The error is a *CoerceError.
func Coerce(v Value, t *Type) (Value, error) {
	if out, ok := coerceScalar(v, t); ok {
		return out, nil
	}
	switch t.Kind {
	case TypeArray, TypeSet:
		if v.Kind() == KindArray && t.Kind == TypeArray || v.Kind() == KindSet && t.Kind == TypeSet {
			return coerceElems(v, t)
		}
	case TypeUnion:
		for _, alt := range t.Alts {
			if out, ok := coerceScalar(v, alt); ok {
				return out, nil
			}
			if alt.isScalar() {
				continue
			}
			if out, err := Coerce(v, alt); err == nil {
				return out, nil
			}
		}
	}
	return None, misfit(v, t, false)
}

// isScalar reports whether coerceScalar has the last word on t.
func (t *Type) isScalar() bool {
	return t.Kind != TypeArray && t.Kind != TypeSet && t.Kind != TypeUnion
}

// Is reports whether v can be coerced to t.
func Is(v Value, t *Type) bool {
	if _, ok := coerceScalar(v, t); ok {
		return true
	}
	if t.isScalar() {
		return false
	}
	if t.Kind == TypeUnion {
		return slices.ContainsFunc(t.Alts, func(alt *Type) bool { return Is(v, alt) })
	}
	_, err := Coerce(v, t)
	return err == nil
}

// coerceScalar coerces to everything but collections and unions. It does not allocate (but for a
// table's name, which shares the string).
func coerceScalar(v Value, t *Type) (Value, bool) {
	k := v.Kind()
	switch t.Kind {
	case TypeAny:
		return v, true
	case TypeNone:
		return v, k == KindNone
	case TypeNull:
		return v, k == KindNull
	case TypeBool:
		return v, k == KindBool
	case TypeInt:
		return toInt(v)
	case TypeFloat:
		if k == KindInt || k == KindDecimal {
			return Float(v.AsFloat()), true
		}
		return v, k == KindFloat
	case TypeDecimal:
		if !k.IsNumber() {
			return None, false
		}
		d, ok := exactDecimal(v)
		return DecimalOf(d), ok
	case TypeNumber:
		return v, k.IsNumber()
	case TypeString:
		return v, k == KindString
	case TypeBytes:
		return v, k == KindBytes
	case TypeDatetime:
		return v, k == KindDatetime
	case TypeDuration:
		return v, k == KindDuration
	case TypeUUID:
		return v, k == KindUUID
	case TypeRegex:
		return v, k == KindRegex
	case TypeRange:
		return v, k == KindRange
	case TypeFunction:
		return v, k == KindClosure
	case TypeFile: // its names are those of buckets
		return v, k == KindFile && t.takesTable(v.File().Bucket)
	case TypeObject:
		return v, k == KindObject
	case TypePoint:
		return v, k == KindGeometry && v.shape() == GeometryPoint
	case TypeGeometry:
		return v, k == KindGeometry && (len(t.Shapes) == 0 || slices.Contains(t.Shapes, v.shape()))
	case TypeRecord:
		return v, k == KindRecord && t.takesTable(v.Record().Table)
	case TypeTable:
		if k == KindString {
			return TableOf(v.Str()), t.takesTable(v.Str())
		}
		// Upstream: plain "table" takes names only as strings, table<a> also as table values.
		return v, k == KindTable && len(t.Tables) > 0 && t.takesTable(v.Table())
	case TypeLiteral:
		return v, Equal(v, t.Literal)
	case TypeFields:
		return v, k == KindObject && hasFields(v.Object(), t)
	case TypeTuple:
		return v, k == KindArray && hasElems(v.Elems(), t)
	}
	return None, false
}

func (t *Type) takesTable(name string) bool {
	return len(t.Tables) == 0 || slices.Contains(t.Tables, name)
}

// toInt takes whole numbers; a float beyond the range becomes the nearest int.
func toInt(v Value) (Value, bool) {
	switch v.Kind() {
	case KindInt:
		return v, true
	case KindFloat:
		f := v.Float()
		if math.Trunc(f) != f || math.IsInf(f, 0) {
			return None, false
		}
		return Int(saturate(f)), true
	case KindDecimal:
		i, ok := v.Decimal().Int()
		return Int(i), ok
	}
	return None, false
}

// saturate is f cut to the range of ints.
func saturate(f float64) int64 {
	switch {
	case f >= 1<<63:
		return math.MaxInt64
	case f < -1<<63:
		return math.MinInt64
	}
	return int64(f)
}

// hasFields: exactly the fields of t, those that may be NONE can be missing. Nothing is converted.
func hasFields(o *Object, t *Type) bool {
	found := 0
	for _, f := range t.Fields {
		v, ok := o.Get(f.Name)
		if ok {
			found++
		}
		if !Is(v, f.Type) {
			return false
		}
	}
	return found == o.Len()
}

func hasElems(elems []Value, t *Type) bool {
	if len(elems) != len(t.Alts) {
		return false
	}
	for i, e := range elems {
		if !Is(e, t.Alts[i]) {
			return false
		}
	}
	return true
}

// coerceElems coerces the elements of an array or set that already has the right head. The elements
// are copied only if one changes.
func coerceElems(v Value, t *Type) (Value, error) {
	if t.Kind == TypeArray && !t.holds(v.Len()) { // of sets the elements come first: they may fall together
		return None, misfitLen(t, v.Len(), false)
	}
	if t.Elem != nil && t.Elem.Kind != TypeAny && !allFit(v.Elems(), t.Elem) {
		out, err := mapElems(v.Elems(), t, func(e Value) (Value, error) { return Coerce(e, t.Elem) })
		switch {
		case err != nil:
			return v, err
		case out != nil && t.Kind == TypeArray:
			return ArrayOf(out), nil
		case out != nil:
			v = SetOf(out)
		}
	}
	if !t.holds(v.Len()) {
		return None, misfitLen(t, v.Len(), false)
	}
	return v, nil
}

// holds reports whether n is the number of elements that the collection type t asks for, if it asks for one.
func (t *Type) holds(n int) bool { return t.Max < 0 || n == t.Max }

// allFit reports whether all elems are of type t as they stand.
func allFit(elems []Value, t *Type) bool {
	for i := range elems {
		if c, ok := coerceScalar(elems[i], t); !ok || c != elems[i] {
			return false
		}
	}
	return true
}

// mapElems applies f to elems; nil if nothing changed.
func mapElems(elems []Value, t *Type, f func(Value) (Value, error)) ([]Value, error) {
	var out []Value
	for i, e := range elems {
		c, err := f(e)
		if err != nil {
			return nil, within(err, t)
		}
		if out == nil {
			if c == e {
				continue
			}
			out = append(make([]Value, 0, len(elems)), elems[:i]...)
		}
		out = append(out, c)
	}
	return out, nil
}
