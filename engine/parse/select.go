package parse

import (
	"github.com/nacredb/nacre/engine/ast"
)

func (p *parser) selectStatement() ast.Statement {
	p.advance()
	s := &ast.Select{Projections: p.projections()}
	if p.eat(kwOmit) {
		s.Omit = p.exprList()
	}
	p.expect(kwFrom)
	s.Only = p.eat(kwOnly)
	s.From = p.targets()
	s.With = p.with()
	if p.eat(kwWhere) {
		s.Where = p.expr()
	}
	split := p.tok
	s.Split = p.split(s.Projections)
	splitEnd := p.prev.end
	group := p.tok
	s.Group = p.group(s.Projections)
	if s.Split != nil && s.Group != nil {
		p.failBlocks("SPLIT and GROUP are mutually exclusive",
			Block{split.start, splitEnd, "SPLIT cannot be used with GROUP"},
			Block{group.start, p.prev.end, "GROUP cannot be used with SPLIT"})
	}
	s.Order = p.order(s.Projections, s.Group != nil)
	s.Limit, s.Start = p.limitStart()
	s.Fetch = p.fetch()
	s.Version = p.versionClause()
	s.Timeout = p.timeout()
	s.TempFiles = p.eat(kwTempfiles)
	s.Explain = p.explainClause()
	return s
}

func (p *parser) exprList() []ast.Expr {
	list := []ast.Expr{p.expr()}
	for p.err == nil && p.eat(tComma) {
		list = append(list, p.expr())
	}
	return list
}

// projections are the fields of SELECT and RETURN.
func (p *parser) projections() *ast.Projections {
	out := &ast.Projections{}
	if p.tok.kind == kwValue {
		start := p.advance().start
		out.Value = true
		out.Fields = []ast.Projection{p.projection()}
		out.Fields[0].Span.Start = start
		return out
	}
	for p.err == nil {
		if p.tok.kind == tStar {
			t := p.advance()
			out.Fields = append(out.Fields, ast.Projection{All: true, Span: ast.Span{Start: t.start, End: t.end}})
		} else {
			out.Fields = append(out.Fields, p.projection())
		}
		if !p.eat(tComma) {
			break
		}
	}
	return out
}

func (p *parser) projection() ast.Projection {
	f := ast.Projection{Span: ast.Span{Start: p.tok.start}}
	f.X = p.expr()
	if p.eat(kwAs) {
		f.Alias = p.plainIdiom()
	}
	f.Span.End = p.prev.end
	return f
}

// targets parses the targets of a statement.
func (p *parser) targets() []ast.Expr {
	list := []ast.Expr{p.target()}
	for p.err == nil && p.eat(tComma) {
		list = append(list, p.target())
	}
	return list
}

// target is a table, a record or an expression that yields some.
func (p *parser) target() ast.Expr { return asTable(p.expr()) }

// asTable turns a lone name into the table of that name.
func asTable(x ast.Expr) ast.Expr {
	if id, ok := x.(*ast.Idiom); ok && len(id.Parts) == 1 {
		if f, ok := id.Parts[0].(*ast.PartField); ok {
			return &ast.Table{Name: f.Name}
		}
	}
	return x
}

func (p *parser) with() *ast.With {
	if !p.eat(kwWith) {
		return nil
	}
	switch p.tok.kind {
	case kwNo:
		p.advance()
		p.expect(kwIndex)
		return &ast.With{NoIndex: true}
	case kwNoindex:
		p.advance()
		return &ast.With{NoIndex: true}
	case kwIndex:
		p.advance()
		w := &ast.With{Indexes: []string{p.ident()}}
		for p.err == nil && p.eat(tComma) {
			w.Indexes = append(w.Indexes, p.ident())
		}
		return w
	}
	p.unexpected("`NO`, `NOINDEX` or `INDEX`")
	return nil
}

// split is SPLIT [ON] a, b: each has to be a projection.
func (p *parser) split(from *ast.Projections) []*ast.Idiom {
	if !p.eat(kwSplit) {
		return nil
	}
	p.eat(kwOn)
	return p.selectedIdioms(from, "split")
}

func (p *parser) group(from *ast.Projections) *ast.Group {
	if !p.eat(kwGroup) {
		return nil
	}
	if p.eat(kwAll) {
		return &ast.Group{All: true}
	}
	p.eat(kwBy)
	return &ast.Group{By: p.selectedIdioms(from, "group")}
}

func (p *parser) selectedIdioms(from *ast.Projections, what string) []*ast.Idiom {
	var list []*ast.Idiom
	for {
		list = append(list, p.selectedIdiom(from, what))
		if p.err != nil || !p.eat(tComma) {
			return list
		}
	}
}

// selectedIdiom is a path that has to be among the projections.
func (p *parser) selectedIdiom(from *ast.Projections, what string) *ast.Idiom {
	start := p.tok.start
	id := p.basicIdiom()
	if p.err == nil && !selects(from, id, what) {
		p.missing(id, from, what, token{tIdent, start, p.prev.end})
	}
	return id
}

func (p *parser) missing(id *ast.Idiom, from *ast.Projections, what string, at token) {
	name := ast.Text(id)
	if what == "split" { // Upstream quotes it here, and only here.
		name = `"` + name + `"`
	}
	first := from.Fields[0].Span
	last := from.Fields[len(from.Fields)-1].Span
	p.failBlocks("Missing "+what+" idiom `"+name+"` in statement selection", Block{at.start, at.end, ""},
		Block{first.Start, last.End, "Idiom missing here"})
}

// selects reports whether id is among the projections: by its alias, its own name or a star. A group
// may also be the start of what is projected.
func selects(from *ast.Projections, id *ast.Idiom, what string) bool {
	text := ast.Text(id)
	for _, f := range from.Fields {
		if f.All || f.Alias != nil && ast.Text(f.Alias) == text {
			return true
		}
		if projectionName(f.X) == text {
			return true
		}
		if x, ok := f.X.(*ast.Idiom); ok && what == "group" && len(x.Parts) > len(id.Parts) &&
			ast.Text(&ast.Idiom{Parts: x.Parts[:len(id.Parts)]}) == text {
			return true
		}
	}
	return false
}

// projectionName is the name that an expression has as a column when it has no alias.
func projectionName(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Call:
		return x.Path
	case *ast.Param:
		return x.Name
	}
	return ast.Text(x)
}

// order is ORDER BY. Its keys are fields of the rows, of groups their columns.
func (p *parser) order(from *ast.Projections, grouped bool) *ast.Order {
	if !p.eat(kwOrder) {
		return nil
	}
	p.eat(kwBy)
	if p.tok.kind == kwRand {
		p.advance()
		open := p.expect(tLParen)
		p.closes(tRParen, open)
		return &ast.Order{Random: true}
	}
	o := &ast.Order{}
	start := p.tok.start
	for {
		k := ast.OrderKey{Key: p.basicIdiom()}
		k.Collate = p.eat(kwCollate)
		k.Numeric = p.eat(kwNumeric)
		switch p.tok.kind {
		case kwAscending:
			p.advance()
		case kwDescending:
			p.advance()
			k.Desc = true
		}
		if p.err == nil && grouped && !selects(from, k.Key, "order") {
			p.missing(k.Key, from, "order", token{tIdent, start, p.prev.end})
		}
		o.Keys = append(o.Keys, k)
		start = p.tok.start // an excerpt of a further key starts at its comma
		if p.err != nil || !p.eat(tComma) {
			return o
		}
	}
}

// limitStart is LIMIT and START, in either order.
func (p *parser) limitStart() (limit, start ast.Expr) {
	if p.tok.kind == kwStart {
		start = p.startClause()
		return p.limitClause(), start
	}
	limit = p.limitClause()
	return limit, p.startClause()
}

func (p *parser) limitClause() ast.Expr {
	if !p.eat(kwLimit) {
		return nil
	}
	p.eat(kwBy)
	return p.expr()
}

func (p *parser) startClause() ast.Expr {
	if !p.eat(kwStart) {
		return nil
	}
	p.eat(kwAt)
	return p.expr()
}

// fetch is FETCH a.b, $c, type::field(…).
func (p *parser) fetch() []ast.Expr {
	if !p.eat(kwFetch) {
		return nil
	}
	var list []ast.Expr
	for {
		list = append(list, p.fetchItem())
		if p.err != nil || !p.eat(tComma) {
			return list
		}
	}
}

func (p *parser) fetchItem() ast.Expr {
	if p.tok.kind == tParam {
		return p.param()
	}
	if p.tok.isIdent() && p.peek().kind == tPath {
		return p.path()
	}
	return p.plainIdiom()
}

func (p *parser) versionClause() ast.Expr {
	if !p.eat(kwVersion) {
		return nil
	}
	return p.expr()
}

func (p *parser) timeout() ast.Expr {
	if !p.eat(kwTimeout) {
		return nil
	}
	return p.expr()
}

func (p *parser) explainClause() *ast.Explain {
	if !p.eat(kwExplain) {
		return nil
	}
	return &ast.Explain{Full: p.eat(kwFull)}
}
