package daemon_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacredb/nacre/daemon/config"
)

// @grpc/grpc-js, unchanged, calls every method. scripts/test installs it.
func TestGRPCJavaScript(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal("node is not installed: scripts/test installs it")
	}
	dir := filepath.Join("..", "testdata", "grpc-js")
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "@grpc", "grpc-js")); err != nil {
		t.Fatal("@grpc/grpc-js is not installed: run scripts/test, or npm ci in testdata/grpc-js")
	}
	for _, compression := range []string{"", "gzip"} {
		t.Run(compression, func(t *testing.T) {
			s := start(t, func(c *config.Config) { c.AllowExperimental = names("files") })
			cmd := exec.CommandContext(t.Context(), node, "client.mjs", s.Addr().String(), compression)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			if n := strings.Count(string(out), "ok   "); n < 70 {
				t.Errorf("only %d steps ran:\n%s", n, out)
			}
		})
	}
}
