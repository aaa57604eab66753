package graphql

import (
	"strings"

	gast "github.com/vektah/gqlparser/v2/ast"
)

// filterKind is a filter type that fields share.
type filterKind struct {
	shape *shape
}

// The shared inputs of filters.
var (
	numOps    = []string{"eq", "ne", "gt", "gte", "lt", "lte"}
	distances = []string{"COSINE", "EUCLIDEAN", "MANHATTAN", "HAMMING", "JACCARD", "CHEBYSHEV", "PEARSON"}
)

func (b *builder) sharedInputs() {
	enum := func(name string, items []string) {
		d := &gast.Definition{Kind: gast.Enum, Name: name}
		for _, item := range items {
			d.EnumValues = append(d.EnumValues, &gast.EnumValueDefinition{Name: item})
		}
		b.define(d, "")
	}
	enum("_VectorDistance", distances)
	enum("_NumOp", numOps)
	input := func(name string, fields ...*gast.FieldDefinition) {
		b.define(&gast.Definition{Kind: gast.InputObject, Name: name, Fields: fields}, "")
	}
	vector := gast.NonNullListType(must("Float"), nil)
	input("_KnnInput", member("to", vector), member("k", must("Int")), member("distance", must("_VectorDistance")))
	input("_SimilarityInput", member("to", vector), member("distance", must("_VectorDistance")), member("op",
		must("_NumOp")),
		member("value", must("Float")))
	input("_MatchesInput", member("query", must("String")))
	input("_CallInput", member("fn", must("String")), member("args", gast.ListType(may("JSON"), nil)), member("op",
		must("_NumOp")),
		member("value", must("JSON")))
	input("_IdRangeInput", member("from", may("ID")), member("to", may("ID")), member("inclusive", may("Boolean")))
	counts := gast.FieldList{}
	for _, op := range numOps {
		counts = append(counts, member(op, may("Int")))
	}
	input("_CountFilterInput", counts...)
	ids := gast.FieldList{}
	for _, op := range numOps {
		ids = append(ids, member(op, may("ID")))
	}
	input("_filter_id", append(ids, member("in", gast.ListType(must("ID"), nil)), member("range",
		may("_IdRangeInput")))...)
}

func member(name string, t *gast.Type) *gast.FieldDefinition {
	return &gast.FieldDefinition{Name: name, Type: t}
}

// tableFilter makes the filter type of a table. Where the table is the only target of a link, that takes the
// operators of links too, so that its filter is one type.
func (b *builder) tableFilter(o *object) {
	list := gast.ListType(must(o.filter), nil)
	d := &gast.Definition{Kind: gast.InputObject, Name: o.filter, Fields: gast.FieldList{member("id",
		may("_filter_id")),
		member("and", list), member("or", list), member("not", may(o.filter))}}
	for _, f := range o.list {
		if name := b.filterOf(f.shape); name != "" && d.Fields.ForName(f.name) == nil {
			d.Fields = append(d.Fields, member(f.name, may(name)))
		}
	}
	for _, name := range sortedKeys(o.fields) {
		f := o.fields[name]
		if f.edge == nil || d.Fields.ForName(name) != nil {
			continue
		}
		way, field := "_out", name
		if f.edge.in {
			way, field = "_in", strings.TrimSuffix(name, "_in")
		}
		kind := "_relation_filter_" + o.name + "_" + field + way
		b.define(&gast.Definition{Kind: gast.InputObject, Name: kind, Fields: gast.FieldList{member("count",
			may("_CountFilterInput"))}}, o.table)
		d.Fields = append(d.Fields, member(name, may(kind)))
	}
	for _, m := range linkOperators() {
		if d.Fields.ForName(m.Name) == nil {
			d.Fields = append(d.Fields, m)
		}
	}
	b.define(d, o.table)
}

func linkOperators() gast.FieldList {
	return gast.FieldList{member("eq", may("ID")), member("ne", may("ID")), member("in", gast.ListType(must("ID"),
		nil)),
		member("call", may("_CallInput"))}
}

// filterOf is the name of the filter type of a field; "" where it has none.
func (b *builder) filterOf(s *shape) string {
	name := "_filter_" + s.name
	switch s.kind {
	case shapeNested:
		return ""
	case shapeList:
		if s.elem.kind == shapeNested {
			return ""
		}
		name = "_filter" + strings.Repeat("_list", depthOf(s)) + "_" + s.name
	case shapeLink:
		if len(s.targets) == 1 {
			return s.targets[0].filter
		}
	case shapeScalar:
		if s.name == "null" {
			return ""
		}
	}
	if b.filters[name] == nil {
		b.filters[name] = &filterKind{shape: s}
	}
	return name
}

// depthOf is how many lists a shape has around its elements.
func depthOf(s *shape) int {
	n := 0
	for ; s.kind == shapeList; s = s.elem {
		n++
	}
	return n
}

// filterTypes defines the filter types that fields asked for.
func (b *builder) filterTypes() {
	for _, name := range sortedKeys(b.filters) {
		b.define(&gast.Definition{Kind: gast.InputObject, Name: name, Fields: operatorsOf(b.filters[name].shape)}, "")
	}
}

// operatorsOf are the operators of a field.
func operatorsOf(s *shape) gast.FieldList {
	switch {
	case s.kind == shapeLink, s.kind == shapeScalar && s.name == "ID":
		return linkOperators()
	case s.kind == shapeList && s.elem.input == "ID":
		return gast.FieldList{member("contains", may("ID")), member("call", may("_CallInput"))}
	}
	t := s.in(true)
	out := gast.FieldList{member("eq", t), member("ne", t)}
	if s.kind == shapeScalar {
		switch s.name {
		case "String":
			for _, op := range [...]string{"contains", "startsWith", "endsWith", "regex"} {
				out = append(out, member(op, t))
			}
			out = append(out, member("in", gast.ListType(must("String"), nil)), member("matches", may("_MatchesInput")))
		case "Int", "Float", "number", "decimal", "datetime":
			for _, op := range numOps[2:] {
				out = append(out, member(op, t))
			}
			if s.name != "datetime" {
				out = append(out, member("in", gast.ListType(must(s.name), nil)))
			}
		}
	}
	if s.vector() {
		out = append(out, member("nearest", may("_KnnInput")), member("similarity", may("_SimilarityInput")))
	}
	return append(out, member("call", may("_CallInput")))
}

// vector reports whether values are lists of numbers.
func (s *shape) vector() bool {
	if s.kind != shapeList || s.elem.kind != shapeScalar {
		return false
	}
	switch s.elem.name {
	case "Int", "Float", "number", "decimal":
		return true
	}
	return false
}
