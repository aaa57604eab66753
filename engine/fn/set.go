package fn

import (
	"slices"

	"github.com/nacredb/nacre/engine/value"
)

func setFuncs() []entry {
	return methodsOn(kindSet(value.KindSet), []entry{
		{sig: "set::add(items: set, value: any) -> set", impl: setAdd,
			doc: "With a value, or every item of an array or set."},
		{sig: "calls set::all(items: set, test?: any) -> bool", impl: arrayAll,
			doc: "Whether every item is truthy, equals the value or passes the closure."},
		{sig: "calls set::any(items: set, test?: any) -> bool", impl: arrayAny,
			doc: "Whether some item is truthy, equals the value or passes the closure."},
		{sig: "set::at(items: set, index: int) -> any", impl: arrayAt,
			doc: "The item at a position in ascending order, from the end when negative; NONE out of range."},
		{sig: "set::complement(a: set, b: set) -> set", impl: setComplement,
			doc: "Items of the first set that are not in the second."},
		{sig: "set::contains(items: set, value: any) -> bool", impl: setContains, doc: "Whether the value is in the set."},
		{sig: "set::difference(a: set, b: set) -> set", impl: setDifference,
			doc: "Items that are in just one of the sets."},
		{sig: "calls set::filter(items: set, test: any) -> set", impl: setFilter,
			doc: "Items that equal the value or pass the closure."},
		{sig: "calls set::find(items: set, test: any) -> any", impl: arrayFind,
			doc: "The first item that equals the value or passes the closure, or NONE."},
		{sig: "set::first(items: set) -> any", impl: arrayFirst, doc: "The least item, or NONE."},
		{sig: "set::flatten(items: set) -> set", impl: setFlatten, doc: "Opens arrays and sets inside the set, one level."},
		{sig: "calls set::fold(items: set, initial: any, step: function) -> any", impl: setFold,
			doc: "Folds in ascending order with an initial value; the closure gets the result so far and the item."},
		{sig: "set::intersect(a: set, b: set) -> set", impl: setIntersect, doc: "Items that are in both sets."},
		{sig: "set::is_empty(items: set) -> bool", impl: arrayIsEmpty, doc: "Whether there are no items."},
		{sig: "set::join(items: set, separator: string) -> string", impl: arrayJoin,
			doc: "The texts of the items with a separator between."},
		{sig: "set::last(items: set) -> any", impl: arrayLast, doc: "The greatest item, or NONE."},
		{sig: "set::len(items: set) -> int", impl: arrayLen, doc: "The number of items."},
		{sig: "calls set::map(items: set, step: function) -> set", impl: setMap, doc: "The set of the results of the closure."},
		{sig: "set::max(items: set) -> any", impl: arrayLast, doc: "The greatest item, or NONE."},
		{sig: "set::min(items: set) -> any", impl: arrayFirst, doc: "The least item, or NONE."},
		{sig: "calls set::reduce(items: set, step: function) -> any", impl: setReduce,
			doc: "Folds in ascending order, starting with the least item; NONE for no items."},
		{sig: "set::remove(items: set, value: any) -> set", impl: setRemove,
			doc: "Without a value, or every item of an array or set."},
		{sig: "set::slice(items: set, start?: any, end?: int) -> set", impl: setSlice,
			doc: "The items from start to before end in ascending order, or in a range."},
		{sig: "set::union(a: set, b: set) -> set", impl: setUnion, doc: "The items of both sets."},
	})
}

// spread is v itself, or the items of an array or set.
func spread(v *value.Value) []value.Value {
	if k := v.Kind(); k == value.KindArray || k == value.KindSet {
		return v.Elems()
	}
	return []value.Value{*v}
}

func setAdd(_ Call, args []value.Value) (value.Value, error) {
	return value.SetOf(slices.Concat(args[0].Elems(), spread(&args[1]))), nil
}

func setUnion(_ Call, args []value.Value) (value.Value, error) {
	return value.SetOf(slices.Concat(args[0].Elems(), args[1].Elems())), nil
}

// setWhere is the items of set for which keep holds.
func setWhere(set value.Value, keep func(value.Value) bool) value.Value {
	out := make([]value.Value, 0, set.Len())
	for _, v := range set.Elems() {
		if keep(v) {
			out = append(out, v)
		}
	}
	return value.SetOf(out)
}

func setRemove(_ Call, args []value.Value) (value.Value, error) {
	gone := newLookup(spread(&args[1]))
	return setWhere(args[0], func(v value.Value) bool { return gone.first(v) < 0 }), nil
}

func setComplement(_ Call, args []value.Value) (value.Value, error) {
	return setWhere(args[0], func(v value.Value) bool { return !value.SetHas(args[1], v) }), nil
}

func setIntersect(_ Call, args []value.Value) (value.Value, error) {
	return setWhere(args[0], func(v value.Value) bool { return value.SetHas(args[1], v) }), nil
}

func setDifference(_ Call, args []value.Value) (value.Value, error) {
	a := setWhere(args[0], func(v value.Value) bool { return !value.SetHas(args[1], v) })
	b := setWhere(args[1], func(v value.Value) bool { return !value.SetHas(args[0], v) })
	return value.SetOf(slices.Concat(a.Elems(), b.Elems())), nil
}

func setContains(_ Call, args []value.Value) (value.Value, error) {
	return value.Bool(value.SetHas(args[0], args[1])), nil
}

func setFilter(c Call, args []value.Value) (value.Value, error) {
	out, err := filtered(c, args)
	if err != nil {
		return value.None, err
	}
	return value.SetOf(out), nil
}

func setFlatten(_ Call, args []value.Value) (value.Value, error) {
	items := args[0].Elems()
	out := make([]value.Value, 0, len(items))
	for i := range items {
		out = append(out, spread(&items[i])...)
	}
	return value.SetOf(out), nil
}

func setMap(c Call, args []value.Value) (value.Value, error) {
	out, err := mapped(c, args, 1)
	if err != nil {
		return value.None, err
	}
	return value.SetOf(out), nil
}

func setFold(c Call, args []value.Value) (value.Value, error) {
	return fold(c, args[1], args[0].Elems(), args[2], 2)
}

func setReduce(c Call, args []value.Value) (value.Value, error) { return reduce(c, args, 2) }

func setSlice(c Call, args []value.Value) (value.Value, error) {
	if len(args) == 1 {
		return args[0], nil
	}
	items := args[0].Elems()
	from, to, bad := window(args[1], args[2:], len(items))
	if bad != nil {
		return value.None, c.badStart("set::slice", bad)
	}
	if from >= to {
		return value.Set(), nil
	}
	return value.SetOf(slices.Clone(items[from:to])), nil
}
