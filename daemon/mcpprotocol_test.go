package daemon_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nacredb/nacre/daemon/config"
)

// TestMCPRevisions shakes hands in every revision, and asks without a session in the newest.
func TestMCPRevisions(t *testing.T) {
	s := start(t)
	for asked, want := range map[string]string{"2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26",
		"2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25", "2026-07-28": "2025-11-25", "1999-01-01": "2025-11-25"} {
		c := s.mcp(rootAuth)
		got := c.call("initialize", fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"t"}}`, asked))
		if got.Result["protocolVersion"] != want || got.header("Mcp-Session-Id") == "" {
			t.Errorf("asked for %s: %s", asked, got.raw)
		}
		for _, part := range []string{`"tools":`, `"resources":`, `"prompts":`, `"completions":`, `"name":"nacre"`, `"instructions":`} {
			if !strings.Contains(got.raw, part) {
				t.Errorf("%s lacks %s", got.raw, part)
			}
		}
	}
	alone := func(method, name, params string) mcpReply {
		headers := []string{rootAuth, "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: " + method}
		if name != "" {
			headers = append(headers, "Mcp-Name: "+name)
		}
		return s.mcp(headers...).call(method, params)
	}
	meta := `"_meta":` + mcpMeta
	for _, tc := range []struct {
		method, name, params string
		status               int
		has                  string
	}{
		{"server/discover", "", `{` + meta + `}`, 200, `"supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"]`},
		{"server/discover", "", `{` + meta + `}`, 200, `"resultType":"complete"`},
		{"tools/list", "", `{` + meta + `}`, 200, `"cacheScope":"private"`},
		{"tools/call", "query", `{"name":"query","arguments":{"query":"RETURN 1"},` + meta + `}`, 200, `"value":1`},
		{"tools/call", "use", `{"name":"use","arguments":{"namespace":"main"},` + meta + `}`, 200, "in the arguments of each call"},
		{"tools/call", "=?base64?cXVlcnk=?=", `{"name":"query","arguments":{"query":"RETURN 1"},` + meta + `}`, 200, `"value":1`},
		{"tools/call", "other", `{"name":"query","arguments":{"query":"RETURN 1"},` + meta + `}`, 400, `-32020`},
		{"tools/call", "", `{"name":"query","arguments":{"query":"RETURN 1"},` + meta + `}`, 400, `-32020`},
		{"tools/list", "", `{}`, 400, `-32602`},
		{"tools/list", "", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`, 400, `-32602`},
		{"tools/list", "", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2030-01-01","io.modelcontextprotocol/clientCapabilities":{}}}`, 400, `-32020`},
		{"ping", "", `{` + meta + `}`, 404, `-32601`},
		{"initialize", "", `{"protocolVersion":"2025-11-25",` + meta + `}`, 404, `-32601`},
		{"logging/setLevel", "", `{"level":"info",` + meta + `}`, 404, `-32601`},
		{"nonsense", "", `{` + meta + `}`, 404, `-32601`},
		{"resources/read", "surrealdb://nothing", `{"uri":"surrealdb://nothing",` + meta + `}`, 400, `-32602`},
	} {
		if got := alone(tc.method, tc.name, tc.params); got.status != tc.status || !strings.Contains(got.raw, tc.has) {
			t.Errorf("%s %s %s: %d %s", tc.method, tc.name, tc.params, got.status, got.raw)
		}
	}
	for _, method := range []string{"GET", "DELETE"} {
		if got := s.do(method, "/mcp", "", rootAuth, "MCP-Protocol-Version: 2026-07-28"); got.StatusCode != 405 ||
			got.Header.Get("Allow") != "POST" {
			t.Errorf("%s without a session: %d %s", method, got.StatusCode, got.Header)
		}
	}
	if got := s.do("PATCH", "/mcp", "", rootAuth); got.StatusCode != 405 || !strings.Contains(fmt.Sprint(got.Header["Allow"]), "POST") {
		t.Errorf("PATCH: %d %s", got.StatusCode, got.Header)
	}
}

// TestMCPFaults goes through the errors of JSON-RPC: of messages, methods and arguments.
func TestMCPFaults(t *testing.T) {
	s := start(t)
	c := s.rootMCP(t)
	many := "{" + strings.TrimSuffix(strings.Repeat(`"k%d":1,`, 257), ",") + "}"
	keys := make([]any, 257)
	for i := range keys {
		keys[i] = i
	}
	for _, tc := range []struct{ tool, args, want string }{
		{"nonsense", `{}`, "Unknown tool: nonsense"},
		{"update", `{"target":"a:1"}`, "One of content_data, merge_data, or patch_data must be provided"},
		{"upsert", `{"target":"a:1","merge_data":{},"content_data":{}}`, "Only one of content_data, merge_data, or patch_data may be provided"},
		{"use", `{}`, "At least one of `namespace` or `database` must be provided"},
		{"use", `{"namespace":""}`, "Identifier cannot be empty"},
		{"use", `{"namespace":"a-b"}`, "Identifier contains invalid characters"},
		{"use", `{"namespace":"1a"}`, "Identifier must start with a letter or underscore"},
		{"create", `{"target":""}`, "Table name cannot be empty"},
		{"create", `{"target":"a:"}`, "Record id key cannot be empty"},
		{"create", `{"target":"a:-b"}`, "Identifier contains invalid characters"},
		{"create", `{"target":"a:b--c"}`, "Identifier contains invalid characters"},
		{"create", `{"target":"a:1; DELETE b"}`, "Identifier contains invalid characters"},
		{"run", `{"function":""}`, "Function name cannot be empty"},
		{"run", `{"function":"a::"}`, "Identifier cannot be empty"},
		{"run", `{"function":"a(); DELETE b; c"}`, "Identifier contains invalid characters"},
		{"run", `{"function":"a","args":[` + strings.TrimSuffix(strings.Repeat("1,", 65), ",") + `]}`, "`run` accepts at most 64 arguments, got 65"},
		{"query", `{"query":"RETURN 1","parameters":[]}`, "Parameters must be a JSON object"},
		{"query", `{"query":"RETURN 1","parameters":` + fmt.Sprintf(many, keys...) + `}`, "Parameters object has 257 keys, exceeding the maximum of 256"},
		{"query", `{"query":"RETURN 1","parameters":{"a":{"$ql":"1","b":1}}}`, "`$ql` must be the only key when present; found 2 keys"},
		{"query", `{"query":"RETURN 1","parameters":{"a":{"$ql":1}}}`, "`$ql` value must be a string"},
		{"query", `{"query":"RETURN 1","parameters":{"a":[{"$ql":" "}]}}`, "`$ql` must be a non-empty expression"},
		{"query", `{"query":"RETURN 1","parameters":{"a":{"$ql":"'` + strings.Repeat("x", 4096) + `'"}}}`, "`$ql` body is 4098 bytes, exceeding the 4096-byte cap"},
		{"query", `{"query":"RETURN 1","parameters":{"a":{"$ql":"(DELETE a)"}}}`, "`$ql` body failed to parse as a value: "},
		{"query", `{"query":"RETURN 1","parameters":{"a":{"$ql":"1; 2"}}}`, "`$ql` body failed to parse as a value: "},
		{"query", `{"query":1}`, "`query` must be a text"},
		{"query", `{}`, "`query` needs the argument `query`"},
		{"delete", `{"target":"a","where":"n > 1"}`, "`delete` has no argument `where`"},
		{"select", `{"target":"a","limit_clause":-1}`, "`limit_clause` must be a whole number of at least 0"},
		{"list", `{"kind":"users"}`, "`scope` is required when kind is `users` (root, ns, or db)"},
		{"list", `{"kind":"fields"}`, "`table` is required when kind is `fields`"},
		{"list", `{"kind":"tables","table":"a"}`, "`table` is only valid when kind is `fields`, `indexes`, or `events`"},
		{"list", `{"kind":"tables","scope":"db"}`, "`scope` is only valid when kind is `users` or `accesses`"},
	} {
		got := c.tool(tc.tool, tc.args)
		if got.Error == nil || got.Error.Code != -32602 || !strings.HasPrefix(got.Error.Message, tc.want) || got.status != 200 {
			t.Errorf("%s %.200s\ngot  %.300s\nwant %s", tc.tool, tc.args, got.raw, tc.want)
		}
	}
	for _, tc := range []struct {
		method, params string
		code           int
		want           string
	}{
		{"nonsense", `{}`, -32601, "Method not found"}, {"server/discover", `{}`, -32601, ""},
		{"prompts/get", `{"name":"x"}`, -32602, "Unknown prompt: x"},
		{"resources/read", `{"uri":"surrealdb://schema"}`, -32002, "Unknown resource: surrealdb://schema"},
		{"resources/read", `{"uri":"surrealdb://schema/a"}`, -32002, "Unknown resource: surrealdb://schema/a"},
		{"resources/read", "{\"uri\":\"surrealdb://schema/ns/a`b/db/d\"}", -32602, "Invalid namespace identifier in resource URI: 'a`b'"},
		{"resources/read", `{"uri":"surrealdb://schema/ns/a/db/%00"}`, -32602, "Invalid database identifier in resource URI: '%00'"},
		{"tools/list", `{"cursor":"x"}`, -32602, "Unknown cursor"}, {"prompts/list", `{"cursor":"x"}`, -32602, "Unknown cursor"},
		{"resources/list", `{"cursor":"x"}`, -32602, ""}, {"resources/templates/list", `{"cursor":"x"}`, -32602, ""},
		{"tools/call", `{"arguments":{}}`, -32602, ""}, {"completion/complete", `{}`, -32602, ""},
	} {
		if got := c.call(tc.method, tc.params); got.Error == nil || got.Error.Code != tc.code || !strings.HasPrefix(got.Error.Message, tc.want) {
			t.Errorf("%s %s: %s", tc.method, tc.params, got.raw)
		}
	}
	for body, want := range map[string]int{
		`{`: -32700, "\xff": -32700, `[` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + `]`: -32700, ``: -32700,
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":` + strings.Repeat(`{"a":`, 500) + "1" + strings.Repeat("}", 501): -32700,
		`1`: -32600, `[]`: -32600, `{}`: -32600, `{"jsonrpc":"1.0","id":1,"method":"ping"}`: -32600,
		`{"jsonrpc":"2.0","id":null,"method":"ping"}`: -32600, `{"jsonrpc":"2.0","id":{},"method":"ping"}`: -32600,
		`{"jsonrpc":"2.0","id":1,"method":5}`: -32600, `{"jsonrpc":"2.0","id":1}`: -32600,
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}`: -32600,
	} {
		if got := c.post(body); got.Error == nil || got.Error.Code != want {
			t.Errorf("%.80q: %d %.200s", body, got.status, got.raw)
		}
	}
	if got := c.call("ping", "{}"); got.Error != nil {
		t.Errorf("afterwards: %s", got.raw)
	}
	huge := `{"name":"query","arguments":{"query":"RETURN 1","parameters":{"a":"` + strings.Repeat("x", 5<<20) + `"}}}`
	if got := c.call("tools/call", huge); got.status != 413 {
		t.Errorf("a body over the limit: %d %.100s", got.status, got.raw)
	}
}

// TestMCPClauses holds that a clause is that clause alone.
func TestMCPClauses(t *testing.T) {
	s := start(t)
	c := s.rootMCP(t)
	c.ok("create", `{"target":"a:1","data":{"n":1}}`)
	for _, args := range []string{
		`{"target":"a; DELETE a"}`, `{"target":"a WHERE n = 1"}`, `{"target":"(DELETE a)"}`, `{"target":"a","where_clause":"true; DELETE a"}`,
		`{"target":"a","where_clause":"(DELETE a)"}`, `{"target":"a","where_clause":"true LIMIT 1"}`, `{"target":"a","fields":"* FROM b; DELETE a; SELECT *"}`,
		`{"target":"a","fields":"* FROM b --"}`, `{"target":"a","order_clause":"n; DELETE a"}`, `{"target":"a","order_clause":"n LIMIT 1"}`,
		`{"target":"a","group_clause":"n; DELETE a"}`, `{"target":"a","split_clause":"n; DELETE a"}`, `{"target":"a","fetch_clause":"n; DELETE a"}`,
		`{"target":"a","where_clause":"} ; DELETE a"}`, `{"target":"a","where_clause":"n = 1 /* */ ; DELETE a"}`,
	} {
		got := c.tool("select", args)
		if got.Error == nil && got.Result["isError"] != true {
			t.Errorf("%s: %s", args, got.raw)
		}
		if left := c.ok("select", `{"target":"a"}`); !strings.Contains(left, "a:1") {
			t.Fatalf("%s deleted a record", args)
		}
	}
}

// TestMCPSubjects holds that a session is for who began it.
func TestMCPSubjects(t *testing.T) {
	s := start(t, func(c *config.Config) { c.AllowGuests = true })
	s.setup(t, "DEFINE USER other ON ROOT PASSWORD 'p' ROLES OWNER")
	root := s.rootMCP(t)
	const other = "Authorization: Basic b3RoZXI6cA=="
	in := func(c *mcpClient, headers ...string) *mcpClient {
		k := s.mcp(headers...)
		k.session = c.session
		return k
	}
	if got := in(root, rootAuth).tool("query", `{"query":"RETURN 1"}`); got.Error != nil {
		t.Errorf("the same user: %s", got.raw)
	}
	if got := in(root).tool("query", `{"query":"RETURN 1"}`); got.status != 200 || got.Error == nil || got.Error.Code != -32602 ||
		got.Error.Message != "Credentials required for this MCP session" {
		t.Errorf("without credentials: %d %s", got.status, got.raw)
	}
	if got := in(root, other).tool("query", `{"query":"RETURN 1"}`); got.status != 200 || got.Error == nil || got.Error.Code != -32602 ||
		got.Error.Message != "Credentials do not match the MCP session: re-initialize to bind a new session" {
		t.Errorf("another user: %d %s", got.status, got.raw)
	}
	if got := in(root).post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`); got.status != 202 {
		t.Errorf("a notification without credentials: %d %s", got.status, got.raw)
	}
	guest := s.mcp()
	guest.begin()
	if got := in(guest, rootAuth).tool("query", `{"query":"RETURN $auth; INFO FOR ROOT"}`); !strings.Contains(got.raw, "Not enough permissions") {
		t.Errorf("a guest's session with credentials: %s", got.raw)
	}
	if got := s.do("POST", "/mcp", "{}", asMCP, takesMCP, "Authorization: Basic cm9vdDpub3Bl"); got.StatusCode != 401 ||
		!strings.HasPrefix(got.Header.Get("WWW-Authenticate"), "Basic") {
		t.Errorf("wrong credentials: %d %v", got.StatusCode, got.Header)
	}
	if got := in(root, other).send("DELETE", ""); got.status != 403 {
		t.Errorf("another user ends the session: %d", got.status)
	}
	if got := root.send("DELETE", ""); got.status != 204 {
		t.Errorf("DELETE: %d %s", got.status, got.raw)
	}
	if got := root.call("ping", "{}"); got.status != 404 {
		t.Errorf("after DELETE: %d %s", got.status, got.raw)
	}
	if got := s.mcp(rootAuth).call("tools/list", "{}"); got.status != 400 {
		t.Errorf("without a session: %d %s", got.status, got.raw)
	}
}

// TestMCPReadOnly holds that nothing is changed where only reading is allowed, by any tool.
func TestMCPReadOnly(t *testing.T) {
	s := start(t, func(c *config.Config) { c.MCPReadOnly = true })
	s.setup(t, "DEFINE NAMESPACE n; USE NS n; DEFINE DATABASE d; USE DB d; CREATE a:1; DEFINE FUNCTION fn::w() { CREATE a };"+
		"DEFINE FUNCTION fn::r() { RETURN (SELECT VALUE id FROM a) }; DEFINE CONFIG GRAPHQL AUTO; DEFINE SEQUENCE s")
	c := s.rootMCP(t, "Service-NS: n", "Service-DB: d")
	list := c.call("tools/list", "{}").raw
	for _, name := range []string{"create", "insert", "upsert", "update", "delete", "relate"} {
		if strings.Contains(list, `"name":"`+name+`"`) {
			t.Errorf("%s is offered", name)
		}
		if got := c.tool(name, `{"target":"a:2"}`); got.Error == nil || got.Error.Code != -32602 {
			t.Errorf("%s: %s", name, got.raw)
		}
	}
	for _, text := range []string{"CREATE a", "DELETE a", "RETURN (CREATE a)", "SELECT * FROM (DELETE a)", "IF true { CREATE a }",
		"LET $x = (CREATE a)", "FOR $i IN [1] { CREATE a }", "BEGIN; CREATE a; COMMIT", "fn::w()", "RETURN fn::w()", "LET $f = || { CREATE a }; $f()",
		"DEFINE TABLE b", "REMOVE TABLE a", "ALTER TABLE a SCHEMAFULL", "USE NS fresh", "LIVE SELECT * FROM a", "INSERT INTO a {}", "RELATE a:1->b->a:1",
		"REBUILD INDEX i ON a", "sequence::nextval('s')", "EXPLAIN ANALYZE CREATE a", "[1].map(|$x| fn::w())", "http::post('http://127.0.0.1:1')",
		"eval::surql('CREATE a')", "api::invoke('/x')"} {
		got := c.tool("query", mcpArgs(text))
		if got.Error == nil && !strings.Contains(got.raw, `"status":"error"`) {
			t.Errorf("%s: %s", text, got.raw)
		}
	}
	for _, text := range []string{"RETURN fn::r()", "SELECT * FROM a", "INFO FOR DB", "EXPLAIN SELECT * FROM a"} {
		if got := c.tool("query", mcpArgs(text)); got.Error != nil || got.Result["isError"] == true {
			t.Errorf("%s: %s", text, got.raw)
		}
	}
	if got := c.tool("run", `{"function":"fn::w"}`); got.Result["isError"] != true {
		t.Errorf("run: %s", got.raw)
	}
	if got := c.tool("gql", `{"query":"INSERT (:a {n: 1})"}`); got.Result["isError"] != true {
		t.Errorf("gql: %s", got.raw)
	}
	c.tool("graphql", `{"query":"mutation { createA(data: {}) { id } }"}`)
	if got := c.ok("query", mcpArgs("SELECT VALUE id FROM a")); !strings.HasSuffix(got, `"value":["a:1"]}`) {
		t.Errorf("afterwards: %s", got)
	}
}
