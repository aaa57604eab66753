package mcp

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/nacredb/nacre/daemon/rpc"
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// The addresses of resources. Clients may hold them, so their scheme stays.
const (
	scheme          = "surrealdb://"
	ownScheme       = "nacre://" // is understood, too
	instructionsURI = scheme + "instructions"
	infoURI         = scheme + "info"
	versionURI      = scheme + "version"
	schemaTemplate  = scheme + "schema/ns/{namespace}/db/{database}"
	tableTemplate   = schemaTemplate + "/table/{table}"
	maxURI          = 4 << 10
)

func listResources(_ context.Context, q *request) (object, error) {
	if err := q.onePage(); err != nil {
		return nil, err
	}
	return object{"resources": []object{
		{"uri": instructionsURI, "name": "SurrealDB Instructions", "title": "How to work with nacre",
			"mimeType":    "text/markdown",
			"description": "How to use the tools and the language"},
		{"uri": infoURI, "name": "Server Info", "mimeType": "application/json",
			"description": "Name, version and capabilities"},
		{"uri": versionURI, "name": "SurrealDB Version", "mimeType": "text/plain",
			"description": "The version of the server"},
	}}, nil
}

func listTemplates(_ context.Context, q *request) (object, error) {
	if err := q.onePage(); err != nil {
		return nil, err
	}
	return object{"resourceTemplates": []object{
		{"uriTemplate": schemaTemplate, "name": "Database Schema", "mimeType": "application/json",
			"description": "All that is defined in a database"},
		{"uriTemplate": tableTemplate, "name": "Table Schema", "mimeType": "application/json",
			"description": "All that is defined for a table"},
	}}, nil
}

func readResource(ctx context.Context, q *request) (object, error) {
	uri, ok := q.text("uri")
	if !ok {
		return nil, badParams("`uri` of resources/read must be a text")
	}
	mime, text, err := q.resource(ctx, uri)
	if err != nil {
		return nil, err
	}
	return object{"contents": []object{{"uri": uri, "mimeType": mime, "text": text}}}, nil
}

// resource gives the type and the body of a resource.
func (q *request) resource(ctx context.Context, uri string) (mime, text string, err error) {
	path, ok := strings.CutPrefix(uri, scheme)
	if !ok {
		path, ok = strings.CutPrefix(uri, ownScheme)
	}
	switch {
	case !ok, len(uri) > maxURI:
		return "", "", q.noResource(uri)
	case path == "instructions":
		return "text/markdown", q.srv.instructions(), nil
	case path == "info":
		version := newest
		if q.Alone {
			version = stateless
		} else if q.sess != nil {
			version = q.sess.Version
		}
		return "application/json", string(encode(object{"name": Product, "version": rpc.Version,
			"protocol_version": version,
			"capabilities":     object{"tools": true, "resources": true, "prompts": true, "completions": true}})), nil
	case path == "version":
		return "text/plain", "SurrealDB " + rpc.Version, nil
	}
	parts := strings.Split(path, "/")
	ofTable := len(parts) == 7 && parts[5] == "table"
	if len(parts) != 5 && !ofTable || parts[0] != "schema" || parts[1] != "ns" || parts[3] != "db" {
		return "", "", q.noResource(uri)
	}
	body, err := q.schemaOf(ctx, parts, ofTable)
	if err != nil {
		return "", "", err
	}
	return "application/json", string(encode(body)), nil
}

func (q *request) noResource(uri string) error {
	f := &Fault{Code: CodeNoResource, Message: "Unknown resource: " + errs.Brief(uri, 256),
		Data: object{"uri": errs.Brief(uri, 256)}}
	if q.Alone {
		f.Code = CodeParams
	}
	return f
}

// schemaOf reads what is defined at the place of an address, which alone decides about it.
func (q *request) schemaOf(ctx context.Context, parts []string, ofTable bool) (body object, err error) {
	ns, err := uriName(parts[2], "namespace")
	if err != nil {
		return nil, err
	}
	db, err := uriName(parts[4], "database")
	if err != nil {
		return nil, err
	}
	body = object{"namespace": ns, "database": db, "truncated": false}
	table := ""
	if ofTable {
		if table, err = uriName(parts[6], "table"); err != nil {
			return nil, err
		}
		body["table"] = table
	}
	err = q.with(ctx, args{}, true, func(ctx context.Context, c *call) error {
		if err := c.engine.Visit(ctx, &ns, &db); err != nil {
			return err
		}
		if ofTable {
			v, err := c.one(ctx, ast.Text(&ast.Info{Level: ast.InfoTable, Name: &ast.Name{Ident: table}}), nil)
			if err == nil {
				body["schema"], body["truncated"] = c.srv.shaper().value(v)
			}
			return err
		}
		return c.schema(ctx, body)
	})
	if err != nil {
		e := q.srv.shown(errs.As(err))
		body["error"], body["kind"] = e.Msg, e.Kind.String()
	}
	return body, nil
}

// uriName reads a part of an address: percent-encoded, any name.
func uriName(part, what string) (string, error) {
	name, err := url.PathUnescape(part)
	if err == nil {
		if inner, ok := quoted(name); ok {
			name = inner
		}
	}
	if err != nil || name == "" || len(name) > maxName || strings.ContainsAny(name, "\x00`\\{}") {
		return "", badParams("Invalid %s identifier in resource URI: '%s'", what, errs.Brief(part, 64))
	}
	return name, nil
}

// schema adds to body what is defined in the database, with its first tables described.
func (c *call) schema(ctx context.Context, body object) error {
	v, err := c.one(ctx, "INFO FOR DB", nil)
	if err != nil {
		return err
	}
	schema := map[string]json.RawMessage{}
	for _, f := range v.Object().Fields() {
		schema[f.Name] = value.AppendJSON(nil, f.Value)
	}
	tables, _ := v.Object().Get("tables")
	if tables.Kind() == value.KindObject {
		described, cut, err := c.tables(ctx, tables.Object())
		if err != nil {
			return err
		}
		if cut {
			body["truncated"], body["tables_truncated_at"] = true, c.srv.Limits.SchemaTables
		}
		schema["tables"] = encode(described)
	}
	raw, cut := c.srv.shaper().json(encode(schema))
	body["schema"] = raw
	if cut {
		body["truncated"] = true
	}
	return nil
}

// tables are the first tables by name, each with what is defined for it.
func (c *call) tables(ctx context.Context, defs *value.Object) (map[string]object, bool, error) {
	fields := slices.Clone(defs.Fields())
	slices.SortFunc(fields, func(a, b value.Field) int { return strings.Compare(a.Name, b.Name) })
	most := c.srv.Limits.SchemaTables
	cut := len(fields) > most
	out := make(map[string]object, min(len(fields), most))
	for _, f := range fields[:min(len(fields), most)] {
		def := object{"definition": json.RawMessage(value.AppendJSON(nil, f.Value))}
		v, err := c.one(ctx, ast.Text(&ast.Info{Level: ast.InfoTable, Name: &ast.Name{Ident: f.Name}}), nil)
		switch {
		case ctx.Err() != nil:
			return nil, false, c.cause(ctx, ctx.Err())
		case err != nil:
			def["error"] = c.srv.shown(errs.As(err)).Msg
		default:
			for _, part := range v.Object().Fields() {
				def[part.Name] = json.RawMessage(value.AppendJSON(nil, part.Value))
			}
		}
		out[f.Name] = def
	}
	return out, cut, nil
}
