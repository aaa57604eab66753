package ast

import "github.com/nacredb/nacre/engine/value"

func (p *printer) statement(s Statement) {
	switch s := s.(type) {
	case nil:
	case *ExprStmt:
		parens := assigns(s.X)
		p.flag(parens, "(")
		p.expr(s.X)
		p.flag(parens, ")")
	case *Begin:
		p.str("BEGIN")
	case *Commit:
		p.str("COMMIT")
	case *Cancel:
		p.str("CANCEL")
	case *Use:
		p.use(s)
	case *Let:
		p.str("LET ")
		p.param(s.Name)
		if s.Type != nil {
			p.str(": ")
			p.str(s.Type.String())
		}
		p.str(" = ")
		p.whole(s.X)
	case *Return:
		p.str("RETURN ")
		if len(s.Fetch) > 0 {
			p.expr(s.X)
		} else {
			p.whole(s.X)
		}
		p.fetch(s.Fetch)
	case *If:
		p.ifStmt(s)
	case *For:
		p.str("FOR ")
		p.param(s.Name)
		p.str(" IN ")
		p.expr(s.In)
		p.byte(' ')
		p.block(s.Body)
	case *Break:
		p.str("BREAK")
	case *Continue:
		p.str("CONTINUE")
	case *Throw:
		p.str("THROW ")
		p.expr(s.X)
	case *Sleep:
		p.str("SLEEP ")
		p.str(s.Duration.String())
	case *Option:
		p.str("OPTION ")
		p.word(s.Name)
		p.flag(!s.On, " = false")
	case *Select:
		p.selectStmt(s)
	case *Create:
		p.create(s)
	case *Insert:
		p.insert(s)
	case *Update:
		p.update(s)
	case *Delete:
		p.delete(s)
	case *Relate:
		p.relate(s)
	case *ExplainStmt:
		p.explainStmt(s)
	case *Live:
		p.live(s)
	case *Kill:
		p.str("KILL ")
		p.expr(s.ID)
	case *Show:
		p.show(s)
	case *Info:
		p.info(s)
	case *Rebuild:
		p.rebuild(s)
	case *Access:
		p.access(s)
	case *Remove:
		p.remove(s)
	case *Alter:
		p.alter(s)
	default:
		p.define(s)
	}
}

func (p *printer) name(n Name) {
	if n.Expr != nil {
		p.nameExpr(n.Expr)
		return
	}
	p.ident(n.Ident)
}

// nameExpr writes an expression in the place of a name. Statements bring their own parentheses.
func (p *printer) nameExpr(x Expr) { p.expr(x) }

func (p *printer) use(s *Use) {
	p.str("USE")
	if s.Default {
		p.str(" DEFAULT")
	}
	if s.NS != nil {
		p.str(" NAMESPACE ")
		p.name(*s.NS)
	}
	if s.DB != nil {
		p.str(" DATABASE ")
		p.name(*s.DB)
	}
}

func (p *printer) ifStmt(s *If) {
	bracketed := s.isBracketed()
	for i, b := range s.Branches {
		p.flag(i > 0, " ELSE ")
		p.str("IF ")
		p.expr(b.Cond)
		if bracketed {
			p.byte(' ')
		} else {
			p.str(" THEN ")
		}
		p.branch(b.Then)
	}
	if s.Else != nil {
		p.str(" ELSE ")
		p.branch(s.Else)
	}
	p.flag(!bracketed, " END")
}

// isBracketed reports whether every branch is a block: then the form with braces is canonical.
func (s *If) isBracketed() bool {
	for _, b := range s.Branches {
		if _, ok := b.Then.(*Block); !ok {
			return false
		}
	}
	if s.Else == nil {
		return true
	}
	_, ok := s.Else.(*Block)
	return ok
}

func (p *printer) fetch(xs []Expr) {
	if len(xs) == 0 {
		return
	}
	p.str(" FETCH ")
	list(p, xs, p.expr)
}

func (p *printer) projections(f *Projections) {
	p.flag(f.Value, "VALUE ")
	list(p, f.Fields, func(f Projection) {
		if f.All {
			p.byte('*')
			return
		}
		p.expr(f.X)
		if f.Alias != nil {
			p.str(" AS ")
			p.idiom(f.Alias)
		}
	})
}

func (p *printer) selectStmt(s *Select) {
	p.str("SELECT ")
	p.projections(s.Projections)
	if len(s.Omit) > 0 {
		p.str(" OMIT ")
		list(p, s.Omit, p.expr)
	}
	p.str(" FROM ")
	p.flag(s.Only, "ONLY ")
	list(p, s.From, p.expr)
	p.with(s.With)
	p.clause("WHERE", s.Where)
	p.split(s.Split)
	p.group(s.Group)
	p.order(s.Order)
	p.clause("LIMIT", s.Limit)
	p.clause("START", s.Start)
	p.fetch(s.Fetch)
	p.clause("VERSION", s.Version)
	p.clause("TIMEOUT", s.Timeout)
	p.flag(s.TempFiles, " TEMPFILES")
	p.explain(s.Explain)
}

func (p *printer) with(w *With) {
	switch {
	case w == nil:
	case w.NoIndex:
		p.str(" WITH NOINDEX")
	default:
		p.str(" WITH INDEX ")
		list(p, w.Indexes, p.ident)
	}
}

func (p *printer) split(ids []*Idiom) {
	if len(ids) == 0 {
		return
	}
	p.str(" SPLIT ON ")
	list(p, ids, p.idiom)
}

func (p *printer) group(g *Group) {
	switch {
	case g == nil:
	case g.All:
		p.str(" GROUP ALL")
	default:
		p.str(" GROUP BY ")
		list(p, g.By, p.idiom)
	}
}

func (p *printer) order(o *Order) {
	switch {
	case o == nil:
	case o.Random:
		p.str(" ORDER BY RAND()")
	default:
		p.str(" ORDER BY ")
		list(p, o.Keys, func(k OrderKey) {
			p.idiom(k.Key)
			p.flag(k.Collate, " COLLATE")
			p.flag(k.Numeric, " NUMERIC")
			p.flag(k.Desc, " DESC")
		})
	}
}

func (p *printer) explain(e *Explain) {
	if e == nil {
		return
	}
	p.str(" EXPLAIN")
	p.flag(e.Full, " FULL")
}

func (p *printer) explainStmt(s *ExplainStmt) {
	p.str("EXPLAIN ")
	p.flag(s.Analyze, "ANALYZE ")
	if s.JSON {
		p.str("FORMAT JSON ")
	} else {
		p.str("FORMAT TEXT ")
	}
	p.statement(s.Stmt)
}

func (p *printer) assigns(as []Assign) {
	list(p, as, func(a Assign) {
		p.idiom(a.Place)
		switch a.Op {
		case AssignSet:
			p.str(" = ")
		case AssignAdd:
			p.str(" += ")
		case AssignSub:
			p.str(" -= ")
		case AssignExtend:
			p.str(" +?= ")
		}
		p.whole(a.X)
	})
}

func (p *printer) data(d *Data) {
	if d == nil {
		return
	}
	switch d.Kind {
	case DataSet:
		p.str(" SET ")
		p.assigns(d.Set)
	case DataUnset:
		p.str(" UNSET ")
		list(p, d.Unset, p.idiom)
	case DataContent:
		p.clause("CONTENT", d.X)
	case DataReplace:
		p.clause("REPLACE", d.X)
	case DataMerge:
		p.clause("MERGE", d.X)
	case DataPatch:
		p.clause("PATCH", d.X)
	}
}

func (p *printer) output(o *Output) {
	if o == nil {
		return
	}
	switch o.Kind {
	case OutputNone:
		p.str(" RETURN NONE")
	case OutputNull:
		p.str(" RETURN NULL")
	case OutputBefore:
		p.str(" RETURN BEFORE")
	case OutputAfter:
		p.str(" RETURN AFTER")
	case OutputDiff:
		p.str(" RETURN DIFF")
	case OutputFields:
		p.str(" RETURN ")
		p.projections(o.Fields)
	}
}

func (p *printer) create(s *Create) {
	p.str("CREATE ")
	p.flag(s.Only, "ONLY ")
	list(p, s.Targets, p.expr)
	p.data(s.Data)
	p.output(s.Output)
	p.clause("VERSION", s.Version)
	p.clause("TIMEOUT", s.Timeout)
}

func (p *printer) insert(s *Insert) {
	p.str("INSERT")
	p.flag(s.Relation, " RELATION")
	p.flag(s.Ignore, " IGNORE")
	p.clause("INTO", s.Into)
	p.byte(' ')
	if s.Fields != nil {
		p.byte('(')
		list(p, s.Fields, p.idiom)
		p.str(") VALUES ")
		list(p, s.Rows, p.args)
	} else {
		p.expr(s.X)
	}
	if len(s.OnDuplicate) > 0 {
		p.str(" ON DUPLICATE KEY UPDATE ")
		p.assigns(s.OnDuplicate)
	}
	p.output(s.Output)
	p.clause("VERSION", s.Version)
	p.clause("TIMEOUT", s.Timeout)
}

func (p *printer) update(s *Update) {
	if s.Upsert {
		p.str("UPSERT ")
	} else {
		p.str("UPDATE ")
	}
	p.flag(s.Only, "ONLY ")
	list(p, s.Targets, p.expr)
	p.with(s.With)
	p.data(s.Data)
	p.clause("WHERE", s.Where)
	p.output(s.Output)
	p.clause("TIMEOUT", s.Timeout)
	p.explain(s.Explain)
}

func (p *printer) delete(s *Delete) {
	p.str("DELETE ")
	p.flag(s.Only, "ONLY ")
	list(p, s.Targets, p.expr)
	p.with(s.With)
	p.clause("WHERE", s.Where)
	p.output(s.Output)
	p.clause("VERSION", s.Version)
	p.clause("TIMEOUT", s.Timeout)
	p.explain(s.Explain)
}

func (p *printer) relate(s *Relate) {
	p.str("RELATE ")
	p.flag(s.OrUpdate, "OR UPDATE ")
	p.flag(s.Only, "ONLY ")
	p.relateEnd(s.From)
	p.str(" -> ")
	switch s.Edge.(type) {
	case *Table, *Param, *Subquery:
		p.expr(s.Edge)
	default:
		p.byte('(')
		p.expr(s.Edge)
		p.byte(')')
	}
	p.str(" -> ")
	p.relateEnd(s.To)
	p.flag(s.Unique, " UNIQUE")
	p.data(s.Data)
	p.output(s.Output)
	p.clause("TIMEOUT", s.Timeout)
}

func (p *printer) relateEnd(x Expr) {
	switch x := x.(type) {
	case *Param, *Array, *Subquery:
		p.expr(x)
		return
	case *RecordID:
		if _, ok := x.Key.(*KeyRange); !ok {
			p.expr(x)
			return
		}
	}
	p.byte('(')
	p.expr(x)
	p.byte(')')
}

func (p *printer) live(s *Live) {
	p.str("LIVE SELECT ")
	if s.Diff {
		p.str("DIFF")
	} else {
		p.projections(s.Projections)
	}
	p.clause("FROM", s.From)
	p.clause("WHERE", s.Where)
	p.fetch(s.Fetch)
}

func (p *printer) show(s *Show) {
	p.str("SHOW CHANGES FOR ")
	if s.Table == "" {
		p.str("DATABASE")
	} else {
		p.str("TABLE ")
		p.ident(s.Table)
	}
	p.clause("SINCE", s.Since)
	p.clause("LIMIT", s.Limit)
}

func (p *printer) info(s *Info) {
	p.str("INFO FOR ")
	switch s.Level {
	case InfoRoot:
		p.str("ROOT")
	case InfoNamespace:
		p.str("NAMESPACE")
	case InfoDatabase:
		p.str("DATABASE")
	case InfoTable:
		p.str("TABLE ")
		p.name(*s.Name)
	case InfoUser:
		p.str("USER ")
		p.name(*s.Name)
		p.onBase(s.Base)
	case InfoIndex:
		p.str("INDEX ")
		p.name(*s.Name)
		p.str(" ON ")
		p.name(*s.Table)
	}
	p.clause("VERSION", s.Version)
	p.flag(s.Structure, " STRUCTURE")
}

// String is the name of the level.
func (b Base) String() string {
	switch b {
	case BaseRoot:
		return "ROOT"
	case BaseNamespace:
		return "NAMESPACE"
	case BaseDatabase:
		return "DATABASE"
	}
	return ""
}

func (p *printer) onBase(b Base) {
	if b != BaseNone {
		p.str(" ON ")
		p.str(b.String())
	}
}

func (p *printer) rebuild(s *Rebuild) {
	p.str("REBUILD INDEX ")
	p.flag(s.IfExists, "IF EXISTS ")
	p.name(*s.Name)
	p.str(" ON ")
	p.name(*s.Table)
	p.flag(s.Concurrently, " CONCURRENTLY")
}

func (p *printer) access(s *Access) {
	p.str("ACCESS ")
	p.ident(s.Name)
	p.onBase(s.Base)
	switch s.Action {
	case AccessGrant:
		if s.Record != nil {
			p.str(" GRANT FOR RECORD ")
			p.expr(s.Record)
			return
		}
		p.str(" GRANT FOR USER ")
		p.ident(s.User)
	case AccessShow:
		p.str(" SHOW ")
		p.accessSelection(s)
	case AccessRevoke:
		p.str(" REVOKE ")
		p.accessSelection(s)
	case AccessPurge:
		p.str(" PURGE ")
		p.flag(s.Expired, "EXPIRED")
		p.flag(s.Expired && s.Revoked, ", ")
		p.flag(s.Revoked, "REVOKED")
		p.clause("FOR", s.For)
	}
}

func (p *printer) accessSelection(s *Access) {
	switch {
	case s.All:
		p.str("ALL")
	case s.GrantID != "":
		p.str("GRANT ")
		p.ident(s.GrantID)
	default:
		p.str("WHERE ")
		p.expr(s.Where)
	}
}

// comment writes COMMENT x.
func (p *printer) comment(x Expr) { p.clause("COMMENT", x) }

func (p *printer) duration(d value.Duration) { p.str(d.String()) }

// assigns reports whether the text of x begins like $a = …, which is refused where a statement begins.
func assigns(x Expr) bool {
	b, ok := x.(*Binary)
	if !ok {
		return false
	}
	switch binaryOps[b.Op].level {
	case levelOr, levelAnd:
		return assigns(b.L)
	}
	_, param := b.L.(*Param)
	return param && b.Op == OpEqual
}
