package quiet_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A command that draws nothing writes nothing to the terminal but its text: see the package comment.
func TestStartDoesNotAskTheTerminal(t *testing.T) {
	script, err := exec.LookPath("script")
	if err != nil {
		t.Fatal("script(1) is missing: it is part of Debian's bsdutils, which every Debian has")
	}
	bin := filepath.Join(t.TempDir(), "nacre")
	build := exec.Command("go", "build", "-o", bin, "github.com/nacredb/nacre/cmd/nacre")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v: %s", err, out)
	}
	cmd := exec.Command(script, "-qec", bin+" version", "/dev/null")
	cmd.Env = append(without(os.Environ(), "CI="), "TERM=xterm-256color")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if strings.Contains(string(out), "\x1b") {
		t.Errorf("the terminal was asked: %q", out)
	}
}

func without(environ []string, prefix string) []string {
	var out []string
	for _, e := range environ {
		if !strings.HasPrefix(e, prefix) {
			out = append(out, e)
		}
	}
	return out
}
