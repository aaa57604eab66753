// Package span tells a collector of traces what the service spends its time on, by OTLP over HTTP with JSON
// (OpenTelemetry Protocol Specification 1.x). A span holds names, times and numbers, and nothing of memories,
// questions or keys. Without an exporter in the context every call here does nothing.
package span

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
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

// Exporter sends spans to a collector. Make one with New, end it with Close.
type Exporter struct {
	address string
	head    map[string]any // the resource
	log     *slog.Logger
	http    *http.Client
	queue   chan *Span
	stop    chan struct{} // closed by Close
	done    chan struct{} // closed when everything was sent
	told    time.Time     // when a failure was last logged; of the sender alone
}

// New makes an exporter to a collector at an address, and starts it. /v1/traces is added to an address that does not
// end with it.
func New(address, version string, log *slog.Logger) *Exporter {
	if address = strings.TrimSuffix(address, "/"); !strings.HasSuffix(address, "/v1/traces") {
		address += "/v1/traces"
	}
	e := &Exporter{address: address, log: log, http: otlp.NewClient(sendTime),
		head: map[string]any{"attributes": []otlp.Attr{attribute("service.name", "memsvc"),
			attribute("service.version", version)}},
		queue: make(chan *Span, waiting), stop: make(chan struct{}), done: make(chan struct{})}
	go e.run()
	return e
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
	e, _ := ctx.Value(exporterKey{}).(*Exporter)
	if e == nil {
		return ctx, nil
	}
	s := &Span{e: e, name: name, kind: kind, start: time.Now(), id: random(8)}
	if above, ok := ctx.Value(spanKey{}).(*Span); ok {
		s.trace, s.parent = above.trace, above.id
	} else {
		s.trace = random(16)
	}
	return context.WithValue(ctx, spanKey{}, s), s
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
	s.end, s.failed = time.Now(), s.failed || err != nil
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
		"scopeSpans": []any{map[string]any{"scope": map[string]any{"name": "memsvc"}, "spans": list}}}}})
	if err == nil {
		if _, failed := otlp.Post(context.Background(), e.http, e.address, nil, body); failed != nil {
			err = failed
		}
	}
	if err != nil && time.Since(e.told) > time.Minute {
		e.told = time.Now()
		e.log.Warn("send spans", "error", err)
	}
}
