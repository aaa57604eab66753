package fn

import (
	"github.com/nacredb/nacre/engine/value"
)

// maxOutput bounds the bytes of a text or array that a function makes out of small arguments.
const maxOutput = 1 << 20

// elemSize is the size of one element against maxOutput: the reference's size of a value, so that the same calls fail.
const elemSize = 56

func (c Call) tooLarge() error {
	return c.incorrect("Output must not exceed %d bytes.", maxOutput)
}

func arrayFuncs() []entry {
	return methodsOn(kindSet(value.KindArray), []entry{
		{sig: "array::add(items: array, value: any) -> array", impl: arrayAdd,
			doc: "Appends a value, or each item of an array, unless an equal item is there."},
		{sig: "calls array::all(items: array, test?: any) -> bool", impl: arrayAll,
			doc: "Whether every item is truthy, equals the value or passes the closure."},
		{sig: "calls method array::every(items: array, test?: any) -> bool", impl: arrayAll,
			doc: "The same as array::all."},
		{sig: "calls array::any(items: array, test?: any) -> bool", impl: arrayAny,
			doc: "Whether some item is truthy, equals the value or passes the closure."},
		{sig: "calls method array::some(items: array, test?: any) -> bool", impl: arrayAny,
			doc: "The same as array::any."},
		{sig: "calls method array::includes(items: array, test?: any) -> bool", impl: arrayAny,
			doc: "The same as array::any."},
		{sig: "array::append(items: array, value: any) -> array", impl: arrayPush,
			doc: "Adds one item at the end."},
		{sig: "array::at(items: array, index: int) -> any", impl: arrayAt,
			doc: "The item at an index, from the end when negative; NONE out of range."},
		{sig: "array::boolean_and(a: array, b: array) -> array<bool>", impl: arrayBooleanAnd,
			doc: "Truthiness of both items, pair by pair."},
		{sig: "array::boolean_not(items: array) -> array<bool>", impl: arrayBooleanNot,
			doc: "Negated truthiness of each item."},
		{sig: "array::boolean_or(a: array, b: array) -> array<bool>", impl: arrayBooleanOr,
			doc: "Truthiness of either item, pair by pair."},
		{sig: "array::boolean_xor(a: array, b: array) -> array<bool>", impl: arrayBooleanXor,
			doc: "Truthiness of just one item, pair by pair."},
		{sig: "array::clump(items: array, size: int) -> array<array>", impl: arrayClump,
			doc: "Consecutive chunks of a size; the last may be shorter."},
		{sig: "array::combine(a: array, b: array) -> array<array>", impl: arrayCombine,
			doc: "All pairs of an item of each array."},
		{sig: "array::complement(a: array, b: array) -> array", impl: arrayComplement,
			doc: "Items of the first array that are not in the second."},
		{sig: "array::concat(...arrays: array) -> array", impl: arrayConcat,
			doc: "All arrays, one after the other."},
		{sig: "array::difference(a: array, b: array) -> array", impl: arrayDifference,
			doc: "Items that are in just one of the arrays; each equal pair cancels once."},
		{sig: "array::distinct(items: array) -> array", impl: arrayDistinct,
			doc: "Items without later duplicates."},
		{sig: "array::fill(items: array, value: any, start?: any, end?: int) -> array", impl: arrayFill,
			doc: "Replaces the items from start to before end by a value."},
		{sig: "calls array::filter(items: array, test: any) -> array", impl: arrayFilter,
			doc: "Items that equal the value or pass the closure."},
		{sig: "calls array::filter_index(items: array, test: any) -> array<int>", impl: arrayFilterIndex,
			doc: "Indexes of the items that equal the value or pass the closure."},
		{sig: "calls array::find(items: array, test: any) -> any", impl: arrayFind,
			doc: "The first item that equals the value or passes the closure, or NONE."},
		{sig: "calls array::find_index(items: array, test: any) -> option<int>", impl: arrayFindIndex,
			doc: "The index of the first item that equals the value or passes the closure, or NONE."},
		{sig: "calls method array::index_of(items: array, test: any) -> option<int>", impl: arrayFindIndex,
			doc: "The same as array::find_index."},
		{sig: "array::first(items: array) -> any", impl: arrayFirst, doc: "The first item, or NONE."},
		{sig: "array::flatten(items: array) -> array", impl: arrayFlatten,
			doc: "Opens arrays inside the array, one level."},
		{sig: "calls array::fold(items: array, initial: any, step: function) -> any", impl: arrayFold,
			doc: "Folds from the left with an initial value; the closure gets the result so far, the item and its index."},
		{sig: "array::group(items: array) -> array", impl: arrayGroup,
			doc: "Flattens one level and drops duplicates."},
		{sig: "array::insert(items: array, value: any, index?: int) -> array", impl: arrayInsert,
			doc: "Inserts an item at an index (at the end by default); out of range changes nothing."},
		{sig: "array::intersect(a: array, b: array) -> array", impl: arrayIntersect,
			doc: "Items of the first array that have an equal partner of their own in the second."},
		{sig: "array::is_empty(items: array) -> bool", impl: arrayIsEmpty, doc: "Whether there are no items."},
		{sig: "array::join(items: array, separator: string) -> string", impl: arrayJoin,
			doc: "The texts of the items with a separator between."},
		{sig: "array::last(items: array) -> any", impl: arrayLast, doc: "The last item, or NONE."},
		{sig: "array::len(items: array) -> int", impl: arrayLen, doc: "The number of items."},
		{sig: "array::logical_and(a: array, b: array) -> array", impl: arrayLogicalAnd,
			doc: "The first item if it is falsy, else the second, pair by pair."},
		{sig: "array::logical_or(a: array, b: array) -> array", impl: arrayLogicalOr,
			doc: "The first item if it is truthy, else the second, pair by pair."},
		{sig: "array::logical_xor(a: array, b: array) -> array", impl: arrayLogicalXor,
			doc: "The only truthy item of the two, pair by pair; false when both are."},
		{sig: "calls array::map(items: array, step: function) -> array", impl: arrayMap,
			doc: "The results of the closure, which gets the item and its index."},
		{sig: "array::matches(items: array, value: any) -> array<bool>", impl: arrayMatches,
			doc: "Whether each item equals the value."},
		{sig: "array::max(items: array) -> any", impl: arrayMax, doc: "The greatest item, or NONE."},
		{sig: "array::min(items: array) -> any", impl: arrayMin, doc: "The least item, or NONE."},
		{sig: "array::pop(items: array) -> any", impl: arrayLast, doc: "The last item, or NONE."},
		{sig: "array::prepend(items: array, value: any) -> array", impl: arrayPrepend,
			doc: "Adds one item in front."},
		{sig: "array::push(items: array, value: any) -> array", impl: arrayPush,
			doc: "Adds one item at the end."},
		{sig: "array::range(start: any, end?: int) -> array<int>", impl: arrayRange, on: noMethod,
			doc: "The ints from start to before end, or those of a range."},
		{sig: "calls array::reduce(items: array, step: function) -> any", impl: arrayReduce,
			doc: "Folds from the left, starting with the first item; NONE for no items."},
		{sig: "array::remove(items: array, index: int) -> array", impl: arrayRemove,
			doc: "Without the item at an index; out of range changes nothing."},
		{sig: "array::repeat(value: any, count: int) -> array", impl: arrayRepeat, on: anyKind,
			doc: "An array that holds a value count times."},
		{sig: "array::reverse(items: array) -> array", impl: arrayReverse, doc: "The items in reverse order."},
		{sig: "array::sequence(start: int, count?: int) -> array<int>", impl: arraySequence, on: noMethod,
			doc: "count ints from start on; with one argument that many ints from 0 on."},
		{sig: "volatile array::shuffle(items: array) -> array", impl: arrayShuffle,
			doc: "The items in a random order."},
		{sig: "array::slice(items: array, start?: any, end?: int) -> array", impl: arraySlice,
			doc: "The items from start to before end, or in a range; negative positions count from the end."},
		{sig: "array::sort(items: array, order?: any) -> array", impl: arraySort,
			doc: "The items in ascending order; false or 'desc' for descending."},
		{sig: "array::sort::asc(items: array) -> array", impl: arraySort, doc: "The items in ascending order."},
		{sig: "array::sort::desc(items: array) -> array", impl: arraySortDesc,
			doc: "The items in descending order."},
		{sig: "array::sort_lexical(items: array, order?: any) -> array", impl: arraySortLexical,
			doc: "Sorts; strings compare without accents and case first."},
		{sig: "array::sort_natural(items: array, order?: any) -> array", impl: arraySortNatural,
			doc: "Sorts; digits inside strings compare as numbers."},
		{sig: "array::sort_natural_lexical(items: array, order?: any) -> array", impl: arraySortNaturalLexical,
			doc: "Sorts; strings compare without accents and case, digits inside them as numbers."},
		{sig: "array::swap(items: array, a: int, b: int) -> array", impl: arraySwap,
			doc: "Exchanges the items at two indexes."},
		{sig: "array::transpose(rows: array) -> array<array>", impl: arrayTranspose,
			doc: "Rows to columns; short rows are padded with NONE."},
		{sig: "array::union(a: array, b: array) -> array", impl: arrayUnion,
			doc: "The items of both arrays without duplicates."},
		{sig: "array::windows(items: array, size: int) -> array<array>", impl: arrayWindows,
			doc: "All runs of a size, each one further on than the last."},
	})
}

func arrayPush(_ Call, args []value.Value) (value.Value, error) {
	items := args[0].Elems()
	return value.ArrayOf(append(items[:len(items):len(items)], args[1])), nil
}

func arrayPrepend(_ Call, args []value.Value) (value.Value, error) {
	items := args[0].Elems()
	out := make([]value.Value, 0, len(items)+1)
	return value.ArrayOf(append(append(out, args[1]), items...)), nil
}

func arrayConcat(_ Call, args []value.Value) (value.Value, error) {
	n := 0
	for _, a := range args {
		n += a.Len()
	}
	out := make([]value.Value, 0, n)
	for _, a := range args {
		out = append(out, a.Elems()...)
	}
	return value.ArrayOf(out), nil
}

func arrayFirst(_ Call, args []value.Value) (value.Value, error) {
	if items := args[0].Elems(); len(items) > 0 {
		return items[0], nil
	}
	return value.None, nil
}

func arrayLast(_ Call, args []value.Value) (value.Value, error) {
	if items := args[0].Elems(); len(items) > 0 {
		return items[len(items)-1], nil
	}
	return value.None, nil
}

func arrayIsEmpty(_ Call, args []value.Value) (value.Value, error) {
	return value.Bool(args[0].Len() == 0), nil
}

func arrayLen(_ Call, args []value.Value) (value.Value, error) {
	return value.Int(int64(args[0].Len())), nil
}

func arrayJoin(c Call, args []value.Value) (value.Value, error) {
	return c.joinTexts(args[0].Elems(), args[1].Str())
}

func arrayMax(_ Call, args []value.Value) (value.Value, error) {
	items := args[0].Elems()
	if len(items) == 0 {
		return value.None, nil
	}
	best := items[0]
	for _, v := range items[1:] {
		if value.Compare(v, best) >= 0 {
			best = v
		}
	}
	return best, nil
}

func arrayMin(_ Call, args []value.Value) (value.Value, error) {
	items := args[0].Elems()
	if len(items) == 0 {
		return value.None, nil
	}
	best := items[0]
	for _, v := range items[1:] {
		if value.Compare(v, best) < 0 {
			best = v
		}
	}
	return best, nil
}

func arrayReverse(_ Call, args []value.Value) (value.Value, error) {
	items := args[0].Elems()
	out := make([]value.Value, len(items))
	for i, v := range items {
		out[len(items)-1-i] = v
	}
	return value.ArrayOf(out), nil
}

func arrayFlatten(_ Call, args []value.Value) (value.Value, error) {
	return value.ArrayOf(flattened(args[0].Elems())), nil
}

func flattened(items []value.Value) []value.Value {
	n := 0
	for _, v := range items {
		if v.Kind() == value.KindArray {
			n += v.Len()
		} else {
			n++
		}
	}
	out := make([]value.Value, 0, n)
	for _, v := range items {
		if v.Kind() == value.KindArray {
			out = append(out, v.Elems()...)
		} else {
			out = append(out, v)
		}
	}
	return out
}

func arrayTranspose(c Call, args []value.Value) (value.Value, error) {
	rows := args[0].Elems()
	width, filled := 0, 0
	for _, row := range rows {
		width = max(width, rowLen(row))
		filled += rowLen(row)
	}
	if len(rows)*width > max(maxProduct, 2*filled) {
		return value.None, c.tooLarge()
	}
	cells := make([]value.Value, len(rows)*width)
	out := make([]value.Value, width)
	for x := range out {
		column := cells[x*len(rows) : (x+1)*len(rows) : (x+1)*len(rows)]
		for y, row := range rows {
			switch {
			case row.Kind() != value.KindArray:
				if x == 0 {
					column[y] = row
				}
			case x < row.Len():
				column[y] = row.Elems()[x]
			}
		}
		out[x] = value.ArrayOf(column)
	}
	return value.ArrayOf(out), nil
}

func rowLen(row value.Value) int {
	if row.Kind() == value.KindArray {
		return row.Len()
	}
	return 1
}

// pairwise applies op to the items of a and b at each index of the longer one; missing stands in for what is not there.
func pairwise(a, b []value.Value, missing value.Value, op func(x, y value.Value) value.Value) value.Value {
	out := make([]value.Value, max(len(a), len(b)))
	for i := range out {
		x, y := missing, missing
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		out[i] = op(x, y)
	}
	return value.ArrayOf(out)
}

func arrayBooleanAnd(_ Call, args []value.Value) (value.Value, error) {
	return pairwise(args[0].Elems(), args[1].Elems(), value.None, func(x, y value.Value) value.Value {
		return value.Bool(value.Truthy(x) && value.Truthy(y))
	}), nil
}

func arrayBooleanOr(_ Call, args []value.Value) (value.Value, error) {
	return pairwise(args[0].Elems(), args[1].Elems(), value.None, func(x, y value.Value) value.Value {
		return value.Bool(value.Truthy(x) || value.Truthy(y))
	}), nil
}

func arrayBooleanXor(_ Call, args []value.Value) (value.Value, error) {
	return pairwise(args[0].Elems(), args[1].Elems(), value.None, func(x, y value.Value) value.Value {
		return value.Bool(value.Truthy(x) != value.Truthy(y))
	}), nil
}

func arrayBooleanNot(_ Call, args []value.Value) (value.Value, error) {
	items := args[0].Elems()
	out := make([]value.Value, len(items))
	for i, v := range items {
		out[i] = value.Bool(!value.Truthy(v))
	}
	return value.ArrayOf(out), nil
}

func arrayLogicalAnd(_ Call, args []value.Value) (value.Value, error) {
	return pairwise(args[0].Elems(), args[1].Elems(), value.Null, func(x, y value.Value) value.Value {
		if value.Truthy(x) {
			return y
		}
		return x
	}), nil
}

func arrayLogicalOr(_ Call, args []value.Value) (value.Value, error) {
	return pairwise(args[0].Elems(), args[1].Elems(), value.Null, func(x, y value.Value) value.Value {
		if value.Truthy(x) {
			return x
		}
		return y
	}), nil
}

func arrayLogicalXor(_ Call, args []value.Value) (value.Value, error) {
	return pairwise(args[0].Elems(), args[1].Elems(), value.Null, func(x, y value.Value) value.Value {
		tx, ty := value.Truthy(x), value.Truthy(y)
		switch {
		case tx && ty:
			return value.Bool(false)
		case ty:
			return y
		}
		return x
	}), nil
}
