package value_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nacredb/nacre/engine/parse"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/engine/value/valuetest"
)

// The text of a value reads back as the value, of the same kind and text.
func TestTextReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := valuetest.Value(3).Draw(t, "v")
		if !readable(v) {
			return
		}
		text := v.Text()
		back, err := parse.Value(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !value.Equal(back, v) || back.Kind() != v.Kind() {
			t.Fatalf("%s (%s) reads back as %s (%s)", text, v.Kind(), back, back.Kind())
		}
	})
}

// readable leaves out what has no literal: bare tables, files with odd names, tables of records that start with a
// digit, polygons without rings, sets that begin with a record, ranges of ranges or
// records, points
// that are not numbers.
func readable(v value.Value) bool {
	plain := regexp.MustCompile(`^[\w./-]+$`).MatchString
	elems := func(vs ...value.Value) bool {
		return !slices.ContainsFunc(vs, func(v value.Value) bool { return !readable(v) })
	}
	switch v.Kind() {
	case value.KindTable:
		return false
	case value.KindFile:
		return plain(v.File().Bucket) && plain(v.File().Key) && !strings.Contains(v.File().Bucket, "/")
	case value.KindGeometry:
		for _, item := range v.Geometry().Items {
			if !readable(value.GeometryOf(item)) {
				return false
			}
		}
		g, ok := value.GeometryFromObject(v.Geometry().Object())
		return ok && value.Equal(value.GeometryOf(g), v) && !strings.Contains(v.Text(), "inf") &&
			!strings.Contains(v.Text(), "NaN")
	case value.KindSet: // {t:1,} is an object
		if v.Len() > 0 && v.Elems()[0].Kind() == value.KindRecord {
			return false
		}
		return elems(v.Elems()...)
	case value.KindArray:
		return elems(v.Elems()...)
	case value.KindObject:
		for _, f := range v.Object().Fields() {
			if !readable(f.Value) {
				return false
			}
		}
	case value.KindRecord:
		table := v.Record().Table
		return readable(v.Record().Key) && (table == "" || table[0] > '9' || value.QuoteRecordIdent(table)[0] == '`')
	case value.KindRange:
		for _, b := range []value.Bound{v.Range().Start, v.Range().End} {
			if k := b.Value.Kind(); k == value.KindRange || k == value.KindRecord || !readable(b.Value) {
				return false
			}
		}
	}
	return true
}

func genType(t *rapid.T, depth int) *value.Type {
	kinds := 20
	if depth > 0 {
		kinds = 26
	}
	elem := func() *value.Type { return genType(t, depth-1) }
	names := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "person", "a b", "select", "1a", "_", "NaN"}), 0, 2)
	switch k := rapid.IntRange(1, kinds).Draw(t, "kind"); k {
	case int(value.TypePoint), int(value.TypeSet) - 1:
		return value.RecordType(names.Draw(t, "tables")...)
	case 21:
		return value.ArrayType(elem(), rapid.IntRange(-1, 3).Draw(t, "max"))
	case 22:
		return value.SetType(elem(), rapid.IntRange(-1, 3).Draw(t, "max"))
	case 23:
		return value.UnionOf(elem(), elem())
	case 24:
		return value.FieldsType(value.TypeField{Name: "a", Type: elem()}, value.TypeField{Name: "b c", Type: elem()})
	case 25:
		return &value.Type{Kind: value.TypeTuple, Max: -1, Alts: []*value.Type{elem(), elem()}}
	case 26:
		return value.LiteralType(rapid.SampledFrom([]value.Value{value.Int(5), value.Str("it's"), value.Bool(true),
			value.Float(1.5)}).Draw(t, "literal"))
	default:
		return value.Simple(value.TypeKind(k))
	}
}

// The text of a type reads back as the type.
func TestTypeTextReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := genType(t, 2)
		back, err := parse.Type(typ.String())
		if err != nil {
			t.Fatalf("%s: %v", typ, err)
		}
		if back.String() != typ.String() {
			t.Fatalf("%s reads back as %s", typ, back)
		}
	})
}
