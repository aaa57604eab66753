package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacredb/nacre/internal/loopback"
)

// TestReadmeMemoryForAgents runs the five commands of the README as they are printed there, at another port.
func TestReadmeMemoryForAgents(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "README.md"))
	must(t, err)
	_, section, _ := strings.Cut(string(b), "## Memory for agents\n")
	_, code, _ := strings.Cut(section, "```sh\n")
	code, _, ok := strings.Cut(code, "```")
	if n := strings.Count(strings.TrimSpace(code), "\n") + 1; !ok || n != 5 {
		t.Fatalf("the section has %d commands, want 5: %s", n, code)
	}
	addr, err := loopback.Free()
	must(t, err)
	code = strings.NewReplacer("127.0.0.1:8080", addr, "localhost:8080", addr).Replace(code)
	script := "set -eu\ntrap 'kill $!; wait $!' EXIT\n" + code
	cmd := exec.Command("bash", "-c", script)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "MEMSVC_SURREALDB_URL=", "MEMSVC_API_KEY=", "MEMSVC_MANAGEMENT_API_KEY=")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) < 3 {
		t.Fatalf("got %s", out)
	}
	for i, want := range []string{`"turnId"`, "I moved to Lisbon.", "I moved to Lisbon."} {
		if got := lines[len(lines)-3+i]; !strings.Contains(got, want) {
			t.Errorf("command %d: got %s", i+3, got)
		}
	}
}
