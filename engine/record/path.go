package record

import (
	"strconv"

	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/value"
)

// mapPath rewrites what is at path inside v by f, which gets the concrete path and NONE for what is missing. A step
// over all elements visits what is there; a name below something that is no object is asked about, but not written. What f turns into
// NONE is removed; what it makes out of nothing, be it NONE, gets the objects around it.
func mapPath(v value.Value, path []catalog.Step, f func(at []catalog.Step, v value.Value) (value.Value, error)) (value.Value, error) {
	return mapAt(v, nil, path, f)
}

func mapAt(v value.Value, at, path []catalog.Step, f func([]catalog.Step, value.Value) (value.Value, error)) (value.Value, error) {
	if len(path) == 0 {
		return f(at, v)
	}
	step := path[0]
	if step.All {
		return mapAll(v, at, path, f)
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

// mapAll is mapAt over every element.
func mapAll(v value.Value, at, path []catalog.Step, f func([]catalog.Step, value.Value) (value.Value, error)) (value.Value, error) {
	switch v.Kind() {
	case value.KindArray, value.KindSet:
		elems, held := v.Elems(), 0
		var out []value.Value
		for i, e := range elems {
			now, err := mapAt(e, append(at, catalog.Step{Name: strconv.Itoa(i)}), path[1:], f)
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
			now, err := mapAt(fd.Value, append(at, catalog.Step{Name: fd.Name}), path[1:], f)
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

// field is one field of an object; NONE for what is missing.
func field(v value.Value, name string) value.Value {
	if v.Kind() != value.KindObject {
		return value.None
	}
	x, _ := v.Object().Get(name)
	return x
}

// same reports whether two values are known to be identical without looking deep.
func same(a, b value.Value) bool { return a == b }
