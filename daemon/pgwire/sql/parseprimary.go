package sql

import (
	"strconv"
	"strings"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

func (p *parser) typeName() typeName {
	t := typeName{pos: p.place(p.peek().Pos)}
	first := p.peek()
	if first.Kind == Quoted && first.Text == "char" {
		p.take()
		t.name = `"char"`
	} else {
		t.name = p.label()
	}
	for p.eat(".") {
		if n := p.peek(); n.Kind == Quoted && n.Text == "char" {
			p.take()
			t.name = `"char"`
		} else {
			t.name = p.label()
		}
	}
	switch {
	case t.name == "double" && p.eat("precision"):
		t.name = "double precision"
	case t.name == "character" && p.eat("varying"):
		t.name = "character varying"
	}
	if t.name == "interval" {
		p.fields(&t)
	}
	if p.eat("(") { // a length or precision
		for !p.eat(")") {
			if p.pos >= len(p.toks) {
				p.unexpected()
			}
			if mod := p.take(); mod.Kind == Number {
				t.mods = append(t.mods, mod)
			}
		}
	}
	if t.name == "timestamp" || t.name == "time" {
		switch {
		case p.eat("with", "time", "zone"):
			t.name += " with time zone"
		case p.eat("without", "time", "zone"):
			t.name += " without time zone"
		}
	}
	for p.eat("[") {
		if p.peek().Kind == Number {
			p.take()
		}
		p.want("]")
		if !strings.HasSuffix(t.name, "[]") {
			t.name += "[]"
		}
	}
	if p.eat("array") {
		t.name += "[]"
	}
	return t
}

// fields reads the units of an interval: DAY, or DAY TO SECOND.
func (p *parser) fields(t *typeName) {
	from, to, at := "", "", p.place(p.peek().Pos)
	for _, unit := range []string{"year", "month", "day", "hour", "minute", "second"} {
		if p.at(unit) {
			from = p.take().Text
			break
		}
	}
	if from == "" {
		return
	}
	if p.eat("to") {
		to = p.label()
	}
	ok := false
	if t.fields, ok = pgtype.FieldsOf(from, to); !ok {
		panic(sqlstate.New(sqlstate.SyntaxError, "an interval has no fields %s to %s", from, to).At(at))
	}
}

func (p *parser) primary() Expr {
	t := p.peek()
	switch {
	case t.Kind == String:
		p.take()
		return &literal{value.Str(t.Text), pgtype.Unknown}
	case t.Kind == Number:
		p.take()
		return number(t.Text)
	case t.Kind == Param:
		p.take()
		n, err := strconv.Atoi(t.Text)
		if err != nil || n < 1 || n > 32767 {
			panic(sqlstate.New(sqlstate.UndefinedParameter, "there is no parameter $%s", t.Text).At(p.place(t.Pos)))
		}
		return &paramRef{n}
	case t.Is("("):
		return p.parenthesis()
	case t.Kind == Ident:
		if x := p.keywordExpr(t); x != nil {
			return x
		}
	}
	return p.nameExpr()
}

func number(s string) Expr {
	if !strings.ContainsAny(s, ".eE") {
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			if n == int64(int32(n)) {
				return &literal{value.Int(n), pgtype.Int4}
			}
			return &literal{value.Int(n), pgtype.Int8}
		}
	}
	v, err := pgtype.Parse(pgtype.Numeric, s, nil)
	if err != nil {
		panic(err)
	}
	return &literal{v, pgtype.Numeric}
}

func (p *parser) parenthesis() Expr {
	if p.subquery(0) {
		p.take()
		s := p.query()
		p.want(")")
		return &scalarSub{s}
	}
	p.take()
	list := p.exprs()
	p.want(")")
	if len(list) == 1 {
		if c, ok := list[0].(*colRef); ok { // (t).field
			return &rowOrColumn{c}
		}
		return list[0]
	}
	return p.overlaps(&rowExpr{list})
}

// rowOrColumn is a name in parentheses: a point behind it takes a field.
type rowOrColumn struct{ *colRef }

// keywordExpr reads the expressions that begin with a word of their own; nil where t is none.
func (p *parser) keywordExpr(t Token) Expr {
	switch t.Text {
	case "null":
		p.take()
		return &literal{value.None, pgtype.Unknown}
	case "true", "false":
		p.take()
		return &literal{value.Bool(t.Text == "true"), pgtype.Bool}
	case "case":
		return p.caseExpr()
	case "cast":
		p.take()
		p.want("(")
		x := p.expr()
		p.want("as")
		c := &cast{x: x, to: p.typeName()}
		p.want(")")
		return c
	case "exists":
		p.take()
		p.want("(")
		s := p.query()
		p.want(")")
		return &exists{s}
	case "array":
		return p.array()
	case "row":
		if p.peekAt(1).Is("(") {
			r, _ := p.row()
			return p.overlaps(r)
		}
	case "interval", "date", "timestamp", "timestamptz", "time", "timetz", "numeric", "text", "bool", "uuid", "json",
		"jsonb", "regclass", "name":
		return p.typedLiteral(t)
	case "extract", "substring", "trim", "position", "overlay":
		if p.peekAt(1).Is("(") {
			return p.specialCall(t.Text)
		}
	}
	if fn, ok := keywordFuncs[t.Text]; ok {
		c := &call{name: fn, pos: p.place(p.take().Pos)}
		if p.eat("(") && !p.eat(")") {
			c.args = []Expr{p.precision()}
			p.want(")")
		}
		return c
	}
	return nil
}

// precision reads the number of digits that a time has behind its seconds.
func (p *parser) precision() Expr {
	n, ok := Expr(nil), false
	if p.peek().Kind == Number {
		n = number(p.take().Text)
		lit, is := n.(*literal)
		ok = is && lit.oid == pgtype.Int4
	}
	if !ok {
		p.unexpected()
	}
	return n
}

// typedLiteral reads DATE '…' and its like; nil where no string follows.
func (p *parser) typedLiteral(t Token) Expr {
	n := 1
	if (t.Text == "timestamp" || t.Text == "time") && (p.peekAt(1).Is("with") || p.peekAt(1).Is("without")) {
		n = 4
	}
	if t.Text == "interval" && p.peekAt(1).Is("(") && p.peekAt(2).Kind == Number && p.peekAt(3).Is(")") {
		n = 4
	}
	if p.peekAt(n).Kind != String {
		return nil
	}
	to := p.typeName()
	s := p.take()
	if t.Text == "interval" && len(to.mods) == 0 {
		p.fields(&to)
		if to.fields.To("second") && p.at("(") && p.peekAt(1).Kind == Number {
			p.take()
			to.mods = append(to.mods, p.take())
			p.want(")")
		}
	}
	return &cast{x: &literal{value.Str(s.Text), pgtype.Unknown}, to: to}
}

func (p *parser) caseExpr() Expr {
	p.take()
	c := &caseExpr{}
	if !p.at("when") {
		c.x = p.expr()
	}
	for p.eat("when") {
		cond := p.expr()
		p.want("then")
		c.whens = append(c.whens, [2]Expr{cond, p.expr()})
	}
	if len(c.whens) == 0 {
		p.unexpected()
	}
	if p.eat("else") {
		c.els = p.expr()
	}
	p.want("end")
	return c
}

func (p *parser) array() Expr {
	p.take()
	if p.eat("(") {
		s := p.query()
		p.want(")")
		return &arraySub{s}
	}
	return p.arrayElems()
}

func (p *parser) arrayElems() Expr {
	defer p.down()()
	p.want("[")
	a := &arrayLit{}
	for !p.eat("]") {
		if p.at("[") {
			a.elems = append(a.elems, p.arrayElems())
		} else {
			a.elems = append(a.elems, p.expr())
		}
		if !p.eat(",") && !p.at("]") {
			p.unexpected()
		}
	}
	return a
}

// specialCall reads the functions whose arguments have words between them.
func (p *parser) specialCall(name string) Expr {
	pos := p.place(p.take().Pos)
	p.want("(")
	c := &call{name: name, pos: pos}
	switch name {
	case "extract":
		t := p.take()
		p.want("from")
		c.args = []Expr{&literal{value.Str(strings.ToLower(t.Text)), pgtype.Text}, p.expr()}
	case "position":
		x := p.other()
		p.want("in")
		c.args = []Expr{p.other(), x}
	case "trim":
		c.name = "btrim"
		switch {
		case p.eat("leading"):
			c.name = "ltrim"
		case p.eat("trailing"):
			c.name = "rtrim"
		default:
			p.eat("both")
		}
		if p.eat("from") {
			c.args = []Expr{p.expr()}
			break
		}
		x := p.expr()
		if p.eat("from") {
			c.args = []Expr{p.expr(), x}
		} else if c.args = []Expr{x}; p.eat(",") {
			c.args = append(c.args, p.expr())
		}
	case "substring":
		c.args = []Expr{p.expr()}
		switch {
		case p.eat("from"):
			c.args = append(c.args, p.expr())
			if p.eat("for") {
				c.args = append(c.args, p.expr())
			}
		case p.eat("for"):
			c.args = append(c.args, &literal{value.Int(1), pgtype.Int4}, p.expr())
		default:
			for p.eat(",") {
				c.args = append(c.args, p.expr())
			}
		}
	default:
		p.unsupported(name)
	}
	p.want(")")
	return c
}

// nameExpr reads a column, or the call of a function.
func (p *parser) nameExpr() Expr {
	t := p.peek()
	pos := p.place(t.Pos)
	callable := p.peekAt(1).Is("(") && (t.Text == "left" || t.Text == "right" || t.Text == "any")
	if !p.isName() && !callable {
		p.unexpected()
	}
	parts := []string{p.take().Text}
	for p.at(".") && !p.peekAt(1).Is("*") {
		p.take()
		parts = append(parts, p.label())
	}
	if !p.at("(") {
		return &colRef{parts, pos}
	}
	c := &call{name: parts[len(parts)-1], pos: pos}
	if len(parts) > 1 {
		c.schema = parts[len(parts)-2]
	}
	p.take()
	p.arguments(c)
	return c
}

func (p *parser) arguments(c *call) {
	switch {
	case p.eat("*"):
		c.star = true
	case p.at(")"):
	default:
		if c.distinct = p.eat("distinct"); !c.distinct {
			p.eat("all")
		}
		for {
			c.variadic = p.eat("variadic") || c.variadic
			p.argumentName(c)
			c.args = append(c.args, p.expr())
			if !p.eat(",") {
				break
			}
		}
		if p.eat("order", "by") {
			c.order = p.orderKeys()
		}
	}
	p.want(")")
	p.within(c)
	if p.eat("filter") {
		p.want("(", "where")
		c.filter = p.expr()
		p.want(")")
	}
	if !p.eat("over") {
		return
	}
	if p.at("(") {
		c.over = p.window()
	} else {
		c.over = &window{at: p.place(p.peek().Pos), name: p.name(), bare: true}
	}
	p.over = append(p.over, c.over)
}

// argumentName reads name => in front of an argument, where it is there.
func (p *parser) argumentName(c *call) {
	name := ""
	switch t := p.peek(); {
	case t.Kind != Ident && t.Kind != Quoted:
	case p.peekAt(1).Is("=>"), p.peekAt(1).Is(":="):
		name = p.label()
		p.take()
	}
	if name != "" && c.names == nil {
		c.names = make([]string, len(c.args))
	}
	if c.names != nil {
		c.names = append(c.names, name)
	}
}

// within reads WITHIN GROUP, where it is there.
func (p *parser) within(c *call) {
	at := p.place(p.peek().Pos)
	if !p.eat("within", "group") {
		return
	}
	what := ""
	switch {
	case len(c.order) > 0:
		what = "multiple ORDER BY clauses"
	case c.distinct:
		what = "DISTINCT"
	case c.variadic:
		what = "VARIADIC"
	}
	if what != "" {
		panic(sqlstate.New(sqlstate.SyntaxError, "cannot use %s with WITHIN GROUP", what).At(at))
	}
	p.want("(", "order", "by")
	c.within = p.orderKeys()
	p.want(")")
}
