package sql

import (
	"fmt"
	"math"
	"strconv"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// coerce makes x of type oid, as an assignment or an argument does: literals and parameters take it, others are
// converted.
func (b *binder) coerce(x *bound, oid pgtype.OID) (*bound, error) {
	switch {
	case oid == 0 || oid == pgtype.Unknown || x.oid == oid:
		return x, nil
	case x.param > 0:
		if b.params[x.param-1] == 0 {
			b.params[x.param-1] = oid
		}
		from := b.params[x.param-1]
		out := *x
		out.oid, out.param = from, 0
		return b.converted(&out, oid)
	case x.lit != nil && x.oid == pgtype.Unknown:
		if x.lit.IsNone() {
			out := constant(value.None, oid)
			out.name = x.name
			return out, nil
		}
		v, err := b.parse(oid, x.lit.Str())
		if err != nil {
			return nil, err
		}
		out := constant(v, oid)
		out.name = x.name
		return out, nil
	}
	return b.converted(x, oid)
}

// parse reads a literal of a type.
func (b *binder) parse(oid pgtype.OID, s string) (value.Value, error) {
	if pgtype.IsReg(oid) {
		if n, err := pgtype.Parse(pgtype.Oid, s, nil); err == nil {
			return n, nil
		}
		id, err := b.env.Object(oid, s)
		return value.Int(id), err
	}
	return pgtype.Parse(oid, s, b.env.Style())
}

// converted is x cast to a type at work.
func (b *binder) converted(x *bound, oid pgtype.OID) (*bound, error) {
	if x.oid == oid || sameForm(x.oid, oid) {
		out := *x
		out.oid = oid
		return &out, nil
	}
	if !castable(x.oid, oid) {
		return nil, sqlstate.New(sqlstate.CannotCoerce, "cannot cast type %s to %s", pgtype.Format(x.oid),
			pgtype.Format(oid))
	}
	from, eval := x.oid, x.eval
	out := &bound{oid: oid, name: x.name, key: keyed(x.key, "::", itoa(int(oid)))}
	out.uses(x)
	if x.lit != nil && !x.lit.IsNone() && pgtype.IsNumber(from) && pgtype.IsNumber(oid) {
		if v, err := castNumber(*x.lit, oid); err == nil { // once, not for each row
			known := constant(v, oid)
			out.eval, out.whole = known.eval, known.whole
			return out, nil
		}
	}
	out.eval = func(s *scope) (value.Value, error) {
		v, err := eval(s)
		if err != nil || v.IsNone() {
			return value.None, err
		}
		return castValue(s.rt.ctx, s.rt.env, v, from, oid)
	}
	return out, nil
}

// sameForm reports whether values of two types are the same.
func sameForm(a, b pgtype.OID) bool {
	text := func(oid pgtype.OID) bool {
		return oid == pgtype.Text || oid == pgtype.Varchar || oid == pgtype.Unknown || oid == pgtype.BPChar ||
			oid == pgtype.NodeTree
	}
	return text(a) && text(b)
}

func (b *binder) castExpr(x *cast, ns *names) (*bound, error) {
	oid, ok := pgtype.Named(x.to.name)
	if !ok {
		if rel, err := b.env.Relation("", x.to.name); err != nil {
			return nil, err
		} else if rel != nil {
			return nil, rowCast(x)
		}
		return nil, sqlstate.New(sqlstate.UndefinedObject, "type %q does not exist", x.to.name).At(x.to.pos)
	}
	if a, ok := x.x.(*arrayLit); ok && len(a.elems) == 0 && pgtype.IsArray(oid) {
		return constant(value.ArrayOf(nil), oid), nil
	}
	e, err := b.expr(x.x, ns)
	if err != nil {
		return nil, err
	}
	out := e
	if text := e.lit; oid == pgtype.Interval && e.oid == pgtype.Unknown && text != nil && !text.IsNone() {
		s, err := pgtype.ParseSpan(text.Str(), x.to.fields)
		if err != nil {
			return nil, err
		}
		out = constant(s.Value(), oid)
	} else if out, err = b.coerce(e, oid); err != nil {
		return nil, err
	}
	if out == e {
		copied := *e
		out = &copied
	}
	if err := narrow(out, oid, &x.to); err != nil {
		return nil, err
	}
	if e.name == "?column?" || e.name == "case" || e.weak {
		if elem := pgtype.ElemOf(oid); elem != 0 && !pgtype.IsVector(oid) {
			oid = elem
		}
		if t := pgtype.Lookup(oid); t != nil {
			out.name, out.weak = t.Name, true
		}
	}
	return out, nil
}

// narrow makes the values of x those of a type with modifiers.
func narrow(x *bound, oid pgtype.OID, to *typeName) error {
	limits, err := modifiers(oid, to.mods)
	if err != nil {
		return err
	}
	cutOff := modified(oid, limits, to.fields)
	if cutOff == nil {
		return nil
	}
	eval := x.eval
	*x = *x.altered(func(s *scope) (value.Value, error) {
		v, err := eval(s)
		if err != nil || v.IsNone() {
			return value.None, err
		}
		return cutOff(v)
	})
	if to.fields != (pgtype.Fields{}) {
		x.key = keyed(x.key, " ", fmt.Sprint(to.fields))
	}
	for _, n := range limits {
		x.key = keyed(x.key, "(", itoa(n), ")")
	}
	return nil
}

// modifiers are the numbers of the modifiers of a type.
func modifiers(oid pgtype.OID, mods []Token) ([]int, error) {
	limits := make([]int, len(mods))
	for i, m := range mods {
		n, err := strconv.Atoi(m.Text)
		if err != nil || n > 10485760 {
			return nil, sqlstate.New(sqlstate.InvalidParameter, "invalid modifier of type %s: %s", pgtype.Format(oid),
				m.Text)
		}
		limits[i] = n
	}
	return limits, nil
}

// modified is what a cast to a type with modifiers does besides: a longer text is cut, a number has so many digits
// behind its point. nil: nothing.
func modified(oid pgtype.OID, limits []int, fields pgtype.Fields) func(v value.Value) (value.Value, error) {
	switch {
	case oid == pgtype.Interval && (len(limits) == 1 || fields != (pgtype.Fields{})):
		return func(v value.Value) (value.Value, error) {
			s, err := pgtype.SpanOf(v)
			if err != nil {
				return value.None, err
			}
			if s = s.Cut(fields); len(limits) == 1 {
				s = s.Round(limits[0])
			}
			return s.Value(), nil
		}
	case oid == pgtype.Varchar && len(limits) == 1:
		return func(v value.Value) (value.Value, error) { return value.Str(cut(plain(v), limits[0], true)), nil }
	case oid == pgtype.Numeric && (len(limits) == 1 || len(limits) == 2):
		places := append(limits, 0)[1]
		whole := math.Pow10(limits[0] - places)
		return func(v value.Value) (value.Value, error) {
			out, err := round(&Call{Args: []value.Value{v, value.Int(int64(places))},
				OIDs: []pgtype.OID{oid, pgtype.Int4}})
			if err == nil && math.Abs(out.AsFloat()) >= whole {
				err = sqlstate.New(sqlstate.OutOfRange, "numeric field overflow")
			}
			return out, err
		}
	}
	return nil
}
