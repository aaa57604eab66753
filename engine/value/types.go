package value

// TypeKind is the head of a type expression.
type TypeKind uint8

// The heads of types, as in FIELD … TYPE, casts, parameters and LET.
const (
	TypeAny TypeKind = iota
	TypeNone
	TypeNull
	TypeBool
	TypeInt
	TypeFloat
	TypeDecimal
	TypeNumber
	TypeString
	TypeBytes
	TypeDatetime
	TypeDuration
	TypeUUID
	TypeRegex
	TypeRange
	TypeFunction
	TypeFile
	TypePoint    // the bare word; geometry<point> is TypeGeometry
	TypeObject   // any object
	TypeArray    // Elem, Max
	TypeSet      // Elem, Max
	TypeRecord   // Tables (none: any)
	TypeTable    // Tables (none: any)
	TypeGeometry // Shapes (none: any)
	TypeUnion    // Alts; option<T> is none | T
	TypeLiteral  // Literal: 'a', 5, true, 1h …
	TypeFields   // { a: int }: exactly these fields
	TypeTuple    // [int, string]: exactly these elements (Alts)
)

// Type is a type expression. Types are immutable and comparable only by text.
type Type struct {
	Kind    TypeKind
	Elem    *Type // array, set; nil = any
	Max     int   // array, set; -1 = unbounded
	Alts    []*Type
	Tables  []string
	Shapes  []GeometryKind
	Literal Value
	Fields  []TypeField
}

// TypeField is one field of a literal object type.
type TypeField struct {
	Name string
	Type *Type
}

// Any is the type of everything.
var Any = &Type{Kind: TypeAny, Max: -1}

// HoldsObject reports whether a type takes objects, or lists or sets of them.
func (t *Type) HoldsObject() bool {
	switch t.Kind {
	case TypeObject, TypeFields:
		return true
	case TypeArray, TypeSet:
		return t.Elem != nil && t.Elem.HoldsObject()
	}
	for _, alt := range t.Alts {
		if alt.HoldsObject() {
			return true
		}
	}
	return false
}

// HoldsSet reports whether a type takes sets, and no arrays.
func (t *Type) HoldsSet() bool {
	if t == nil {
		return false
	}
	if t.Kind != TypeUnion {
		return t.Kind == TypeSet
	}
	set := false
	for _, a := range t.Alts {
		if a.Kind == TypeArray {
			return false
		}
		set = set || a.HoldsSet()
	}
	return set
}
