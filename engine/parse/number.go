package parse

import (
	"math"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/nacredb/nacre/engine/ast"
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
		i++
		if s := p.lex.at(i); s == '-' || s == '+' {
			i++
		}
		if !isDigit(p.lex.at(i)) {
			p.digitExpected(i)
			return i, form
		}
		i = p.digitsEnd(i)
	}
	rest := p.src[i:]
	switch {
	case strings.HasPrefix(rest, "dec") && !isIdentByte(p.lex.at(i+3)):
		return i + 3, formDecimal
	case rest != "" && rest[0] == 'f' && !isIdentByte(p.lex.at(i+1)):
		return i + 1, formFloat
	case rest == "" || !isIdentByte(rest[0]) && rest[0] < utf8.RuneSelf:
		return i, form
	}
	if form == formInt && durationUnit(rest) {
		return i, formDuration
	}
	r, n := utf8.DecodeRuneInString(rest)
	if r >= utf8.RuneSelf {
		return i, form
	}
	p.fail("Invalid token, found unexpected character `"+string(r)+"` after number token", token{tDigits, t.start, i + n}, "")
	return i, form
}

func (p *parser) digitExpected(i int) {
	if i >= len(p.src) {
		p.fail("Unexpected end of file, expected a number token digit", token{tEOF, i, i}, "")
		return
	}
	r, n := utf8.DecodeRuneInString(p.src[i:])
	p.fail("Unexpected character `"+string(r)+"`, expected a number token digit", token{tEOF, i, i + n}, "")
}

func (p *parser) digitsEnd(i int) int {
	for i < len(p.src) && (isDigit(p.src[i]) || p.src[i] == '_') {
		i++
	}
	return i
}

// durationUnit reports whether s starts like the unit of a duration.
func durationUnit(s string) bool {
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

// unsigned is a whole number of at most limit.
func (p *parser) unsigned(limit uint64) int64 {
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
		p.fail("Invalid token, found unexpected character `"+string(c)+"` after number token", token{tDigits, t.start, t.end + 1}, "")
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

// unitNanos are the nanoseconds of the small units, unitSecs the seconds of the others.
func durationScale(unit string) (secs, nanos uint64, ok bool) {
	switch unit {
	case "ns":
		return 0, 1, true
	case "us", "µs", "μs":
		return 0, 1e3, true
	case "ms":
		return 0, 1e6, true
	case "s":
		return 1, 0, true
	case "m":
		return 60, 0, true
	case "h":
		return 3600, 0, true
	case "d":
		return 86400, 0, true
	case "w":
		return 7 * 86400, 0, true
	case "y":
		return 365 * 86400, 0, true
	}
	return 0, 0, false
}

// duration reads digits and units from offset start on.
func (p *parser) duration(start int) value.Value {
	var d value.Duration
	i := start
	overflow := false
	for {
		end := p.digitsEnd(i)
		n, ok := parseUint(strings.ReplaceAll(p.src[i:end], "_", ""))
		unitEnd := p.unitEnd(end)
		if p.err != nil {
			return value.None
		}
		secs, nanos, known := durationScale(p.src[end:unitEnd])
		if !known {
			p.unitExpected(end)
			return value.None
		}
		overflow = overflow || !ok || !addDuration(&d, n, secs, nanos)
		i = unitEnd
		if !isDigit(p.lex.at(i)) {
			break
		}
	}
	if c := p.lex.at(i); isIdentByte(c) {
		p.fail("Invalid token, found invalid character `"+string(c)+"` after duration suffix", token{tDigits, start, i + 1}, "")
		return value.None
	}
	t := token{tDigits, start, i}
	p.resume(i)
	if overflow {
		p.fail("Invalid duration, value overflowed maximum allowed value", t, "")
		return value.None
	}
	return value.DurationOf(d)
}

// unitEnd is the end of the longest unit that starts at i.
func (p *parser) unitEnd(i int) int {
	for n := 3; n > 0; n-- {
		if i+n <= len(p.src) {
			if _, _, ok := durationScale(p.src[i : i+n]); ok {
				return i + n
			}
		}
	}
	return i
}

func (p *parser) unitExpected(i int) {
	if i >= len(p.src) {
		p.fail("Unexpected end of file, expected a duration suffix", token{tEOF, i, i}, "")
		return
	}
	r, n := utf8.DecodeRuneInString(p.src[i:])
	p.fail("Invalid duration token, expected a duration suffix found `"+string(r)+"`", token{tDigits, i, i + n}, "")
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
	d, err := value.ParseDecimalLiteral(text)
	if err != nil {
		p.fail("Failed to parser decimal: "+err.Error(), t, "")
		return value.None
	}
	d.Neg = neg && !d.IsZero()
	return value.DecimalOf(d)
}
