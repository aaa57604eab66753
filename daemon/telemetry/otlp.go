package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nacredb/nacre/internal/otlp"
)

// Bounds of what goes to a collector.
const (
	otlpQueue   = 8192             // records that wait
	otlpBytes   = 8 << 20          // and their size together
	otlpBatch   = 512              // records of one request
	otlpPatient = time.Second      // that the first record of a batch waits for others
	otlpRequest = 10 * time.Second // that one request may take
	otlpPause   = time.Second      // before the second attempt; the pauses double
	otlpRest    = 30 * time.Second // at most
	otlpFlush   = 2 * time.Second  // that Close waits for what is left
)

// OTLP is where a signal goes by OTLP over HTTP, in JSON.
type OTLP struct {
	URL        string            // of the signal, such as http://localhost:4318/v1/logs
	Headers    map[string]string // of each request; they may hold secrets
	Attributes map[string]string // of the resource: service.name and others
}

// Signals, as paths and variables name them.
const (
	Logs   = "logs"
	Traces = "traces"
)

// OTLPFromEnv reads the variables of OpenTelemetry for a signal (OpenTelemetry Protocol Exporter, configuration
// options). endpoint wins over their addresses and that of a collector on this machine; it is a base, to which the path
// of the signal is added. Errors: a value that cannot be used. They do not show one that may be secret.
func OTLPFromEnv(environ []string, endpoint, signal string) (OTLP, error) {
	prefix := "OTEL_EXPORTER_OTLP_" + strings.ToUpper(signal) + "_"
	env := map[string]string{}
	for _, pair := range environ {
		if name, text, ok := strings.Cut(pair, "="); ok && text != "" {
			env[name] = text
		}
	}
	either := func(name string) string {
		if v := env[prefix+name]; v != "" {
			return v
		}
		return env["OTEL_EXPORTER_OTLP_"+name]
	}
	if p := either("PROTOCOL"); strings.EqualFold(p, "grpc") {
		return OTLP{}, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL is %s: %s go over HTTP only, usually to port 4318", p, signal)
	}
	o := OTLP{URL: env[prefix+"ENDPOINT"], Attributes: map[string]string{"service.name": "nacre"}}
	if endpoint != "" || o.URL == "" {
		base := endpoint
		if base == "" {
			base = env["OTEL_EXPORTER_OTLP_ENDPOINT"]
		}
		if base == "" {
			base = "http://localhost:4318"
		}
		o.URL = strings.TrimRight(base, "/") + "/v1/" + signal
	}
	u, err := url.Parse(o.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return OTLP{}, fmt.Errorf("the address of the OTLP collector must be like http://HOST:4318")
	}
	if o.Headers, err = otlpPairs(either("HEADERS")); err != nil {
		return OTLP{}, fmt.Errorf("OTEL_EXPORTER_OTLP_HEADERS: %w", err)
	}
	more, err := otlpPairs(env["OTEL_RESOURCE_ATTRIBUTES"])
	if err != nil {
		return OTLP{}, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	for k, v := range more {
		o.Attributes[k] = v
	}
	if name := env["OTEL_SERVICE_NAME"]; name != "" {
		o.Attributes["service.name"] = name
	}
	return o, nil
}

// otlpPairs reads key=value,key=value with percent escapes in the values, as W3C Baggage has them.
func otlpPairs(text string) (map[string]string, error) {
	out := map[string]string{}
	for i, pair := range strings.Split(text, ",") {
		pair = strings.TrimSpace(pair)
		if pair == "" {
			continue
		}
		k, v, ok := strings.Cut(pair, "=")
		v, err := url.PathUnescape(strings.TrimSpace(v))
		if k = strings.TrimSpace(k); !ok || k == "" || err != nil || strings.ContainsAny(k+v, "\r\n") {
			return nil, fmt.Errorf("pair %d is not of the form name=value", i+1)
		}
		out[k] = v
	}
	return out, nil
}

// OTLPLog sends log records to a collector, in batches. A record waits while the collector is away, and is dropped when
// too many wait. Logging never waits for the collector. It is safe for concurrent use.
type OTLPLog struct {
	to           OTLP
	others       *slog.Logger // where trouble is told; nil for nowhere
	client       *http.Client
	pause        time.Duration
	patience     time.Duration
	before, then []byte // what stands around the records of a request

	mu      sync.Mutex // guards what follows
	records [][]byte
	bytes   int
	lost    int // records that were dropped since the collector last took some
	ended   bool

	wake   chan struct{} // there is a record, or Close was called
	ending chan struct{} // closed by Close
	giveUp func()        // ends what run waits for
	done   chan struct{} // closed when the last record is sent or given up
}

// OpenOTLPLog starts to send. A collector that is not there is no error: others, the rest of the log, are told of it.
func OpenOTLPLog(to OTLP, version string, others *slog.Logger) (*OTLPLog, error) {
	l := &OTLPLog{to: to, others: others, pause: otlpPause, patience: otlpPatient,
		wake: make(chan struct{}, 1), ending: make(chan struct{}), done: make(chan struct{})}
	l.client = otlp.NewClient(otlpRequest)
	if err := l.frame(version); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	l.giveUp = cancel
	go l.run(ctx)
	return l, nil
}

// Logger logs from level on to the collector.
func (l *OTLPLog) Logger(level slog.Leveler) *slog.Logger {
	return slog.New(&otlpHandler{to: l, level: level})
}

// frame makes before and then: the resource and the scope of the records.
func (l *OTLPLog) frame(version string) error {
	var attrs []otlp.Attr
	for k, v := range l.to.Attributes {
		attrs = append(attrs, otlp.Attr{Key: k, Value: otlp.Text(v)})
	}
	slices.SortFunc(attrs, func(a, b otlp.Attr) int { return strings.Compare(a.Key, b.Key) })
	resource, err := json.Marshal(map[string]any{"attributes": attrs})
	if err != nil {
		return fmt.Errorf("write the resource of the log: %w", err)
	}
	scope, err := json.Marshal(map[string]string{"name": "nacre", "version": version})
	if err != nil {
		return fmt.Errorf("write the scope of the log: %w", err)
	}
	l.before = fmt.Appendf(nil, `{"resourceLogs":[{"resource":%s,"scopeLogs":[{"scope":%s,"logRecords":[`,
		resource, scope)
	l.then = []byte("]}]}]}")
	return nil
}

// add takes one record. Errors: os.ErrClosed.
func (l *OTLPLog) add(record []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.ended:
		return os.ErrClosed
	case len(l.records) >= otlpQueue || l.bytes+len(record) > otlpBytes:
		l.lost++
		return nil
	}
	l.records, l.bytes = append(l.records, record), l.bytes+len(record)
	select {
	case l.wake <- struct{}{}:
	default:
	}
	return nil
}

// Close sends what is left, for two seconds at most. Later records are refused.
func (l *OTLPLog) Close() error {
	l.mu.Lock()
	first := !l.ended
	l.ended = true
	l.mu.Unlock()
	if first {
		close(l.ending)
		defer time.AfterFunc(otlpFlush, l.giveUp).Stop()
	}
	<-l.done
	l.giveUp()
	return nil
}

// run sends batches until Close, and what is left then.
func (l *OTLPLog) run(ctx context.Context) {
	defer close(l.done)
	defer l.client.CloseIdleConnections()
	for {
		select {
		case <-l.wake:
			l.gather()
		case <-l.ending:
		}
		for batch := l.next(); len(batch) > 0; batch = l.next() {
			if !l.deliver(ctx, batch) {
				return
			}
		}
		select {
		case <-l.ending:
			return
		default:
		}
	}
}

// gather waits for more records than the first.
func (l *OTLPLog) gather() {
	t := time.NewTimer(l.patience)
	defer t.Stop()
	select {
	case <-t.C:
	case <-l.ending:
	}
}

// next takes out the records of one request; none where none wait.
func (l *OTLPLog) next() [][]byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(len(l.records), otlpBatch)
	batch := l.records[:n:n]
	for _, r := range batch {
		l.bytes -= len(r)
	}
	if l.records = l.records[n:]; len(l.records) == 0 {
		l.records = nil
	}
	return batch
}

// deliver sends a batch until the collector takes or refuses it. false: there is no time left.
func (l *OTLPLog) deliver(ctx context.Context, batch [][]byte) bool {
	body := slices.Concat(l.before, bytes.Join(batch, []byte{','}), l.then)
	for pause, told := l.pause, false; ; pause = min(2*pause, otlpRest) {
		answer, failed := otlp.Post(ctx, l.client, l.to.URL, l.to.Headers, body)
		switch {
		case failed == nil:
			l.partial(answer)
			l.taken(told)
			return ctx.Err() == nil
		case !failed.Again:
			l.tell("the OTLP collector refused log records", "records", len(batch), "err", failed)
			return true
		case !told && ctx.Err() == nil:
			l.tell("the OTLP collector takes no log records", "err", failed)
			told = true
		}
		select {
		case <-time.After(max(pause, min(failed.After, otlpRest))):
		case <-l.ending: // an attempt was made
			return false
		}
	}
}

// taken tells how many records were lost before those that were taken.
func (l *OTLPLog) taken(again bool) {
	l.mu.Lock()
	lost := l.lost
	l.lost = 0
	l.mu.Unlock()
	if again || lost > 0 {
		l.tell("the OTLP collector takes log records again", "lost", lost)
	}
}

// partial tells of records of a batch that the collector did not take.
func (l *OTLPLog) partial(answer []byte) {
	var got struct {
		Partial struct {
			Rejected json.Number `json:"rejectedLogRecords"`
		} `json:"partialSuccess"`
	}
	if json.Unmarshal(answer, &got) != nil { // it may be empty, or protobuf
		return
	}
	if n, err := got.Partial.Rejected.Int64(); err == nil && n > 0 {
		l.tell("the OTLP collector refused log records", "records", n)
	}
}

func (l *OTLPLog) tell(what string, args ...any) {
	if l.others != nil {
		l.others.Warn(what, append([]any{"component", "log"}, args...)...)
	}
}
