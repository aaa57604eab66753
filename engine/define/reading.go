package define

import (
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/plan"
)

// A COMPUTED field and PERMISSIONS run whenever somebody reads, and so they may not write. checkReading refuses a
// definition whose own clauses write, and a function that writes where such a clause calls it. What an export holds is
// not looked at: the functions may come after their callers.

const errWrites = "writes, and COMPUTED fields and PERMISSIONS may only read"

// checkReading looks at what s has just stored.
func (r *run) checkReading(s ast.Statement) error {
	if r.Import {
		return nil
	}
	clauses, body, name := readingClauses(s), (*ast.Block)(nil), ""
	switch s := s.(type) {
	case *ast.DefineFunction:
		body, name = s.Body, s.Name
	case *ast.Alter:
		for _, c := range s.Clauses {
			if c.Def == nil {
				continue
			}
			clauses = append(clauses, readingClauses(c.Def)...)
			if f, ok := c.Def.(*ast.DefineFunction); ok && f.Body != nil {
				body, name = f.Body, s.Name.Ident
			}
		}
	}
	if len(clauses) == 0 && body == nil {
		return nil
	}
	db, err := r.Database()
	if err != nil {
		return err
	}
	bodies := r.bodies(db)
	for _, x := range clauses {
		if writes, err := plan.Writes(x, bodies); err != nil {
			return err
		} else if writes {
			return errs.New(errs.KindValidation, "The expression `%s` %s", ast.Text(x), errWrites)
		}
	}
	if writes, err := plan.Writes(body, bodies); err != nil || !writes {
		return err
	}
	return r.checkCallers(db, name, bodies)
}

// bodies gives the bodies of the functions of a database.
func (r *run) bodies(db *catalog.Database) func(name string) (*ast.Block, error) {
	return func(name string) (*ast.Block, error) {
		d, err := r.Cat.Def(db.Inner(), ast.DefFunction, name)
		if err != nil || d == nil {
			return nil, err
		}
		return d.Stmt.(*ast.DefineFunction).Body, nil
	}
}

// checkCallers refuses the function fn::name, which writes, where a clause that may only read calls it.
func (r *run) checkCallers(db *catalog.Database, name string, bodies func(name string) (*ast.Block, error)) error {
	check := func(s ast.Statement) error {
		for _, x := range readingClauses(s) {
			if calls, err := plan.Calls(x, name, bodies); err != nil {
				return err
			} else if calls {
				return errs.New(errs.KindValidation, "The function 'fn::%s' %s: `%s` calls it", name, errWrites,
					ast.Text(x))
			}
		}
		return nil
	}
	tables, err := r.Cat.Tables(db)
	if err != nil {
		return err
	}
	for _, tb := range tables {
		if err := check(tb.Define); err != nil {
			return err
		}
		for _, f := range tb.Fields {
			if err := check(f.Define); err != nil {
				return err
			}
		}
	}
	for _, kind := range []ast.DefKind{ast.DefFunction, ast.DefParam, ast.DefAPI, ast.DefBucket, ast.DefModel,
		ast.DefConfig} {
		defs, err := r.Cat.Defs(db.Inner(), kind)
		if err != nil {
			return err
		}
		for _, d := range defs {
			if err := check(d.Stmt); err != nil {
				return err
			}
		}
	}
	return nil
}

// readingClauses are the expressions of a definition that run when somebody reads.
func readingClauses(s ast.Statement) []ast.Expr {
	var out []ast.Expr
	one := func(p *ast.Permission) {
		if p != nil && p.Where != nil {
			out = append(out, p.Where)
		}
	}
	four := func(p *ast.Permissions) {
		one(&p.Select)
		one(&p.Create)
		one(&p.Update)
		one(&p.Delete)
	}
	switch s := s.(type) {
	case *ast.DefineTable:
		four(&s.Permissions)
	case *ast.DefineField:
		if s.Computed != nil {
			out = append(out, s.Computed)
		}
		four(&s.Permissions)
	case *ast.DefineFunction:
		one(s.Permission)
	case *ast.DefineParam:
		one(s.Permission)
	case *ast.DefineBucket:
		one(s.Permission)
	case *ast.DefineModel:
		one(s.Permission)
	case *ast.DefineAPI:
		one(s.Config.Permission)
		for i := range s.Actions {
			one(s.Actions[i].Config.Permission)
		}
	case *ast.DefineConfig:
		if s.API != nil {
			one(s.API.Permission)
		}
	}
	return out
}
