package daemon_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The official JavaScript client, unchanged, over both transports. scripts/test installs it.
func TestOfficialClient(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed: the official client is not tried")
	}
	dir := filepath.Join("..", "testdata", "sdk")
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "surrealdb")); err != nil {
		t.Skip("the official client is not installed: run npm ci in testdata/sdk")
	}
	s := start(t)
	for _, scheme := range []string{"ws", "http"} {
		t.Run(scheme, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), node, "sdk.mjs", scheme+"://"+s.Addr().String()+"/rpc", "root", "root")
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			if n := strings.Count(string(out), "ok   "); n < 20 {
				t.Errorf("only %d steps ran:\n%s", n, out)
			}
		})
	}
}
