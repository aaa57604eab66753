package parse

import (
	"github.com/nacredb/nacre/engine/ast"
)

// atPart reports whether the current token starts a further step of a path.
func (p *parser) atPart() bool {
	switch p.tok.kind {
	case tDot, tLBracket, tDotDotDot, tArrowR, tArrowL, tArrowBoth, tArrowRef:
		return true
	}
	return false
}

// suffix adds all steps that follow to id. A leading @ may be followed by a name or a recursion at once.
func (p *parser) suffix(id *ast.Idiom) ast.Expr {
	if n := len(id.Parts); n == 1 {
		if _, ok := id.Parts[0].(*ast.PartDoc); ok && !p.atPart() {
			if p.tok.kind == tLBrace {
				id.Parts = append(id.Parts, p.dottedBraces())
				return p.suffix(id)
			}
			if !p.tok.isIdent() {
				p.unexpected("an identifier")
				return nil
			}
			id.Parts = append(id.Parts, &ast.PartField{Name: p.identName(p.advance())})
		}
	}
	chain := p.chain
	for p.err == nil && p.atPart() && p.link() {
		part := p.part()
		if part == nil {
			return nil
		}
		id.Parts = append(id.Parts, part)
	}
	p.chain = chain
	return id
}

// part parses one step.
func (p *parser) part() ast.Part {
	switch p.tok.kind {
	case tDot:
		p.advance()
		return p.dotted()
	case tDotDotDot:
		p.advance()
		return &ast.PartFlatten{}
	case tLBracket:
		return p.bracketed()
	}
	return p.graph()
}

// dotted parses the part after a dot.
func (p *parser) dotted() ast.Part {
	switch p.tok.kind {
	case tStar:
		p.advance()
		return &ast.PartAll{}
	case tQuestion:
		p.advance()
		return &ast.PartOptional{}
	case tNullish: // .?? is .? and a stray mark
		p.fail("Unexpected token `?`, expected `??`", token{tQuestion, p.tok.start + 1, p.tok.end}, "")
		return nil
	case tAt:
		p.advance()
		return &ast.PartRepeat{}
	case tLBrace:
		return p.dottedBraces()
	}
	if !p.tok.isIdent() {
		p.unexpected("an identifier")
		return nil
	}
	name := p.identName(p.advance())
	if p.tok.kind == tLParen {
		return &ast.PartMethod{Name: name, Args: p.args()}
	}
	return &ast.PartField{Name: name}
}

// bracketed is [*], [$], [WHERE x], [? x] or [x].
func (p *parser) bracketed() ast.Part {
	open := p.advance()
	var part ast.Part
	switch p.tok.kind {
	case tStar:
		p.advance()
		part = &ast.PartAll{}
	case tDollar:
		p.advance()
		part = &ast.PartLast{}
	case kwWhere, tQuestion:
		p.advance()
		part = &ast.PartWhere{X: p.expr()}
	default:
		part = &ast.PartIndex{X: p.expr()}
	}
	p.closes(tRBracket, open)
	return part
}

// dottedBraces is .{…}: a destructuring or a recursion.
func (p *parser) dottedBraces() ast.Part {
	open := p.advance()
	if k := p.tok.kind; k == tDigits || k == tDotDot {
		return &ast.PartRecurse{Recurse: p.recurse(open)}
	}
	if p.tok.kind == tStar {
		p.fail("Unexpected token `*` expected an integer or ..", p.tok, "")
	}
	return &ast.PartDestructure{Fields: p.destructure(open)}
}

func (p *parser) destructure(open token) []ast.DestructureField {
	if !p.link() {
		return nil
	}
	defer p.unlink()
	var list []ast.DestructureField
	for p.err == nil && p.tok.kind != tRBrace {
		list = append(list, p.destructureField())
		if !p.eat(tComma) {
			break
		}
	}
	p.closes(tRBrace, open)
	return list
}

func (p *parser) destructureField() ast.DestructureField {
	f := ast.DestructureField{Name: p.ident()}
	switch p.tok.kind {
	case tColon:
		p.advance()
		f.Expr = p.expr()
	case tDot:
		p.advance()
		switch {
		case p.tok.kind == tStar:
			p.advance()
			f.All = true
		case p.tok.kind == tLBrace:
			f.Nested = p.destructure(p.advance())
		case p.tok.isIdent():
			p.noPick()
		default:
			p.unexpected("an identifier")
		}
	}
	return f
}

// noPick refuses a name behind the dot of a destructuring. A call is read to its end, where the refusal points.
func (p *parser) noPick() {
	at := p.advance()
	kind := at.kind
	if p.tok.kind == tLParen {
		p.args()
		at = p.prev
	}
	p.fail("Unexpected token `"+kind.String()+"` expected a `*` or a destructuring", at, "")
}

// recurse is the rest of .{1..3+collect+inclusive}(path) after its brace.
func (p *parser) recurse(open token) *ast.Recurse {
	r := &ast.Recurse{OpenMin: true}
	if p.tok.kind == tDigits {
		r.Min, r.OpenMin = p.unsigned(1<<32-1), false
	}
	if p.eat(tDotDot) {
		r.OpenMax = true
		if p.tok.kind == tDigits {
			r.Max, r.OpenMax = p.unsigned(1<<32-1), false
		}
	} else {
		r.Exact, r.Max = true, r.Min
	}
	if p.eat(tPlus) {
		p.instruction(r)
	}
	p.closes(tRBrace, open)
	if p.tok.kind == tLParen {
		paren, chain := p.advance(), p.chain
		if !p.link() {
			return r
		}
		path := &ast.Idiom{}
		for p.err == nil && p.atPart() && p.link() {
			if part := p.part(); part != nil {
				path.Parts = append(path.Parts, part)
			}
		}
		p.chain = chain
		r.Path = path
		p.closes(tRParen, paren)
	}
	return r
}

func (p *parser) instruction(r *ast.Recurse) {
	t := p.tok
	name := p.ident()
	switch name {
	case "collect", "path":
		r.Instruction = name
	case "shortest":
		r.Instruction = name
		p.expect(tEqual)
		r.Target = p.recursionTarget()
	default:
		p.fail("Unexpected instruction `"+name+"` expected `path`, `collect`, or `shortest`", t, "")
	}
	for p.err == nil && p.tok.kind == tPlus {
		p.advance()
		t := p.tok
		if opt := p.ident(); opt != "inclusive" {
			p.fail("Unexpected option `"+opt+"` expected `inclusive`", t, "")
		}
		r.Inclusive = true
	}
}

func (p *parser) recursionTarget() ast.Expr {
	switch {
	case p.tok.kind == tParam:
		return p.param()
	case p.tok.isIdent():
		return p.singleRecord()
	}
	p.unexpected("a param or record-id")
	return nil
}

// graph is a graph step, from its arrow on.
func (p *parser) graph() ast.Part {
	g := &ast.Graph{}
	switch p.advance().kind {
	case tArrowL:
		g.Dir = ast.DirIn
	case tArrowBoth:
		g.Dir = ast.DirBoth
	case tArrowRef:
		g.Dir = ast.DirRef
	}
	switch {
	case p.tok.kind == tQuestion:
		p.advance()
		g.Any = true
	case p.tok.kind == tLParen:
		p.lookup(g)
	case p.tok.isIdent():
		g.Tables = []ast.GraphTable{p.graphTable()}
	default:
		p.unexpected("`?`, `(` or an identifier")
		return nil
	}
	return &ast.PartGraph{Graph: g}
}

// graphTable is a table with an optional range of keys.
func (p *parser) graphTable() ast.GraphTable {
	glued := p.glued(tColon)
	t := ast.GraphTable{Table: p.ident()}
	if glued {
		p.keyColon()
		if p.tok.kind != tDotDot && !p.startsKey() {
			p.unexpected("..")
			return t
		}
		key := p.recordKey()
		if p.err != nil {
			return t
		}
		k, ok := key.(*ast.KeyRange)
		if !ok {
			p.unexpected("..")
			return t
		}
		t.Key = k
	}
	return t
}

// lookup is the parenthesised form of a graph step.
func (p *parser) lookup(g *ast.Graph) {
	open := p.advance()
	g.Parens = true
	if p.tok.kind == kwSelect {
		p.advance()
		g.Select = p.projections()
		p.expect(kwFrom)
		if p.tok.kind == kwOnly && p.beginsTable() {
			p.advance()
			g.Only = true
		}
	}
	p.lookupTables(g)
	if p.eat(kwWhere) {
		g.Where = p.expr()
	}
	if g.Select != nil {
		g.Split = p.split(g.Select)
		g.Group = p.group(g.Select)
		g.Order = p.order(g.Select, g.Group != nil)
	}
	g.Limit, g.Start = p.limitStart()
	if p.eat(kwAs) {
		g.Alias = p.plainIdiom()
	}
	p.closes(tRParen, open)
}

// beginsTable reports whether a table follows the current token, which is a name itself otherwise.
func (p *parser) beginsTable() bool {
	switch next := p.peek(); next.kind {
	case kwWhere, kwSplit, kwGroup, kwOrder, kwLimit, kwStart, kwAs, kwField:
		return false
	default:
		return next.isIdent() || next.kind == tQuestion
	}
}

func (p *parser) lookupTables(g *ast.Graph) {
	if p.eat(tQuestion) {
		g.Any = true
		return
	}
	if !p.tok.isIdent() {
		p.unexpected("`?`, an identifier or a range")
		return
	}
	for p.err == nil {
		t := p.graphTable()
		if p.tok.kind == kwField {
			p.advance()
			t.Field = &ast.Idiom{Parts: []ast.Part{&ast.PartField{Name: p.ident()}}}
		}
		g.Tables = append(g.Tables, t)
		if !p.eat(tComma) {
			return
		}
	}
}

// plainIdiom is a path that starts with a field or a graph step, as in SET, ORDER BY or an alias.
func (p *parser) plainIdiom() *ast.Idiom {
	var id *ast.Idiom
	switch {
	case p.tok.kind == tArrowR, p.tok.kind == tArrowL, p.tok.kind == tArrowBoth, p.tok.kind == tArrowRef:
		id = &ast.Idiom{}
	case p.tok.kind == tAt:
		p.advance()
		id = &ast.Idiom{Parts: []ast.Part{&ast.PartDoc{}}}
	case p.tok.isIdent():
		id = p.arena.name(p.ident())
	default:
		p.unexpected("an identifier")
		return &ast.Idiom{}
	}
	p.suffix(id)
	return id
}

// basicIdiom is a path of fields, indexes, .* and [$] only, as FIELDS and DEFINE FIELD have them.
func (p *parser) basicIdiom() *ast.Idiom {
	id, chain := p.arena.name(p.ident()), p.chain
	for p.err == nil {
		switch p.tok.kind {
		case tDot:
			p.advance()
			if p.eat(tStar) {
				id.Parts = append(id.Parts, &ast.PartAll{})
			} else {
				id.Parts = append(id.Parts, &ast.PartField{Name: p.ident()})
			}
		case tDotDotDot:
			p.advance()
			id.Parts = append(id.Parts, &ast.PartFlatten{})
		case tLBracket:
			id.Parts = append(id.Parts, p.basicBracket())
		default:
			p.chain = chain
			return id
		}
		p.link()
	}
	return id
}

func (p *parser) basicBracket() ast.Part {
	open := p.advance()
	var part ast.Part
	switch p.tok.kind {
	case tStar:
		p.advance()
		part = &ast.PartAll{}
	case tDollar:
		p.advance()
		part = &ast.PartLast{}
	case tDigits:
		part = &ast.PartIndex{X: p.literal(p.numeric())}
	default:
		p.unexpected("$, * or a number")
		return &ast.PartAll{}
	}
	p.closes(tRBracket, open)
	return part
}
