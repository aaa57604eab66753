package fn

import (
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// check counts args and coerces each to its parameter's type. The result is args itself unless a value changed.
func (c Call) check(args []value.Value) ([]value.Value, error) {
	f := c.Func
	if n := len(args); n < f.least || f.most >= 0 && n > f.most {
		return nil, c.wrongCount()
	}
	own := false
	for i := range args {
		p := &f.Params[min(i, len(f.Params)-1)]
		if p.fits.has(args[i].Kind()) {
			continue
		}
		v, changed, bad := fit(args[i], p.Type)
		if bad != nil {
			return nil, c.wrongType(i+1, p.text, bad)
		}
		if !changed {
			continue
		}
		if !own {
			args, own = append([]value.Value(nil), args...), true
		}
		args[i] = v
	}
	return args, nil
}

func (c Call) wrongCount() error {
	least, most := c.Func.MinArgs(), c.Func.MaxArgs()
	switch {
	case most < 0:
		return c.incorrect("Expected at least one argument")
	case most == 0:
		return c.incorrect("Expected no arguments")
	case least == most:
		return c.incorrect("Expected %d %s", most, plural(most))
	default:
		return c.incorrect("Expected %d to %d arguments", least, most)
	}
}

func plural(n int) string {
	if n == 1 {
		return "argument"
	}
	return "arguments"
}

// misfit is why a value does not fit a type: the value at fault and, for an element, the element's type.
type misfit struct {
	found value.Value
	elem  string // "" when the argument itself is of the wrong kind
}

func (c Call) wrongType(n int, want string, bad *misfit) error {
	if bad.elem != "" {
		return c.incorrect("Argument %d was the wrong type. Expected `%s` but found `%s` when coercing an element of `%s`",
			n, bad.elem, bad.found.Brief(), want)
	}
	return c.incorrect("Argument %d was the wrong type. Expected `%s` but found `%s`", n, want, bad.found.Brief())
}

// fit coerces v, whose kind alone did not decide, to one of the types that the table uses. changed says that the result
// is not v.
func fit(v value.Value, t *value.Type) (out value.Value, changed bool, bad *misfit) {
	switch t.Kind {
	case value.TypeInt:
		if i, exact := integral(v); exact {
			return value.Int(i), v.Kind() != value.KindInt, nil
		}
	case value.TypeFloat:
		if v.Kind().IsNumber() {
			return value.Float(v.AsFloat()), v.Kind() != value.KindFloat, nil
		}
	case value.TypeArray:
		if v.Kind() == value.KindArray && t.Elem != nil {
			return fitElems(v, t)
		}
	}
	if fitting(t).has(v.Kind()) {
		return v, false, nil
	}
	return v, false, &misfit{found: v}
}

func fitElems(v value.Value, t *value.Type) (value.Value, bool, *misfit) {
	elems := v.Elems()
	if t.Elem.Kind == value.TypeNumber { // the hot one: vectors
		for i := range elems {
			if !elems[i].Kind().IsNumber() {
				return v, false, &misfit{found: elems[i], elem: "number"}
			}
		}
		return v, false, nil
	}
	for _, e := range elems {
		if _, _, bad := fit(e, t.Elem); bad != nil {
			return v, false, &misfit{found: e, elem: typeText(t.Elem)}
		}
	}
	return v, false, nil
}

// integral is the value of an int, or of a float or decimal without a fraction that fits an int.
func integral(v value.Value) (int64, bool) {
	switch v.Kind() {
	case value.KindInt:
		return v.Int(), true
	case value.KindFloat:
		f := v.Float()
		if i := int64(f); float64(i) == f && f < 1<<63 {
			return i, true
		}
	case value.KindDecimal:
		return v.Decimal().Int()
	}
	return 0, false
}

// need is the host's optional interface T, or the error that the function cannot run here.
func need[T any](c Call) (T, error) {
	h, ok := c.Host.(T)
	if !ok {
		return h, errs.Internal("Function '%s' cannot be used in this context", c.Func.Name)
	}
	return h, nil
}

// fitting are the kinds of values that fit a type as they are, where the kind alone decides.
func fitting(t *value.Type) kinds {
	switch t.Kind {
	case value.TypeAny:
		return anyKind
	case value.TypeInt:
		return kindSet(value.KindInt)
	case value.TypeFloat:
		return kindSet(value.KindFloat)
	case value.TypeNumber:
		return kindSet(value.KindInt, value.KindFloat, value.KindDecimal)
	case value.TypeString:
		return kindSet(value.KindString)
	case value.TypeBytes:
		return kindSet(value.KindBytes)
	case value.TypeBool:
		return kindSet(value.KindBool)
	case value.TypeDatetime:
		return kindSet(value.KindDatetime)
	case value.TypeDuration:
		return kindSet(value.KindDuration)
	case value.TypeUUID:
		return kindSet(value.KindUUID)
	case value.TypeFunction:
		return kindSet(value.KindClosure)
	case value.TypeFile:
		return kindSet(value.KindFile)
	case value.TypeObject:
		return kindSet(value.KindObject)
	case value.TypeRecord:
		return kindSet(value.KindRecord)
	case value.TypeGeometry:
		return kindSet(value.KindGeometry)
	case value.TypeSet:
		return kindSet(value.KindSet)
	case value.TypeArray:
		if t.Elem == nil {
			return kindSet(value.KindArray)
		}
	}
	return 0
}
