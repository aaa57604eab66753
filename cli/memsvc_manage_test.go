package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// manage runs a command of nacre memsvc.
func manage(t *testing.T, stdin string, args ...string) (out, talk string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	s := &streams{in: strings.NewReader(stdin), out: &o, err: &e, build: Build{Version: "3"}}
	code = run(t.Context(), s, append([]string{"nacre", "memsvc"}, args...))
	return o.String(), e.String(), code
}

// answered runs a command that succeeds and reads its answer.
func answered(t *testing.T, args ...string) map[string]any {
	t.Helper()
	out, talk, code := manage(t, "", args...)
	var m map[string]any
	if code != 0 || json.Unmarshal([]byte(out), &m) != nil {
		t.Fatalf("%v: %d %s%s", args, code, out, talk)
	}
	return m
}

func TestMemsvcManagesContextsPrincipalsAndKeys(t *testing.T) {
	base, keys := startManaged(t)
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("MEMSVC_URL", base)
	t.Setenv("MEMSVC_MANAGEMENT_API_KEY", keys.ManagementKey)
	t.Setenv("MEMSVC_CONTEXT_ID", "")
	t.Setenv("MEMSVC_API_KEY", "")

	c := answered(t, "contexts", "create", "acme", "--description", "of the tests",
		"--set", "max_token_ttl_seconds=600", "--set", "response_cache.enabled=false", "--json")
	conf := c["config"].(map[string]any)
	if c["description"] != "of the tests" || conf["max_token_ttl_seconds"] != 600.0 ||
		conf["response_cache"].(map[string]any)["enabled"] != false {
		t.Errorf("create: %v", c)
	}
	if _, talk, code := manage(t, "", "contexts", "create", "acme"); code != exitOther ||
		!strings.Contains(talk, "409") {
		t.Errorf("create twice: %d %s", code, talk)
	}
	path := filepath.Join(t.TempDir(), "keys.json")
	must(t, os.WriteFile(path, []byte(`{"providers": {"beta": "hidden secret"}}`), 0o600))
	for _, args := range [][]string{{"--config", "@" + path}, {"--config", "@-"},
		{"--enforcement-blocked=true"},
		{"--set", "response_cache.enabled=null", "--set", "chunking_strategy=fixed"}} {
		patch := append([]string{"contexts", "patch", "acme"}, args...)
		if _, talk, code := manage(t, `{"token_limit": 5}`, patch...); code != 0 {
			t.Fatalf("patch %v: %s", args, talk)
		}
	}
	c = answered(t, "contexts", "get", "acme")
	conf = c["config"].(map[string]any)
	if c["enforcement_blocked"] != true || conf["chunking_strategy"] != "fixed" || conf["token_limit"] != 5.0 ||
		conf["response_cache"].(map[string]any)["enabled"] != true || conf["max_token_ttl_seconds"] != 600.0 ||
		len(conf["providers_configured"].([]any)) != 1 {
		t.Errorf("after patches: %v", c)
	}
	out, _, _ := manage(t, "", "contexts", "list")
	if !strings.HasPrefix(out, "ID ") || !strings.Contains(out, "acme  active  true") ||
		strings.Contains(out, "hidden") {
		t.Errorf("list:\n%s", out)
	}

	p := answered(t, "principals", "create", "Ada", "--kind", "human", "-c", "acme", "--grant", "memory:read=*",
		"--grant", "memory:write=*")
	id := p["id"].(string)
	out, talk, code := manage(t, "", "keys", "mint", "laptop", "--principal", id, "--ttl", "86400", "-c", "acme")
	key := strings.TrimSpace(out)
	if code != 0 || !strings.HasPrefix(key, "msk-") || !strings.Contains(talk, "valid until") {
		t.Fatalf("mint: %d %s%s", code, out, talk)
	}
	if out, talk, code := mem(t, "", "me", "-c", "acme", "-a", key); code != 0 || !strings.Contains(out, "Ada") {
		t.Errorf("the key: %d %s", code, talk)
	}
	out, _, _ = manage(t, "", "keys", "rotate", "laptop", "-c", "acme")
	if _, _, code := mem(t, "", "me", "-c", "acme", "-a", key); code != exitOther {
		t.Errorf("the old secret still works")
	}
	if _, talk, code := mem(t, "", "me", "-c", "acme", "-a", strings.TrimSpace(out)); code != 0 {
		t.Errorf("the new secret: %s", talk)
	}
	if out, _, _ := manage(t, "", "keys", "list", "-c", "acme"); !strings.Contains(out, "laptop") ||
		strings.Contains(out, "msk-") {
		t.Errorf("keys:\n%s", out)
	}
	if out, _, _ := manage(t, "", "principals", "list", "-c", "acme"); !strings.Contains(out, "Ada") {
		t.Errorf("principals:\n%s", out)
	}
	if out, _, _ := manage(t, "", "jobs", "list", "--status", "dead", "--json"); !strings.Contains(out, `"jobs": []`) {
		t.Errorf("jobs: %s", out)
	}
	for _, args := range [][]string{{"keys", "delete", "laptop", "-c", "acme"},
		{"principals", "delete", id, "-c", "acme"}, {"contexts", "delete", "acme"}} {
		if _, talk, code := manage(t, "", args...); code != 0 {
			t.Errorf("%v: %s", args, talk)
		}
		if _, talk, code := manage(t, "", args...); code != exitOther || !strings.Contains(talk, "404") {
			t.Errorf("%v again: %d %s", args, code, talk)
		}
	}
	if _, talk, code := manage(t, "", "jobs", "retry", "nope"); code != exitOther || !strings.Contains(talk, "404") {
		t.Errorf("retry of no job: %d %s", code, talk)
	}
}

func TestMemsvcManagementRefusesBadCommands(t *testing.T) {
	base, keys := startManaged(t)
	t.Setenv("MEMSVC_URL", base)
	t.Setenv("MEMSVC_MANAGEMENT_API_KEY", "")
	if _, talk, code := manage(t, "", "contexts", "list"); code != exitUsage ||
		!strings.Contains(talk, "no management key") {
		t.Errorf("without a key: %d %s", code, talk)
	}
	if _, talk, code := manage(t, "", "contexts", "list", "-m", keys.Key); code != exitOther ||
		!strings.Contains(talk, "403") {
		t.Errorf("a key of a Context: %d %s", code, talk)
	}
	for _, args := range [][]string{{"contexts", "patch", "main"}, {"contexts", "patch", "main", "--set", "x"},
		{"contexts", "patch", "main", "--config", "{"}, {"contexts", "create"}, {"contexts", "get", "a", "b"},
		{"principals", "create", "x", "--grant", "memory:read"}, {"jobs", "list", "--status", "lost"},
		{"contexts", "list", "-u", "ftp://x"}} {
		if _, talk, code := manage(t, "", append(args, "-m", keys.ManagementKey)...); code != exitUsage {
			t.Errorf("%v: %d %s", args, code, talk)
		}
	}
	for _, id := range []string{"../main", "a b", "%2e%2e"} {
		if _, talk, code := manage(t, "", "contexts", "get", id, "-m", keys.ManagementKey); code != exitOther {
			t.Errorf("%q: %d %s", id, code, talk)
		}
	}
}

func TestMemsvcMigrate(t *testing.T) {
	db := "embedded://" + filepath.Join(t.TempDir(), "memory")
	if _, talk, code := manage(t, "", "bootstrap", "--db", db); code != 0 {
		t.Fatal(talk)
	}
	for range 2 {
		m := answered(t, "migrate", "--db", db, "--json")
		if m["current"] != "1" || m["versions"].(map[string]any)["1"] != 1.0 || len(m["updated"].([]any)) != 0 {
			t.Errorf("%v", m)
		}
	}
	if out, _, _ := manage(t, "", "migrate", "--db", db, "--dry-run"); !strings.Contains(out, "version 1: 1 Contexts") {
		t.Errorf("for people: %s", out)
	}
	if _, talk, code := manage(t, "", "migrate", "--db", "ftp://x"); code != exitUsage {
		t.Errorf("a bad address: %d %s", code, talk)
	}
}
