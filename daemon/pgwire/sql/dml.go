package sql

import "github.com/nacredb/nacre/daemon/pgwire/sqlstate"

func (p *parser) insert() *Insert {
	p.want("insert", "into")
	in := &Insert{Table: p.tableName()}
	if p.eat("as") {
		in.Table.alias = p.label()
	}
	if p.at("(") && !p.subquery(0) {
		in.Columns = p.names()
	}
	switch {
	case p.eat("default", "values"):
	default:
		in.Source = p.query()
	}
	if p.eat("on", "conflict") {
		in.Conflict = &conflict{}
		switch {
		case p.at("("):
			in.Conflict.cols = p.names()
		case p.eat("on", "constraint"):
			in.Conflict.constraint = p.label()
		}
		if p.at("where") {
			p.unsupported("ON CONFLICT with the condition of an index")
		}
		p.want("do")
		if !p.eat("nothing") {
			p.want("update", "set")
			in.Conflict.set = p.assigns()
			if p.eat("where") {
				in.Conflict.where = p.expr()
			}
		}
	}
	in.Returning = p.returning()
	return in
}

func (p *parser) returning() []item {
	if !p.eat("returning") {
		return nil
	}
	return p.items()
}

func (p *parser) assigns() []assign {
	var out []assign
	for {
		if p.at("(") {
			out = append(out, p.assignRow())
		} else {
			a := assign{cols: []string{p.label()}}
			p.want("=")
			a.list = []Expr{p.exprOrDefault()}
			out = append(out, a)
		}
		if !p.eat(",") {
			return out
		}
	}
}

// assignRow reads (a, b) = (x, y), = ROW (x, y) or = (SELECT …).
func (p *parser) assignRow() assign {
	a := assign{cols: p.names()}
	p.want("=")
	if p.at("(") && p.subquery(0) {
		p.take()
		a.sub = p.query()
		p.want(")")
		return a
	}
	at := p.place(p.peek().Pos)
	row := p.at("row", "(")
	if row {
		p.take()
	}
	if !p.eat("(") {
		panic(noRow(at))
	}
	for !p.at(")") {
		a.list = append(a.list, p.exprOrDefault())
		if !p.eat(",") {
			break
		}
	}
	p.want(")")
	switch {
	case !row && len(a.list) < 2:
		panic(noRow(at))
	case len(a.list) != len(a.cols):
		panic(sqlstate.New(sqlstate.SyntaxError, "number of columns does not match number of values").At(at))
	}
	return a
}

func noRow(at int) error {
	return sqlstate.New(sqlstate.FeatureNotSupported,
		"source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression").At(at)
}

func (p *parser) update() *Update {
	p.want("update")
	p.eat("only")
	u := &Update{Table: p.tableName()}
	u.Table.alias, _ = p.updateAlias()
	p.want("set")
	u.Set = p.assigns()
	if p.eat("from") {
		u.From = p.fromList()
	}
	if p.eat("where") {
		u.Where = p.expr()
	}
	u.Returning = p.returning()
	return u
}

func (p *parser) updateAlias() (string, bool) {
	if p.eat("as") {
		return p.label(), true
	}
	if p.isName() && !p.at("set") {
		return p.take().Text, true
	}
	return "", false
}

func (p *parser) truncate() *Truncate {
	p.want("truncate")
	p.eat("table")
	t := &Truncate{}
	for {
		p.eat("only")
		t.Tables = append(t.Tables, p.tableName())
		p.eat("*")
		if !p.eat(",") {
			break
		}
	}
	if !p.eat("restart", "identity") {
		p.eat("continue", "identity")
	}
	if !p.eat("restrict") && p.at("cascade") {
		p.unsupported("TRUNCATE … CASCADE")
	}
	return t
}

func (p *parser) delete() *Delete {
	p.want("delete", "from")
	p.eat("only")
	d := &Delete{Table: p.tableName()}
	if !p.at("using") {
		d.Table.alias, _ = p.alias()
	}
	if p.eat("using") {
		d.Using = p.fromList()
	}
	if p.eat("where") {
		d.Where = p.expr()
	}
	d.Returning = p.returning()
	return d
}
