package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/internal/loopback"
)

// productDir is an empty directory for product.
var productDir string

// product builds the program as the README installs it, once for all tests, and gives the directory that it is in.
var product = sync.OnceValues(func() (string, error) {
	cmd := exec.Command("go", "install", "./cmd/nacre")
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOBIN="+productDir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", &exec.Error{Name: string(out), Err: err}
	}
	return productDir, nil
})

// guide is a fresh machine on which the lines of the README are run: a directory, and a server at a free address.
type guide struct {
	t           *testing.T
	text        string
	dir, addr   string
	environment []string
}

func newGuide(t *testing.T) *guide {
	bin, err := product()
	must(t, err)
	b, err := os.ReadFile(filepath.Join("..", "README.md"))
	must(t, err)
	addr, err := loopback.Free()
	must(t, err)
	g := &guide{t: t, text: string(b), dir: t.TempDir(), addr: addr}
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, "NACRE_") && !strings.HasPrefix(name, "MEMSVC_") && name != "PATH" {
			g.environment = append(g.environment, pair)
		}
	}
	g.environment = append(g.environment, "HOME="+g.dir, "XDG_CONFIG_HOME=", "XDG_STATE_HOME=",
		"PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	return g
}

// block is the n-th fenced block of a section in a language.
func (g *guide) block(section, language string, n int) string {
	g.t.Helper()
	_, rest, ok := strings.Cut(g.text, "\n## "+section+"\n")
	rest, _, _ = strings.Cut(rest, "\n## ")
	for range n {
		if ok {
			_, rest, ok = strings.Cut(rest, "```"+language+"\n")
		}
	}
	code, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		g.t.Fatalf("the section %s has no block %d of %q", section, n, language)
	}
	return code
}

// command runs a line of the README, at the address of the guide. Variables that the README exports come first. What a
// line would build is built already.
func (g *guide) command(line string) *exec.Cmd {
	line = strings.NewReplacer("go run ./cmd/nacre ", "nacre ", "127.0.0.1:8000", g.addr,
		"127.0.0.1:5432", "127.0.0.1:0").Replace(line)
	cmd := exec.Command("bash", "-c", line)
	cmd.Dir = g.dir
	cmd.Env = append(g.environment, "NACRE_BIND="+g.addr, "NACRE_ENDPOINT=ws://"+g.addr)
	return cmd
}

// run runs a line, which must succeed.
func (g *guide) run(line, in string) string {
	g.t.Helper()
	cmd := g.command(line)
	cmd.Stdin = strings.NewReader(in)
	var said, talk strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &talk
	if err := cmd.Run(); err != nil {
		g.t.Fatalf("%s: %v\n%s%s", line, err, said.String(), talk.String())
	}
	return said.String()
}

// serve starts a server by a line, and gives what ends it.
func (g *guide) serve(line string) (stop func()) {
	g.t.Helper()
	cmd := g.command("exec " + line)
	var log strings.Builder
	cmd.Stdout, cmd.Stderr = &log, &log
	must(g.t, cmd.Start())
	once := sync.OnceFunc(func() {
		_ = cmd.Process.Signal(os.Interrupt) // if it has ended, Wait tells why
		if err := cmd.Wait(); err != nil {
			g.t.Errorf("%s: %v\n%s", line, err, log.String())
		}
	})
	g.t.Cleanup(once)
	g.run("nacre isready --wait 3m", "")
	return once
}

// inTable matches the commands in the second column of the table of tasks.
var inTable = regexp.MustCompile("`(nacre [^`]+)`")

// TestReadme runs the README on a fresh machine: every block, and every command of its table, as they are printed but
// for the address.
func TestReadme(t *testing.T) {
	g := newGuide(t)
	if !strings.Contains(g.text, "`go install ./cmd/nacre`") {
		t.Error("product builds in another way than the README")
	}
	stop := g.serve(strings.TrimSpace(g.block("Start", "sh", 1)))
	shell := strings.TrimSpace(g.block("Start", "sh", 2))
	var typed []string
	for line := range strings.Lines(g.block("Start", "text", 1)) {
		_, statement, ok := strings.Cut(line, "test/test> ")
		if !ok {
			t.Fatalf("no prompt: %s", line)
		}
		typed = append(typed, statement)
	}
	if said := g.run(shell, strings.Join(typed, "")); !strings.Contains(said, "friends: ['Charles'], name: 'Ada'") {
		t.Errorf("%s: %s", shell, said)
	}
	exports := g.block("Use it", "sh", 1)
	for name, text := range map[string]string{
		"dump.surql": "OPTION IMPORT; CREATE city:1;", "schema.surql": "DEFINE TABLE x;",
		"people.csv": "email,age\nada@x.org,36\n", "nacre.toml": "query-timeout = \"30s\"\n",
	} {
		must(t, os.WriteFile(filepath.Join(g.dir, name), []byte(text), 0o600))
	}
	var starts []string
	_, table, _ := strings.Cut(g.text, "\n| task | command |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	seen := 0
	for _, m := range inTable.FindAllStringSubmatch(table, -1) {
		seen++
		line := m[1]
		switch {
		case strings.HasPrefix(line, "nacre start") && !strings.Contains(line, "--print-config"),
			strings.HasPrefix(line, "nacre check"): // they want the store for themselves
			starts = append(starts, line)
		case strings.Contains(line, "--context prod"): // there is no such host
			if g.command(exports+line+" -c 'RETURN 1' --password x").Run() == nil {
				t.Errorf("%s: it reached db.example", line)
			}
		default:
			g.run(exports+line, "")
		}
	}
	if seen < 15 {
		t.Errorf("the table has %d commands", seen)
	}
	t.Run("JavaScript", func(t *testing.T) {
		modules, err := filepath.Abs(filepath.Join("..", "testdata", "sdk", "node_modules"))
		must(t, err)
		if _, err := os.Stat(filepath.Join(modules, "surrealdb")); err != nil {
			t.Fatal("the official client is not installed: run scripts/test, or npm ci in testdata/sdk")
		}
		must(t, os.Symlink(modules, filepath.Join(g.dir, "node_modules")))
		code := strings.ReplaceAll(g.block("Use it", "js", 1), "127.0.0.1:8000", g.addr)
		must(t, os.WriteFile(filepath.Join(g.dir, "people.mjs"), []byte(code), 0o600))
		if said := g.run("node people.mjs", ""); !strings.Contains(said, "Ada") {
			t.Errorf("got %s", said)
		}
	})
	stop()
	for _, line := range starts {
		if strings.HasPrefix(line, "nacre check") {
			g.run(line, "")
			continue
		}
		g.serve(line)()
	}
}

// TestReadmeGo is the line of the README that opens a database in a Go program.
func TestReadmeGo(t *testing.T) {
	g := newGuide(t)
	if want := "db, err := engine.Open(ctx, \"bolt://app.db\", engine.Options{})\n"; g.block("Use it", "go", 1) != want {
		t.Fatalf("the README has another line than this test: %s", g.block("Use it", "go", 1))
	}
	t.Chdir(g.dir)
	ctx := t.Context()
	db, err := engine.Open(ctx, "bolt://app.db", engine.Options{})
	must(t, err)
	must(t, db.Close(ctx))
}

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
