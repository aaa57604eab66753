package value

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"

	"github.com/nacredb/nacre/engine/decimal"
)

// reader is a small reader of literals and types for the recorded vectors: just what stands in them,
// so that this package can be held to them without the language's parser above it.
type reader struct {
	s  string
	at int
}

// unsupported is a panic value: the vector needs more than literals.
type unsupported string

func readLiteral(s string) (v Value, err error) {
	r := &reader{s: s}
	defer func() {
		if p := recover(); p != nil {
			u, ok := p.(unsupported)
			if !ok {
				panic(p)
			}
			err = errors.New(string(u))
		}
	}()
	v = r.expr()
	if r.space(); r.at < len(s) {
		return None, fmt.Errorf("rest %q", s[r.at:])
	}
	return v, nil
}

func readType(s string) (t *Type, err error) {
	r := &reader{s: s}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	return r.typ(), nil
}

func (r *reader) fail() Value { panic(unsupported(fmt.Sprintf("cannot read %q", r.s[r.at:]))) }

func (r *reader) space() {
	for r.at < len(r.s) && (r.s[r.at] == ' ' || r.s[r.at] == '\n') {
		r.at++
	}
}

func (r *reader) rest() string { return r.s[r.at:] }

func (r *reader) take(p string) bool {
	if strings.HasPrefix(r.rest(), p) {
		r.at += len(p)
		return true
	}
	return false
}

func (r *reader) must(p string) {
	r.space()
	if !r.take(p) {
		r.fail()
	}
}

func (r *reader) match(re *regexp.Regexp) string {
	m := re.FindString(r.rest())
	r.at += len(m)
	return m
}

var (
	reNumber = regexp.MustCompile(`^-?\d[\d_]*(\.\d[\d_]*)?([eE][-+]?\d+)?(dec|f)?`)
	reSpan   = regexp.MustCompile(`^(\d+(ns|us|µs|ms|s|m|h|d|w|y))+`)
	reWord   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*`)
	reKey    = regexp.MustCompile(`^[A-Za-z0-9_]+`)
	reClose  = regexp.MustCompile(`^\|[^|]*\| `)
)

// expr reads a literal, or a range of two.
func (r *reader) expr() Value {
	r.space()
	var g Range
	v, some := r.bound()
	if strings.HasPrefix(r.rest(), ">..") || strings.HasPrefix(r.rest(), "..") {
		if some {
			g.Start = Bound{Included, v}
		}
		if r.take(">") {
			g.Start.Kind = Excluded
		}
		r.take("..")
		kind := Excluded
		if r.take("=") {
			kind = Included
		}
		if v, some := r.bound(); some {
			g.End = Bound{kind, v}
		}
		return RangeOf(&g)
	}
	if !some {
		r.fail()
	}
	return v
}

func (r *reader) bound() (Value, bool) {
	if r.at == len(r.s) || strings.HasPrefix(r.rest(), "..") || strings.ContainsRune("),;]}", rune(r.s[r.at])) {
		return None, false
	}
	return r.primary(), true
}

func (r *reader) primary() Value {
	s := r.rest()
	switch c := s[0]; {
	case c == '(':
		return r.parens()
	case c == '[':
		r.at++
		return ArrayOf(r.list("]"))
	case c == '{':
		return r.braces()
	case c == '/':
		return r.regex()
	case c == '|':
		params := strings.TrimSpace(r.match(reClose))
		body := r.match(regexp.MustCompile(`^\$[a-z]+( [-+*] \$?\w+)?`))
		if !strings.Contains(params, ":") {
			params = strings.ReplaceAll(params, ",", ": any,")
			params = params[:len(params)-1] + ": any|"
		}
		return ClosureOf(testClosure(params + " " + body))
	case c == '\'' || c == '"':
		return Str(r.str())
	case c >= '0' && c <= '9' || c == '-' && len(s) > 1 && s[1] >= '0' && s[1] <= '9':
		return r.number()
	case strings.HasPrefix(s, "-Infinity"):
		r.at += len("-Infinity")
		return Float(math.Inf(-1))
	case c == '`':
		return r.word()
	case len(s) > 1 && (s[1] == '\'' || s[1] == '"') && strings.ContainsRune("dubfrs", rune(c)):
		return r.prefixed()
	}
	return r.word()
}

type testClosure string

func (c testClosure) Text() string { return string(c) }
func (c testClosure) Size() int    { return len(c) }

func (r *reader) parens() Value {
	r.must("(")
	v := r.expr()
	r.space()
	if r.take(",") {
		w := r.expr()
		r.must(")")
		return PointOf(v.AsFloat(), w.AsFloat())
	}
	r.must(")")
	return v
}

func (r *reader) list(end string) []Value {
	var out []Value
	for {
		if r.space(); r.take(end) {
			return out
		}
		out = append(out, r.expr())
		if r.space(); !r.take(",") {
			r.must(end)
			return out
		}
	}
}

// braces reads an object (a geometry, where it has the shape of one) or a set.
func (r *reader) braces() Value {
	from := r.at
	r.must("{")
	if r.space(); r.take("}") {
		return ObjectOf(nil)
	}
	if r.take(",") {
		r.must("}")
		return Set()
	}
	if key, ok := r.key(); ok {
		var fields []Field
		for {
			fields = append(fields, Field{key, r.expr()})
			if r.space(); r.take("}") {
				break
			}
			r.must(",")
			if r.space(); r.take("}") {
				break
			}
			if key, ok = r.key(); !ok {
				r.fail()
			}
		}
		o := NewObject(fields...)
		if g, ok := GeometryFromObject(o); ok {
			return GeometryOf(g)
		}
		return ObjectOf(o)
	}
	r.at = from + 1
	elems := r.list("}")
	if len(elems) == 1 && !strings.Contains(r.s[from:r.at], ",") {
		r.fail()
	}
	return SetOf(elems)
}

// key reads "name:" or puts the reader back.
func (r *reader) key() (string, bool) {
	r.space()
	from := r.at
	var key string
	if c := r.rest()[0]; c == '\'' || c == '"' {
		key = r.str()
	} else {
		key = r.match(reKey)
	}
	if r.space(); key != "" && r.take(":") && !strings.HasPrefix(r.rest(), ":") {
		return key, true
	}
	r.at = from
	return "", false
}

func (r *reader) regex() Value {
	end := r.at + 1
	for r.s[end] != '/' {
		if r.s[end] == '\\' {
			end++
		}
		end++
	}
	re, err := CompileRegex(strings.ReplaceAll(r.s[r.at+1:end], `\/`, `/`))
	if err != nil {
		r.fail()
	}
	r.at = end + 1
	return RegexOf(re)
}

func (r *reader) str() string {
	q := r.s[r.at]
	var b strings.Builder
	for r.at++; r.s[r.at] != q; r.at++ {
		c := r.s[r.at]
		if c != '\\' {
			b.WriteByte(c)
			continue
		}
		r.at++
		switch c := r.s[r.at]; c {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		case 'f':
			b.WriteByte('\f')
		case 'b':
			b.WriteByte('\b')
		case '0':
			b.WriteByte(0)
		case 'u':
			var n rune
			if r.s[r.at+1] == '{' {
				end := strings.IndexByte(r.rest(), '}')
				fmt.Sscanf(r.rest()[2:end], "%x", &n)
				r.at += end
			} else {
				fmt.Sscanf(r.rest()[1:5], "%x", &n)
				r.at += 4
			}
			b.WriteRune(n)
		default:
			b.WriteByte(c)
		}
	}
	r.at++
	return b.String()
}

func (r *reader) number() Value {
	if m := reSpan.FindString(r.rest()); m != "" && !strings.HasPrefix(r.rest()[len(m):], "e") {
		d, err := ParseDuration(m)
		if err != nil {
			r.fail()
		}
		r.at += len(m)
		return DurationOf(d)
	}
	m := r.match(reNumber)
	plain := strings.ReplaceAll(m, "_", "")
	switch {
	case strings.HasSuffix(m, "dec"):
		d, err := decimal.ParseLiteral(strings.TrimSuffix(plain, "dec"))
		if err != nil {
			r.fail()
		}
		return DecimalOf(d)
	case strings.ContainsAny(m, ".eEf"):
		f, err := ParseFloat(strings.TrimSuffix(plain, "f"))
		if err != nil {
			r.fail()
		}
		return Float(f)
	}
	i, err := ParseInt(plain)
	if err != nil {
		r.fail()
	}
	return Int(i)
}

func (r *reader) prefixed() Value {
	c := r.s[r.at]
	r.at++
	s := r.str()
	switch c {
	case 'd':
		d, err := ParseDatetime(s)
		if err != nil {
			r.fail()
		}
		return DatetimeOf(d)
	case 'u':
		u, err := ParseUUID(s)
		if err != nil {
			r.fail()
		}
		return UUIDOf(u)
	case 'b':
		out := make([]byte, len(s)/2)
		fmt.Sscanf(s, "%x", &out)
		return BytesOf(out)
	case 'f':
		bucket, key, _ := strings.Cut(s, ":")
		return FileOf(&File{bucket, key})
	case 'r':
		v, err := readLiteral(s)
		if err != nil {
			r.fail()
		}
		return v
	}
	return Str(s)
}

func (r *reader) word() Value {
	if r.take("type::table('") {
		name, _, _ := strings.Cut(r.rest(), "'")
		r.at += len(name)
		r.must("')")
		return TableOf(name)
	}
	if r.take("math::inf") {
		return Float(math.Inf(1))
	}
	name := r.ident()
	if r.take(":") {
		return Record(name, r.recordKey())
	}
	switch strings.ToUpper(name) {
	case "NONE":
		return None
	case "NULL":
		return Null
	case "TRUE":
		return Bool(true)
	case "FALSE":
		return Bool(false)
	}
	switch name {
	case "NaN":
		return Float(math.NaN())
	case "Infinity":
		return Float(math.Inf(1))
	}
	return r.fail()
}

func (r *reader) ident() string {
	if strings.HasPrefix(r.rest(), "`") {
		return r.str()
	}
	return r.match(reWord)
}

func (r *reader) recordKey() Value {
	switch c := r.rest()[0]; {
	case c == '`':
		return Str(r.str())
	case c == '[' || c == '{' || c == 'u' && r.rest()[1] == '\'':
		return r.primary()
	}
	m := r.match(regexp.MustCompile(`^-?[A-Za-z0-9_]+`))
	if m == "" {
		r.fail()
	}
	if i, err := ParseInt(m); err == nil {
		return Int(i)
	}
	return Str(m)
}

func (r *reader) typ() *Type {
	alts := []*Type{r.single()}
	for r.space(); r.take("|"); r.space() {
		alts = append(alts, r.single())
	}
	return UnionOf(alts...)
}

func (r *reader) single() *Type {
	r.space()
	switch c := r.rest()[0]; {
	case c == '{':
		r.at++
		var fields []TypeField
		for r.space(); !r.take("}"); r.space() {
			name, _ := r.key()
			fields = append(fields, TypeField{name, r.typ()})
			r.space()
			r.take(",")
		}
		return FieldsType(fields...)
	case c == '[':
		r.at++
		t := &Type{Kind: TypeTuple, Max: -1}
		for r.space(); !r.take("]"); r.space() {
			t.Alts = append(t.Alts, r.typ())
			r.space()
			r.take(",")
		}
		return t
	case c == '\'' || c == '"' || c >= '0' && c <= '9':
		return LiteralType(r.primary())
	}
	word := r.match(reWord)
	if word == "option" {
		r.must("<")
		t := r.typ()
		r.must(">")
		return OptionOf(t)
	}
	k, ok := TypeNamed(word)
	if !ok {
		panic(unsupported("type " + word))
	}
	t := *Simple(k)
	if !r.take("<") {
		return &t
	}
	switch k {
	case TypeArray, TypeSet:
		t.Elem = r.typ()
		if r.space(); r.take(",") {
			r.space()
			t.Max = int(r.number().Int())
		}
	case TypeRecord, TypeTable:
		for ok := true; ok; ok = r.take("|") {
			r.space()
			t.Tables = append(t.Tables, r.ident())
			r.space()
		}
	case TypeGeometry:
		for ok := true; ok; ok = r.take("|") {
			r.space()
			shape, _ := ShapeNamed(r.match(reWord))
			t.Shapes = append(t.Shapes, shape)
			r.space()
		}
	}
	r.must(">")
	return &t
}

func (r *reader) ParseRecord(s string) (Value, error) {
	v, err := readLiteral(s)
	if err != nil || v.Kind() != KindRecord {
		return None, errors.New("no record id")
	}
	return v, nil
}
