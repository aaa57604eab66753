package gql

import "github.com/nacredb/nacre/engine/value"

// maxQuantifier bounds the numbers of a quantifier; longer paths are stopped by the limits of execution.
const maxQuantifier = 1 << 30

// path reads a path pattern with its variable and prefix.
func (p *parser) path() (*Path, error) {
	start := p.tok.start
	pt := &Path{}
	var err error
	if pt.Var, err = p.pathVar(); err != nil {
		return nil, err
	}
	if pt.Prefix, err = p.prefix(); err != nil {
		return nil, err
	}
	if pt.Term, err = p.term(); err != nil {
		return nil, err
	}
	pt.Span = p.span(start)
	return pt, nil
}

// pathVar reads name = if it is there.
func (p *parser) pathVar() (Name, error) {
	if !p.isName() || p.tok.kind == tokWord && reserved()[p.tok.upper] {
		return Name{}, nil
	}
	next, err := p.peek()
	if err != nil {
		return Name{}, err
	}
	if next.kind != tokPunct || next.text != "=" {
		return Name{}, nil
	}
	n, err := p.variable()
	if err != nil {
		return n, err
	}
	return n, p.expectPunct("=")
}

// prefix reads what stands before a path pattern; nil where nothing does.
func (p *parser) prefix() (*Prefix, error) {
	pre := &Prefix{}
	start := p.tok.start
	var err error
	switch {
	case p.is("ALL"):
		pre.Search = SearchAll
		if err = p.next(); err == nil && p.is("SHORTEST") {
			pre.Search = SearchAllShortest
			err = p.next()
		}
	case p.is("ANY"):
		pre.Search = SearchAny
		if err = p.next(); err != nil {
			return nil, err
		}
		if p.is("SHORTEST") {
			pre.Search = SearchShortest
			err = p.next()
		} else {
			err = p.searchCount(pre)
		}
	case p.is("SHORTEST"):
		pre.Search = SearchShortest
		if err = p.next(); err == nil {
			err = p.searchCount(pre)
		}
	case !p.isAny("WALK", "TRAIL", "SIMPLE", "ACYCLIC"):
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if pre.Mode, err = p.pathMode(); err != nil {
		return nil, err
	}
	if p.isAny("PATH", "PATHS") {
		if err := p.next(); err != nil {
			return nil, err
		}
	}
	shortest := pre.Search == SearchShortest && p.src[start:start+1] != "A" && p.src[start:start+1] != "a"
	if shortest {
		if p.isAny("GROUP", "GROUPS") {
			pre.Search = SearchGroups
			if err := p.next(); err != nil {
				return nil, err
			}
		} else if pre.Count == nil {
			return nil, p.fail(start, p.last, "",
				"`SHORTEST` requires a path count, e.g. `SHORTEST 1`, or `ANY SHORTEST` or `ALL SHORTEST`")
		}
	}
	pre.Span = p.span(start)
	return pre, nil
}

// searchCount reads the number of a search prefix, if it is there.
func (p *parser) searchCount(pre *Prefix) error {
	t := p.tok
	if t.kind != tokNumber && t.kind != tokParam {
		return nil
	}
	if t.kind == tokNumber && (t.val.Kind() != valueInt || t.val.Int() < 1) {
		return p.fail(t.start, t.end, "", "The path count of a search prefix must be a positive integer")
	}
	var err error
	pre.Count, err = p.count()
	return err
}

// term reads branches with | or |+| between them.
func (p *parser) term() (*Term, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	t := &Term{}
	for {
		c, err := p.concat()
		if err != nil {
			return nil, err
		}
		t.Branches = append(t.Branches, c)
		if !p.at("|") {
			return t, nil
		}
		at := p.tok
		if err := p.next(); err != nil {
			return nil, err
		}
		multi := p.at("+")
		if multi {
			if err := p.next(); err != nil {
				return nil, err
			}
			if err := p.expectPunct("|"); err != nil {
				return nil, err
			}
		}
		if len(t.Branches) > 1 && t.Multi != multi {
			return nil, p.fail(at.start, p.last, "", "`|` and `|+|` may not be mixed: use parentheses")
		}
		t.Multi = multi
	}
}

// concat reads factors as long as one begins.
func (p *parser) concat() (*Concat, error) {
	c := &Concat{}
	for {
		var f Factor
		var err error
		switch {
		case p.at("("):
			f, err = p.nodeOrGroup()
		case p.at("-") || p.at("<") || p.at("~"):
			f, err = p.edge()
		case len(c.Factors) == 0:
			return nil, p.unexpected("the delimiter `(`")
		default:
			return c, nil
		}
		if err != nil {
			return nil, err
		}
		c.Factors = append(c.Factors, f)
	}
}

// nodeOrGroup tells a node from a parenthesised pattern by what follows the parenthesis.
func (p *parser) nodeOrGroup() (Factor, error) {
	m := p.mark()
	if err := p.next(); err != nil {
		return nil, err
	}
	group := p.at("(") || p.at("-") || p.at("<") || p.at("~")
	if p.isName() && !group {
		next, err := p.peek()
		if err != nil {
			return nil, err
		}
		group = next.kind == tokPunct && (next.text == "=" || next.text == "(")
	}
	p.reset(m)
	if group {
		return p.group()
	}
	return p.node()
}

func (p *parser) node() (*Node, error) {
	start := p.tok.start
	if err := p.next(); err != nil {
		return nil, err
	}
	n := &Node{}
	var err error
	if n.Var, n.Label, n.Where, n.Props, err = p.filler(); err != nil {
		return nil, err
	}
	err = p.expectPunct(")")
	n.Span = p.span(start)
	return n, err
}

// filler reads [name] [label] [WHERE condition | { properties }].
func (p *parser) filler() (name Name, label Label, where Expr, props []Field, err error) {
	if p.isName() && !p.is("IS") && !p.is("WHERE") {
		if name, err = p.variable(); err != nil {
			return
		}
	}
	if p.at(":") || p.is("IS") {
		if err = p.next(); err != nil {
			return
		}
		if label, err = p.label(); err != nil {
			return
		}
	}
	switch {
	case p.is("WHERE"):
		if err = p.next(); err != nil {
			return
		}
		where, err = p.expr()
	case p.at("{"):
		props, err = p.fields()
		if err == nil && len(props) == 0 {
			err = p.fail(p.last-1, p.last, "", "A property filter may not be empty")
		}
	}
	return
}

// label reads a label expression: ! binds closer than &, that closer than |.
func (p *parser) label() (Label, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	l, err := p.labelAnd()
	for n := 0; err == nil && p.at("|"); n++ {
		if err = p.chain(n); err != nil {
			break
		}
		if err = p.next(); err != nil {
			break
		}
		var r Label
		r, err = p.labelAnd()
		l = &LabelOr{l, r}
	}
	return l, err
}

func (p *parser) labelAnd() (Label, error) {
	l, err := p.labelNot()
	for n := 0; err == nil && p.at("&"); n++ {
		if err = p.chain(n); err != nil {
			break
		}
		if err = p.next(); err != nil {
			break
		}
		var r Label
		r, err = p.labelNot()
		l = &LabelAnd{l, r}
	}
	return l, err
}

func (p *parser) labelNot() (Label, error) {
	switch {
	case p.at("!"):
		if err := p.enter(); err != nil {
			return nil, err
		}
		defer p.leave()
		if err := p.next(); err != nil {
			return nil, err
		}
		l, err := p.labelNot()
		return &LabelNot{l}, err
	case p.at("%"):
		return &LabelAny{}, p.next()
	case p.at("("):
		if err := p.next(); err != nil {
			return nil, err
		}
		l, err := p.label()
		if err != nil {
			return nil, err
		}
		return l, p.expectPunct(")")
	}
	n, err := p.name("a label")
	return &LabelName{n}, err
}

// edge reads an edge pattern in any of its forms, with its quantifier.
func (p *parser) edge() (Factor, error) {
	start := p.tok.start
	left, err := p.eatPunct("<")
	if err != nil {
		return nil, err
	}
	wave := p.at("~")
	if !wave && !p.at("-") {
		return nil, p.unexpected("an edge pattern")
	}
	if err := p.next(); err != nil {
		return nil, err
	}
	e := &Edge{}
	line := "-"
	if wave {
		line = "~"
	}
	switch {
	case p.at("["):
		if err := p.next(); err != nil {
			return nil, err
		}
		if e.Var, e.Label, e.Where, e.Props, err = p.filler(); err != nil {
			return nil, err
		}
		if err := p.expectPunct("]"); err != nil {
			return nil, err
		}
		if err := p.expectPunct(line); err != nil {
			return nil, err
		}
	case p.at("/"):
		return p.simplified(start, left, line)
	}
	if e.Dir, err = p.arrow(left, wave); err != nil {
		return nil, err
	}
	e.Span = p.span(start)
	e.Quant, err = p.quant()
	return e, err
}

// arrow reads the head of an arrow and says which way it points.
func (p *parser) arrow(left, wave bool) (Dir, error) {
	right, err := p.eatPunct(">")
	switch {
	case err != nil:
		return Right, err
	case left && right && wave:
		return Right, p.fail(p.last-1, p.last, "", "An edge pattern may not point both ways with `~`")
	case left == right && wave:
		return Undirected, nil
	case left == right:
		return Either, nil
	case left:
		return Left, nil
	}
	return Right, nil
}

// quant reads a quantifier; nil where there is none.
func (p *parser) quant() (*Quant, error) {
	start := p.tok.start
	q := &Quant{Max: -1}
	switch {
	case p.at("*"):
	case p.at("+"):
		q.Min = 1
	case p.at("?"):
		q.Max, q.Optional = 1, true
	case p.at("{"):
		return p.bounds(start)
	default:
		return nil, nil
	}
	err := p.next()
	q.Span = p.span(start)
	return q, err
}

// bounds reads {n}, {n,m}, {n,}, {,m} or {,}.
func (p *parser) bounds(start int) (*Quant, error) {
	if err := p.next(); err != nil {
		return nil, err
	}
	q := &Quant{Max: -1}
	low, given, err := p.bound()
	if err != nil {
		return nil, err
	}
	q.Min = low
	comma, err := p.eatPunct(",")
	if err != nil {
		return nil, err
	}
	switch {
	case comma:
		high, given, err := p.bound()
		if err != nil {
			return nil, err
		}
		if given {
			q.Max = high
		}
	case given:
		q.Max = low
	default:
		return nil, p.unexpected("an unsigned integer")
	}
	if err := p.expectPunct("}"); err != nil {
		return nil, err
	}
	q.Span = p.span(start)
	if q.Max >= 0 && q.Max < q.Min {
		return nil, p.fail(q.Span.Start, q.Span.End, "", "The quantifier maximum must not be smaller than its minimum")
	}
	return q, nil
}

// bound reads one number of a quantifier, if it is there.
func (p *parser) bound() (n int, given bool, err error) {
	t := p.tok
	if t.kind != tokNumber {
		return 0, false, nil
	}
	if t.val.Kind() != valueInt || t.val.Int() > maxQuantifier {
		return 0, false, p.unexpected("an unsigned integer")
	}
	return int(t.val.Int()), true, p.next()
}

// pathMode reads a path mode, if there is one.
func (p *parser) pathMode() (PathMode, error) {
	for i, mode := range [...]string{"WALK", "TRAIL", "SIMPLE", "ACYCLIC"} {
		if p.is(mode) {
			return PathMode(i) + PathWalk, p.next()
		}
	}
	return PathDefault, nil
}

// group reads ( [sub =] [mode] pattern [WHERE condition] ) with its quantifier.
func (p *parser) group() (*Group, error) {
	start := p.tok.start
	if err := p.expectPunct("("); err != nil {
		return nil, err
	}
	g := &Group{}
	var err error
	if g.Var, err = p.pathVar(); err != nil {
		return nil, err
	}
	if g.Mode, err = p.pathMode(); err != nil {
		return nil, err
	}
	if g.Term, err = p.term(); err != nil {
		return nil, err
	}
	if where, err := p.eat("WHERE"); err != nil {
		return nil, err
	} else if where {
		if g.Where, err = p.expr(); err != nil {
			return nil, err
		}
	}
	if err := p.expectPunct(")"); err != nil {
		return nil, err
	}
	g.Span = p.span(start)
	g.Quant, err = p.quant()
	return g, err
}

// simplified reads what is between the slashes of -/knows|likes/->, which stands for unnamed edges and nodes.
func (p *parser) simplified(start int, left bool, line string) (Factor, error) {
	if err := p.next(); err != nil {
		return nil, err
	}
	s := &simple{p: p}
	t, err := s.term()
	if err != nil {
		return nil, err
	}
	if err := p.expectPunct("/"); err != nil {
		return nil, err
	}
	if err := p.expectPunct(line); err != nil {
		return nil, err
	}
	dir, err := p.arrow(left, line == "~")
	if err != nil {
		return nil, err
	}
	for _, e := range s.edges {
		e.Dir = dir
	}
	return &Group{Span: p.span(start), Term: t}, nil
}

// simple reads simplified path patterns; edges are those that it made, which have no direction yet.
type simple struct {
	p     *parser
	edges []*Edge
}

func (s *simple) term() (*Term, error) {
	if err := s.p.enter(); err != nil {
		return nil, err
	}
	defer s.p.leave()
	t := &Term{}
	for {
		c := &Concat{}
		for len(c.Factors) == 0 || s.p.isName() || s.p.at("(") || s.p.at("%") || s.p.at("!") {
			f, err := s.factor()
			if err != nil {
				return nil, err
			}
			c.Factors = append(c.Factors, f)
		}
		t.Branches = append(t.Branches, c)
		if more, err := s.p.eatPunct("|"); err != nil || !more {
			return t, err
		}
	}
}

func (s *simple) factor() (Factor, error) {
	start := s.p.tok.start
	if s.p.at("(") {
		if err := s.p.next(); err != nil {
			return nil, err
		}
		t, err := s.term()
		if err != nil {
			return nil, err
		}
		if err := s.p.expectPunct(")"); err != nil {
			return nil, err
		}
		g := &Group{Term: t, Span: s.p.span(start)}
		g.Quant, err = s.p.quant()
		return g, err
	}
	l, err := s.p.labelNot()
	if err != nil {
		return nil, err
	}
	e := &Edge{Label: l, Span: s.p.span(start)}
	s.edges = append(s.edges, e)
	e.Quant, err = s.p.quant()
	return e, err
}

const valueInt = value.KindInt
