package exec

import "github.com/nacredb/nacre/engine/ast"

// inspect visits a node and, where f wants it, everything inside it: expressions, statements and
// parts of idioms (as pointers).
func inspect(n any, f func(n any) bool) {
	if isNil(n) || !f(n) {
		return
	}
	v := visitor{f}
	switch n := n.(type) {
	case ast.Expr:
		v.expr(n)
	case ast.Statement:
		v.stmt(n)
	case ast.Part:
		v.part(n)
	}
}

func isNil(n any) bool {
	switch n := n.(type) {
	case nil:
		return true
	case *ast.Block:
		return n == nil
	case *ast.Idiom:
		return n == nil
	}
	return false
}

type visitor struct{ f func(any) bool }

func (v visitor) exprs(xs []ast.Expr) {
	for _, x := range xs {
		inspect(x, v.f)
	}
}

func (v visitor) expr(x ast.Expr) {
	switch x := x.(type) {
	case *ast.Array:
		v.exprs(x.Elems)
	case *ast.Set:
		v.exprs(x.Elems)
	case *ast.Object:
		for i := range x.Fields {
			inspect(x.Fields[i].Value, v.f)
		}
	case *ast.RecordID:
		inspect(x.Key, v.f)
	case *ast.KeyRange:
		inspect(x.Start, v.f)
		inspect(x.End, v.f)
	case *ast.Range:
		inspect(x.Start, v.f)
		inspect(x.End, v.f)
	case *ast.Unary:
		inspect(x.X, v.f)
	case *ast.Binary:
		inspect(x.L, v.f)
		inspect(x.R, v.f)
	case *ast.Cast:
		inspect(x.X, v.f)
	case *ast.Call:
		v.exprs(x.Args)
	case *ast.Closure:
		inspect(x.Body, v.f)
	case *ast.Script:
		v.exprs(x.Args)
	case *ast.Block:
		for _, s := range x.Stmts {
			inspect(s, v.f)
		}
	case *ast.Subquery:
		inspect(x.Stmt, v.f)
	case *ast.Paren:
		inspect(x.X, v.f)
	case *ast.Idiom:
		for _, p := range x.Parts {
			inspect(p, v.f)
		}
	}
}

func (v visitor) part(p ast.Part) {
	switch p := p.(type) {
	case *ast.PartStart:
		inspect(p.X, v.f)
	case *ast.PartIndex:
		inspect(p.X, v.f)
	case *ast.PartWhere:
		inspect(p.X, v.f)
	case *ast.PartDestructure:
		v.destructure(p.Fields)
	case *ast.PartMethod:
		v.exprs(p.Args)
	case *ast.PartCall:
		v.exprs(p.Args)
	case *ast.PartGraph:
		g := p.Graph
		v.projections(g.Select)
		inspect(g.Where, v.f)
		inspect(g.Limit, v.f)
		inspect(g.Start, v.f)
	case *ast.PartRecurse:
		inspect(p.Recurse.Target, v.f)
		inspect(p.Recurse.Path, v.f)
	}
}

func (v visitor) destructure(fields []ast.DestructureField) {
	for i := range fields {
		inspect(fields[i].Expr, v.f)
		v.destructure(fields[i].Nested)
	}
}

func (v visitor) projections(p *ast.Projections) {
	if p == nil {
		return
	}
	for i := range p.Fields {
		inspect(p.Fields[i].X, v.f)
	}
}

// stmt visits what is inside the statements that only read; the others are known to write.
func (v visitor) stmt(s ast.Statement) {
	switch s := s.(type) {
	case *ast.ExprStmt:
		inspect(s.X, v.f)
	case *ast.Let:
		inspect(s.X, v.f)
	case *ast.Return:
		inspect(s.X, v.f)
		v.exprs(s.Fetch)
	case *ast.Throw:
		inspect(s.X, v.f)
	case *ast.If:
		for i := range s.Branches {
			inspect(s.Branches[i].Cond, v.f)
			inspect(s.Branches[i].Then, v.f)
		}
		inspect(s.Else, v.f)
	case *ast.For:
		inspect(s.In, v.f)
		inspect(s.Body, v.f)
	case *ast.Select:
		v.projections(s.Projections)
		v.exprs(s.From)
		inspect(s.Where, v.f)
		inspect(s.Limit, v.f)
		inspect(s.Start, v.f)
		v.exprs(s.Fetch)
		v.exprs(s.Omit)
		inspect(s.Version, v.f)
		inspect(s.Timeout, v.f)
	case *ast.ExplainStmt:
		inspect(s.Stmt, v.f)
	}
}

// mayWrite reports whether a statement might write. Calls of functions whose bodies are not at hand might.
func mayWrite(s ast.Statement) bool {
	writes := false
	inspect(s, func(n any) bool {
		switch n := n.(type) {
		case *ast.Call:
			// A definition behind fn:: may do anything; sequences count on.
			if n.Kind != ast.CallBuiltin || !readOnly(n.Path) {
				writes = true
			}
		case *ast.PartCall:
			writes = true
		case *ast.PartMethod:
			// A closure that came with a parameter or a field may do anything.
			if n.Impl == nil {
				writes = true
			}
		case ast.Statement:
			writes = !readsOnly(n)
		}
		return !writes
	})
	return writes
}

// readsOnly reports whether a statement writes nothing itself. What stands inside it may.
func readsOnly(s ast.Statement) bool {
	switch s.(type) {
	case *ast.ExprStmt, *ast.Let, *ast.Return, *ast.Throw, *ast.If, *ast.For, *ast.Select, *ast.ExplainStmt, *ast.Break, *ast.Continue,
		*ast.Sleep, *ast.Info, *ast.Show, *ast.Option:
		return true
	}
	return false
}

// readOnly reports whether a built-in function leaves the store alone. Closures among its
// arguments are looked into by themselves; those that come as parameters are not known.
func readOnly(path string) bool {
	switch path {
	case "sequence::nextval", "sequence::next", "eval::surql":
		return false
	}
	return true
}
