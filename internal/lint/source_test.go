package lint

import (
	"os/exec"
	"strings"
	"testing"
)

// run runs a command at the module root and gives what it printed.
func run(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = "../.."
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func TestGofmt(t *testing.T) {
	out, err := run(t, "gofmt", append([]string{"-l"}, goFiles(t)...)...)
	if err != nil || out != "" {
		t.Errorf("not formatted (gofmt -w): %s %v", out, err)
	}
}

func TestVet(t *testing.T) {
	if out, err := run(t, "go", "vet", "./..."); err != nil {
		t.Errorf("go vet: %v\n%s", err, out)
	}
}

func TestStaticcheck(t *testing.T) {
	if testing.Short() {
		t.Skip("short: staticcheck takes a minute on a cold cache")
	}
	if out, err := run(t, "go", "tool", "staticcheck", "./..."); err != nil {
		t.Errorf("staticcheck: %v\n%s", err, out)
	}
}

func TestGoreleaserConfig(t *testing.T) {
	if _, err := exec.LookPath("goreleaser"); err != nil {
		t.Skip("goreleaser is not installed")
	}
	if out, err := run(t, "goreleaser", "check"); err != nil {
		t.Errorf("goreleaser check: %v\n%s", err, out)
	}
}
