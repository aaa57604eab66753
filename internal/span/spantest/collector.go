// Package spantest has a collector of spans for tests.
package spantest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// Span is a span as the collector got it.
type Span struct {
	TraceID, SpanID, ParentSpanID, Name string
	Kind                                int
	Status                              struct{ Code int }
	Start                               string `json:"startTimeUnixNano"`
	End                                 string `json:"endTimeUnixNano"`
}

// Collector takes spans by OTLP over HTTP, and refuses what is none. It is safe for concurrent use.
type Collector struct {
	URL string // without the path of the signal

	mu    sync.Mutex // guards what follows
	spans []Span
	raw   string
}

// New starts a collector, which ends with the test.
func New(t testing.TB) *Collector {
	c := &Collector{}
	srv := httptest.NewServer(c)
	t.Cleanup(srv.Close)
	c.URL = srv.URL
	return c
}

// Got gives the spans that came, and the bodies that they came in.
func (c *Collector) Got() (spans []Span, raw string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.spans, c.raw
}

// ServeHTTP implements http.Handler.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, err := io.ReadAll(r.Body)
	var in struct {
		ResourceSpans []struct {
			ScopeSpans []struct{ Spans []Span }
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
