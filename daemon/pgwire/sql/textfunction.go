package sql

import (
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

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
			if c.Str(1) == "" {
				return c.Args[0], nil
			}
			more := strings.Count(c.Str(0), c.Str(1)) * (len(c.Str(2)) - len(c.Str(1)))
			if err := fits(len(c.Str(0))+more, longestText); err != nil {
				return value.None, err
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
			parts := make([]string, len(c.Args))
			for i := range c.Args {
				parts[i] = c.Str(i)
			}
			return joined(parts, "")
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
			return joined(parts, c.Str(0))
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
		"decode": Returns(pgtype.Bytea, 2, 2, func(c *Call) (value.Value, error) {
			read := map[string]func(string) ([]byte, error){"hex": hex.DecodeString,
				"base64": base64.StdEncoding.DecodeString}
			f := read[c.Str(1)]
			if f == nil {
				return value.None, sqlstate.New(sqlstate.InvalidParameter, "unrecognized encoding: %q", c.Str(1))
			}
			b, err := f(c.Str(0))
			if err != nil {
				return value.None, sqlstate.New(sqlstate.InvalidParameter, "invalid %s", c.Str(1))
			}
			return value.BytesOf(b), nil
		}, pgtype.Text),
		"translate": text(3, 3, func(c *Call) string {
			to, become := []rune(c.Str(2)), map[rune]rune{}
			for i, r := range []rune(c.Str(1)) {
				if _, known := become[r]; known {
					continue
				}
				if become[r] = -1; i < len(to) {
					become[r] = to[i]
				}
			}
			return strings.Map(func(r rune) rune {
				if other, known := become[r]; known {
					return other
				}
				return r
			}, c.Str(0))
		}, pgtype.Text),
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

// quotedWords are names of columns and functions that are written in quotes, though the parser can do without.
var quotedWords = sync.OnceValue(func() map[string]bool {
	return words("between bigint bit boolean char character coalesce dec decimal exists extract float greatest grouping " +
		"inout int integer interval least national nchar none nullif numeric out overlay position precision real row setof smallint " +
		"substring time timestamp treat trim values varchar")
})

// QuoteIdent is a name as it is written in a statement.
func QuoteIdent(s string) string {
	plain := s != "" && !reserved()[s] && !quotedWords()[s]
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
		if err := fits(b.Len(), longestText); err != nil {
			return value.None, err
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
