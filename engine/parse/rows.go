package parse

import (
	"slices"
	"strings"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

// rows are values that are read without a tree for each of their parts: the rows of an INSERT, see Options.Values.
type rows struct {
	values  []value.Value // a stack of unfinished arrays
	fields  []value.Field // the same for objects
	order   []int         // of the fields of one object
	objects value.Objects

	listed value.Rows // rows of a list
	names  []string   // of the fields of the row before, as they came
	places []int      // the order of its fields: most rows have the same fields in the same order

	inRow bool          // what is read is a part of a row of a list, which has none of it in the end: it is encoded
	parts []value.Value // room for the elements of arrays in a row
	inner value.Objects // makes the objects in a row
	table string        // of the record id that bare read last
}

// rowsExpr parses what an INSERT inserts: as a Literal where it is written out, as an Array of Literals and others
// where a part of its rows is, and as any expression otherwise.
func (p *parser) rowsExpr() ast.Expr {
	if p.err != nil {
		return nil
	}
	start, depth := p.mark(), p.depth
	var x ast.Expr
	switch p.tok.kind {
	case tLBrace:
		x = p.singleRow()
	case tLBracket:
		x = p.rowList()
	}
	switch {
	case p.stopped != nil:
		return nil
	case p.err != nil: // the failure is to be that of expr
		p.err, p.invalid, p.open, p.depth = nil, token{}, false, depth
	case x != nil && p.endsRows():
		return x
	}
	p.reset(start) // it is no list or object, or the start of a longer expression
	return p.expr()
}

// endsRows reports whether the current token ends what an INSERT inserts.
func (p *parser) endsRows() bool {
	switch p.tok.kind {
	case tEOF, tSemi, kwOn, kwReturn, kwVersion, kwTimeout:
		return true
	}
	return false
}

// singleRow is an object that is written out, or nil.
func (p *parser) singleRow() ast.Expr {
	if !p.enter() {
		return nil
	}
	defer p.leave()
	v, found := p.simpleObject(false)
	if found != isWritten {
		return nil
	}
	return p.literal(v)
}

// rowList is an array of rows. From the first row on that is not written out, it reads them as expressions.
func (p *parser) rowList() ast.Expr {
	if !p.enter() {
		return nil
	}
	defer p.leave()
	open, base := p.advance(), len(p.rows.values)
	for p.err == nil && p.tok.kind != tRBracket {
		start := p.mark()
		v, ok := p.writtenOut(true)
		if p.err != nil {
			return nil
		}
		if !ok {
			p.reset(start)
			return p.mixedList(open, p.rows.takeValues(base))
		}
		p.rows.values = append(p.rows.values, v)
		if !p.eat(tComma) {
			break
		}
	}
	p.closes(tRBracket, open)
	return p.literal(value.ArrayOf(p.rows.takeValues(base)))
}

// mixedList is the rest of an array after the values that it begins with.
func (p *parser) mixedList(open token, first []value.Value) ast.Expr {
	elems := make([]ast.Expr, 0, len(first)+1)
	for _, v := range first {
		elems = append(elems, p.arena.literal(v))
	}
	for p.err == nil && p.tok.kind != tRBracket {
		elems = append(elems, p.expr())
		if !p.eat(tComma) {
			break
		}
	}
	p.closes(tRBracket, open)
	return &ast.Array{Elems: elems, Const: constant(elems)}
}

// writtenOut is the value of an expression that has nothing to evaluate. Otherwise, ok is false and tokens were passed:
// the caller goes back. An object is made as a row of a list where row says so.
func (p *parser) writtenOut(row bool) (v value.Value, ok bool) {
	start := p.mark()
	if !p.enter() {
		return v, false
	}
	v, found := p.simple(row)
	p.leave()
	if p.err != nil || found == isComputed {
		return v, false
	}
	if k := p.tok.kind; found == isWritten && (k == tComma || k == tRBrace || k == tRBracket) {
		return v, true
	}
	p.reset(start)
	x := p.expr()
	if p.err != nil {
		return v, false
	}
	v, err := constants{}.value(x)
	return v, err == nil
}

// finding says what simple found.
type finding uint8

const (
	isOther    finding = iota // nothing that simple reads
	isWritten                 // a value
	isComputed                // something with a part that is evaluated
)

// simple reads a value of a form that is common in data.
func (p *parser) simple(row bool) (v value.Value, found finding) {
	switch t := p.tok; t.kind {
	case tString:
		v = value.Str(p.stringText(p.advance()))
	case tDigits:
		v = p.numeric()
	case tMinus:
		if p.peek().kind != tDigits {
			return v, isOther
		}
		p.advance()
		if v = p.numericSigned(true); v.Kind() == value.KindDuration {
			return v, isOther
		}
	case tDatetime:
		v = p.datetime(p.advance())
	case tUUID:
		v = p.uuid(p.advance())
	case kwNone:
		p.advance()
	case kwNull:
		p.advance()
		v = value.Null
	case kwTrue, kwFalse:
		p.advance()
		v = value.Bool(t.kind == kwTrue)
	case tLBracket:
		return p.simpleArray()
	case tLBrace:
		return p.object(row)
	default:
		return v, isOther
	}
	return v, isWritten
}

// object is simpleObject. While it reads a row, its parts need not last.
func (p *parser) object(row bool) (v value.Value, found finding) {
	if !row {
		return p.simpleObject(false)
	}
	p.rows.inRow = true
	v, found = p.simpleObject(true)
	p.rows.inRow = false
	return v, found
}

func (p *parser) simpleArray() (v value.Value, found finding) {
	open, base := p.advance(), len(p.rows.values)
	for read := false; p.err == nil && (read || p.tok.kind != tRBracket); {
		ok := read
		if !read {
			v, ok = p.valueOf(false)
		}
		if !ok {
			p.rows.values = p.rows.values[:base]
			return v, isComputed
		}
		p.rows.values = append(p.rows.values, v)
		if p.tok.kind != tComma {
			break
		}
		if v, read = p.bare(p.tok.end); !read {
			p.advance()
		}
	}
	p.closes(tRBracket, open)
	return value.ArrayOf(p.rows.takeValues(base)), isWritten
}

// simpleObject is an object. Sets, blocks and what has the shape of a geometry are left to others.
func (p *parser) simpleObject(row bool) (v value.Value, found finding) {
	open, base, typed := p.tok, len(p.rows.fields), false
	key, read := p.nextKey()
	if !read {
		if p.advance(); !p.startsObject() {
			return v, isOther
		}
	}
	for p.err == nil && (read || p.tok.kind != tRBrace) {
		if !read {
			key = p.objectKey()
			p.expect(tColon)
		}
		if p.err != nil {
			return v, isOther
		}
		v, ok := p.valueOf(read)
		if !ok {
			p.rows.fields = p.rows.fields[:base]
			return v, isComputed
		}
		typed = typed || key == "type"
		p.rows.fields = append(p.rows.fields, value.Field{Name: key, Value: v})
		if p.tok.kind != tComma {
			break
		}
		if key, read = p.nextKey(); !read {
			p.advance()
		}
	}
	p.closes(tRBrace, open)
	if typed && len(p.rows.fields) == base+2 {
		p.rows.fields = p.rows.fields[:base]
		return v, isOther
	}
	if row {
		return p.rows.takeRow(base), isWritten
	}
	return p.rows.takeObject(base), isWritten
}

// valueOf is the value of a field, behind its colon: that is the current token where read says that nextKey has come to
// it, and has been passed otherwise.
func (p *parser) valueOf(read bool) (value.Value, bool) {
	at := p.tok.start
	if read {
		at = p.tok.end
	}
	if v, ok := p.bare(at); ok {
		return v, true
	}
	if read {
		p.advance()
	}
	return p.writtenOut(false)
}

// startsObject reports whether the braces that were opened just now are those of an object.
func (p *parser) startsObject() bool {
	switch p.tok.kind {
	case tRBrace:
		return true
	case tString, tDigits:
		return p.isLiteralKey()
	}
	return p.tok.isIdent() && p.peek().kind == tColon
}

// nextKey passes the comma or brace that is the current token, and a key up to its colon, where that is a plain word.
// It need not be told whether it is a keyword. Otherwise it passes nothing.
func (p *parser) nextKey() (key string, ok bool) {
	from := p.lex.pos
	start := p.lex.blanks(from)
	if p.hasNext || classes[p.lex.at(start)]&classIdentStart == 0 {
		return "", false
	}
	end := start + 1
	for isIdentByte(p.lex.at(end)) {
		end++
	}
	colon := p.lex.blanks(end)
	key = p.src[start:end]
	if p.lex.at(colon) != ':' || p.lex.at(colon+1) == ':' || key == "NaN" || key == "Infinity" { // these are no names
		return "", false
	}
	p.lex.pos = colon + 1
	p.tok = token{tColon, colon, colon + 1}
	p.work += p.lex.pos - from
	return key, true
}

// takeValues ends the array that was begun when the stack had base values.
func (r *rows) takeValues(base int) []value.Value {
	out := r.room(len(r.values) - base)
	copy(out, r.values[base:])
	r.values = r.values[:base]
	return out
}

// leastParts is the least room for the elements of arrays in a row.
const leastParts = 64

// room is room for n elements of an array. Those of a row give theirs to the next row.
func (r *rows) room(n int) []value.Value {
	if !r.inRow {
		return make([]value.Value, n)
	}
	at := len(r.parts)
	if n > cap(r.parts)-at {
		r.parts, at = make([]value.Value, 0, max(n, 2*cap(r.parts), leastParts)), 0
	}
	r.parts = r.parts[:at+n]
	return r.parts[at : at+n : at+n]
}

// fewFields is up to how many fields sorted puts in order one by one, which takes the square of their number.
const fewFields = 32

// takeObject ends the object that was begun when the stack had base fields: in the order of their names, and of equal
// names the last one. A few fields are put in order by their places: to move them is dear while memory is being
// collected.
func (r *rows) takeObject(base int) value.Value {
	list := r.fields[base:]
	r.fields = r.fields[:base]
	if len(list) > fewFields {
		return value.ObjectOf(value.NewObject(slices.Clone(list)...))
	}
	r.order = sorted(r.order[:0], list)
	objects := &r.objects
	if r.inRow {
		objects = &r.inner
	}
	o, fields := objects.Make(len(r.order))
	for i, at := range r.order {
		fields[i] = list[at]
	}
	return value.ObjectOf(o)
}

// takeRow is takeObject for a row of a list: in the form in which it will be stored.
func (r *rows) takeRow(base int) value.Value {
	list := r.fields[base:]
	if !r.asBefore(list) {
		r.names = r.names[:0]
		for i := range list {
			r.names = append(r.names, list[i].Name)
		}
		r.places = sorted(r.places[:0], list)
	}
	o, err := r.listed.Make(list, r.places)
	if err != nil { // it cannot be stored, which is for the statement to say
		r.parts, r.inner, r.inRow = nil, value.Objects{}, false // its parts stay
		return r.takeObject(base)
	}
	r.fields, r.parts = r.fields[:base], r.parts[:0]
	r.inner.Reuse()
	return value.ObjectOf(o)
}

// asBefore reports whether the fields of a row have the names of those of the row before.
func (r *rows) asBefore(list []value.Field) bool {
	if len(list) != len(r.names) {
		return false
	}
	for i := range list {
		if list[i].Name != r.names[i] {
			return false
		}
	}
	return true
}

// sorted appends the places of the fields of list in the order of their names, and of equal names that of the last one.
func sorted(order []int, list []value.Field) []int {
	if len(list) > fewFields {
		return sortedMany(order, list)
	}
	for i := range list {
		at, same := len(order), false
		for at > 0 && list[order[at-1]].Name >= list[i].Name {
			if at--; list[order[at]].Name == list[i].Name {
				same = true
				break
			}
		}
		if same {
			order[at] = i
		} else {
			order = slices.Insert(order, at, i)
		}
	}
	return order
}

func sortedMany(order []int, list []value.Field) []int {
	for i := range list {
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(list[a].Name, list[b].Name) })
	kept := order[:0]
	for i, at := range order {
		if i+1 == len(order) || list[order[i+1]].Name != list[at].Name {
			kept = append(kept, at)
		}
	}
	return kept
}
