// Package span tells a collector of traces what a server spends its time on, by OTLP over HTTP with JSON
// (OpenTelemetry Protocol Specification 1.x). A span holds names, times and numbers, and nothing of texts, data or
// keys. Without an exporter in the context every call here does nothing.
package span

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nacredb/nacre/internal/otlp"
)

const (
	waiting   = 4096            // spans that wait for the collector; later ones are left out
	batch     = 512             // spans of one call
	every     = 2 * time.Second // between calls
	sendTime  = 10 * time.Second
	closeTime = 5 * time.Second
)

// Kind says what a span stands for, by the numbers of the protocol.
type Kind int

// Kinds of spans.
const (
	Internal Kind = 1
	Server   Kind = 2
	Client   Kind = 3
)

// Collector is where spans go, and for whom.
type Collector struct {
	URL        string            // of traces, such as http://localhost:4318/v1/traces
	Headers    map[string]string // of each request; they may hold secrets
	Attributes map[string]string // of the resource: service.name and others
}

// Exporter sends spans to a collector. Make one with New, end it with Close.
type Exporter struct {
	to    Collector
	head  map[string]any // the resource
	scope map[string]any
	log   *slog.Logger
	http  *http.Client
	queue chan *Span
	stop  chan struct{} // closed by Close
	done  chan struct{} // closed when everything was sent
	told  time.Time     // when a failure was last logged; of the sender alone
}

// New makes an exporter of a program of a version to a collector, and starts it.
func New(to Collector, program, version string, log *slog.Logger) *Exporter {
	attrs := []otlp.Attr{attribute("service.version", version)}
	for _, name := range slices.Sorted(maps.Keys(to.Attributes)) {
		attrs = append(attrs, attribute(name, to.Attributes[name]))
	}
	e := &Exporter{to: to, log: log, http: otlp.NewClient(sendTime), head: map[string]any{"attributes": attrs},
		scope: map[string]any{"name": program, "version": version},
		queue: make(chan *Span, waiting), stop: make(chan struct{}), done: make(chan struct{})}
	go e.run()
	return e
}

// At is the address of traces of a collector: /v1/traces is added to one that does not end with it.
func At(address string) string {
	if address = strings.TrimSuffix(address, "/"); !strings.HasSuffix(address, "/v1/traces") {
		address += "/v1/traces"
	}
	return address
}

// Close sends what waits and ends the exporter; spans that end later are left out.
func (e *Exporter) Close() {
	close(e.stop)
	select {
	case <-e.done:
	case <-time.After(closeTime):
		e.log.Warn("spans were left out: the collector did not take them in time")
	}
}

type exporterKey struct{}

type spanKey struct{}

// With gives a context whose spans go to an exporter; nil changes nothing.
func With(ctx context.Context, e *Exporter) context.Context {
	if e == nil {
		return ctx
	}
	return context.WithValue(ctx, exporterKey{}, e)
}

// From is the exporter that With put into ctx, or nil.
func From(ctx context.Context) *Exporter {
	e, _ := ctx.Value(exporterKey{}).(*Exporter)
	return e
}

// Root gives a context whose next span begins a trace of its own.
func Root(ctx context.Context) context.Context {
	if ctx.Value(spanKey{}) == nil {
		return ctx
	}
	return context.WithValue(ctx, spanKey{}, (*Span)(nil))
}

// Span is something that takes time. A nil one takes every call.
type Span struct {
	e             *Exporter
	trace, parent string // hexadecimal
	id, name      string
	kind          Kind
	start, end    time.Time
	attributes    []otlp.Attr
	failed        bool
}

// Start begins a span below the one in ctx. End it.
func Start(ctx context.Context, name string, kind Kind) (context.Context, *Span) {
	s := begin(ctx, name, kind, time.Now())
	if s == nil {
		return ctx, nil
	}
	return context.WithValue(ctx, spanKey{}, s), s
}

// Past gives a span below the one in ctx for what has taken a time already. End it.
func Past(ctx context.Context, name string, kind Kind, start time.Time, took time.Duration) *Span {
	s := begin(ctx, name, kind, start)
	if s != nil {
		s.end = start.Add(took)
	}
	return s
}

func begin(ctx context.Context, name string, kind Kind, start time.Time) *Span {
	e := From(ctx)
	if e == nil {
		return nil
	}
	s := &Span{e: e, name: name, kind: kind, start: start, id: random(8)}
	if above, _ := ctx.Value(spanKey{}).(*Span); above != nil {
		s.trace, s.parent = above.trace, above.id
	} else {
		s.trace = random(16)
	}
	return s
}

// Trace is the id of the trace that s belongs to, 32 hexadecimal digits, or "".
func (s *Span) Trace() string {
	if s == nil {
		return ""
	}
	return s.trace
}

// Continue begins a span below the one of a caller on another machine, as its header traceparent names it (W3C Trace
// Context). A header that does not fit begins a trace of its own; a caller that does not sample gets no span.
func Continue(ctx context.Context, traceparent, name string, kind Kind) (context.Context, *Span) {
	parts := strings.Split(traceparent, "-")
	if len(parts) < 4 || len(parts[0]) != 2 || parts[0] == "ff" || !isID(parts[1], 32) || !isID(parts[2], 16) ||
		len(parts[3]) != 2 {
		return Start(ctx, name, kind)
	}
	if flags, err := strconv.ParseUint(parts[3], 16, 8); err != nil || flags&1 == 0 {
		return context.WithValue(ctx, exporterKey{}, (*Exporter)(nil)), nil
	}
	return Start(context.WithValue(ctx, spanKey{}, &Span{trace: parts[1], id: parts[2]}), name, kind)
}

// isID reports whether s is a number of n lower-case hexadecimal digits that are not all zero.
func isID(s string, n int) bool {
	return len(s) == n && strings.Trim(s, "0123456789abcdef") == "" && strings.Trim(s, "0") != ""
}

func random(n int) string {
	b := make([]byte, n)
	if _, err := rand.Read(b); err != nil {
		panic(err) // never happens: crypto/rand.Read does not fail
	}
	return hex.EncodeToString(b)
}

// Set notes a text, a whole number or a truth value.
func (s *Span) Set(name string, v any) {
	if s != nil {
		s.attributes = append(s.attributes, attribute(name, v))
	}
}

// Rename gives the span another name.
func (s *Span) Rename(name string) {
	if s != nil {
		s.name = name
	}
}

// Fail marks what the span stands for as failed.
func (s *Span) Fail() {
	if s != nil {
		s.failed = true
	}
}

// End ends the span; failed says that err is not nil.
func (s *Span) End(err error) {
	if s == nil {
		return
	}
	if s.end.IsZero() {
		s.end = time.Now()
	}
	s.failed = s.failed || err != nil
	select {
	case s.e.queue <- s:
	default: // the collector is slower than the service
	}
}

func attribute(name string, v any) otlp.Attr {
	switch v := v.(type) {
	case bool:
		return otlp.Attr{Key: name, Value: otlp.Bool(v)}
	case int:
		return otlp.Attr{Key: name, Value: otlp.Int(int64(v))}
	}
	return otlp.Attr{Key: name, Value: otlp.Text(fmt.Sprint(v))}
}

// json is the span in the form of the protocol.
func (s *Span) json() map[string]any {
	out := map[string]any{"traceId": s.trace, "spanId": s.id, "name": s.name, "kind": s.kind,
		"startTimeUnixNano": strconv.FormatInt(s.start.UnixNano(), 10),
		"endTimeUnixNano":   strconv.FormatInt(s.end.UnixNano(), 10)}
	if s.parent != "" {
		out["parentSpanId"] = s.parent
	}
	if s.attributes != nil {
		out["attributes"] = s.attributes
	}
	if s.failed {
		out["status"] = map[string]any{"code": 2}
	}
	return out
}

// run sends batches until the exporter is closed.
func (e *Exporter) run() {
	defer close(e.done)
	tick := time.NewTicker(every)
	defer tick.Stop()
	var list []any
	for {
		select {
		case <-e.stop:
			for len(e.queue) > 0 {
				list = append(list, (<-e.queue).json())
			}
			e.send(list)
			return
		case s := <-e.queue:
			if list = append(list, s.json()); len(list) < batch {
				continue
			}
		case <-tick.C:
		}
		e.send(list)
		list = list[:0]
	}
}

// send posts spans. Those that the collector does not take are lost.
func (e *Exporter) send(list []any) {
	if len(list) == 0 {
		return
	}
	body, err := json.Marshal(map[string]any{"resourceSpans": []any{map[string]any{"resource": e.head,
		"scopeSpans": []any{map[string]any{"scope": e.scope, "spans": list}}}}})
	if err == nil {
		if _, failed := otlp.Post(context.Background(), e.http, e.to.URL, e.to.Headers, body); failed != nil {
			err = failed
		}
	}
	if err != nil && time.Since(e.told) > time.Minute {
		e.told = time.Now()
		e.log.Warn("send spans", "error", err)
	}
}
