package daemon_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
)

// TestMCPCrowd opens 200 sessions at once, each with calls of tools and all with their results kept apart: the heap grows
// by less than 100 MB.
func TestMCPCrowd(t *testing.T) {
	s := start(t)
	s.setup(t, "DEFINE NAMESPACE n; USE NS n; DEFINE DATABASE d; USE DB d; CREATE |a:1000| SET text = string::repeat('x', 100)")
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	before := heap()
	const crowd = 200
	clients := make([]*mcpClient, crowd)
	var work sync.WaitGroup
	for i := range clients {
		clients[i] = s.rootMCP(t, "Service-NS: n", "Service-DB: d")
		work.Go(func() {
			c := clients[i]
			for range 3 {
				c.ok("select", `{"target":"a","limit_clause":100}`)
				c.ok("describe", `{}`)
			}
			want := fmt.Sprintf(`{"status":"ok","truncated":false,"value":%d}`, i)
			if got := c.ok("query", fmt.Sprintf(`{"query":"RETURN $i","parameters":{"i":%d}}`, i)); got != want {
				t.Errorf("session %d got %s", i, got)
			}
		})
	}
	work.Wait()
	if n := s.scrape()[`surrealdb_mcp_session_active{transport="http"}`]; n != crowd {
		t.Errorf("%v sessions are open", n)
	}
	grown := max(heap(), before) - before
	t.Logf("%d sessions: %d KiB more", crowd, grown>>10)
	if grown > 100<<20 {
		t.Errorf("%d sessions take %d MiB", crowd, grown>>20)
	}
	runtime.KeepAlive(clients)
}
