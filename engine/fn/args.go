package fn

import (
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// check counts args and coerces each to its parameter's type. The result is args itself unless a value changed.
func (c Call) check(args []value.Value) ([]value.Value, error) {
	f := c.Func
	if n := len(args); n < f.MinArgs() || (!f.Variadic && n > len(f.Params)) {
		return nil, c.wrongCount()
	}
	own := false
	for i, a := range args {
		p := &f.Params[min(i, len(f.Params)-1)]
		v, changed, bad := fit(a, p.Type)
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
			n, bad.elem, bad.found.Text(), want)
	}
	return c.incorrect("Argument %d was the wrong type. Expected `%s` but found `%s`", n, want, bad.found.Text())
}

// fit coerces v to one of the types that the table uses. changed says that the result is not v.
func fit(v value.Value, t *value.Type) (out value.Value, changed bool, bad *misfit) {
	k := v.Kind()
	ok := false
	switch t.Kind {
	case value.TypeAny:
		ok = true
	case value.TypeInt:
		if k == value.KindInt {
			return v, false, nil
		}
		if i, exact := integral(v); exact {
			return value.Int(i), true, nil
		}
	case value.TypeFloat:
		if k == value.KindFloat {
			return v, false, nil
		}
		if f, exact := exactFloat(v); exact {
			return value.Float(f), true, nil
		}
	case value.TypeNumber:
		ok = k.IsNumber()
	case value.TypeString:
		ok = k == value.KindString
	case value.TypeBytes:
		ok = k == value.KindBytes
	case value.TypeBool:
		ok = k == value.KindBool
	case value.TypeDatetime:
		ok = k == value.KindDatetime
	case value.TypeDuration:
		ok = k == value.KindDuration
	case value.TypeUUID:
		ok = k == value.KindUUID
	case value.TypeFunction:
		ok = k == value.KindClosure
	case value.TypeFile:
		ok = k == value.KindFile
	case value.TypeObject:
		ok = k == value.KindObject
	case value.TypeRecord:
		ok = k == value.KindRecord
	case value.TypeGeometry:
		ok = k == value.KindGeometry
	case value.TypeSet:
		ok = k == value.KindSet
	case value.TypeArray:
		if k != value.KindArray {
			break
		}
		if t.Elem == nil {
			return v, false, nil
		}
		return fitElems(v, t)
	}
	if !ok {
		return v, false, &misfit{found: v}
	}
	return v, false, nil
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

// exactFloat is the value of a float, or of an int or decimal that a float holds without loss.
func exactFloat(v value.Value) (float64, bool) {
	switch v.Kind() {
	case value.KindFloat:
		return v.Float(), true
	case value.KindInt:
		return float64(v.Int()), true
	case value.KindDecimal:
		return v.Decimal().Float(), true
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
