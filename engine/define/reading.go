package define

import (
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/plan"
	"github.com/nacredb/nacre/engine/record"
)

// checkReading refuses DEFINE and ALTER with a clause that runs when somebody reads and modifies data by itself. It
// does not look into functions that the clause calls: they may be defined anew, and are refused when they run. An
// import keeps PERMISSIONS that modify data, as old exports may hold them: they fail when they run, which is a no.
func (r *run) checkReading(s ast.Statement) error {
	defs := []ast.Statement{s}
	if alter, ok := s.(*ast.Alter); ok {
		defs = defs[:0]
		for _, c := range alter.Clauses {
			defs = append(defs, c.Def)
		}
	}
	for _, d := range defs {
		if f, ok := d.(*ast.DefineField); ok && plan.Modifies(f.Computed) {
			return record.ErrModifies("COMPUTED")
		}
		if p := readPermission(d); p != nil && !r.Import && plan.Modifies(p.Where) {
			return record.ErrModifies("PERMISSIONS")
		}
	}
	return nil
}

// readPermission is the permission of a definition that is asked when somebody reads what it defines, or nil.
func readPermission(s ast.Statement) *ast.Permission {
	switch s := s.(type) {
	case *ast.DefineTable:
		return &s.Permissions.Select
	case *ast.DefineField:
		return &s.Permissions.Select
	case *ast.DefineParam:
		return s.Permission
	case *ast.DefineBucket:
		return s.Permission
	case *ast.DefineModel:
		return s.Permission
	}
	return nil
}
