package pgtype

import (
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/decimal"
	"github.com/nacredb/nacre/engine/value"
)

// maxDepth is how deep arrays and JSON may nest.
const maxDepth = 64

// Parse reads a value of type oid from its text.
func Parse(oid OID, s string, st *Style) (value.Value, error) {
	if !utf8.ValidString(s) || strings.IndexByte(s, 0) >= 0 {
		return value.None, sqlstate.New(sqlstate.BadEncoding, "invalid byte sequence for encoding \"UTF8\"")
	}
	switch oid {
	case Bool:
		return parseBool(s)
	case Int2:
		return parseInt(s, oid, math.MinInt16, math.MaxInt16)
	case Int4:
		return parseInt(s, oid, math.MinInt32, math.MaxInt32)
	case Int8:
		return parseInt(s, oid, math.MinInt64, math.MaxInt64)
	case Oid, Xid, Cid, RegProc, RegClass, RegType, RegNamespace, RegRole, RegProcedure, RegOper, RegOperator:
		return parseInt(s, oid, math.MinInt32, math.MaxUint32)
	case Float4, Float8:
		return parseFloat(s, oid)
	case Numeric:
		return parseNumeric(s)
	case Timestamptz, Timestamp, Date:
		return parseTimestamp(s, oid, st)
	case Time:
		d, ok := parseClock(strings.TrimSpace(s))
		if !ok || d.Secs > daySeconds {
			return value.None, badClock(oid, s, strings.TrimSpace(s))
		}
		return value.DurationOf(d), nil
	case TimeTZ:
		return parseTimeTZ(s, st)
	case Interval:
		return parseInterval(s)
	case UUID:
		u, err := value.ParseUUID(strings.Trim(strings.ToLower(strings.TrimSpace(s)), "{}"))
		if err != nil {
			return value.None, badText(sqlstate.InvalidText, oid, s)
		}
		return value.UUIDOf(u), nil
	case Bytea:
		return parseBytea(s)
	case JSON, JSONB:
		v, err := value.DecodeJSONValue([]byte(s), value.DecodeLimits{MaxDepth: maxDepth})
		if err != nil {
			return value.None, badText(sqlstate.InvalidText, oid, "").Hinted("The text is not valid JSON.")
		}
		return v, nil
	case Int2Vector, OidVector:
		return parseVector(s, ElemOf(oid), st)
	case Name:
		return value.Str(cutName(s)), nil
	case Char:
		if s != "" && s[0] >= 0x80 {
			return value.None, badText(sqlstate.InvalidText, oid, s) // one byte of it would be no text
		}
		return value.Str(s[:min(len(s), 1)]), nil
	}
	if elem := ElemOf(oid); elem != 0 {
		return parseArray(s, elem, st)
	}
	return value.Str(s), nil
}

// cutName is s as long as a name may be.
func cutName(s string) string {
	const longest = 63
	if len(s) <= longest {
		return s
	}
	n := longest
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func badText(code sqlstate.Code, oid OID, s string) *sqlstate.Error {
	if len(s) > 128 {
		s = strings.ToValidUTF8(s[:128], "") + "…"
	}
	return sqlstate.New(code, "invalid input syntax for type %s: %q", Format(oid), s)
}

func parseBool(s string) (value.Value, error) {
	switch t := strings.ToLower(strings.TrimSpace(s)); t {
	case "t", "tr", "tru", "true", "y", "ye", "yes", "on", "1":
		return value.Bool(true), nil
	case "f", "fa", "fal", "fals", "false", "n", "no", "of", "off", "0":
		return value.Bool(false), nil
	}
	return value.None, badText(sqlstate.InvalidText, Bool, s)
}

func parseInt(s string, oid OID, low, high int64) (value.Value, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	if ne, ok := err.(*strconv.NumError); ok && ne.Err == strconv.ErrRange || err == nil && (n < low || n > high) {
		return value.None, sqlstate.New(sqlstate.OutOfRange, "value %q is out of range for type %s",
			strings.TrimSpace(s), Format(oid))
	}
	if err != nil {
		return value.None, badText(sqlstate.InvalidText, oid, s)
	}
	return value.Int(n), nil
}

func parseFloat(s string, oid OID) (value.Value, error) {
	t := strings.TrimSpace(s)
	switch strings.ToLower(t) {
	case "nan":
		return value.Float(math.NaN()), nil
	case "infinity", "inf", "+infinity", "+inf":
		return value.Float(math.Inf(1)), nil
	case "-infinity", "-inf":
		return value.Float(math.Inf(-1)), nil
	}
	f, err := strconv.ParseFloat(t, 64)
	if ne, ok := err.(*strconv.NumError); ok && ne.Err == strconv.ErrRange {
		return value.None, sqlstate.New(sqlstate.OutOfRange, "%q is out of range for type %s", t, Format(oid))
	}
	if err != nil || strings.ContainsAny(t, "xX_pP") {
		return value.None, badText(sqlstate.InvalidText, oid, s)
	}
	if oid == Float4 {
		f = float64(float32(f))
	}
	return value.Float(f), nil
}

func parseNumeric(s string) (value.Value, error) {
	t := strings.TrimSpace(s)
	if strings.EqualFold(t, "nan") || strings.HasSuffix(strings.ToLower(t), "infinity") {
		return value.None, sqlstate.New(sqlstate.InvalidText, "a decimal cannot be %s", t)
	}
	if !decimalText(t) {
		return value.None, badText(sqlstate.InvalidText, Numeric, s)
	}
	d, err := decimal.Parse(withoutExponent(strings.TrimPrefix(t, "+")))
	if err != nil {
		return value.None, sqlstate.New(sqlstate.OutOfRange, "numeric field overflow: %q does not fit a decimal", t)
	}
	return value.DecimalOf(d), nil
}

// withoutExponent writes out a number with an exponent.
func withoutExponent(s string) string {
	mantissa, expText, ok := strings.Cut(strings.ToLower(s), "e")
	exp, err := strconv.Atoi(expText)
	if !ok || err != nil || exp > 100 || exp < -100 {
		return s
	}
	sign := ""
	if strings.HasPrefix(mantissa, "-") {
		sign, mantissa = "-", mantissa[1:]
	}
	whole, frac, _ := strings.Cut(mantissa, ".")
	for ; exp > 0; exp-- {
		if frac == "" {
			frac = "0"
		}
		whole, frac = whole+frac[:1], frac[1:]
	}
	for ; exp < 0; exp++ {
		if whole == "" {
			whole = "0"
		}
		whole, frac = whole[:len(whole)-1], whole[len(whole)-1:]+frac
	}
	if whole == "" {
		whole = "0"
	}
	if frac == "" {
		return sign + whole
	}
	return sign + whole + "." + frac
}

// decimalText reports whether s is a sign, digits with a point, and an exponent.
func decimalText(s string) bool {
	s = strings.TrimLeft(s, "+-")
	mantissa, exp, hasExp := strings.Cut(strings.ToLower(s), "e")
	whole, frac, _ := strings.Cut(mantissa, ".")
	digits := func(s string) bool { return strings.Trim(s, "0123456789") == "" }
	if whole+frac == "" || !digits(whole) || !digits(frac) {
		return false
	}
	if hasExp {
		exp = strings.TrimLeft(exp, "+-")
		return exp != "" && len(exp) < 6 && digits(exp)
	}
	return true
}

func parseBytea(s string) (value.Value, error) {
	if rest, ok := strings.CutPrefix(s, `\x`); ok {
		b, err := hex.DecodeString(strings.Map(func(r rune) rune {
			if r == ' ' || r == '\t' || r == '\n' {
				return -1
			}
			return r
		}, rest))
		if err != nil {
			return value.None, sqlstate.New(sqlstate.InvalidText, "invalid hexadecimal data in a bytea")
		}
		return value.BytesOf(b), nil
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] != '\\':
			out = append(out, s[i])
		case i+1 < len(s) && s[i+1] == '\\':
			out = append(out, '\\')
			i++
		case i+3 < len(s) && s[i+1] >= '0' && s[i+1] <= '3' && octal(s[i+2]) && octal(s[i+3]):
			out = append(out, (s[i+1]-'0')<<6|(s[i+2]-'0')<<3|(s[i+3]-'0'))
			i += 3
		default:
			return value.None, badText(sqlstate.InvalidText, Bytea, s)
		}
	}
	return value.BytesOf(out), nil
}

func octal(c byte) bool { return c >= '0' && c <= '7' }

func parseVector(s string, elem OID, st *Style) (value.Value, error) {
	var out []value.Value
	for _, f := range strings.Fields(s) {
		v, err := Parse(elem, f, st)
		if err != nil {
			return value.None, err
		}
		out = append(out, v)
	}
	return value.ArrayOf(out), nil
}

// arrayParser reads the text of an array.
type arrayParser struct {
	s    string
	pos  int
	elem OID
	st   *Style
}

func parseArray(s string, elem OID, st *Style) (value.Value, error) {
	p := &arrayParser{s: strings.TrimSpace(s), elem: elem, st: st}
	if strings.HasPrefix(p.s, "[") { // bounds
		_, rest, ok := strings.Cut(p.s, "=")
		if !ok {
			return value.None, malformedArray(s)
		}
		p.s = strings.TrimSpace(rest)
	}
	v, err := p.array(0)
	if err != nil {
		return value.None, err
	}
	if p.pos != len(p.s) {
		return value.None, malformedArray(s)
	}
	return v, nil
}

func malformedArray(s string) error {
	if len(s) > 128 {
		s = strings.ToValidUTF8(s[:128], "") + "…"
	}
	return sqlstate.New(sqlstate.InvalidText, "malformed array literal: %q", s)
}

func (p *arrayParser) blanks() {
	for p.pos < len(p.s) && strings.IndexByte(" \t\n\r\v\f", p.s[p.pos]) >= 0 {
		p.pos++
	}
}

func (p *arrayParser) array(depth int) (value.Value, error) {
	if depth > 6 || p.pos >= len(p.s) || p.s[p.pos] != '{' {
		return value.None, malformedArray(p.s)
	}
	p.pos++
	var out []value.Value
	if p.blanks(); p.pos < len(p.s) && p.s[p.pos] == '}' {
		p.pos++
		p.blanks()
		return value.ArrayOf(nil), nil
	}
	for {
		v, err := p.element(depth)
		if err != nil {
			return value.None, err
		}
		out = append(out, v)
		p.blanks()
		if p.pos >= len(p.s) {
			return value.None, malformedArray(p.s)
		}
		c := p.s[p.pos]
		p.pos++
		switch c {
		case ',':
		case '}':
			p.blanks()
			return value.ArrayOf(out), nil
		default:
			return value.None, malformedArray(p.s)
		}
	}
}

func (p *arrayParser) element(depth int) (value.Value, error) {
	p.blanks()
	if p.pos < len(p.s) && p.s[p.pos] == '{' {
		return p.array(depth + 1)
	}
	text, quoted, err := p.item()
	if err != nil {
		return value.None, err
	}
	if !quoted && strings.EqualFold(text, "null") {
		return value.None, nil
	}
	return Parse(p.elem, text, p.st)
}

func (p *arrayParser) item() (text string, quoted bool, err error) {
	var b strings.Builder
	if p.pos < len(p.s) && p.s[p.pos] == '"' {
		for p.pos++; p.pos < len(p.s) && p.s[p.pos] != '"'; p.pos++ {
			if p.s[p.pos] == '\\' {
				p.pos++
			}
			if p.pos < len(p.s) {
				b.WriteByte(p.s[p.pos])
			}
		}
		if p.pos >= len(p.s) {
			return "", false, malformedArray(p.s)
		}
		p.pos++
		return b.String(), true, nil
	}
	for ; p.pos < len(p.s) && strings.IndexByte(`,{}"`, p.s[p.pos]) < 0; p.pos++ {
		if p.s[p.pos] == '\\' {
			if p.pos++; p.pos >= len(p.s) {
				break
			}
		}
		b.WriteByte(p.s[p.pos])
	}
	text = strings.TrimRight(b.String(), " \t\n\r\v\f")
	if text == "" {
		return "", false, malformedArray(p.s)
	}
	return text, false, nil
}
