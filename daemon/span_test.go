package daemon_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"log/slog"

	"github.com/nacredb/nacre/daemon"
	"github.com/nacredb/nacre/daemon/config"
	"github.com/nacredb/nacre/daemon/telemetry"
	"github.com/nacredb/nacre/internal/span"
	"github.com/nacredb/nacre/internal/span/spantest"
)

// Requests, calls and statements are spans of one trace, below that of the client; nothing of texts, data or secrets
// is in them, and a client that does not sample gets none.
func TestSpans(t *testing.T) {
	c := spantest.New(t)
	exporter := span.New(span.Collector{URL: span.At(c.URL)}, "nacre", "1", slog.New(slog.DiscardHandler))
	cfg := config.Default()
	cfg.Bind, cfg.User, cfg.Pass, cfg.AuthRate = "127.0.0.1:0", "root", "hunter2", 0
	d, err := daemon.Start(span.With(t.Context(), exporter), cfg,
		telemetry.NewLogger(io.Discard, slog.LevelInfo, false))
	if err != nil {
		t.Fatal(err)
	}
	s := &server{Daemon: d, t: t, url: "http://" + d.Addr().String(), http: &http.Client{}}
	root := []string{"Authorization: Basic cm9vdDpodW50ZXIy", "Service-NS: test", "Service-DB: test"}
	const parent = "0af7651916cd43dd8448eb211c80319c"
	s.do("POST", "/sql", "CREATE a:1 SET secret = 'canary7'; SELECT * FROM a; THROW 'canary8'",
		append(root, "Traceparent: 00-"+parent+"-b7ad6b7169203331-01")...)
	s.do("POST", "/sql", "RETURN 'unsampled'", append(root, "Traceparent: 00-"+parent[1:]+"1-b7ad6b7169203331-00")...)
	s.do("POST", "/rpc", `{"id":1,"method":"query","params":["RETURN 'canary9'"]}`,
		append(root, "Content-Type: application/json")...)
	s.do("GET", "/health", "")
	k := s.dial("json")
	k.say(`{"id":1,"method":"signin","params":[{"user":"root","pass":"hunter2"}]}`)
	k.say(`{"id":2,"method":"use","params":["test","test"]}`)
	k.say(`{"id":3,"method":"query","params":["RETURN 'canary6'"]}`)
	s.http.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := d.Close(ctx); err != nil {
		t.Fatal(err)
	}
	exporter.Close()

	spans, raw := c.Got()
	byID, names := map[string]spantest.Span{}, map[string]int{}
	for _, one := range spans {
		byID[one.SpanID] = one
		names[one.Name]++
		if one.Start > one.End || len(one.Start) != len(one.End) {
			t.Errorf("%s ends before it starts", one.Name)
		}
	}
	for name, want := range map[string]int{"POST /sql": 1, "POST /rpc": 1, "rpc query": 2, "rpc signin": 1, "create": 1,
		"select": 1, "other": 1, "return": 2, "GET /health": 0} {
		if names[name] != want {
			t.Errorf("%d spans %q, want %d: %v", names[name], name, want, names)
		}
	}
	for _, one := range spans {
		above := byID[one.ParentSpanID]
		switch one.Name {
		case "POST /sql":
			if one.TraceID != parent || one.ParentSpanID != "b7ad6b7169203331" || one.Kind != int(span.Server) {
				t.Errorf("not below the client: %+v", one)
			}
		case "create", "select", "other": // THROW
			if above.Name != "POST /sql" || one.TraceID != parent {
				t.Errorf("%s is below %q in trace %s", one.Name, above.Name, one.TraceID)
			}
			if (one.Status.Code == 2) != (one.Name == "other") {
				t.Errorf("%s has status %d", one.Name, one.Status.Code)
			}
		case "return":
			if above.Name != "rpc query" {
				t.Errorf("return is below %q", above.Name)
			}
		}
	}
	for _, secret := range []string{"canary", "hunter2", "unsampled", "cm9vdDpodW50ZXIy"} {
		if strings.Contains(raw, secret) {
			t.Errorf("a span tells %q", secret)
		}
	}
}
