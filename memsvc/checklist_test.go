package memsvc_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacredb/nacre/memsvc/fake"
)

// checklist is what the service promises, and the test that holds it to that.
var checklist = map[string]string{
	"key without principal 401":                     "TestKeyWithoutPrincipalIs401",
	"TTL clamp on all three mint paths":             "TestTTLClampOnAllMintPaths",
	"patch keeps siblings and enforcement_blocked":  "TestPatchKeepsSiblingsAndEnforcementBlocked",
	"provider keys never echoed":                    "TestProviderKeysAreNeverEchoed",
	"providers and providers_configured differ":     "TestProvidersAndProvidersConfiguredDiffer",
	"embedding mismatch rejected":                   "TestEmbeddingMismatchIsRejected",
	"URL without model boot errors":                 "TestBootErrorsNameTheVariable",
	"CORS table":                                    "TestCORS",
	"k=51 is 400, MEMSVC_MAX_QUERY_K=500 still 50":  "TestQueryCeiling",
	"expansion never changes hits":                  "TestExpansionNeverChangesHits",
	"cache: hit, misses, stale, sessions, disabled": "TestResponseCache",
	"supersession floor, both conditions":           "TestSupersessionFloorBothConditions",
	"cross-provenance uncertainty":                  "TestCrossProvenanceUncertainty",
	"scope coexistence":                             "TestScopeCoexistence",
	"late-arriving fact":                            "TestLateArrivingFact",
	"concurrent writers":                            "TestConcurrentWritersLeaveOneHead",
	"asOf before and after":                         "TestFactsAreSupersededAndTheirHistoryStays",
	"purge leaves no byte":                          "TestPurgeLeavesNoByte",
	"co-owned dedup":                                "TestSameBytesAreOneDocument",
	"kill -9 in every ingest stage":                 "TestKillInEveryIngestStage",
	"expired lease":                                 "TestJobOfAProcessThatEndedIsResumed",
	"dead letter":                                   "TestDeadLettersAreListedAndRetried",
	"blocked 429 matrix with zero provider calls":   "TestBlockedCallsReachNoProvider",
	"idempotency: replay, conflict, failure frees":  "TestIdempotencyKeys",
	"idempotency: in flight":                        "TestIdempotencyInFlight",
	"delegation intersection":                       "TestDelegationIsAnIntersection",
	"SSE done frame and mid-stream error":           "TestChatStreams",
	"citations only real":                           "TestCitationsAreRealOnly",
	"MCP isError and JSON-RPC error":                "TestMCPTools",
	"Context delete removes everything":             "TestContextDeleteRemovesEverything",
	"1000 Contexts":                                 "TestManyContexts",
	"isolation fuzz":                                "TestRandomRegionsReadNothingForeign",
}

// TestChecklistIsComplete holds that every row of the list has its test.
func TestChecklistIsComplete(t *testing.T) {
	var all strings.Builder
	for _, pattern := range []string{"*_test.go", "*/*_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(b)
		}
	}
	for row, test := range checklist {
		if !strings.Contains(all.String(), "func "+test+"(t *testing.T)") {
			t.Errorf("%s: there is no %s", row, test)
		}
	}
}

// TestProvidersAndProvidersConfiguredDiffer holds that one list is of what a Context can reach, with models, and the
// other of the keys that it has stored: neither follows from the other.
func TestProvidersAndProvidersConfiguredDiffer(t *testing.T) {
	s := start(t, "MEMSVC_PROVIDER_ALPHA_API_KEY", "k")
	s.patch(200, `{"providers": {"beta": "own"}}`)
	var reachable []string
	a := s.get(200, "/providers")
	for i := range a.list("providers") {
		reachable = append(reachable, a.str("providers", i, "name")+" "+a.str("providers", i, "reachable_via"))
		if len(a.list("providers", i, "models")) == 0 {
			t.Errorf("no model can be selected: %s", a.raw)
		}
	}
	if got := strings.Join(reachable, ", "); got != "alpha deployment, beta context" {
		t.Errorf("providers: %s", got)
	}
	c := s.must(200, managementKey, "GET", "/api/v1/contexts/main", nil)
	if got := fmt.Sprint(c.list("config", "providers_configured")); got != "[beta]" ||
		c.at("config", "providers") != nil {
		t.Errorf("providers_configured: %s", c.raw)
	}
}

// TestEmbeddingMismatchIsRejected holds that models.embedding is the one model of the deployment or nothing.
func TestEmbeddingMismatchIsRejected(t *testing.T) {
	s := start(t, "MEMSVC_MODEL_EMBEDDING", "house-3072")
	a := s.patch(400, `{"models": {"embedding": "other"}}`)
	if a.str("field") != "config.models.embedding" || a.str("type") != "urn:memsvc:error:validation-error" {
		t.Errorf("another model: %s", a.raw)
	}
	s.patch(400, `{"models": {"embedding": 5}}`)
	for _, ok := range []string{`"house-3072"`, "null"} {
		a := s.patch(200, `{"models": {"embedding": `+ok+`}}`)
		if got := a.str("config", "models", "embedding"); got != "house-3072" {
			t.Errorf("%s: the model is %q", ok, got)
		}
	}
	s.post(200, "/facts", `{"text": "The otter swims.", "infer": "none"}`)
	if a := s.post(200, "/query", `{"query": "otter"}`); len(a.list("hits")) != 1 {
		t.Errorf("without a way to the model: %s", a.raw)
	}
}

// TestExpansionNeverChangesHits holds that passages of the same section come beside the hits: with the expansion and
// without it the hits are the same.
func TestExpansionNeverChangesHits(t *testing.T) {
	var hits []string
	for _, on := range []string{"true", "0", "false"} {
		s := start(t, "MEMSVC_RETRIEVAL_SECTION_EXPANSION", on)
		text := "# Pier\n\nThe otter sleeps under the pier.\n\n" + strings.Repeat("Boats come and go in the harbour. ", 120) +
			"\n\n" + strings.Repeat("The lighthouse was painted white. ", 120) + "\n"
		d := s.must(202, s.key, "POST", "/api/v1/main/documents?title=Guide", text, "Content-Type", "text/markdown")
		s.isReady(d.str("id"))
		a := s.post(200, "/query", `{"query": "Where does the otter sleep?", "k": 1}`)
		if n := len(a.list("contextHits")); (n > 0) != (on == "true") {
			t.Errorf("%s: %d passages beside the hits", on, n)
		}
		for i := range a.list("contextHits") {
			if a.str("contextHits", i, "id") == a.str("hits", 0, "id") {
				t.Errorf("%s: a hit stands beside itself", on)
			}
		}
		hits = append(hits, fmt.Sprint(len(a.list("hits")), a.str("hits", 0, "text"), a.str("hits", 0, "score")))
	}
	if hits[0] != hits[1] || hits[1] != hits[2] {
		t.Errorf("the hits differ: %q", hits)
	}
}

// curated states facts as a caller does who knows.
func (s *service) curated(value string, scopes ...string) answer {
	s.t.Helper()
	body := map[string]any{"triples": []any{map[string]any{"key": "lives_in", "value": value,
		"entity": map[string]any{"type": "person", "name": "Ada"}}}}
	if scopes != nil {
		body["scopes"] = scopes
	}
	return s.post(200, "/facts", body)
}

// cities are the values that hold now of where Ada lives.
func (s *service) cities() string {
	s.t.Helper()
	a := s.get(200, "/entities/person/Ada")
	var out []string
	for i := range a.list("attributes") {
		if a.str("attributes", i, "key") == "lives_in" {
			out = append(out, a.str("attributes", i, "value"))
		}
	}
	return strings.Join(out, " ")
}

// TestSupersessionFloorBothConditions holds that a value takes the place of another one only when its confidence is at
// the floor or above, and at least that of the old value; else both stay with a note.
func TestSupersessionFloorBothConditions(t *testing.T) {
	for _, tc := range []struct {
		name         string
		floor        string
		first, later float64
		want         string
	}{
		{"above both", "0.7", 0.8, 0.9, "Rome"}, {"at both", "0.7", 0.7, 0.7, "Rome"},
		{"below the floor", "0.7", 0.3, 0.6, "Porto Rome"}, {"below the old value", "0.7", 0.95, 0.8, "Porto Rome"},
		{"a floor of its own", "0.5", 0.3, 0.6, "Rome"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, p := withScript(t, map[string]string{"Porto": extraction("Porto", tc.first),
				"Rome": extraction("Rome", tc.later)})
			s.patch(200, `{"llm_extraction_enabled": true, "reconciliation": {"confidence_floor": `+tc.floor+`}}`)
			s.post(200, "/facts", `{"text": "In January: Porto.", "observed_at": "2024-01-01"}`)
			a := s.post(200, "/facts", `{"text": "In February: Rome.", "observed_at": "2024-02-01"}`)
			if got := s.cities(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			doubts := len(a.list("extraction", "uncertainties"))
			if (doubts == 1) != (tc.want != "Rome") {
				t.Errorf("%d uncertainties: %s", doubts, a.raw)
			}
			if p.calls() != 2 {
				t.Errorf("%d calls", p.calls())
			}
		})
	}
}

// TestCrossProvenanceUncertainty holds that what is said does not overwrite what was stated: both are kept, and
// /state says that they differ.
func TestCrossProvenanceUncertainty(t *testing.T) {
	s := start(t)
	s.patch(200, `{"llm_extraction_enabled": true}`)
	s.curated("Porto")
	a := s.post(200, "/facts", `{"text": "I live in Rome.", "name": "Ada"}`)
	if len(a.list("extraction", "uncertainties")) != 1 || len(a.list("extraction", "corrections")) != 0 {
		t.Errorf("a turn against a triple: %s", a.raw)
	}
	if got := s.cities(); got != "Porto Rome" {
		t.Errorf("got %q", got)
	}
	if n := len(s.get(200, "/state").list("unknowns")); n != 1 {
		t.Errorf("%d unknowns", n)
	}
}

// TestScopeCoexistence holds that facts of different scopes never conflict.
func TestScopeCoexistence(t *testing.T) {
	s := start(t)
	for _, scope := range []string{"org/a", "org/b"} {
		s.post(201, "/scopes", `{"path": "`+scope+`"}`)
	}
	s.curated("Porto", "org/a")
	a := s.curated("Rome", "org/b")
	if len(a.list("extraction", "corrections"))+len(a.list("extraction", "uncertainties")) != 0 {
		t.Errorf("they conflict: %s", a.raw)
	}
	if got := s.cities(); got != "Porto Rome" {
		t.Errorf("got %q", got)
	}
	_, key := s.member("main", "bo", map[string][]string{"memory:read": {"org/b/*"}})
	raw := string(s.must(200, key, "GET", "/api/v1/main/entities/person/Ada", nil).raw)
	if strings.Contains(raw, "Porto") {
		t.Errorf("a reader of org/b sees %s", raw)
	}
}

// TestLateArrivingFact holds that an older fact that arrives late goes into the past and leaves the newest on top.
func TestLateArrivingFact(t *testing.T) {
	s := start(t)
	s.patch(200, `{"llm_extraction_enabled": true}`)
	for _, f := range [][2]string{{"Porto", "2024-01-01"}, {"Rome", "2024-06-01"}, {"Oslo", "2024-03-01"}} {
		s.post(200, "/facts", `{"text": "I live in `+f[0]+`.", "name": "Ada", "observed_at": "`+f[1]+`"}`)
	}
	if got := s.cities(); got != "Rome" {
		t.Errorf("now: %q", got)
	}
	var history []string
	a := s.get(200, "/entities/person/Ada/history/lives_in")
	for i := range a.list("history") {
		history = append(history, a.str("history", i, "value"))
	}
	if got := strings.Join(history, " "); got != "Porto Oslo Rome" {
		t.Errorf("history: %s", got)
	}
}

// TestIdempotencyInFlight holds that a write that is sent again while it is under way is refused.
func TestIdempotencyInFlight(t *testing.T) {
	s, p := withModels(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	const body = `{"message": "hello", "model": "alpha/fake~hang"}`
	go func() {
		defer close(done)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.base+"/api/v1/main/chat",
			strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return
		}
		req.Header.Set("Authorization", "Bearer "+s.key)
		req.Header.Set("Idempotency-Key", "one")
		if res, err := http.DefaultClient.Do(req); err == nil {
			_ = res.Body.Close() // it was to hang
			t.Errorf("got %s", res.Status)
		}
	}()
	eventually(t, "the provider is asked", func() bool { return p.calls() > 0 })
	a := s.must(409, s.key, "POST", "/api/v1/main/chat", body, "Idempotency-Key", "one")
	if a.str("type") != "urn:memsvc:error:idempotency-conflict" {
		t.Errorf("in flight: %s", a.raw)
	}
	cancel()
	<-done
	// The failure frees the key: a request that is not refused is one that was tried.
	defer func() {
		cut := `{"message": "hello", "stream": true, "model": "alpha/fake~cut"}`
		for range 2 { // the second one is tried again
			a := s.must(200, s.key, "POST", "/api/v1/main/chat", cut, "Idempotency-Key", "two")
			if a.header.Get("Idempotent-Replayed") != "" || !strings.Contains(string(a.raw), "provider-failed") {
				t.Errorf("a stream that failed: %s", a.raw)
			}
		}
	}()
	eventually(t, "the key is free", func() bool {
		return s.send(s.key, "POST", "/api/v1/main/chat", `{"message": ""}`, "Idempotency-Key", "one").status == 400
	})
}

// extraction is what a model says that it read.
func extraction(city string, confidence float64) string {
	return fmt.Sprintf(`{"attributes": [{"entity": {"type": "person", "name": "Ada"}, "key": "lives_in", "value": %q,
		"memory_category": "identity", "confidence": %g}], "relations": []}`, city, confidence)
}

// withScript is a service whose model answers by rules.
func withScript(t *testing.T, rules map[string]string) (*service, *provider) {
	t.Helper()
	var list []fake.Rule
	for match, reply := range rules {
		list = append(list, fake.Rule{Match: match, Reply: reply})
	}
	p := startProvider(t, list...)
	return start(t, "MEMSVC_PROVIDER_ALPHA_BASE_URL", p.url+"/v1", "MEMSVC_PROVIDER_ALPHA_API_KEY", "k"), p
}
