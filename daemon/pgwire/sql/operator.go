package sql

import (
	"math"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/decimal"
	"github.com/nacredb/nacre/engine/value"
)

func zoneSeconds(zone *time.Location, c value.Civil) int64 {
	_, offset := time.Date(c.Year, time.Month(c.Month), c.Day, c.Hour, c.Minute, c.Second, 0, zone).Zone()
	return int64(offset)
}

func zoneSecondsAt(zone *time.Location, secs int64) int64 {
	_, offset := time.Unix(secs, 0).In(zone).Zone()
	return int64(offset)
}

// strict makes an operator that answers NULL when either operand is NULL.
func strict(oid pgtype.OID, key string, l, r *bound, f func(s *scope, x, y value.Value) (value.Value, error)) *bound {
	out := &bound{oid: oid, key: keyed("(", l.key, key, r.key, ")"), name: "?column?"}
	out.eval = func(s *scope) (value.Value, error) {
		x, err := l.eval(s)
		if err != nil || x.IsNone() {
			return value.None, err
		}
		y, err := r.eval(s)
		if err != nil || y.IsNone() {
			return value.None, err
		}
		return f(s, x, y)
	}
	return out.uses(l, r)
}

func noOperator(op string, l, r *bound) error {
	return sqlstate.New(sqlstate.UndefinedFunction, "operator does not exist: %s %s %s", pgtype.Format(l.oid), op,
		pgtype.Format(r.oid)).
		Hinted("No operator matches the given types. Add explicit casts.")
}

func (b *binder) arithmetic(op string, l, r *bound) (*bound, error) {
	if isTime(l.oid) || isTime(r.oid) || l.oid == pgtype.Interval || r.oid == pgtype.Interval ||
		isClock(l.oid) || isClock(r.oid) {
		return b.timeArithmetic(op, l, r)
	}
	l, r, oid, err := b.unify(l, r)
	if err != nil || !pgtype.IsNumber(oid) {
		return nil, noOperator(op, l, r)
	}
	if op == "^" {
		oid = pgtype.Float8
	}
	out := strict(oid, op, l, r, func(_ *scope, x, y value.Value) (value.Value, error) {
		return calculate(op, oid, x, y)
	})
	if l.whole != nil && r.whole != nil && pgtype.IsInt(oid) {
		out.whole = wholeArithmetic(op, oid, l, r)
	}
	return out, nil
}

// wholeArithmetic is the whole of an operator.
func wholeArithmetic(op string, oid pgtype.OID, l, r *bound) func(s *scope) (int64, bool, error) {
	x, y, limits := l.whole, r.whole, rangeOf(oid)
	return func(s *scope) (int64, bool, error) {
		a, ok, err := x(s)
		if err != nil || !ok {
			return 0, false, err
		}
		c, ok, err := y(s)
		if err != nil || !ok {
			return 0, false, err
		}
		n, err := calculateWhole(op, oid, limits, a, c)
		return n, err == nil, err
	}
}

// calculate is the result of an operator on numbers of a type.
func calculate(op string, oid pgtype.OID, x, y value.Value) (value.Value, error) {
	switch oid {
	case pgtype.Float4, pgtype.Float8:
		return calculateFloat(op, x.AsFloat(), y.AsFloat())
	case pgtype.Numeric:
		return calculateDecimal(op, x, y)
	}
	n, err := calculateWhole(op, oid, rangeOf(oid), x.Int(), y.Int())
	if err != nil {
		return value.None, err
	}
	return value.Int(n), nil
}

// rangeOf are the least and the greatest value of a type of whole numbers.
func rangeOf(oid pgtype.OID) [2]int64 {
	if limits, known := intRange[oid]; known {
		return limits
	}
	return [2]int64{math.MinInt64, math.MaxInt64}
}

func calculateWhole(op string, oid pgtype.OID, limits [2]int64, a, c int64) (n int64, err error) {
	ok := true
	switch op {
	case "+":
		n = a + c
		ok = (n > a) == (c > 0)
	case "-":
		n = a - c
		ok = (n < a) == (c > 0)
	case "*":
		n = a * c
		ok = a == 0 || n/a == c && !(a == -1 && c == math.MinInt64)
	case "/", "%":
		if c == 0 {
			return 0, sqlstate.New(sqlstate.DivisionByZero, "division by zero")
		}
		if c == -1 && a == math.MinInt64 {
			ok = op == "%"
		} else if n = a / c; op == "%" {
			n = a % c
		}
	}
	if !ok || n < limits[0] || n > limits[1] {
		return 0, outOfRange(oid)
	}
	return n, nil
}

func calculateFloat(op string, a, c float64) (value.Value, error) {
	var f float64
	switch op {
	case "+":
		f = a + c
	case "-":
		f = a - c
	case "*":
		f = a * c
	case "^":
		f = math.Pow(a, c)
	case "/", "%":
		if c == 0 {
			return value.None, sqlstate.New(sqlstate.DivisionByZero, "division by zero")
		}
		if f = a / c; op == "%" {
			f = math.Mod(a, c)
		}
	}
	if math.IsInf(f, 0) && !math.IsInf(a, 0) && !math.IsInf(c, 0) {
		return value.None, sqlstate.New(sqlstate.OutOfRange, "value out of range: overflow")
	}
	return value.Float(f), nil
}

func decimalOf(v value.Value) decimal.Decimal {
	switch v.Kind() {
	case value.KindInt:
		return decimal.FromInt(v.Int())
	case value.KindFloat:
		d, _ := decimal.FromFloat(v.Float())
		return d
	}
	return v.Decimal()
}

func calculateDecimal(op string, x, y value.Value) (value.Value, error) {
	a, c := decimalOf(x), decimalOf(y)
	var d decimal.Decimal
	ok := false
	switch op {
	case "+":
		d, ok = a.Add(c)
	case "-":
		d, ok = a.Sub(c)
	case "*":
		d, ok = a.Mul(c)
	case "/", "%":
		if c.IsZero() {
			return value.None, sqlstate.New(sqlstate.DivisionByZero, "division by zero")
		}
		if d, ok = a.Div(c); op == "%" {
			d, ok = a.Rem(c)
		}
	}
	if !ok {
		return value.None, sqlstate.New(sqlstate.OutOfRange, "value overflows numeric format")
	}
	return value.DecimalOf(positiveZero(d)), nil
}

func (b *binder) concat(l, r *bound) (*bound, error) {
	for _, side := range [][2]*bound{{l, r}, {r, l}} {
		if side[0].oid == pgtype.JSONB && side[1].oid == pgtype.Unknown {
			x, err := b.coerce(side[1], pgtype.JSONB)
			if err != nil {
				return nil, err
			}
			if side[1] == r {
				r = x
			} else {
				l = x
			}
		}
	}
	switch {
	case pgtype.IsArray(l.oid) || pgtype.IsArray(r.oid):
		return b.concatArrays(l, r)
	case l.oid == pgtype.JSONB && r.oid == pgtype.JSONB:
		return strict(pgtype.JSONB, "||", l, r, func(_ *scope, x, y value.Value) (value.Value, error) {
			if x.Kind() == value.KindObject && y.Kind() == value.KindObject {
				return value.ObjectOf(x.Object().WithAll(y.Object().Fields())), nil
			}
			list := func(v value.Value) []value.Value {
				if v.Kind() == value.KindArray {
					return v.Elems()
				}
				return []value.Value{v}
			}
			if err := fits(len(list(x))+len(list(y)), mostElements); err != nil {
				return value.None, err
			}
			return value.ArrayOf(append(append([]value.Value(nil), list(x)...), list(y)...)), nil
		}), nil
	}
	l, err := b.coerce(l, pgtype.Text)
	if err != nil {
		return nil, err
	}
	if r, err = b.coerce(r, pgtype.Text); err != nil {
		return nil, err
	}
	return strict(pgtype.Text, "||", l, r, func(_ *scope, x, y value.Value) (value.Value, error) {
		if err := fits(len(x.Str())+len(y.Str()), longestText); err != nil {
			return value.None, err
		}
		return value.Str(x.Str() + y.Str()), nil
	}), nil
}

func (b *binder) concatArrays(l, r *bound) (*bound, error) {
	oid := l.oid
	if !pgtype.IsArray(oid) {
		oid = r.oid
	}
	side := func(x *bound) (*bound, error) {
		if pgtype.IsArray(x.oid) || x.oid == pgtype.Unknown {
			return b.coerce(x, oid)
		}
		return b.coerce(x, pgtype.ElemOf(oid))
	}
	l, err := side(l)
	if err != nil {
		return nil, err
	}
	if r, err = side(r); err != nil {
		return nil, err
	}
	lArr, rArr := pgtype.IsArray(l.oid), pgtype.IsArray(r.oid)
	return strict(oid, "||", l, r, func(_ *scope, x, y value.Value) (value.Value, error) {
		var out []value.Value
		for _, p := range []struct {
			v   value.Value
			arr bool
		}{{x, lArr}, {y, rArr}} {
			if p.arr {
				out = append(out, elems(p.v)...)
			} else {
				out = append(out, p.v)
			}
		}
		return value.ArrayOf(out), fits(len(out), mostElements)
	}), nil
}

// patterns keeps expressions that were compiled.
type patterns struct {
	mu   sync.Mutex // guards list; a leaf lock
	list map[string]*regexp.Regexp
}

var compiled = &patterns{list: map[string]*regexp.Regexp{}}

// mostPatterns is how many expressions are kept, longestPattern how long one may be.
const (
	mostPatterns   = 512
	longestPattern = 4096
)

func (p *patterns) get(key string, make func() (string, error)) (*regexp.Regexp, error) {
	p.mu.Lock()
	re := p.list[key]
	p.mu.Unlock()
	if re != nil {
		return re, nil
	}
	if len(key) > longestPattern {
		return nil, sqlstate.New(sqlstate.InvalidRegex, "a pattern cannot be longer than %d bytes", longestPattern)
	}
	text, err := make()
	if err == nil {
		re, err = regexp.Compile(text)
	}
	if err != nil {
		return nil, sqlstate.New(sqlstate.InvalidRegex, "invalid regular expression: %v", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.list) >= mostPatterns {
		clear(p.list)
	}
	p.list[key] = re
	return re, nil
}

// Regexp compiles a regular expression of PostgreSQL.
func compileRegexp(pattern string, fold bool) (*regexp.Regexp, error) {
	flags := "(?s)"
	if fold {
		flags = "(?is)"
	}
	return compiled.get(flags+pattern, func() (string, error) { return flags + translate(pattern), nil })
}

var regexpEscapes = strings.NewReplacer(`\y`, `\b`, `\m`, `\b`, `\M`, `\b`, `\Y`, `\B`, `\Z`, `\z`)

// translate writes what differs of the expressions of PostgreSQL as Go does.
func translate(pattern string) string {
	pattern = strings.TrimPrefix(strings.TrimPrefix(pattern, "***:"), "(?n)")
	return regexpEscapes.Replace(pattern)
}

// likePattern compiles a pattern of LIKE.
func likePattern(pattern string, fold bool) (*regexp.Regexp, error) {
	flags := "(?s)"
	if fold {
		flags = "(?is)"
	}
	return compiled.get("like"+flags+pattern, func() (string, error) {
		var out strings.Builder
		out.WriteString(flags + "^")
		escaped := false
		for _, r := range pattern {
			switch {
			case escaped:
				out.WriteString(regexp.QuoteMeta(string(r)))
				escaped = false
			case r == '\\':
				escaped = true
			case r == '%':
				out.WriteString(".*")
			case r == '_':
				out.WriteByte('.')
			default:
				out.WriteString(regexp.QuoteMeta(string(r)))
			}
		}
		out.WriteByte('$')
		return out.String(), nil
	})
}

func (b *binder) match(op string, l, r *bound) (*bound, error) {
	l, err := b.coerce(l, pgtype.Text)
	if err != nil {
		return nil, err
	}
	if r, err = b.coerce(r, pgtype.Text); err != nil {
		return nil, err
	}
	not := strings.HasPrefix(op, "!")
	fold := strings.HasSuffix(op, "*")
	compile := compileRegexp
	if strings.Contains(op, "~~") {
		compile = likePattern
	}
	return strict(pgtype.Bool, op, l, r, func(_ *scope, x, y value.Value) (value.Value, error) {
		re, err := compile(y.Str(), fold)
		if err != nil {
			return value.None, err
		}
		return value.Bool(re.MatchString(x.Str()) != not), nil
	}), nil
}

func (b *binder) bits(op string, l, r *bound) (*bound, error) {
	l, r, oid, err := b.unify(l, r)
	if err != nil || !pgtype.IsInt(oid) {
		return nil, noOperator(op, l, r)
	}
	return strict(oid, op, l, r, func(_ *scope, x, y value.Value) (value.Value, error) {
		a, c := x.Int(), y.Int()
		switch op {
		case "&":
			a &= c
		case "|":
			a |= c
		case "#":
			a ^= c
		case "<<":
			a <<= uint64(c) & 63
		default:
			a >>= uint64(c) & 63
		}
		return value.Int(a), nil
	}), nil
}

func (b *binder) contains(op string, l, r *bound) (*bound, error) {
	l, r, oid, err := b.unify(l, r)
	if err != nil {
		return nil, noOperator(op, l, r)
	}
	if op == "<@" {
		l, r = r, l
	}
	if oid == pgtype.JSONB {
		return strict(pgtype.Bool, op, l, r, func(_ *scope, x, y value.Value) (value.Value, error) {
			return value.Bool(jsonContains(x, y)), nil
		}), nil
	}
	if !pgtype.IsArray(oid) {
		return nil, noOperator(op, l, r)
	}
	return strict(pgtype.Bool, op, l, r, func(_ *scope, x, y value.Value) (value.Value, error) {
		there := map[string]bool{}
		for _, e := range elems(x) {
			there[string(appendKey(nil, e))] = true
		}
		all, some := true, false
		for _, e := range elems(y) {
			if there[string(appendKey(nil, e))] {
				some = true
			} else {
				all = false
			}
		}
		if op == "&&" {
			return value.Bool(some), nil
		}
		return value.Bool(all), nil
	}), nil
}

func jsonContains(x, y value.Value) bool {
	switch {
	case x.Kind() == value.KindObject && y.Kind() == value.KindObject:
		for _, f := range y.Object().Fields() {
			v, ok := x.Object().Get(f.Name)
			if !ok || !jsonContains(v, f.Value) {
				return false
			}
		}
		return true
	case x.Kind() == value.KindArray && y.Kind() == value.KindArray:
		for _, e := range y.Elems() {
			found := false
			for _, o := range x.Elems() {
				found = found || jsonContains(o, e)
			}
			if !found {
				return false
			}
		}
		return true
	}
	return value.Equal(x, y)
}

func (b *binder) jsonPath(op string, l, r *bound) (*bound, error) {
	l, err := b.coerce(l, pgtype.JSONB)
	if err != nil {
		return nil, err
	}
	want := r.oid
	switch {
	case op == "#>" || op == "#>>":
		want = pgtype.TextArray
	case want == pgtype.Unknown:
		want = pgtype.Text
	}
	if r, err = b.coerce(r, want); err != nil {
		return nil, err
	}
	oid := pgtype.JSONB
	switch op {
	case "->>", "#>>":
		oid = pgtype.Text
	}
	return strict(oid, op, l, r, func(s *scope, x, y value.Value) (value.Value, error) {
		keys := []value.Value{y}
		if y.Kind() == value.KindArray {
			keys = y.Elems()
		}
		for _, k := range keys {
			x = jsonField(x, k)
		}
		if oid == pgtype.Text {
			x = jsonText(x)
		}
		return x, nil
	}), nil
}

func jsonField(x, k value.Value) value.Value {
	switch {
	case x.Kind() == value.KindObject && k.Kind() == value.KindString:
		v, _ := x.Object().Get(k.Str())
		return v
	case x.Kind() == value.KindArray:
		n, ok := wholeOfAny(k)
		if k.Kind() == value.KindString {
			v, err := pgtype.Parse(pgtype.Int8, k.Str(), nil)
			if err != nil {
				return value.None
			}
			n, ok = v.Int(), true
		}
		if n < 0 {
			n += int64(x.Len())
		}
		if ok && n >= 0 && n < int64(x.Len()) {
			return x.Elems()[n]
		}
	}
	return value.None
}
