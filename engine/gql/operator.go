package gql

// expr reads an expression. The operators by rank, loosest first: OR and XOR, AND, IS TRUE, NOT, comparison, ||, + and
// -, * and /, signs.
func (p *parser) expr() (Expr, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	return p.operators(p.conj, func() (Op, bool) {
		if p.is("XOR") {
			return Xor, true
		}
		return Or, p.is("OR")
	})
}

// operators reads operands with operators of one rank between them, which bind to the left.
func (p *parser) operators(operand func() (Expr, error), operator func() (Op, bool)) (Expr, error) {
	l, err := operand()
	for n := 0; err == nil; n++ {
		op, ok := operator()
		if !ok {
			break
		}
		if err := p.chain(n); err != nil {
			return nil, err
		}
		at := Span{p.tok.start, p.tok.end}
		if err := p.next(); err != nil {
			return nil, err
		}
		l, err = p.rightOf(op, l, at, operand)
	}
	return l, err
}

func (p *parser) rightOf(op Op, l Expr, at Span, right func() (Expr, error)) (Expr, error) {
	start := p.tok.start
	r, err := right()
	if err != nil {
		return nil, err
	}
	if _, ok := r.(*IsNull); ok && op >= Equal && p.src[start] != '(' {
		return nil, p.fail(at.Start, p.last, "put the operand in parentheses",
			"`IS NULL` may only directly follow a simple expression")
	}
	return &Binary{Op: op, L: l, R: r, Span: at}, nil
}

func (p *parser) conj() (Expr, error) {
	return p.operators(p.truth, func() (Op, bool) { return And, p.is("AND") })
}

// truth reads c IS [NOT] TRUE and the like.
func (p *parser) truth() (Expr, error) {
	x, err := p.neg()
	for n := 0; err == nil && p.is("IS"); n++ {
		if err = p.chain(n); err != nil {
			break
		}
		if err = p.next(); err != nil {
			break
		}
		is := &Is{X: x}
		if is.Not, err = p.eat("NOT"); err != nil {
			break
		}
		switch {
		case p.is("TRUE"):
			is.Truth = IsTrue
		case p.is("FALSE"):
			is.Truth = IsFalse
		case p.is("UNKNOWN"):
			is.Truth = IsUnknown
		case p.is("NULL"):
			return nil, p.fail(p.tok.start, p.tok.end, "put the operand in parentheses",
				"`IS NULL` may only directly follow a simple expression")
		default:
			return nil, p.unexpected("`TRUE`, `FALSE` or `UNKNOWN`")
		}
		x, err = is, p.next()
	}
	return x, err
}

func (p *parser) neg() (Expr, error) {
	if !p.is("NOT") {
		return p.comparison()
	}
	return p.prefixed(Not, p.neg)
}

// noOperators are words that other languages have as operators, with what GQL says of them.
var noOperators = map[string]string{"IN": "IN` membership", "LIKE": "LIKE`", "STARTS": "STARTS WITH`",
	"ENDS":     "ENDS WITH`",
	"CONTAINS": "CONTAINS`"}

func (p *parser) comparison() (Expr, error) {
	l, err := p.cat()
	if err != nil {
		return nil, err
	}
	op, ok, err := p.comparator()
	if err != nil || !ok {
		return l, err
	}
	at := Span{p.last - 1, p.last}
	x, err := p.rightOf(op, l, at, p.cat)
	if err != nil {
		return nil, err
	}
	at = Span{p.tok.start, p.tok.end}
	if _, again, err := p.comparator(); err != nil {
		return nil, err
	} else if again {
		return nil, p.fail(at.Start, at.End, "combine the comparisons with AND",
			"Comparison operators cannot be chained")
	}
	return x, nil
}

// comparator reads a comparison operator if one is there.
func (p *parser) comparator() (op Op, ok bool, err error) {
	t := p.tok
	if t.kind == tokWord && noOperators[t.upper] != "" && (p.lets == 0 || t.upper != "IN") {
		return op, false, p.fail(t.start, t.end, "", "GQL has no `%s operator", noOperators[t.upper])
	}
	if t.kind != tokPunct {
		return op, false, nil
	}
	switch t.text {
	case "!=":
		return op, false, p.fail(t.start, t.end, "", "GQL uses `<>` for inequality")
	case "=":
		return Equal, true, p.next()
	case "<", ">":
	default:
		return op, false, nil
	}
	op = Less
	if t.text == ">" {
		op = More
	}
	if err := p.next(); err != nil {
		return op, true, err
	}
	if p.tok.start != t.end { // the parts of an operator stand together
		return op, true, nil
	}
	switch {
	case p.at("=") && op == Less:
		return LessEqual, true, p.next()
	case p.at("=") && op == More:
		return MoreEqual, true, p.next()
	case p.at(">") && op == Less:
		return NotEqual, true, p.next()
	}
	return op, true, nil
}

func (p *parser) cat() (Expr, error) {
	return p.operators(p.sum, func() (Op, bool) { return Concatenate, p.at("||") })
}

func (p *parser) sum() (Expr, error) {
	return p.operators(p.product, func() (Op, bool) {
		if p.at("-") {
			return Sub, true
		}
		return Add, p.at("+")
	})
}

func (p *parser) product() (Expr, error) {
	return p.operators(p.sign, func() (Op, bool) {
		if p.at("/") {
			return Div, true
		}
		return Mul, p.at("*")
	})
}

func (p *parser) sign() (Expr, error) {
	op := Plus
	switch {
	case p.at("-"):
		op = Minus
	case !p.at("+"):
		return p.primary()
	}
	return p.prefixed(op, p.sign)
}

// prefixed reads an operator that stands before its operand.
func (p *parser) prefixed(op Op, operand func() (Expr, error)) (Expr, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	start := p.tok.start
	if err := p.next(); err != nil {
		return nil, err
	}
	x, err := operand()
	return &Unary{Op: op, X: x, Span: p.span(start)}, err
}
