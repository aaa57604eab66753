package memsvc_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/memsvc/store"
)

func TestKeyWithoutPrincipalIs401(t *testing.T) {
	s := start(t)
	st, err := store.Open(t.Context(), s.connect)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	id := strings.Split(s.key, "-")[1]
	k, err := st.Key(t.Context(), id)
	if err != nil || k == nil {
		t.Fatal(k, err)
	}
	if err := st.DeleteKeys(t.Context(), *k); err != nil {
		t.Fatal(err)
	}
	k.Principal = ""
	if err := st.CreateKey(t.Context(), *k); err != nil {
		t.Fatal(err)
	}
	s.must(401, s.key, "GET", "/api/v1/main/me", nil)
	k.Principal = "nobody"
	if err := st.DeleteKeys(t.Context(), *k); err != nil {
		t.Fatal(err)
	}
	if err := st.CreateKey(t.Context(), *k); err != nil {
		t.Fatal(err)
	}
	s.must(401, s.key, "GET", "/api/v1/main/me", nil)
}

// TestRefusedKeysLookAlike checks that a 401 does not tell why a key was refused.
func TestRefusedKeysLookAlike(t *testing.T) {
	s := start(t)
	s.must(201, managementKey, "POST", "/api/v1/contexts/other", nil)
	_, foreign := s.member("other", "eve", map[string][]string{"memory:read": {"*"}})
	gone := s.post(201, "/keys", `{"name": "gone"}`).str("key")
	s.must(204, s.key, "DELETE", "/api/v1/main/keys/gone", nil)
	rotated := s.post(201, "/keys", `{"name": "turned"}`).str("key")
	fresh := s.post(200, "/keys/turned/rotate", nil).str("key")
	s.must(200, fresh, "GET", "/api/v1/main/me", nil)
	var first string
	for name, key := range map[string]string{"none": "", "unknown": "msk-abc-def", "foreign": foreign,
		"revoked": gone, "rotated": rotated,
		"management": managementKey, "altered": s.key + "x"} {
		a := s.must(401, key, "GET", "/api/v1/main/me", nil)
		delete(a.m, "instance")
		delete(a.m, "traceId")
		b, err := json.Marshal(a.m)
		if err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = string(b)
		}
		if string(b) != first {
			t.Errorf("%s: %s, want %s", name, b, first)
		}
	}
	s.must(401, s.key, "GET", "/api/v1/nowhere/me", nil)
	s.must(401, s.key, "GET", "/api/v1/main/me", nil, "X-Memsvc-Context", "other")
	s.must(403, s.key, "GET", "/api/v1/contexts", nil)
}

func TestTTLClampOnAllMintPaths(t *testing.T) {
	s := start(t)
	s.patch(200, `{"max_token_ttl_seconds": 60}`)
	pid, _ := s.member("main", "bob", map[string][]string{"memory:read": {"*"}})
	for name, a := range map[string]answer{
		"management": s.must(201, managementKey, "POST", "/api/v1/contexts/main/principals/"+pid+
			"/keys/a?ttl_seconds=9999", nil),
		"management, no ttl": s.must(201, managementKey, "POST", "/api/v1/contexts/main/principals/"+pid+"/keys/b",
			nil),
		"broker": s.must(201, managementKey, "POST", "/api/v1/contexts/main/access-tokens",
			`{"external_id": "x", "ttl_seconds": 9999, "grants": {"memory:read": ["*"]}}`),
		"self-service":     s.post(201, "/keys", `{"name": "c", "ttlSeconds": 9999}`),
		"rotate":           s.post(200, "/keys/c/rotate", `{"ttlSeconds": 99999}`),
		"rotate of an old": s.post(200, "/keys/bootstrap/rotate", nil),
	} {
		until, err := time.Parse(time.RFC3339, a.str("validUntil"))
		if err != nil || time.Until(until) > time.Minute {
			t.Errorf("%s: valid until %q, want at most a minute", name, a.str("validUntil"))
		}
		if name == "rotate of an old" {
			s.key = a.str("key")
		}
	}
}

func TestExpiredKeyIs401(t *testing.T) {
	s := start(t)
	k := s.post(201, "/keys", `{"name": "short", "ttlSeconds": 1}`).str("key")
	s.must(200, k, "GET", "/api/v1/main/me", nil)
	eventually(t, "the key expires", func() bool { return s.send(k, "GET", "/api/v1/main/me", nil).status == 401 })
}

func TestSelfServiceKeys(t *testing.T) {
	s := start(t)
	_, bob := s.member("main", "bob", map[string][]string{"memory:read": {"org/a/*"}})
	a := s.must(201, bob, "POST", "/api/v1/main/keys", `{"name": "mine", "grants": {"memory:read": ["org/a/b"]}}`)
	me := s.must(200, a.str("key"), "GET", "/api/v1/main/me", nil)
	if got := me.str("effectiveGrants", "memory:read", 0); got != "org/a/b" {
		t.Errorf("the key may read %s, want org/a/b", got)
	}
	s.must(400, a.str("key"), "POST", "/api/v1/main/keys", `{"name": "wide", "grants": {"memory:read": ["org/a/*"]}}`)
	s.must(400, bob, "POST", "/api/v1/main/keys", `{"name": "none", "grants": {}}`)
	s.must(409, bob, "POST", "/api/v1/main/keys", `{"name": "bootstrap"}`)
	s.must(404, bob, "POST", "/api/v1/main/keys/bootstrap/rotate", nil)
	s.must(404, bob, "DELETE", "/api/v1/main/keys/bootstrap", nil)
	again := s.must(201, a.str("key"), "POST", "/api/v1/main/keys", `{"name": "again"}`)
	me = s.must(200, again.str("key"), "GET", "/api/v1/main/me", nil)
	if got := me.str("effectiveGrants", "memory:read", 0); got != "org/a/b" {
		t.Errorf("a key of an attenuated key may read %s, want org/a/b", got)
	}
	s.patch(200, `{"allow_self_service_keys": false}`)
	s.must(403, bob, "POST", "/api/v1/main/keys", `{"name": "off"}`)
	s.must(201, managementKey, "POST", "/api/v1/contexts/main/access-tokens", `{"external_id": "y", "ttl_seconds": 60, "grants": {"memory:read": ["*"]}}`)
}

func TestDelegationIsAnIntersection(t *testing.T) {
	s := start(t)
	carol, _ := s.member("main", "carol", map[string][]string{"memory:read": {"org/a/user/carol", "org/b"}})
	_, bob := s.member("main", "bob", map[string][]string{"memory:read": {"org/a/*"}, "memory:write": {"org/a/*"}})
	me := s.must(200, bob, "GET", "/api/v1/main/me", nil, "X-Memsvc-On-Behalf-Of", carol)
	if got, want := me.str("effectiveGrants"), "map[memory:read:[org/a/user/carol]]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	s.must(403, bob, "GET", "/api/v1/main/me", nil, "X-Memsvc-On-Behalf-Of", "nobody")
	s.must(403, bob, "POST", "/api/v1/main/keys", `{"name": "d"}`, "X-Memsvc-On-Behalf-Of", carol)
}

func TestGrantsAreConveyedOnlyFromWhatIsHeld(t *testing.T) {
	s := start(t)
	carol, _ := s.member("main", "carol", nil)
	_, lead := s.member("main", "lead", map[string][]string{"memory:read": {"org/a/*"}, "grant:manage": {"org/a/*"}})
	path := "/api/v1/main/principals/" + carol + "/grants"
	s.must(200, lead, "POST", path, `{"path": "org/a/x", "verbs": ["memory:read"]}`)
	s.must(403, lead, "POST", path, `{"path": "org/b", "verbs": ["memory:read"]}`)
	s.must(403, lead, "POST", path, `{"path": "org/a/x", "verbs": ["memory:write"]}`)
	s.must(400, lead, "POST", path, `{"path": "org/*/x", "verbs": ["memory:read"]}`)
	s.must(400, lead, "POST", path, `{"path": "org/a", "verbs": ["read"]}`)
	s.must(403, s.key, "POST", "/api/v1/main/principals/system/grants", `{"path": "org/a", "verbs": ["memory:read"]}`)
	s.must(403, managementKey, "DELETE", "/api/v1/contexts/main/principals/admin", nil)
	before := s.get(200, "/principals/"+carol+"/effective?path=org/a/x").str("verbs")
	past := s.get(200, "/principals/"+carol+"/effective?path=org/a/x&asOf=2001-01-01").str("verbs")
	if before != "[memory:read]" || past != "[]" {
		t.Errorf("now %s, in 2001 %s", before, past)
	}
}

func TestPrincipalsByExternalIDAreMadeOnce(t *testing.T) {
	s := start(t)
	path := "/api/v1/contexts/main/principals"
	one := s.must(201, managementKey, "POST", path, `{"display_name": "Ann", "external_id": "u1"}`)
	two := s.must(200, managementKey, "POST", path, `{"display_name": "Ann", "external_id": "u1"}`)
	if one.str("id") != two.str("id") {
		t.Errorf("got %s and %s", one.str("id"), two.str("id"))
	}
	s.must(409, managementKey, "POST", path, `{"display_name": "Ann"}`)
	s.must(400, managementKey, "POST", path, `{"display_name": "Joe", "kind": "robot"}`)
	s.must(204, managementKey, "DELETE", path+"/"+one.str("id"), nil)
	s.must(404, managementKey, "GET", path+"/"+one.str("id"), nil)
}

func TestPatchKeepsSiblingsAndEnforcementBlocked(t *testing.T) {
	s := start(t)
	s.must(200, managementKey, "PATCH", "/api/v1/contexts/main", `{"enforcement_blocked": true}`)
	s.patch(200, `{"response_cache": {"enabled": false}}`)
	s.patch(400, `{"enforcement_blocked": false}`)
	s.patch(400, `{"models": {"embedding": "other"}}`)
	a := s.patch(200, `{"response_cache": {"similarity_threshold": 0.5}}`)
	if a.str("enforcement_blocked") != "true" || a.str("config", "response_cache", "enabled") != "false" ||
		a.str("config", "response_cache", "similarity_threshold") != "0.5" {
		t.Errorf("got %s", a.raw)
	}
	s.must(404, managementKey, "PATCH", "/api/v1/contexts/nowhere", `{"config": {}}`)
}

func TestProviderKeysAreNeverEchoed(t *testing.T) {
	const secret = "sk-very-secret-value"
	s := start(t, "MEMSVC_PROVIDER_GAMMA_API_KEY", secret+"-gamma", "MEMSVC_PROVIDER_GAMMA_MODELS", "g1,g2")
	all := []answer{
		s.patch(200, `{"providers": {"beta": "`+secret+`"}}`),
		s.must(200, managementKey, "GET", "/api/v1/contexts/main", nil), s.must(200, managementKey, "GET",
			"/api/v1/contexts", nil),
		s.get(200, "/providers"), s.must(200, "", "GET", "/metrics", nil), s.patch(400,
			`{"providers": {"beta": {"api_key": "`+secret+`", "x": "`+secret+`"}}}`),
	}
	for i, a := range all {
		if strings.Contains(string(a.raw), secret) {
			t.Errorf("answer %d shows a key: %s", i, a.raw)
		}
	}
	if strings.Contains(s.log.String(), secret) {
		t.Error("the log shows a key")
	}
	if got := all[1].str("config", "providers_configured"); got != "[beta]" {
		t.Errorf("providers_configured is %s", got)
	}
	if got := all[3].str("providers"); !strings.Contains(got, "name:beta reachable_via:context") ||
		!strings.Contains(got, "models:[g1 g2] name:gamma reachable_via:deployment") {
		t.Errorf("providers are %s", got)
	}
}

func TestCORS(t *testing.T) {
	s := start(t, "MEMSVC_CORS_ALLOWED_ORIGINS", "https://app.example.com,https://*.example.org")
	for _, tc := range []struct {
		path, origin string
		want         bool
	}{
		{"/api/v1/main/me", "https://app.example.com", true}, {"/api/v1/main/me", "https://x.example.org", true},
		{"/api/v1/main/me", "https://evil.com", false}, {"/api/v1/contexts", "https://app.example.com", false},
	} {
		a := s.send(s.key, "GET", tc.path, nil, "Origin", tc.origin)
		if got := a.header.Get("Access-Control-Allow-Origin") == tc.origin; got != tc.want ||
			a.header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s from %s: allowed %v, want %v", tc.path, tc.origin, got, tc.want)
		}
	}
	a := s.send("", http.MethodOptions, "/api/v1/main/query", nil, "Origin", "https://app.example.com",
		"Access-Control-Request-Method", "POST",
		"Access-Control-Request-Headers", "api-version, idempotency-key")
	if a.status != 204 || a.header.Get("Access-Control-Allow-Headers") != "api-version, idempotency-key" {
		t.Errorf("preflight: %d, %v", a.status, a.header)
	}
}

func TestContextDeleteRemovesEverything(t *testing.T) {
	s := start(t)
	s.must(201, managementKey, "POST", "/api/v1/contexts/gone", `{"config": {"providers": {"alpha": "sk"}}}`)
	_, key := s.member("gone", "bob", map[string][]string{"memory:read": {"*"}})
	s.must(200, key, "GET", "/api/v1/gone/me", nil)
	s.must(204, managementKey, "DELETE", "/api/v1/contexts/gone", nil)
	s.must(401, key, "GET", "/api/v1/gone/me", nil)
	s.must(404, managementKey, "GET", "/api/v1/contexts/gone", nil)
	s.must(404, managementKey, "DELETE", "/api/v1/contexts/gone", nil)
	s.must(201, managementKey, "POST", "/api/v1/contexts/gone", nil)
	s.must(401, key, "GET", "/api/v1/gone/me", nil)
	if got := s.must(200, managementKey, "GET", "/api/v1/contexts/gone", nil).str("config",
		"providers_configured"); got != "[]" {
		t.Errorf("providers of the new Context are %s", got)
	}
}

func TestBadRequestsAreProblems(t *testing.T) {
	s := start(t, "MEMSVC_RATE_LIMIT_PER_MINUTE", "1000")
	deep := strings.Repeat(`{"a":`, 10000) + "1" + strings.Repeat("}", 10000)
	for _, tc := range []struct {
		want               int
		method, path, body string
	}{
		{400, "POST", "/api/v1/contexts/x", "{"}, {400, "POST", "/api/v1/contexts/x", "[]"}, {400, "POST",
			"/api/v1/contexts/x", deep},
		{400, "POST", "/api/v1/contexts/x", `{"description": 7}`}, {400, "POST", "/api/v1/contexts/..%2f", "{}"},
		{400, "POST", "/api/v1/contexts/UPPER", "{}"}, {400, "POST", "/api/v1/contexts/x",
			`{"database": "a; REMOVE DATABASE main"}`},
		{422, "POST", "/api/v1/contexts/x", `{"namespace": "memsvc"}`}, {413, "POST", "/api/v1/contexts/x",
			strings.Repeat(" ", 9<<20)},
		{405, "PUT", "/api/v1/contexts", ""}, {404, "GET", "/nowhere", ""}, {409, "POST", "/api/v1/contexts/main",
			"{}"},
	} {
		s.must(tc.want, managementKey, tc.method, tc.path, tc.body)
	}
	s.must(400, s.key, "GET", "/api/v1/main/me", nil, "api-version", "7")
	s.must(200, s.key, "GET", "/api/v1/main/me", nil, "api-version", "1")
}

func TestRateLimitIsPerKey(t *testing.T) {
	s := start(t, "MEMSVC_RATE_LIMIT_PER_MINUTE", "3")
	_, bob := s.member("main", "bob", map[string][]string{"memory:read": {"*"}})
	for range 3 {
		s.get(200, "/me")
	}
	a := s.get(429, "/me")
	if a.header.Get("Retry-After") == "" || a.at("retry_after") == nil {
		t.Errorf("no time to wait: %s", a.raw)
	}
	s.must(200, bob, "GET", "/api/v1/main/me", nil)
}
