package ast

// idiom writes a path.
func (p *printer) idiom(id *Idiom) {
	parts := id.Parts
	start := len(p.buf)
	for i, part := range parts {
		switch part := part.(type) {
		case *PartStart:
			p.start(part.X)
		case *PartField:
			if i == 0 {
				p.ident(part.Name)
				continue
			}
			p.part(part)
		case *PartCall:
			if i != 1 || !isParens(parts[0]) {
				p.wrap(start)
			}
			p.args(part.Args)
		default:
			p.part(part)
		}
	}
}

// wrap puts what was written from start on into parentheses.
func (p *printer) wrap(start int) {
	p.buf = append(p.buf, 0, 0)
	copy(p.buf[start+1:], p.buf[start:len(p.buf)-2])
	p.buf[start], p.buf[len(p.buf)-1] = '(', ')'
}

// isParens reports whether a start is written in parentheses already.
func isParens(part Part) bool {
	s, ok := part.(*PartStart)
	return ok && needsParens(s.X)
}

func needsParens(x Expr) bool {
	switch x := x.(type) {
	case *Subquery, *Paren:
		return true
	case *Idiom:
		return level(x) <= levelCall || len(x.Parts) > 1 || x.Traverses()
	}
	return level(x) < levelAtom
}

func (p *printer) start(x Expr) {
	switch x.(type) {
	case *Subquery, *Paren: // have their own
		p.expr(x)
		return
	}
	if needsParens(x) {
		p.byte('(')
		p.expr(x)
		p.byte(')')
		return
	}
	p.expr(x)
}

// part writes one step that is not the first.
func (p *printer) part(part Part) {
	switch x := part.(type) {
	case *PartStart:
		p.start(x.X)
	case *PartField:
		p.byte('.')
		p.word(x.Name)
	case *PartAll:
		p.str(".*")
	case *PartLast:
		p.str("[$]")
	case *PartIndex:
		p.byte('[')
		p.expr(x.X)
		p.byte(']')
	case *PartWhere:
		p.str("[WHERE ")
		p.expr(x.X)
		p.byte(']')
	case *PartOptional:
		p.str(".?")
	case *PartFlatten:
		p.str("…")
	case *PartDestructure:
		p.byte('.')
		p.destructure(x.Fields)
	case *PartMethod:
		p.byte('.')
		p.word(x.Name)
		p.args(x.Args)
	case *PartCall:
		p.args(x.Args)
	case *PartGraph:
		p.graph(x.Graph)
	case *PartRecurse:
		p.recurse(x.Recurse)
	case *PartRepeat:
		p.str(".@")
	case *PartDoc:
		p.byte('@')
	}
}

func (p *printer) destructure(fields []DestructureField) {
	p.str("{ ")
	list(p, fields, func(f DestructureField) {
		p.word(f.Name)
		switch {
		case f.Expr != nil:
			p.str(": ")
			p.expr(f.Expr)
		case f.All:
			p.str(".*")
		case f.Nested != nil:
			p.byte('.')
			p.destructure(f.Nested)
		}
	})
	p.str(" }")
}

func (p *printer) graph(g *Graph) {
	switch g.Dir {
	case DirOut:
		p.str("->")
	case DirIn:
		p.str("<-")
	case DirBoth:
		p.str("<->")
	case DirRef:
		p.str("<~")
	}
	if g.isPlain() {
		p.graphTables(g)
		return
	}
	p.byte('(')
	if g.Select != nil {
		p.str("SELECT ")
		p.projections(g.Select)
		p.str(" FROM ")
		p.flag(g.Only, "ONLY ")
	}
	p.graphTables(g)
	p.clause("WHERE", g.Where)
	p.split(g.Split)
	p.group(g.Group)
	p.order(g.Order)
	p.clause("LIMIT", g.Limit)
	p.clause("START", g.Start)
	if g.Alias != nil {
		p.str(" AS ")
		p.idiom(g.Alias)
	}
	p.byte(')')
}

// isPlain reports whether g can be written without parentheses. A range that is open at its end
// cannot: what follows would be taken for the end.
func (g *Graph) isPlain() bool {
	if g.Select != nil || g.Where != nil || g.Split != nil || g.Group != nil || g.Order != nil ||
		g.Limit != nil || g.Start != nil || g.Alias != nil || len(g.Tables) > 1 {
		return false
	}
	if len(g.Tables) == 1 {
		t := g.Tables[0]
		return t.Field == nil && (t.Key == nil || t.Key.End != nil)
	}
	return true
}

func (p *printer) graphTables(g *Graph) {
	if len(g.Tables) == 0 {
		p.byte('?')
		return
	}
	list(p, g.Tables, func(t GraphTable) {
		p.word(t.Table)
		if t.Key != nil {
			p.byte(':')
			p.keyRange(t.Key)
		}
		if t.Field != nil {
			p.str(" FIELD ")
			p.idiom(t.Field)
		}
	})
}

func (p *printer) recurse(r *Recurse) {
	p.str(".{")
	if !r.OpenMin {
		p.int(r.Min)
	}
	if !r.Exact {
		p.str("..")
		if !r.OpenMax {
			p.int(r.Max)
		}
	}
	if r.Instruction != "" {
		p.byte('+')
		p.str(r.Instruction)
		if r.Target != nil {
			p.byte('=')
			p.expr(r.Target)
		}
		p.flag(r.Inclusive, "+inclusive")
	}
	p.byte('}')
	if r.Path != nil {
		p.byte('(')
		for _, part := range r.Path.Parts {
			p.part(part)
		}
		p.byte(')')
	}
}
