package sql

func (p *parser) exprs() []Expr {
	out := []Expr{p.expr()}
	for p.eat(",") {
		out = append(out, p.expr())
	}
	return out
}

// expr reads an expression; the levels bind ever more tightly.
func (p *parser) expr() Expr {
	defer p.down()()
	l := p.andExpr()
	for p.at("or") {
		pos := p.take().Pos
		l = &binary{"or", l, p.andExpr(), pos}
	}
	return l
}

func (p *parser) andExpr() Expr {
	l := p.notExpr()
	for p.at("and") {
		pos := p.take().Pos
		l = &binary{"and", l, p.notExpr(), pos}
	}
	return l
}

func (p *parser) notExpr() Expr {
	if p.eat("not") {
		defer p.down()()
		return &unary{"not", p.notExpr()}
	}
	return p.isExpr()
}

func (p *parser) isExpr() Expr {
	x := p.comparison()
	for {
		switch {
		case p.eat("isnull"):
			x = &isTest{x: x, kind: "null"}
		case p.eat("notnull"):
			x = &isTest{x: x, kind: "null", not: true}
		case p.eat("is"):
			not := p.eat("not")
			switch {
			case p.eat("distinct", "from"):
				x = &binary{op: "is distinct from", l: x, r: p.comparison()}
				if not {
					x = &unary{"not", x}
				}
			case p.at("null"), p.at("true"), p.at("false"), p.at("unknown"):
				x = &isTest{x: x, kind: p.take().Text, not: not}
			default:
				p.unexpected()
			}
		default:
			return x
		}
	}
}

func comparisonOp(t Token) bool {
	if t.Kind != Op {
		return false
	}
	switch t.Text {
	case "=", "<", ">", "<=", ">=", "<>":
		return true
	}
	return false
}

func (p *parser) comparison() Expr {
	l := p.rangeExpr()
	for comparisonOp(p.peek()) {
		t := p.take()
		if p.at("any") || p.at("some") || p.at("all") {
			l = p.anyOf(l, t.Text)
			continue
		}
		l = &binary{t.Text, l, p.rangeExpr(), t.Pos}
	}
	return l
}

// anyOf reads ANY (…), SOME (…) or ALL (…).
func (p *parser) anyOf(l Expr, op string) Expr {
	a := &anyTest{x: l, op: op, all: p.take().Text == "all"}
	p.want("(")
	if p.at("select") || p.at("with") || p.at("values") {
		a.sub = p.query()
	} else {
		a.arr = p.expr()
	}
	p.want(")")
	return a
}

// rangeExpr reads BETWEEN, IN, LIKE and their like.
func (p *parser) rangeExpr() Expr {
	x := p.other()
	for {
		not := p.at("not") && (p.peekAt(1).Is("in") || p.peekAt(1).Is("like") || p.peekAt(1).Is("ilike") ||
			p.peekAt(1).Is("between") || p.peekAt(1).Is("similar"))
		if not {
			p.take()
		}
		switch {
		case p.eat("between"):
			t := &between{x: x, not: not, symmetric: p.eat("symmetric")}
			if !t.symmetric {
				p.eat("asymmetric")
			}
			t.low = p.other()
			p.want("and")
			t.high = p.other()
			x = t
		case p.eat("in"):
			x = p.in(x, not)
		case p.at("like"), p.at("ilike"):
			x = p.like(x, not)
		case p.at("similar"):
			p.unsupported("SIMILAR TO")
		default:
			return x
		}
	}
}

func (p *parser) in(x Expr, not bool) Expr {
	p.want("(")
	t := &inTest{x: x, not: not}
	if p.at("select") || p.at("with") || p.at("values") {
		t.sub = p.query()
	} else {
		t.list = p.exprs()
	}
	p.want(")")
	return t
}

func (p *parser) like(x Expr, not bool) Expr {
	op := "~~"
	if p.take().Text == "ilike" {
		op = "~~*"
	}
	if not {
		op = "!" + op
	}
	if p.at("any") || p.at("all") || p.at("some") {
		return p.anyOf(x, op)
	}
	pattern := p.other()
	if p.eat("escape") {
		pattern = &call{name: "like_escape", args: []Expr{pattern, p.other()}}
	}
	return &binary{op: op, l: x, r: pattern}
}

// other reads operators that have no level of their own.
func (p *parser) other() Expr {
	l := p.sum()
	for {
		t := p.peek()
		op := ""
		switch {
		case t.Kind == Op && !comparisonOp(t) && t.Text != "+" && t.Text != "-" && t.Text != "*" && t.Text != "/" &&
			t.Text != "%" &&
			t.Text != "^":
			op = p.take().Text
		case t.Is("operator") && p.peekAt(1).Is("("):
			op = p.operatorName()
		default:
			return l
		}
		if p.at("any") || p.at("some") || p.at("all") {
			l = p.anyOf(l, op)
			continue
		}
		l = &binary{op, l, p.sum(), t.Pos}
	}
}

// operatorName reads OPERATOR(schema.op).
func (p *parser) operatorName() string {
	p.want("operator", "(")
	for p.peekAt(1).Is(".") {
		p.pos += 2
	}
	t := p.take()
	if t.Kind != Op {
		p.unexpected()
	}
	p.want(")")
	return t.Text
}

func (p *parser) sum() Expr {
	l := p.product()
	for p.at("+") || p.at("-") {
		t := p.take()
		l = &binary{t.Text, l, p.product(), t.Pos}
	}
	return l
}

func (p *parser) product() Expr {
	l := p.power()
	for p.at("*") || p.at("/") || p.at("%") {
		t := p.take()
		l = &binary{t.Text, l, p.power(), t.Pos}
	}
	return l
}

func (p *parser) power() Expr {
	l := p.zoned()
	for p.at("^") {
		t := p.take()
		l = &binary{t.Text, l, p.zoned(), t.Pos}
	}
	return l
}

func (p *parser) zoned() Expr {
	x := p.signed()
	for {
		switch {
		case p.eat("at", "time", "zone"):
			x = &call{name: "timezone", args: []Expr{p.signed(), x}}
		case p.eat("collate"):
			p.name()
			for p.eat(".") {
				p.label()
			}
		default:
			return x
		}
	}
}

func (p *parser) signed() Expr {
	switch {
	case p.eat("-"):
		defer p.down()()
		return &unary{"-", p.signed()}
	case p.eat("+"):
		defer p.down()()
		return p.signed()
	case p.at("~"), p.at("@"), p.at("|/"):
		p.unsupported("the operator " + p.peek().Text)
	}
	return p.postfix()
}

// postfix reads casts, subscripts and fields behind a primary.
func (p *parser) postfix() Expr {
	x := p.primary()
	for {
		switch {
		case p.eat("::"):
			x = &cast{x: x, to: p.typeName()}
		case p.eat("["):
			ix := &index{x: x}
			if !p.at(":") {
				ix.lo = p.expr()
			}
			if p.eat(":") {
				ix.slice = true
				if !p.at("]") {
					ix.hi = p.expr()
				}
			}
			p.want("]")
			x = ix
		case p.at("."):
			if _, row := x.(*colRef); row {
				p.unexpected()
			}
			p.take()
			if p.eat("*") {
				p.unsupported("the expansion of a row")
			}
			x = &fieldOf{x, p.label()}
		default:
			return x
		}
	}
}
