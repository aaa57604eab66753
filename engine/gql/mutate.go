package gql

func (p *parser) insert() (Step, error) {
	if err := p.next(); err != nil {
		return nil, err
	}
	s := &Insert{}
	err := p.list(func() error {
		ip, err := p.insertPath()
		s.Paths = append(s.Paths, ip)
		return err
	})
	return s, err
}

func (p *parser) insertPath() (*InsertPath, error) {
	ip := &InsertPath{}
	for {
		n, err := p.insertNode()
		if err != nil {
			return nil, err
		}
		ip.Nodes = append(ip.Nodes, n)
		if p.at("~") {
			return nil, p.fail(p.tok.start, p.tok.end, "", "INSERT makes directed edges only")
		}
		if !p.at("-") && !p.at("<") {
			return ip, nil
		}
		e, err := p.insertEdge()
		if err != nil {
			return nil, err
		}
		ip.Edges = append(ip.Edges, e)
	}
}

func (p *parser) insertNode() (*InsertNode, error) {
	start := p.tok.start
	if err := p.expectPunct("("); err != nil {
		return nil, err
	}
	n := &InsertNode{}
	var err error
	if n.Var, n.Label, n.Props, n.HasProps, err = p.fill(")"); err != nil {
		return nil, err
	}
	err = p.expectPunct(")")
	n.Span = p.span(start)
	if err == nil && n.Label.Text == "" {
		switch {
		case n.Var.Text == "":
			err = p.fail(n.Span.Start, n.Span.End, "",
				"An INSERT node must declare a label `(a:Label)` or reference a variable bound by a preceding MATCH")
		case n.HasProps:
			err = p.fail(n.Span.Start, n.Span.End, "", "A new INSERT node requires a label, e.g. `(a:Label {…})`")
		}
	}
	return n, err
}

// fill reads [name] [label] [{ properties }].
func (p *parser) fill(end string) (name, label Name, props []Field, hasProps bool, err error) {
	if p.isName() && !p.is("IS") {
		if name, err = p.variable(); err != nil {
			return name, label, nil, false, err
		}
	}
	if p.at(":") || p.is("IS") {
		if err = p.next(); err != nil {
			return name, label, nil, false, err
		}
		if label, err = p.name("a label"); err != nil {
			return name, label, nil, false, err
		}
		if p.at("&") || p.at("|") {
			return name, label, nil, false, p.fail(p.tok.start, p.tok.end, "",
				"A record belongs to exactly one table: INSERT takes one label")
		}
	}
	if p.at("{") {
		hasProps = true
		props, err = p.fields()
	}
	return name, label, props, hasProps, err
}

// fields reads { name: expr, … }.
func (p *parser) fields() ([]Field, error) {
	if err := p.expectPunct("{"); err != nil {
		return nil, err
	}
	fields := []Field{}
	if !p.at("}") {
		err := p.list(func() error {
			n, err := p.propertyName()
			if err != nil {
				return err
			}
			if err := p.expectPunct(":"); err != nil {
				return err
			}
			x, err := p.expr()
			fields = append(fields, Field{n, x})
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return fields, p.expectPunct("}")
}

func (p *parser) insertEdge() (*InsertEdge, error) {
	start := p.tok.start
	e := &InsertEdge{}
	if p.at("<") {
		e.Left = true
		if err := p.next(); err != nil {
			return nil, err
		}
	}
	if err := p.expectPunct("-"); err != nil {
		return nil, err
	}
	if !p.at("[") {
		return nil, p.fail(start, p.last, "", "An INSERT edge requires a label, e.g. `-[:knows]->`")
	}
	if err := p.next(); err != nil {
		return nil, err
	}
	var err error
	if e.Var, e.Label, e.Props, _, err = p.fill("]"); err != nil {
		return nil, err
	}
	if err := p.expectPunct("]"); err != nil {
		return nil, err
	}
	if err := p.expectPunct("-"); err != nil {
		return nil, err
	}
	if !e.Left {
		if !p.at(">") {
			return nil, p.fail(start, p.last, "", "An INSERT edge requires a direction, e.g. `-[:knows]->`")
		}
		if err := p.next(); err != nil {
			return nil, err
		}
	}
	e.Span = p.span(start)
	if e.Label.Text == "" {
		return nil, p.fail(e.Span.Start, e.Span.End, "", "An INSERT edge requires a label, e.g. `-[:knows]->`")
	}
	return e, nil
}

func (p *parser) set() (Step, error) {
	if err := p.next(); err != nil {
		return nil, err
	}
	s := &Set{}
	err := p.list(func() error {
		it, err := p.setItem()
		s.Items = append(s.Items, it)
		return err
	})
	return s, err
}

func (p *parser) setItem() (SetItem, error) {
	var it SetItem
	var err error
	if it.Var, err = p.variable(); err != nil {
		return it, err
	}
	if p.at(":") || p.is("IS") {
		return it, p.labelMutation()
	}
	if dot, err := p.eatPunct("."); err != nil {
		return it, err
	} else if dot {
		if it.Prop, err = p.property("SET"); err != nil {
			return it, err
		}
	}
	if err := p.expectPunct("="); err != nil {
		return it, err
	}
	if it.Prop.Text != "" {
		it.X, err = p.expr()
		return it, err
	}
	start := p.tok.start
	fields, err := p.fields()
	if err != nil {
		return it, err
	}
	for _, f := range fields {
		if err := p.notReserved("SET", f.Name); err != nil {
			return it, err
		}
	}
	it.X = &Map{fields, p.span(start)}
	return it, nil
}

func (p *parser) labelMutation() error {
	return p.fail(p.tok.start, p.tok.end, "", "Label mutation is not supported: a record belongs to exactly one table")
}

// property reads the name of a property that a statement changes.
func (p *parser) property(statement string) (Name, error) {
	n, err := p.propertyName()
	if err != nil {
		return n, err
	}
	return n, p.notReserved(statement, n)
}

func (p *parser) notReserved(statement string, n Name) error {
	switch n.Text {
	case "id", "in", "out":
		return p.fail(n.Span.Start, n.Span.End, "", "`%s` cannot set the reserved `%s` key", statement, n.Text)
	}
	return nil
}

func (p *parser) remove() (Step, error) {
	if err := p.next(); err != nil {
		return nil, err
	}
	r := &Remove{}
	err := p.list(func() error {
		v, err := p.variable()
		if err != nil {
			return err
		}
		if p.at(":") || p.is("IS") {
			return p.labelMutation()
		}
		if err := p.expectPunct("."); err != nil {
			return err
		}
		n, err := p.property("REMOVE")
		r.Items = append(r.Items, RemoveItem{v, n})
		return err
	})
	return r, err
}

func (p *parser) delete() (Step, error) {
	d := &Delete{}
	if p.isAny("DETACH", "NODETACH") {
		d.Detach = p.is("DETACH")
		if err := p.next(); err != nil {
			return nil, err
		}
	}
	if err := p.expect("DELETE"); err != nil {
		return nil, err
	}
	err := p.list(func() error {
		at := p.tok
		if !p.isName() {
			return p.fail(at.start, at.end, "", "DELETE expects a bound variable, e.g. `DELETE a`")
		}
		v, err := p.variable()
		if err == nil && p.at(".") {
			err = p.fail(at.start, p.tok.end, "", "DELETE expects a bound variable, e.g. `DELETE a`")
		}
		d.Vars = append(d.Vars, v)
		return err
	})
	return d, err
}
