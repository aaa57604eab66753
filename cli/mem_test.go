package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nacredb/nacre/internal/inprocess"
	"github.com/nacredb/nacre/memsvc"
	"github.com/nacredb/nacre/memsvc/api"
	"github.com/nacredb/nacre/memsvc/config"
	"github.com/nacredb/nacre/memsvc/store"
)

// startMemory serves a memory and gives its address and the key of the Context main.
func startMemory(t *testing.T) (base, key string) {
	t.Helper()
	base, keys := startManaged(t)
	return base, keys.Key
}

// startManaged is startMemory with all keys.
func startManaged(t *testing.T) (base string, keys *api.Bootstrapped) {
	t.Helper()
	e, err := inprocess.Open(t.Context(), "memory", nil)
	must(t, err)
	env := map[string]string{"MEMSVC_SURREALDB_URL": "memory", "MEMSVC_BIND": "127.0.0.1:0",
		"MEMSVC_OBJECT_STORE": "local://" + t.TempDir()}
	conf, err := config.Load("", func(n string) (string, bool) { v, ok := env[n]; return v, ok })
	must(t, err)
	must(t, conf.SetRoles("all"))
	addr, done := make(chan net.Addr, 1), make(chan error, 1)
	c := memsvc.Config{Config: conf, Connect: store.Embedded(e), Listening: func(a net.Addr) { addr <- a }}
	keys, err = memsvc.Bootstrap(t.Context(), c, "main")
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { done <- memsvc.Serve(ctx, c) }()
	t.Cleanup(func() {
		cancel()
		must(t, <-done)
		must(t, e.Close())
	})
	return "http://" + (<-addr).String(), keys
}

// mem runs a command of nacre mem.
func mem(t *testing.T, stdin string, args ...string) (out, talk string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	s := &streams{in: strings.NewReader(stdin), out: &o, err: &e, build: Build{Version: "3"}}
	code = run(t.Context(), s, append([]string{"nacre", "mem"}, args...))
	return o.String(), e.String(), code
}

func TestMem(t *testing.T) {
	base, key := startMemory(t)
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("MEMSVC_URL", "")
	t.Setenv("MEMSVC_API_KEY", "")
	if _, talk, code := mem(t, "", "recall", "x"); code != exitUsage || !strings.Contains(talk, "no key") {
		t.Errorf("without a key: %d %s", code, talk)
	}
	if _, talk, code := mem(t, "", "login", "-u", base, "-a", "msk-wrong"); code != exitOther ||
		!strings.Contains(talk, "401") {
		t.Errorf("a wrong key: %d %s", code, talk)
	}
	if _, talk, code := mem(t, "", "login", "-u", base, "-a", key); code != 0 {
		t.Fatalf("login: %s", talk)
	}
	path, _, err := profiles()
	must(t, err)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the profile: %v, %v", info, err)
	}
	if out, _, _ := mem(t, "", "config"); strings.Contains(out, key) || !strings.Contains(out, base) {
		t.Errorf("config: %s", out)
	}
	if out, _, _ := mem(t, "", "config", "--reveal"); !strings.Contains(out, key) {
		t.Errorf("config --reveal: %s", out)
	}
	folder := t.TempDir()
	for name, body := range map[string]string{"a.md": "# Otters\n\nThe otter swims at dawn.",
		"sub/b.txt":     "The heron waits.",
		".hidden/c.txt": "a hidden secret", "d.bin": "MZ\x90\x00\x03"} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o700))
		must(t, os.WriteFile(filepath.Join(folder, name), []byte(body), 0o600))
	}
	lines := `{"role": "user", "content": "The violin is in the attic.", "name": "Ada"}` + "\n" +
		`{"role": "assistant", "content": "Noted."}` + "\n"
	for _, tc := range []struct {
		stdin string
		args  string
		want  string // in what is printed on either stream
		code  int
	}{
		{"", "remember|I moved to Lisbon.|--name|Ada|--at|2024-05-01", `"turnId"`, 0},
		{"", "remember|--triple|person/Ada lives_in Lisbon", `"lives_in"`, 0},
		{"", "remember|--triple|nonsense", "TYPE/NAME", exitUsage},
		{"", "remember", "want a text", exitUsage},
		{lines, "remember|--from-file|-", "2 messages are stored", 0},
		{"{bad", "remember|--from-file|-", "message 1", exitOther},
		{"", "recall|Where does Ada live?", "Lisbon", 0},
		{"", "recall|violin|--json|-k|3", `"traceId"`, 0},
		{"", "recall|violin|-k|51", "ceiling", exitOther},
		{"", "recall|violin|--as-of|nonsense", "--as-of", exitUsage},
		{"", "context|Ada|--max-tokens|200", "Lisbon", 0},
		{"", "chat|hello", "no-llm-provider", exitOther},
		{"", "reflect|hello", "no-llm-provider", exitOther},
		{"", "entities|show|person|Ada", "Lisbon", 0},
		{"", "entities|history|person|Ada|lives_in", "Lisbon", 0},
		{"", "sessions|list|--limit|1", `"sessions"`, 0},
		{"", "scopes|create|org/a", "org/a", 0},
		{"", "scopes|list", "org/a", 0},
		{"", "ingest|" + folder, "2 documents stored, 0 known already, 1 refused", exitOther},
		{"", "ingest|" + folder, "0 documents stored, 2 known already, 1 refused", exitOther},
		{"", "documents|query|otter", "swims", 0},
		{"", "recall|secret", "", 0},
		{"", "forget|violin attic|--dry-run", `"deleted"`, 0},
		{"", "keys|mint|second", "msk-", 0},
		{"", "keys|list", "second", 0},
		{"", "health", "", 0},
		{"", "state", `"identity"`, 0},
		{"", "me", `"principalId"`, 0},
		{"", "inspect|nonsense", "want kind:key", exitOther},
		{"", "recall|x|--profile|none", "no profile", exitUsage},
	} {
		out, talk, code := mem(t, tc.stdin, strings.Split(tc.args, "|")...)
		if code != tc.code || !strings.Contains(out+talk, tc.want) {
			t.Errorf("mem %s: exit %d, want %d; want %q in\n%s%s", tc.args, code, tc.code, tc.want, out, talk)
		}
		if strings.Contains(out+talk, "hidden secret") || strings.Contains(out+talk, key) {
			t.Errorf("mem %s shows what it must not: %s%s", tc.args, out, talk)
		}
	}
}

func TestMemImports(t *testing.T) {
	base, key := startMemory(t)
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("MEMSVC_URL", base)
	t.Setenv("MEMSVC_API_KEY", key)
	for _, tc := range []struct{ from, body, stored, question, want string }{
		{"mem0", `{"results": [{"id": "1", "memory": "Prefers oolong tea", "user_id": "alice smith", "run_id": "r1",
			"categories": ["food"], "created_at": "2023-04-05T10:00:00.123-07:00"}]}`,
			"1 memories, 0 turns of conversations and 1 scopes", "oolong", "2023-04-05"},
		{"zep", `{"sessions": [{"session_id": "s1", "user_id": "bob", "messages": [
			{"role": "Bob", "role_type": "user", "content": "My kayak is green.", "created_at": "2022-01-02T03:04:05Z"},
			{"role": "assistant", "role_type": "assistant", "content": "A fine kayak."}]}]}`,
			"0 memories, 2 turns of conversations and 1 scopes", "kayak green", "2022-01-02  Bob: My kayak"},
		{"letta", `{"agents": [{"name": "scout", "core_memory": [{"label": "human", "value": "The human collects stamps."}],
			"messages": [{"role": "user", "content": [{"type": "text", "text": "The stamp of Malta is rare."}]}]}]}`,
			"1 memories, 1 turns of conversations and 0 scopes", "stamps", "The human collects stamps"},
	} {
		path := filepath.Join(t.TempDir(), tc.from+".json")
		must(t, os.WriteFile(path, []byte(tc.body), 0o600))
		for range 2 { // the second time stores nothing
			if _, talk, code := mem(t, "", "import", "--from", tc.from, path); code != 0 ||
				!strings.Contains(talk, tc.stored) {
				t.Fatalf("%s: %d %s", tc.from, code, talk)
			}
		}
		out, _, _ := mem(t, "", "recall", tc.question, "-k", "50")
		if strings.Count(out, tc.want) != 1 {
			t.Errorf("%s: want %q once in\n%s", tc.from, tc.want, out)
		}
	}
	for body, want := range map[string]string{"{": "not JSON", `{"a": 1}`: "nothing in the file"} {
		path := filepath.Join(t.TempDir(), "bad.json")
		must(t, os.WriteFile(path, []byte(body), 0o600))
		if _, talk, code := mem(t, "", "import", "--from", "zep", path); code == 0 || !strings.Contains(talk, want) {
			t.Errorf("%s: %d %s", body, code, talk)
		}
	}
	if _, _, code := mem(t, "", "import", "--from", "other", "x"); code != exitUsage {
		t.Errorf("an unknown format: %d", code)
	}
}

func TestMemMCPOnStandardStreams(t *testing.T) {
	base, key := startMemory(t)
	t.Setenv("MEMSVC_URL", base)
	t.Setenv("MEMSVC_API_KEY", key)
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	s := &streams{in: inR, out: outW, err: io.Discard, build: Build{Version: "3"}}
	done := make(chan int, 1)
	go func() { done <- run(t.Context(), s, []string{"nacre", "mem", "mcp"}) }()
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&mcp.IOTransport{Reader: outR, Writer: inW}, nil)
	must(t, err)
	tools, err := c.ListTools(t.Context(), nil)
	must(t, err)
	if len(tools.Tools) != 7 {
		t.Errorf("%d tools", len(tools.Tools))
	}
	for _, call := range []struct {
		name string
		args map[string]any
		want string
	}{{"remember", map[string]any{"text": "The violin is in the attic."}, "turnId"},
		{"recall", map[string]any{"query": "violin"}, "attic"}} {
		res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: call.name, Arguments: call.args})
		must(t, err)
		b, err := json.Marshal(res)
		must(t, err)
		if res.IsError || !strings.Contains(string(b), call.want) {
			t.Errorf("%s: %s", call.name, b)
		}
	}
	tree, err := c.ListResources(t.Context(), nil)
	must(t, err)
	if len(tree.Resources) != 1 {
		t.Fatalf("the tree is %v", tree.Resources)
	}
	read, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: tree.Resources[0].URI})
	must(t, err)
	if got := read.Contents[0].Text; got != "The violin is in the attic." {
		t.Errorf("the resource is %q", got)
	}
	must(t, c.Close())
	must(t, inW.Close())
	if code := <-done; code != 0 {
		t.Errorf("exit %d", code)
	}
}

// TestMemTranscriptsAndSettings holds that a transcript is stored a message a speaker, with the time that is given,
// and that settings of the profile are read and written one by one without showing the key.
func TestMemTranscriptsAndSettings(t *testing.T) {
	base, key := startMemory(t)
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	for _, name := range []string{"MEMSVC_URL", "MEMSVC_API_KEY", "MEMSVC_CONTEXT_ID"} {
		t.Setenv(name, "")
	}
	for name, value := range map[string]string{"url": base, "api_key": key, "context_id": "main"} {
		if _, talk, code := mem(t, "", "config", "set", name, value); code != 0 {
			t.Fatalf("set %s: %s", name, talk)
		}
	}
	if out, _, _ := mem(t, "", "config", "get", "url"); strings.TrimSpace(out) != base {
		t.Errorf("url: %q", out)
	}
	if out, _, _ := mem(t, "", "config", "get", "api_key"); strings.Contains(out, key) {
		t.Error("the key is shown")
	}
	if out, _, _ := mem(t, "", "config", "get", "api_key", "--reveal"); strings.TrimSpace(out) != key {
		t.Errorf("api_key: %q", out)
	}
	if _, _, code := mem(t, "", "config", "get", "colour"); code != exitUsage {
		t.Errorf("a setting that does not exist: %d", code)
	}
	text := "Ada: I keep bees on the roof.\nThey came in April.\n\nBen: How nice: bees!\n"
	_, talk, code := mem(t, text, "remember", "--transcript", "-", "--as-of", "2024-05-01", "--extract", "per_message")
	if code != 0 || !strings.Contains(talk, "2 messages") {
		t.Fatalf("transcript: %d %s", code, talk)
	}
	out, _, _ := mem(t, "", "recall", "bees on the roof", "-k", "1")
	if !strings.Contains(out, "2024-05-01  Ada: I keep") || !strings.Contains(out, "They came in April.") {
		t.Errorf("recall: %s", out)
	}
	if _, _, code := mem(t, "", "remember", "--transcript", "-", "--from-file", "-"); code != exitUsage {
		t.Errorf("two files: %d", code)
	}
	if out, talk, code := mem(t, "", "fsck"); code != 0 || !strings.Contains(out, "findings") {
		t.Errorf("fsck: %d %s %s", code, out, talk)
	}
}
