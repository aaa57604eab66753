package daemon_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nacredb/nacre/daemon/config"
)

// TestMCPToolTable compares tools/list with the table of tools: order, titles, arguments (! is required, after : its
// type), and the hints read-only, destructive and idempotent.
func TestMCPToolTable(t *testing.T) {
	const change = "target!:string content_data:object merge_data:object patch_data:array where_clause:string"
	table := []struct{ name, title, args, hints string }{
		{"query", "Run ServiceQL", "query!:string parameters:object", "no yes no"},
		{"gql", "Run GQL", "query!:string parameters:object", "no yes no"},
		{"graphql", "Run GraphQL", "query!:string variables:object operation:string", "no yes no"},
		{"select", "Select records", "target!:string fields:string where_clause:string order_clause:string limit_clause:integer " +
			"start_clause:integer group_clause:string split_clause:string fetch_clause:string", "yes no yes"},
		{"create", "Create record", "target!:string data:object", "no yes no"},
		{"insert", "Insert records", "target!:string data!:object|array ignore:boolean relation:boolean", "no yes no"},
		{"upsert", "Upsert records", change, "no yes no"},
		{"update", "Update records", change, "no yes no"},
		{"delete", "Delete records", "target!:string where_clause:string", "no yes yes"},
		{"relate", "Relate records", "from!:string table!:string with!:string content_data:object", "no yes no"},
		{"run", "Run function", "function!:string args:array", "no yes no"},
		{"list", "List schema entities", "kind!:string table:string scope:string", "yes no yes"},
		{"use", "Switch namespace/database", "namespace:string database:string", "no no yes"},
		{"info", "Inspect schema", "target:string", "yes no yes"},
		{"describe", "Describe the database", "tables:array max_tokens:integer examples:integer", "yes no yes"},
		{"explain", "Explain a statement", "query!:string parameters:object", "yes no yes"},
		{"sample", "Sample records", "table!:string count:integer", "yes no no"},
	}
	s := start(t)
	list := s.rootMCP(t).call("tools/list", "{}").Result["tools"].([]any)
	if len(list) != len(table) {
		t.Fatalf("%d tools, want %d", len(list), len(table))
	}
	name := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	for i, want := range table {
		tool := list[i].(map[string]any)
		if tool["name"] != want.name || tool["title"] != want.title || !name.MatchString(want.name) || tool["description"] == "" {
			t.Errorf("tool %d: %v", i, tool)
			continue
		}
		if got := hintsOf(tool); got != want.hints+" no" {
			t.Errorf("%s: hints %s, want %s", want.name, got, want.hints)
		}
		if want.name != "use" {
			want.args += " namespace:string database:string"
		}
		if got, want := argsOfTool(tool), sorted(want.args); got != want {
			t.Errorf("%s: arguments\ngot  %s\nwant %s", tool["name"], got, want)
		}
		input := tool["inputSchema"].(map[string]any)
		for _, key := range []string{"anyOf", "oneOf", "allOf", "$ref"} {
			if input[key] != nil {
				t.Errorf("%s: %s on top of its schema", want.name, key)
			}
		}
		if input["type"] != "object" || input["additionalProperties"] != false {
			t.Errorf("%s: %v", want.name, input)
		}
		output, ok := tool["outputSchema"].(map[string]any)
		if ok != (want.name != "gql" && want.name != "graphql") || ok && output["type"] != "object" {
			t.Errorf("%s: output schema %v", want.name, output)
		}
	}
}

// hintsOf are the hints of a tool: read-only, destructive, idempotent, open world.
func hintsOf(tool map[string]any) string {
	a := tool["annotations"].(map[string]any)
	var out []string
	for _, hint := range []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} {
		out = append(out, map[any]string{true: "yes", false: "no"}[a[hint]])
	}
	return strings.Join(out, " ")
}

func sorted(args string) string {
	list := strings.Fields(args)
	slices.Sort(list)
	return strings.Join(list, " ")
}

// argsOfTool are the arguments that the input schema of a tool has.
func argsOfTool(tool map[string]any) string {
	input := tool["inputSchema"].(map[string]any)
	required := fmt.Sprint(input["required"])
	var out []string
	for name, p := range input["properties"].(map[string]any) {
		property := p.(map[string]any)
		kind, _ := property["type"].(string)
		if list, ok := property["anyOf"].([]any); ok {
			for _, one := range list {
				kind = strings.TrimPrefix(kind+"|"+one.(map[string]any)["type"].(string), "|")
			}
		}
		if slices.Contains(strings.Fields(strings.Trim(required, "[]")), name) {
			name += "!"
		}
		out = append(out, name+":"+kind)
	}
	return sorted(strings.Join(out, " "))
}

// text is that of the first content of a result.
func (r mcpReply) text() string {
	list, _ := r.Result["content"].([]any)
	if len(list) != 1 {
		return r.raw
	}
	text, _ := list[0].(map[string]any)["text"].(string)
	return text
}

// TestMCPResults goes through the forms of results: structured content, its text, and isError.
func TestMCPResults(t *testing.T) {
	s := start(t, func(c *config.Config) { c.Limits.MCPResultBytes = 1000 })
	s.setup(t, "DEFINE NAMESPACE n; USE NS n; DEFINE DATABASE d; USE DB d; DEFINE TABLE a; CREATE a:1 SET at = d'2025-01-01T00:00:00Z', n = 1.5dec;"+
		"DEFINE DATABASE graph; USE DB graph; DEFINE TABLE a; DEFINE FIELD n ON a TYPE int ASSERT $value < 5; DEFINE CONFIG GRAPHQL AUTO")
	c := s.rootMCP(t, "Service-NS: n", "Service-DB: d")
	large := strings.Repeat("x", 2000)
	for _, tc := range []struct {
		tool, args, structured, text string
		failed                       bool
	}{
		{"query", `{"query":"SELECT * FROM a"}`, `{"status":"ok","truncated":false,"value":[{"at":"2025-01-01T00:00:00Z","id":"a:1","n":"1.5"}]}`,
			"[\n  {\n    \"at\": \"2025-01-01T00:00:00Z\",\n    \"id\": \"a:1\",\n    \"n\": \"1.5\"\n  }\n]", false},
		{"query", `{"query":"THROW 'no'"}`, `{"error":"An error occurred: no","kind":"Thrown","status":"error"}`, "Error (Thrown): An error occurred: no", true},
		{"query", `{"query":"RETURN 1; RETURN [2]"}`,
			`{"has_errors":false,"results":[{"index":0,"status":"ok","truncated":false,"value":1},{"index":1,"status":"ok","truncated":false,"value":[2]}]}`,
			"Statement 1 (ok):\n1\nStatement 2 (ok):\n[\n  2\n]", false},
		{"query", `{"query":"RETURN 1; THROW 'no'"}`,
			`{"has_errors":true,"results":[{"index":0,"status":"ok","truncated":false,"value":1},{"error":"An error occurred: no","index":1,"kind":"Thrown","status":"error"}]}`,
			"Statement 1 (ok):\n1\nStatement 2 (error, Thrown): An error occurred: no", false},
		{"query", `{"query":"THROW 1; THROW 2"}`,
			`{"has_errors":true,"results":[{"error":"An error occurred: 1","index":0,"kind":"Thrown","status":"error"},{"error":"An error occurred: 2","index":1,"kind":"Thrown","status":"error"}]}`,
			"Statement 1 (error, Thrown): An error occurred: 1\nStatement 2 (error, Thrown): An error occurred: 2", true},
		{"query", `{"query":""}`, `{"has_errors":false,"results":[]}`, "", false},
		{"query", `{"query":"SELECT"}`, ``, "Error (Validation): Parse error: ", true},
		{"query", `{"query":"RETURN $x","parameters":{"x":"` + large + `"}}`, `{"status":"ok","truncated":true,"value":{"$truncated":true,"limit_bytes":1000,` +
			`"message":"The value is larger than the limit. Ask for less: name fields, add a condition, or page with LIMIT and START.","original_bytes":2002}}`,
			"{\n  \"$truncated\": true,", false},
		{"query", `{"query":"RETURN $x; RETURN 1","parameters":{"x":"` + large + `"}}`, ``, "Statement 1 (ok):\n{\n  \"$truncated\": true,", false},
		{"use", `{"namespace":"n","database":"d"}`, `{"database":"d","namespace":"n"}`, "{\n  \"database\": \"d\",\n  \"namespace\": \"n\"\n}", false},
		{"list", `{"kind":"databases"}`, `{"items":[{"id":1,"name":"d"},{"id":2,"name":"graph"}],"truncated":false}`, "{\n  \"items\": [", false},
		{"graphql", `{"query":"{ a }","database":"graph"}`, ``, "{\n  \"data\": null,\n  \"errors\": [", false},
		{"graphql", `{"query":"{ nothing }","database":"graph"}`, ``, "{\n  \"data\": null,\n  \"errors\": [", false},
		{"graphql", `{"query":"{ as { id } }","database":"graph"}`, `{"data":{"as":[]}}`, "{\n  \"data\": {", false},
		{"graphql", `{"query":"{ as { id } }"}`, ``, "Error (", true},
		{"gql", `{"query":"MATCH"}`, ``, "Error (Validation): ", true},
		{"create", `{"target":"a:1"}`, "{\"error\":\"Database record `a:1` already exists\",\"kind\":\"AlreadyExists\",\"status\":\"error\"}",
			"Error (AlreadyExists): Database record `a:1` already exists", true},
		{"delete", `{"target":"nothing"}`, ``, "Error (NotFound): ", true},
	} {
		got := c.tool(tc.tool, tc.args)
		if got.Error != nil || got.status != 200 {
			t.Errorf("%s %.80s: %s", tc.tool, tc.args, got.raw)
			continue
		}
		if failed, _ := got.Result["isError"].(bool); failed != tc.failed {
			t.Errorf("%s %.80s: isError is %v: %s", tc.tool, tc.args, failed, got.raw)
		}
		if !strings.HasPrefix(got.text(), tc.text) {
			t.Errorf("%s %.80s: text\n%s\nwant\n%s", tc.tool, tc.args, got.text(), tc.text)
		}
		if v, ok := got.Result["structuredContent"].(map[string]any); !ok {
			t.Errorf("%s %.80s: no structured content: %s", tc.tool, tc.args, got.raw)
		} else if _, timed := v["time_ms"].(float64); v["status"] != nil && !timed {
			t.Errorf("%s %.80s: no time_ms: %s", tc.tool, tc.args, got.raw)
		}
		if got := got.content(); tc.structured != "" && got != tc.structured {
			t.Errorf("%s %.80s:\ngot  %s\nwant %s", tc.tool, tc.args, got, tc.structured)
		}
	}
	s = start(t, func(c *config.Config) { c.Limits.MCPResultBytes = 0 })
	if got := s.rootMCP(t).ok("query", `{"query":"RETURN string::repeat('x', 1000000)"}`); len(got) < 1000000 {
		t.Errorf("without a limit: %.100s", got)
	}
}

// All values of an answer have sixteen times the limit of one.
func TestMCPResultBudget(t *testing.T) {
	s := start(t, func(c *config.Config) { c.Limits.MCPResultBytes = 1000 })
	got := s.rootMCP(t).tool("query", `{"query":"`+strings.Repeat("RETURN string::repeat('x', 900); ", 30)+`"}`)
	if n := strings.Count(got.raw, strings.Repeat("x", 900)); n != 2*17 || len(got.raw) > 40_000 { // structured, and as text
		t.Errorf("%d values in %d bytes", n, len(got.raw))
	}
	if !strings.Contains(got.raw, "The values before this one reached the limit of an answer. Ask for it alone.") {
		t.Errorf("%.300s", got.raw)
	}
}

// TestMCPPlaces goes through what names the namespace and the database of a call, and through the tool use.
func TestMCPPlaces(t *testing.T) {
	s := start(t, func(c *config.Config) { c.DefaultNamespace, c.DefaultDatabase = "main", "main" })
	s.setup(t, "DEFINE NAMESPACE a; USE NS a; DEFINE DATABASE x; DEFINE DATABASE y; DEFINE NAMESPACE b; USE NS b; DEFINE DATABASE x;"+
		"USE NS a DB x; DEFINE USER dbu ON DATABASE PASSWORD 'p' ROLES OWNER; DEFINE USER nsu ON NAMESPACE PASSWORD 'p' ROLES OWNER")
	where := `{"query":"RETURN [session::ns(), session::db()]"`
	at := func(ns, db string) string {
		return fmt.Sprintf(`{"status":"ok","truncated":false,"value":[%s,%s]}`, ns, db)
	}
	none, a, b, x, y, main := `null`, `"a"`, `"b"`, `"x"`, `"y"`, `"main"`
	for _, tc := range []struct {
		headers        []string
		use, with, out string
	}{
		{nil, ``, `}`, at(main, main)}, // the defaults of the server
		{nil, ``, `,"namespace":"a","database":"x"}`, at(a, x)},
		{[]string{"Service-NS: a", "Service-DB: x"}, ``, `}`, at(a, x)},
		{[]string{"Service-NS: a", "Service-DB: x"}, ``, `,"database":"y"}`, at(a, y)}, // each part by itself
		{[]string{"Service-NS: a", "Service-DB: x"}, ``, `,"namespace":"b"}`, at(b, x)},
		{[]string{"Service-NS: a"}, ``, `}`, at(a, none)},
		{nil, `{"namespace":"a","database":"y"}`, `}`, at(a, y)},
		{nil, `{"namespace":"a","database":"y"}`, `,"namespace":"b","database":"x"}`, at(b, x)},
		{nil, `{"namespace":"a"}`, `}`, at(a, none)},
		{nil, "{\"namespace\":\"`a`\"}", "}", at(a, none)},
	} {
		c := s.rootMCP(t, tc.headers...)
		if tc.use != "" {
			c.ok("use", tc.use)
		}
		if got := c.ok("query", where+tc.with); got != tc.out {
			t.Errorf("headers %v, use %s, %s:\ngot  %s\nwant %s", tc.headers, tc.use, tc.with, got, tc.out)
		}
		if tc.use != "" { // the arguments of a call do not change the session
			var used struct{ Namespace, Database string }
			if err := json.Unmarshal([]byte(strings.ReplaceAll(tc.use, "`", "")), &used); err != nil {
				t.Fatal(err)
			}
			if got := c.ok("query", where+"}"); !strings.Contains(got, used.Namespace) || !strings.Contains(got, used.Database) {
				t.Errorf("after an override: %s", got)
			}
		}
	}
	// Headers at initialize begin the session, and later requests have theirs.
	c := s.mcp(rootAuth, "Service-NS: a", "Service-DB: x")
	c.begin()
	c.headers = []string{rootAuth}
	if got := c.ok("query", where+"}"); got != at(a, x) {
		t.Errorf("headers of initialize: %s", got)
	}
	c.headers = []string{rootAuth, "Service-DB: y"}
	if got := c.ok("query", where+"}"); got != at(a, y) {
		t.Errorf("headers of the request: %s", got)
	}
	in := func(user string) *mcpClient {
		path := map[string]string{"dbu": `"ns":"a","db":"x",`, "nsu": `"ns":"a",`}[user]
		var signed struct{ Token string }
		body := s.do("POST", "/signin", `{`+path+`"user":"`+user+`","pass":"p"}`, "Accept: application/json").body
		if err := json.Unmarshal([]byte(body), &signed); err != nil || signed.Token == "" {
			t.Fatal(body)
		}
		c := s.mcp("Authorization: Bearer " + signed.Token)
		c.begin()
		return c
	}
	empty := start(t, func(c *config.Config) { c.NoDefaults = true })
	for _, tc := range []struct {
		c          *mcpClient
		tool, args string
		want       string
	}{
		{s.rootMCP(t), "use", `{"namespace":"nothing"}`, "Error (NotFound): The namespace 'nothing' does not exist"},
		{s.rootMCP(t), "use", `{"namespace":"a","database":"nothing"}`, "Error (NotFound): The database 'nothing' does not exist"},
		{in("dbu"), "use", `{"namespace":"b"}`, "Error (NotAllowed): Not allowed to switch namespace/database with the current session"},
		{in("dbu"), "use", `{"database":"y"}`, "Error (NotAllowed): Not allowed to switch namespace/database with the current session"},
		{in("nsu"), "use", `{"namespace":"b","database":"x"}`, "Error (NotAllowed): Not allowed to switch namespace/database with the current session"},
		{in("dbu"), "query", where + `,"database":"y"}`, "Error (NotAllowed): "},
		{empty.rootMCP(t), "use", `{"database":"d"}`, "Error (Validation): Cannot switch database without a namespace: set `namespace` first or pass both"},
		{empty.rootMCP(t), "list", `{"kind":"databases"}`, "-32600 No namespace selected"},
		{empty.rootMCP(t), "list", `{"kind":"tables"}`, "-32600 No namespace selected"},
		{s.rootMCP(t, "Service-NS: a"), "list", `{"kind":"tables"}`, "-32600 No database selected"},
		{s.rootMCP(t, "Service-NS: a"), "info", `{"target":"db"}`, "-32600 No database selected"},
		{s.rootMCP(t, "Service-NS: a"), "describe", `{}`, "-32600 No database selected"},
	} {
		got := tc.c.tool(tc.tool, tc.args)
		text := got.text()
		if got.Error != nil {
			text = fmt.Sprint(got.Error.Code, " ", got.Error.Message)
		}
		if !strings.HasPrefix(text, tc.want) {
			t.Errorf("%s %s:\ngot  %s\nwant %s", tc.tool, tc.args, text, tc.want)
		}
	}
	if got := s.rootMCP(t).ok("list", `{"kind":"namespaces"}`); strings.Contains(got, "nothing") {
		t.Errorf("use made a namespace: %s", got)
	}
	if got := in("dbu").ok("query", where+"}"); got != at(a, x) {
		t.Errorf("the place of the token: %s", got)
	}
}
