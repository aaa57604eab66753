package daemon_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/nacredb/nacre/daemon/config"
)

// later makes a call beside others: requests with one id, of one session.
func (c *mcpClient) later(id, tool, args string) <-chan mcpReply {
	out := make(chan mcpReply, 1)
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, args)
	go func() {
		for {
			got := c.post(body)
			if !strings.Contains(got.raw, "is at work in the session") { // else a ping of busy had the id just then
				out <- got
				return
			}
		}
	}()
	return out
}

// busy waits until a request with that id is at work in the session.
func (c *mcpClient) busy(id string) {
	c.t.Helper()
	eventually(c.t, "a call at work", func() bool {
		return strings.Contains(c.post(`{"jsonrpc":"2.0","id":`+id+`,"method":"ping"}`).raw, "is at work in the session")
	})
}

// TestMCPCancel holds that notifications/cancelled stops the statement, that of the own session alone.
func TestMCPCancel(t *testing.T) {
	s := start(t)
	a, b := s.rootMCP(t), s.rootMCP(t)
	for _, tc := range []struct{ tool, args string }{
		{"query", mcpArgs("SLEEP 1h")},
		{"query", mcpArgs("FOR $i IN 0..1000000000000 { LET $x = $i }")},
		{"query", mcpArgs("BEGIN; CREATE gone:1; SLEEP 1h; COMMIT")},
		{"run", `{"function":"sleep","args":[{"$ql":"1h"}]}`},
		{"select", `{"target":"[1]","where_clause":"sleep(1h) = NONE"}`},
		{"gql", mcpArgs("FOR x IN [1] RETURN x")}, // an end of its own, too
	} {
		for _, id := range []string{"9", `"nine"`} {
			mine, other := a.later(id, tc.tool, tc.args), b.later(id, "query", mcpArgs("SLEEP 1h"))
			if tc.tool != "gql" {
				a.busy(id)
			}
			b.busy(id)
			if got := a.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `,"reason":"enough"}}`); got.status != 202 || got.raw != "" {
				t.Fatalf("cancelled: %d %s", got.status, got.raw)
			}
			if got := <-mine; tc.tool != "gql" && !strings.Contains(got.text(), "The request was cancelled") {
				t.Errorf("%s %s: %s", tc.tool, tc.args, got.raw)
			}
			b.busy(id) // the other session goes on
			b.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`)
			if got := <-other; !strings.Contains(got.raw, "The request was cancelled") {
				t.Errorf("the other session: %s", got.raw)
			}
		}
	}
	if got := a.tool("query", mcpArgs("SELECT * FROM gone")); !strings.Contains(got.raw, "The table 'gone' does not exist") {
		t.Errorf("a cancelled transaction left %s", got.raw)
	}
	for _, odd := range []string{`{}`, `{"requestId":null}`, `{"requestId":"nothing"}`, `{"requestId":{"a":1}}`} { // ids that nothing has
		if got := a.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":` + odd + `}`); got.status != 202 {
			t.Errorf("%s: %d %s", odd, got.status, got.raw)
		}
	}
}

// The end of the session, and that of the connection, stop what is at work.
func TestMCPCancelByEnd(t *testing.T) {
	s := start(t)
	c := s.rootMCP(t)
	slow := c.later("1", "query", mcpArgs("SLEEP 1h"))
	c.busy("1")
	if got := c.send("DELETE", ""); got.status != 204 {
		t.Fatal(got.status)
	}
	if got := <-slow; !strings.Contains(got.raw, "The request was cancelled") {
		t.Errorf("DELETE: %s", got.raw)
	}
	for mark, headers := range map[string][]string{
		"session": {"Mcp-Session-Id: " + s.rootMCP(t).session},
		"alone":   {"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: query"},
	} {
		meta := ""
		if mark == "alone" {
			meta = `,"_meta":` + mcpMeta
		}
		before := strings.Count(s.logs.String(), "msg=\"MCP tool\"")
		ctx, leave := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/mcp", strings.NewReader(
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"query","arguments":`+mcpArgs("CREATE mark:"+mark+"; SLEEP 1h")+meta+`}}`))
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range append(headers, rootAuth, asMCP, takesMCP) {
			name, v, _ := strings.Cut(h, ": ")
			req.Header.Set(name, v)
		}
		done := make(chan error, 1)
		go func() {
			resp, err := s.http.Do(req)
			if err == nil {
				_, err = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
			done <- err
		}()
		eventually(t, "a statement at work", func() bool {
			return strings.Contains(s.do("POST", "/sql", "SELECT VALUE id FROM mark", rootAuth, "Service-NS: main", "Service-DB: main",
				"Accept: application/json").body, "mark:"+mark)
		})
		leave()
		if err := <-done; err == nil {
			t.Errorf("%s: the request was answered", mark)
		}
		eventually(t, "the audit line of a call that its client left", func() bool { return strings.Count(s.logs.String(), "msg=\"MCP tool\"") > before })
	}
}

// TestMCPTimeout holds that a call ends after its time, and says how to have more.
func TestMCPTimeout(t *testing.T) {
	s := start(t, func(c *config.Config) { c.Limits.MCPTimeout = 1 })
	c := s.rootMCP(t)
	for _, tc := range []struct{ tool, args string }{
		{"query", mcpArgs("SLEEP 1h")},
		{"query", mcpArgs("RETURN 1; SLEEP 1h")},
		{"run", `{"function":"sleep","args":[{"$ql":"1h"}]}`},
		{"select", `{"target":"[1]","where_clause":"sleep(1h) = NONE"}`},
	} {
		got := c.tool(tc.tool, tc.args)
		if !strings.Contains(got.text(), "MCP query exceeded the 1s timeout (set NACRE_MCP_QUERY_TIMEOUT_SECS=0 to disable)") {
			t.Errorf("%s %s: %s", tc.tool, tc.args, got.raw)
		}
		if !strings.Contains(got.raw, `"kind":"Query"`) {
			t.Errorf("%s %s: kind: %s", tc.tool, tc.args, got.raw)
		}
	}
	s = start(t, func(c *config.Config) { c.Limits.MCPTimeout = 0 })
	if got := s.rootMCP(t).tool("query", mcpArgs("SLEEP 1200ms; RETURN 1")); strings.Contains(got.raw, "timeout") || got.Result["isError"] == true {
		t.Errorf("without a limit: %s", got.raw)
	}
}

// TestMCPSessionLimits holds that sessions, and the calls of one, are bounded.
func TestMCPSessionLimits(t *testing.T) {
	s := start(t, func(c *config.Config) { c.Limits.MCPSessions = 3 })
	first := s.rootMCP(t)
	s.rootMCP(t)
	s.rootMCP(t)
	if got := s.mcp(rootAuth).call("initialize", mcpHello); got.status != 503 || got.header("Retry-After") == "" {
		t.Errorf("one session too many: %d %s", got.status, got.raw)
	}
	var calls []<-chan mcpReply
	for i := range 64 {
		id := fmt.Sprint(100 + i)
		calls = append(calls, first.later(id, "query", mcpArgs("SLEEP 1h")))
	}
	for i := range calls {
		eventually(t, "64 calls at work", func() bool {
			return strings.Contains(first.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, 100+i)).raw, "at work")
		})
	}
	if got := first.call("ping", "{}"); got.Error == nil || got.Error.Code != -32600 || !strings.HasPrefix(got.Error.Message, "Too many requests at work") {
		t.Errorf("one call too many: %s", got.raw)
	}
	if got := first.send("DELETE", ""); got.status != 204 {
		t.Fatal(got.status)
	}
	for _, c := range calls {
		if got := <-c; !strings.Contains(got.raw, "cancelled") {
			t.Errorf("%s", got.raw)
		}
	}
	s.rootMCP(t) // there is room again
}
