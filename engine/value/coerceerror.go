package value

import (
	"strconv"

	"github.com/nacredb/nacre/engine/errs"
)

// CoerceError is a value that does not fit a type. Its text is complete in itself; callers put their
// own words (which field, which parameter) in front. It unwraps to an errs.Internal of the same text.
type CoerceError struct {
	Want   string   // the type as the text names it
	Got    Value    // what was found
	Len    int      // of a collection of the wrong length; -1 otherwise
	Cast   bool     // <T>v rather than a coercion
	Within []string // the collections around the element at fault, innermost first
}

// Error is the text: "Expected `int` but found `'a'`", "Could not cast into `int` using input `'a'`",
// "Expected `array<int,2>` but found a collection of length `3`".
func (e *CoerceError) Error() string {
	var b []byte
	switch {
	case e.Len >= 0:
		b = append(b, "Expected `"+e.Want+"` but found a collection of length `"...)
		b = strconv.AppendInt(b, int64(e.Len), 10)
	case e.Cast:
		b = append(b, "Could not cast into `"+e.Want+"` using input `"...)
		b = e.Got.Beginning(briefLen).AppendText(b)
	default:
		b = append(b, "Expected `"+e.Want+"` but found `"...)
		b = e.Got.Beginning(briefLen).AppendText(b)
	}
	b = append(b, '`')
	for _, w := range e.Within {
		b = append(b, " when coercing an element of `"+w+"`"...)
	}
	return string(b)
}

// Unwrap makes the error one that may cross the wire.
func (e *CoerceError) Unwrap() error { return errs.Internal("%s", e.Error()) }

// misfit is the error of v against t.
func misfit(v Value, t *Type, cast bool) *CoerceError {
	return &CoerceError{Want: t.wanted(cast), Got: v, Len: -1, Cast: cast}
}

// wanted is how error texts name t: by its head alone for collections and geometries.
func (t *Type) wanted(cast bool) string {
	switch t.Kind {
	case TypeArray:
		return "array"
	case TypeSet:
		if cast {
			return "array" // upstream casts to an array on the way
		}
		return "set"
	case TypePoint, TypeGeometry:
		return "geometry"
	case TypeTable:
		if !cast && len(t.Tables) == 0 {
			return "string"
		}
	}
	return t.compact()
}

// misfitLen is the error of a collection of n elements against t.
func misfitLen(t *Type, n int, cast bool) *CoerceError {
	return &CoerceError{Want: t.compact(), Len: n, Cast: cast}
}

// within adds the collection type t around the element that err is about.
func within(err error, t *Type) error {
	if e, ok := err.(*CoerceError); ok {
		e.Within = append(e.Within, (&Type{Kind: t.Kind, Elem: t.Elem, Max: -1}).String())
	}
	return err
}
