package gql

import (
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/parse"
)

// parser reads one text. tok is the token to be read next.
type parser struct {
	src   string
	off   int // where the token after tok begins
	tok   token
	last  int // where the token before tok ended
	depth int
	max   int
	lets  int // LET … IN around: an IN ends the expression
}

// maxChain bounds what is read by a loop and nests all the same: a + b + c, a.b.c, x IS TRUE IS TRUE.
const maxChain = 10_000

// chain refuses what goes on for too long; n is how often it has gone on.
func (p *parser) chain(n int) error {
	if n < maxChain {
		return nil
	}
	return p.tooDeep()
}

func (p *parser) tooDeep() error {
	return parse.Fail(p.src, "Exceeded query expression nesting depth limit", parse.Block{Start: p.tok.start,
		End: p.tok.end})
}

// next steps to the token after tok.
func (p *parser) next() error {
	last := p.tok.end
	t, err := p.scan()
	if err != nil {
		return err
	}
	p.last, p.tok = last, t
	return nil
}

// place is a position to come back to.
type place struct {
	off, last int
	tok       token
}

func (p *parser) mark() place   { return place{p.off, p.last, p.tok} }
func (p *parser) reset(m place) { p.off, p.last, p.tok = m.off, m.last, m.tok }

// peek is the token after tok.
func (p *parser) peek() (token, error) {
	off := p.off
	t, err := p.scan()
	p.off = off
	return t, err
}

// enter counts one level of nesting; leave undoes it.
func (p *parser) enter() error {
	if p.depth >= p.max {
		return p.tooDeep()
	}
	p.depth++
	return nil
}

func (p *parser) leave() { p.depth-- }

// is reports whether tok is the keyword.
func (p *parser) is(word string) bool { return p.tok.kind == tokWord && p.tok.upper == word }

// isAny is is for any of some words.
func (p *parser) isAny(words ...string) bool {
	for _, w := range words {
		if p.is(w) {
			return true
		}
	}
	return false
}

// at reports whether tok is the punctuation.
func (p *parser) at(text string) bool { return p.tok.kind == tokPunct && p.tok.text == text }

// eat takes the keyword if it is there.
func (p *parser) eat(word string) (bool, error) {
	if !p.is(word) {
		return false, nil
	}
	return true, p.next()
}

// eatPunct takes the punctuation if it is there.
func (p *parser) eatPunct(text string) (bool, error) {
	if !p.at(text) {
		return false, nil
	}
	return true, p.next()
}

// describe names a token as errors do.
func (p *parser) describe(t token) string {
	if t.kind == tokEnd {
		return "end of file"
	}
	return "token `" + errs.Brief(p.src[t.start:t.end], 40) + "`"
}

// unexpected is the error about tok where something else must stand.
func (p *parser) unexpected(want string) error {
	return p.fail(p.tok.start, p.tok.end, "", "Unexpected %s, expected %s", p.describe(p.tok), want)
}

func (p *parser) expect(word string) error {
	if !p.is(word) {
		return p.unexpected("`" + word + "`")
	}
	return p.next()
}

func (p *parser) expectPunct(text string) error {
	if !p.at(text) {
		return p.unexpected("the delimiter `" + text + "`")
	}
	return p.next()
}

// span is from a place on to the last token read.
func (p *parser) span(start int) Span { return Span{start, p.last} }

// isName reports whether tok can be a name, reserved or not.
func (p *parser) isName() bool {
	return p.tok.kind == tokWord || p.tok.kind == tokQuoted || p.tok.kind == tokDouble
}

// name reads an identifier. what is what it names.
func (p *parser) name(what string) (Name, error) {
	t := p.tok
	switch {
	case !p.isName():
		return Name{}, p.unexpected(what)
	case t.kind == tokWord && reserved[t.upper]:
		return Name{}, p.fail(t.start, t.end, "delimit it with double quotes or backticks to use it as a name",
			"`%s` is a reserved word, expected %s", t.text, what)
	case t.text == "":
		return Name{}, p.fail(t.start, t.end, "", "An identifier may not be empty")
	}
	return Name{t.text, Span{t.start, t.end}}, p.next()
}

// propertyName reads the name of a property: reserved words are names there, as nothing else can follow.
func (p *parser) propertyName() (Name, error) {
	if t := p.tok; t.kind == tokWord {
		return Name{t.text, Span{t.start, t.end}}, p.next()
	}
	return p.name("a property name")
}

// variable is name for a variable that is declared or used.
func (p *parser) variable() (Name, error) {
	n, err := p.name("a variable")
	if err == nil {
		err = p.free(n, "Variable")
	}
	return n, err
}

// free refuses the names that are for internal use.
func (p *parser) free(n Name, what string) error {
	if len(n.Text) >= 2 && n.Text[:2] == "__" {
		return p.fail(n.Span.Start, n.Span.End, "", "%s names starting with `__` are reserved for internal use", what)
	}
	return nil
}

// list reads one or more, with commas between them.
func (p *parser) list(one func() error) error {
	for {
		if err := one(); err != nil {
			return err
		}
		if more, err := p.eatPunct(","); err != nil || !more {
			return err
		}
	}
}

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

// match reads MATCH from its keyword on.
func (p *parser) match(start int, optional bool) (*Match, error) {
	if err := p.next(); err != nil {
		return nil, err
	}
	m := &Match{Optional: optional}
	if err := p.matchMode(m); err != nil {
		return nil, err
	}
	err := p.list(func() error {
		pt, err := p.path()
		m.Patterns = append(m.Patterns, pt)
		return err
	})
	if err != nil {
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
	if p.tok.kind == tokWord && reserved[p.tok.upper] { // nothing but a name can stand here
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
