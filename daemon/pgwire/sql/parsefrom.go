package sql

// fromList reads the tables of a FROM clause.
func (p *parser) fromList() []fromItem {
	list := []fromItem{p.from()}
	for p.eat(",") {
		list = append(list, p.from())
	}
	return list
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
	if p.at("tablesample") {
		p.unsupported("TABLESAMPLE")
	}
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
	"current_timestamp": "current_timestamp", "current_time": "current_time", "localtimestamp": "localtimestamp",
	"localtime": "localtime"}

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
	if f.defs = p.definitions(f); f.defs == nil {
		f.alias, f.cols = p.alias()
	}
	return f
}

// definitions reads AS name (column type, …), where it is there. The name may be left out.
func (p *parser) definitions(f *funcRef) (list []definition) {
	n := 0
	if p.at("as") {
		n = 1
	}
	if t := p.peekAt(n); t.Kind == Quoted || t.Kind == Ident && (n > 0 || !reserved()[t.Text]) {
		n++
	}
	if after := p.peekAt(n + 2); n == 0 || !p.peekAt(n).Is("(") || after.Is(",") || after.Is(")") {
		return nil
	}
	if p.eat("as"); !p.at("(") {
		f.alias = p.label()
	}
	p.want("(")
	for {
		list = append(list, definition{p.label(), p.typeName()})
		if !p.eat(",") {
			break
		}
	}
	p.want(")")
	return list
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
	case t.Kind == Quoted, t.Kind == Ident && !reserved()[t.Text] && t.Text != "tablesample":
		alias = p.take().Text
	default:
		return "", nil
	}
	if p.at("(") {
		p.want("(")
		for {
			cols = append(cols, p.label())
			if !p.eat(",") {
				break
			}
		}
		p.want(")")
	}
	return alias, cols
}
