package sql

import (
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// longestText is how long a text that a function makes may be.
const longestText = 64 << 20

// Returns is a Function that gives values of one type.
func Returns(oid pgtype.OID, min, max int, eval func(c *Call) (value.Value, error), args ...pgtype.OID) *Function {
	return &Function{Min: min, Max: max, Type: func([]pgtype.OID) pgtype.OID { return oid }, Eval: eval, Args: args}
}

// text is a function of texts.
func text(min, max int, f func(c *Call) string, args ...pgtype.OID) *Function {
	if args == nil {
		args = []pgtype.OID{pgtype.Text}
	}
	return Returns(pgtype.Text, min, max, func(c *Call) (value.Value, error) { return value.Str(f(c)), nil }, args...)
}

func integer(min, max int, f func(c *Call) int64, args ...pgtype.OID) *Function {
	return Returns(pgtype.Int4, min, max, func(c *Call) (value.Value, error) { return value.Int(f(c)), nil }, args...)
}

func firstType(oids []pgtype.OID) pgtype.OID {
	if len(oids) == 0 {
		return pgtype.Text
	}
	return oids[0]
}

func elemType(oids []pgtype.OID) pgtype.OID {
	if e := pgtype.ElemOf(firstType(oids)); e != 0 {
		return e
	}
	return pgtype.Text
}

var functions map[string]*Function

func init() {
	functions = map[string]*Function{}
	for _, group := range []map[string]*Function{textFunctions(), numberFunctions(), arrayFunctions(),
		timeFunctions(), jsonFunctions()} {
		for name, f := range group {
			functions[name] = f
		}
	}
}

func textFunctions() map[string]*Function {
	trimmed := func(trim func(s, cut string) string) *Function {
		return text(1, 2, func(c *Call) string {
			cut := " "
			if len(c.Args) > 1 {
				cut = c.Str(1)
			}
			return trim(c.Str(0), cut)
		})
	}
	return map[string]*Function{
		"lower": text(1, 1, func(c *Call) string { return strings.ToLower(c.Str(0)) }),
		"upper": text(1, 1, func(c *Call) string { return strings.ToUpper(c.Str(0)) }),
		"initcap": text(1, 1, func(c *Call) string {
			start := true
			return strings.Map(func(r rune) rune {
				was := start
				start = !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= utf8.RuneSelf)
				if was {
					return []rune(strings.ToUpper(string(r)))[0]
				}
				return []rune(strings.ToLower(string(r)))[0]
			}, c.Str(0))
		}),
		"length": integer(1, 1, func(c *Call) int64 { return int64(utf8.RuneCountInString(c.Str(0))) },
			pgtype.Text),
		"char_length": integer(1, 1, func(c *Call) int64 { return int64(utf8.RuneCountInString(c.Str(0))) },
			pgtype.Text),
		"character_length": integer(1, 1, func(c *Call) int64 { return int64(utf8.RuneCountInString(c.Str(0))) },
			pgtype.Text),
		"octet_length": integer(1, 1, func(c *Call) int64 { return int64(len(c.Str(0))) }, pgtype.Text),
		"btrim":        trimmed(strings.Trim),
		"ltrim":        trimmed(strings.TrimLeft),
		"rtrim":        trimmed(strings.TrimRight),
		"replace": Returns(pgtype.Text, 3, 3, func(c *Call) (value.Value, error) {
			if n := strings.Count(c.Str(0), c.Str(1)); c.Str(1) == "" || n*(len(c.Str(2))-len(c.Str(1))) > longestText {
				return c.Args[0], nil
			}
			return value.Str(strings.ReplaceAll(c.Str(0), c.Str(1), c.Str(2))), nil
		}, pgtype.Text),
		"split_part": text(3, 3, func(c *Call) string {
			parts, n := strings.Split(c.Str(0), c.Str(1)), int(c.Int(2))
			if n < 0 {
				n += len(parts) + 1
			}
			if n < 1 || n > len(parts) {
				return ""
			}
			return parts[n-1]
		}, pgtype.Text, pgtype.Text, pgtype.Int4),
		"position": integer(2, 2, func(c *Call) int64 { return place(c.Str(0), c.Str(1)) }, pgtype.Text),
		"strpos":   integer(2, 2, func(c *Call) int64 { return place(c.Str(0), c.Str(1)) }, pgtype.Text),
		"starts_with": Returns(pgtype.Bool, 2, 2, func(c *Call) (value.Value, error) {
			return value.Bool(strings.HasPrefix(c.Str(0), c.Str(1))), nil
		}, pgtype.Text),
		"left": text(2, 2, func(c *Call) string { return cut(c.Str(0), int(c.Int(1)), true) }, pgtype.Text,
			pgtype.Int4),
		"right": text(2, 2, func(c *Call) string { return cut(c.Str(0), int(c.Int(1)), false) }, pgtype.Text,
			pgtype.Int4),
		"reverse": text(1, 1, func(c *Call) string { r := []rune(c.Str(0)); slices.Reverse(r); return string(r) }),
		"substring": {Min: 2, Max: 3, Type: always2(pgtype.Text), Eval: substring, Args: []pgtype.OID{pgtype.Text, 0,
			0}},
		"substr": {Min: 2, Max: 3, Type: always2(pgtype.Text), Eval: substring, Args: []pgtype.OID{pgtype.Text,
			pgtype.Int4, pgtype.Int4}},
		"concat": {Min: 0, Max: -1, Type: always2(pgtype.Text), Nulls: true, Eval: func(c *Call) (value.Value, error) {
			var b strings.Builder
			for i := range c.Args {
				b.WriteString(c.Str(i))
			}
			return value.Str(b.String()), nil
		}},
		"concat_ws": {Min: 1, Max: -1, Type: always2(pgtype.Text), Nulls: true, Eval: func(c *Call) (value.Value,
			error) {
			if c.Args[0].IsNone() {
				return value.None, nil
			}
			var parts []string
			for i := 1; i < len(c.Args); i++ {
				if !c.Args[i].IsNone() {
					parts = append(parts, c.Str(i))
				}
			}
			return value.Str(strings.Join(parts, c.Str(0))), nil
		}},
		"regexp_replace": Returns(pgtype.Text, 3, 4, regexpReplace, pgtype.Text),
		"regexp_matches": {Min: 2, Max: 3, Type: always2(pgtype.TextArray), Set: true, Eval: regexpMatches,
			Args: []pgtype.OID{pgtype.Text}},
		"regexp_match": Returns(pgtype.TextArray, 2, 3, func(c *Call) (value.Value, error) {
			v, err := regexpMatches(c)
			if err != nil || v.Len() == 0 {
				return value.None, err
			}
			return v.Elems()[0], nil
		}, pgtype.Text),
		"md5": text(1, 1, func(c *Call) string { s := md5.Sum([]byte(c.Str(0))); return hex.EncodeToString(s[:]) }),
		"encode": Returns(pgtype.Text, 2, 2, func(c *Call) (value.Value, error) {
			switch c.Str(1) {
			case "hex":
				return value.Str(hex.EncodeToString(c.Args[0].Bytes())), nil
			case "base64":
				return value.Str(base64.StdEncoding.EncodeToString(c.Args[0].Bytes())), nil
			}
			return value.None, sqlstate.New(sqlstate.InvalidParameter, "unrecognized encoding: %q", c.Str(1))
		}, pgtype.Bytea, pgtype.Text),
		"chr": text(1, 1, func(c *Call) string { return string(rune(c.Int(0))) }, pgtype.Int4),
		"ascii": integer(1, 1, func(c *Call) int64 { r, _ := utf8.DecodeRuneInString(c.Str(0)); return int64(r) },
			pgtype.Text),
		"repeat": Returns(pgtype.Text, 2, 2, func(c *Call) (value.Value, error) {
			n := max(c.Int(1), 0)
			if len(c.Str(0)) > 0 && n > int64(longestText/len(c.Str(0))) {
				return value.None, sqlstate.New(sqlstate.TooMuch, "requested length too large")
			}
			return value.Str(strings.Repeat(c.Str(0), int(n))), nil
		}, pgtype.Text, pgtype.Int4),
		"lpad": Returns(pgtype.Text, 2, 3, func(c *Call) (value.Value, error) { return pad(c, true) },
			pgtype.Text, pgtype.Int4, pgtype.Text),
		"rpad": Returns(pgtype.Text, 2, 3, func(c *Call) (value.Value, error) { return pad(c, false) },
			pgtype.Text, pgtype.Int4, pgtype.Text),
		"quote_ident":   text(1, 1, func(c *Call) string { return QuoteIdent(c.Str(0)) }),
		"quote_literal": text(1, 1, func(c *Call) string { return quoteLiteral(c.Str(0)) }),
		"quote_nullable": {Min: 1, Max: 1, Type: always2(pgtype.Text), Nulls: true, Eval: quoteNullable,
			Args: []pgtype.OID{pgtype.Text}},
		"format":      {Min: 1, Max: -1, Type: always2(pgtype.Text), Nulls: true, Eval: format},
		"parse_ident": Returns(pgtype.TextArray, 1, 2, parseIdent, pgtype.Text),
		"like_escape": text(2, 2, func(c *Call) string {
			if c.Str(1) == "" {
				return strings.ReplaceAll(c.Str(0), `\`, `\\`)
			}
			if c.Str(1) == `\` {
				return c.Str(0)
			}
			return strings.ReplaceAll(strings.ReplaceAll(c.Str(0), `\`, `\\`), c.Str(1), `\`)
		}),
	}
}

func always2(oid pgtype.OID) func([]pgtype.OID) pgtype.OID {
	return func([]pgtype.OID) pgtype.OID { return oid }
}

func place(s, part string) int64 {
	i := strings.Index(s, part)
	if i < 0 {
		return 0
	}
	return int64(utf8.RuneCountInString(s[:i]) + 1)
}

func cut(s string, n int, left bool) string {
	r := []rune(s)
	if n < 0 {
		n = max(len(r)+n, 0)
	}
	n = min(n, len(r))
	if left {
		return string(r[:n])
	}
	return string(r[len(r)-n:])
}

func pad(c *Call, left bool) (value.Value, error) {
	r, n, fill := []rune(c.Str(0)), c.Int(1), []rune(" ")
	if len(c.Args) > 2 {
		fill = []rune(c.Str(2))
	}
	if n > longestText/4 {
		return value.None, sqlstate.New(sqlstate.TooMuch, "requested length too large")
	}
	if n <= int64(len(r)) {
		return value.Str(string(r[:max(n, 0)])), nil
	}
	if len(fill) == 0 {
		return c.Args[0], nil
	}
	var more []rune
	for int64(len(more)+len(r)) < n {
		more = append(more, fill[len(more)%len(fill)])
	}
	if left {
		return value.Str(string(more) + string(r)), nil
	}
	return value.Str(string(r) + string(more)), nil
}

func substring(c *Call) (value.Value, error) {
	if c.Args[1].Kind() == value.KindString {
		re, err := compileRegexp(c.Str(1), false)
		if err != nil {
			return value.None, err
		}
		m := re.FindStringSubmatch(c.Str(0))
		if m == nil {
			return value.None, nil
		}
		return value.Str(m[min(1, len(m)-1)]), nil
	}
	r := []rune(c.Str(0))
	from, to := c.Int(1)-1, int64(len(r))
	if len(c.Args) > 2 {
		n := c.Int(2)
		if n < 0 {
			return value.None, sqlstate.New("22011", "negative substring length not allowed")
		}
		to = min(to, max(from, math.MinInt32)+n)
	}
	from = max(from, 0)
	if from >= to {
		return value.Str(""), nil
	}
	return value.Str(string(r[from:to])), nil
}

func regexpReplace(c *Call) (value.Value, error) {
	flags := c.Str(3)
	re, err := compileRegexp(c.Str(1), strings.Contains(flags, "i"))
	if err != nil {
		return value.None, err
	}
	with := strings.ReplaceAll(c.Str(2), "$", "$$")
	for i := range 10 {
		with = strings.ReplaceAll(with, `\`+strconv.Itoa(i), "${"+strconv.Itoa(i)+"}")
	}
	with = strings.ReplaceAll(with, `\&`, "${0}")
	s := c.Str(0)
	if strings.Contains(flags, "g") {
		return value.Str(re.ReplaceAllString(s, with)), nil
	}
	m := re.FindStringSubmatchIndex(s)
	if m == nil {
		return c.Args[0], nil
	}
	return value.Str(s[:m[0]] + string(re.ExpandString(nil, with, s, m)) + s[m[1]:]), nil
}

func regexpMatches(c *Call) (value.Value, error) {
	flags := c.Str(2)
	re, err := compileRegexp(c.Str(1), strings.Contains(flags, "i"))
	if err != nil {
		return value.None, err
	}
	n := 1
	if strings.Contains(flags, "g") {
		n = -1
	}
	var out []value.Value
	for _, m := range re.FindAllStringSubmatch(c.Str(0), n) {
		if len(m) > 1 {
			m = m[1:]
		}
		var row []value.Value
		for _, s := range m {
			row = append(row, value.Str(s))
		}
		out = append(out, value.ArrayOf(row))
	}
	return value.ArrayOf(out), nil
}

// quotedWords are names of columns and functions that are written in quotes, though the parser can do without.
var quotedWords = words("between bigint bit boolean char character coalesce dec decimal exists extract float greatest grouping " +
	"inout int integer interval least national nchar none nullif numeric out overlay position precision real row setof smallint " +
	"substring time timestamp treat trim values varchar")

// QuoteIdent is a name as it is written in a statement.
func QuoteIdent(s string) string {
	plain := s != "" && !reserved[s] && !quotedWords[s]
	for i := 0; i < len(s) && plain; i++ {
		c := s[i]
		plain = c >= 'a' && c <= 'z' || c == '_' || i > 0 && c >= '0' && c <= '9'
	}
	if plain {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

func quoteLiteral(s string) string {
	quoted := "'" + strings.ReplaceAll(s, "'", "''") + "'"
	if strings.Contains(s, `\`) {
		return " E" + strings.ReplaceAll(quoted, `\`, `\\`)
	}
	return quoted
}

func quoteNullable(c *Call) (value.Value, error) {
	if c.Args[0].IsNone() {
		return value.Str("NULL"), nil
	}
	return value.Str(quoteLiteral(c.Str(0))), nil
}

func format(c *Call) (value.Value, error) {
	if c.Args[0].IsNone() {
		return value.None, nil
	}
	f, n := c.Str(0), 0
	var b strings.Builder
	for i := 0; i < len(f); i++ {
		if f[i] != '%' {
			b.WriteByte(f[i])
			continue
		}
		if i++; i >= len(f) {
			return value.None, sqlstate.New(sqlstate.InvalidParameter, "unterminated format() type specifier")
		}
		if f[i] == '%' {
			b.WriteByte('%')
			continue
		}
		if j := strings.IndexByte(f[i:], '$'); j > 0 {
			k, err := strconv.Atoi(f[i : i+j])
			if err != nil || i+j+1 >= len(f) {
				return value.None, sqlstate.New(sqlstate.InvalidParameter, "unrecognized format() type specifier")
			}
			n, i = k-1, i+j+1
		}
		if n++; n < 1 || n >= len(c.Args) {
			return value.None, sqlstate.New(sqlstate.InvalidParameter, "too few arguments for format()")
		}
		switch f[i] {
		case 's':
			b.WriteString(c.Str(n))
		case 'I':
			b.WriteString(QuoteIdent(c.Str(n)))
		case 'L':
			if c.Args[n].IsNone() {
				b.WriteString("NULL")
			} else {
				b.WriteString(quoteLiteral(c.Str(n)))
			}
		default:
			return value.None, sqlstate.New(sqlstate.InvalidParameter, "unrecognized format() type specifier %q",
				f[i:i+1])
		}
	}
	return value.Str(b.String()), nil
}

func parseIdent(c *Call) (value.Value, error) {
	names, err := SplitName(c.Str(0))
	if err != nil {
		return value.None, err
	}
	var out []value.Value
	for _, n := range names {
		out = append(out, value.Str(n))
	}
	return value.ArrayOf(out), nil
}

// SplitName reads a name that may be qualified and quoted.
func SplitName(s string) ([]string, error) {
	bad := sqlstate.New(sqlstate.InvalidParameter, "string is not a valid identifier: %q", s)
	toks, _, err := Tokens(s, 0)
	if err != nil || len(toks)%2 == 0 {
		return nil, bad
	}
	var out []string
	for i, t := range toks {
		name := t.Kind == Ident || t.Kind == Quoted
		if (i%2 == 0) != name || i%2 == 1 && !t.Is(".") {
			return nil, bad
		}
		if name {
			out = append(out, t.Text)
		}
	}
	return out, nil
}

func numberFunctions() map[string]*Function {
	float := func(f func(float64) float64) *Function {
		return Returns(pgtype.Float8, 1, 1, func(c *Call) (value.Value, error) {
			return value.Float(f(c.Args[0].AsFloat())), nil
		}, pgtype.Float8)
	}
	rounding := func(f func(float64) float64, d func(value.Decimal) value.Decimal) *Function {
		return &Function{Min: 1, Max: 1, Type: func(oids []pgtype.OID) pgtype.OID {
			if pgtype.IsInt(oids[0]) {
				return pgtype.Float8
			}
			return oids[0]
		}, Args: []pgtype.OID{pgtype.Float8}, Eval: func(c *Call) (value.Value, error) {
			if c.OIDs[0] == pgtype.Numeric {
				return value.DecimalOf(d(decimalOf(c.Args[0]))), nil
			}
			return value.Float(f(c.Args[0].AsFloat())), nil
		}}
	}
	one := value.DecimalFromInt(1)
	floor := func(d value.Decimal) value.Decimal {
		t := d.Trunc()
		if d.Cmp(t) < 0 {
			t, _ = t.Sub(one)
		}
		return t
	}
	fns := map[string]*Function{
		"floor":   rounding(math.Floor, floor),
		"ceil":    rounding(math.Ceil, func(d value.Decimal) value.Decimal { return floor(d.Negate()).Negate() }),
		"ceiling": rounding(math.Ceil, func(d value.Decimal) value.Decimal { return floor(d.Negate()).Negate() }),
		"trunc":   rounding(math.Trunc, value.Decimal.Trunc),
		"round": {Min: 1, Max: 2, Type: func(oids []pgtype.OID) pgtype.OID {
			if len(oids) > 1 || oids[0] == pgtype.Numeric {
				return pgtype.Numeric
			}
			return pgtype.Float8
		}, Eval: round},
		"abs": {Min: 1, Max: 1, Type: firstType, Args: []pgtype.OID{pgtype.Float8}, Eval: func(c *Call) (value.Value,
			error) {
			switch v := c.Args[0]; v.Kind() {
			case value.KindInt:
				if v.Int() < 0 {
					return calculate("-", c.OIDs[0], value.Int(0), v)
				}
				return v, nil
			case value.KindDecimal:
				return value.DecimalOf(v.Decimal().Abs()), nil
			default:
				return value.Float(math.Abs(v.AsFloat())), nil
			}
		}},
		"mod": {Min: 2, Max: 2, Type: func(oids []pgtype.OID) pgtype.OID { return common(oids[0], oids[1]) },
			Eval: func(c *Call) (value.Value, error) {
				return calculate("%", common(c.OIDs[0], c.OIDs[1]), c.Args[0], c.Args[1])
			}},
		"sqrt": Returns(pgtype.Float8, 1, 1, func(c *Call) (value.Value, error) {
			if c.Args[0].AsFloat() < 0 {
				return value.None, sqlstate.New("2201F", "cannot take square root of a negative number")
			}
			return value.Float(math.Sqrt(c.Args[0].AsFloat())), nil
		}, pgtype.Float8),
		"exp": float(math.Exp), "ln": float(math.Log), "log": float(math.Log10), "sin": float(math.Sin),
		"cos": float(math.Cos), "tan": float(math.Tan),
		"power": Returns(pgtype.Float8, 2, 2, func(c *Call) (value.Value, error) {
			return calculateFloat("^", c.Args[0].AsFloat(), c.Args[1].AsFloat())
		}, pgtype.Float8),
		"sign": Returns(pgtype.Float8, 1, 1, func(c *Call) (value.Value, error) {
			f := c.Args[0].AsFloat()
			switch {
			case f > 0:
				return value.Float(1), nil
			case f < 0:
				return value.Float(-1), nil
			}
			return value.Float(0), nil
		}, pgtype.Float8),
		"generate_series": {Min: 2, Max: 3, Type: func(oids []pgtype.OID) pgtype.OID {
			return common(oids[0],
				oids[1])
		}, Set: true, Eval: generateSeries},
		"generate_subscripts": {Min: 2, Max: 3, Type: always2(pgtype.Int4), Set: true, Eval: generateSubscripts},
	}
	fns["pow"] = fns["power"]
	return fns
}

func round(c *Call) (value.Value, error) {
	if len(c.Args) == 1 && c.OIDs[0] != pgtype.Numeric {
		return value.Float(math.RoundToEven(c.Args[0].AsFloat())), nil
	}
	places := int64(0)
	if len(c.Args) > 1 {
		places = c.Int(1)
	}
	if places < -30 || places > 30 {
		return value.None, sqlstate.New(sqlstate.OutOfRange, "cannot round to %d places", places)
	}
	d := decimalOf(c.Args[0])
	scale := value.DecimalFromInt(1)
	ten := value.DecimalFromInt(10)
	for range max(places, -places) {
		scale, _ = scale.Mul(ten)
	}
	if places < 0 {
		scale, _ = value.DecimalFromInt(1).Div(scale)
	}
	half, _ := value.ParseDecimal("0.5")
	if d.Sign() < 0 {
		half = half.Negate()
	}
	scaled, ok := d.Mul(scale)
	if ok {
		scaled, ok = scaled.Add(half)
	}
	if !ok {
		return value.None, outOfRange(pgtype.Numeric)
	}
	out, ok := scaled.Trunc().Div(scale)
	if !ok {
		return value.None, outOfRange(pgtype.Numeric)
	}
	s := out.String()
	if places > 0 {
		_, frac, _ := strings.Cut(s, ".")
		if frac == "" {
			s += "."
		}
		s += strings.Repeat("0", max(0, int(places)-len(frac)))
	}
	return pgtype.Parse(pgtype.Numeric, s, nil)
}

// longestSeries is how many rows generate_series may give.
const longestSeries = 10_000_000

func generateSeries(c *Call) (value.Value, error) {
	if c.Args[0].Kind() == value.KindDatetime {
		return timeSeries(c)
	}
	from, to, step := c.Int(0), c.Int(1), int64(1)
	if len(c.Args) > 2 {
		step = c.Int(2)
	}
	if step == 0 {
		return value.None, sqlstate.New(sqlstate.InvalidParameter, "step size cannot equal zero")
	}
	var out []value.Value
	for n := from; step > 0 && n <= to || step < 0 && n >= to; n += step {
		if len(out) >= longestSeries {
			return value.None, sqlstate.New(sqlstate.TooMuch, "a series cannot have more than %d rows", longestSeries)
		}
		if len(out)&4095 == 4095 {
			if err := c.Env.Charge(4096 * 24); err != nil {
				return value.None, err
			}
		}
		out = append(out, value.Int(n))
		if step > 0 && n > math.MaxInt64-step || step < 0 && n < math.MinInt64-step {
			break
		}
	}
	return value.ArrayOf(out), nil
}

func timeSeries(c *Call) (value.Value, error) {
	if len(c.Args) < 3 || c.Args[2].Kind() != value.KindDuration || c.Args[2].Duration().Std() == 0 {
		return value.None, sqlstate.New(sqlstate.InvalidParameter, "a series of times needs a step that is not zero")
	}
	var out []value.Value
	for at := c.Args[0].Datetime(); at.Cmp(c.Args[1].Datetime()) <= 0; {
		if len(out) >= longestSeries/10 {
			return value.None, sqlstate.New(sqlstate.TooMuch, "a series cannot have more than %d rows",
				longestSeries/10)
		}
		out = append(out, value.DatetimeOf(at))
		next, ok := at.Add(c.Args[2].Duration())
		if !ok {
			break
		}
		at = next
	}
	return value.ArrayOf(out), nil
}

func generateSubscripts(c *Call) (value.Value, error) {
	base := int64(1)
	if pgtype.IsVector(c.OIDs[0]) {
		base = 0
	}
	var out []value.Value
	for i := range elems(c.Args[0]) {
		out = append(out, value.Int(base+int64(i)))
	}
	return value.ArrayOf(out), nil
}

func arrayFunctions() map[string]*Function {
	length := func(c *Call) (value.Value, error) {
		if n := len(elems(c.Args[0])); n > 0 && c.Int(1) == 1 {
			return value.Int(int64(n)), nil
		}
		return value.None, nil
	}
	return map[string]*Function{
		"array_length": Returns(pgtype.Int4, 2, 2, length),
		"array_upper": Returns(pgtype.Int4, 2, 2, func(c *Call) (value.Value, error) {
			v, err := length(c)
			if err == nil && !v.IsNone() && pgtype.IsVector(c.OIDs[0]) {
				return value.Int(v.Int() - 1), nil
			}
			return v, err
		}),
		"array_lower": Returns(pgtype.Int4, 2, 2, func(c *Call) (value.Value, error) {
			v, err := length(c)
			if err != nil || v.IsNone() {
				return v, err
			}
			if pgtype.IsVector(c.OIDs[0]) {
				return value.Int(0), nil
			}
			return value.Int(1), nil
		}),
		"cardinality": integer(1, 1, func(c *Call) int64 { return int64(len(elems(c.Args[0]))) }),
		"array_to_string": Returns(pgtype.Text, 2, 3, func(c *Call) (value.Value, error) {
			var parts []string
			for _, e := range elems(c.Args[0]) {
				switch {
				case !e.IsNone():
					parts = append(parts, textOf(c.Env, e, pgtype.ElemOf(c.OIDs[0])))
				case len(c.Args) > 2:
					parts = append(parts, c.Str(2))
				}
			}
			return value.Str(strings.Join(parts, c.Str(1))), nil
		}, 0, pgtype.Text, pgtype.Text),
		"string_to_array": Returns(pgtype.TextArray, 2, 3, func(c *Call) (value.Value, error) {
			if c.Str(0) == "" {
				return value.ArrayOf(nil), nil
			}
			parts := []string{c.Str(0)}
			if c.Str(1) != "" {
				parts = strings.Split(c.Str(0), c.Str(1))
			}
			var out []value.Value
			for _, p := range parts {
				if len(c.Args) > 2 && p == c.Str(2) {
					out = append(out, value.None)
				} else {
					out = append(out, value.Str(p))
				}
			}
			return value.ArrayOf(out), nil
		}, pgtype.Text),
		"array_remove": {Min: 2, Max: 2, Type: firstType, Nulls: true, Eval: func(c *Call) (value.Value, error) {
			return value.ArrayOf(slices.DeleteFunc(slices.Clone(elems(c.Args[0])), func(v value.Value) bool {
				return string(appendKey(nil, v)) == string(appendKey(nil, c.Args[1]))
			})), nil
		}},
		"array_append": {Min: 2, Max: 2, Type: firstType, Nulls: true, Eval: func(c *Call) (value.Value, error) {
			return value.ArrayOf(append(slices.Clone(elems(c.Args[0])), c.Args[1])), nil
		}},
		"array_cat": {Min: 2, Max: 2, Type: firstType, Nulls: true, Eval: func(c *Call) (value.Value, error) {
			return value.ArrayOf(append(slices.Clone(elems(c.Args[0])), elems(c.Args[1])...)), nil
		}},
		"array_position": Returns(pgtype.Int4, 2, 3, func(c *Call) (value.Value, error) {
			for i, e := range elems(c.Args[0]) {
				if string(appendKey(nil, e)) == string(appendKey(nil, c.Args[1])) {
					return value.Int(int64(i + 1)), nil
				}
			}
			return value.None, nil
		}),
		"unnest": {Min: 1, Max: 1, Type: elemType, Set: true, Eval: func(c *Call) (value.Value,
			error) {
			return c.Args[0], nil
		}},
		"_pg_expandarray": {Min: 1, Max: 1, Type: always2(pgtype.Record), Set: true, Fields: []Column{{Name: "x",
			OID: pgtype.Int2}, {Name: "n", OID: pgtype.Int4}},
			Eval: func(c *Call) (value.Value, error) {
				var out []value.Value
				for i, e := range elems(c.Args[0]) {
					out = append(out, value.ArrayOf([]value.Value{e, value.Int(int64(i + 1))}))
				}
				return value.ArrayOf(out), nil
			}},
	}
}

func timeFunctions() map[string]*Function {
	now := func(oid pgtype.OID) *Function {
		return &Function{Type: always2(oid), Eval: func(c *Call) (value.Value, error) {
			t := time.Now()
			d := value.Datetime{Secs: t.Unix(), Nanos: uint32(t.Nanosecond()) / 1000 * 1000}
			return castTime(d, pgtype.Timestamptz, oid, c.Env.Style()), nil
		}}
	}
	fns := map[string]*Function{
		"now": now(pgtype.Timestamptz), "clock_timestamp": now(pgtype.Timestamptz),
		"statement_timestamp":   now(pgtype.Timestamptz),
		"transaction_timestamp": now(pgtype.Timestamptz), "current_date": now(pgtype.Date),
		"localtimestamp": now(pgtype.Timestamp),
		"date_trunc": {Min: 2, Max: 3, Type: func(oids []pgtype.OID) pgtype.OID {
			if oids[1] == pgtype.Timestamp {
				return oids[1]
			}
			return pgtype.Timestamptz
		}, Args: []pgtype.OID{pgtype.Text, pgtype.Timestamptz, pgtype.Text}, Eval: dateTrunc},
		"extract":   {Min: 2, Max: 2, Type: always2(pgtype.Numeric), Args: []pgtype.OID{pgtype.Text, 0}, Eval: extract},
		"date_part": {Min: 2, Max: 2, Type: always2(pgtype.Float8), Args: []pgtype.OID{pgtype.Text, 0}, Eval: extract},
		"timezone": {Min: 2, Max: 2, Type: func(oids []pgtype.OID) pgtype.OID {
			if oids[1] == pgtype.Timestamptz {
				return pgtype.Timestamp
			}
			return pgtype.Timestamptz
		}, Args: []pgtype.OID{pgtype.Text, 0}, Eval: func(c *Call) (value.Value, error) {
			zone, err := pgtype.LoadZone(c.Str(0))
			if err != nil {
				return value.None, err
			}
			to := pgtype.Timestamp
			if c.OIDs[1] != pgtype.Timestamptz {
				to = pgtype.Timestamptz
			}
			if c.Args[1].Kind() != value.KindDatetime {
				return value.None, sqlstate.New(sqlstate.UndefinedFunction, "AT TIME ZONE needs a timestamp")
			}
			return castTime(c.Args[1].Datetime(), c.OIDs[1], to, &pgtype.Style{Zone: zone}), nil
		}},
		"to_char": Returns(pgtype.Text, 2, 2, toChar, 0, pgtype.Text),
	}
	return fns
}

// civil takes a time apart in the zone of the session.
func civil(c *Call, v value.Value, oid pgtype.OID) (value.Civil, value.Datetime) {
	d := v.Datetime()
	if oid == pgtype.Timestamptz {
		d = castTime(d, pgtype.Timestamptz, pgtype.Timestamp, c.Env.Style()).Datetime()
	}
	return d.Civil(), d
}

func dateTrunc(c *Call) (value.Value, error) {
	if c.Args[1].Kind() != value.KindDatetime {
		return value.None, sqlstate.New(sqlstate.UndefinedFunction, "date_trunc needs a timestamp")
	}
	t, local := civil(c, c.Args[1], c.OIDs[1])
	day := func() { t.Hour, t.Minute, t.Second, t.Nanos = 0, 0, 0, 0 }
	switch strings.ToLower(c.Str(0)) {
	case "microseconds":
		t.Nanos = t.Nanos / 1000 * 1000
	case "milliseconds":
		t.Nanos = t.Nanos / 1_000_000 * 1_000_000
	case "second":
		t.Nanos = 0
	case "minute":
		t.Nanos, t.Second = 0, 0
	case "hour":
		t.Nanos, t.Second, t.Minute = 0, 0, 0
	case "day":
		day()
	case "week":
		day()
		back := int64(weekday(local)+6) % 7
		d, _ := t.Datetime()
		d.Secs -= back * 86400
		t = d.Civil()
	case "month":
		day()
		t.Day = 1
	case "quarter":
		day()
		t.Day, t.Month = 1, (t.Month-1)/3*3+1
	case "year":
		day()
		t.Day, t.Month = 1, 1
	case "decade":
		day()
		t.Day, t.Month, t.Year = 1, 1, t.Year/10*10
	case "century":
		day()
		t.Day, t.Month, t.Year = 1, 1, (t.Year-1)/100*100+1
	default:
		return value.None, sqlstate.New(sqlstate.InvalidParameter, "unit %q not recognized", c.Str(0))
	}
	d, ok := t.Datetime()
	if !ok {
		return value.None, sqlstate.New(sqlstate.DatetimeOverflow, "timestamp out of range")
	}
	if c.OIDs[1] == pgtype.Timestamptz {
		return castTime(d, pgtype.Timestamp, pgtype.Timestamptz, c.Env.Style()), nil
	}
	return value.DatetimeOf(d), nil
}

// weekday counts from Sunday, 0.
func weekday(d value.Datetime) int {
	days := d.Secs / 86400
	if d.Secs%86400 < 0 {
		days--
	}
	return int(((days+4)%7 + 7) % 7)
}

func extract(c *Call) (value.Value, error) {
	unit := strings.ToLower(c.Str(0))
	var n float64
	switch c.Args[1].Kind() {
	case value.KindDuration:
		d := c.Args[1].Duration()
		switch unit {
		case "epoch":
			n = d.Seconds()
		case "day":
			n = float64(d.Secs / 86400)
		case "hour":
			n = float64(d.Secs % 86400 / 3600)
		case "minute":
			n = float64(d.Secs % 3600 / 60)
		case "second":
			n = float64(d.Secs%60) + float64(d.Nanos)/1e9
		case "year", "month":
		default:
			return value.None, sqlstate.New(sqlstate.InvalidParameter, "unit %q not recognized for type interval", unit)
		}
	case value.KindDatetime:
		var err error
		if n, err = extractTime(c, unit); err != nil {
			return value.None, err
		}
	default:
		return value.None, sqlstate.New(sqlstate.UndefinedFunction, "EXTRACT needs a time")
	}
	return pgtype.Parse(pgtype.Numeric, strconv.FormatFloat(math.Round(n*1e6)/1e6, 'f', -1, 64), nil)
}

func extractTime(c *Call, unit string) (float64, error) {
	t, local := civil(c, c.Args[1], c.OIDs[1])
	d := c.Args[1].Datetime()
	switch unit {
	case "epoch":
		return float64(d.Secs) + float64(d.Nanos)/1e9, nil
	case "year":
		return float64(t.Year), nil
	case "month":
		return float64(t.Month), nil
	case "day":
		return float64(t.Day), nil
	case "hour":
		return float64(t.Hour), nil
	case "minute":
		return float64(t.Minute), nil
	case "second":
		return float64(t.Second) + float64(t.Nanos)/1e9, nil
	case "milliseconds":
		return float64(t.Second)*1e3 + float64(t.Nanos)/1e6, nil
	case "microseconds":
		return float64(t.Second)*1e6 + float64(t.Nanos)/1e3, nil
	case "quarter":
		return float64((t.Month-1)/3 + 1), nil
	case "dow":
		return float64(weekday(local)), nil
	case "isodow":
		return float64((weekday(local)+6)%7 + 1), nil
	case "doy":
		return float64(time.Date(t.Year, time.Month(t.Month), t.Day, 0, 0, 0, 0, time.UTC).YearDay()), nil
	case "week":
		_, w := time.Date(t.Year, time.Month(t.Month), t.Day, 0, 0, 0, 0, time.UTC).ISOWeek()
		return float64(w), nil
	case "timezone":
		return float64(local.Secs - d.Secs), nil
	}
	return 0, sqlstate.New(sqlstate.InvalidParameter, "unit %q not recognized for type %s", unit,
		pgtype.Format(c.OIDs[1]))
}

// toChar writes a time by the commonest patterns, or a number without padding.
func toChar(c *Call) (value.Value, error) {
	if c.Args[0].Kind() != value.KindDatetime {
		return value.Str(c.Str(0)), nil
	}
	t, local := civil(c, c.Args[0], c.OIDs[0])
	at := time.Unix(local.Secs, int64(local.Nanos)).UTC()
	return value.Str(strings.NewReplacer(
		"YYYY", fmt.Sprintf("%04d", t.Year), "YY", fmt.Sprintf("%02d", t.Year%100), "MM", fmt.Sprintf("%02d", t.Month),
		"DD", fmt.Sprintf("%02d", t.Day), "HH24", fmt.Sprintf("%02d", t.Hour), "HH12", fmt.Sprintf("%02d",
			(t.Hour+11)%12+1),
		"HH", fmt.Sprintf("%02d", (t.Hour+11)%12+1), "MI", fmt.Sprintf("%02d", t.Minute), "SS", fmt.Sprintf("%02d",
			t.Second),
		"MS", fmt.Sprintf("%03d", t.Nanos/1_000_000), "US", fmt.Sprintf("%06d", t.Nanos/1000),
		"Month", fmt.Sprintf("%-9s", at.Month()), "Mon", at.Format("Jan"), "Day", fmt.Sprintf("%-9s", at.Weekday()),
		"Dy", at.Format("Mon"),
	).Replace(c.Str(1))), nil
}

func jsonFunctions() map[string]*Function {
	build := func(c *Call) (value.Value, error) {
		if len(c.Args)%2 != 0 {
			return value.None, sqlstate.New(sqlstate.InvalidParameter,
				"argument list must have even number of elements")
		}
		o := value.NewObject()
		for i := 0; i < len(c.Args); i += 2 {
			o = o.With(c.Str(i), jsonOf(c, i+1))
		}
		return value.ObjectOf(o), nil
	}
	list := func(c *Call) (value.Value, error) {
		var out []value.Value
		for i := range c.Args {
			out = append(out, jsonOf(c, i))
		}
		return value.ArrayOf(out), nil
	}
	to := func(c *Call) (value.Value, error) { return jsonOf(c, 0), nil }
	return map[string]*Function{
		"json_build_object":  {Max: -1, Type: always2(pgtype.JSON), Nulls: true, Eval: build},
		"jsonb_build_object": {Max: -1, Type: always2(pgtype.JSONB), Nulls: true, Eval: build},
		"json_build_array":   {Max: -1, Type: always2(pgtype.JSON), Nulls: true, Eval: list},
		"jsonb_build_array":  {Max: -1, Type: always2(pgtype.JSONB), Nulls: true, Eval: list},
		"to_json":            {Min: 1, Max: 1, Type: always2(pgtype.JSON), Eval: to},
		"to_jsonb":           {Min: 1, Max: 1, Type: always2(pgtype.JSONB), Eval: to},
		"row_to_json":        {Min: 1, Max: 2, Type: always2(pgtype.JSON), Eval: to},
		"jsonb_array_length": integer(1, 1, func(c *Call) int64 { return int64(c.Args[0].Len()) }, pgtype.JSONB),
		"jsonb_typeof": text(1, 1, func(c *Call) string {
			switch v := c.Args[0]; v.Kind() {
			case value.KindObject:
				return "object"
			case value.KindArray, value.KindSet:
				return "array"
			case value.KindBool:
				return "boolean"
			case value.KindNull:
				return "null"
			case value.KindInt, value.KindFloat:
				return "number"
			}
			return "string"
		}, pgtype.JSONB),
	}
}

// jsonOf is an argument as a value of JSON.
func jsonOf(c *Call, i int) value.Value {
	v := c.Args[i]
	if v.IsNone() {
		return value.Null
	}
	if pgtype.IsReg(c.OIDs[i]) {
		return value.Str(c.Str(i))
	}
	return v
}
