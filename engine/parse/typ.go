package parse

import (
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

// typ is a type: alternatives with bars between them.
func (p *parser) typ() *value.Type {
	var alts []*value.Type
	switch p.tok.kind {
	case kwAny:
		p.advance()
		return value.Any
	case kwOption:
		alts = p.option()
	default:
		alts = append(alts, p.single())
	}
	for p.err == nil && p.eatBar() {
		alts = append(alts, p.single())
	}
	if p.err != nil {
		return value.Any
	}
	if len(alts) == 1 {
		return alts[0]
	}
	return value.UnionOf(alts...)
}

// eatBar passes the bar between two alternatives, also where the lexer took it for a part of |>.
func (p *parser) eatBar() bool {
	if p.tok.kind != tKNNEnd {
		return p.eat(tPipe)
	}
	p.resume(p.tok.start + 1)
	return true
}

// option is option<a | b>, given as its alternatives with none first.
func (p *parser) option() []*value.Type {
	p.advance()
	open := p.expect(tLess)
	alts := []*value.Type{value.Simple(value.TypeNone)}
	for {
		alts = append(alts, p.single())
		if !p.eatBar() {
			break
		}
	}
	p.closes(tMore, open)
	return alts
}

// paramType is the type of a closure's parameter: its alternatives only in angle brackets, since a
// bar ends the parameters.
func (p *parser) paramType() *value.Type {
	if p.tok.kind == tLess {
		open := p.advance()
		t := p.typ()
		p.closes(tMore, open)
		return t
	}
	if p.tok.kind == kwAny {
		p.advance()
		return value.Any
	}
	if p.tok.kind == kwOption {
		alts := p.option()
		if p.err != nil {
			return value.Any
		}
		return value.UnionOf(alts...)
	}
	return p.single()
}

// simpleType is the type that is one word k.
func simpleType(k kind) (value.TypeKind, bool) {
	switch k {
	case kwNone:
		return value.TypeNone, true
	case kwNull:
		return value.TypeNull, true
	case kwBool:
		return value.TypeBool, true
	case kwInt:
		return value.TypeInt, true
	case kwFloat:
		return value.TypeFloat, true
	case kwDecimal:
		return value.TypeDecimal, true
	case kwNumber:
		return value.TypeNumber, true
	case kwString:
		return value.TypeString, true
	case kwBytes:
		return value.TypeBytes, true
	case kwDatetime:
		return value.TypeDatetime, true
	case kwDuration:
		return value.TypeDuration, true
	case kwUuid:
		return value.TypeUUID, true
	case kwRegex:
		return value.TypeRegex, true
	case kwRange:
		return value.TypeRange, true
	case kwFunction:
		return value.TypeFunction, true
	case kwPoint:
		return value.TypePoint, true
	case kwObject:
		return value.TypeObject, true
	}
	return 0, false
}

// single is one alternative of a type.
func (p *parser) single() *value.Type {
	if !p.link() {
		return value.Any
	}
	defer p.unlink()
	t := p.tok
	if k, ok := simpleType(t.kind); ok {
		p.advance()
		return value.Simple(k)
	}
	switch t.kind {
	case kwArray, kwSet:
		return p.collection()
	case kwRecord:
		p.advance()
		return &value.Type{Kind: value.TypeRecord, Max: -1, Tables: p.typeNames()}
	case kwTable:
		p.advance()
		return &value.Type{Kind: value.TypeTable, Max: -1, Tables: p.typeNames()}
	case kwFile:
		p.advance()
		return &value.Type{Kind: value.TypeFile, Max: -1, Tables: p.typeNames()}
	case kwGeometry:
		return p.geometryType()
	case tLBrace:
		return p.fieldsType()
	case tLBracket:
		return p.tupleType()
	}
	return p.literalType()
}

func (p *parser) collection() *value.Type {
	out := &value.Type{Kind: value.TypeArray, Max: -1}
	if p.advance().kind == kwSet {
		out.Kind = value.TypeSet
	}
	if p.tok.kind == tLess {
		open := p.advance()
		out.Elem = p.typ()
		if p.eat(tComma) {
			out.Max = int(p.unsigned(1<<62 - 1))
		}
		p.closes(tMore, open)
	}
	return out
}

// typeNames is <a | b>; none when there is no bracket.
func (p *parser) typeNames() []string {
	if p.tok.kind != tLess {
		return nil
	}
	open := p.advance()
	var names []string
	for {
		names = append(names, p.ident())
		if !p.eatBar() {
			break
		}
	}
	p.closes(tMore, open)
	return names
}

func (p *parser) geometryType() *value.Type {
	p.advance()
	out := &value.Type{Kind: value.TypeGeometry, Max: -1}
	if p.tok.kind != tLess {
		return out
	}
	open := p.advance()
	for {
		shape, ok := shapeOf(p.tok.kind)
		if !ok {
			p.unexpected("a geometry kind name")
			return out
		}
		p.advance()
		out.Shapes = append(out.Shapes, shape)
		if !p.eatBar() {
			break
		}
	}
	p.closes(tMore, open)
	return out
}

func shapeOf(k kind) (value.GeometryKind, bool) {
	switch k {
	case kwPoint:
		return value.GeometryPoint, true
	case kwLine:
		return value.GeometryLine, true
	case kwPolygon:
		return value.GeometryPolygon, true
	case kwMultipoint:
		return value.GeometryMultiPoint, true
	case kwMultiline:
		return value.GeometryMultiLine, true
	case kwMultipolygon:
		return value.GeometryMultiPolygon, true
	case kwCollection:
		return value.GeometryCollection, true
	}
	return 0, false
}

func (p *parser) fieldsType() *value.Type {
	open := p.advance()
	var fields []value.TypeField
	for p.err == nil && p.tok.kind != tRBrace {
		name := p.objectKey()
		p.expect(tColon)
		fields = append(fields, value.TypeField{Name: name, Type: p.typ()})
		if !p.eat(tComma) {
			break
		}
	}
	p.closes(tRBrace, open)
	return value.FieldsType(fields...)
}

func (p *parser) tupleType() *value.Type {
	open := p.advance()
	out := &value.Type{Kind: value.TypeTuple, Max: -1}
	for p.err == nil && p.tok.kind != tRBracket {
		out.Alts = append(out.Alts, p.typ())
		if !p.eat(tComma) {
			break
		}
	}
	p.closes(tRBracket, open)
	return out
}

// literalType is a constant as a type.
func (p *parser) literalType() *value.Type {
	switch t := p.tok; t.kind {
	case tString:
		return value.LiteralType(value.Str(p.stringText(p.advance())))
	case kwTrue, kwFalse:
		p.advance()
		return value.LiteralType(value.Bool(t.kind == kwTrue))
	case tDigits:
		return value.LiteralType(p.numeric())
	case tMinus, tPlus:
		if p.peek().kind != tDigits {
			p.digitExpected(t.start, t.end)
			return value.Any
		}
		if l, ok := p.signed().(*ast.Literal); ok {
			return value.LiteralType(l.Value)
		}
	}
	p.unexpected("a kind name")
	return value.Any
}
