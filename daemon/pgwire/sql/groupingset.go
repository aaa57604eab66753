package sql

import (
	"slices"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// mostGroupingSets is how many grouping sets a query may have, mostCube how many elements CUBE, and mostGrouping how
// many arguments GROUPING.
const (
	mostGroupingSets = 4096
	mostCube         = 12
	mostGrouping     = 31
)

// groupBy reads the list of GROUP BY.
func (p *parser) groupBy(c *core) {
	if c.groupDistinct = p.eat("distinct"); !c.groupDistinct {
		p.eat("all")
	}
	c.group = p.groupItems(true)
}

// groupItems reads elements of GROUP BY or of a grouping set; with nested also those that are grouping sets themselves.
func (p *parser) groupItems(nested bool) []Expr {
	defer p.down()()
	var out []Expr
	for {
		out = append(out, p.groupItem(nested))
		if !p.eat(",") {
			return out
		}
	}
}

// groupItem reads one element: an expression, several in parentheses, or ROLLUP, CUBE and GROUPING SETS.
func (p *parser) groupItem(nested bool) Expr {
	at := p.place(p.peek().Pos)
	if nested {
		for _, kind := range []string{"rollup", "cube"} {
			if p.eat(kind, "(") {
				s := &groupingSet{kind: kind, list: p.groupItems(false), at: at}
				p.want(")")
				return s
			}
		}
		if p.eat("grouping", "sets", "(") {
			s := &groupingSet{kind: "sets", list: p.groupItems(true), at: at}
			p.want(")")
			return s
		}
		if p.eat("(", ")") {
			return &groupingSet{kind: "list", at: at}
		}
	}
	parenthesis := p.at("(")
	x := p.expr()
	if row, ok := x.(*rowExpr); ok && parenthesis {
		return &groupingSet{kind: "list", list: row.elems, at: at}
	}
	return x
}

// groups binds GROUP BY: expressions, places of them in the list or names of them, and the grouping sets that they
// make.
func (b *binder) groups(c *core, items []item, agg *aggregation, ns, outer *names) error {
	g := &grouper{b: b, items: items, agg: agg, index: map[string]int{},
		plain: &names{cols: ns.cols, outer: outer, where: "GROUP BY"}}
	all := [][]int{nil}
	several := false
	for _, x := range c.group {
		sets, err := g.sets(x)
		if err != nil {
			return err
		}
		_, is := x.(*groupingSet)
		several = several || is
		if len(all)*len(sets) > mostGroupingSets {
			return tooManySets()
		}
		next := make([][]int, 0, len(all)*len(sets))
		for _, l := range all {
			for _, r := range sets {
				next = append(next, union(l, r))
			}
		}
		all = next
	}
	if several {
		agg.sets = all
	}
	if c.groupDistinct {
		agg.sets = nil
		for _, s := range all {
			if !slices.ContainsFunc(agg.sets, func(o []int) bool { return slices.Equal(o, s) }) {
				agg.sets = append(agg.sets, s)
			}
		}
	}
	return nil
}

func tooManySets() error {
	return sqlstate.New(sqlstate.TooDeep, "too many grouping sets present (maximum %d)", mostGroupingSets)
}

// union are the numbers of l and r, in order.
func union(l, r []int) []int {
	out := slices.Concat(l, r)
	slices.Sort(out)
	return slices.Compact(out)
}

// grouper binds the elements of GROUP BY. Its sets are lists of numbers of agg.groups.
type grouper struct {
	b     *binder
	items []item
	agg   *aggregation
	index map[string]int // by the key of the expression
	plain *names
}

// sets are the grouping sets of an element.
func (g *grouper) sets(x Expr) ([][]int, error) {
	s, ok := x.(*groupingSet)
	if !ok {
		i, err := g.one(x)
		return [][]int{{i}}, err
	}
	if s.kind == "cube" && len(s.list) > mostCube {
		return nil, sqlstate.New(sqlstate.TooManyColumns, "CUBE is limited to %d elements", mostCube).At(s.at)
	}
	parts := make([][][]int, len(s.list))
	for i, e := range s.list {
		var err error
		if parts[i], err = g.sets(e); err != nil {
			return nil, err
		}
	}
	var out [][]int
	switch s.kind {
	case "list":
		out = [][]int{nil}
		for _, p := range parts {
			out[0] = union(out[0], p[0])
		}
	case "rollup":
		out = [][]int{nil}
		for _, p := range parts {
			out = append(out, union(out[len(out)-1], p[0]))
		}
		slices.Reverse(out)
	case "cube":
		out = [][]int{nil}
		for _, p := range parts {
			for _, o := range out {
				out = append(out, union(o, p[0]))
			}
		}
		slices.Reverse(out)
	default:
		for _, p := range parts {
			out = append(out, p...)
		}
	}
	if len(out) > mostGroupingSets {
		return nil, tooManySets()
	}
	return out, nil
}

// one is the number of an expression of GROUP BY.
func (g *grouper) one(x Expr) (int, error) {
	e, err := g.expr(x)
	if err != nil {
		return 0, err
	}
	if i, ok := g.index[e.key]; ok && !e.varies {
		return i, nil
	}
	i := len(g.agg.groups)
	g.index[e.key] = i
	g.agg.groups = append(g.agg.groups, e)
	return i, nil
}

// expr binds an expression, the place of one in the list, or the name of one.
func (g *grouper) expr(x Expr) (*bound, error) {
	n, ok, err := placeOf(x, "GROUP BY", len(g.items))
	if err != nil {
		return nil, err
	}
	if ok {
		return g.b.expr(g.items[n].x, g.plain)
	}
	e, err := g.b.expr(x, g.plain)
	if ref, ok := x.(*colRef); err != nil && ok && len(ref.parts) == 1 {
		for _, it := range g.items {
			if it.alias == ref.parts[0] {
				e, err = g.b.expr(it.x, g.plain)
			}
		}
	}
	return e, err
}

// grouping binds GROUPING: a number with a bit for each argument, the last one lowest, that is set where the grouping
// set of the row has not the argument.
func (b *binder) grouping(c *call, ns *names) (*bound, error) {
	switch {
	case len(c.args) == 0 || c.star || c.distinct || c.over != nil || c.filter != nil || c.order != nil ||
		c.within != nil:
		return nil, sqlstate.New(sqlstate.SyntaxError, "GROUPING takes a list of expressions").At(c.pos)
	case ns.aggs == nil:
		return nil, sqlstate.New(sqlstate.GroupingError, "grouping operations are not allowed in %s", ns.where).At(c.pos)
	case len(c.args) > mostGrouping:
		return nil, sqlstate.New(sqlstate.TooManyArguments, "GROUPING must have fewer than %d arguments",
			mostGrouping+1).At(c.pos)
	}
	plain := &names{cols: ns.cols, outer: ns.outer, where: "GROUPING"}
	numbers := make([]int, len(c.args))
	out := &bound{oid: pgtype.Int4, name: "grouping", key: "grouping("}
	for i, x := range c.args {
		e, err := b.expr(x, plain)
		if err != nil {
			return nil, err
		}
		n, ok := ns.groups[e.key]
		if !ok {
			return nil, sqlstate.New(sqlstate.GroupingError,
				"arguments to GROUPING must be grouping expressions of the associated query level").At(c.pos)
		}
		numbers[i] = n
		out.key = keyed(out.key, itoa(n), ",")
	}
	agg := ns.aggs
	out.eval = func(s *scope) (value.Value, error) {
		if agg.sets == nil {
			return value.Int(0), nil
		}
		set := agg.sets[s.aggs[len(agg.groups)+len(agg.calls)].Int()]
		bits := int64(0)
		for _, n := range numbers {
			bits <<= 1
			if _, in := slices.BinarySearch(set, n); !in {
				bits |= 1
			}
		}
		return value.Int(bits), nil
	}
	return out, nil
}

// shared is how many rows begin without a row of input: one for each grouping set that has no expression.
func (a *aggregation) shared() (sets []int) {
	if a.sets == nil && len(a.groups) == 0 {
		return []int{0}
	}
	for i, s := range a.sets {
		if len(s) == 0 {
			sets = append(sets, i)
		}
	}
	return sets
}

// setKey appends to room what tells the group of a grouping set apart that a row with these values is in.
func (a *aggregation) setKey(set int, row []value.Value, room []byte) []byte {
	if a.sets == nil {
		for _, v := range row {
			room = append(appendKey(room, v), 2)
		}
		return room
	}
	room = append(append(room, itoa(set)...), 2)
	for _, i := range a.sets[set] {
		room = append(appendKey(room, row[i]), 2)
	}
	return room
}

// setValues are the values of the expressions of a grouping set in a row, and NULL for the others.
func (a *aggregation) setValues(set int, row []value.Value) []value.Value {
	if a.sets == nil {
		return detached(row)
	}
	keys := make([]value.Value, len(row))
	for _, i := range a.sets[set] {
		keys[i] = value.Detach(row[i])
	}
	return keys
}
