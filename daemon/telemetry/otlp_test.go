package telemetry

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nacredb/nacre/internal/otlp"
)

// collected is what a collector of the tests got.
type collected struct {
	mu      sync.Mutex // guards what follows
	bodies  []string
	headers []http.Header
}

func (c *collected) all() (records []map[string]any, bodies string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range c.bodies {
		var got struct {
			ResourceLogs []struct {
				ScopeLogs []struct{ LogRecords []map[string]any }
			}
		}
		if err := json.Unmarshal([]byte(b), &got); err != nil {
			return nil, err.Error() + ": " + b
		}
		records = append(records, got.ResourceLogs[0].ScopeLogs[0].LogRecords...)
	}
	return records, strings.Join(c.bodies, "\n")
}

// newCollector answers with the statuses in turn, then with 200.
func newCollector(t *testing.T, statuses ...int) (*httptest.Server, *collected) {
	t.Helper()
	got, turn := &collected{}, atomic.Int32{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if n := int(turn.Add(1)) - 1; n < len(statuses) && statuses[n] != http.StatusOK {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(statuses[n])
			return
		}
		got.mu.Lock()
		defer got.mu.Unlock()
		got.bodies, got.headers = append(got.bodies, string(b)), append(got.headers, r.Header)
		_, _ = io.WriteString(w, `{"partialSuccess":{}}`) // the client may be gone
	}))
	t.Cleanup(srv.Close)
	return srv, got
}

func openOTLP(t *testing.T, url string, others *slog.Logger) *OTLPLog {
	t.Helper()
	l, err := OpenOTLPLog(OTLP{URL: url, Headers: map[string]string{"Api-Key": "hunter2"},
		Attributes: map[string]string{"service.name": "shop"}}, "1.2.3", others)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestOTLPLog(t *testing.T) {
	srv, got := newCollector(t)
	l := openOTLP(t, srv.URL+"/v1/logs", nil)
	log := l.Logger(slog.LevelInfo).With("component", "server").WithGroup("request")
	log.Debug("below the level")
	log.Warn("slow", "n", 7, "f", 1.5, "nan", math.NaN(), "ok", true, "took", time.Second, "password", "hunter3",
		"big", uint64(math.MaxUint64), slog.Group("client", "address", "::1"), "err", errors.New("bad \x00 \xff"))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	records, bodies := got.all()
	if len(records) != 1 {
		t.Fatalf("got %s", bodies)
	}
	for _, want := range []string{`{"key":"service.name","value":{"stringValue":"shop"}}`, `"version":"1.2.3"`,
		`"severityNumber":13,"severityText":"WARN","body":{"stringValue":"slow"}`,
		`{"key":"component","value":{"stringValue":"server"}}`, `{"key":"request.n","value":{"intValue":"7"}}`,
		`{"key":"request.f","value":{"doubleValue":1.5}}`, `{"key":"request.nan","value":{"stringValue":"NaN"}}`,
		`{"key":"request.ok","value":{"boolValue":true}}`, `{"key":"request.took","value":{"stringValue":"1s"}}`,
		`{"key":"request.password","value":{"stringValue":"***"}}`,
		`{"key":"request.big","value":{"stringValue":"18446744073709551615"}}`,
		`{"key":"request.client.address","value":{"stringValue":"::1"}}`} {
		if !strings.Contains(bodies, want) {
			t.Errorf("%s is not in %s", want, bodies)
		}
	}
	if strings.Contains(bodies, "hunter") {
		t.Errorf("a secret was sent: %s", bodies)
	}
	if h := got.headers[0]; h.Get("Api-Key") != "hunter2" || h.Get("Content-Type") != "application/json" {
		t.Errorf("headers %v", h)
	}
	if err := l.add(nil); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// TestOTLPLogTriesAgain: what the collector may take later is sent again, what it refuses is not, and nothing follows a
// redirection.
func TestOTLPLogTriesAgain(t *testing.T) {
	for _, tc := range []struct {
		status  int
		arrives bool
	}{{429, true}, {503, true}, {400, false}, {307, false}, {401, false}} {
		srv, got := newCollector(t, tc.status)
		var told strings.Builder
		l := openOTLP(t, srv.URL, NewLogger(&told, LevelTrace, false))
		l.pause, l.patience = time.Millisecond, time.Millisecond
		log := l.Logger(LevelTrace)
		log.Info("first")
		deadline := time.Now().Add(20 * time.Second)
		for {
			l.mu.Lock()
			waits := len(l.records)
			l.mu.Unlock()
			records, _ := got.all()
			if len(records) > 0 || !tc.arrives && waits == 0 || time.Now().After(deadline) {
				break
			}
			time.Sleep(time.Millisecond)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if records, bodies := got.all(); (len(records) == 1) != tc.arrives {
			t.Errorf("%d: got %s", tc.status, bodies)
		}
		text := told.String()
		if !strings.Contains(text, http.StatusText(tc.status)) || strings.Contains(text, "hunter2") {
			t.Errorf("%d: told %q", tc.status, text)
		}
	}
}

// TestOTLPLogIsBounded: records are dropped while the collector is away, and Close does not wait for it.
func TestOTLPLogIsBounded(t *testing.T) {
	srv, _ := newCollector(t)
	srv.Close()
	l := openOTLP(t, srv.URL, nil)
	log := l.Logger(LevelTrace)
	for range otlpBytes/otlp.MaxText + 10 {
		log.Info("x", "text", strings.Repeat("y", 2*otlp.MaxText))
	}
	for range otlpQueue {
		log.Info("x")
	}
	l.mu.Lock()
	records, size, lost := len(l.records), l.bytes, l.lost
	l.mu.Unlock()
	if records > otlpQueue || size > otlpBytes || lost == 0 {
		t.Errorf("%d records of %d bytes wait, %d are lost", records, size, lost)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestOTLPFromEnv(t *testing.T) {
	for _, tc := range []struct {
		environ       []string
		endpoint, url string
		err           string
	}{
		{nil, "", "http://localhost:4318/v1/logs", ""},
		{nil, "https://otel.example.com/base/", "https://otel.example.com/base/v1/logs", ""},
		{[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://a:4318"}, "", "http://a:4318/v1/logs", ""},
		{[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://a:4318"}, "http://b", "http://b/v1/logs", ""},
		{[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://a", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT=http://c/x"}, "",
			"http://c/x", ""},
		{nil, "localhost:4317", "", "must be like http://HOST:4318"},
		{nil, "ftp://a", "", "must be like"},
		{nil, "http://", "", "must be like"},
		{[]string{"OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}, "", "", "over HTTP only"},
		{[]string{"OTEL_EXPORTER_OTLP_HEADERS=hunter2"}, "", "", "pair 1"},
		{[]string{"OTEL_EXPORTER_OTLP_HEADERS=a=b,c=%0d%0aX:%20y"}, "", "", "pair 2"},
		{[]string{"OTEL_RESOURCE_ATTRIBUTES==x"}, "", "", "OTEL_RESOURCE_ATTRIBUTES"},
	} {
		got, err := OTLPFromEnv(tc.environ, tc.endpoint, Logs)
		switch {
		case tc.err != "":
			if err == nil || !strings.Contains(err.Error(), tc.err) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%v %s: error %v, want %s", tc.environ, tc.endpoint, err, tc.err)
			}
		case err != nil || got.URL != tc.url:
			t.Errorf("%v %s: got %s, %v, want %s", tc.environ, tc.endpoint, got.URL, err, tc.url)
		}
	}
	got, err := OTLPFromEnv([]string{"OTEL_EXPORTER_OTLP_HEADERS=a=b%20c, d = e", "OTEL_SERVICE_NAME=shop",
		"OTEL_RESOURCE_ATTRIBUTES=service.name=no,host.name=h"}, "", Traces)
	if err != nil || got.Headers["a"] != "b c" || got.Headers["d"] != "e" || got.Attributes["service.name"] != "shop" ||
		got.Attributes["host.name"] != "h" || got.URL != "http://localhost:4318/v1/traces" {
		t.Errorf("got %+v, %v", got, err)
	}
}
