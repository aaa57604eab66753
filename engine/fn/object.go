package fn

import "github.com/nacredb/nacre/engine/value"

func objectFuncs() []entry {
	return methodsOn(kindSet(value.KindObject), []entry{
		{sig: "object::entries(object: object) -> array<array>", impl: objectEntries,
			doc: "Pairs of key and value in order of the keys."},
		{sig: "object::extend(a: object, b: object) -> object", impl: objectExtend,
			doc: "The fields of both objects; the second wins."},
		{sig: "object::from_entries(entries: array) -> object", impl: objectFromEntries, on: noMethod,
			doc: "An object of pairs of key and value; later keys win."},
		{sig: "object::is_empty(object: object) -> bool", impl: objectIsEmpty, doc: "Whether there are no keys."},
		{sig: "object::keys(object: object) -> array<string>", impl: objectKeys, doc: "The keys in ascending order."},
		{sig: "object::len(object: object) -> int", impl: objectLen, doc: "The number of keys."},
		{sig: "object::remove(object: object, keys: any) -> object", impl: objectRemove,
			doc: "Without a key, or an array of keys."},
		{sig: "object::values(object: object) -> array", impl: objectValues, doc: "The values in order of their keys."},
	})
}

func objectEntries(_ Call, args []value.Value) (value.Value, error) {
	fields := args[0].Object().Fields()
	cells := make([]value.Value, 0, 2*len(fields))
	out := make([]value.Value, len(fields))
	for i, f := range fields {
		cells = append(cells, value.Str(f.Name), f.Value)
		out[i] = value.ArrayOf(cells[2*i : 2*i+2 : 2*i+2])
	}
	return value.ArrayOf(out), nil
}

// objectExtend merges two sorted lists of fields.
func objectExtend(_ Call, args []value.Value) (value.Value, error) {
	a, b := args[0].Object().Fields(), args[1].Object().Fields()
	out := make([]value.Field, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].Name < b[0].Name:
			out, a = append(out, a[0]), a[1:]
		case a[0].Name > b[0].Name:
			out, b = append(out, b[0]), b[1:]
		default:
			out, a, b = append(out, b[0]), a[1:], b[1:]
		}
	}
	return value.ObjectOf(value.ObjectOfSorted(append(append(out, a...), b...))), nil
}

func objectFromEntries(c Call, args []value.Value) (value.Value, error) {
	entries := args[0].Elems()
	fields := make([]value.Field, len(entries))
	for i, e := range entries {
		if e.Kind() != value.KindArray || e.Len() != 2 {
			return value.None, c.incorrect("Expected entries, found %s", typeName(e))
		}
		pair := e.Elems()
		key := pair[0].Text()
		if pair[0].Kind() == value.KindString {
			key = pair[0].Str()
		}
		fields[i] = value.Field{Name: key, Value: pair[1]}
	}
	return value.ObjectOf(value.NewObject(fields...)), nil
}

func objectIsEmpty(_ Call, args []value.Value) (value.Value, error) {
	return value.Bool(args[0].Object().Len() == 0), nil
}

func objectKeys(_ Call, args []value.Value) (value.Value, error) {
	fields := args[0].Object().Fields()
	out := make([]value.Value, len(fields))
	for i, f := range fields {
		out[i] = value.Str(f.Name)
	}
	return value.ArrayOf(out), nil
}

func objectLen(_ Call, args []value.Value) (value.Value, error) {
	return value.Int(int64(args[0].Object().Len())), nil
}

func objectRemove(c Call, args []value.Value) (value.Value, error) {
	keys := args[1:2]
	if args[1].Kind() == value.KindArray {
		keys = args[1].Elems()
	}
	gone := make(map[string]bool, len(keys))
	for _, k := range keys {
		if k.Kind() != value.KindString {
			return value.None, c.incorrect("'%s' cannot be used as a key. Please use a string instead.", k.Brief())
		}
		gone[k.Str()] = true
	}
	fields := args[0].Object().Fields()
	out := make([]value.Field, 0, len(fields))
	for _, f := range fields {
		if !gone[f.Name] {
			out = append(out, f)
		}
	}
	return value.ObjectOf(value.ObjectOfSorted(out)), nil
}

func objectValues(_ Call, args []value.Value) (value.Value, error) {
	fields := args[0].Object().Fields()
	out := make([]value.Value, len(fields))
	for i, f := range fields {
		out[i] = f.Value
	}
	return value.ArrayOf(out), nil
}
