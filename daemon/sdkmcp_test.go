package daemon_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacredb/nacre/daemon/config"
)

// mcpScript runs a script of testdata/sdk-mcp, whose packages scripts/test installs, and checks how many steps it did.
func mcpScript(t *testing.T, steps int, script string, args ...string) string {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal("node is not installed: scripts/test installs it")
	}
	dir := filepath.Join("..", "testdata", "sdk-mcp")
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "@modelcontextprotocol", "sdk")); err != nil {
		t.Fatal("the clients are not installed: run scripts/test, or npm ci in testdata/sdk-mcp")
	}
	cmd := exec.CommandContext(t.Context(), node, append([]string{script}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if n := strings.Count(string(out), "ok   "); n != steps {
		t.Errorf("%d steps ran, want %d:\n%s", n, steps, out)
	}
	return string(out)
}

// nacreProgram builds the binary, for clients that start it.
func nacreProgram(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "nacre")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "github.com/nacredb/nacre/cmd/nacre")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// The official TypeScript clients of MCP, unchanged: both lines of them, over HTTP and standard streams, with sessions and
// without.
func TestMCPClients(t *testing.T) {
	s := start(t)
	mcpScript(t, 6*16+2, "clients.mjs", s.url, "root", "root", nacreProgram(t), t.TempDir())
	if n, ok := s.scrape()[`surrealdb_mcp_session_active{transport="http"}`]; !ok || n != 0 {
		t.Errorf("%v sessions are left", n)
	}
}

// The command line of the inspector, unchanged, over both transports.
func TestMCPInspector(t *testing.T) {
	s := start(t)
	mcpScript(t, 12, "inspector.mjs", s.url, "root", "root", nacreProgram(t))
}

// The conformance runner of the protocol, with all that its revisions require of servers. What a scenario needs of the
// protocol's example server alone is listed in conformance.mjs; everything else passes.
func TestMCPConformance(t *testing.T) {
	s := start(t, func(c *config.Config) { c.AllowGuests = true })
	out := mcpScript(t, 19, "conformance.mjs", s.url, t.TempDir())
	if !strings.Contains(out, "none 2026-07-28 server-stateless: demands tools test_missing_capability, "+
		"test_streaming_elicitation and test_logging_tool, for 4 checks; ") {
		t.Error("server-stateless did not run")
	}
	t.Log(out)
}
