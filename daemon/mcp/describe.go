package mcp

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

// The numbers of the tool describe. A token is about four bytes of JSON.
const (
	tokens       = 2000
	mostTokens   = 50_000
	tokenBytes   = 4
	mostExamples = 5
	countedTo    = 10_000 // records that are counted; more are said to be more
	exampleBytes = 2 << 10
	frameBytes   = 112 // of what stands around the tables, the hint included
)

// described is one table, part by part in the order in which they are left out where they do not fit.
type described struct {
	name string
	def  value.Value // of INFO FOR DB STRUCTURE
	// levels are forms of the table, from the shortest to the fullest.
	levels []object
}

// runDescribe tells about tables. Every table is named before any is told more of.
func runDescribe(ctx context.Context, c *call) (*outcome, error) {
	budget, examples, err := c.describeArgs()
	if err != nil {
		return nil, err
	}
	if err := c.placed(ast.InfoDatabase); err != nil {
		return nil, err
	}
	tables, err := c.toDescribe(ctx)
	if err != nil {
		return nil, err
	}
	ns, db := c.engine.Place()
	out := object{"namespace": ns, "database": db}
	left := budget*tokenBytes - len(encode(out)) - frameBytes
	shown, cut := make([]object, 0, len(tables)), false
	sizes := make([]int, 0, len(tables))
	for i := range tables {
		short := object{"name": tables[i].name}
		n := len(encode(short)) + 1
		if left -= n; left < 0 {
			out["more_tables"], cut = len(tables)-i, true
			break
		}
		shown, sizes = append(shown, short), append(sizes, n)
	}
	for i := range shown {
		if left < 64 || ctx.Err() != nil {
			cut = true
			break
		}
		if err := c.describe(ctx, &tables[i], examples); err != nil {
			return nil, err
		}
		fits := false
		for _, form := range slices.Backward(tables[i].levels) {
			n := len(encode(form)) + 1
			if n-sizes[i] <= left {
				left -= n - sizes[i]
				shown[i], fits = form, true
				cut = cut || n < len(encode(tables[i].levels[len(tables[i].levels)-1]))
				break
			}
		}
		cut = cut || !fits
	}
	out["tables"], out["truncated"] = shown, cut
	if cut {
		out["hint"] = "Raise max_tokens, or name tables"
	}
	structured := out
	return &outcome{structured: structured, text: string(encode(structured))}, nil
}

func (c *call) describeArgs() (budget, examples int, err error) {
	n, ok, err := c.args.count("max_tokens")
	if err != nil {
		return 0, 0, err
	}
	budget = tokens
	if ok {
		budget = int(min(max(n, 100), mostTokens))
	}
	if n, ok, err = c.args.count("examples"); err != nil {
		return 0, 0, err
	}
	examples = 1
	if ok {
		examples = int(min(n, mostExamples))
	}
	return budget, examples, nil
}

// toDescribe are the tables of the database, or those of them that the arguments name.
func (c *call) toDescribe(ctx context.Context) ([]described, error) {
	var names []string
	if raw, ok := c.args["tables"]; ok && json.Unmarshal(raw, &names) != nil {
		return nil, badParams("`tables` must be a list of names")
	}
	v, err := c.one(ctx, "INFO FOR DB STRUCTURE", nil)
	if err != nil {
		return nil, err
	}
	defs, _ := v.Object().Get("tables")
	var out []described
	for _, def := range defs.Elems() {
		name, _ := def.Object().Get("name")
		if len(names) == 0 || slices.Contains(names, name.Str()) {
			out = append(out, described{name: name.Str(), def: def})
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(out, func(d described) bool { return d.name == name }) {
			return nil, badParams("There is no table `%s` in the database", name)
		}
	}
	slices.SortFunc(out, func(a, b described) int { return strings.Compare(a.name, b.name) })
	return out, nil
}

// describe fills in the forms of a table. What the client may not see of it is left out.
func (c *call) describe(ctx context.Context, t *described, examples int) error {
	base := object{"name": t.name}
	if kind := kindOf(t.def); kind != nil {
		for k, v := range kind {
			base[k] = v
		}
	}
	table := value.Field{Name: "_table", Value: value.Str(t.name)}
	if v, err := c.one(ctx, "RETURN count(SELECT VALUE id FROM type::table($_table) LIMIT $_most)",
		bound(table, value.Field{Name: "_most", Value: value.Int(countedTo + 1)})); err == nil {
		base["records"] = json.RawMessage(value.AppendJSON(nil, v))
		if v.Kind() == value.KindInt && v.Int() > countedTo {
			base["records"] = "more than 10000"
		}
	}
	withFields, whole := clone(base), clone(base)
	if v, err := c.one(ctx, ast.Text(&ast.Info{Level: ast.InfoTable, Name: &ast.Name{Ident: t.name},
		Structure: true}), nil); err == nil {
		fields, indexes := typesOf(v), indexesOf(v)
		for _, form := range [...]object{withFields, whole} {
			if len(fields) > 0 {
				form["fields"] = fields
			}
			if len(indexes) > 0 {
				form["indexes"] = indexes
			}
		}
	}
	t.levels = []object{base, withFields}
	if examples == 0 {
		return ctxError(ctx, c)
	}
	v, err := c.one(ctx, "SELECT * FROM type::table($_table) LIMIT $_most",
		bound(table, value.Field{Name: "_most", Value: value.Int(int64(examples))}))
	if err == nil && v.Kind() == value.KindArray && v.Len() > 0 {
		var rows []json.RawMessage
		for _, row := range v.Elems() {
			if raw := value.AppendJSON(nil, row); len(raw) <= exampleBytes {
				rows = append(rows, raw)
			}
		}
		if len(rows) > 0 {
			whole["examples"] = rows
			t.levels = append(t.levels, whole)
		}
	}
	return ctxError(ctx, c)
}

func ctxError(ctx context.Context, c *call) error {
	if ctx.Err() == nil {
		return nil
	}
	return c.cause(ctx, ctx.Err())
}

func clone(o object) object {
	out := make(object, len(o)+2)
	for k, v := range o {
		out[k] = v
	}
	return out
}

// kindOf returns the kind in the definition of a table: an edge, with its ends, or a view.
func kindOf(def value.Value) object {
	kind, _ := def.Object().Get("kind")
	if kind.Kind() != value.KindObject {
		return nil
	}
	out := object{}
	for from, to := range map[string]string{"in": "from", "out": "to"} {
		if v, ok := kind.Object().Get(from); ok && !v.IsNullish() {
			out[to] = json.RawMessage(value.AppendJSON(nil, v))
		}
	}
	if name, _ := kind.Object().Get("kind"); name.Kind() == value.KindString && name.Str() == "RELATION" {
		out["edge"] = true
	}
	if full, _ := def.Object().Get("schemafull"); full.Kind() == value.KindBool && full.Bool() {
		out["schemafull"] = true
	}
	if view, ok := def.Object().Get("view"); ok && !view.IsNullish() {
		out["view"] = json.RawMessage(value.AppendJSON(nil, view))
	}
	return out
}

// typesOf are the fields of a table with their types.
func typesOf(v value.Value) map[string]string {
	out := map[string]string{}
	fields, _ := v.Object().Get("fields")
	for _, f := range fields.Elems() {
		name, _ := f.Object().Get("name")
		kind, _ := f.Object().Get("kind")
		if kind.Kind() != value.KindString {
			kind = value.Str("any")
		}
		out[name.Str()] = kind.Str()
	}
	return out
}

// indexesOf are the indexes of a table: their columns, and what they are.
func indexesOf(v value.Value) []object {
	var out []object
	indexes, _ := v.Object().Get("indexes")
	for _, x := range indexes.Elems() {
		one := object{}
		for _, part := range [...]string{"name", "cols", "index"} {
			if p, ok := x.Object().Get(part); ok && !p.IsNullish() {
				one[part] = json.RawMessage(value.AppendJSON(nil, p))
			}
		}
		out = append(out, one)
	}
	return out
}
