package telemetry

import (
	"io"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// ToolCall names a class of calls of MCP tools.
type ToolCall struct{ Tool, Transport, Outcome, Class, Namespace, Database, User string }

// mcp are the counters of MCP.
type mcp struct {
	calls map[ToolCall]*outcome
	http  atomic.Int64 // sessions open
	stdio atomic.Int64
}

// mostToolCalls is how many classes are told apart; those of further places and users count as those of "other".
const mostToolCalls = 1000

// MCPCall counts a call of a tool.
func (m *Metrics) MCPCall(c ToolCall, d time.Duration) {
	if m == nil {
		return
	}
	m.mu.Lock()
	o := m.mcp.calls[c]
	if o == nil && len(m.mcp.calls) >= mostToolCalls {
		c.Namespace, c.Database, c.User = "other", "other", "other"
		o = m.mcp.calls[c]
	}
	if o == nil {
		if m.mcp.calls == nil {
			m.mcp.calls = map[ToolCall]*outcome{}
		}
		o = &outcome{}
		m.mcp.calls[c] = o
	}
	m.mu.Unlock()
	o.observe(d, c.Outcome == "ok")
}

// MCPSession counts a session that begins (1) or ends (-1).
func (m *Metrics) MCPSession(transport string, by int64) {
	switch {
	case m == nil:
	case transport == "stdio":
		m.mcp.stdio.Add(by)
	default:
		m.mcp.http.Add(by)
	}
}

func (m *Metrics) writeMCP(w io.Writer) {
	m.mu.Lock()
	rows := maps.Clone(m.mcp.calls)
	m.mu.Unlock()
	labels := func(c ToolCall) string {
		var b strings.Builder
		for i, l := range [...][2]string{{"tool", c.Tool}, {"transport", c.Transport}, {"outcome", c.Outcome},
			{"error_class", c.Class}, {"namespace", c.Namespace}, {"database", c.Database}, {"user", c.User}} {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(l[0] + "=" + labelValue(l[1]))
		}
		return b.String()
	}
	keys := slices.SortedFunc(maps.Keys(rows), func(a, b ToolCall) int { return strings.Compare(labels(a), labels(b)) })
	family(w, "surrealdb_mcp_tool_invocation_total", "counter", "Calls of MCP tools.")
	for _, k := range keys {
		line(w, "surrealdb_mcp_tool_invocation_total", labels(k), float64(rows[k].ok.Load()+rows[k].failed.Load()))
	}
	family(w, "surrealdb_mcp_tool_duration_seconds", "histogram", "Time of calls of MCP tools.")
	for _, k := range keys {
		rows[k].spent.write(w, "surrealdb_mcp_tool_duration_seconds", labels(k))
	}
	family(w, "surrealdb_mcp_session_active", "gauge", "MCP sessions that are open.")
	line(w, "surrealdb_mcp_session_active", `transport="http"`, float64(m.mcp.http.Load()))
	line(w, "surrealdb_mcp_session_active", `transport="stdio"`, float64(m.mcp.stdio.Load()))
}

var labelEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// labelValue is v quoted as the text format of Prometheus wants it.
func labelValue(v string) string {
	if len(v) > 128 {
		v = v[:128]
	}
	return `"` + labelEscapes.Replace(strings.ToValidUTF8(v, "?")) + `"`
}
