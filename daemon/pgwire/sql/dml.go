package sql

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
			out = append(out, p.assignRow()...)
		} else {
			a := assign{col: p.label()}
			p.want("=")
			a.x = p.exprOrDefault()
			out = append(out, a)
		}
		if !p.eat(",") {
			return out
		}
	}
}

// assignRow reads (a, b) = (x, y).
func (p *parser) assignRow() (out []assign) {
	p.want("(")
	for {
		out = append(out, assign{col: p.label()})
		if !p.eat(",") {
			break
		}
	}
	p.want(")", "=")
	p.eat("row")
	p.want("(")
	if p.at("select") || p.at("with") || p.at("values") {
		p.unsupported("the assignment of a query with several columns")
	}
	for i := range out {
		if i > 0 {
			p.want(",")
		}
		out[i].x = p.exprOrDefault()
	}
	p.want(")")
	return out
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
