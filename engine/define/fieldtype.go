package define

import (
	"slices"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/value"
)

// checkFieldType refuses a type that can not stand where the fields around it say something else.
func (r *run) checkFieldType(tb *catalog.Table, d *ast.DefineField, name string) error {
	if len(d.Name.Parts) < 2 {
		return nil
	}
	around, err := r.Cat.FieldsAround(tb, d.Name)
	if err != nil {
		return err
	}
	path := catalog.PathOf(d.Name)
	for _, outer := range around {
		if outer.Define.Computed != nil {
			return badOption("Cannot define nested field `%s` as parent field `%s` is a `COMPUTED` field.", name, outer.Name)
		}
		if d.Type == nil || d.Type.Kind == value.TypeAny || outer.Define.Type == nil {
			continue
		}
		if !typeFits(d.Type, outer.Define.Type, path[len(outer.Path):]) {
			return badOption("Cannot set field `%s` with type `%s` as it mismatched with field `%s` with type `%s`",
				name, d.Type.String(), outer.Name, outer.Define.Type.String())
		}
	}
	return nil
}

// typeFits reports whether inner is the type that outer gives to what is at a path below it. NONE has no parts, so it
// is left out of a union.
func typeFits(inner, outer *value.Type, below []catalog.Step) bool {
	if outer == nil || outer.Kind == value.TypeAny || inner.Kind == value.TypeAny {
		return true
	}
	if len(below) == 0 {
		return sameType(inner, outer)
	}
	step := below[0]
	fits := func(t *value.Type) bool { return typeFits(inner, t, below[1:]) }
	switch outer.Kind {
	case value.TypeObject:
		return !step.Index
	case value.TypeArray, value.TypeSet:
		if step.Index {
			i, ok := step.In(maxLen(outer))
			return ok && i >= 0 && step.Named() && fits(outer.Elem)
		}
		return step.All && fits(outer.Elem)
	case value.TypeTuple:
		if step.All {
			return allTypes(outer.Alts, fits)
		}
		i, ok := step.In(len(outer.Alts))
		return step.Index && step.Named() && ok && fits(outer.Alts[i])
	case value.TypeFields:
		return fitsFields(outer, step, fits)
	case value.TypeUnion:
		return allTypes(outer.Alts, func(t *value.Type) bool {
			return t.Kind == value.TypeNone || typeFits(inner, t, below)
		})
	}
	return false
}

func fitsFields(outer *value.Type, step catalog.Step, fits func(*value.Type) bool) bool {
	found := step.All
	for _, f := range outer.Fields {
		if step.All || !step.Index && f.Name == step.Name {
			if found = true; !fits(f.Type) {
				return false
			}
		}
	}
	return found
}

func allTypes(ts []*value.Type, ok func(*value.Type) bool) bool {
	return !slices.ContainsFunc(ts, func(t *value.Type) bool { return !ok(t) })
}

// maxLen is how many elements a list of type t may have.
func maxLen(t *value.Type) int {
	if t.Max < 0 {
		return int(^uint(0) >> 1)
	}
	return t.Max
}

// sameType reports whether two types are written alike. A literal is also of the type of its kind: all numbers are of
// number, objects with given fields of object. Of a union each alternative but NONE has to be the same.
func sameType(inner, outer *value.Type) bool {
	if inner.String() == outer.String() {
		return true
	}
	switch outer.Kind {
	case value.TypeUnion:
		return allTypes(outer.Alts, func(t *value.Type) bool { return t.Kind == value.TypeNone || sameType(inner, t) })
	case value.TypeFields:
		return inner.Kind == value.TypeObject
	case value.TypeLiteral:
		switch outer.Literal.Kind() {
		case value.KindInt, value.KindFloat, value.KindDecimal:
			return inner.Kind == value.TypeNumber
		case value.KindString:
			return inner.Kind == value.TypeString
		case value.KindBool:
			return inner.Kind == value.TypeBool
		case value.KindDuration:
			return inner.Kind == value.TypeDuration
		}
	}
	return false
}

// checkKeyType refuses a type of the field id that no record key has.
func checkKeyType(t *value.Type) error {
	if t == nil || keyType(t) {
		return nil
	}
	return badOption("Cannot use the `%s` type on the `id` field, as that's not a valid record id key.", t.String())
}

func keyType(t *value.Type) bool {
	switch t.Kind {
	case value.TypeAny, value.TypeNumber, value.TypeInt, value.TypeString, value.TypeUUID, value.TypeArray,
		value.TypeSet,
		value.TypeObject, value.TypeFields, value.TypeTuple:
		return true
	case value.TypeLiteral:
		k := t.Literal.Kind()
		return k == value.KindInt || k == value.KindString || k == value.KindUUID
	case value.TypeUnion:
		return allTypes(t.Alts, keyType)
	}
	return false
}
