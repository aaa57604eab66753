package parse

import (
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

// arena makes the commonest nodes many at a time, and collects lists before their length is known.
// A tree keeps the slabs that its nodes are in.
type arena struct {
	literals []ast.Literal
	names    []nameNode
	exprs    []ast.Expr        // a stack of unfinished lists
	fields   []ast.ObjectField // the same for objects
}

// nameNode is a path of one field, with all its parts.
type nameNode struct {
	idiom ast.Idiom
	field ast.PartField
	parts [1]ast.Part
}

// maxSlab is how many nodes a slab has at most; the first ones are small.
const maxSlab = 128

// slab is a new slab after one that had size nodes.
func slab[T any](size int) []T { return make([]T, 0, min(maxSlab, max(2, 2*size))) }

func (a *arena) literal(v value.Value) *ast.Literal {
	if len(a.literals) == cap(a.literals) {
		a.literals = slab[ast.Literal](cap(a.literals))
	}
	a.literals = append(a.literals, ast.Literal{Value: v})
	return &a.literals[len(a.literals)-1]
}

// name is the path of the one field name. It has no room for more parts: appending copies.
func (a *arena) name(name string) *ast.Idiom {
	if len(a.names) == cap(a.names) {
		a.names = slab[nameNode](cap(a.names))
	}
	a.names = append(a.names, nameNode{})
	n := &a.names[len(a.names)-1]
	n.field.Name = name
	n.parts[0] = &n.field
	n.idiom.Parts = n.parts[:]
	return &n.idiom
}

// takeExprs ends the list of expressions that was begun when the stack had base of them.
func (a *arena) takeExprs(base int) []ast.Expr {
	if len(a.exprs) == base {
		return nil
	}
	out := make([]ast.Expr, len(a.exprs)-base)
	copy(out, a.exprs[base:])
	clear(a.exprs[base:])
	a.exprs = a.exprs[:base]
	return out
}

func (a *arena) takeFields(base int) []ast.ObjectField {
	out := make([]ast.ObjectField, len(a.fields)-base)
	copy(out, a.fields[base:])
	clear(a.fields[base:])
	a.fields = a.fields[:base]
	return out
}
