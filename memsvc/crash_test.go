package memsvc_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nacredb/nacre/engine/dump/physical"
	"github.com/nacredb/nacre/internal/inprocess"
	"github.com/nacredb/nacre/memsvc"
	"github.com/nacredb/nacre/memsvc/config"
	"github.com/nacredb/nacre/memsvc/store"
)

// The tests of this file run the service in a process of its own, so that they can kill it.

// TestMain is the process of a service when the environment says so.
func TestMain(m *testing.M) {
	if dir := os.Getenv("MEMSVC_TEST_DIR"); dir != "" {
		if err := child(dir, os.Getenv("MEMSVC_TEST_STOP")); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// child serves from a directory. At the stage stop its job waits for ever, and it says so.
func child(dir, stop string) error {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	conf, err := config.Load("", func(n string) (string, bool) {
		switch strings.TrimPrefix(n, config.Prefix) {
		case "SURREALDB_URL":
			return "embedded://" + dir, true
		case "BIND":
			return "127.0.0.1:0", true
		case "OBJECT_STORE":
			return "local://" + filepath.Join(dir, "objects"), true
		case "MANAGEMENT_API_KEY":
			return managementKey, true
		}
		return os.LookupEnv(n)
	})
	if err != nil {
		return err
	}
	if err := conf.SetRoles("all"); err != nil {
		return err
	}
	e, err := inprocess.Open(ctx, "bolt://"+filepath.Join(dir, "nacre.db"), nil)
	if err != nil {
		return err
	}
	c := memsvc.Config{Config: conf, Connect: store.Embedded(e), Log: slog.New(slog.DiscardHandler),
		Listening: func(a net.Addr) { fmt.Println("address", a) },
		AtStage: func(stage string) {
			if stage == stop {
				fmt.Println("stopped at", stage)
				select {}
			}
		}}
	keys, err := memsvc.Bootstrap(ctx, c, "main")
	switch {
	case err == nil:
		fmt.Println("key", keys.Key)
	case !memsvc.Bootstrapped(err):
		return err
	}
	if err := memsvc.Serve(ctx, c); err != nil {
		return err
	}
	return e.Close()
}

// process is a service in a process of its own.
type process struct {
	service
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

// spawn starts a process over a directory; key is the one that an earlier process printed.
func spawn(t *testing.T, dir, stop, key string, vars ...string) *process {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{service: service{t: t, key: key}, cmd: exec.Command(exe)}
	p.cmd.Env = append(append(os.Environ(), "MEMSVC_TEST_DIR="+dir, "MEMSVC_TEST_STOP="+stop), vars...)
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.kill() })
	p.lines = bufio.NewScanner(out)
	p.base = "http://" + p.line("address")
	return p
}

// line waits for a line of output that begins with a word, and takes keys along.
func (p *process) line(word string) string {
	p.t.Helper()
	for p.lines.Scan() {
		first, rest, _ := strings.Cut(p.lines.Text(), " ")
		if first == "key" {
			p.key = rest
		}
		if first == word {
			return rest
		}
	}
	p.t.Fatalf("the process ended before it said %q", word)
	return ""
}

func (p *process) kill() {
	if p.cmd.ProcessState == nil {
		_ = p.cmd.Process.Kill() // it may have ended
		_ = p.cmd.Wait()         // it was killed
	}
}

// end stops a process in good order.
func (p *process) end() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		p.t.Fatal(err)
	}
}

// TestKillInEveryIngestStage ends the process at once in each stage of a job. The next one ends the job: every passage,
// keyword and fact is there once.
func TestKillInEveryIngestStage(t *testing.T) {
	text := "# Herons\n\nWalter lives in Rome. The heron stands in water.\n\n# Storks\n\nStorks nest on roofs.\n"
	for _, stage := range []string{"claimed", "extracting", "extracting_nodes", "chunking", "publishing", "published"} {
		t.Run(stage, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			p := spawn(t, dir, stage, "")
			p.patch(200, `{"llm_extraction_enabled": true}`)
			id := p.upload(202, p.key, "/api/v1/main/documents", "POST", "birds.md", "", []byte(text)).str("id")
			p.line("stopped")
			if stage != "published" {
				if q := p.post(200, "/query", `{"query": "storks"}`); len(q.list("hits")) != 0 {
					t.Errorf("half of a document is found: %s", q.raw)
				}
			}
			p.kill()
			p = spawn(t, dir, "", p.key)
			p.ready(id, "ready")
			if n := p.get(200, "/documents/"+id+"/chunks").str("total"); n != "2" {
				t.Errorf("%s passages, want 2", n)
			}
			if h := p.get(200, "/entities/person/walter/history/lives_in").list("history"); len(h) != 1 {
				t.Errorf("%d facts, want 1", len(h))
			}
			q := p.post(200, "/query", `{"query": "storks nest"}`)
			if !strings.Contains(q.str("hits", 0, "text"), "roofs") {
				t.Errorf("it is not found: %s", q.raw)
			}
			eventually(t, "the job is done", func() bool {
				jobs := p.must(200, managementKey, "GET", "/api/v1/contexts/main/jobs", nil)
				return len(jobs.list("jobs")) == 1 && jobs.str("jobs", 0, "state") == "done"
			})
			p.end()
		})
	}
}

// TestPurgeLeavesNoByte stores a word in every way, purges it, and looks for it in every file after a compaction.
func TestPurgeLeavesNoByte(t *testing.T) {
	const word = "zebrajuice"
	dir := t.TempDir()
	p := spawn(t, dir, "", "")
	p.patch(200, `{"llm_extraction_enabled": true}`)
	session := p.post(200, "/facts", `{"text": "My favourite drink is `+word+`.", "name": "Ada"}`).str("sessionId")
	p.must(200, p.key, "POST", "/api/v1/main/facts", `{"text": "I buy `+word+` at the market."}`,
		"Idempotency-Key", "k1")
	p.post(200, "/facts", `{"triples": [{"entity": {"type": "person", "name": "Ada"}, "key": "likes", "value": "`+
		word+`"}]}`)
	id := p.upload(202, p.key, "/api/v1/main/documents", "POST", word+".md", "",
		[]byte("# Drinks\n\nThe recipe of "+word+" is secret.")).str("id")
	p.ready(id, "ready")
	p.post(200, "/facts", `{"text": "The weather is fine."}`)
	p.post(200, "/query", `{"query": "favourite drink `+word+`"}`)
	p.post(200, "/context", `{"query": "`+word+`"}`)
	p.get(200, "/traces")
	if in := filesWith(t, dir, word); len(in) == 0 {
		t.Fatal("the word is in no file before the purge: the search proves nothing")
	}
	p.must(204, p.key, "DELETE", "/api/v1/main/documents/"+id, nil)
	a := p.post(200, "/forget", `{"query": "`+word+`", "purge": true}`)
	if a.str("proof", "turns") == "0" || a.str("proof", "attributes") == "0" {
		t.Errorf("proof: %s", a.raw)
	}
	p.must(204, p.key, "DELETE", "/api/v1/main/sessions/"+session+"?purge=true", nil)
	for _, path := range []string{"/profile", "/state", "/entities", "/traces", "/audit", "/documents", "/sessions",
		"/documents/keywords"} {
		if a := p.get(200, path); bytes.Contains(a.raw, []byte(word)) {
			t.Errorf("%s shows it after the purge: %s", path, a.raw)
		}
	}
	if q := p.post(200, "/query", `{"query": "weather"}`); len(q.list("hits")) != 1 {
		t.Errorf("the rest is gone, too: %s", q.raw)
	}
	p.end()
	if _, err := physical.Compact(t.Context(), filepath.Join(dir, "nacre.db"), nil); err != nil {
		t.Fatal(err)
	}
	if in := filesWith(t, dir, word); len(in) > 0 {
		t.Errorf("after purge and compaction these files hold it: %q", in)
	}
	spawn(t, dir, "", p.key).post(200, "/query", `{"query": "weather"}`)
}

// filesWith are the files below dir whose name or bytes hold a word.
func filesWith(t *testing.T, dir, word string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(word)) || strings.Contains(path, word) {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
