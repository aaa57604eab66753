package memsvc_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// collected is a span as the collector got it.
type collected struct {
	TraceID, SpanID, ParentSpanID, Name string
	Kind                                int
	Status                              struct{ Code int }
	Start                               string `json:"startTimeUnixNano"`
	End                                 string `json:"endTimeUnixNano"`
}

// collector keeps the spans that it gets.
type collector struct {
	mu    sync.Mutex
	spans []collected
	raw   string
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, err := io.ReadAll(r.Body)
	var in struct {
		ResourceSpans []struct {
			ScopeSpans []struct{ Spans []collected }
		}
	}
	if err != nil || r.URL.Path != "/v1/traces" || json.Unmarshal(b, &in) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw += string(b)
	for _, rs := range in.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			c.spans = append(c.spans, ss.Spans...)
		}
	}
}

// TestSpansOfARequest holds MEMSVC_OTLP_ENDPOINT: a request, its search and its calls to providers are spans of one
// trace, which goes on that of the caller, and none holds a word of the question, of memory or of a key.
func TestSpansOfARequest(t *testing.T) {
	c := &collector{}
	srv := httptest.NewServer(c)
	defer srv.Close()
	s, _ := withModels(t, "MEMSVC_OTLP_ENDPOINT", srv.URL)
	s.post(200, "/facts", map[string]any{"text": "Ada keeps her telescope in Lisbon.", "infer": "none"})
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-"
	chat := `{"message": "Where is the telescope of Ada?", "bypassCache": true}`
	s.must(200, s.key, "POST", "/api/v1/main/chat", chat, "Traceparent", parent+"01")
	s.must(200, s.key, "POST", "/api/v1/main/chat", chat, "Traceparent", strings.Replace(parent, "0af", "1af", 1)+"00")
	s.must(200, s.key, "POST", "/api/v1/main/chat", chat, "Traceparent", "nonsense")
	s.stop()

	c.mu.Lock()
	defer c.mu.Unlock()
	byName := map[string]collected{}
	traces := map[string]int{}
	for _, sp := range c.spans {
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
		if strings.Contains(c.raw, secret) {
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
