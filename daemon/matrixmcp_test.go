package daemon_test

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/nacredb/nacre/engine/value"
)

// The doors of MCP. Their actions are the texts of the tools query, gql and graphql.

// mcpQuery begins a session, chooses the place by the tool use where the principal may, and ends it.
func (c *caller) mcpQuery(r *row, text string) outcome { return c.mcpTool(r, "query", text) }

func (c *caller) mcpGQL(r *row, text string) outcome { return c.mcpTool(r, "gql", text) }

func (c *caller) mcpGraphQL(r *row, text string) outcome {
	client := c.s.mcp(c.headers(r.place)...)
	got := client.call("initialize", mcpHello)
	if got.Error != nil || got.status != 200 {
		return ofMCP(c, got)
	}
	client.session = got.header("Mcp-Session-Id")
	defer client.send("DELETE", "")
	got = client.tool("graphql", mcpArgs(text))
	if got.Error != nil || got.Result["isError"] == true {
		return ofMCP(c, got)
	}
	v, _ := c.decode(got.raw).Object().Get("result")
	data, _ := v.Object().Get("structuredContent")
	return ofGraphQL(data, got.raw)
}

const mcpHello = `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"matrix","version":"1"}}`

func (c *caller) mcpTool(r *row, tool, text string) outcome {
	client := c.s.mcp(c.headers(r.place)...)
	got := client.call("initialize", mcpHello)
	if got.Error != nil || got.status != 200 {
		return ofMCP(c, got)
	}
	client.session = got.header("Mcp-Session-Id")
	defer client.send("DELETE", "")
	return ofMCP(c, client.tool(tool, mcpArgs(text)))
}

func (c *caller) mcpAlone(r *row, text string) outcome {
	client := c.s.mcp(c.headers(r.place, "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: query")...)
	return ofMCP(c, client.call("tools/call", fmt.Sprintf(`{"name":"query","arguments":%s,"_meta":%s}`, mcpArgs(text), mcpMeta)))
}

const mcpMeta = `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

func mcpArgs(text string) string {
	return string(value.AppendJSON(nil, value.ObjectOf(value.NewObject(value.Field{Name: "query", Value: value.Str(text)}))))
}

// ofMCP is the outcome of a tool: of its last statement.
func ofMCP(c *caller, got mcpReply) outcome {
	if got.Error != nil {
		return outcome{msg: got.Error.Message, raw: got.raw}
	}
	if got.status != 200 {
		return ofHTTP(reply{body: got.raw, Response: &http.Response{StatusCode: got.status}})
	}
	result, _ := c.decode(got.raw).Object().Get("result")
	v, _ := result.Object().Get("structuredContent")
	if list, ok := v.Object().Get("results"); ok {
		if list.Len() == 0 {
			return outcome{raw: got.raw, empty: true}
		}
		v = list.Elems()[list.Len()-1]
	}
	o := outcome{raw: got.raw}
	if status, _ := v.Object().Get("status"); status.Kind() == value.KindString && status.Str() == "error" {
		msg, _ := v.Object().Get("error")
		kind, _ := v.Object().Get("kind")
		o.msg, o.kind = msg.Str(), kind.Str()
		return o
	}
	answer, _ := v.Object().Get("value")
	o.answer, o.empty = strings.TrimSpace(answer.Text()), emptyValue(answer)
	return o
}
