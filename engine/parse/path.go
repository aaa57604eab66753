package parse

import (
	"fmt"
	"strings"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

// path is a call of a built-in function, or a named constant: a::b(x), a(x), a::B.
func (p *parser) path() ast.Expr { return p.pathTo(false) }

// pathTo is path, and uncheckedPath.
func (p *parser) pathTo(unchecked bool) ast.Expr {
	start := p.tok.start
	names := append(make([]token, 0, 4), p.advance())
	for p.err == nil && p.tok.kind == tPath {
		p.advance()
		names = append(names, p.tok)
		p.ident()
		p.boundPath(len(names))
	}
	if p.err != nil {
		return nil
	}
	span := ast.Span{Start: start, End: p.prev.end}
	path := p.canonicalPath(p.src[start:p.prev.end], names)
	if p.err != nil {
		return nil
	}
	res := p.opt.Resolver
	if res == nil || unchecked && p.tok.kind == tLParen {
		return p.unresolved(path, span)
	}
	if impl, ok := res.Function(path); ok {
		if p.tok.kind != tLParen {
			p.unexpected("(")
			return nil
		}
		return &ast.Call{Path: path, Args: p.args(), Impl: impl, Span: span}
	}
	if v, ok := res.Constant(path); ok {
		return &ast.Constant{Path: constantPath(path), Value: v}
	}
	msg := "Invalid function/constant path"
	if hint := nearest(path, res.Names()); hint != "" {
		if _, ok := res.Constant(hint); ok {
			hint = constantPath(hint)
		}
		msg += ", did you maybe mean `" + hint + "`"
	}
	p.fail(msg, token{tIdent, span.Start, span.End}, "")
	return nil
}

// uncheckedPath is a path, and whether a function has that name is found out when it is called.
func (p *parser) uncheckedPath() ast.Expr {
	return p.pathTo(true)
}

// maxPath is how many names a path of a function or a constant has at most.
const maxPath = 32

// boundPath refuses a path of more than maxPath names.
func (p *parser) boundPath(names int) {
	if names > maxPath {
		p.fail(fmt.Sprintf("A path has at most %d parts", maxPath), p.prev, "")
	}
}

// unresolved is a path without a Resolver: with arguments a function, else a constant.
func (p *parser) unresolved(path string, span ast.Span) ast.Expr {
	if p.tok.kind == tLParen {
		return &ast.Call{Path: path, Args: p.args(), Span: span}
	}
	return &ast.Constant{Path: constantPath(path), Value: value.None}
}

// canonicalPath is a path of names in lower case and without blanks; raw is its source.
func (p *parser) canonicalPath(raw string, names []token) string {
	plain := true
	for i := 0; i < len(raw) && plain; i++ {
		c := raw[i]
		plain = isIdentByte(c) && (c < 'A' || c > 'Z') || c == ':'
	}
	if plain {
		return raw
	}
	parts := make([]string, len(names))
	for i, t := range names {
		parts[i] = p.identName(t)
	}
	return strings.ToLower(strings.Join(parts, "::"))
}

// constantPath writes the last segment of a constant in upper case.
func constantPath(path string) string {
	i := strings.LastIndex(path, "::") + 1
	if i == 0 {
		return path
	}
	return path[:i] + strings.ToUpper(path[i:])
}

// namespaced is a call below fn::, ml::, mod:: or silo::.
func (p *parser) namespaced() ast.Expr {
	start := p.tok.start
	c := &ast.Call{}
	switch p.advance().kind {
	case kwFn:
		c.Kind = ast.CallCustom
	case kwMl:
		c.Kind = ast.CallModel
	case kwMod:
		c.Kind = ast.CallModule
	case kwSilo:
		c.Kind = ast.CallSilo
	}
	c.Path = p.segments()
	if (c.Kind == ast.CallModel || c.Kind == ast.CallSilo) && p.tok.kind == tLess {
		c.Version = p.version()
		if c.Kind == ast.CallSilo {
			c.Method = p.segments()
		}
	}
	if p.err == nil && p.tok.kind != tLParen {
		p.unexpected("(")
		return nil
	}
	c.Span = ast.Span{Start: start, End: p.prev.end}
	c.Args = p.args()
	return c
}

func joinPath(a, b string) string {
	switch {
	case a == "":
		return b
	case b == "":
		return a
	}
	return a + "::" + b
}

// segments is ::a::b, given as "a::b".
func (p *parser) segments() string {
	parts := make([]string, 0, 4)
	for p.err == nil && p.tok.kind == tPath {
		p.advance()
		if name := p.ident(); name != "" {
			parts = append(parts, name)
		}
		p.boundPath(len(parts))
	}
	return strings.Join(parts, "::")
}

// version is <1.2.3>, given as "1.2.3".
func (p *parser) version() string {
	open := p.expect(tLess)
	if p.tok.kind == tMore {
		p.unexpected("an integer")
		return ""
	}
	i := p.tok.start
	for end := i; end < len(p.src); end++ {
		if c := p.src[end]; c == '>' {
			p.resume(end)
			p.closes(tMore, open)
			return strings.TrimSpace(p.src[i:end])
		} else if !isIdentByte(c) && c != '.' && c != '-' && c != '+' {
			break
		}
	}
	p.unexpected("a version")
	return ""
}
