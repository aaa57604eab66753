package ast

// Inspect visits a node and, where f wants it, everything inside it: expressions, statements and
// parts of idioms (as pointers).
func Inspect(n any, f func(n any) bool) {
	if isNil(n) || !f(n) {
		return
	}
	v := visitor{f}
	switch n := n.(type) {
	case Expr:
		v.expr(n)
	case Statement:
		v.stmt(n)
	case Part:
		v.part(n)
	}
}

func isNil(n any) bool {
	switch n := n.(type) {
	case nil:
		return true
	case *Block:
		return n == nil
	case *Idiom:
		return n == nil
	}
	return false
}

type visitor struct{ f func(any) bool }

func (v visitor) exprs(xs []Expr) {
	for _, x := range xs {
		Inspect(x, v.f)
	}
}

func (v visitor) expr(x Expr) {
	switch x := x.(type) {
	case *Array:
		v.exprs(x.Elems)
	case *Set:
		v.exprs(x.Elems)
	case *Object:
		for i := range x.Fields {
			Inspect(x.Fields[i].Value, v.f)
		}
	case *RecordID:
		Inspect(x.Key, v.f)
	case *KeyRange:
		Inspect(x.Start, v.f)
		Inspect(x.End, v.f)
	case *Range:
		Inspect(x.Start, v.f)
		Inspect(x.End, v.f)
	case *Unary:
		Inspect(x.X, v.f)
	case *Binary:
		Inspect(x.L, v.f)
		Inspect(x.R, v.f)
	case *Cast:
		Inspect(x.X, v.f)
	case *Call:
		v.exprs(x.Args)
	case *Closure:
		Inspect(x.Body, v.f)
	case *Script:
		v.exprs(x.Args)
	case *Block:
		for _, s := range x.Stmts {
			Inspect(s, v.f)
		}
	case *Subquery:
		Inspect(x.Stmt, v.f)
	case *Paren:
		Inspect(x.X, v.f)
	case *Idiom:
		for _, p := range x.Parts {
			Inspect(p, v.f)
		}
	}
}

func (v visitor) part(p Part) {
	switch p := p.(type) {
	case *PartStart:
		Inspect(p.X, v.f)
	case *PartIndex:
		Inspect(p.X, v.f)
	case *PartWhere:
		Inspect(p.X, v.f)
	case *PartDestructure:
		v.destructure(p.Fields)
	case *PartMethod:
		v.exprs(p.Args)
	case *PartCall:
		v.exprs(p.Args)
	case *PartGraph:
		g := p.Graph
		v.projections(g.Select)
		Inspect(g.Where, v.f)
		Inspect(g.Limit, v.f)
		Inspect(g.Start, v.f)
	case *PartRecurse:
		Inspect(p.Recurse.Target, v.f)
		Inspect(p.Recurse.Path, v.f)
	}
}

func (v visitor) destructure(fields []DestructureField) {
	for i := range fields {
		Inspect(fields[i].Expr, v.f)
		v.destructure(fields[i].Nested)
	}
}

func (v visitor) projections(p *Projections) {
	if p == nil {
		return
	}
	for i := range p.Fields {
		Inspect(p.Fields[i].X, v.f)
	}
}

// stmt visits what is inside the statements that only read; the others are known to write.
func (v visitor) stmt(s Statement) {
	switch s := s.(type) {
	case *ExprStmt:
		Inspect(s.X, v.f)
	case *Let:
		Inspect(s.X, v.f)
	case *Return:
		Inspect(s.X, v.f)
		v.exprs(s.Fetch)
	case *Throw:
		Inspect(s.X, v.f)
	case *If:
		for i := range s.Branches {
			Inspect(s.Branches[i].Cond, v.f)
			Inspect(s.Branches[i].Then, v.f)
		}
		Inspect(s.Else, v.f)
	case *For:
		Inspect(s.In, v.f)
		Inspect(s.Body, v.f)
	case *Select:
		v.projections(s.Projections)
		v.exprs(s.From)
		Inspect(s.Where, v.f)
		Inspect(s.Limit, v.f)
		Inspect(s.Start, v.f)
		v.exprs(s.Fetch)
		v.exprs(s.Omit)
		Inspect(s.Version, v.f)
		Inspect(s.Timeout, v.f)
	case *ExplainStmt:
		Inspect(s.Stmt, v.f)
	}
}
