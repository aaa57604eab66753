package mcp

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// entity is something that the tool list lists: which INFO has it, and what else names it.
type entity struct {
	kind  string
	level ast.InfoLevel
	scope bool // the level is an argument
}

var entities = []entity{
	{kind: "namespaces", level: ast.InfoRoot}, {kind: "nodes", level: ast.InfoRoot}, {kind: "databases",
		level: ast.InfoNamespace},
	{kind: "tables", level: ast.InfoDatabase}, {kind: "functions", level: ast.InfoDatabase},
	{kind: "analyzers", level: ast.InfoDatabase}, {kind: "params", level: ast.InfoDatabase},
	{kind: "apis", level: ast.InfoDatabase}, {kind: "buckets", level: ast.InfoDatabase},
	{kind: "models", level: ast.InfoDatabase}, {kind: "modules", level: ast.InfoDatabase},
	{kind: "sequences", level: ast.InfoDatabase}, {kind: "configs", level: ast.InfoDatabase},
	{kind: "users", scope: true}, {kind: "accesses", scope: true},
	{kind: "fields", level: ast.InfoTable}, {kind: "indexes", level: ast.InfoTable}, {kind: "events",
		level: ast.InfoTable},
}

func kinds() []string {
	var out []string
	for _, e := range entities {
		out = append(out, e.kind)
	}
	return out
}

var scopes = map[string]ast.InfoLevel{"root": ast.InfoRoot, "ns": ast.InfoNamespace, "db": ast.InfoDatabase}

func runList(ctx context.Context, c *call) (*outcome, error) {
	info, kind, err := c.listed()
	if err != nil {
		return nil, err
	}
	if err := c.placed(info.Level); err != nil {
		return nil, err
	}
	v, err := c.one(ctx, ast.Text(info), nil)
	if err != nil {
		return nil, err
	}
	items := value.Array()
	if v.Kind() == value.KindObject {
		if list, ok := v.Object().Get(kind); ok {
			items = list
		}
	}
	if items.Kind() == value.KindObject { // what has no structure of its own
		var list []value.Value
		for _, f := range items.Object().Fields() {
			list = append(list, f.Value)
		}
		items = value.ArrayOf(list)
	}
	return c.items(items), nil
}

// items are as many of a list as an answer may have.
func (c *call) items(items value.Value) *outcome {
	left := c.srv.Limits.ResultBytes
	list := []json.RawMessage{}
	for _, v := range items.Elems() {
		raw := json.RawMessage(value.AppendJSON(nil, v))
		if left -= len(raw); left < 0 && c.srv.Limits.ResultBytes > 0 {
			return mirrored(object{"items": list, "truncated": true})
		}
		list = append(list, raw)
	}
	return mirrored(object{"items": list, "truncated": false})
}

// listed reads the arguments of the tool list.
func (c *call) listed() (*ast.Info, string, error) {
	kind, err := c.args.text("kind")
	if err != nil {
		return nil, "", err
	}
	i := slices.IndexFunc(entities, func(e entity) bool { return e.kind == kind })
	if i < 0 {
		return nil, "", badParams("`kind` must be one of %s", strings.Join(kinds(), ", "))
	}
	e := &entities[i]
	info := &ast.Info{Level: e.level, Structure: true}
	table, err := c.args.text("table")
	if err != nil {
		return nil, "", err
	}
	scope, err := c.args.text("scope")
	if err != nil {
		return nil, "", err
	}
	switch of := e.level == ast.InfoTable; {
	case of && !c.args.has("table"):
		return nil, "", badParams("`table` is required when kind is `%s`", kind)
	case !of && c.args.has("table"):
		return nil, "", badParams("`table` is only valid when kind is `fields`, `indexes`, or `events`")
	case e.scope && !c.args.has("scope"):
		return nil, "", badParams("`scope` is required when kind is `%s` (root, ns, or db)", kind)
	case !e.scope && c.args.has("scope"):
		return nil, "", badParams("`scope` is only valid when kind is `users` or `accesses`")
	case of:
		name, err := identifier(table, "Table name cannot be empty")
		if err != nil {
			return nil, "", err
		}
		info.Name = &ast.Name{Ident: name}
	case e.scope:
		level, ok := scopes[scope]
		if !ok {
			return nil, "", badParams("`scope` must be root, ns, or db")
		}
		info.Level = level
	}
	return info, kind, nil
}

// placed refuses a call that has no place for a level. The error is a Fault.
func (c *call) placed(level ast.InfoLevel) error {
	ns, db := c.engine.Place()
	switch {
	case level != ast.InfoRoot && ns == "":
		return &Fault{Code: CodeRequest, Message: "No namespace selected"}
	case (level == ast.InfoDatabase || level == ast.InfoTable) && db == "":
		return &Fault{Code: CodeRequest, Message: "No database selected"}
	}
	return nil
}

func runInfo(ctx context.Context, c *call) (*outcome, error) {
	target, err := c.args.text("target")
	if err != nil {
		return nil, err
	}
	info := &ast.Info{}
	switch target {
	case "root":
		info.Level = ast.InfoRoot
	case "ns", "namespace":
		info.Level = ast.InfoNamespace
	case "db", "database":
		info.Level = ast.InfoDatabase
	case "":
		if c.args.has("target") {
			return nil, badParams("Table name cannot be empty")
		}
		ns, db := c.engine.Place()
		switch {
		case db != "":
			info.Level = ast.InfoDatabase
		case ns != "":
			info.Level = ast.InfoNamespace
		}
	default:
		name, err := identifier(target, "Table name cannot be empty")
		if err != nil {
			return nil, err
		}
		info.Level, info.Name = ast.InfoTable, &ast.Name{Ident: name}
	}
	if err := c.placed(info.Level); err != nil {
		return nil, err
	}
	return c.statement(ctx, ast.Text(info), nil)
}

// runUse changes the place of the session. It makes nothing.
func runUse(ctx context.Context, c *call) (*outcome, error) {
	if !c.args.has("namespace") && !c.args.has("database") {
		return nil, badParams("At least one of `namespace` or `database` must be provided")
	}
	ns, err := c.args.name("namespace")
	if err != nil {
		return nil, err
	}
	db, err := c.args.name("database")
	if err != nil {
		return nil, err
	}
	if c.sess == nil {
		return nil, errs.Validation("There is no session to switch: name `namespace` and `database` in the " +
			"arguments of each call")
	}
	c.sess.useOrder.Lock()
	defer c.sess.useOrder.Unlock()
	if ns == "" {
		if ns, _ = c.sess.place(); ns == "" {
			if err := c.settle(ctx, "", ""); err != nil {
				return nil, err
			}
			ns, _ = c.engine.Place()
		}
	}
	if ns == "" {
		return nil, errs.Validation("Cannot switch database without a namespace: set `namespace` first or pass both")
	}
	if err := c.engine.Visit(ctx, &ns, &db); err != nil {
		return nil, errs.NotAllowed("Not allowed to switch namespace/database with the current session")
	}
	if err := c.exists(ctx, ns, db); err != nil {
		return nil, err
	}
	c.sess.move(ns, db)
	structured := object{"namespace": ns, "database": nil}
	if db != "" {
		structured["database"] = db
	}
	return mirrored(structured), nil
}

// exists refuses a place that is not there. The client may be in it: what it asks there says the same.
func (c *call) exists(ctx context.Context, ns, db string) error {
	root := c.srv.RPC.Engine.RootSession()
	defer root.Close()
	none := ""
	if err := root.Visit(ctx, &ns, &none); err != nil {
		return err
	}
	found := func(text, list, name string) (bool, error) {
		results, err := root.Execute(ctx, text, nil)
		if err != nil {
			return false, err
		}
		if results[0].Err != nil {
			return false, results[0].Err
		}
		of, _ := results[0].Value.Object().Get(list)
		if of.Kind() != value.KindObject {
			return false, nil
		}
		_, ok := of.Object().Get(name)
		return ok, nil
	}
	if ok, err := found("INFO FOR ROOT", "namespaces", ns); err != nil || !ok {
		return orError(err, errs.New(errs.KindNotFound, "The namespace '%s' does not exist", ns))
	}
	if db == "" {
		return nil
	}
	if ok, err := found("INFO FOR NS", "databases", db); err != nil || !ok {
		return orError(err, errs.New(errs.KindNotFound, "The database '%s' does not exist", db))
	}
	return nil
}

func orError(err, other error) error {
	if err != nil {
		return err
	}
	return other
}
