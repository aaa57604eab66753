package memsvc_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/nacredb/nacre/internal/span/spantest"
)

// TestSpansOfARequest holds MEMSVC_OTLP_ENDPOINT: a request, its search and its calls to providers are spans of one
// trace, which goes on that of the caller, and none holds a word of the question, of memory or of a key.
func TestSpansOfARequest(t *testing.T) {
	c := spantest.New(t)
	s, _ := withModels(t, "MEMSVC_OTLP_ENDPOINT", c.URL)
	s.post(200, "/facts", map[string]any{"text": "Ada keeps her telescope in Lisbon.", "infer": "none"})
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-"
	chat := `{"message": "Where is the telescope of Ada?", "bypassCache": true}`
	s.must(200, s.key, "POST", "/api/v1/main/chat", chat, "Traceparent", parent+"01")
	s.must(200, s.key, "POST", "/api/v1/main/chat", chat, "Traceparent", strings.Replace(parent, "0af", "1af", 1)+"00")
	s.must(200, s.key, "POST", "/api/v1/main/chat", chat, "Traceparent", "nonsense")
	s.stop()

	spans, raw := c.Got()
	byName := map[string]spantest.Span{}
	traces := map[string]int{}
	for _, sp := range spans {
		traces[sp.TraceID]++
		if sp.TraceID == "0af7651916cd43dd8448eb211c80319c" {
			byName[sp.Name] = sp
		}
		if sp.End < sp.Start || len(sp.TraceID) != 32 || len(sp.SpanID) != 16 {
			t.Errorf("a span that cannot be: %+v", sp)
		}
	}
	request := byName["POST /api/v1/{ctx}/chat"]
	if request.ParentSpanID != "b7ad6b7169203331" || request.Kind != 2 {
		t.Errorf("the request: %+v of %v", request, traces)
	}
	if sp := byName["search"]; sp.ParentSpanID != request.SpanID {
		t.Errorf("the search: %+v", sp)
	}
	if sp := byName["rank"]; sp.ParentSpanID != byName["search"].SpanID {
		t.Errorf("the ranking: %+v", sp)
	}
	if sp := byName["provider synthesis"]; sp.ParentSpanID != request.SpanID || sp.Kind != 3 {
		t.Errorf("the call of the provider: %+v", sp)
	}
	if traces["1af7651916cd43dd8448eb211c80319c"] != 0 {
		t.Error("a trace that the caller does not sample was sent")
	}
	for _, secret := range []string{"telescope", "Lisbon", "server-key", s.key, managementKey} {
		if strings.Contains(raw, secret) {
			t.Errorf("a span holds %q", secret)
		}
	}
}

// TestSpansWithoutACollector holds that a collector that fails, or is not there, costs no request.
func TestSpansWithoutACollector(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	for _, address := range []string{srv.URL, "http://127.0.0.1:1"} {
		s := start(t, "MEMSVC_OTLP_ENDPOINT", address)
		s.post(200, "/query", `{"query": "x"}`)
		s.stop()
		if got := s.log.String(); !strings.Contains(got, "send spans") {
			t.Errorf("%s: the log does not tell", address)
		}
	}
}
