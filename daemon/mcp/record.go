package mcp

import (
	"context"
	"strings"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/parse"
	"github.com/nacredb/nacre/engine/value"
)

// The tools about records build the tree of one statement. Texts of clauses are parsed alone, each as its clause and
// nothing more; data is bound and never part of a text.

// maxClause is the longest text of a clause, in bytes.
const maxClause = 64 << 10

// dataParam is the parameter that the data of a statement is bound to.
const dataParam = "_data"

func data() ast.Expr { return &ast.Param{Name: dataParam} }

// clause parses text behind SELECT … FROM _ …, takes its part by take, and refuses what else stood in it.
func clause(before, text, after string, take func(*ast.Select)) error {
	if len(text) > maxClause {
		return errs.Validation("A clause has at most %d bytes", maxClause)
	}
	q, err := parse.Query(before+text+after, parse.Options{})
	if err != nil {
		return err
	}
	sel, ok := (*ast.Select)(nil), false
	if len(q.Stmts) == 1 {
		sel, ok = q.Stmts[0].(*ast.Select)
	}
	if !ok {
		return smuggled(text)
	}
	take(sel)
	if ast.Text(sel) != ast.Text(&ast.Select{Projections: all(), From: nowhere()}) {
		return smuggled(text)
	}
	return nil
}

func smuggled(text string) error {
	return errs.Validation("A clause must be that clause alone, not %s", errs.Brief(text, 64))
}

func all() *ast.Projections { return &ast.Projections{Fields: []ast.Projection{{All: true}}} }

func nowhere() []ast.Expr { return []ast.Expr{&ast.Table{Name: "_"}} }

const clauseStart = "SELECT * FROM _ "

// targets parses what FROM takes.
func (c *call) targets() ([]ast.Expr, error) {
	text, err := c.args.text("target")
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(text) == "" {
		return nil, badParams("Table name cannot be empty")
	}
	if list, err := record(text); err == nil {
		return []ast.Expr{list}, nil
	}
	var out []ast.Expr
	err = clause("SELECT * FROM ", text, "", func(s *ast.Select) { out, s.From = s.From, nowhere() })
	return out, err
}

// where parses the argument where_clause; nil where there is none.
func (c *call) where() (ast.Expr, error) {
	text, err := c.args.text("where_clause")
	if err != nil || text == "" {
		return nil, err
	}
	var out ast.Expr
	err = clause(clauseStart+"WHERE ", text, "", func(s *ast.Select) { out, s.Where = s.Where, nil })
	return out, err
}

// record reads a table or a record id. The error is a Fault.
func record(text string) (ast.Expr, error) {
	table, key, isRecord := cutRecord(text)
	name, err := identifier(table, "Table name cannot be empty")
	if err != nil {
		return nil, err
	}
	if !isRecord {
		return &ast.Table{Name: name}, nil
	}
	switch inner, ok := quoted(key); {
	case key == "" || ok && inner == "":
		return nil, badParams("Record id key cannot be empty")
	case ok:
		return &ast.RecordID{Table: name, Key: literal(value.Str(inner))}, nil
	}
	if err := plainKey(key); err != nil {
		return nil, err
	}
	if v, err := parse.Value("_:" + key); err == nil && v.Kind() == value.KindRecord {
		return &ast.RecordID{Table: name, Key: literal(v.Record().Key)}, nil
	}
	return &ast.RecordID{Table: name, Key: literal(value.Str(key))}, nil
}

// cutRecord cuts table:key at the first colon outside of backticks.
func cutRecord(text string) (table, key string, ok bool) {
	from := 0
	if strings.HasPrefix(text, "`") {
		if end := strings.IndexByte(text[1:], '`'); end >= 0 {
			from = end + 2
		}
	}
	i := strings.IndexByte(text[from:], ':')
	if i < 0 {
		return text, "", false
	}
	return text[:from+i], text[from+i+1:], true
}

// plainKey refuses a key that would need backticks.
func plainKey(key string) error {
	bad := key[0] == '-' || key[len(key)-1] == '-' || strings.Contains(key, "--") || len(key) > maxName
	for _, c := range []byte(key) {
		bad = bad || c != '_' && c != '-' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z')
	}
	if bad {
		return badParams("Identifier contains invalid characters")
	}
	return nil
}

func runSelect(ctx context.Context, c *call) (*outcome, error) {
	from, err := c.targets()
	if err != nil {
		return nil, err
	}
	sel := &ast.Select{Projections: all(), From: from}
	if sel.Where, err = c.where(); err != nil {
		return nil, err
	}
	for _, part := range [...]struct {
		arg, before, after string
		take               func(*ast.Select)
	}{
		{"fields", "SELECT ", " FROM _", func(s *ast.Select) {
			sel.Projections, sel.Omit = s.Projections, s.Omit
			s.Projections, s.Omit = all(), nil
		}},
		{"order_clause", clauseStart + "ORDER BY ", "", func(s *ast.Select) { sel.Order, s.Order = s.Order, nil }},
		{"group_clause", clauseStart + "GROUP ", "", func(s *ast.Select) { sel.Group, s.Group = s.Group, nil }},
		{"split_clause", clauseStart + "SPLIT ON ", "", func(s *ast.Select) { sel.Split, s.Split = s.Split, nil }},
		{"fetch_clause", clauseStart + "FETCH ", "", func(s *ast.Select) { sel.Fetch, s.Fetch = s.Fetch, nil }},
	} {
		text, err := c.args.text(part.arg)
		if err != nil {
			return nil, err
		}
		if strings.TrimSpace(text) == "" {
			continue
		}
		if part.arg == "group_clause" && !strings.EqualFold(strings.TrimSpace(text), "all") {
			part.before += "BY "
		}
		if err := clause(part.before, text, part.after, part.take); err != nil {
			return nil, err
		}
	}
	for arg, to := range map[string]*ast.Expr{"limit_clause": &sel.Limit, "start_clause": &sel.Start} {
		n, ok, err := c.args.count(arg)
		if err != nil {
			return nil, err
		}
		if ok {
			*to = literal(value.Int(int64(n)))
		}
	}
	return c.statement(ctx, ast.Text(sel), nil)
}

// one reads the argument target as a table or a record.
func (c *call) target(name string) (ast.Expr, error) {
	text, err := c.args.text(name)
	if err != nil {
		return nil, err
	}
	return record(text)
}

func runCreate(ctx context.Context, c *call) (*outcome, error) {
	what, err := c.target("target")
	if err != nil {
		return nil, err
	}
	st := &ast.Create{Targets: []ast.Expr{what}}
	vars := value.NewObject()
	if c.args.has("data") && string(c.args["data"]) != "null" {
		v, err := c.objectOf("data")
		if err != nil {
			return nil, err
		}
		st.Data, vars = &ast.Data{Kind: ast.DataContent, X: data()}, bound(value.Field{Name: dataParam, Value: v})
	}
	return c.statement(ctx, ast.Text(st), vars)
}

// objectOf is the argument name, which is an object.
func (c *call) objectOf(name string) (value.Value, error) {
	v, err := c.srv.typed(c.args[name])
	if err == nil && v.Kind() != value.KindObject {
		err = badParams("`%s` must be an object", name)
	}
	return v, err
}

func runInsert(ctx context.Context, c *call) (*outcome, error) {
	text, err := c.args.text("target")
	if err != nil {
		return nil, err
	}
	name, err := identifier(text, "Table name cannot be empty")
	if err != nil {
		return nil, err
	}
	v, err := c.srv.typed(c.args["data"])
	if err != nil {
		return nil, err
	}
	if v.Kind() != value.KindObject && v.Kind() != value.KindArray {
		return nil, badParams("`data` must be an object or a list of objects")
	}
	st := &ast.Insert{Into: &ast.Table{Name: name}, X: data()}
	if st.Ignore, err = c.args.flag("ignore"); err != nil {
		return nil, err
	}
	if st.Relation, err = c.args.flag("relation"); err != nil {
		return nil, err
	}
	return c.statement(ctx, ast.Text(st), bound(value.Field{Name: dataParam, Value: v}))
}

func runUpsert(ctx context.Context, c *call) (*outcome, error) { return c.change(ctx, true) }

func runUpdate(ctx context.Context, c *call) (*outcome, error) { return c.change(ctx, false) }

func (c *call) change(ctx context.Context, upsert bool) (*outcome, error) {
	st := &ast.Update{Upsert: upsert}
	var err error
	if st.Targets, err = c.targets(); err != nil {
		return nil, err
	}
	if st.Where, err = c.where(); err != nil {
		return nil, err
	}
	given := ""
	for name, kind := range map[string]ast.DataKind{"content_data": ast.DataContent, "merge_data": ast.DataMerge,
		"patch_data": ast.DataPatch} {
		if !c.args.has(name) {
			continue
		}
		if given != "" {
			return nil, badParams("Only one of content_data, merge_data, or patch_data may be provided")
		}
		given, st.Data = name, &ast.Data{Kind: kind, X: data()}
	}
	if given == "" {
		return nil, badParams("One of content_data, merge_data, or patch_data must be provided")
	}
	v, err := c.srv.typed(c.args[given])
	if err != nil {
		return nil, err
	}
	if given != "patch_data" && v.Kind() != value.KindObject {
		return nil, badParams("`%s` must be an object", given)
	}
	return c.statement(ctx, ast.Text(st), bound(value.Field{Name: dataParam, Value: v}))
}

func runDelete(ctx context.Context, c *call) (*outcome, error) {
	st := &ast.Delete{}
	var err error
	if st.Targets, err = c.targets(); err != nil {
		return nil, err
	}
	if st.Where, err = c.where(); err != nil {
		return nil, err
	}
	return c.statement(ctx, ast.Text(st), nil)
}

func runRelate(ctx context.Context, c *call) (*outcome, error) {
	edge, err := c.target("table")
	if err != nil {
		return nil, err
	}
	from, err := c.ends("from")
	if err != nil {
		return nil, err
	}
	with, err := c.ends("with")
	if err != nil {
		return nil, err
	}
	st := &ast.Relate{From: &ast.Param{Name: "_from"}, Edge: edge, To: &ast.Param{Name: "_with"}}
	vars := []value.Field{{Name: "_from", Value: from}, {Name: "_with", Value: with}}
	if c.args.has("content_data") {
		v, err := c.objectOf("content_data")
		if err != nil {
			return nil, err
		}
		st.Data = &ast.Data{Kind: ast.DataContent, X: data()}
		vars = append(vars, value.Field{Name: dataParam, Value: v})
	}
	return c.statement(ctx, ast.Text(st), bound(vars...))
}

// ends reads a record id, or a list of them, as values: nothing in them is evaluated.
func (c *call) ends(name string) (value.Value, error) {
	text, err := c.args.text(name)
	if err != nil {
		return value.None, err
	}
	if x, err := record(text); err != nil && !strings.HasPrefix(strings.TrimSpace(text), "[") &&
		!strings.Contains(text, ":") {
		return value.None, err
	} else if id, ok := x.(*ast.RecordID); ok {
		if key, ok := id.Key.(*ast.Literal); ok {
			return value.Record(id.Table, key.Value), nil
		}
	}
	v, err := parse.Value(text)
	if err == nil && (v.Kind() == value.KindRecord || v.Kind() == value.KindArray) {
		return v, nil
	}
	return value.None, badParams("`%s` must be a record id such as person:ada, or a list of them", name)
}
