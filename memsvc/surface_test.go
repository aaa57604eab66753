package memsvc_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/nacredb/nacre/memsvc/fake"
)

// TestProvidersListSelectableModels holds that a provider is listed with models that can be chosen, also where the
// settings name none, and that the list is another one than providers_configured.
func TestProvidersListSelectableModels(t *testing.T) {
	s := start(t, "MEMSVC_PROVIDER_ALPHA_API_KEY", "k", "MEMSVC_LLM_MODEL", "house-model",
		"MEMSVC_PROVIDER_BETA_API_KEY", "k", "MEMSVC_PROVIDER_BETA_MODELS", "b-1,b-2")
	s.patch(200, `{"providers":{"gamma":"own-key"},"models":{"synthesis":"gamma/g-9"}}`)
	got := map[string]string{}
	a := s.get(200, "/providers")
	for i := range a.list("providers") {
		var models []string
		for j := range a.list("providers", i, "models") {
			models = append(models, a.str("providers", i, "models", j))
		}
		got[a.str("providers", i, "name")] = a.str("providers", i, "reachable_via") + " " + strings.Join(models, ",")
	}
	want := map[string]string{"alpha": "deployment house-model", "beta": "deployment b-1,b-2", "gamma": "context g-9"}
	for name, w := range want {
		if got[name] != w {
			t.Errorf("%s: got %q, want %q", name, got[name], w)
		}
	}
	c := s.must(200, managementKey, "GET", "/api/v1/contexts/main", nil)
	if l := c.list("config", "providers_configured"); len(l) != 1 || l[0] != "gamma" {
		t.Errorf("providers_configured is %v", l)
	}
}

// TestTokenLimitOfZeroIsALimit holds that 0 is a limit that only tells, and null is none.
func TestTokenLimitOfZeroIsALimit(t *testing.T) {
	s, _ := withModels(t)
	s.patch(200, `{"token_limit":0,"llm_extraction_enabled":true}`)
	for range 2 {
		s.post(200, "/facts", map[string]any{"text": "I live in Porto.", "name": "Ada"})
	}
	a := s.post(200, "/facts", map[string]any{"text": "I work at Initech.", "name": "Ada"})
	if h := a.header.Get("X-Memsvc-Token-Usage"); !strings.HasSuffix(h, "/0") || h == "0/0" {
		t.Errorf("X-Memsvc-Token-Usage is %q", h)
	}
	u := s.must(200, managementKey, "GET", "/api/v1/contexts/main/usage", nil)
	if u.str("token_limit") != "0" || u.str("over_limit") != "true" {
		t.Errorf("usage: %s", u.raw)
	}
	s.patch(200, `{"token_limit":null}`)
	if u = s.must(200, managementKey, "GET", "/api/v1/contexts/main/usage", nil); u.at("token_limit") != nil {
		t.Errorf("usage after null: %s", u.raw)
	}
}

// TestPatternsAsObjects holds that the order of the keys of a pattern is the order of its segments.
func TestPatternsAsObjects(t *testing.T) {
	s := start(t)
	p := s.must(201, managementKey, "POST", "/api/v1/contexts/main/principals",
		`{"display_name":"Ada","grants":{"memory:read":[{"user":"alice","org":"acme"},"org/x/*"]}}`)
	if got := p.str("grants", "memory:read", 0); got != "user/alice/org/acme" {
		t.Errorf("got %q", got)
	}
	p = s.must(200, managementKey, "POST", "/api/v1/contexts/main/principals/"+p.str("id")+"/grants",
		`{"path":{"org":"acme","user":"*"},"verbs":["memory:write"]}`)
	if got := p.str("grants", "memory:write", 0); got != "org/acme/user/*" {
		t.Errorf("got %q", got)
	}
	s.must(400, managementKey, "POST", "/api/v1/contexts/main/principals",
		`{"display_name":"Bo","grants":{"memory:read":[{"org":{"deep":1}}]}}`)
}

// TestBadFieldsAreNamed holds that a problem names the field in either form of its name.
func TestBadFieldsAreNamed(t *testing.T) {
	s := start(t)
	for _, tc := range [][3]string{
		{"/facts", `{"text":"x","observedAt":"soon"}`, "observed_at"},
		{"/facts", `{"text":"x","observed_at":5}`, "observed_at"},
		{"/facts", `{"infer":"triples"}`, "triples"},
		{"/query", `{"query":"x","k":1.5}`, "k"},
		{"/query", `{"query":"x","asOf":"soon"}`, "as_of"},
		{"/query", `{"query":"x","validUntil":"soon"}`, "valid_until"},
		{"/documents/query", `{"query":"x","vectorWeight":5}`, "vectorWeight"},
		{"/documents/query", `{"query":"x","rrfK":-1}`, "rrfK"},
		{"/documents/query", `{"query":"x","graphDepth":7}`, "graphDepth"},
	} {
		if got := s.post(400, tc[0], tc[1]).str("field"); got != tc[2] {
			t.Errorf("%s %s: the field is %q, want %q", tc[0], tc[1], got, tc[2])
		}
	}
	// Where both forms of a name are given, the one in snake_case stands.
	a := s.post(200, "/query", `{"query":"x","includeDuplicates":"bad","include_duplicates":true}`)
	if a.str("tier") == "" {
		t.Errorf("%s", a.raw)
	}
	s.post(400, "/query", `{"query":"x"} {"query":"y"}`)
	s.post(400, "/query", `["query"]`)
}

func TestInspectEveryKindOfReference(t *testing.T) {
	s := start(t)
	s.patch(200, `{"llm_extraction_enabled":true}`)
	s.post(200, "/facts", map[string]any{"text": "I live in Porto.", "name": "Ada"})
	s.post(200, "/facts", map[string]any{"infer": "triples", "triples": []any{map[string]any{
		"entity": map[string]any{"type": "person", "name": "Ada"}, "key": "works_at",
		"target": map[string]any{"type": "company", "name": "Initech"}}}})
	d := s.must(202, s.key, "POST", "/api/v1/main/documents?title=Guide", "# Barn\n\nParking is free behind the barn.\n",
		"Content-Type", "text/markdown").str("id")
	s.isReady(d)
	inspect := func(want int, ref string) answer { return s.get(want, "/inspect?ref="+url.QueryEscape(ref)) }
	if got := inspect(200, "attribute:person/Ada/lives_in").str("value"); got != "Porto" {
		t.Errorf("attribute: %q", got)
	}
	if got := inspect(200, "relation:person/Ada-[works_at]->company/Initech").str("object"); got != "organisation/initech" {
		t.Errorf("relation: %q", got)
	}
	if got := inspect(200, "passage:"+d+"/0").str("text"); !strings.Contains(got, "Parking") {
		t.Errorf("passage: %q", got)
	}
	for ref, want := range map[string]int{"passage:" + d + "/9": 404, "passage:" + d: 400, "relation:x": 400,
		"attribute:a/b": 400, "attribute:person/ada/nope": 404, "other:x": 501, "bad": 400} {
		inspect(want, ref)
	}
	_, stranger := s.member("main", "stranger", map[string][]string{"memory:read": {"org/else"}})
	for _, ref := range []string{"attribute:person/Ada/lives_in", "relation:person/Ada-[works_at]->company/Initech",
		"passage:" + d + "/0", "entity:person/Ada"} {
		// Facts of the whole Context are above every scope: a reader of any scope sees them.
		s.must(200, stranger, "GET", "/api/v1/main/inspect?ref="+url.QueryEscape(ref), nil)
	}
}

// TestRewrittenQuestions holds HyDE and decomposition: a model is asked, what it writes finds passages that the
// question alone does not, a blocked Context asks none, and without a model the search goes on with a warning.
func TestRewrittenQuestions(t *testing.T) {
	p := startProvider(t, fake.Rule{Match: "Write the passage", Reply: "The turbine was mended with a titanium bolt."},
		fake.Rule{Match: "Write the questions", Reply: "1. What does the otter eat?\n2. Where does the otter sleep?"})
	s := start(t, "MEMSVC_PROVIDER_ALPHA_BASE_URL", p.url+"/v1", "MEMSVC_PROVIDER_ALPHA_API_KEY", "k")
	for _, text := range []string{"The turbine was mended with a titanium bolt.", "The otter sleeps under the pier."} {
		d := s.must(202, s.key, "POST", "/api/v1/main/documents", text, "Content-Type", "text/plain").str("id")
		s.isReady(d)
	}
	a := s.post(200, "/documents/query", `{"query":"xyzzy","mode":"bm25","useHyde":true}`)
	if !strings.Contains(a.str("results", 0, "chunk", "text"), "titanium") {
		t.Errorf("HyDE: %s", a.raw)
	}
	a = s.post(200, "/documents/query", `{"query":"xyzzy","mode":"bm25","decomposeQuery":true}`)
	if !strings.Contains(a.str("results", 0, "chunk", "text"), "otter") || p.calls() != 2 {
		t.Errorf("decomposition, %d calls: %s", p.calls(), a.raw)
	}
	s.must(200, managementKey, "PATCH", "/api/v1/contexts/main", `{"enforcement_blocked":true}`)
	s.post(429, "/documents/query", `{"query":"xyzzy","useHyde":true}`)
	s.post(200, "/documents/query", `{"query":"xyzzy"}`)
	if p.calls() != 2 {
		t.Errorf("a blocked Context called the provider")
	}
	a = start(t).post(200, "/documents/query", `{"query":"xyzzy","useHyde":true}`)
	if a.str("warnings", 0) != "query_rewriting_unavailable" {
		t.Errorf("without a model: %s", a.raw)
	}
}

// TestGraphEvidence holds that a passage tells which edges of the graph of documents speak for it.
func TestGraphEvidence(t *testing.T) {
	s := start(t)
	for name, text := range map[string]string{
		"a.md": "# Otter pier\n\nSee [the barn](b.md). The otter sleeps under the pier.\n",
		"b.md": "# Barn\n\nThe otter never enters the barn.\n"} {
		d := s.must(202, s.key, "POST", "/api/v1/main/documents?filename="+name, text,
			"Content-Type", "text/markdown").str("id")
		s.isReady(d)
	}
	if n := s.post(200, "/documents/recompute-links", nil).str("linksEmitted"); n != "1" {
		t.Fatalf("%s links", n)
	}
	a := s.post(200, "/documents/query", `{"query":"otter pier","mode":"hybrid_graph"}`)
	kinds := map[string]bool{}
	for i := range a.list("results") {
		for j := range a.list("results", i, "graphEvidence") {
			kinds[a.str("results", i, "graphEvidence", j, "edgeKind")] = true
		}
	}
	if !kinds["section_match"] || !kinds["document_link"] {
		t.Errorf("edges %v: %s", kinds, a.raw)
	}
	if a = s.post(200, "/documents/query", `{"query":"otter pier"}`); a.at("results", 0, "graphEvidence") != nil {
		t.Errorf("evidence that was not asked for: %s", a.raw)
	}
}

// TestTracesTellTheirRetrievals holds the detail of a trace, the statistics and the filters of the audit log.
func TestTracesTellTheirRetrievals(t *testing.T) {
	s := start(t)
	s.patch(200, `{"llm_extraction_enabled":true}`)
	s.post(200, "/facts", map[string]any{"text": "I live in Porto.", "name": "Ada", "ts": "2024-01-01T00:00:00Z"})
	s.post(200, "/facts", map[string]any{"text": "I moved to Rome.", "name": "Ada", "ts": "2024-02-01T00:00:00Z"})
	q := s.post(200, "/query", `{"query":"Where does Ada live?"}`)
	if got := q.str("seedEntities", 0); got != "entity:person/ada" {
		t.Errorf("seedEntities: %s", q.raw)
	}
	d := s.get(200, "/traces/"+q.str("trace", "traceId"))
	if d.str("retrievals", 0, "ref") != q.str("hits", 0, "id") || d.str("retrievals", 0, "rank") != "1" {
		t.Errorf("trace: %s", d.raw)
	}
	st := s.get(200, "/traces/stats")
	if st.str("supersession", "supersessionEvents") != "1" || st.str("sourceKindDistribution", 0, "kind") != "turn" {
		t.Errorf("stats: %s", st.raw)
	}
	if l := s.get(200, "/audit?until=2001-01-01").list("rows"); len(l) != 0 {
		t.Errorf("events before 2001: %v", l)
	}
	if a := s.get(200, "/audit?since=2001-01-01"); a.str("rows", 0, "traceId") == "" {
		t.Errorf("audit: %s", a.raw)
	}
	s.get(400, "/audit?since=soon")
}

// isReady waits until a document can be found.
func (s *service) isReady(id string) {
	s.t.Helper()
	eventually(s.t, "the document is ready", func() bool {
		return s.get(200, "/documents/"+id).str("status") == "ready"
	})
}

// TestUserAPIWithoutThePrefix holds that the user API is there at both of its addresses, as the same calls.
func TestUserAPIWithoutThePrefix(t *testing.T) {
	s := start(t)
	a := s.must(201, s.key, "POST", "/main/keys", `{"name": "mine", "ttl_seconds": 60}`)
	if got := s.must(200, a.str("key"), "GET", "/main/me", nil).str("contextId"); got != "main" {
		t.Errorf("the key is one of %q", got)
	}
	s.must(200, s.key, "POST", "/main/query", `{"query": "x"}`)
	s.must(401, "", "POST", "/main/query", `{"query": "x"}`)
	s.must(401, s.key, "GET", "/other/me", nil)
	s.must(404, s.key, "GET", "/contexts/main", nil)
	for _, id := range []string{"contexts", "health", "api", "mcp"} {
		s.must(422, managementKey, "POST", "/api/v1/contexts/"+id, nil)
	}
	if got := s.must(405, s.key, "PUT", "/api/v1/main/query", "{}").header.Values("Allow"); len(got) != 1 ||
		got[0] != "POST" {
		t.Errorf("Allow: %v", got)
	}
}

// TestProblemsOfStatus429 holds that they say when to try again, null where no time helps.
func TestProblemsOfStatus429(t *testing.T) {
	s := start(t, "MEMSVC_RATE_LIMIT_PER_MINUTE", "2")
	s.must(200, managementKey, "PATCH", "/api/v1/contexts/main", `{"enforcement_blocked": true}`)
	a := s.post(429, "/chat", `{"message": "x"}`)
	if got, ok := a.m["retry_after"]; !ok || got != nil || a.header.Get("Retry-After") != "" {
		t.Errorf("blocked: %s", a.raw)
	}
	s.get(200, "/me")
	a = s.get(429, "/me")
	if a.str("type") != "urn:memsvc:error:rate-limited" || a.str("retry_after") != a.header.Get("Retry-After") ||
		a.str("retry_after") == "" {
		t.Errorf("too many: %s", a.raw)
	}
	if _, ok := s.must(404, managementKey, "GET", "/api/v1/contexts/nope", nil).m["retry_after"]; ok {
		t.Error("another status says when to try again")
	}
}

// TestTracesFavourWhatAnsweredSimilarQuestions holds that a hit gains a little from traces of the same region, that
// other regions and questions gain nothing, that what is kept lives for its time, and that a repeated question has the
// same answer.
func TestTracesFavourWhatAnsweredSimilarQuestions(t *testing.T) {
	s := start(t, "MEMSVC_TRACE_FEATURE_TTL_SECS", "1")
	for _, text := range []string{"The otter sleeps under the pier.", "The otter eats crabs at the pier."} {
		s.post(200, "/facts", map[string]any{"text": text, "infer": "none"})
	}
	_, other := s.member("main", "bo", map[string][]string{"memory:read": {"org/a/*"}})
	ask := func(key, question string) answer {
		return s.must(200, key, "POST", "/api/v1/main/query", map[string]any{"query": question, "explain": true})
	}
	const q = "Where does the otter sleep?"
	first := ask(s.key, q)
	if first.at("hits", 0, "signals", "trace") != nil {
		t.Errorf("there was no trace yet: %s", first.raw)
	}
	var later answer
	eventually(t, "the trace is read", func() bool {
		later = ask(s.key, q)
		return later.at("hits", 0, "signals", "trace") != nil
	})
	for i := range first.list("hits") {
		if first.str("hits", i, "id") != later.str("hits", i, "id") {
			t.Errorf("the order changed: %s then %s", first.raw, later.raw)
		}
	}
	for key, question := range map[string]string{other: q, s.key: "What do crabs fear at night?"} {
		if a := ask(key, question); a.at("hits", 0, "signals", "trace") != nil {
			t.Errorf("%s gains: %s", question, a.raw)
		}
	}
}

// TestMetadataIsNoDocument holds that a PUT with fields of the metadata changes those and reads the document again,
// that scopes do not change, and that other JSON is the new document.
func TestMetadataIsNoDocument(t *testing.T) {
	s := start(t)
	d := s.must(202, s.key, "POST", "/api/v1/main/documents?title=Old", "The otter swims.\n",
		"Content-Type", "text/plain")
	path := "/api/v1/main/documents/" + d.str("id")
	s.isReady(d.str("id"))
	put := func(want int, body string) answer {
		return s.must(want, s.key, "PUT", path, body, "Content-Type", "application/json")
	}
	if got := put(400, `{"scopes": ["org/a"]}`).str("field"); got != "scopes" {
		t.Errorf("scopes: the field is %q", got)
	}
	put(400, `{"title": 5}`)
	a := put(202, `{"title": "New"}`)
	if a.str("title") != "New" || a.str("mimeType") != "text/plain" || a.str("version") != "2" {
		t.Errorf("a new title: %s", a.raw)
	}
	s.isReady(d.str("id"))
	if a = put(202, `{}`); a.str("contentHash") != d.str("contentHash") || a.str("version") != "3" {
		t.Errorf("reading again: %s", a.raw)
	}
	s.isReady(d.str("id"))
	if a = put(202, `{"title": "New", "animal": "heron"}`); a.str("mimeType") != "application/json" {
		t.Errorf("other JSON: %s", a.raw)
	}
	s.isReady(d.str("id"))
	if a = s.post(200, "/query", `{"query": "heron"}`); len(a.list("hits")) != 1 {
		t.Errorf("the new document: %s", a.raw)
	}
}
