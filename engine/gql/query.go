package gql

import "github.com/nacredb/nacre/engine/errs"

// program reads the whole text.
func (p *parser) program(max int) (*Program, error) {
	if len(p.src) > max {
		return nil, errs.Validation("The GQL program is longer than %d bytes", max)
	}
	if err := p.next(); err != nil {
		return nil, err
	}
	prog := &Program{Source: p.src}
	if p.is("EXPLAIN") {
		prog.Explain = true
		if err := p.next(); err != nil {
			return nil, err
		}
	}
	q, err := p.query()
	if err != nil {
		return nil, err
	}
	if _, err := p.eatPunct(";"); err != nil {
		return nil, err
	}
	if p.tok.kind != tokEnd {
		if p.isAny("ORDER", "OFFSET", "SKIP", "LIMIT", "GROUP") {
			return nil, p.fail(p.tok.start, p.tok.end,
				"each clause may stand at most once, in the order GROUP BY, ORDER BY, OFFSET, LIMIT",
				"Unexpected `%s` clause", p.tok.upper)
		}
		return nil, p.fail(p.tok.start, p.tok.end, "", "Unexpected %s, expected the query to end", p.describe(p.tok))
	}
	prog.Query = q
	return prog, nil
}

// query reads composite queries with NEXT between them.
func (p *parser) query() (*Query, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	q := &Query{}
	var yield []Item
	for {
		c, err := p.composite()
		if err != nil {
			return nil, err
		}
		c.Yield = yield
		q.Parts = append(q.Parts, c)
		more, err := p.eat("NEXT")
		if err != nil || !more {
			return q, err
		}
		if yield, err = p.nextYield(); err != nil {
			return nil, err
		}
	}
}

// nextYield reads the YIELD after NEXT, if there is one.
func (p *parser) nextYield() ([]Item, error) {
	if given, err := p.eat("YIELD"); err != nil || !given {
		return nil, err
	}
	var items []Item
	err := p.list(func() error {
		n, err := p.variable()
		if err != nil {
			return err
		}
		it := Item{X: &Ref{n}, Alias: n.Text, Span: n.Span}
		if as, err := p.eat("AS"); err != nil {
			return err
		} else if as {
			a, err := p.variable()
			if err != nil {
				return err
			}
			it.Alias, it.Named = a.Text, true
		}
		items = append(items, it)
		return nil
	})
	return items, err
}

// setOp reads a set operator; OpNone where there is none.
func (p *parser) setOp() (op SetOp, all bool, err error) {
	switch {
	case p.is("UNION"):
		op = OpUnion
	case p.is("EXCEPT"):
		op = OpExcept
	case p.is("INTERSECT"):
		op = OpIntersect
	case p.is("OTHERWISE"):
		return OpOtherwise, false, p.next()
	default:
		return OpNone, false, nil
	}
	if err := p.next(); err != nil {
		return op, false, err
	}
	if all, err = p.eat("ALL"); err != nil || all {
		return op, all, err
	}
	_, err = p.eat("DISTINCT")
	return op, false, err
}

func (p *parser) composite() (*Composite, error) {
	c := &Composite{}
	for {
		l, err := p.linear()
		if err != nil {
			return nil, err
		}
		c.Arms = append(c.Arms, l)
		at := p.tok
		op, all, err := p.setOp()
		if err != nil || op == OpNone {
			return c, err
		}
		if c.Op != OpNone && (c.Op != op || c.All != all) {
			return nil, p.fail(at.start, at.end, "put the queries in braces to mix them",
				"Set operators of one query must be the same")
		}
		c.Op, c.All = op, all
	}
}

// linear reads one linear query.
func (p *parser) linear() (*Linear, error) {
	start := p.tok.start
	l := &Linear{}
	if p.at("{") {
		if err := p.next(); err != nil {
			return nil, err
		}
		q, err := p.query()
		if err != nil {
			return nil, err
		}
		l.Braced = q
		err = p.expectPunct("}")
		l.Span = p.span(start)
		return l, err
	}
	for {
		s, err := p.step()
		if err != nil {
			return nil, err
		}
		if s == nil {
			break
		}
		l.Steps = append(l.Steps, s)
	}
	var err error
	switch {
	case p.is("RETURN"):
		l.Result, err = p.result()
	case p.is("FINISH"):
		l.Finish = true
		err = p.next()
	case len(l.Steps) == 0:
		return nil, p.noStatement()
	}
	l.Span = p.span(start)
	return l, err
}

// noStatement is the error where a statement must begin.
func (p *parser) noStatement() error {
	if p.tok.kind == tokWord {
		switch p.tok.upper {
		case "USE", "SELECT", "CREATE", "DROP", "SESSION", "START", "COMMIT", "ROLLBACK":
			return p.fail(p.tok.start, p.tok.end, "", "`%s` statements are not supported yet", p.tok.upper)
		}
	}
	return p.unexpected("a MATCH, INSERT, SET, REMOVE, DELETE or RETURN statement")
}
