package graph

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/nacredb/nacre/engine/decimal"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/gql"
	reals "github.com/nacredb/nacre/engine/real"
	"github.com/nacredb/nacre/engine/value"
)

// impl is a function over arguments that are not null.
type impl func(x *runner, f *gql.Func, args []value.Value) (value.Value, error)

// function binds a call. Null arguments make the result null.
func (b *binder) function(e *gql.Func, sc *scope) (evalFn, error) {
	switch e.Name {
	case "COALESCE", "NULLIF":
		return b.nullFunction(e, sc)
	case "PROPERTY_EXISTS":
		return b.propertyExists(e, sc)
	case "ELEMENT_ID":
		return b.elementID(e, sc)
	case "PATH_LENGTH", "ELEMENTS":
		return b.pathFunction(e, sc)
	case "ALL_DIFFERENT", "SAME":
		c, err := b.cond(e, sc)
		return func(x *runner) (value.Value, error) {
			t, err := c(x)
			return t.value(), err
		}, err
	}
	f := impls[e.Name]
	if f == nil {
		return nil, b.fail(e.Span, "The function `%s` is not supported yet", e.Name)
	}
	args, err := b.exprs(e.Args, sc)
	if err != nil {
		return nil, err
	}
	return func(x *runner) (value.Value, error) {
		vals := make([]value.Value, len(args))
		for i, a := range args {
			v, err := a(x)
			if err != nil {
				return value.None, err
			}
			if v.IsNullish() {
				return value.Null, nil
			}
			vals[i] = v
		}
		v, err := f(x, e, vals)
		if err != nil {
			return value.None, err
		}
		return x.r.Checked(v)
	}, nil
}

func (b *binder) nullFunction(e *gql.Func, sc *scope) (evalFn, error) {
	args, err := b.exprs(e.Args, sc)
	if err != nil {
		return nil, err
	}
	if e.Name == "NULLIF" {
		eq, err := b.cond(&gql.Binary{Op: gql.Equal, L: e.Args[0], R: e.Args[1], Span: e.Span}, sc)
		return func(x *runner) (value.Value, error) {
			t, err := eq(x)
			if err != nil || t == yes {
				return value.Null, err
			}
			return args[0](x)
		}, err
	}
	return func(x *runner) (value.Value, error) {
		for _, a := range args {
			if v, err := a(x); err != nil || !v.IsNullish() {
				return v, err
			}
		}
		return value.Null, nil
	}, nil
}

func (b *binder) propertyExists(e *gql.Func, sc *scope) (evalFn, error) {
	f, err := b.slotOf(e.Args[0], sc)
	name := e.Args[1].(*gql.Literal).Value.Str()
	return func(x *runner) (value.Value, error) {
		s, err := f(x)
		if err != nil || s.kind == isNull {
			return value.Null, err
		}
		v, err := x.property(&s, name)
		return value.Bool(!v.IsNone()), err
	}, err
}

func (b *binder) elementID(e *gql.Func, sc *scope) (evalFn, error) {
	f, err := b.slotOf(e.Args[0], sc)
	return func(x *runner) (value.Value, error) {
		s, err := f(x)
		switch {
		case err != nil:
			return value.None, err
		case s.kind == isNull:
			return value.Null, nil
		case s.kind != isNode && s.kind != isEdge:
			return value.None, errs.Internal("`ELEMENT_ID` needs a node or an edge")
		}
		if ok, err := x.load(&s); err != nil || !ok {
			return value.Null, err
		}
		return value.Str(value.RecordOf(s.el.recordID()).Text()), nil
	}, err
}

func (b *binder) pathFunction(e *gql.Func, sc *scope) (evalFn, error) {
	f, err := b.slotOf(e.Args[0], sc)
	return func(x *runner) (value.Value, error) {
		s, err := f(x)
		if err != nil || s.kind == isNull {
			return value.Null, err
		}
		if s.kind == isPath && e.Name == "PATH_LENGTH" {
			return value.Int(int64(len(s.list) / 2)), nil
		}
		v, err := x.value(&s)
		switch {
		case err != nil:
			return value.None, err
		case v.Kind() != value.KindArray || v.Len()%2 == 0:
			return value.None, errs.Internal("`%s` needs a path", e.Name)
		case e.Name == "PATH_LENGTH":
			return value.Int(int64(v.Len() / 2)), nil
		}
		return v, nil
	}, err
}

// impls are the functions over values.
var impls = map[string]impl{
	"CHAR_LENGTH": charLength, "CHARACTER_LENGTH": charLength, "BYTE_LENGTH": byteLength, "OCTET_LENGTH": byteLength,
	"UPPER":     text(func(_ *gql.Func, s string) string { return strings.ToUpper(s) }),
	"LOWER":     text(func(_ *gql.Func, s string) string { return strings.ToLower(s) }),
	"NORMALIZE": text(func(f *gql.Func, s string) string { return forms[f.Spec].String(s) }),
	"LEFT":      part, "RIGHT": part, "TRIM": trim, "BTRIM": trimAny, "LTRIM": trimAny, "RTRIM": trimAny,
	"TRIM_LIST": trimList,
	"SIZE":      size, "CARDINALITY": size,
	"ABS": abs, "MOD": mod, "FLOOR": rounded(math.Floor), "CEIL": rounded(math.Ceil), "CEILING": rounded(math.Ceil),
	"SQRT": real(math.Sqrt), "EXP": real(reals.Exp), "LN": real(reals.Log), "LOG10": real(reals.Log10), "LOG": logBase,
	"POWER": power, "SIN": real(reals.Sin), "COS": real(reals.Cos), "TAN": real(reals.Tan),
	"COT":  real(func(f float64) float64 { return 1 / reals.Tan(f) }),
	"ASIN": real(reals.Asin), "ACOS": real(reals.Acos), "ATAN": real(reals.Atan), "SINH": real(math.Sinh),
	"COSH": real(math.Cosh),
	"TANH": real(math.Tanh), "DEGREES": real(func(f float64) float64 { return f * 180 / math.Pi }),
	"RADIANS":           real(func(f float64) float64 { return f * math.Pi / 180 }),
	"CURRENT_TIMESTAMP": now, "LOCAL_TIMESTAMP": now, "CURRENT_DATE": today, "ZONED_DATETIME": datetime,
	"LOCAL_DATETIME": datetime, "DATE": datetime, "DURATION": duration, "DURATION_BETWEEN": between,
}

func wrong(f *gql.Func, want string, v value.Value) error {
	return errs.Internal("`%s` needs %s, found %s", f.Name, want, kindName(v))
}

func charLength(_ *runner, f *gql.Func, a []value.Value) (value.Value, error) {
	if a[0].Kind() != value.KindString {
		return value.None, wrong(f, "a string", a[0])
	}
	return value.Int(int64(utf8.RuneCountInString(a[0].Str()))), nil
}

func byteLength(_ *runner, f *gql.Func, a []value.Value) (value.Value, error) {
	switch a[0].Kind() {
	case value.KindString:
		return value.Int(int64(len(a[0].Str()))), nil
	case value.KindBytes:
		return value.Int(int64(len(a[0].Bytes()))), nil
	}
	return value.None, wrong(f, "a string or bytes", a[0])
}

// text is a function from a string to a string.
func text(g func(f *gql.Func, s string) string) impl {
	return func(_ *runner, f *gql.Func, a []value.Value) (value.Value, error) {
		if a[0].Kind() != value.KindString {
			return value.None, wrong(f, "a string", a[0])
		}
		return value.Str(g(f, a[0].Str())), nil
	}
}

// part is LEFT and RIGHT.
func part(_ *runner, f *gql.Func, a []value.Value) (value.Value, error) {
	if a[0].Kind() != value.KindString {
		return value.None, wrong(f, "a string", a[0])
	}
	if a[1].Kind() != value.KindInt || a[1].Int() < 0 {
		return value.None, errs.Internal("`%s` needs a length that is not negative", f.Name)
	}
	r := []rune(a[0].Str())
	n := int(min(a[1].Int(), int64(len(r))))
	if f.Name == "LEFT" {
		return value.Str(string(r[:n])), nil
	}
	return value.Str(string(r[len(r)-n:])), nil
}

// trim removes one character, a space where none is given.
func trim(_ *runner, f *gql.Func, a []value.Value) (value.Value, error) {
	cut := " "
	if len(a) == 2 {
		if a[1].Kind() != value.KindString || utf8.RuneCountInString(a[1].Str()) != 1 {
			return value.None, errs.Internal("`TRIM` removes a single character")
		}
		cut = a[1].Str()
	}
	if a[0].Kind() != value.KindString {
		return value.None, wrong(f, "a string", a[0])
	}
	s := a[0].Str()
	r, _ := utf8.DecodeRuneInString(cut)
	is := func(c rune) bool { return c == r }
	if f.Spec != "TRAILING" {
		s = strings.TrimLeftFunc(s, is)
	}
	if f.Spec != "LEADING" {
		s = strings.TrimRightFunc(s, is)
	}
	return value.Str(s), nil
}

func trimAny(_ *runner, f *gql.Func, a []value.Value) (value.Value, error) {
	cut := " "
	for _, v := range a {
		if v.Kind() != value.KindString {
			return value.None, wrong(f, "strings", v)
		}
	}
	if len(a) == 2 {
		cut = a[1].Str()
	}
	s := a[0].Str()
	if f.Name != "RTRIM" {
		s = strings.TrimLeft(s, cut)
	}
	if f.Name != "LTRIM" {
		s = strings.TrimRight(s, cut)
	}
	return value.Str(s), nil
}

// trimList is a list without its last elements.
func trimList(_ *runner, _ *gql.Func, a []value.Value) (value.Value, error) {
	if a[0].Kind() != value.KindArray || a[1].Kind() != value.KindInt {
		return value.None, errs.Internal("`TRIM` with two arguments needs a list and a number")
	}
	n := a[1].Int()
	if n < 0 || n > int64(a[0].Len()) {
		return value.None, errs.Internal("`TRIM` cannot remove %d elements of a list of %d", n, a[0].Len())
	}
	return value.ArrayOf(a[0].Elems()[:a[0].Len()-int(n)]), nil
}

func size(_ *runner, f *gql.Func, a []value.Value) (value.Value, error) {
	if k := a[0].Kind(); k != value.KindArray && k != value.KindSet {
		return value.None, wrong(f, "a list", a[0])
	}
	return value.Int(int64(a[0].Len())), nil
}

func abs(_ *runner, f *gql.Func, a []value.Value) (value.Value, error) {
	switch a[0].Kind() {
	case value.KindInt:
		if a[0].Int() < 0 {
			return value.Neg(a[0])
		}
		return a[0], nil
	case value.KindFloat:
		return value.Float(math.Abs(a[0].Float())), nil
	case value.KindDecimal:
		return value.DecimalOf(a[0].Decimal().Abs()), nil
	}
	return value.None, wrong(f, "a number", a[0])
}

// mod has the sign of the dividend.
func mod(_ *runner, f *gql.Func, a []value.Value) (value.Value, error) {
	for _, v := range a {
		if !v.Kind().IsNumber() {
			return value.None, wrong(f, "numbers", v)
		}
	}
	if a[1].AsFloat() == 0 {
		return value.None, errs.Internal("`MOD` cannot divide by zero")
	}
	if a[0].Kind() == value.KindInt && a[1].Kind() == value.KindInt {
		if a[1].Int() == -1 {
			return value.Int(0), nil
		}
		return value.Int(a[0].Int() % a[1].Int()), nil
	}
	if a[0].Kind() == value.KindFloat || a[1].Kind() == value.KindFloat {
		return value.Float(math.Mod(a[0].AsFloat(), a[1].AsFloat())), nil
	}
	return value.Rem(a[0], a[1])
}

// rounded is a function on numbers that leaves ints as they are.
func rounded(g func(float64) float64) impl {
	return func(_ *runner, f *gql.Func, a []value.Value) (value.Value, error) {
		switch a[0].Kind() {
		case value.KindInt:
			return a[0], nil
		case value.KindFloat:
			return value.Float(g(a[0].Float())), nil
		case value.KindDecimal:
			d := a[0].Decimal()
			t := d.Trunc()
			if !d.IsWhole() && (g(0.5) == 1) == (d.Sign() > 0) { // up for positive, or down for negative numbers
				one := decimal.FromInt(int64(d.Sign()))
				if sum, ok := t.Add(one); ok {
					t = sum
				}
			}
			return value.DecimalOf(t), nil
		}
		return value.None, wrong(f, "a number", a[0])
	}
}

// real is a function on floats. A result that is no number is an error.
func real(g func(float64) float64) impl {
	return func(_ *runner, f *gql.Func, a []value.Value) (value.Value, error) {
		if !a[0].Kind().IsNumber() {
			return value.None, wrong(f, "a number", a[0])
		}
		return finite(f, g(a[0].AsFloat()))
	}
}

func finite(f *gql.Func, v float64) (value.Value, error) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return value.None, errs.Internal("`%s` is not defined for its argument", f.Name)
	}
	return value.Float(v), nil
}

func logBase(_ *runner, f *gql.Func, a []value.Value) (value.Value, error) {
	for _, v := range a {
		if !v.Kind().IsNumber() {
			return value.None, wrong(f, "numbers", v)
		}
	}
	return finite(f, reals.Log(a[1].AsFloat())/reals.Log(a[0].AsFloat()))
}

func power(_ *runner, f *gql.Func, a []value.Value) (value.Value, error) {
	for _, v := range a {
		if !v.Kind().IsNumber() {
			return value.None, wrong(f, "numbers", v)
		}
	}
	return finite(f, reals.Pow(a[0].AsFloat(), a[1].AsFloat()))
}

func now(x *runner, _ *gql.Func, _ []value.Value) (value.Value, error) {
	return value.Cast(value.Str(x.r.Now().UTC().Format("2006-01-02T15:04:05.999999999Z")), datetimeType, nil)
}

func today(x *runner, _ *gql.Func, _ []value.Value) (value.Value, error) {
	return value.Cast(value.Str(x.r.Now().UTC().Format("2006-01-02T00:00:00Z")), datetimeType, nil)
}

func datetime(_ *runner, f *gql.Func, a []value.Value) (value.Value, error) {
	if a[0].Kind() != value.KindString {
		return value.None, wrong(f, "a string", a[0])
	}
	return readDatetime(a[0].Str(), f.Name == "DATE")
}

func duration(_ *runner, f *gql.Func, a []value.Value) (value.Value, error) {
	if a[0].Kind() != value.KindString {
		return value.None, wrong(f, "a string", a[0])
	}
	return readDuration(a[0].Str())
}

func between(_ *runner, f *gql.Func, a []value.Value) (value.Value, error) {
	for _, v := range a {
		if v.Kind() != value.KindDatetime {
			return value.None, wrong(f, "two datetimes", v)
		}
	}
	d, ok := a[1].Datetime().Since(a[0].Datetime())
	if !ok {
		return value.None, errs.Internal("A duration cannot be negative or that long")
	}
	return value.DurationOf(d), nil
}
