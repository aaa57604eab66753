package inside

import "github.com/nacredb/nacre/engine/value"

// Flatten puts the elements of inner arrays in their place, one level deep.
func Flatten(v value.Value) value.Value {
	if v.Kind() != value.KindArray {
		return v
	}
	out := make([]value.Value, 0, v.Len())
	for _, e := range v.Elems() {
		if e.Kind() == value.KindArray {
			out = append(out, e.Elems()...)
		} else {
			out = append(out, e)
		}
	}
	return value.ArrayOf(out)
}

// Slice is the elements in a range of indexes; NONE when it does not lie within the array.
func Slice(elems []value.Value, rg *value.Range) value.Value {
	from, to := int64(0), int64(len(elems))
	if rg.Start.Kind != value.Unbounded {
		i, ok := Whole(rg.Start.Value)
		if !ok || i < 0 {
			return value.None
		}
		if rg.Start.Kind == value.Excluded {
			i++
		}
		from = i
	}
	if rg.End.Kind != value.Unbounded {
		i, ok := Whole(rg.End.Value)
		if !ok || i < 0 || i > to {
			return value.None
		}
		if rg.End.Kind == value.Included {
			i++
		}
		if i > to {
			return value.None
		}
		to = i
	}
	if from > to {
		return value.None
	}
	return value.ArrayOf(elems[from:to:to])
}
