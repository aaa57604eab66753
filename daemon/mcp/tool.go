package mcp

import (
	"context"
	"encoding/json"
	"slices"
)

// tool is a row of the table of tools.
type tool struct {
	name, title, about         string
	fields                     []field
	output                     json.RawMessage // nil: none is published
	reads, destroys, sameTwice bool            // the hints
	mixed                      bool            // it may read and write: offered where only reading is allowed, and held to it
	run                        func(context.Context, *call) (*outcome, error)
}

// field is an argument of a tool.
type field struct {
	name     string
	kind     string // JSON Schema type; count, names or patches; rows for an object or a list
	about    string
	required bool
	choices  []string
}

// offeredReading reports whether the tool is of use where only reading is allowed.
func (t *tool) offeredReading() bool { return t.reads || t.mixed }

// tool gives the tool of that name, or nil.
func (s *Server) tool(name string) *tool {
	for _, t := range s.tools {
		if t.name == name {
			return t
		}
	}
	return nil
}

var placeFields = []field{
	{name: "namespace", kind: "string", about: "Namespace to work in, for this call alone"},
	{name: "database", kind: "string", about: "Database to work in, for this call alone"},
}

// all are the arguments of the tool with those that every tool has.
func (t *tool) all() []field {
	if t.name == "use" {
		return t.fields
	}
	return append(slices.Clone(t.fields), placeFields...)
}

// check refuses arguments that the tool does not have, and calls without those that it must have. SECURITY: an
// argument that is not known is never ignored: a condition with a slip of the pen would be none.
func (t *tool) check(a args) error {
	known := t.all()
	for _, f := range known {
		if f.required && !a.has(f.name) {
			return badParams("`%s` needs the argument `%s`", t.name, f.name)
		}
	}
	for name := range a {
		if !slices.ContainsFunc(known, func(f field) bool { return f.name == name }) {
			return badParams("`%s` has no argument `%s`", t.name, name)
		}
	}
	return nil
}

// schema is the JSON Schema of the arguments.
func (t *tool) schema() object {
	properties := object{}
	required := []string{}
	for _, f := range t.all() {
		p := object{"description": f.about}
		switch f.kind {
		case "rows":
			p["anyOf"] = []object{{"type": "object"}, {"type": "array", "items": object{"type": "object"}}}
		case "count":
			p["type"], p["minimum"] = "integer", 0
		case "array":
			p["type"], p["items"] = "array", object{}
		case "names":
			p["type"], p["items"] = "array", object{"type": "string"}
		case "patches":
			p["type"], p["items"] = "array", object{"type": "object"}
		default:
			p["type"] = f.kind
		}
		if f.choices != nil {
			p["enum"] = f.choices
		}
		properties[f.name] = p
		if f.required {
			required = append(required, f.name)
		}
	}
	return object{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

func (t *tool) object() object {
	out := object{"name": t.name, "title": t.title, "description": t.about, "inputSchema": t.schema(),
		"annotations": object{"title": t.title, "readOnlyHint": t.reads, "destructiveHint": t.destroys,
			"idempotentHint": t.sameTwice, "openWorldHint": false}}
	if t.output != nil {
		out["outputSchema"] = t.output
	}
	return out
}

// onePage refuses a cursor: all lists fit one page.
func (q *request) onePage() error {
	if raw, ok := q.Params["cursor"]; ok && string(raw) != "null" {
		return badParams("Unknown cursor: the list has one page")
	}
	return nil
}

func listTools(_ context.Context, q *request) (object, error) {
	if err := q.onePage(); err != nil {
		return nil, err
	}
	list := make([]object, 0, len(q.srv.tools))
	for _, t := range q.srv.tools {
		list = append(list, t.object())
	}
	return object{"tools": list}, nil
}

// The schemas of results.
var (
	oneOutput = json.RawMessage(`{"type":"object","properties":{"status":{"type":"string","enum":["ok","error"]},"value":{},` +
		`"truncated":{"type":"boolean"},"error":{"type":"string"},"kind":{"type":"string"},"time_ms":{"type":"number"}},` +
		`"required":["status","time_ms"]}`)
	anyOutput = json.RawMessage(`{"type":"object","anyOf":[` + string(oneOutput) +
		`,{"type":"object","properties":{"results":` +
		`{"type":"array","items":{"type":"object","properties":{"index":{"type":"integer"},"status":{"type":"string","enum":` +
		`["ok","error"]},"value":{},"truncated":{"type":"boolean"},"error":{"type":"string"},"kind":{"type":"string"},` +
		`"time_ms":{"type":"number"}},"required":["index","status","time_ms"]}},"has_errors":{"type":"boolean"}},` +
		`"required":["results","has_errors"]}]}`)
	useOutput = orFailed(`{"type":"object","properties":{"namespace":{"type":"string"},"database":` +
		`{"anyOf":[{"type":"string"},{"type":"null"}]}},"required":["namespace","database"]}`)
	listOutput = orFailed(`{"type":"object","properties":{"items":{"type":"array"},"truncated":{"type":"boolean"}},` +
		`"required":["items","truncated"]}`)
	describeOutput = orFailed(`{"type":"object","properties":{"namespace":{"type":"string"},"database":{"type":"string"},` +
		`"tables":{"type":"array","items":{"type":"object"}},"truncated":{"type":"boolean"}},` +
		`"required":["namespace","database","tables","truncated"]}`)
)

// orFailed is the schema of a tool whose result has a form of its own, unless it failed.
func orFailed(schema string) json.RawMessage {
	return json.RawMessage(`{"type":"object","anyOf":[` + schema + `,` + string(oneOutput) + `]}`)
}
