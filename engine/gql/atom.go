package gql

import "github.com/nacredb/nacre/engine/value"

// primary reads an atom with its properties and the tests that may follow a simple expression.
func (p *parser) primary() (Expr, error) {
	x, err := p.atom()
	if err != nil {
		return nil, err
	}
	for n := 0; p.at("."); n++ {
		if err := p.chain(n); err != nil {
			return nil, err
		}
		if err := p.next(); err != nil {
			return nil, err
		}
		n, err := p.propertyName()
		if err != nil {
			return nil, err
		}
		x = &Prop{X: x, Name: n}
	}
	return p.test(x)
}

// test reads what may follow a simple expression: IS NULL and its like, :label, ::type.
func (p *parser) test(x Expr) (Expr, error) {
	switch {
	case p.at("::"):
		if err := p.next(); err != nil {
			return nil, err
		}
		t, err := p.typ()
		return &IsTyped{X: x, Type: t}, err
	case p.at(":"):
		if _, ok := x.(*Ref); !ok {
			return x, nil
		}
		if err := p.next(); err != nil {
			return nil, err
		}
		l, err := p.label()
		return &IsLabeled{X: x, Label: l}, err
	case !p.is("IS"):
		return x, nil
	}
	m := p.mark()
	if err := p.next(); err != nil {
		return nil, err
	}
	not, err := p.eat("NOT")
	if err != nil {
		return nil, err
	}
	word := p.tok.upper
	if p.tok.kind != tokWord {
		word = ""
	}
	switch word {
	case "NULL":
		return &IsNull{X: x, Not: not}, p.next()
	case "TYPED":
		if err := p.next(); err != nil {
			return nil, err
		}
		t, err := p.typ()
		return &IsTyped{X: x, Not: not, Type: t}, err
	case "LABELED":
		if err := p.next(); err != nil {
			return nil, err
		}
		l, err := p.label()
		return &IsLabeled{X: x, Not: not, Label: l}, err
	case "SOURCE", "DESTINATION":
		if err := p.next(); err != nil {
			return nil, err
		}
		if err := p.expect("OF"); err != nil {
			return nil, err
		}
		n, err := p.variable()
		return &IsEnd{X: x, Not: not, Source: word == "SOURCE", Edge: &Ref{n}}, err
	case "DIRECTED":
		return &IsDirected{X: x, Not: not}, p.next()
	case "NFC", "NFD", "NFKC", "NFKD", "NORMALIZED":
		form := "NFC"
		if word != "NORMALIZED" {
			form = word
			if err := p.next(); err != nil {
				return nil, err
			}
		}
		return &IsNormalized{X: x, Not: not, Form: form}, p.expect("NORMALIZED")
	}
	p.reset(m) // IS TRUE, which stands further out
	return x, nil
}

func (p *parser) param() (Expr, error) {
	t := p.tok
	n := Name{t.text, Span{t.start, t.end}}
	if err := p.free(n, "Parameter"); err != nil {
		return nil, err
	}
	switch t.text {
	case "this", "self", "parent", "value", "before", "after", "event", "auth", "session", "token", "access":
		return nil, p.fail(t.start, t.end, "", "The parameter name `$%s` is reserved by the engine", t.text)
	}
	return &Param{n}, p.next()
}

// literal is a constant at tok.
func (p *parser) literal(v value.Value) (Expr, error) {
	return &Literal{v, Span{p.tok.start, p.tok.end}}, p.next()
}

func (p *parser) atom() (Expr, error) {
	t := p.tok
	switch t.kind {
	case tokNumber:
		return p.literal(t.val)
	case tokString, tokDouble: // where a value is expected, double quotes make a string
		return p.literal(value.Str(t.text))
	case tokQuoted:
		n, err := p.variable()
		return &Ref{n}, err
	case tokParam:
		return p.param()
	case tokPunct:
		return p.bracketed()
	case tokEnd:
		return nil, p.unexpected("an expression")
	}
	return p.wordAtom()
}

// bracketed reads a list, a map, or an expression in parentheses.
func (p *parser) bracketed() (Expr, error) {
	start := p.tok.start
	switch p.tok.text {
	case "(":
		if err := p.next(); err != nil {
			return nil, err
		}
		x, err := p.expr()
		if err != nil {
			return nil, err
		}
		return x, p.expectPunct(")")
	case "[":
		elems, err := p.elems()
		return &List{elems, p.span(start)}, err
	case "{":
		fields, err := p.fields()
		return &Map{fields, p.span(start)}, err
	}
	return nil, p.unexpected("an expression")
}

// elems reads [a, b, …].
func (p *parser) elems() ([]Expr, error) {
	if err := p.expectPunct("["); err != nil {
		return nil, err
	}
	elems := []Expr{}
	if !p.at("]") {
		err := p.list(func() error {
			x, err := p.expr()
			elems = append(elems, x)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return elems, p.expectPunct("]")
}

// wordAtom reads what begins with a word.
func (p *parser) wordAtom() (Expr, error) {
	t := p.tok
	switch t.upper {
	case "TRUE":
		return p.literal(value.Bool(true))
	case "FALSE":
		return p.literal(value.Bool(false))
	case "NULL", "UNKNOWN":
		return p.literal(value.Null)
	case "CASE":
		return p.caseOf()
	case "LET":
		return p.letIn()
	case "SESSION_USER", "CURRENT_USER", "CURRENT_ROLE", "SYSTEM_USER":
		return nil, p.fail(t.start, t.end, "", "`%s` value specification is not supported", t.upper)
	}
	next, err := p.peek()
	if err != nil {
		return nil, err
	}
	switch {
	case next.kind == tokPunct && next.text == "(" && t.upper != "NOT":
		return p.call1()
	case next.kind == tokPunct && next.text == "[" && (t.upper == "LIST" || t.upper == "ARRAY" || t.upper == "PATH"):
		if err := p.next(); err != nil {
			return nil, err
		}
		elems, err := p.elems()
		if t.upper == "PATH" {
			return &PathOf{elems, p.span(t.start)}, err
		}
		return &List{elems, p.span(t.start)}, err
	case next.kind == tokPunct && next.text == "{":
		switch t.upper {
		case "RECORD":
			if err := p.next(); err != nil {
				return nil, err
			}
			fields, err := p.fields()
			return &Map{fields, p.span(t.start)}, err
		case "EXISTS", "VALUE":
			return p.subquery()
		}
	case (next.kind == tokString || next.kind == tokDouble) && temporal[t.upper] != "":
		if err := p.next(); err != nil {
			return nil, err
		}
		arg, err := p.literal(value.Str(next.text))
		return &Func{Name: temporal[t.upper], Args: []Expr{arg}, Span: p.span(t.start)}, err
	case instants[t.upper]:
		return &Func{Name: t.upper, Span: Span{t.start, t.end}}, p.next()
	}
	n, err := p.variable()
	return &Ref{n}, err
}

// temporal are the words that stand before the text of a temporal literal, and the functions that read it.
var temporal = map[string]string{"DATE": "DATE", "DATETIME": "ZONED_DATETIME", "TIMESTAMP": "ZONED_DATETIME",
	"DURATION": "DURATION"}

// instants are the functions that are called without parentheses.
var instants = map[string]bool{"CURRENT_TIMESTAMP": true, "LOCAL_TIMESTAMP": true, "CURRENT_DATE": true}

func (p *parser) caseOf() (Expr, error) {
	c := &Case{}
	start := p.tok.start
	if err := p.next(); err != nil {
		return nil, err
	}
	var err error
	if !p.is("WHEN") {
		if c.Operand, err = p.expr(); err != nil {
			return nil, err
		}
	}
	for p.is("WHEN") {
		w, err := p.when(c.Operand != nil)
		if err != nil {
			return nil, err
		}
		c.Whens = append(c.Whens, w)
	}
	if len(c.Whens) == 0 {
		return nil, p.unexpected("`WHEN`")
	}
	if other, err := p.eat("ELSE"); err != nil {
		return nil, err
	} else if other {
		if c.Else, err = p.expr(); err != nil {
			return nil, err
		}
	}
	err = p.expect("END")
	c.Span = p.span(start)
	return c, err
}

// when reads WHEN … THEN …; of a CASE with an operand the conditions are values, or tests without their left side.
func (p *parser) when(operand bool) (When, error) {
	var w When
	if err := p.next(); err != nil {
		return w, err
	}
	one := func() error {
		x, err := p.expr()
		w.Conds = append(w.Conds, x)
		return err
	}
	if operand {
		err := p.list(func() error {
			x, err := p.whenOperand()
			w.Conds = append(w.Conds, x)
			return err
		})
		if err != nil {
			return w, err
		}
	} else if err := one(); err != nil {
		return w, err
	}
	if err := p.expect("THEN"); err != nil {
		return w, err
	}
	x, err := p.expr()
	w.Then = x
	return w, err
}

func (p *parser) whenOperand() (Expr, error) {
	if p.is("IS") {
		x, err := p.test(&Operand{})
		if err == nil && p.is("IS") {
			err = p.unexpected("`NULL` or another test of a value")
		}
		return x, err
	}
	at := Span{p.tok.start, p.tok.end}
	op, ok, err := p.comparator()
	if err != nil {
		return nil, err
	}
	if !ok {
		op = Equal
	}
	return p.rightOf(op, &Operand{}, at, p.cat)
}

func (p *parser) letIn() (Expr, error) {
	l := &LetIn{}
	start := p.tok.start
	if err := p.next(); err != nil {
		return nil, err
	}
	p.lets++
	err := p.list(func() error {
		f, err := p.definition()
		l.Items = append(l.Items, f)
		return err
	})
	p.lets--
	if err != nil {
		return nil, err
	}
	if err := p.expect("IN"); err != nil {
		return nil, err
	}
	if l.X, err = p.expr(); err != nil {
		return nil, err
	}
	err = p.expect("END")
	l.Span = p.span(start)
	return l, err
}
