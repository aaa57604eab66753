package sql

import (
	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/engine/value"
)

// query reads a query with its WITH, ORDER BY and LIMIT.
func (p *parser) query() *Select {
	defer p.down()()
	from := p.peek().Pos
	with, recursive := p.with()
	s := p.queryWith(with, recursive)
	s.text = p.src[from:p.toks[p.pos-1].End]
	return s
}

// with reads WITH, where it is there.
func (p *parser) with() (list []cte, recursive bool) {
	if !p.eat("with") {
		return nil, false
	}
	recursive = p.eat("recursive")
	for {
		c := cte{name: p.name()}
		if p.at("(") {
			c.cols = p.names()
		}
		p.want("as")
		if !p.eat("materialized") {
			p.eat("not", "materialized")
		}
		p.want("(")
		if p.at("insert") || p.at("update") || p.at("delete") {
			p.unsupported("a statement that writes in WITH")
		}
		c.sub = p.query()
		p.want(")")
		list = append(list, c)
		if !p.eat(",") {
			return list, recursive
		}
	}
}

// withStatement reads a statement that begins with WITH.
func (p *parser) withStatement() Statement {
	with, recursive := p.with()
	switch {
	case p.at("insert"):
		in := p.insert()
		in.with = withList{with, recursive}
		return in
	case p.at("update"):
		u := p.update()
		u.with = withList{with, recursive}
		return u
	case p.at("delete"):
		del := p.delete()
		del.with = withList{with, recursive}
		return del
	}
	return p.queryWith(with, recursive)
}

// queryWith reads a query behind its WITH.
func (p *parser) queryWith(with []cte, recursive bool) *Select {
	s := p.setExpr(0)
	if len(with) > 0 || len(s.with) > 0 && len(s.order) > 0 {
		s = wrapped(s)
	}
	s.with, s.recursive = with, recursive
	p.tail(s)
	return s
}

// wrapped is s, or where s has a tail of its own a query around it.
func wrapped(s *Select) *Select {
	if len(s.with) == 0 && len(s.order) == 0 && s.limit == nil && s.offset == nil {
		return s
	}
	return &Select{core: &core{items: []item{{x: &star{}}}, from: []fromItem{&subRef{sub: s, alias: "*"}}}}
}

func (p *parser) tail(s *Select) {
	for {
		switch {
		case p.eat("order", "by"):
			s.order = p.orderKeys()
		case p.eat("limit"):
			if !p.eat("all") {
				s.limit = p.expr()
			}
		case p.eat("offset"):
			s.offset = p.expr()
			if !p.eat("rows") {
				p.eat("row")
			}
		case p.eat("fetch"):
			if !p.eat("first") {
				p.want("next")
			}
			s.limit = &literal{value.Int(1), pgtype.Int8}
			if !p.at("row") && !p.at("rows") {
				s.limit = p.primary()
			}
			if !p.eat("rows") {
				p.want("row")
			}
			p.want("only")
		case p.eat("for"):
			for !p.at(")") && p.pos < len(p.toks) {
				p.pos++ // FOR UPDATE, FOR SHARE: the transactions of the engine need no locks
			}
		default:
			return
		}
	}
}

func (p *parser) orderKeys() []orderKey {
	var out []orderKey
	for {
		k := orderKey{x: p.expr()}
		switch {
		case p.eat("desc"):
			k.desc, k.nullsFirst = true, true
		case p.eat("using"):
			k.desc = p.take().Text == ">"
			k.nullsFirst = k.desc
		default:
			p.eat("asc")
		}
		if p.eat("nulls") {
			k.nullsFirst = p.eat("first")
			if !k.nullsFirst {
				p.want("last")
			}
		}
		out = append(out, k)
		if !p.eat(",") {
			return out
		}
	}
}

// setExpr reads UNION, EXCEPT (level 0) and INTERSECT (level 1).
func (p *parser) setExpr(level int) *Select {
	var l *Select
	if level == 0 {
		l = p.setExpr(1)
	} else {
		l = p.simpleQuery()
	}
	for {
		op := ""
		switch {
		case level == 0 && p.eat("union"):
			op = "union"
		case level == 0 && p.eat("except"):
			op = "except"
		case level == 1 && p.eat("intersect"):
			op = "intersect"
		default:
			return l
		}
		all := p.eat("all")
		if !all {
			p.eat("distinct")
		}
		var r *Select
		if level == 0 {
			r = p.setExpr(1)
		} else {
			r = p.simpleQuery()
		}
		l = &Select{set: &setOp{op: op, all: all, l: l, r: r}}
	}
}

func (p *parser) simpleQuery() *Select {
	defer p.down()()
	switch {
	case p.eat("("):
		s := p.query()
		p.want(")")
		return s
	case p.eat("values"):
		return &Select{values: p.rows()}
	case p.eat("table"):
		return &Select{core: &core{items: []item{{x: &star{}}}, from: []fromItem{p.tableName()}}}
	case p.eat("select"):
		return &Select{core: p.core()}
	case p.at("with"):
		return p.query()
	}
	p.unexpected()
	return nil
}

func (p *parser) rows() [][]Expr {
	var out [][]Expr
	for {
		p.want("(")
		row := []Expr{p.exprOrDefault()}
		for p.eat(",") {
			row = append(row, p.exprOrDefault())
		}
		p.want(")")
		out = append(out, row)
		if !p.eat(",") {
			return out
		}
	}
}

func (p *parser) exprOrDefault() Expr {
	if p.eat("default") {
		return nil
	}
	return p.expr()
}

func (p *parser) core() *core {
	around := p.over
	p.over = nil
	defer func() { p.over = around }()
	c := &core{}
	if p.eat("distinct") {
		c.distinct = true
		if p.eat("on") {
			p.want("(")
			c.distinctOn = p.exprs()
			p.want(")")
		}
	} else {
		p.eat("all")
	}
	c.items = p.items()
	if p.at("into") {
		p.unsupported("SELECT INTO")
	}
	if p.eat("from") {
		c.from = p.fromList()
	}
	if p.eat("where") {
		c.where = p.expr()
	}
	if p.eat("group", "by") {
		p.groupBy(c)
	}
	if p.eat("having") {
		c.having = p.expr()
	}
	p.windows(p.over)
	return c
}

func (p *parser) items() []item {
	var out []item
	for {
		t := p.peek()
		if t.End == t.Pos || t.Is("from") || t.Is(")") || t.Is("where") || t.Is("union") || t.Is("order") ||
			t.Is("limit") {
			return out // SELECT without columns
		}
		out = append(out, p.item())
		if !p.eat(",") {
			return out
		}
	}
}

func (p *parser) item() item {
	if p.eat("*") {
		return item{x: &star{}}
	}
	if p.isName() && p.peekAt(1).Is(".") && p.peekAt(2).Is("*") {
		table := p.take().Text
		p.pos += 2
		return item{x: &star{table: table}}
	}
	if p.isName() && p.peekAt(1).Is(".") && p.peekAt(3).Is(".") && p.peekAt(4).Is("*") {
		p.pos += 2
		table := p.take().Text
		p.pos += 2
		return item{x: &star{table: table}}
	}
	it := item{x: p.expr()}
	switch t := p.peek(); {
	case p.eat("as"):
		it.alias = p.label()
	case t.Kind == Quoted, t.Kind == Ident && !reserved()[t.Text] && !stops[t.Text]:
		it.alias = p.take().Text
	}
	return it
}
