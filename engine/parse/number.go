package parse

import (
	"math"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/decimal"
	"github.com/nacredb/nacre/engine/value"
)

var negInf = math.Inf(-1)

// namedFloat is the value of NaN or Infinity.
func namedFloat(k kind) float64 {
	if k == tNaN {
		return math.NaN()
	}
	return math.Inf(1)
}

// signed is a number or duration after a sign, which is the current token.
func (p *parser) signed() ast.Expr {
	sign := p.advance()
	x := p.numericSigned(sign.kind == tMinus)
	if p.err != nil {
		return nil
	}
	if x.Kind() == value.KindDuration {
		op := ast.OpNeg
		if sign.kind == tPlus {
			op = ast.OpPlus
		}
		return &ast.Unary{Op: op, X: p.attach(&ast.Literal{Value: x})}
	}
	return p.attach(&ast.Literal{Value: x})
}

// numeric reads the number or duration whose first digits are the current token.
func (p *parser) numeric() value.Value { return p.numericSigned(false) }

func (p *parser) numericSigned(neg bool) value.Value {
	t := p.tok
	end, form := p.numberEnd(t)
	if p.err != nil {
		return value.None
	}
	if form == formDuration {
		return p.duration(t.start)
	}
	text := p.src[t.start:end]
	p.resume(end)
	p.prev.start = t.start
	return p.numberValue(text, form, neg, token{tDigits, t.start, end})
}

// numberForm says what a number turned out to be.
type numberForm uint8

const (
	formInt numberForm = iota
	formFloat
	formDecimal
	formDuration
)

// numberEnd finds the end of the number that starts with the digits t, and its form.
func (p *parser) numberEnd(t token) (end int, form numberForm) {
	i := t.end
	if p.lex.at(i) == '.' && isDigit(p.lex.at(i+1)) {
		form = formFloat
		i = p.digitsEnd(i + 1)
	}
	if c := p.lex.at(i); c == 'e' || c == 'E' {
		form = formFloat
		mantissa := i
		i++
		if s := p.lex.at(i); s == '-' || s == '+' {
			i++
		}
		if !isDigit(p.lex.at(i)) {
			p.digitExpected(mantissa, i)
			return i, form
		}
		i = p.digitsEnd(i)
	}
	switch c := p.lex.at(i); {
	case c == 'f':
		return p.suffixed(t, i, "f"), formFloat
	case c == 'd' && (form == formFloat || p.lex.at(i+1) == 'e'):
		return p.suffixed(t, i, "dec"), formDecimal
	case form == formInt && durationUnit(p.src[i:]):
		return i, formDuration
	}
	p.numberEnds(t, i)
	return i, form
}

// suffixed passes the rest of a suffix whose first letter is at i.
func (p *parser) suffixed(t token, i int, suffix string) int {
	for k := 1; k < len(suffix); k++ {
		if !p.letter(t, i+k, suffix[k]) {
			return i
		}
	}
	i += len(suffix)
	p.numberEnds(t, i)
	return i
}

// letter fails where the character at i, inside of the number t, is not want.
func (p *parser) letter(t token, i int, want byte) bool {
	if i >= len(p.src) {
		p.fail("Unexpected end of file, expected character `"+string(want)+"`", token{tDigits, t.start, i}, "")
		return false
	}
	if p.src[i] != want {
		r, n := utf8.DecodeRuneInString(p.src[i:])
		p.fail("Unexpected character `"+string(r)+"` expected `"+string(want)+"`", token{tDigits, i, i + n}, "")
		return false
	}
	return true
}

// numberEnds fails where a letter follows the number t, which ends at i.
func (p *parser) numberEnds(t token, i int) {
	if c := p.lex.at(i); c|0x20-'a' < 26 {
		p.fail("Invalid token, found unexpected character `"+string(c)+"` after number token",
			token{tDigits, t.start, i + 1}, "")
	}
}

// digitExpected fails where an exponent, from start on, has no digit at i.
func (p *parser) digitExpected(start, i int) {
	if i >= len(p.src) {
		p.fail("Unexpected end of file, expected a number token digit", token{tEOF, start, i}, "")
		return
	}
	r, _ := utf8.DecodeRuneInString(p.src[i:])
	p.fail("Invalid number token, expected a digit, found: "+string(r), token{tDigits, start, i}, "")
}

func (p *parser) digitsEnd(i int) int {
	for i < len(p.src) && (isDigit(p.src[i]) || p.src[i] == '_') {
		i++
	}
	return i
}

// durationUnit reports whether s starts like the unit of a duration.
func durationUnit(s string) bool {
	if s == "" {
		return false
	}
	switch s[0] {
	case 'n', 'u', 'm', 's', 'h', 'd', 'w', 'y':
		return true
	}
	return strings.HasPrefix(s, "µ") || strings.HasPrefix(s, "μ")
}

// numberValue converts the text of a number.
func (p *parser) numberValue(text string, form numberForm, neg bool, t token) value.Value {
	if strings.IndexByte(text, '_') >= 0 {
		text = strings.ReplaceAll(text, "_", "")
	}
	switch form {
	case formFloat:
		f, err := strconv.ParseFloat(strings.TrimSuffix(text, "f"), 64)
		if err != nil && !math.IsInf(f, 0) {
			p.fail("Failed to parse number: invalid float literal", t, "")
		}
		if neg {
			f = -f
		}
		return value.Float(f)
	case formDecimal:
		return p.decimalValue(strings.TrimSuffix(text, "dec"), neg, t)
	}
	n, ok := parseUint(text)
	switch {
	case ok && !neg && n <= math.MaxInt64:
		return value.Int(int64(n))
	case ok && neg && n <= 1<<63:
		return value.Int(int64(-n))
	}
	p.fail("Failed to parse number: number cannot fit within a 64bit signed integer", t, "")
	return value.None
}

func parseUint(s string) (uint64, bool) {
	var n uint64
	for i := 0; i < len(s); i++ {
		hi, lo := bits.Mul64(n, 10)
		sum, carry := bits.Add64(lo, uint64(s[i]-'0'), 0)
		if hi != 0 || carry != 0 {
			return 0, false
		}
		n = sum
	}
	return n, true
}

// floatOf is a number as a float.
func floatOf(v value.Value) float64 {
	switch v.Kind() {
	case value.KindInt:
		return float64(v.Int())
	case value.KindFloat:
		return v.Float()
	}
	return math.NaN()
}

// number is a literal number of any kind with an optional sign.
func (p *parser) number() value.Value {
	neg := p.tok.kind == tMinus
	if neg || p.tok.kind == tPlus {
		p.advance()
	}
	if p.tok.kind != tDigits {
		p.unexpected("a number")
		return value.None
	}
	t := p.tok
	v := p.numericSigned(neg)
	if p.err == nil && !v.Kind().IsNumber() {
		p.fail("Unexpected token `a duration`, expected a number", t, "")
	}
	return v
}

// unsigned is a whole number of at most limit; a plus may stand before it.
func (p *parser) unsigned(limit uint64) int64 {
	if p.tok.kind == tMinus {
		p.fail("Unexpected token `-`", p.tok, "Only positive integers allowed here")
		return 0
	}
	p.eat(tPlus)
	t := p.tok
	if t.kind != tDigits {
		p.unexpected("an unsigned integer")
		return 0
	}
	if !p.wholeDigits(t) {
		return 0
	}
	p.advance()
	n, ok := parseUint(strings.ReplaceAll(p.text(t), "_", ""))
	if !ok || n > limit {
		p.fail("Invalid integer: number too large to fit in target type", t, "")
		return 0
	}
	return int64(n)
}

// integer is a whole number with an optional sign.
func (p *parser) integer() int64 {
	neg := p.tok.kind == tMinus
	if neg || p.tok.kind == tPlus {
		p.advance()
	}
	t := p.tok
	if neg && t.kind != tDigits {
		p.digitExpected(p.prev.start, p.prev.end)
		return 0
	}
	if t.kind != tDigits {
		p.unexpected("an signed integer")
		return 0
	}
	if !p.wholeDigits(t) {
		return 0
	}
	p.advance()
	v := p.numberValue(p.text(t), formInt, neg, t)
	if p.err != nil {
		return 0
	}
	return v.Int()
}

// wholeDigits fails where the digits t go on as another kind of number.
func (p *parser) wholeDigits(t token) bool {
	switch c := p.lex.at(t.end); {
	case c == '.' && isDigit(p.lex.at(t.end+1)):
		p.fail("Unexpected character `.` starting float, only integers are allowed here", token{tDot, t.end, t.end + 1}, "")
		return false
	case isIdentByte(c):
		// The text lacks a mark in the reference, too.
		p.fail("Invalid token, found unexpected character `"+string(c)+" after integer token",
			token{tDigits, t.start, t.end + 1}, "")
		return false
	}
	return true
}

// durationToken is a literal duration.
func (p *parser) durationToken() value.Value {
	if p.tok.kind != tDigits {
		p.unexpected("a duration")
		return value.None
	}
	return p.duration(p.tok.start)
}

// durationScale is the length of a unit: seconds, or nanoseconds of the small ones.
func durationScale(unit string) (secs, nanos uint64) {
	switch unit {
	case "ns":
		return 0, 1
	case "ms":
		return 0, 1e6
	case "s":
		return 1, 0
	case "m":
		return 60, 0
	case "h":
		return 3600, 0
	case "d":
		return 86400, 0
	case "w":
		return 7 * 86400, 0
	case "y":
		return 365 * 86400, 0
	}
	return 0, 1e3 // us, in its three spellings
}

// duration reads digits and units from offset start on.
func (p *parser) duration(start int) value.Value {
	var d value.Duration
	i := start
	for {
		end := p.digitsEnd(i)
		n, ok := parseUint(strings.ReplaceAll(p.src[i:end], "_", ""))
		unitEnd := p.unitEnd(start, end)
		if p.err != nil {
			return value.None
		}
		secs, nanos := durationScale(p.src[end:unitEnd])
		i = unitEnd
		if !ok {
			p.fail("Invalid token, failed to parse duration digits: number too large to fit in target type",
				token{tDigits, start, i}, "")
			return value.None
		}
		if !addDuration(&d, n, secs, nanos) {
			p.fail("Invalid duration, value overflowed maximum allowed value", token{tDigits, start, i}, "")
			return value.None
		}
		if !isDigit(p.lex.at(i)) {
			break
		}
	}
	if c := p.lex.at(i); c|0x20-'a' < 26 {
		p.fail("Invalid token, found invalid character `"+string(c)+"` after duration suffix",
			token{tDigits, start, i + 1}, "")
		return value.None
	}
	p.resume(i)
	p.prev.start = start
	return value.DurationOf(d)
}

// unitEnd is the end of the unit at i, in a duration from start on; it fails where there is none.
func (p *parser) unitEnd(start, i int) int {
	if i >= len(p.src) {
		p.fail("Unexpected end of file, expected a duration suffix", token{tEOF, start, i}, "")
		return i
	}
	t := token{tDigits, start, i}
	r, n := utf8.DecodeRuneInString(p.src[i:])
	switch r {
	case 'n', 'u', 'µ', 'μ':
		p.letter(t, i+n, 's')
		return i + n + 1
	case 'm':
		if p.lex.at(i+1) == 's' {
			return i + 2
		}
		return i + 1
	case 's', 'h', 'd', 'w', 'y':
		return i + 1
	}
	p.fail("Invalid duration token, expected a duration suffix found `"+string(r)+"`", token{tDigits, start, i + n}, "")
	return i
}

// addDuration adds n units to d; false on overflow.
func addDuration(d *value.Duration, n, secs, nanos uint64) bool {
	var carry uint64
	if nanos > 0 {
		hi, lo := bits.Mul64(n, nanos)
		if hi >= 1e9 {
			return false
		}
		whole, rest := bits.Div64(hi, lo, 1e9)
		ns := uint64(d.Nanos) + rest
		d.Nanos = uint32(ns % 1e9)
		d.Secs, carry = bits.Add64(d.Secs, whole, 0)
		if carry != 0 {
			return false
		}
		d.Secs, carry = bits.Add64(d.Secs, ns/1e9, 0)
		return carry == 0
	}
	hi, lo := bits.Mul64(n, secs)
	d.Secs, carry = bits.Add64(d.Secs, lo, 0)
	return hi == 0 && carry == 0
}

// decimalValue is a decimal literal.
func (p *parser) decimalValue(text string, neg bool, t token) value.Value {
	d, err := decimal.ParseLiteral(text)
	if err != nil {
		p.fail("Failed to parser decimal: "+err.Error(), t, "")
		return value.None
	}
	d.Neg = neg && !d.IsZero()
	return value.DecimalOf(d)
}
