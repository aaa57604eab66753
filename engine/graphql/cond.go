package graphql

import (
	"slices"
	"strings"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

// conditions makes conditions of filters.
type conditions struct{ c *converter }

// mostIDs is how many ids one filter may list.
const mostIDs = 1000

// place is the path of a value in a row.
type place []ast.Part

func (p place) field(name string) place {
	return append(slices.Clip(p), &ast.PartField{Name: name})
}

func (p place) expr() ast.Expr { return &ast.Idiom{Parts: p} }

// record is the path of the record at a place; at the top that is the row itself.
func (p place) record() ast.Expr {
	if len(p) == 0 {
		return p.field("id").expr()
	}
	return p.expr()
}

func binary(op ast.BinaryOp, l, r ast.Expr) ast.Expr { return &ast.Binary{Op: op, L: l, R: r} }

// joined puts an operator between conditions, as a tree that is no deeper than it must be; nil for none.
func joined(op ast.BinaryOp, xs []ast.Expr) ast.Expr {
	switch n := len(xs); n {
	case 0:
		return nil
	case 1:
		return xs[0]
	default:
		return &ast.Paren{X: binary(op, joined(op, xs[:n/2]), joined(op, xs[n/2:]))}
	}
}

// table is the condition of a filter of a table's records, which are at a place.
func (q *conditions) table(o *object, v value.Value, at place) (ast.Expr, error) {
	if v.Kind() != value.KindObject || v.Object().Len() == 0 {
		return nil, resolving("Table filter must have at least one item")
	}
	var all []ast.Expr
	for _, m := range v.Object().Fields() {
		x, err := q.member(o, m.Name, m.Value, at)
		if err != nil {
			return nil, err
		}
		all = append(all, x)
	}
	return joined(ast.OpAnd, all), nil
}

func (q *conditions) member(o *object, name string, v value.Value, at place) (ast.Expr, error) {
	f := o.fields[name]
	switch name {
	case "id":
		return q.id(o, v, at)
	case "and", "or":
		return q.list(o, name, v, at)
	case "not":
		if v.Kind() != value.KindObject {
			return nil, resolving("Value of NOT must be object")
		}
		x, err := q.table(o, v, at)
		return &ast.Unary{Op: ast.OpNot, X: &ast.Paren{X: x}}, err
	}
	switch {
	case f == nil:
		return q.link(name, v, at)
	case f.edge != nil:
		return q.relation(f.edge, v, at)
	}
	return q.field(f, v, at.field(f.real))
}

func (q *conditions) list(o *object, name string, v value.Value, at place) (ast.Expr, error) {
	word, op := strings.ToUpper(name), ast.OpAnd
	if name == "or" {
		op = ast.OpOr
	}
	if v.Kind() != value.KindArray {
		return nil, resolving("Value of %s should be a list", word)
	}
	if v.Len() == 0 {
		return nil, resolving("List of %s should contain at least one object", word)
	}
	xs := make([]ast.Expr, v.Len())
	for i, e := range v.Elems() {
		if e.Kind() != value.KindObject {
			return nil, resolving("List of %s should contain objects", word)
		}
		var err error
		if xs[i], err = q.table(o, e, at); err != nil {
			return nil, err
		}
	}
	return joined(op, xs), nil
}

var compare = map[string]ast.BinaryOp{"eq": ast.OpEqual, "ne": ast.OpNotEqual, "gt": ast.OpMore, "gte": ast.OpMoreEqual,
	"lt": ast.OpLess, "lte": ast.OpLessEqual}

// id is the condition of a filter of ids.
func (q *conditions) id(o *object, v value.Value, at place) (ast.Expr, error) {
	if v.Kind() != value.KindObject || v.Object().Len() == 0 {
		return nil, resolving("ID filter must have at least one operator")
	}
	x := at.field("id").expr()
	var all []ast.Expr
	for _, m := range v.Object().Fields() {
		var one ast.Expr
		var err error
		switch m.Name {
		case "in":
			one, err = q.ids(x, m.Value, "`id.in`")
		case "range":
			one, err = q.idRange(x, m.Value)
		default:
			one, err = q.compareID(x, m.Name, m.Value)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return joined(ast.OpAnd, all), nil
}

func (q *conditions) compareID(x ast.Expr, op string, v value.Value) (ast.Expr, error) {
	o, ok := compare[op]
	if !ok {
		return nil, resolving("Unsupported ID filter operator: %s", op)
	}
	if v.IsNullish() {
		return binary(o, x, literalOf(value.None)), nil
	}
	id, err := q.c.id(v)
	return binary(o, x, literalOf(id)), err
}

func (q *conditions) ids(x ast.Expr, v value.Value, what string) (ast.Expr, error) {
	switch {
	case v.Kind() != value.KindArray:
		return nil, resolving("%s expected an array of IDs", what)
	case v.Len() == 0:
		return nil, resolving("%s must contain at least one ID", what)
	case v.Len() > mostIDs:
		return nil, resolving("%s accepts at most %d IDs (got %d)", what, mostIDs, v.Len())
	}
	ids := make([]value.Value, v.Len())
	for i, e := range v.Elems() {
		var err error
		if ids[i], err = q.c.id(e); err != nil {
			return nil, err
		}
	}
	return binary(ast.OpInside, x, literalOf(value.ArrayOf(ids))), nil
}

func (q *conditions) idRange(x ast.Expr, v value.Value) (ast.Expr, error) {
	if v.Kind() != value.KindObject {
		return nil, resolving("Value of `range` must be an object")
	}
	from, _ := v.Object().Get("from")
	to, _ := v.Object().Get("to")
	inclusive, _ := v.Object().Get("inclusive")
	var all []ast.Expr
	for _, end := range [...]struct {
		v  value.Value
		op string
	}{{from, "gte"}, {to, "lt"}} {
		if end.v.IsNullish() {
			continue
		}
		if end.op == "lt" && inclusive.Kind() == value.KindBool && inclusive.Bool() {
			end.op = "lte"
		}
		one, err := q.compareID(x, end.op, end.v)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	if len(all) == 0 {
		return nil, resolving("`range` requires at least one of `from` or `to`")
	}
	return joined(ast.OpAnd, all), nil
}

// link is an operator on the record at a place itself.
func (q *conditions) link(op string, v value.Value, at place) (ast.Expr, error) {
	switch op {
	case "eq", "ne":
		return q.compareID(at.record(), op, v)
	case "in":
		return q.ids(at.record(), v, "`in`")
	case "call":
		return q.call(at.record(), v)
	}
	return nil, resolving("Field `%s` not found", op)
}

// relation is the condition of a filter of the edges of a record.
func (q *conditions) relation(e *edge, v value.Value, at place) (ast.Expr, error) {
	if v.Kind() != value.KindObject || v.Object().Len() == 0 {
		return nil, resolving("Relation filter must have at least one operator")
	}
	dir := ast.DirOut
	if e.in {
		dir = ast.DirIn
	}
	step := &ast.PartGraph{Graph: &ast.Graph{Dir: dir, Tables: []ast.GraphTable{{Table: e.to.table}}}}
	count := builtin("array::len", place(append(slices.Clip(at), step)).expr())
	var all []ast.Expr
	for _, m := range v.Object().Fields() {
		if m.Name != "count" {
			return nil, resolving("Unsupported relation filter operator: %s", m.Name)
		}
		if m.Value.Kind() != value.KindObject {
			return nil, resolving("`count` must be an object of operators")
		}
		if m.Value.Object().Len() == 0 {
			return nil, resolving("`count` filter must have at least one operator")
		}
		for _, c := range m.Value.Object().Fields() {
			op, ok := compare[c.Name]
			if !ok {
				return nil, resolving("Unsupported count operator: %s", c.Name)
			}
			all = append(all, binary(op, count, literalOf(c.Value)))
		}
	}
	return joined(ast.OpAnd, all), nil
}

func builtin(name string, args ...ast.Expr) ast.Expr {
	return &ast.Call{Kind: ast.CallBuiltin, Path: name, Args: args}
}

// field is the condition of a filter of a field.
func (q *conditions) field(f *field, v value.Value, at place) (ast.Expr, error) {
	if v.Kind() != value.KindObject {
		return nil, resolving("Field filter should be object")
	}
	if v.Object().Len() == 0 {
		return nil, resolving("Field filter must have at least one operator")
	}
	if s := f.shape; s.kind == shapeLink && len(s.targets) == 1 {
		return q.table(s.targets[0], v, at)
	}
	var all []ast.Expr
	for _, m := range v.Object().Fields() {
		x, err := q.operator(f.shape, m.Name, m.Value, at.expr())
		if err != nil {
			return nil, err
		}
		all = append(all, x)
	}
	return joined(ast.OpAnd, all), nil
}

var textTests = map[string]string{"contains": "string::contains", "startsWith": "string::starts_with",
	"endsWith": "string::ends_with", "regex": "string::matches"}

func (q *conditions) operator(s *shape, name string, v value.Value, x ast.Expr) (ast.Expr, error) {
	switch name {
	case "call":
		return q.call(x, v)
	case "nearest":
		return q.nearest(x, v)
	case "similarity":
		return q.similarity(x, v)
	case "matches":
		text := member1(v, "query")
		if text.Kind() != value.KindString {
			return nil, resolving("`matches.query` must be a string")
		}
		return &ast.Binary{Op: ast.OpMatches, L: x, R: literalOf(text), Match: &ast.Match{}}, nil
	}
	if s.kind == shapeLink || s.input == "ID" || s.kind == shapeList && s.elem.input == "ID" {
		return q.links(name, v, x)
	}
	if test, ok := textTests[name]; ok && s.kind == shapeScalar {
		text, err := q.c.to(v, s)
		return present(x, builtin(test, x, literalOf(text))), err
	}
	if name == "in" {
		return q.within(s, v, x)
	}
	op, ok := compare[name]
	if !ok {
		return nil, resolving("Unsupported filter operator: %s", name)
	}
	if v.IsNullish() {
		return missing(op, x), nil
	}
	to, err := q.c.to(v, s)
	return binary(op, x, literalOf(to)), err
}

func (q *conditions) links(name string, v value.Value, x ast.Expr) (ast.Expr, error) {
	switch name {
	case "contains":
		id, err := q.c.id(v)
		return binary(ast.OpContains, x, literalOf(id)), err
	case "in":
		return q.ids(x, v, "`in`")
	case "eq", "ne":
		return q.compareID(x, name, v)
	}
	return nil, resolving("Unsupported filter operator: %s", name)
}

func (q *conditions) within(s *shape, v value.Value, x ast.Expr) (ast.Expr, error) {
	list, err := q.c.list(v, &shape{kind: shapeList, elem: &shape{kind: s.kind, name: s.name, typ: s.typ,
		enum: s.enum}})
	return binary(ast.OpInside, x, literalOf(list)), err
}

// present makes a condition hold only where there is a value.
func present(x, cond ast.Expr) ast.Expr {
	return binary(ast.OpAnd, binary(ast.OpNotEqual, x, literalOf(value.None)), cond)
}

// missing compares with no value at all, which NONE and NULL both are.
func missing(op ast.BinaryOp, x ast.Expr) ast.Expr {
	both := []ast.Expr{binary(op, x, literalOf(value.None)), binary(op, x, literalOf(value.Null))}
	if op == ast.OpNotEqual {
		return joined(ast.OpAnd, both)
	}
	return joined(ast.OpOr, both)
}

// member1 is a member of an input object; NONE where it is missing.
func member1(v value.Value, name string) value.Value {
	if v.Kind() != value.KindObject {
		return value.None
	}
	m, _ := v.Object().Get(name)
	return m
}

// call compares what a function gives with a value.
func (q *conditions) call(x ast.Expr, v value.Value) (ast.Expr, error) {
	name, args, to := member1(v, "fn"), member1(v, "args"), member1(v, "value")
	switch {
	case name.Kind() != value.KindString:
		return nil, resolving("`call.fn` must be a string")
	case !args.IsNullish() && args.Kind() != value.KindArray:
		return nil, resolving("`call.args` must be a list")
	case to.IsNone():
		return nil, resolving("`call.value` is required")
	}
	op, ok := compare[value.ToString(member1(v, "op"))]
	if !ok {
		return nil, resolving("Unknown comparison op: %s", value.ToString(member1(v, "op")))
	}
	call := &ast.Call{Path: strings.ToLower(name.Str()), Args: []ast.Expr{x}}
	if path, custom := strings.CutPrefix(name.Str(), "fn::"); custom {
		call.Kind, call.Path = ast.CallCustom, path
	}
	if args.Kind() == value.KindArray {
		for _, a := range args.Elems() {
			call.Args = append(call.Args, literalOf(a))
		}
	}
	return binary(op, call, literalOf(to)), nil
}

func (q *conditions) nearest(x ast.Expr, v value.Value) (ast.Expr, error) {
	to, k := member1(v, "to"), member1(v, "k")
	switch {
	case to.Kind() != value.KindArray:
		return nil, resolving("`nearest` value must be an object")
	case k.Kind() != value.KindInt || k.Int() < 1:
		return nil, resolving("`nearest.k` must be an integer above 0")
	}
	distance := value.ToString(member1(v, "distance"))
	if !slices.Contains(distances, distance) {
		return nil, resolving("Unknown distance metric: %s", distance)
	}
	return &ast.Binary{Op: ast.OpKNN, L: x, R: literalOf(to), KNN: &ast.KNN{K: k.Int(), Distance: distance}}, nil
}

func (q *conditions) similarity(x ast.Expr, v value.Value) (ast.Expr, error) {
	distance := value.ToString(member1(v, "distance"))
	if !slices.Contains(distances, distance) {
		return nil, resolving("Unknown distance metric: %s", distance)
	}
	op, ok := compare[value.ToString(member1(v, "op"))]
	if !ok {
		return nil, resolving("Unknown comparison op: %s", value.ToString(member1(v, "op")))
	}
	family := "vector::distance::"
	switch distance {
	case "COSINE", "JACCARD", "PEARSON":
		family = "vector::similarity::"
	}
	f := builtin(family+strings.ToLower(distance), x, literalOf(member1(v, "to")))
	return present(x, binary(op, f, literalOf(member1(v, "value")))), nil
}
