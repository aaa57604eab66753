package sql

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// parser reads one statement. It fails by a panic of *sqlstate.Error, which Parse catches.
type parser struct {
	src   string
	toks  []Token
	pos   int
	end   int
	depth int
}

// mostDepth is how deep expressions and queries may nest.
const mostDepth = 200

// Parse reads the statement at byte pos of src, up to its semicolon or the end; end is where that is.
func Parse(src string, pos int) (stmt Statement, end int, err error) {
	toks, end, err := Tokens(src, pos)
	if err != nil {
		return nil, 0, err
	}
	p := &parser{src: src, toks: toks, end: end}
	defer func() {
		if e := recover(); e != nil {
			se, ok := e.(*sqlstate.Error)
			if !ok {
				panic(e)
			}
			stmt, err = nil, se
		}
	}()
	stmt = p.statement()
	if p.pos < len(p.toks) {
		p.unexpected()
	}
	return stmt, end, nil
}

func (p *parser) statement() Statement {
	switch {
	case p.at("insert"):
		return p.insert(nil)
	case p.at("update"):
		return p.update()
	case p.at("delete"):
		return p.delete()
	}
	return p.query()
}

func (p *parser) peek() Token { return p.peekAt(0) }

func (p *parser) peekAt(n int) Token {
	if p.pos+n < len(p.toks) {
		return p.toks[p.pos+n]
	}
	return Token{Pos: p.end, End: p.end}
}

func (p *parser) take() Token {
	t := p.peek()
	if p.pos < len(p.toks) {
		p.pos++
	}
	return t
}

func (p *parser) at(words ...string) bool {
	for i, w := range words {
		if !p.peekAt(i).Is(w) {
			return false
		}
	}
	return true
}

func (p *parser) eat(words ...string) bool {
	if !p.at(words...) {
		return false
	}
	p.pos += len(words)
	return true
}

func (p *parser) want(words ...string) {
	if !p.eat(words...) {
		p.unexpected()
	}
}

// place is a position in characters, from 1.
func (p *parser) place(b int) int { return utf8.RuneCountInString(p.src[:b]) + 1 }

func (p *parser) unexpected() {
	t := p.peek()
	if t.End <= t.Pos {
		panic(sqlstate.New(sqlstate.SyntaxError, "syntax error at end of input").At(p.place(t.Pos)))
	}
	panic(sqlstate.New(sqlstate.SyntaxError, "syntax error at or near %q", p.src[t.Pos:t.End]).At(p.place(t.Pos)))
}

func (p *parser) unsupported(what string) {
	panic(sqlstate.New(sqlstate.FeatureNotSupported, "%s is not supported", what).At(p.place(p.peek().Pos)))
}

func (p *parser) down() func() {
	if p.depth++; p.depth > mostDepth {
		panic(sqlstate.New(sqlstate.TooDeep, "the statement nests too deeply"))
	}
	return func() { p.depth-- }
}

// reserved are words that are no name of a column or table without quotes.
var reserved = words("all and any array as asc both case cast check collate column constraint create cross current_catalog " +
	"current_date current_role current_time current_timestamp current_user default desc distinct do else end except false " +
	"fetch for foreign from full grant group having ilike in inner intersect into is isnull join lateral leading left like " +
	"limit localtime localtimestamp natural not notnull null offset on only or order outer primary references returning " +
	"right select session_user similar some symmetric table then to trailing true union unique user using values when where " +
	"window with")

// stops are words that end an expression, so that no alias can be one without AS.
var stops = words("operator over filter within")

func words(list string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(list) {
		out[w] = true
	}
	return out
}

func (p *parser) isName() bool {
	t := p.peek()
	return t.Kind == Quoted || t.Kind == Ident && !reserved[t.Text]
}

func (p *parser) name() string {
	if !p.isName() {
		p.unexpected()
	}
	return p.take().Text
}

// label is a name behind AS: any word will do.
func (p *parser) label() string {
	t := p.peek()
	if t.Kind != Quoted && t.Kind != Ident {
		p.unexpected()
	}
	p.pos++
	return t.Text
}

func (p *parser) names() []string {
	p.want("(")
	out := []string{p.label()}
	for p.eat(",") {
		out = append(out, p.label())
	}
	p.want(")")
	return out
}

// query reads a query with its WITH, ORDER BY and LIMIT.
func (p *parser) query() *Select {
	defer p.down()()
	var with []cte
	recursive := false
	if p.eat("with") {
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
			c.sub = p.query()
			p.want(")")
			with = append(with, c)
			if !p.eat(",") {
				break
			}
		}
	}
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
		c.from = append(c.from, p.from())
		for p.eat(",") {
			c.from = append(c.from, p.from())
		}
	}
	if p.eat("where") {
		c.where = p.expr()
	}
	if p.eat("group", "by") {
		if p.at("rollup") || p.at("cube") || p.at("grouping") {
			p.unsupported("GROUP BY with sets")
		}
		c.group = p.exprs()
	}
	if p.eat("having") {
		c.having = p.expr()
	}
	if p.at("window") {
		p.unsupported("WINDOW")
	}
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
	case t.Kind == Quoted, t.Kind == Ident && !reserved[t.Text] && !stops[t.Text]:
		it.alias = p.take().Text
	}
	return it
}

// from reads a table with its joins.
func (p *parser) from() fromItem {
	defer p.down()()
	l := p.fromPrimary()
	for {
		j := &join{kind: "inner", l: l}
		j.natural = p.eat("natural")
		switch {
		case p.eat("cross", "join"):
			j.kind = "cross"
		case p.eat("join"), p.eat("inner", "join"):
		case p.eat("left", "join"), p.eat("left", "outer", "join"):
			j.kind = "left"
		case p.eat("right", "join"), p.eat("right", "outer", "join"):
			j.kind = "right"
		case p.eat("full", "join"), p.eat("full", "outer", "join"):
			j.kind = "full"
		default:
			if j.natural {
				p.unexpected()
			}
			return l
		}
		j.r = p.fromPrimary()
		switch {
		case j.kind == "cross" || j.natural:
		case p.eat("on"):
			j.on = p.expr()
		case p.eat("using"):
			j.using = p.names()
		default:
			// A JOIN B JOIN C ON … ON …: the inner one comes first.
			j.r = p.nested(j.r)
			p.want("on")
			j.on = p.expr()
		}
		l = j
	}
}

func (p *parser) nested(l fromItem) fromItem {
	for p.at("join") || p.at("inner") || p.at("left") || p.at("right") || p.at("full") {
		j := &join{kind: "inner", l: l}
		switch {
		case p.eat("left"):
			j.kind = "left"
			p.eat("outer")
		case p.eat("right"):
			j.kind = "right"
			p.eat("outer")
		case p.eat("full"):
			j.kind = "full"
			p.eat("outer")
		default:
			p.eat("inner")
		}
		p.want("join")
		j.r = p.fromPrimary()
		if !p.eat("on") {
			j.r = p.nested(j.r)
			p.want("on")
		}
		j.on = p.expr()
		l = j
		if p.at("on") {
			return l
		}
	}
	return l
}

func (p *parser) fromPrimary() fromItem {
	lateral := p.eat("lateral")
	if p.at("(") {
		if t := p.peekAt(1); t.Is("select") || t.Is("values") || t.Is("with") || t.Is("(") && p.subquery(1) {
			p.take()
			s := &subRef{sub: p.query(), lateral: lateral}
			p.want(")")
			s.alias, s.cols = p.alias()
			return s
		}
		p.take()
		f := p.from()
		p.want(")")
		return f
	}
	p.eat("only")
	if f := p.tableFunc(); f != nil {
		return f
	}
	t := p.tableName()
	p.eat("*")
	t.alias, t.cols = p.alias()
	return t
}

// subquery reports whether the parentheses from token n on hold a query.
func (p *parser) subquery(n int) bool {
	for p.peekAt(n).Is("(") {
		n++
	}
	t := p.peekAt(n)
	return t.Is("select") || t.Is("values") || t.Is("with")
}

// keywordFuncs are functions that are called without parentheses.
var keywordFuncs = map[string]string{"current_user": "current_user", "user": "current_user",
	"session_user": "session_user",
	"current_role": "current_user", "current_catalog": "current_database", "current_date": "current_date",
	"current_timestamp": "now", "localtimestamp": "localtimestamp", "current_time": "current_time"}

// tableFunc reads a function in FROM; nil where there is none.
func (p *parser) tableFunc() fromItem {
	n := 0
	for p.peekAt(n + 1).Is(".") {
		n += 2
	}
	if name := p.peek(); !p.peekAt(n + 1).Is("(") {
		if _, ok := keywordFuncs[name.Text]; !ok || name.Kind != Ident || n > 0 {
			return nil
		}
	}
	c, ok := p.primary().(*call)
	if !ok {
		p.unexpected()
	}
	f := &funcRef{fn: c}
	if p.eat("with", "ordinality") {
		f.ordinality = true
	}
	f.alias, f.cols = p.alias()
	return f
}

func (p *parser) tableName() *tableRef {
	t := &tableRef{pos: p.place(p.peek().Pos), name: p.name()}
	for p.eat(".") {
		t.schema, t.name = t.name, p.label()
	}
	return t
}

func (p *parser) alias() (alias string, cols []string) {
	switch t := p.peek(); {
	case p.eat("as"):
		alias = p.label()
	case t.Kind == Quoted, t.Kind == Ident && !reserved[t.Text]:
		alias = p.take().Text
	default:
		return "", nil
	}
	if p.at("(") {
		p.want("(")
		for {
			cols = append(cols, p.label())
			if !p.at(",") && !p.at(")") {
				p.typeName() // a definition of columns
			}
			if !p.eat(",") {
				break
			}
		}
		p.want(")")
	}
	return alias, cols
}

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
			p.eat("symmetric")
			low := p.other()
			p.want("and")
			x = &between{x: x, low: low, high: p.other(), not: not}
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
	if p.eat("(") { // a length or precision
		for !p.eat(")") {
			if p.pos >= len(p.toks) {
				p.unexpected()
			}
			p.take()
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
	return &rowExpr{list}
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
			p.pos += 2
			r := &rowExpr{}
			if !p.at(")") {
				r.elems = p.exprs()
			}
			p.want(")")
			return r
		}
	case "interval", "date", "timestamp", "timestamptz", "time", "numeric", "text", "bool", "uuid", "json", "jsonb",
		"regclass", "name":
		return p.typedLiteral(t)
	case "extract", "substring", "trim", "position", "overlay":
		if p.peekAt(1).Is("(") {
			return p.specialCall(t.Text)
		}
	}
	if fn, ok := keywordFuncs[t.Text]; ok {
		p.take()
		if p.eat("(") && !p.eat(")") {
			p.take()
			p.want(")")
		}
		return &call{name: fn}
	}
	return nil
}

// typedLiteral reads DATE '…' and its like; nil where no string follows.
func (p *parser) typedLiteral(t Token) Expr {
	n := 1
	if (t.Text == "timestamp" || t.Text == "time") && (p.peekAt(1).Is("with") || p.peekAt(1).Is("without")) {
		n = 4
	}
	if p.peekAt(n).Kind != String {
		return nil
	}
	to := p.typeName()
	s := p.take()
	if t.Text == "interval" {
		for p.at("year") || p.at("month") || p.at("day") || p.at("hour") || p.at("minute") || p.at("second") ||
			p.at("to") {
			p.take()
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
			p.eat("variadic")
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
	if p.eat("filter") {
		p.want("(", "where")
		c.filter = p.expr()
		p.want(")")
	}
	if !p.eat("over") {
		return
	}
	p.want("(")
	c.over = &window{}
	if p.eat("partition", "by") {
		c.over.partition = p.exprs()
	}
	if p.eat("order", "by") {
		c.over.order = p.orderKeys()
	}
	if !p.at(")") {
		p.unsupported("the frame of a window")
	}
	p.want(")")
}
