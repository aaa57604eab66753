package api

import (
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/nacredb/nacre/memsvc/grant"
)

// openAPI is the description of every route, made from the table that the router is made from.
func (s *Server) openAPI(*call) (any, error) {
	paths := map[string]map[string]any{}
	for _, r := range s.routes {
		if paths[r.path] == nil {
			paths[r.path] = map[string]any{}
		}
		paths[r.path][strings.ToLower(r.method)] = r.operation()
	}
	return map[string]any{
		"openapi": "3.1.0",
		"info":    map[string]any{"title": "Agent memory service", "version": s.version},
		"paths":   paths,
		"components": map[string]any{
			"securitySchemes": map[string]any{
				"key":        map[string]any{"type": "http", "scheme": "bearer"},
				"management": map[string]any{"type": "http", "scheme": "bearer"},
			},
			"schemas": map[string]any{"Problem": schemaOf(reflect.TypeFor[Problem](), 0)},
		},
	}, nil
}

func (r route) operation() map[string]any {
	status := "200"
	switch r.status {
	case http.StatusCreated:
		status = "201"
	case http.StatusAccepted:
		status = "202"
	case http.StatusNoContent:
		status = "204"
	}
	ok := map[string]any{"description": "Success"}
	if r.out != nil {
		ok["content"] = jsonContent(schemaOf(reflect.TypeOf(r.out), 0))
	}
	problem := map[string]any{"description": "A problem", "content": map[string]any{
		"application/problem+json": map[string]any{"schema": map[string]any{"$ref": "#/components/schemas/Problem"}}}}
	op := map[string]any{"summary": r.summary, "responses": map[string]any{status: ok, "default": problem}}
	switch r.plane {
	case data:
		op["security"] = []any{map[string]any{"key": []any{}}}
	case management:
		op["security"] = []any{map[string]any{"management": []any{}}}
	}
	if r.in != nil {
		op["requestBody"] = map[string]any{"content": jsonContent(schemaOf(reflect.TypeOf(r.in), 0))}
	}
	var params []any
	for _, name := range pathParams(r.path) {
		params = append(params, map[string]any{"name": name, "in": "path", "required": true,
			"schema": map[string]any{"type": "string"}})
	}
	if params != nil {
		op["parameters"] = params
	}
	return op
}

func jsonContent(schema any) map[string]any {
	return map[string]any{"application/json": map[string]any{"schema": schema}}
}

func pathParams(path string) []string {
	var out []string
	for _, seg := range strings.Split(path, "/") {
		if name, ok := strings.CutPrefix(seg, "{"); ok {
			out = append(out, strings.TrimSuffix(name, "}"))
		}
	}
	return out
}

// schemaOf describes how a Go type looks in JSON.
func schemaOf(t reflect.Type, depth int) map[string]any {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[time.Time](), reflect.TypeFor[Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case reflect.TypeFor[Seconds]():
		return map[string]any{"type": []string{"integer", "null"}}
	case reflect.TypeFor[Area]():
		number := map[string]any{"type": "number"}
		return map[string]any{"type": "object", "description": "one of near and within", "properties": map[string]any{
			"near": map[string]any{"type": "object", "properties": map[string]any{"lat": number, "lng": number,
				"radiusKm": number}},
			"within": map[string]any{"type": "string", "description": "POLYGON or MULTIPOLYGON as well-known text"}}}
	case reflect.TypeFor[Scopes](), reflect.TypeFor[grant.Clauses]():
		return map[string]any{"description": "a scope, a list of scopes (any of them), or a list of lists (all of one)"}
	}
	switch t.Kind() {
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int64, reflect.Int32:
		return map[string]any{"type": "integer"}
	case reflect.Float64, reflect.Float32:
		return map[string]any{"type": "number"}
	case reflect.Slice, reflect.Array:
		return map[string]any{"type": "array", "items": schemaOf(t.Elem(), depth+1)}
	case reflect.Struct:
		if depth < 8 {
			fields := map[string]any{}
			structSchema(t, depth, fields)
			return map[string]any{"type": "object", "properties": fields}
		}
	}
	return map[string]any{}
}

func structSchema(t reflect.Type, depth int, into map[string]any) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			structSchema(f.Type, depth, into)
		case name != "" && name != "-":
			into[name] = schemaOf(f.Type, depth+1)
		}
	}
}
