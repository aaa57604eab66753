package daemon_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/nacredb/nacre/daemon/config"
)

// TestMCPTransport goes through what HTTP carries: types, streams, versions, sessions, batches and notifications.
func TestMCPTransport(t *testing.T) {
	s := start(t)
	begun := map[string]string{"": ""}
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		c := s.mcp(rootAuth)
		got := c.call("initialize", `{"protocolVersion":"`+version+`","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
		begun[version] = "Mcp-Session-Id: " + got.header("Mcp-Session-Id")
	}
	const ping, list = `{"jsonrpc":"2.0","id":7,"method":"ping"}`, `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`
	const pong = `{"id":7,"jsonrpc":"2.0","result":{}}`
	const newest = "2025-11-25"
	for _, tc := range []struct {
		name, session, body string
		headers             []string
		status              int
		want                string // a pattern
	}{
		{"JSON", newest, ping, nil, 200, `^` + regexp.QuoteMeta(pong) + `$`},
		{"a stream for a client that takes nothing else", newest, ping, []string{"Accept: text/event-stream"}, 200, `^data: ` + regexp.QuoteMeta(pong) + "\n\n$"},
		{"everything is accepted", newest, ping, []string{"Accept: */*"}, 200, `^\{`},
		{"weights", newest, ping, []string{"Accept: application/json;q=0.9, text/event-stream;q=0.1"}, 200, `^\{`},
		{"no stream is accepted", newest, ping, []string{"Accept: application/json"}, 406, `"code":-32600.*Accept must have`},
		{"neither is accepted", newest, ping, []string{"Accept: text/html"}, 406, `-32600`},
		{"another type", newest, ping, []string{"Content-Type: text/plain"}, 415, `-32600.*Content-Type must be application/json`},
		{"no type", newest, ping, []string{"Content-Type: "}, 415, `-32600`},
		{"a charset", newest, ping, []string{"Content-Type: application/json; charset=utf-8"}, 200, `^\{`},
		{"its version", newest, ping, []string{"MCP-Protocol-Version: 2025-11-25"}, 200, `^\{`},
		{"no version", newest, ping, nil, 200, `^\{`},
		{"an unsupported version", newest, ping, []string{"MCP-Protocol-Version: 1999-01-01"}, 400, `"code":-32602`},
		{"an unsupported version without a session", "", `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":{` +
			`"io.modelcontextprotocol/protocolVersion":"1999-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}`,
			[]string{"MCP-Protocol-Version: 1999-01-01"}, 400,
			`"code":-32022,"message":"Unsupported protocol version","data":\{"requested":"1999-01-01","supported":\["2026-07-28","2025-11-25",`},
		{"another version in the header", "", `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":` + mcpMeta + `}}`,
			[]string{"MCP-Protocol-Version: 2025-11-25"}, 400, `"code":-32020`},
		{"no version in the header", "", `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":` + mcpMeta + `}}`, nil, 400, `"code":-32020`},
		{"no method in the header", "", `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":` + mcpMeta + `}}`,
			[]string{"MCP-Protocol-Version: 2026-07-28"}, 400, `"code":-32020`},
		{"another resource in the header", "", `{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"surrealdb://info","_meta":` + mcpMeta + `}}`,
			[]string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: resources/read", "Mcp-Name: surrealdb://version"}, 400, `"code":-32020`},
		{"a prompt in the header", "", `{"jsonrpc":"2.0","id":7,"method":"prompts/get","params":{"name":"data_modeler","_meta":` + mcpMeta + `}}`,
			[]string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: prompts/get", "Mcp-Name: data_modeler"}, 200, `"resultType":"complete"`},
		{"a subscription", "", `{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":` + mcpMeta + `}}`,
			[]string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: subscriptions/listen"}, 200,
			`^data: \{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":\{"_meta":\{"io.modelcontextprotocol/subscriptionId":7\},"notifications":\{\}\}\}` +
				"\n\n" + `data: \{"id":7,.*"io.modelcontextprotocol/subscriptionId":7.*"resultType":"complete"`},
		{"a subscription to nothing", "", `{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{"_meta":` + mcpMeta + `}}`,
			[]string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: subscriptions/listen"}, 400, `"code":-32602`},
		{"a notification without a session", "", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"_meta":` + mcpMeta + `}}`,
			[]string{"MCP-Protocol-Version: 2026-07-28"}, 202, `^$`},
		{"no session", "", list, nil, 400, `"code":-32600.*send .initialize. first`},
		{"a ping without a session", "", ping, nil, 200, `^\{`},
		{"an unknown session", "", list, []string{"Mcp-Session-Id: " + strings.Repeat("A", 26)}, 404, `"code":-32600`},
		{"initialize in a session", newest, `{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`, nil, 400, `-32600`},
		{"initialize without a version", "", `{"jsonrpc":"2.0","id":7,"method":"initialize","params":{}}`, nil, 200, `"code":-32602`},
		{"a notification", newest, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil, 202, `^$`},
		{"an unknown notification", newest, `{"jsonrpc":"2.0","method":"notifications/x"}`, nil, 202, `^$`},
		{"an answer of the client", newest, `{"jsonrpc":"2.0","id":1,"result":{}}`, nil, 202, `^$`},
		{"an unknown method", newest, `{"jsonrpc":"2.0","id":7,"method":"x"}`, nil, 200, `"code":-32601`},
		{"logging/setLevel", newest, `{"jsonrpc":"2.0","id":7,"method":"logging/setLevel","params":{"level":"info"}}`, nil, 200, regexp.QuoteMeta(pong)},
		{"a batch", "2025-03-26", `[` + ping + `,{"jsonrpc":"2.0","method":"notifications/x"},` + ping + `]`, nil, 200,
			`^\[` + regexp.QuoteMeta(pong) + `,` + regexp.QuoteMeta(pong) + `\]$`},
		{"a batch as a stream", "2025-03-26", `[` + ping + `,` + ping + `]`, []string{"Accept: text/event-stream"}, 200, "^data: .*\n\ndata: .*\n\n$"},
		{"a batch of notifications", "2025-03-26", `[{"jsonrpc":"2.0","method":"notifications/x"}]`, nil, 202, `^$`},
		{"a batch with initialize", "2025-03-26", `[` + ping + `,{"jsonrpc":"2.0","id":8,"method":"initialize"}]`, nil, 400, `-32600`},
		{"too large a batch", "2025-03-26", `[` + strings.Repeat(ping+",", 64) + ping + `]`, nil, 400, `-32600.*between 1 and 64`},
		{"a batch of an older revision", "2024-11-05", `[` + ping + `]`, nil, 400, `-32600`},
		{"a batch of a newer revision", "2025-06-18", `[` + ping + `]`, nil, 400, `-32600`},
		{"a batch of the newest revision", newest, `[` + ping + `]`, nil, 400, `-32600`},
	} {
		headers := append([]string{rootAuth, asMCP, takesMCP}, tc.headers...)
		if tc.session != "" {
			headers = append(headers, begun[tc.session])
		}
		got := s.do("POST", "/mcp", tc.body, headers...)
		if got.StatusCode != tc.status || !regexp.MustCompile(`(?s)`+tc.want).MatchString(got.body) {
			t.Errorf("%s: %d %s", tc.name, got.StatusCode, got.body)
		}
		if strings.HasPrefix(got.body, "data:") && (got.Header.Get("Content-Type") != "text/event-stream" ||
			got.Header.Get("Cache-Control") != "no-cache" || got.Header.Get("X-Accel-Buffering") != "no") {
			t.Errorf("%s: %v", tc.name, got.Header)
		}
	}
	for _, path := range []string{"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp",
		"/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"} {
		if got := s.do("GET", path, ""); got.StatusCode != 404 {
			t.Errorf("%s: %d", path, got.StatusCode)
		}
	}
	for _, method := range []string{"PUT", "PATCH", "HEAD"} {
		if got := s.do(method, "/mcp", "", rootAuth); got.StatusCode != 405 || !strings.Contains(strings.Join(got.Header.Values("Allow"), ","), "POST") {
			t.Errorf("%s: %d %v", method, got.StatusCode, got.Header)
		}
	}
	if got := s.do("POST", "/mcp", list, asMCP, takesMCP); got.StatusCode != 403 && got.StatusCode != 401 {
		t.Errorf("a guest where none are allowed: %d %s", got.StatusCode, got.body)
	}
}

// TestMCPStream opens the event stream of a session: one a session, for its owner, until the session ends.
func TestMCPStream(t *testing.T) {
	s := start(t)
	s.setup(t, "DEFINE USER other ON ROOT PASSWORD 'p' ROLES OWNER")
	c := s.rootMCP(t)
	open := func(headers ...string) *http.Response {
		ctx, stop := context.WithCancel(t.Context())
		t.Cleanup(stop)
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/mcp", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range append([]string{"Accept: text/event-stream", rootAuth, "Mcp-Session-Id: " + c.session}, headers...) {
			name, v, _ := strings.Cut(h, ": ")
			req.Header.Set(name, v)
		}
		resp, err := s.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = resp.Body.Close() })
		return resp
	}
	for _, tc := range []struct {
		headers []string
		status  int
	}{
		{[]string{"Mcp-Session-Id: nothing"}, 404}, {[]string{"Accept: application/json"}, 406}, {[]string{"Mcp-Session-Id: "}, 405},
		{[]string{"MCP-Protocol-Version: 1999-01-01"}, 400}, {[]string{"MCP-Protocol-Version: 2026-07-28"}, 405},
		{[]string{"Authorization: Basic b3RoZXI6cA=="}, 403}, {[]string{"Origin: https://evil.example"}, 403},
	} {
		if resp := open(tc.headers...); resp.StatusCode != tc.status {
			t.Errorf("%v: %d, want %d", tc.headers, resp.StatusCode, tc.status)
		}
	}
	stream := open()
	h := stream.Header
	if stream.StatusCode != 200 || h.Get("Content-Type") != "text/event-stream" || h.Get("Cache-Control") != "no-cache" || h.Get("X-Accel-Buffering") != "no" {
		t.Fatalf("%d %v", stream.StatusCode, h)
	}
	r := bufio.NewReader(stream.Body)
	if line, err := r.ReadString('\n'); err != nil || line != ":\n" { // a comment: the stream is open
		t.Fatalf("%q %v", line, err)
	}
	if second := open(); second.StatusCode != 409 {
		t.Errorf("a second stream: %d", second.StatusCode)
	}
	if got := c.call("ping", "{}"); got.Error != nil {
		t.Errorf("beside the stream: %s", got.raw)
	}
	if got := c.send("DELETE", ""); got.status != 204 {
		t.Fatalf("DELETE: %d", got.status)
	}
	if rest, err := io.ReadAll(r); err != nil || strings.Trim(string(rest), ":\n") != "" { // the end of the session ends it
		t.Errorf("%q %v", rest, err)
	}
	for _, method := range []string{"DELETE", "GET"} {
		if got := c.send(method, ""); got.status != 404 {
			t.Errorf("%s after DELETE: %d", method, got.status)
		}
	}
}

// TestMCPCapabilities holds that what the server denies is denied here, too.
func TestMCPCapabilities(t *testing.T) {
	for _, tc := range []struct {
		name       string
		change     func(*config.Config)
		tool, args string
		want       string
	}{
		{"a function", func(c *config.Config) { c.DenyFunctions = names("string::len") }, "run", `{"function":"string::len","args":["a"]}`, "string::len"},
		{"a function in a query", func(c *config.Config) { c.DenyFunctions = names("string::len") }, "query", mcpArgs("RETURN string::len('a')"), "string::len"},
		{"a function in a clause", func(c *config.Config) { c.DenyFunctions = names("string::len") }, "select",
			`{"target":"[1]","where_clause":"string::len('a') = 1"}`, "string::len"},
		{"statements", func(c *config.Config) { c.DenyQuery = names("system") }, "query", mcpArgs("RETURN 1"),
			"Error (NotAllowed): Capabilities denied this query for the current subject"},
		{"records", func(c *config.Config) { c.DenyQuery = names("system") }, "select", `{"target":"a"}`,
			"Error (NotAllowed): Capabilities denied this query for the current subject"},
		{"gql", func(c *config.Config) { c.DenyQuery = names("system") }, "gql", mcpArgs("MATCH (a) RETURN a"),
			"Error (NotAllowed): Capabilities denied this query for the current subject"},
		{"the network", func(c *config.Config) { c.DenyNet = names("127.0.0.1") }, "run", `{"function":"http::get","args":["http://127.0.0.1:1/"]}`, "Access to network target"},
	} {
		s := start(t, tc.change)
		got := s.rootMCP(t).tool(tc.tool, tc.args)
		if got.Result["isError"] != true || !strings.Contains(got.text(), tc.want) {
			t.Errorf("%s: %s", tc.name, got.raw)
		}
	}
	s := start(t, func(c *config.Config) { c.DenyHTTP = names("mcp") })
	for _, method := range []string{"POST", "GET", "DELETE"} {
		if got := s.do(method, "/mcp", "", rootAuth); got.StatusCode != 403 {
			t.Errorf("%s with the route denied: %d %s", method, got.StatusCode, got.body)
		}
	}
}

// TestMCPAudit holds that each call writes a line and counts, without a text or a value.
func TestMCPAudit(t *testing.T) {
	s := start(t, func(c *config.Config) { c.AllowGuests = true })
	s.setup(t, "DEFINE NAMESPACE n; USE NS n; DEFINE DATABASE d; USE DB d; DEFINE TABLE a; DEFINE TABLE user; CREATE user:1 SET pass = 'p';"+
		"DEFINE ACCESS acc ON DATABASE TYPE RECORD SIGNIN (SELECT * FROM user WHERE pass = $pass); DEFINE USER u ON DATABASE PASSWORD 'p' ROLES OWNER;"+
		"USE NS n; DEFINE USER w ON NAMESPACE PASSWORD 'p' ROLES OWNER")
	token := func(in string) string {
		body := s.do("POST", "/signin", in, "Accept: application/json").body
		_, rest, _ := strings.Cut(body, `"token":"`)
		got, _, _ := strings.Cut(rest, `"`)
		if got == "" {
			t.Fatal(body)
		}
		return "Authorization: Bearer " + got
	}
	for _, tc := range []struct {
		who, subject, tool, args, outcome, class string
	}{
		{rootAuth, "Root::root", "query", `{"query":"RETURN 'sesame'"}`, "ok", ""},
		{rootAuth, "Root::root", "query", `{"query":"THROW 'sesame'"}`, "error", "Thrown"},
		{rootAuth, "Root::root", "query", `{"query":"RETURN $a","parameters":{"a":{"$ql":"sesame()"}}}`, "error", "protocol"},
		{rootAuth, "Root::root", "create", `{"target":"a:sesame","data":{"v":"sesame"}}`, "ok", ""},
		{rootAuth, "Root::root", "graphql", `{"query":"{ sesame }"}`, "error", "*"},
		{token(`{"ns":"n","db":"d","user":"u","pass":"p"}`), "Database(n/d)::u", "info", `{"target":"db"}`, "ok", ""},
		{token(`{"ns":"n","user":"w","pass":"p"}`), "Namespace(n)::w", "list", `{"kind":"databases"}`, "ok", ""},
		{token(`{"ns":"n","db":"d","ac":"acc","pass":"p"}`), "Record(n/d)::user:1", "select", `{"target":"a"}`, "ok", ""},
		{"X: y", "anonymous", "query", `{"query":"RETURN 1"}`, "ok", ""},
		{"X: y", "anonymous", "select", `{"target":"a"}`, "*", "*"},
	} {
		c := s.mcp(tc.who, "Service-NS: n", "Service-DB: d")
		c.begin()
		before := len(s.logs.String())
		c.tool(tc.tool, tc.args)
		line := regexp.MustCompile(`.*msg="MCP tool".*`).FindString(s.logs.String()[before:])
		want := fmt.Sprintf(`component=mcp tool=%s subject=%s namespace=n database=d outcome=%s error=%s`, tc.tool, tc.subject, tc.outcome, tc.class)
		if !regexp.MustCompile(strings.ReplaceAll(regexp.QuoteMeta(want), `\*`, `\w*`) + `("")?$`).MatchString(line) {
			t.Errorf("%s %s:\ngot  %s\nwant %s", tc.tool, tc.args, line, want)
		}
		if tc.outcome == "*" {
			continue
		}
		labels := fmt.Sprintf(`{tool="%s",transport="http",outcome="%s",error_class="%s",namespace="n",database="d",user="%s"}`, tc.tool, tc.outcome, tc.class, tc.subject)
		if n := s.scrape()["surrealdb_mcp_tool_invocation_total"+labels]; tc.class != "*" && n == 0 {
			t.Errorf("no metric %s", labels)
		}
	}
	if logs := s.logs.String(); strings.Contains(logs, "sesame") {
		t.Errorf("a text or a value is in the log:\n%s", logs)
	}
	metrics := s.do("GET", "/metrics", "", rootAuth).body
	for _, name := range []string{"surrealdb_mcp_tool_duration_seconds_bucket{", "surrealdb_mcp_tool_duration_seconds_sum", "surrealdb_mcp_session_active{transport=\"http\"} 10"} {
		if !strings.Contains(metrics, name) {
			t.Errorf("/metrics lacks %s", name)
		}
	}
}
