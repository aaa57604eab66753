package fn

import "github.com/nacredb/nacre/engine/value"

// test is the second argument of all, filter, find and their kind: a closure to call or a value to equal.
type test struct {
	host  Host
	value value.Value
	args  []value.Value // of the closure, used again for each item; nil when it is no closure
}

func newTest(c Call, v value.Value) test {
	t := test{host: c.Host, value: v}
	if v.Kind() == value.KindClosure {
		t.args = make([]value.Value, 1)
	}
	return t
}

func (t *test) pass(v value.Value) (bool, error) {
	if t.args == nil {
		return value.Equal(v, t.value), nil
	}
	t.args[0] = v
	r, err := t.host.Invoke(t.value, t.args...)
	return value.Truthy(r), err
}

// firstOf is the position of the first item whose test gives want, or -1. Without a test it is truthiness.
func firstOf(c Call, items []value.Value, args []value.Value, want bool) (int, error) {
	if len(args) == 0 {
		for i, v := range items {
			if value.Truthy(v) == want {
				return i, nil
			}
		}
		return -1, nil
	}
	t := newTest(c, args[0])
	for i, v := range items {
		ok, err := t.pass(v)
		if err != nil {
			return 0, err
		}
		if ok == want {
			return i, nil
		}
	}
	return -1, nil
}

func arrayAll(c Call, args []value.Value) (value.Value, error) {
	i, err := firstOf(c, args[0].Elems(), args[1:], false)
	return value.Bool(i < 0), err
}

func arrayAny(c Call, args []value.Value) (value.Value, error) {
	i, err := firstOf(c, args[0].Elems(), args[1:], true)
	return value.Bool(i >= 0), err
}

func arrayFind(c Call, args []value.Value) (value.Value, error) {
	items := args[0].Elems()
	i, err := firstOf(c, items, args[1:], true)
	if err != nil || i < 0 {
		return value.None, err
	}
	return items[i], nil
}

func arrayFindIndex(c Call, args []value.Value) (value.Value, error) {
	i, err := firstOf(c, args[0].Elems(), args[1:], true)
	if err != nil || i < 0 {
		return value.None, err
	}
	return value.Int(int64(i)), nil
}

// filtered are the items of args[0] that pass the test args[1].
func filtered(c Call, args []value.Value) ([]value.Value, error) {
	t := newTest(c, args[1])
	out := []value.Value{}
	for _, v := range args[0].Elems() {
		ok, err := t.pass(v)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, v)
		}
	}
	return out, nil
}

func arrayFilter(c Call, args []value.Value) (value.Value, error) {
	out, err := filtered(c, args)
	return value.ArrayOf(out), err
}

func arrayFilterIndex(c Call, args []value.Value) (value.Value, error) {
	t := newTest(c, args[1])
	out := []value.Value{}
	for i, v := range args[0].Elems() {
		ok, err := t.pass(v)
		if err != nil {
			return value.None, err
		}
		if ok {
			out = append(out, value.Int(int64(i)))
		}
	}
	return value.ArrayOf(out), nil
}

func arrayMap(c Call, args []value.Value) (value.Value, error) {
	out, err := mapped(c, args, 2)
	if err != nil {
		return value.None, err
	}
	return value.ArrayOf(out), nil
}

// mapped returns the results of a closure for each element. It has one parameter, the element, or two, with its place,
// too.
func mapped(c Call, args []value.Value, params int) ([]value.Value, error) {
	items := args[0].Elems()
	out, given := make([]value.Value, len(items)), make([]value.Value, 2)
	held := 0
	for i, v := range items {
		given[0], given[1] = v, value.Int(int64(i))
		r, err := c.Host.Invoke(args[1], given[:params]...)
		if err != nil {
			return nil, err
		}
		held += value.Weight(r)
		if err := c.Host.Reserve(held); err != nil {
			return nil, err
		}
		out[i] = r
	}
	return out, nil
}

func arrayFold(c Call, args []value.Value) (value.Value, error) {
	return fold(c, args[1], args[0].Elems(), args[2], 3)
}

func arrayReduce(c Call, args []value.Value) (value.Value, error) { return reduce(c, args, 3) }

// reduce is fold from the first element on, or NONE where there is none.
func reduce(c Call, args []value.Value, params int) (value.Value, error) {
	items := args[0].Elems()
	if len(items) == 0 {
		return value.None, nil
	}
	return fold(c, items[0], items[1:], args[1], params)
}

// fold gives the closure step what it gave last and each element. It has two parameters, these, or three, with the
// place of the element, too.
func fold(c Call, acc value.Value, items []value.Value, step value.Value, params int) (value.Value, error) {
	given := make([]value.Value, 3)
	for i, v := range items {
		var err error
		given[0], given[1], given[2] = acc, v, value.Int(int64(i))
		if acc, err = c.Host.Invoke(step, given[:params]...); err != nil {
			return value.None, err
		}
	}
	return acc, nil
}
