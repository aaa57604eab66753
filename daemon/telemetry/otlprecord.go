package telemetry

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/nacredb/nacre/internal/otlp"
)

// otlpRecord is a LogRecord (OpenTelemetry Protocol 1.x, opentelemetry/proto/logs/v1).
type otlpRecord struct {
	Time     string      `json:"timeUnixNano"`
	Observed string      `json:"observedTimeUnixNano"`
	Severity int         `json:"severityNumber"`
	Text     string      `json:"severityText"`
	Body     otlp.Value  `json:"body"`
	Attrs    []otlp.Attr `json:"attributes,omitempty"`
}

// otlpHandler turns log records into those of OTLP.
type otlpHandler struct {
	to    *OTLPLog
	level slog.Leveler
	attrs []otlp.Attr
	group string // prefix of names, with its dot
}

// Enabled implements slog.Handler.
func (h *otlpHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= h.level.Level()
}

// Handle implements slog.Handler.
func (h *otlpHandler) Handle(_ context.Context, r slog.Record) error {
	at := r.Time
	if at.IsZero() {
		at = time.Now()
	}
	nanos := strconv.FormatInt(at.UnixNano(), 10)
	out := otlpRecord{Time: nanos, Observed: nanos, Severity: otlpSeverity(r.Level), Text: r.Level.String(),
		Body: otlp.Text(r.Message), Attrs: slices.Clone(h.attrs)}
	r.Attrs(func(a slog.Attr) bool {
		out.Attrs = appendAttr(out.Attrs, h.group, a)
		return true
	})
	b, err := json.Marshal(out)
	if err != nil {
		return fmt.Errorf("write a log record: %w", err)
	}
	return h.to.add(b)
}

// WithAttrs implements slog.Handler.
func (h *otlpHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *h
	with.attrs = slices.Clone(h.attrs)
	for _, a := range attrs {
		with.attrs = appendAttr(with.attrs, h.group, a)
	}
	return &with
}

// WithGroup implements slog.Handler.
func (h *otlpHandler) WithGroup(name string) slog.Handler {
	with := *h
	if name != "" {
		with.group += name + "."
	}
	return &with
}

// appendAttr appends an attribute under its full name, and those of a group one by one. Secrets are masked.
func appendAttr(to []otlp.Attr, group string, a slog.Attr) []otlp.Attr {
	a = mask(nil, a)
	v := a.Value.Resolve()
	if v.Kind() == slog.KindGroup {
		if a.Key != "" {
			group += a.Key + "."
		}
		for _, inner := range v.Group() {
			to = appendAttr(to, group, inner)
		}
		return to
	}
	if a.Key == "" {
		return to
	}
	return append(to, otlp.Attr{Key: group + a.Key, Value: otlpOf(v)})
}

// otlpOf is the value of an attribute; one without a form of its own is a text.
func otlpOf(v slog.Value) otlp.Value {
	switch v.Kind() {
	case slog.KindBool:
		return otlp.Bool(v.Bool())
	case slog.KindInt64:
		return otlp.Int(v.Int64())
	case slog.KindUint64:
		if n := v.Uint64(); n <= math.MaxInt64 {
			return otlp.Int(int64(n))
		}
	case slog.KindFloat64:
		if f := v.Float64(); !math.IsNaN(f) && !math.IsInf(f, 0) {
			return otlp.Double(f)
		}
	case slog.KindTime:
		return otlp.Text(v.Time().UTC().Format(time.RFC3339Nano))
	}
	return otlp.Text(v.String())
}

// otlpSeverity is the severity number of a level (OpenTelemetry, Logs Data Model: 1 TRACE, 5 DEBUG, 9 INFO, 13 WARN,
// 17 ERROR). The levels of slog are four apart, too, with INFO at zero.
func otlpSeverity(level slog.Level) int { return min(max(int(level)+9, 1), 24) }
