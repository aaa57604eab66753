package plan

import "github.com/nacredb/nacre/engine/ast"

// Blind reports whether no assignment looks at what is there: they are plain, and no place has a condition.
func Blind(set []ast.Assign) bool {
	for i := range set {
		if set[i].Op != ast.AssignSet {
			return false
		}
		for _, p := range set[i].Place.Parts {
			if _, ok := p.(*ast.PartWhere); ok {
				return false
			}
		}
	}
	return true
}

// PlainSet reports whether every assignment is name = value, each name once.
func PlainSet(set []ast.Assign) bool {
	for i := range set {
		name, ok := PlainName(&set[i])
		if !ok {
			return false
		}
		for j := range i {
			if earlier, _ := PlainName(&set[j]); earlier == name {
				return false
			}
		}
	}
	return true
}

// PlainName is the name at the top that an assignment name = value sets; false for any other.
func PlainName(a *ast.Assign) (string, bool) {
	if a.Op != ast.AssignSet || len(a.Place.Parts) != 1 {
		return "", false
	}
	f, ok := a.Place.Parts[0].(*ast.PartField)
	if !ok {
		return "", false
	}
	return f.Name, true
}
