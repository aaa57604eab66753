package record

import (
	"slices"
	"strconv"

	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/value"
)

// visit rewrites a part of a value: at is its concrete path.
type visit = func(at []catalog.Step, v value.Value) (value.Value, error)

// mapPath rewrites what is at path inside v by f, which gets the concrete path and NONE for what is missing. A step
// over all elements visits what is there; a name below something that is no object is asked about, but not written.
// What f turns into NONE is removed; what it makes out of nothing, be it NONE, gets the objects around it. Where a step
// over all elements is still to come nothing is made: there are none.
func mapPath(v value.Value, path []catalog.Step, f visit) (value.Value, error) {
	return mapAt(v, nil, path, f)
}

func mapAt(v value.Value, at, path []catalog.Step, f visit) (value.Value, error) {
	if len(path) == 0 {
		return f(at, v)
	}
	step := path[0]
	if step.All {
		return mapAll(v, at, func(at []catalog.Step, v value.Value) (value.Value, error) {
			return mapAt(v, at, path[1:], f)
		})
	}
	if step.Index && v.Kind() == value.KindArray {
		return mapElement(v, step, at, func(at []catalog.Step, v value.Value) (value.Value, error) {
			return mapAt(v, at, path[1:], f)
		})
	}
	if !step.Named() {
		return v, nil
	}
	switch v.Kind() {
	case value.KindObject:
		old, _ := v.Object().Get(step.Name)
		now, err := mapAt(old, append(at, step), path[1:], f)
		if err != nil {
			return v, err
		}
		if same(old, now) {
			return v, nil
		}
		return setField(v, step.Name, now), nil
	case value.KindNone, value.KindNull: // the reference makes objects of both
		if slices.ContainsFunc(path, func(s catalog.Step) bool { return s.All }) { // of nothing
			return v, nil
		}
		now, err := mapAt(value.None, append(at, step), path[1:], f)
		switch {
		case err != nil:
			return v, err
		case now.IsNone():
			return value.ObjectOf(nil), nil
		}
		return value.ObjectOf(value.NewObject(value.Field{Name: step.Name, Value: now})), nil
	}
	_, err := mapAt(value.None, append(at, step), path[1:], f)
	return v, err
}

// mapLists is mapPath for the places that mapPath leaves alone: those inside of a list that a name leads into (a.b
// where a is a list). A rule for a.b holds for b of each element, as the path a.b reads it of each, at any depth.
func mapLists(v value.Value, path []catalog.Step, f visit) (value.Value, error) {
	return listsAt(v, nil, path, false, f)
}

// listsAt is mapLists; in says that a name has led into a list on the way.
func listsAt(v value.Value, at, path []catalog.Step, in bool, f visit) (value.Value, error) {
	if len(path) == 0 {
		if in {
			return f(at, v)
		}
		return v, nil
	}
	step := path[0]
	if step.All {
		return mapAll(v, at, func(at []catalog.Step, v value.Value) (value.Value, error) {
			return listsAt(v, at, path[1:], in, f)
		})
	}
	if step.Index && v.Kind() == value.KindArray {
		return mapElement(v, step, at, func(at []catalog.Step, v value.Value) (value.Value, error) {
			return listsAt(v, at, path[1:], in, f)
		})
	}
	if !step.Named() {
		return v, nil
	}
	switch v.Kind() {
	case value.KindArray, value.KindSet:
		return mapAll(v, at, func(at []catalog.Step, v value.Value) (value.Value, error) {
			if k := v.Kind(); k != value.KindObject && k != value.KindArray && k != value.KindSet {
				return v, nil
			}
			return listsAt(v, at, path, true, f)
		})
	case value.KindObject:
		old, _ := v.Object().Get(step.Name)
		now, err := listsAt(old, append(at, step), path[1:], in, f)
		if err != nil || same(old, now) {
			return v, err
		}
		return setField(v, step.Name, now), nil
	case value.KindNone, value.KindNull:
		if in {
			return mapAt(v, at, path, f)
		}
	}
	return v, nil
}

// hide takes out of v what is at path and f does not allow, in the elements of lists too. An element becomes NONE.
func hide(v value.Value, path []catalog.Step, allows func(value.Value) (bool, error)) (value.Value, error) {
	if len(path) == 0 {
		if v.IsNone() {
			return v, nil
		}
		if ok, err := allows(v); ok || err != nil {
			return v, err
		}
		return value.None, nil
	}
	step := path[0]
	switch {
	case step.Index && v.Kind() == value.KindArray:
		return mapElement(v, step, nil, func(_ []catalog.Step, v value.Value) (value.Value, error) {
			return hide(v, path[1:], allows)
		})
	case v.Kind() == value.KindObject && !step.All:
		old, ok := v.Object().Get(step.Name)
		if !ok {
			return v, nil
		}
		now, err := hide(old, path[1:], allows)
		if err != nil || same(old, now) {
			return v, err
		}
		return setField(v, step.Name, now), nil
	case step.All:
		path = path[1:]
	case v.Kind() != value.KindArray && v.Kind() != value.KindSet:
		return v, nil
	}
	return mapAll(v, nil, func(_ []catalog.Step, v value.Value) (value.Value, error) { return hide(v, path, allows) })
}

// mapAll rewrites every element of a list, and every field of an object.
func mapAll(v value.Value, at []catalog.Step, f visit) (value.Value, error) {
	switch v.Kind() {
	case value.KindArray, value.KindSet:
		elems, held := v.Elems(), 0
		var out []value.Value
		for i, e := range elems {
			now, err := f(append(at, catalog.Step{Name: strconv.Itoa(i)}), e)
			if held += value.Weight(now); held > mostStored && err == nil {
				err = value.TooHeavy(mostStored)
			}
			if err != nil {
				return v, err
			}
			if out == nil && !same(e, now) {
				out = append(make([]value.Value, 0, len(elems)), elems[:i]...)
			}
			if out != nil {
				out = append(out, now)
			}
		}
		switch {
		case out == nil:
			return v, nil
		case v.Kind() == value.KindSet:
			return value.SetOf(out), nil
		}
		return value.ArrayOf(out), nil
	case value.KindObject:
		out := v
		for _, fd := range v.Object().Fields() {
			now, err := f(append(at, catalog.Step{Name: fd.Name}), fd.Value)
			if err != nil {
				return v, err
			}
			if !same(fd.Value, now) {
				out = setField(out, fd.Name, now)
			}
		}
		return out, nil
	}
	return v, nil
}

// mapElement rewrites the element of an array that an Index step leads to, if it has one.
func mapElement(v value.Value, step catalog.Step, at []catalog.Step, f visit) (value.Value, error) {
	elems := v.Elems()
	i, ok := step.In(len(elems))
	if !ok {
		return v, nil
	}
	now, err := f(append(at, catalog.Step{Name: strconv.Itoa(i)}), elems[i])
	if err != nil || same(elems[i], now) {
		return v, err
	}
	out := slices.Clone(elems)
	out[i] = now
	return value.ArrayOf(out), nil
}

// pick is the value at a path; with steps over all elements it is the first that is there.
func pick(v value.Value, path []catalog.Step) value.Value {
	for i, st := range path {
		switch {
		case st.All:
			switch v.Kind() {
			case value.KindArray, value.KindSet:
				for _, e := range v.Elems() {
					if x := pick(e, path[i+1:]); !x.IsNone() {
						return x
					}
				}
			case value.KindObject:
				for _, f := range v.Object().Fields() {
					if x := pick(f.Value, path[i+1:]); !x.IsNone() {
						return x
					}
				}
			}
			return value.None
		case v.Kind() == value.KindObject:
			v, _ = v.Object().Get(st.Name)
		case v.Kind() == value.KindArray || v.Kind() == value.KindSet:
			n, err := strconv.Atoi(st.Name)
			if err != nil || n < 0 || n >= v.Len() {
				return value.None
			}
			v = v.Elems()[n]
		default:
			return value.None
		}
	}
	return v
}

// setField is object v with one field set, or removed where x is NONE.
func setField(v value.Value, name string, x value.Value) value.Value {
	if x.IsNone() {
		return value.ObjectOf(v.Object().Without(name))
	}
	return value.ObjectOf(v.Object().With(name, x))
}

// same reports whether two values are known to be identical without looking deep.
func same(a, b value.Value) bool { return a == b }
