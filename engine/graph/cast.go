package graph

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/nacredb/nacre/engine/decimal"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/gql"
	"github.com/nacredb/nacre/engine/value"
)

var datetimeType = mustType("datetime")

func mustType(name string) *value.Type {
	k, ok := value.TypeNamed(name)
	if !ok {
		panic("no type " + name)
	}
	return value.Simple(k)
}

func (b *binder) cast(e *gql.Cast, sc *scope) (evalFn, error) {
	f, err := b.expr(e.X, sc)
	t := e.Type
	return func(x *runner) (value.Value, error) {
		v, err := f(x)
		if err != nil {
			return value.None, err
		}
		v, err = castTo(v, t)
		if err != nil {
			return value.None, err
		}
		return x.r.Checked(v)
	}, err
}

// cannot is the error of a cast; it does not show the value.
func cannot(v value.Value, t *gql.Type) error {
	return errs.Internal("Cannot cast this %s to `%s`", kindName(v), t.Name)
}

// castTo is CAST(v AS t).
func castTo(v value.Value, t *gql.Type) (value.Value, error) {
	if v.IsNullish() {
		if t.NotNull {
			return value.None, errs.Internal("NULL cannot be cast to `%s`", t.Name)
		}
		return value.Null, nil
	}
	switch t.Kind {
	case gql.TypeAny:
		return v, nil
	case gql.TypeBool:
		return castBool(v, t)
	case gql.TypeString:
		return castString(v, t)
	case gql.TypeBytes:
		switch v.Kind() {
		case value.KindBytes:
			return v, nil
		case value.KindString:
			return value.BytesOf([]byte(v.Str())), nil
		}
	case gql.TypeInt:
		return castInt(v, t)
	case gql.TypeDecimal:
		return castDecimal(v, t)
	case gql.TypeFloat:
		return castFloat(v, t)
	case gql.TypeDatetime, gql.TypeLocalDatetime, gql.TypeDate:
		switch v.Kind() {
		case value.KindDatetime:
			if t.Kind != gql.TypeDate {
				return v, nil
			}
			return readDatetime(v.Datetime().String()[:10], true)
		case value.KindString:
			return readDatetime(strings.TrimSpace(v.Str()), t.Kind == gql.TypeDate)
		}
	case gql.TypeDuration:
		switch v.Kind() {
		case value.KindDuration:
			return v, nil
		case value.KindString:
			return readDuration(strings.TrimSpace(v.Str()))
		}
	case gql.TypeList:
		return castList(v, t)
	case gql.TypeRecord:
		if v.Kind() == value.KindObject {
			return v, nil
		}
	}
	return value.None, cannot(v, t)
}

func castBool(v value.Value, t *gql.Type) (value.Value, error) {
	switch v.Kind() {
	case value.KindBool:
		return v, nil
	case value.KindString:
		switch strings.ToLower(strings.TrimSpace(v.Str())) {
		case "true":
			return value.Bool(true), nil
		case "false":
			return value.Bool(false), nil
		}
	}
	return value.None, cannot(v, t)
}

func castString(v value.Value, t *gql.Type) (value.Value, error) {
	switch v.Kind() {
	case value.KindString:
		return v, nil
	case value.KindArray, value.KindObject, value.KindSet, value.KindClosure, value.KindBytes:
		return value.None, cannot(v, t)
	}
	return value.Str(value.ToString(v)), nil
}

// bounds are the least and the greatest int of a type.
func bounds(t *gql.Type) (low, high int64) {
	if t.Unsigned {
		if t.Bits >= 64 {
			return 0, math.MaxInt64
		}
		return 0, 1<<t.Bits - 1
	}
	if t.Bits >= 64 {
		return math.MinInt64, math.MaxInt64
	}
	return -1 << (t.Bits - 1), 1<<(t.Bits-1) - 1
}

func castInt(v value.Value, t *gql.Type) (value.Value, error) {
	n, ok := int64(0), false
	switch v.Kind() {
	case value.KindInt:
		n, ok = v.Int(), true
	case value.KindFloat:
		f := v.Float()
		n, ok = int64(f), f == math.Trunc(f) && f >= -1<<63 && f < 1<<63
	case value.KindDecimal:
		if v.Decimal().IsWhole() {
			n, ok = v.Decimal().Int()
		}
	case value.KindString:
		i, err := strconv.ParseInt(strings.TrimSpace(v.Str()), 10, 64)
		n, ok = i, err == nil
	}
	if low, high := bounds(t); !ok || n < low || n > high {
		return value.None, cannot(v, t)
	}
	return value.Int(n), nil
}

func castDecimal(v value.Value, t *gql.Type) (value.Value, error) {
	d, ok := decimal.Decimal{}, false
	switch v.Kind() {
	case value.KindInt:
		d, ok = decimal.FromInt(v.Int()), true
	case value.KindFloat:
		d, ok = decimal.FromFloat(v.Float())
	case value.KindDecimal:
		d, ok = v.Decimal(), true
	case value.KindString:
		x, err := decimal.Parse(strings.TrimSpace(v.Str()))
		d, ok = x, err == nil
	}
	if !ok || t.Unsigned && d.Sign() < 0 {
		return value.None, cannot(v, t)
	}
	return value.DecimalOf(d), nil
}

func castFloat(v value.Value, t *gql.Type) (value.Value, error) {
	switch {
	case v.Kind().IsNumber():
		return value.Float(v.AsFloat()), nil
	case v.Kind() == value.KindString:
		f, err := strconv.ParseFloat(strings.TrimSpace(v.Str()), 64)
		if err == nil && !math.IsNaN(f) && !math.IsInf(f, 0) {
			return value.Float(f), nil
		}
	}
	return value.None, cannot(v, t)
}

func castList(v value.Value, t *gql.Type) (value.Value, error) {
	if v.Kind() != value.KindArray && v.Kind() != value.KindSet {
		return value.None, cannot(v, t)
	}
	out := make([]value.Value, v.Len())
	for i, e := range v.Elems() {
		out[i] = e
		if t.Elem == nil {
			continue
		}
		var err error
		if out[i], err = castTo(e, t.Elem); err != nil {
			return value.None, err
		}
	}
	return value.ArrayOf(out), nil
}

// readDatetime reads an ISO 8601 datetime or date; without a zone it is in UTC.
func readDatetime(s string, date bool) (value.Value, error) {
	full := s
	if len(s) == len("2006-01-02") {
		full += "T00:00:00Z"
	} else if date {
		return value.None, errs.Internal("The text is no date")
	} else if t := strings.IndexAny(s, "Tt "); t > 0 && !strings.ContainsAny(s[t:], "Zz+-") {
		full = s[:t] + "T" + s[t+1:] + "Z"
	}
	d, err := value.ParseDatetime(full)
	if err != nil {
		return value.None, errs.Internal("The text is no datetime")
	}
	return value.DatetimeOf(d), nil
}

// isoDuration is a duration of days and smaller parts; weeks stand alone in the standard and are taken here with the
// rest.
var isoDuration = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^P(?:(\d{1,9})W)?(?:(\d{1,9})D)?` +
		`(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,12})(?:\.(\d{1,9}))?S)?)?$`)
})

// readDuration reads an ISO 8601 duration such as P1DT2H30M.
func readDuration(s string) (value.Value, error) {
	bad := errs.Internal("The text is no duration of days and smaller parts")
	if len(s) > 80 {
		return value.None, bad
	}
	m := isoDuration().FindStringSubmatch(strings.ToUpper(s))
	if m == nil || strings.HasSuffix(strings.ToUpper(s), "T") || len(s) < 3 {
		return value.None, bad
	}
	var text strings.Builder
	for i, unit := range [...]string{"w", "d", "h", "m", "s"} {
		if m[i+1] != "" {
			text.WriteString(m[i+1] + unit)
		}
	}
	if frac := m[6]; frac != "" {
		text.WriteString(strings.TrimLeft(frac+strings.Repeat("0", 9-len(frac)), "0") + "ns")
		if strings.HasSuffix(text.String(), "sns") { // all zeros
			return readDuration(strings.Split(s, ".")[0] + "S")
		}
	}
	d, err := value.ParseDuration(text.String())
	if err != nil {
		return value.None, bad
	}
	return value.DurationOf(d), nil
}

// hasType is the test IS TYPED.
func (x *runner) hasType(s *slot, t *gql.Type) (bool, error) {
	if s.kind == isNull {
		return !t.NotNull, nil
	}
	switch t.Kind {
	case gql.TypeNode:
		return s.kind == isNode, nil
	case gql.TypeEdge:
		return s.kind == isEdge, nil
	case gql.TypePath:
		return s.kind == isPath, nil
	}
	if s.kind == isNode || s.kind == isEdge {
		return t.Kind == gql.TypeAny, nil
	}
	v, err := x.value(s)
	if err != nil {
		return false, err
	}
	return typed(v, t), nil
}

func typed(v value.Value, t *gql.Type) bool {
	if v.IsNullish() {
		return !t.NotNull
	}
	k := v.Kind()
	switch t.Kind {
	case gql.TypeAny:
		return true
	case gql.TypeBool:
		return k == value.KindBool
	case gql.TypeString:
		return k == value.KindString
	case gql.TypeBytes:
		return k == value.KindBytes
	case gql.TypeInt:
		low, high := bounds(t)
		return k == value.KindInt && v.Int() >= low && v.Int() <= high
	case gql.TypeDecimal:
		return k == value.KindDecimal
	case gql.TypeFloat:
		return k == value.KindFloat
	case gql.TypeDatetime, gql.TypeLocalDatetime, gql.TypeDate:
		return k == value.KindDatetime
	case gql.TypeDuration:
		return k == value.KindDuration
	case gql.TypeRecord:
		return k == value.KindObject
	case gql.TypeList:
		if k != value.KindArray {
			return false
		}
		for _, e := range v.Elems() {
			if t.Elem != nil && !typed(e, t.Elem) {
				return false
			}
		}
		return true
	}
	return false
}
