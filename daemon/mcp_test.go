package daemon_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/nacredb/nacre/daemon/config"
)

// mcpClient speaks MCP over HTTP by hand, as the sheet of the protocol has it.
type mcpClient struct {
	s       *server
	t       testing.TB
	headers []string
	session string
	last    int
}

// mcpReply is an answer, as JSON-RPC.
type mcpReply struct {
	status int
	header func(string) string
	raw    string
	Result map[string]any
	Error  *struct {
		Code    int
		Message string
		Data    map[string]any
	}
}

const asMCP = "Content-Type: application/json"
const takesMCP = "Accept: application/json, text/event-stream"

// setup runs statements as root; all must succeed.
func (s *server) setup(t testing.TB, text string) {
	t.Helper()
	root := s.Engine().RootSession()
	defer root.Close()
	results, err := root.Execute(t.Context(), text, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
}

// mcp makes a client that sends headers with each request; it has not begun a session.
func (s *server) mcp(headers ...string) *mcpClient { return &mcpClient{s: s, t: s.t, headers: headers} }

// rootMCP is a client of root in n/d that has begun a session.
func (s *server) rootMCP(t testing.TB, more ...string) *mcpClient {
	c := s.mcp(append(more, rootAuth)...)
	c.t = t
	c.begin()
	return c
}

// begin shakes hands.
func (c *mcpClient) begin() mcpReply {
	c.t.Helper()
	got := c.call("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
	if got.Error != nil || got.status != 200 {
		c.t.Fatalf("initialize: %d %s", got.status, got.raw)
	}
	c.session = got.header("Mcp-Session-Id")
	if c.session == "" {
		c.t.Fatal("initialize gave no session id")
	}
	if got := c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`); got.status != 202 || got.raw != "" {
		c.t.Fatalf("initialized: %d %q", got.status, got.raw)
	}
	return got
}

// call makes a request with params in JSON.
func (c *mcpClient) call(method, params string) mcpReply {
	c.t.Helper()
	c.last++
	return c.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, c.last, method, params))
}

// post sends a body.
func (c *mcpClient) post(body string) mcpReply {
	c.t.Helper()
	return c.send("POST", body)
}

func (c *mcpClient) send(method, body string) mcpReply {
	c.t.Helper()
	headers := append([]string{asMCP, takesMCP}, c.headers...)
	if c.session != "" {
		headers = append(headers, "Mcp-Session-Id: "+c.session)
	}
	got := c.s.do(method, "/mcp", body, headers...)
	out := mcpReply{status: got.StatusCode, header: got.Header.Get, raw: got.body}
	if strings.HasPrefix(got.Header.Get("Content-Type"), "application/json") {
		if err := json.Unmarshal([]byte(got.body), &out); err != nil {
			c.t.Fatalf("%s: %v", got.body, err)
		}
	}
	return out
}

// tool calls a tool with args in JSON.
func (c *mcpClient) tool(name, args string) mcpReply {
	c.t.Helper()
	return c.call("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, args))
}

// ok is tool, which must succeed; the structured content as JSON, keys sorted.
func (c *mcpClient) ok(name, args string) string {
	c.t.Helper()
	got := c.tool(name, args)
	if got.Error != nil || got.Result["isError"] == true {
		c.t.Errorf("%s %s: %s", name, args, got.raw)
	}
	return got.content()
}

// content is the structured content without its time, as JSON.
func (r mcpReply) content() string {
	v, _ := r.Result["structuredContent"].(map[string]any)
	delete(v, "time_ms")
	if list, ok := v["results"].([]any); ok {
		for _, one := range list {
			delete(one.(map[string]any), "time_ms")
		}
	}
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// TestMCPTools calls every tool once, and reads what it gives.
func TestMCPTools(t *testing.T) {
	s := start(t)
	s.setup(t, "DEFINE NAMESPACE n; USE NS n; DEFINE DATABASE d; USE DB d; DEFINE TABLE person SCHEMALESS;"+
		"DEFINE TABLE knows TYPE RELATION FROM person TO person; DEFINE FUNCTION fn::twice($a: int) { RETURN $a * 2 };"+
		"DEFINE CONFIG GRAPHQL AUTO; DEFINE FIELD name ON person TYPE option<string>; DEFINE USER u ON DATABASE PASSWORD 'p' ROLES VIEWER")
	c := s.rootMCP(t, "Service-NS: n", "Service-DB: d")
	for _, tc := range []struct{ tool, args, want string }{
		{"create", `{"target":"person:ada","data":{"name":"Ada","n":{"$ql":"1.50dec"}}}`,
			`{"status":"ok","truncated":false,"value":[{"id":"person:ada","n":"1.5","name":"Ada"}]}`},
		{"create", "{\"target\":\"person:`a b`\"}", "{\"status\":\"ok\",\"truncated\":false,\"value\":[{\"id\":\"person:`a b`\"}]}"},
		{"delete", "{\"target\":\"person:`a b`\"}", `{"status":"ok","truncated":false,"value":[]}`},
		{"insert", `{"target":"person","data":[{"id":"bob","name":"Bob"},{"id":"cem","big":123456789012345678901}]}`,
			`{"status":"ok","truncated":false,"value":[{"id":"person:bob","name":"Bob"},{"big":"123456789012345678901","id":"person:cem"}]}`},
		{"insert", `{"target":"person","data":{"id":"bob","name":"X"},"ignore":true}`, `{"status":"ok","truncated":false,"value":[]}`},
		{"insert", `{"target":"knows","relation":true,"data":{"id":1,"in":{"$ql":"person:ada"},"out":{"$ql":"person:cem"}}}`,
			`{"status":"ok","truncated":false,"value":[{"id":"knows:1","in":"person:ada","out":"person:cem"}]}`},
		{"relate", `{"from":"person:ada","table":"knows:2","with":"person:bob","content_data":{"since":2020}}`,
			`{"status":"ok","truncated":false,"value":[{"id":"knows:2","in":"person:ada","out":"person:bob","since":2020}]}`},
		{"update", `{"target":"person:bob","merge_data":{"age":40}}`,
			`{"status":"ok","truncated":false,"value":[{"age":40,"id":"person:bob","name":"Bob"}]}`},
		{"update", `{"target":"person:bob","patch_data":[{"op":"replace","path":"/age","value":41}]}`,
			`{"status":"ok","truncated":false,"value":[{"age":41,"id":"person:bob","name":"Bob"}]}`},
		{"upsert", `{"target":"person:dan","content_data":{"name":"Dan"}}`,
			`{"status":"ok","truncated":false,"value":[{"id":"person:dan","name":"Dan"}]}`},
		{"upsert", `{"target":"person:cem","content_data":{"name":"Cem"},"where_clause":"big > 1"}`,
			`{"status":"ok","truncated":false,"value":[{"id":"person:cem","name":"Cem"}]}`},
		{"select", `{"target":"person","fields":"name","where_clause":"name != 'Dan'","order_clause":"name DESC","limit_clause":2,"start_clause":1}`,
			`{"status":"ok","truncated":false,"value":[{"name":"Bob"},{"name":"Ada"}]}`},
		{"select", `{"target":"person","fields":"count() AS n","group_clause":"ALL"}`, `{"status":"ok","truncated":false,"value":[{"n":4}]}`},
		{"select", `{"target":"person","fields":"name, count() AS n","group_clause":"name","order_clause":"name","limit_clause":1}`,
			`{"status":"ok","truncated":false,"value":[{"n":1,"name":"Ada"}]}`},
		{"select", `{"target":"knows","fields":"out","where_clause":"since","fetch_clause":"out"}`,
			`{"status":"ok","truncated":false,"value":[{"out":{"age":41,"id":"person:bob","name":"Bob"}}]}`},
		{"select", `{"target":"[{a: [1, 2]}]","split_clause":"a"}`, `{"status":"ok","truncated":false,"value":[{"a":1},{"a":2}]}`},
		{"select", `{"target":"person:ada","fields":"->knows->person AS p"}`,
			`{"status":"ok","truncated":false,"value":[{"p":["person:cem","person:bob"]}]}`},
		{"delete", `{"target":"person","where_clause":"name = 'Dan'"}`, `{"status":"ok","truncated":false,"value":[]}`},
		{"run", `{"function":"fn::twice","args":[21]}`, `{"status":"ok","truncated":false,"value":42}`},
		{"run", `{"function":"string::len","args":["abc"]}`, `{"status":"ok","truncated":false,"value":3}`},
		{"run", `{"function":"type::of","args":[{"$ql":"d'2025-01-01T00:00:00Z'"}]}`, `{"status":"ok","truncated":false,"value":"datetime"}`},
		{"query", `{"query":"RETURN $a.b","parameters":{"a":{"b":[{"$ql":"person:ada"},null]}}}`,
			`{"status":"ok","truncated":false,"value":["person:ada",null]}`},
		{"query", `{"query":"RETURN 1; THROW 'no'"}`, `{"has_errors":true,"results":[{"index":0,"status":"ok","truncated":false,"value":1},` +
			`{"error":"An error occurred: no","index":1,"kind":"Thrown","status":"error"}]}`},
		{"query", `{"query":""}`, `{"has_errors":false,"results":[]}`},
		{"gql", `{"query":"MATCH (a:person)-[:knows]->(b:person) RETURN b.name AS n ORDER BY n","parameters":{}}`,
			`{"status":"ok","truncated":false,"value":[{"n":"Bob"},{"n":"Cem"}]}`},
		{"graphql", `{"query":"query q { person(id: \"ada\") { name } } query r { persons { name } }","operation":"q"}`,
			`{"data":{"person":{"name":"Ada"}}}`},
		{"use", `{"namespace":"n","database":"d"}`, `{"database":"d","namespace":"n"}`},
		{"use", `{"namespace":"n"}`, `{"database":null,"namespace":"n"}`},
		{"use", `{"database":"d"}`, `{"database":"d","namespace":"n"}`},
	} {
		if got := c.ok(tc.tool, tc.args); got != tc.want {
			t.Errorf("%s %s\ngot  %s\nwant %s", tc.tool, tc.args, got, tc.want)
		}
	}
	for _, tc := range []struct{ tool, args, has string }{
		{"list", `{"kind":"tables"}`, `"name":"person"`}, {"list", `{"kind":"functions"}`, `"name":"twice"`},
		{"list", `{"kind":"namespaces"}`, `"name":"n"`}, {"list", `{"kind":"databases"}`, `"name":"d"`},
		{"list", `{"kind":"nodes"}`, `"started":`}, {"list", `{"kind":"analyzers"}`, `"items":[]`},
		{"list", `{"kind":"params"}`, `"items":[]`}, {"list", `{"kind":"apis"}`, `"items":[]`},
		{"list", `{"kind":"buckets"}`, `"items":[]`}, {"list", `{"kind":"models"}`, `"items":[]`},
		{"list", `{"kind":"modules"}`, `"items":[]`}, {"list", `{"kind":"sequences"}`, `"items":[]`},
		{"list", `{"kind":"configs"}`, `"items":[{`}, {"list", `{"kind":"users","scope":"db"}`, `"name":"u"`},
		{"list", `{"kind":"users","scope":"root"}`, `"name":"root"`}, {"list", `{"kind":"accesses","scope":"ns"}`, `"items":[]`},
		{"list", `{"kind":"fields","table":"person"}`, `"name":"name"`}, {"list", `{"kind":"indexes","table":"person"}`, `"items":[]`},
		{"list", `{"kind":"events","table":"person"}`, `"items":[]`},
		{"info", `{}`, `"tables":{`}, {"info", `{"target":"root"}`, `"namespaces":{`}, {"info", `{"target":"ns"}`, `"databases":{`},
		{"info", `{"target":"namespace"}`, `"databases":{`}, {"info", `{"target":"db"}`, `"functions":{`},
		{"info", `{"target":"database"}`, `"functions":{`}, {"info", `{"target":"person"}`, `DEFINE FIELD name`},
		{"describe", `{}`, `"edge":true`}, {"describe", `{}`, `"examples":[{`}, {"describe", `{"tables":["person"]}`, `"records":3`},
		{"explain", `{"query":"SELECT * FROM person WHERE name = $n","parameters":{"n":"Ada"}}`, `TableScan`},
		{"sample", `{"table":"person","count":2}`, `"id":"person:`},
	} {
		if got := c.ok(tc.tool, tc.args); !strings.Contains(got, tc.has) {
			t.Errorf("%s %s: %s lacks %s", tc.tool, tc.args, got, tc.has)
		}
	}
}

// TestMCPHosts holds that the door answers under its own names only, and to pages of its own only.
func TestMCPHosts(t *testing.T) {
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for _, tc := range []struct {
		hosts  []string
		all    bool
		header string
		want   int
		text   string
	}{
		{header: "Host: localhost", want: 200},
		{header: "Host: localhost:9999", want: 200},
		{header: "Host: [::1]:80", want: 200},
		{header: "Host: evil.example", want: 403, text: "Forbidden: Host header is not allowed"},
		{header: "Host: localhost.evil.example", want: 403, text: "Forbidden: Host header is not allowed"},
		{header: "Origin: http://localhost:3000", want: 200},
		{header: "Origin: https://evil.example", want: 403, text: "Forbidden: Origin header is not allowed"},
		{header: "Origin: null", want: 403, text: "Forbidden: Origin header is not allowed"},
		{hosts: []string{"db.example"}, header: "Host: db.example:8000", want: 200},
		{hosts: []string{"db.example:8000"}, header: "Host: db.example:8000", want: 200},
		{hosts: []string{"db.example:8000"}, header: "Host: db.example:8001", want: 403, text: "Forbidden: Host header is not allowed"},
		{hosts: []string{"db.example"}, header: "Host: localhost", want: 403, text: "Forbidden: Host header is not allowed"},
		{hosts: []string{"db.example"}, all: true, header: "Host: evil.example", want: 200},
	} {
		s := start(t, func(c *config.Config) { c.MCPHosts, c.MCPAllHosts = tc.hosts, tc.all })
		if got := s.do("POST", "/mcp", ping, asMCP, takesMCP, rootAuth, tc.header); got.StatusCode != tc.want ||
			tc.text != "" && got.body != tc.text {
			t.Errorf("%s with %v: %d %s", tc.header, tc.hosts, got.StatusCode, got.body)
		}
	}
}
