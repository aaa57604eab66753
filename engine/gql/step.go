package gql

// step reads a statement of a linear query; nil where none begins.
func (p *parser) step() (Step, error) {
	if p.tok.kind != tokWord {
		return nil, nil
	}
	start := p.tok.start
	switch p.tok.upper {
	case "MATCH":
		return p.match(start, false)
	case "OPTIONAL":
		return p.optional(start)
	case "INSERT":
		return p.insert()
	case "SET":
		return p.set()
	case "REMOVE":
		return p.remove()
	case "DELETE", "DETACH", "NODETACH":
		return p.delete()
	case "LET":
		return p.let()
	case "FILTER":
		return p.filter()
	case "FOR":
		return p.forIn()
	case "ORDER", "OFFSET", "SKIP", "LIMIT":
		o := &Order{}
		return o, p.order(o)
	case "CALL":
		return p.call(start, false)
	}
	return nil, nil
}

func (p *parser) optional(start int) (Step, error) {
	if err := p.next(); err != nil {
		return nil, err
	}
	switch {
	case p.is("MATCH"):
		return p.match(start, true)
	case p.is("CALL"):
		return p.call(start, true)
	}
	end := "}"
	switch {
	case p.at("{"):
	case p.at("("):
		end = ")"
	default:
		return nil, p.unexpected("`MATCH`, `{` or `(`")
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	if err := p.next(); err != nil {
		return nil, err
	}
	b := &OptionalBlock{}
	for len(b.Steps) == 0 || !p.at(end) {
		if !p.isAny("MATCH", "OPTIONAL") {
			if len(b.Steps) > 0 {
				return nil, p.unexpected("the delimiter `" + end + "`")
			}
			return nil, p.unexpected("`MATCH` or `OPTIONAL`")
		}
		s, err := p.step()
		if err != nil {
			return nil, err
		}
		if _, ok := s.(*Call); ok {
			return nil, p.fail(start, p.last, "", "`CALL` may not stand inside of OPTIONAL { … }: use OPTIONAL CALL")
		}
		b.Steps = append(b.Steps, s)
	}
	err := p.expectPunct(end)
	b.Span = p.span(start)
	return b, err
}

// patterns reads the paths of a MATCH, with commas between them.
func (p *parser) patterns(m *Match) error {
	return p.list(func() error {
		pt, err := p.path()
		m.Patterns = append(m.Patterns, pt)
		return err
	})
}

// match reads MATCH from its keyword on.
func (p *parser) match(start int, optional bool) (*Match, error) {
	if err := p.next(); err != nil {
		return nil, err
	}
	m := &Match{Optional: optional}
	if err := p.matchMode(m); err != nil {
		return nil, err
	}
	if err := p.patterns(m); err != nil {
		return nil, err
	}
	if keep, err := p.eat("KEEP"); err != nil {
		return nil, err
	} else if keep {
		if m.Keep, err = p.prefix(); err != nil {
			return nil, err
		}
		if m.Keep == nil {
			return nil, p.unexpected("a path prefix")
		}
	}
	if where, err := p.eat("WHERE"); err != nil {
		return nil, err
	} else if where {
		if m.Where, err = p.expr(); err != nil {
			return nil, err
		}
	}
	if yield, err := p.eat("YIELD"); err != nil {
		return nil, err
	} else if yield {
		err := p.list(func() error {
			n, err := p.variable()
			m.Yield = append(m.Yield, n)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	m.Span = p.span(start)
	return m, nil
}

// matchMode reads REPEATABLE ELEMENTS or DIFFERENT EDGES, which may be names as well.
func (p *parser) matchMode(m *Match) error {
	if !p.isAny("REPEATABLE", "DIFFERENT") {
		return nil
	}
	next, err := p.peek()
	if err != nil {
		return err
	}
	mode := ModeDifferentEdges
	if p.is("REPEATABLE") {
		mode = ModeRepeatable
	}
	if next.kind != tokWord {
		return nil
	}
	switch next.upper {
	case "ELEMENT", "ELEMENTS":
		if mode != ModeRepeatable {
			return nil
		}
	case "EDGE", "EDGES", "RELATIONSHIP", "RELATIONSHIPS":
		if mode == ModeRepeatable {
			return nil
		}
	default:
		return nil
	}
	m.Mode = mode
	if err := p.next(); err != nil {
		return err
	}
	if err := p.next(); err != nil {
		return err
	}
	if p.isAny("BINDING", "BINDINGS") {
		return p.next()
	}
	return nil
}

func (p *parser) let() (Step, error) {
	if err := p.next(); err != nil {
		return nil, err
	}
	l := &Let{}
	err := p.list(func() error {
		f, err := p.definition()
		l.Items = append(l.Items, f)
		return err
	})
	return l, err
}

// definition reads x = e.
func (p *parser) definition() (Field, error) {
	n, err := p.variable()
	if err != nil {
		return Field{}, err
	}
	if err := p.expectPunct("="); err != nil {
		return Field{}, err
	}
	x, err := p.expr()
	return Field{n, x}, err
}

func (p *parser) filter() (Step, error) {
	if err := p.next(); err != nil {
		return nil, err
	}
	if _, err := p.eat("WHERE"); err != nil {
		return nil, err
	}
	x, err := p.expr()
	return &Filter{x}, err
}

func (p *parser) forIn() (Step, error) {
	if err := p.next(); err != nil {
		return nil, err
	}
	f := &For{}
	var err error
	if f.Var, err = p.variable(); err != nil {
		return nil, err
	}
	if err := p.expect("IN"); err != nil {
		return nil, err
	}
	if f.List, err = p.expr(); err != nil {
		return nil, err
	}
	with, err := p.eat("WITH")
	if err != nil || !with {
		return f, err
	}
	into := &f.Offset
	switch {
	case p.is("ORDINALITY"):
		into = &f.Ordinality
	case !p.is("OFFSET"):
		return nil, p.unexpected("`ORDINALITY` or `OFFSET`")
	}
	if err := p.next(); err != nil {
		return nil, err
	}
	*into, err = p.variable()
	return f, err
}

// call reads CALL from its keyword on.
func (p *parser) call(start int, optional bool) (Step, error) {
	if err := p.next(); err != nil {
		return nil, err
	}
	c := &Call{Optional: optional, All: true}
	if p.at("(") {
		c.All = false
		if err := p.next(); err != nil {
			return nil, err
		}
		if !p.at(")") {
			err := p.list(func() error {
				n, err := p.variable()
				c.Imports = append(c.Imports, n)
				return err
			})
			if err != nil {
				return nil, err
			}
		}
		if err := p.expectPunct(")"); err != nil {
			return nil, err
		}
	}
	if !p.at("{") {
		if p.isName() {
			return nil, p.fail(p.tok.start, p.tok.end, "",
				"Named procedures are not supported: CALL runs a query in braces")
		}
		return nil, p.unexpected("the delimiter `{`")
	}
	if err := p.next(); err != nil {
		return nil, err
	}
	var err error
	if c.Body, err = p.query(); err != nil {
		return nil, err
	}
	err = p.expectPunct("}")
	c.Span = p.span(start)
	return c, err
}
