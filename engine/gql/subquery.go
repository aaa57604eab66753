package gql

// subquery reads EXISTS or VALUE with a query in braces or parentheses. EXISTS takes a pattern as well.
func (p *parser) subquery() (Expr, error) {
	t := p.tok
	exists := t.upper == "EXISTS"
	if err := p.next(); err != nil {
		return nil, err
	}
	end := "}"
	if p.at("(") {
		end = ")"
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	if err := p.next(); err != nil {
		return nil, err
	}
	var q *Query
	var err error
	if exists && p.beginsPattern() {
		q, err = p.existsPattern()
	} else {
		q, err = p.query()
	}
	if err != nil {
		return nil, err
	}
	if err := p.expectPunct(end); err != nil {
		return nil, err
	}
	if exists {
		return &Exists{q, p.span(t.start)}, nil
	}
	return &Scalar{q, p.span(t.start)}, nil
}

// beginsPattern reports whether a graph pattern stands at tok, and no statement.
func (p *parser) beginsPattern() bool {
	if p.at("(") || p.at("-") || p.at("<") || p.at("~") {
		return true
	}
	if p.isAny("ANY", "ALL") {
		return true
	}
	if next, err := p.peek(); err == nil && p.isName() {
		if p.tok.kind != tokWord || !reserved()[p.tok.upper] {
			return next.kind == tokPunct && (next.text == "=" || next.text == "(") || p.isAny("SHORTEST", "WALK",
				"TRAIL", "SIMPLE", "ACYCLIC")
		}
	}
	return false
}

// existsPattern reads pattern [WHERE condition] as the query MATCH pattern.
func (p *parser) existsPattern() (*Query, error) {
	m := &Match{}
	start := p.tok.start
	if err := p.patterns(m); err != nil {
		return nil, err
	}
	if where, err := p.eat("WHERE"); err != nil {
		return nil, err
	} else if where {
		if m.Where, err = p.expr(); err != nil {
			return nil, err
		}
	}
	m.Span = p.span(start)
	return &Query{Parts: []*Composite{{Arms: []*Linear{{Span: m.Span, Steps: []Step{m}}}}}}, nil
}
