package plan

import (
	"slices"
	"strings"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

// listed uses a condition that looks for one of several values, or for elements, of a field.
func (c *candidate) listed(conds []condition, field string, first bool) bool {
	path := nested(c.ix, 0)
	elem, ofElements := strings.CutSuffix(field, ".*")
	if !ofElements {
		elem, ofElements = strings.CutSuffix(field, "[*]")
	}
	for i := range conds {
		d := &conds[i]
		about := d.field == elem || d.field == field
		switch {
		case d.op == ast.OpInside && d.field == field && !ofElements:
			c.in, c.score = present(d.v.Elems()), c.score+2
			return true
		case !first || !about || ofElements && !c.lists:
		case path && asksNone(d): // objects without the field have no entry in a list of objects
		case d.op == ast.OpContains:
			c.in, c.elements, c.score = append(c.in, d.v), true, 3
			return true
		case d.op == ast.OpContainsAll: // a list with all of them has the first
			c.in, c.elements, c.score = d.v.Elems()[:1], true, 3
			return true
		case d.op == ast.OpContainsAny:
			c.in, c.elements, c.score = present(d.v.Elems()), true, 2
			return true
		}
	}
	return false
}

// asksNone reports whether a condition looks for NONE among elements.
func asksNone(d *condition) bool {
	return d.v.IsNone() || d.v.Kind() == value.KindArray && slices.ContainsFunc(d.v.Elems(), value.Value.IsNone)
}

// present is a list that is not nil, also where it is empty: nothing is one of its values.
func present(vs []value.Value) []value.Value {
	if vs == nil {
		return []value.Value{}
	}
	return vs
}
