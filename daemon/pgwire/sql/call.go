package sql

import (
	"slices"
	"strings"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// function finds a function by its name.
func (b *binder) function(c *call) *Function {
	if f := functions()[c.name]; f != nil {
		return f
	}
	return b.env.Function(c.name)
}

// hasAggregate reports whether an expression calls an aggregate of its own query.
func hasAggregate(x Expr, b *binder) bool {
	any := func(list ...Expr) bool {
		return slices.ContainsFunc(list, func(e Expr) bool { return e != nil && hasAggregate(e, b) })
	}
	switch x := x.(type) {
	case *call:
		if x.over != nil {
			inOrder := slices.ContainsFunc(x.over.order, func(k orderKey) bool { return hasAggregate(k.x, b) })
			return any(x.args...) || any(x.over.partition...) || inOrder
		}
		return x.isAggregate() || any(x.args...)
	case *unary:
		return any(x.x)
	case *binary:
		return any(x.l, x.r)
	case *cast:
		return any(x.x)
	case *caseExpr:
		for _, w := range x.whens {
			if any(w[0], w[1]) {
				return true
			}
		}
		return any(x.x, x.els)
	case *isTest:
		return any(x.x)
	case *inTest:
		return any(append([]Expr{x.x}, x.list...)...)
	case *between:
		return any(x.x, x.low, x.high)
	case *anyTest:
		return any(x.x, x.arr)
	case *arrayLit:
		return any(x.elems...)
	case *rowExpr:
		return any(x.elems...)
	case *index:
		return any(x.x, x.lo, x.hi)
	case *fieldOf:
		return any(x.x)
	}
	return false
}

// call binds the call of a function.
func (b *binder) call(c *call, ns *names) (*bound, error) {
	if c.names != nil {
		var err error
		if c, err = b.positional(c, ns); err != nil {
			return nil, err
		}
	}
	switch {
	case c.name == "grouping" && c.schema == "":
		return b.grouping(c, ns)
	case c.over != nil:
		return b.windowCall(c, ns)
	case c.isAggregate():
		return b.aggregate(c, ns)
	case c.distinct || c.star || c.filter != nil || len(c.order) > 0:
		return nil, sqlstate.New(sqlstate.WrongObject, "%s is not an aggregate function", c.name).At(c.pos)
	}
	if rankings[c.name] != nil {
		return nil, sqlstate.New(sqlstate.WrongObject, "window function %s requires an OVER clause", c.name).At(c.pos)
	}
	if special := specials[c.name]; special != nil {
		return special(b, c, ns)
	}
	fn := b.function(c)
	args, oids, err := b.args(c, fn, ns)
	if err != nil {
		return nil, err
	}
	if fn == nil || len(args) < fn.Min || fn.Max >= 0 && len(args) > fn.Max || !fn.takes(oids) {
		return nil, noFunction(c, oids)
	}
	for i, a := range args {
		if makesJSON(c.name) {
			args[i] = jsonArgument(a)
		}
	}
	out := &bound{oid: fn.Type(oids), name: c.name, fields: fn.Fields, key: c.name + "("}
	for _, a := range args {
		out.key = keyed(out.key, a.key, ",")
	}
	out.uses(args...)
	out.varies = out.varies || fn.Varies
	eval := func(s *scope) (value.Value, error) {
		vs, err := evalAll(args, s)
		if err != nil {
			return value.None, err
		}
		if !fn.Nulls && slices.ContainsFunc(vs, value.Value.IsNone) {
			return value.None, nil
		}
		v, err := fn.Eval(&Call{Ctx: s.rt.ctx, Env: s.rt.env, Args: vs, OIDs: oids})
		if err != nil {
			return value.None, err
		}
		return v, small(v)
	}
	if out.eval = eval; !fn.Set {
		return out, nil
	}
	out.setArgs = eval
	if ns.sets == nil {
		return nil, sqlstate.New(sqlstate.FeatureNotSupported, "set-returning functions are not allowed in %s",
			ns.where)
	}
	i := len(*ns.sets)
	*ns.sets = append(*ns.sets, &setCall{eval})
	out.eval = func(s *scope) (value.Value, error) {
		if i < len(s.sets) {
			return s.sets[i], nil
		}
		return value.None, nil
	}
	out.key = "set " + itoa(i)
	return out, nil
}

// noFunction is the error of a call of a function that does not exist.
func noFunction(c *call, oids []pgtype.OID) error {
	types := make([]string, len(oids))
	for i, oid := range oids {
		if types[i] = pgtype.Format(oid); i < len(c.names) && c.names[i] != "" {
			types[i] = c.names[i] + " => " + types[i]
		}
	}
	return sqlstate.New(sqlstate.UndefinedFunction, "function %s(%s) does not exist", c.name,
		strings.Join(types, ", ")).At(c.pos).
		Hinted("No function matches the given name and argument types. You might need to add explicit type casts.")
}

// takes reports whether the function has arguments of these types.
func (f *Function) takes(oids []pgtype.OID) bool {
	for i := 0; f.Typed && i < len(oids); i++ {
		want := f.Args[min(i, len(f.Args)-1)]
		if oids[i] != want && !(pgtype.IsInt(oids[i]) && pgtype.IsInt(want)) {
			return false
		}
	}
	return true
}

// positional is a call whose arguments have names, with all of them where they belong.
func (b *binder) positional(c *call, ns *names) (*call, error) {
	given, first := map[string]Expr{}, 0
	for i, name := range c.names {
		switch {
		case name == "" && len(given) > 0:
			return nil, sqlstate.New(sqlstate.SyntaxError, "positional argument cannot follow named argument").At(c.pos)
		case name == "":
			first++
		case given[name] != nil:
			return nil, sqlstate.New(sqlstate.SyntaxError, "argument name %q used more than once", name).At(c.pos)
		default:
			given[name] = c.args[i]
		}
	}
	if fn := b.function(c); fn != nil {
		if args := fn.placed(c.args[:first], given); args != nil {
			out := *c
			out.names, out.args = nil, args
			return &out, nil
		}
	}
	_, oids, err := b.args(c, nil, ns)
	if err != nil {
		return nil, err
	}
	return nil, noFunction(c, oids)
}

// placed are the arguments of a call that begins with those of first, and gives others by their names; nil: there is no
// such call.
func (f *Function) placed(first []Expr, given map[string]Expr) []Expr {
	if len(first) > len(f.Names) {
		return nil
	}
	args, found := slices.Clone(first), 0
	for i := len(first); i < len(f.Names) && found < len(given); i++ {
		x, ok := given[f.Names[i]]
		switch {
		case ok:
			found++
		case i < f.Min:
			return nil
		default:
			x = &literal{value.Int(0), pgtype.Int4}
		}
		args = append(args, x)
	}
	if found < len(given) {
		return nil
	}
	return args
}

// makesJSON reports whether a function makes JSON of its arguments.
func makesJSON(name string) bool {
	return strings.Contains(name, "to_json") || strings.HasPrefix(name, "json")
}

// rowObject is a row as an object of JSON.
func rowObject(x *bound) *bound {
	out := *x
	out.oid, out.whole = pgtype.JSON, nil
	out.eval = func(s *scope) (value.Value, error) {
		v, err := x.eval(s)
		if err != nil || v.IsNone() {
			return value.None, err
		}
		o := value.NewObject()
		for i, f := range elems(v) {
			if f = asJSON(s.rt.env, f, x.fields[i].OID); f.IsNone() {
				f = value.Null
			}
			o = o.With(x.fields[i].Name, f)
		}
		return value.ObjectOf(o), nil
	}
	return &out
}

// setCall is a function in the list of a SELECT that gives a set.
type setCall struct {
	eval func(s *scope) (value.Value, error)
}

// args binds the arguments of a function.
func (b *binder) args(c *call, fn *Function, ns *names) (args []*bound, oids []pgtype.OID, err error) {
	for _, x := range c.args {
		a, err := b.expr(x, ns)
		if err != nil {
			return nil, nil, err
		}
		args, oids = append(args, a), append(oids, a.oid)
	}
	var wants []pgtype.OID
	if fn != nil {
		wants = fn.Args
		if fn.Resolve != nil && len(args) > 0 {
			if resolved := fn.Resolve(oids); resolved != nil {
				wants = resolved
			}
		}
	}
	for i, a := range args {
		want := pgtype.OID(0)
		if len(wants) > 0 {
			want = wants[min(i, len(wants)-1)]
		}
		switch {
		case want != 0 && (a.oid == pgtype.Unknown || !fn.Keep && want != a.oid && convertible(a.oid, want)):
			a, err = b.coerce(a, want)
		case a.oid == pgtype.Unknown:
			a, err = b.coerce(a, pgtype.Text)
		}
		if err != nil {
			return nil, nil, err
		}
		args[i], oids[i] = a, a.oid
	}
	return args, oids, nil
}

// convertible reports whether an argument is converted without a cast.
func convertible(from, to pgtype.OID) bool {
	return rank(from) > 0 && rank(to) > rank(from) || pgtype.IsText(from) && to == pgtype.Text || isTime(from) &&
		to == pgtype.Timestamptz
}

// specials are functions that are bound in a way of their own.
var specials map[string]func(b *binder, c *call, ns *names) (*bound, error)

func init() {
	specials = map[string]func(b *binder, c *call, ns *names) (*bound, error){
		"coalesce": (*binder).coalesce, "nullif": (*binder).nullif, "greatest": (*binder).extreme,
		"least": (*binder).extreme, "date_bin": (*binder).dateBin, "overlaps": (*binder).bindOverlaps,
	}
}

// alike binds arguments and makes them of one type.
func (b *binder) alike(c *call, ns *names) ([]*bound, pgtype.OID, error) {
	if len(c.args) == 0 {
		return nil, 0, sqlstate.New(sqlstate.SyntaxError, "%s needs an argument", c.name).At(c.pos)
	}
	args := make([]*bound, len(c.args))
	oid := pgtype.OID(0)
	for i, x := range c.args {
		var err error
		if args[i], err = b.expr(x, ns); err != nil {
			return nil, 0, err
		}
		was := oid
		if oid = common(oid, args[i].oid); oid == 0 {
			return nil, 0, sqlstate.New(sqlstate.TypeMismatch, "%s types %s and %s cannot be matched",
				strings.ToUpper(c.name),
				pgtype.Format(was), pgtype.Format(args[i].oid)).At(c.pos)
		}
	}
	if oid == pgtype.Unknown {
		oid = pgtype.Text
	}
	for i := range args {
		var err error
		if args[i], err = b.coerce(args[i], oid); err != nil {
			return nil, 0, err
		}
	}
	return args, oid, nil
}

func keyOf(c *call, args []*bound) string {
	k := c.name + "("
	for _, a := range args {
		k = keyed(k, a.key, ",")
	}
	return k
}

func (b *binder) coalesce(c *call, ns *names) (*bound, error) {
	args, oid, err := b.alike(c, ns)
	if err != nil {
		return nil, err
	}
	out := &bound{oid: oid, name: c.name, key: keyOf(c, args)}
	out.eval = func(s *scope) (value.Value, error) {
		for _, a := range args {
			v, err := a.eval(s)
			if err != nil || !v.IsNone() {
				return v, err
			}
		}
		return value.None, nil
	}
	return out.uses(args...), nil
}

func (b *binder) nullif(c *call, ns *names) (*bound, error) {
	if len(c.args) != 2 {
		return nil, sqlstate.New(sqlstate.SyntaxError, "NULLIF needs two arguments").At(c.pos)
	}
	first, err := b.expr(c.args[0], ns)
	if err != nil {
		return nil, err
	}
	args, oid, err := b.alike(c, ns)
	if err != nil {
		return nil, err
	}
	if first.oid == pgtype.Unknown {
		first = args[0]
	}
	out := &bound{oid: first.oid, name: c.name, key: keyOf(c, args)}
	out.eval = func(s *scope) (value.Value, error) {
		x, err := args[0].eval(s)
		if err != nil || x.IsNone() {
			return value.None, err
		}
		y, err := args[1].eval(s)
		if err != nil {
			return value.None, err
		}
		if !y.IsNone() && order(oid, x, y) == 0 {
			return value.None, nil
		}
		return first.eval(s)
	}
	return out.uses(args...), nil
}

func (b *binder) extreme(c *call, ns *names) (*bound, error) {
	args, oid, err := b.alike(c, ns)
	if err != nil {
		return nil, err
	}
	sign := 1
	if c.name == "least" {
		sign = -1
	}
	out := &bound{oid: oid, name: c.name, key: keyOf(c, args)}
	out.eval = func(s *scope) (value.Value, error) {
		best := value.None
		for _, a := range args {
			v, err := a.eval(s)
			if err != nil {
				return value.None, err
			}
			if !v.IsNone() && (best.IsNone() || order(oid, v, best)*sign > 0) {
				best = v
			}
		}
		return best, nil
	}
	return out.uses(args...), nil
}
