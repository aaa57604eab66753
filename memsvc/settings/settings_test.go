package settings

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nacredb/nacre/memsvc/config"
	"github.com/nacredb/nacre/memsvc/problem"
	"github.com/nacredb/nacre/memsvc/store"
)

func schema(t *testing.T) *Schema {
	t.Helper()
	c, err := config.Load("", func(n string) (string, bool) { return "memory", n == "MEMSVC_SURREALDB_URL" })
	if err != nil {
		t.Fatal(err)
	}
	return &Schema{Server: c}
}

func patch(t *testing.T, s *Schema, c *store.Context, text string) error {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	return s.Patch(c, m)
}

func TestPatchMergesDeepAndKeepsSiblings(t *testing.T) {
	s, c := schema(t), &store.Context{ID: "x"}
	for _, p := range []string{
		`{"response_cache": {"enabled": false, "similarity_threshold": 0.5}, "token_limit": 10}`,
		`{"response_cache": {"similarity_threshold": 0.6}, "providers": {"beta": "sk-secret"}}`,
		`{"token_limit": null, "models": {"synthesis": "beta/m1", "reflection": {"provider": "beta", "model": "m2"}}}`,
	} {
		if err := patch(t, s, c, p); err != nil {
			t.Fatal(err)
		}
	}
	b, err := json.Marshal(s.Read(c))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"enabled":false`, `"similarity_threshold":0.6`,
		`"freshness_window_seconds":3600`, `"token_limit":null`,
		`"providers_configured":["beta"]`, `"synthesis":{"model":"m1","provider":"beta"}`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%s is not in %s", want, b)
		}
	}
	if strings.Contains(string(b), "sk-secret") {
		t.Error("a key is shown")
	}
}

func TestBadPatchesChangeNothing(t *testing.T) {
	for text, field := range map[string]string{
		`{"token_limit": "x"}`:                        "config.token_limit",
		`{"token_limit": 1.5}`:                        "config.token_limit",
		`{"ingestion_profile": "All"}`:                "config.ingestion_profile",
		`{"models": {"embedding": "other"}}`:          "config.models.embedding",
		`{"nope": 1}`:                                 "config.nope",
		`{"models": {"nope": "alpha/x"}}`:             "config.models.nope",
		`{"response_cache": 1}`:                       "config.response_cache",
		`{"enforcement_blocked": true}`:               "config.enforcement_blocked",
		`{"reconciliation": {"confidence_floor": 2}}`: "config.reconciliation.confidence_floor",
		`{"providers": {"delta": "k"}}`:               "config.providers.delta",
		`{"providers": {"beta": {"api_key": "k", "base_url": "http://10.0.0.1"}}}`: "config.providers.beta",
	} {
		s, c := schema(t), &store.Context{ID: "x"}
		err := patch(t, s, c, `{"pii_redaction_enabled": true, `+text[1:])
		if p := problem.As(err); p == nil || p.Status != 400 || p.Field != field {
			t.Errorf("%s: got %v, want 400 at %s", text, err, field)
		}
		if len(c.Config)+len(c.Keys) != 0 {
			t.Errorf("%s: the Context changed: %v", text, c.Config)
		}
	}
	s, c := schema(t), &store.Context{ID: "x"}
	if p := problem.As(patch(t, s, c, `{"models": {"synthesis": "gamma/m"}}`)); p == nil || p.Status != 422 {
		t.Errorf("provider without a key: got %v, want 422", p)
	}
}

func TestTTLIsClamped(t *testing.T) {
	for _, tc := range [][3]int64{{0, 0, 0}, {0, 50, 50}, {100, 0, 100}, {100, 50, 50}, {100, 500, 100}} {
		if got := (&Settings{MaxTokenTTL: tc[0]}).TTL(tc[1]); got != tc[2] {
			t.Errorf("clamp %d, asked %d: got %d, want %d", tc[0], tc[1], got, tc[2])
		}
	}
}
