package sql

import (
	"slices"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// edit is what is done at the end of a path in JSON.
type edit struct {
	v       value.Value // what is set or inserted
	create  bool        // where nothing is there
	insert  bool
	after   bool // v is inserted behind the place, not before it
	removes bool
}

// at is x with the edit done at a path. x stays as it is where the path leads nowhere. n counts the steps before.
func (e *edit) at(x value.Value, path []value.Value, n int) (value.Value, error) {
	if path[0].IsNone() {
		return value.None, sqlstate.New("22004", "path element at position %d is null", n+1)
	}
	switch x.Kind() {
	case value.KindObject:
		return e.inObject(x, path, n)
	case value.KindArray:
		return e.inArray(x, path, n)
	}
	return x, nil
}

func (e *edit) inObject(x value.Value, path []value.Value, n int) (value.Value, error) {
	key, o := path[0].Str(), x.Object()
	was, there := o.Get(key)
	switch {
	case len(path) > 1 && !there:
		return x, nil
	case len(path) > 1:
		v, err := e.at(was, path[1:], n+1)
		return value.ObjectOf(o.With(key, v)), err
	case e.removes:
		return value.ObjectOf(o.Without(key)), nil
	case e.insert && there:
		return value.None, sqlstate.New(sqlstate.InvalidParameter, "cannot replace existing key").
			Hinted("Try using the function jsonb_set to replace key value.")
	case !there && !e.create:
		return x, nil
	}
	return value.ObjectOf(o.With(key, e.v)), nil
}

func (e *edit) inArray(x value.Value, path []value.Value, n int) (value.Value, error) {
	parsed, err := pgtype.Parse(pgtype.Int4, path[0].Str(), nil)
	if err != nil {
		return value.None, sqlstate.New(sqlstate.InvalidText, "path element at position %d is not an integer: %q", n+1,
			path[0].Str())
	}
	list, i := slices.Clone(x.Elems()), int(parsed.Int())
	if i < 0 {
		i += len(list)
	}
	there := i >= 0 && i < len(list)
	switch {
	case len(path) > 1 && !there:
		return x, nil
	case len(path) > 1:
		list[i], err = e.at(list[i], path[1:], n+1)
	case e.removes && there:
		list = slices.Delete(list, i, i+1)
	case e.removes:
	case there && e.insert && e.after:
		list = slices.Insert(list, i+1, e.v)
	case there && e.insert:
		list = slices.Insert(list, i, e.v)
	case there:
		list[i] = e.v
	case e.create && i < 0:
		list = slices.Insert(list, 0, e.v)
	case e.create:
		list = append(list, e.v)
	}
	if err != nil {
		return value.None, err
	}
	return value.ArrayOf(list), fits(len(list), mostElements)
}

// edited is JSON with an edit at a path.
func edited(x, path value.Value, what string, e *edit) (value.Value, error) {
	if x.Kind() != value.KindObject && x.Kind() != value.KindArray {
		return value.None, sqlstate.New(sqlstate.InvalidParameter, "cannot %s in scalar", what)
	}
	if len(elems(path)) == 0 {
		return x, nil
	}
	return e.at(x, elems(path), 0)
}

// setPath is jsonb_set, or jsonb_insert.
func setPath(insert bool) *Function {
	fn := Returns(pgtype.JSONB, 3, 4, func(c *Call) (value.Value, error) {
		flag := len(c.Args) > 3 && truth(c.Args[3])
		e := &edit{v: c.Args[2], insert: insert, create: insert || len(c.Args) == 3 || flag, after: insert && flag}
		return edited(c.Args[0], c.Args[1], "set path", e)
	}, pgtype.JSONB, pgtype.TextArray, pgtype.JSONB, pgtype.Bool)
	fn.Names = []string{"jsonb_in", "path", "replacement",
		map[bool]string{true: "insert_after", false: "create_if_missing"}[insert]}
	return fn
}

// jsonMinus binds JSON without a key, some keys, or an element; op #- removes what is at the end of a path.
func (b *binder) jsonMinus(op string, l, r *bound) (*bound, error) {
	want := r.oid
	switch {
	case op == "#-":
		want = pgtype.TextArray
	case want == pgtype.Unknown:
		want = pgtype.Text
	}
	r, err := b.coerce(r, want)
	if err != nil {
		return nil, err
	}
	if !pgtype.IsText(want) && !pgtype.IsInt(want) && want != pgtype.TextArray {
		return nil, noOperator(op, l, r)
	}
	return strict(pgtype.JSONB, op, l, r, func(_ *scope, x, y value.Value) (value.Value, error) {
		switch {
		case op == "#-":
			return edited(x, y, "delete path", &edit{removes: true})
		case x.Kind() != value.KindObject && x.Kind() != value.KindArray:
			return value.None, sqlstate.New(sqlstate.InvalidParameter, "cannot delete from scalar")
		case pgtype.IsInt(want) && x.Kind() == value.KindObject:
			return value.None, sqlstate.New(sqlstate.InvalidParameter, "cannot delete from object using integer index")
		case pgtype.IsInt(want):
			return edited(x, value.ArrayOf([]value.Value{value.Str(y.Text())}), "", &edit{removes: true})
		case y.Kind() == value.KindString:
			return withoutKeys(x, []value.Value{y}), nil
		}
		return withoutKeys(x, elems(y)), nil
	}), nil
}

// withoutKeys is an object without some keys, or an array without the texts that are equal to one.
func withoutKeys(x value.Value, keys []value.Value) value.Value {
	gone := map[string]bool{}
	for _, k := range keys {
		if !k.IsNone() {
			gone[k.Str()] = true
		}
	}
	if x.Kind() == value.KindObject {
		var fields []value.Field
		for _, f := range x.Object().Fields() {
			if !gone[f.Name] {
				fields = append(fields, f)
			}
		}
		return value.ObjectOf(value.NewObject(fields...))
	}
	return value.ArrayOf(slices.DeleteFunc(slices.Clone(x.Elems()), func(e value.Value) bool {
		return e.Kind() == value.KindString && gone[e.Str()]
	}))
}

func hasText(list []value.Value, s string) bool {
	return slices.ContainsFunc(list, func(v value.Value) bool {
		return v.Kind() == value.KindString && v.Str() == s
	})
}

// jsonHas binds ? (a key of an object, or a text of an array), ?| (one of some) and ?& (all of them).
func (b *binder) jsonHas(op string, l, r *bound) (*bound, error) {
	want := pgtype.Text
	if op != "?" {
		want = pgtype.TextArray
	}
	l, err := b.coerce(l, pgtype.JSONB)
	if err != nil {
		return nil, err
	}
	if r.oid != pgtype.Unknown && r.oid != want && !(pgtype.IsText(r.oid) && want == pgtype.Text) {
		return nil, noOperator(op, l, r)
	}
	if r, err = b.coerce(r, want); err != nil {
		return nil, err
	}
	return strict(pgtype.Bool, op, l, r, func(_ *scope, x, y value.Value) (value.Value, error) {
		has := func(k value.Value) bool {
			switch x.Kind() {
			case value.KindObject:
				_, there := x.Object().Get(k.Str())
				return there
			case value.KindArray:
				return hasText(x.Elems(), k.Str())
			}
			return x.Kind() == value.KindString && x.Str() == k.Str()
		}
		if op == "?" {
			return value.Bool(has(y)), nil
		}
		for _, k := range elems(y) {
			if !k.IsNone() && has(k) == (op == "?|") {
				return value.Bool(op == "?|"), nil
			}
		}
		return value.Bool(op == "?&"), nil
	}), nil
}
