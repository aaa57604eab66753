package telemetry

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/value"
)

func TestSlowLogShowsOnlyAllowedParameters(t *testing.T) {
	var out bytes.Buffer
	l := &SlowLog{Log: NewLogger(&out, slog.LevelInfo, true), Threshold: time.Second, Shows: func(p string) bool {
		return p == "age"
	}}
	if l.Exceeds(time.Millisecond) || !l.Exceeds(time.Second) {
		t.Fatal("threshold")
	}
	vars := value.NewObject(value.Field{Name: "age", Value: value.Int(18)},
		value.Field{Name: "card", Value: value.Str("4111")})
	l.Record(t.Context(), SlowQuery{Text: "SELECT * FROM t:secret WHERE a = 'secret' AND n = 4111 -- secret", Spent: time.Second, Vars: vars})
	if s := out.String(); !strings.Contains(s, `"$age":"18"`) || strings.Contains(s, "4111") ||
		strings.Contains(s, "secret") {
		t.Error(s)
	}
}

func TestLoggerMasksSecrets(t *testing.T) {
	var out bytes.Buffer
	NewLogger(&out, slog.LevelInfo, false).Info("x", "password", "hunter2", "Token", "abc", "user", "ada")
	if s := out.String(); strings.Contains(s, "hunter2") || strings.Contains(s, "abc") || !strings.Contains(s, "ada") {
		t.Error(s)
	}
}

func TestMetricsText(t *testing.T) {
	m := NewMetrics("1.2.3")
	m.Query(3*time.Millisecond, true)
	m.Statement("select", time.Millisecond, errs.NotAllowed("no"), 3)
	m.RPC("query", time.Millisecond, true)
	m.HTTPStart()("/sql", 200, time.Millisecond)
	m.Auth(false)
	m.Network(10, 20)
	m.SocketOpened()
	var all, some strings.Builder
	m.Write(&all, true, &Gauges{Sessions: 2,
		Engine: engine.Stats{Stats: kv.Stats{SafePoint: time.UnixMilli(1_500)}}})
	m.Write(&some, false, &Gauges{})
	for _, want := range []string{
		`surrealdb_build_info{version="1.2.3"`,
		`surrealdb_query_total{status="ok"} 1`,
		`surrealdb_query_duration_seconds_bucket{le="0.0025"} 0`,
		`surrealdb_query_duration_seconds_bucket{le="0.005"} 1`,
		`surrealdb_query_duration_seconds_sum 0.003`,
		`surrealdb_statement_total{status="error"} 1`,
		`surrealdb_rpc_total{method="query",status="ok"} 1`,
		`surrealdb_http_request_total{route="/sql",status="200"} 1`,
		`surrealdb_auth_failures_total 1`,
		`surrealdb_network_sent_bytes_total 20`,
		`nacre_ws_connections 1`,
		`nacre_kv_safe_point_timestamp_seconds 1.5`,
	} {
		if !strings.Contains(all.String(), want+"\n") && !strings.Contains(all.String(), want) {
			t.Errorf("%s is missing in\n%s", want, all.String())
		}
	}
	if strings.Contains(some.String(), "surrealdb_rpc_total") {
		t.Error("an anonymous scrape sees everything")
	}
	some.Reset()
	if m.Write(&some, true, &Gauges{}); strings.Contains(some.String(), "safe_point") {
		t.Error("a store that clears nothing away has a safe point")
	}
}

func TestNilIsSilent(t *testing.T) {
	var m *Metrics
	m.Query(0, true)
	m.RPC("x", 0, true)
	m.HTTPStart()("/", 200, 0)
	m.SocketClosed(true)
	m.Write(&strings.Builder{}, true, nil)
	var l *SlowLog
	if l.Exceeds(time.Hour) {
		t.Error("a nil log exceeds")
	}
}
