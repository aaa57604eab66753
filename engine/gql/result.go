package gql

// result reads RETURN from its keyword on.
func (p *parser) result() (*Result, error) {
	r := &Result{}
	start := p.tok.start
	if err := p.next(); err != nil {
		return nil, err
	}
	if d, err := p.eat("DISTINCT"); err != nil {
		return nil, err
	} else if r.Distinct = d; !d {
		if _, err := p.eat("ALL"); err != nil {
			return nil, err
		}
	}
	if star, err := p.eatPunct("*"); err != nil {
		return nil, err
	} else if r.Star = star; !star {
		err := p.list(func() error {
			it, err := p.item()
			r.Items = append(r.Items, it)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if p.is("GROUP") {
		at := p.tok
		if err := p.next(); err != nil {
			return nil, err
		}
		if err := p.expect("BY"); err != nil {
			return nil, err
		}
		err := p.list(func() error {
			x, err := p.expr()
			r.Group = append(r.Group, x)
			return err
		})
		if err != nil {
			return nil, err
		}
		r.GroupAt = Span{at.start, p.last}
	}
	err := p.order(&r.Order)
	r.Span = p.span(start)
	return r, err
}

// item reads an expression with its alias.
func (p *parser) item() (Item, error) {
	start := p.tok.start
	x, err := p.expr()
	if err != nil {
		return Item{}, err
	}
	it := Item{X: x, Span: p.span(start)}
	it.Alias = p.src[it.Span.Start:it.Span.End]
	if as, err := p.eat("AS"); err != nil || !as {
		return it, err
	}
	if p.tok.kind == tokWord && reserved()[p.tok.upper] { // nothing but a name can stand here
		it.Alias, it.Named = p.tok.text, true
		return it, p.next()
	}
	n, err := p.name("an alias")
	if err == nil {
		err = p.free(n, "Alias")
	}
	it.Alias, it.Named = n.Text, true
	return it, err
}

// order reads ORDER BY, OFFSET or SKIP, and LIMIT, as far as they are there.
func (p *parser) order(o *Order) error {
	if by, err := p.eat("ORDER"); err != nil {
		return err
	} else if by {
		if err := p.expect("BY"); err != nil {
			return err
		}
		err := p.list(func() error {
			k, err := p.key()
			o.Keys = append(o.Keys, k)
			return err
		})
		if err != nil {
			return err
		}
	}
	if p.isAny("OFFSET", "SKIP") {
		if err := p.next(); err != nil {
			return err
		}
		var err error
		if o.Skip, err = p.count(); err != nil {
			return err
		}
	}
	limit, err := p.eat("LIMIT")
	if err != nil || !limit {
		return err
	}
	o.Limit, err = p.count()
	return err
}

func (p *parser) key() (Key, error) {
	start := p.tok.start
	x, err := p.expr()
	if err != nil {
		return Key{}, err
	}
	k := Key{X: x, Span: p.span(start)}
	switch {
	case p.isAny("DESC", "DESCENDING"):
		k.Desc = true
		err = p.next()
	case p.isAny("ASC", "ASCENDING"):
		err = p.next()
	}
	if err != nil {
		return k, err
	}
	nulls, err := p.eat("NULLS")
	if err != nil || !nulls {
		return k, err
	}
	switch {
	case p.is("FIRST"):
		k.Nulls = NullsFirst
	case p.is("LAST"):
		k.Nulls = NullsLast
	default:
		return k, p.unexpected("`FIRST` or `LAST`")
	}
	return k, p.next()
}

// count reads an unsigned integer or a parameter.
func (p *parser) count() (Expr, error) {
	t := p.tok
	switch {
	case t.kind == tokNumber && t.val.Kind() == valueInt:
		return &Literal{t.val, Span{t.start, t.end}}, p.next()
	case t.kind == tokParam:
		return p.param()
	}
	return nil, p.unexpected("an unsigned integer or a parameter")
}
