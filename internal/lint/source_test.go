package lint

import (
	"os"
	"os/exec"
	"path/filepath"
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

// cgoOptional are the packages of others that have files in C on some system, and build without them.
var cgoOptional = []string{"github.com/prometheus/client_golang/prometheus"}

// TestBuildsWithoutCgo looks, for each system that docs/install.md names, for packages of others that use C there:
// without cgo, as releases are built, most of those do not compile.
func TestBuildsWithoutCgo(t *testing.T) {
	list := func(system, cgo, template string) []string {
		cmd := exec.Command("go", "list", "-deps", "-f", template, "./cmd/nacre")
		cmd.Dir = "../.."
		cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED="+cgo)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list for %s: %v", system, err)
		}
		return strings.Fields(string(out))
	}
	for _, system := range []string{"linux", "darwin", "windows", "freebsd", "openbsd", "netbsd"} {
		plain := list(system, "0", "{{if not .Standard}}{{.ImportPath}}{{end}}")
		for _, p := range list(system, "1", "{{if and (not .Standard) .CgoFiles}}{{.ImportPath}}{{end}}") {
			if contains(plain, p) && !contains(cgoOptional, p) {
				t.Errorf("%s: the binary needs %s, which uses C", system, p)
			}
		}
		if len(plain) == 0 {
			t.Errorf("%s: go list found nothing", system)
		}
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

// TestPackagesAreOne holds the contents of the packages of a release to those that scripts/deb builds and installs.
func TestPackagesAreOne(t *testing.T) {
	release, tried := packageFiles(t, "goreleaser.yaml"), packageFiles(t, "packaging/nfpm.yaml")
	binary := "    - src: ${BINARY}\n      dst: /usr/bin/nacre\n      expand: true\n      file_info: {mode: 0755}\n"
	if !strings.Contains(tried, binary) {
		t.Fatalf("packaging/nfpm.yaml does not hold the binary as\n%s", binary)
	}
	if tried = strings.Replace(tried, binary, "", 1); tried != release || release == "" {
		t.Errorf("goreleaser.yaml has\n%s\npackaging/nfpm.yaml has\n%s", release, tried)
	}
}

// packageFiles are the lines of name from "contents:" to the end of the scripts, indented as in packaging/nfpm.yaml.
func packageFiles(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../..", name))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(data), "contents:")
	_, rest, _ = strings.Cut(rest, "\n")
	if !found {
		t.Fatalf("%s has no contents", name)
	}
	var out strings.Builder
	margin := len(rest) - len(strings.TrimLeft(rest, " "))
	for line := range strings.Lines(rest) {
		if strings.HasPrefix(strings.TrimSpace(line), "preremove:") {
			out.WriteString("    " + strings.TrimSpace(line) + "\n")
			return out.String()
		}
		indent := len(line) - len(strings.TrimLeft(line, " ")) - margin
		out.WriteString(strings.Repeat(" ", max(4+indent, 0)) + strings.TrimSpace(line) + "\n")
	}
	t.Fatalf("%s has no script of preremove", name)
	return ""
}
