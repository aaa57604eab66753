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
	"unicode/utf8"
)

// The forms of OTLP/JSON (OpenTelemetry Protocol 1.x, opentelemetry/proto/logs/v1). 64-bit numbers are strings there.
type (
	otlpValue struct {
		String *string  `json:"stringValue,omitempty"`
		Bool   *bool    `json:"boolValue,omitempty"`
		Int    *string  `json:"intValue,omitempty"`
		Double *float64 `json:"doubleValue,omitempty"`
	}
	otlpAttr struct {
		Key   string    `json:"key"`
		Value otlpValue `json:"value"`
	}
	otlpRecord struct {
		Time     string     `json:"timeUnixNano"`
		Observed string     `json:"observedTimeUnixNano"`
		Severity int        `json:"severityNumber"`
		Text     string     `json:"severityText"`
		Body     otlpValue  `json:"body"`
		Attrs    []otlpAttr `json:"attributes,omitempty"`
	}
)

// otlpText bounds a text of a record, in bytes.
const otlpText = 16 << 10

// otlpHandler turns log records into those of OTLP.
type otlpHandler struct {
	to    *OTLPLog
	level slog.Leveler
	attrs []otlpAttr
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
		Body: otlpString(r.Message), Attrs: slices.Clone(h.attrs)}
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
func appendAttr(to []otlpAttr, group string, a slog.Attr) []otlpAttr {
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
	return append(to, otlpAttr{Key: group + a.Key, Value: otlpOf(v)})
}

func otlpOf(v slog.Value) otlpValue {
	switch v.Kind() {
	case slog.KindBool:
		b := v.Bool()
		return otlpValue{Bool: &b}
	case slog.KindInt64:
		s := strconv.FormatInt(v.Int64(), 10)
		return otlpValue{Int: &s}
	case slog.KindUint64:
		if n := v.Uint64(); n <= math.MaxInt64 {
			s := strconv.FormatUint(n, 10)
			return otlpValue{Int: &s}
		}
	case slog.KindFloat64:
		if f := v.Float64(); !math.IsNaN(f) && !math.IsInf(f, 0) { // JSON has no form for those
			return otlpValue{Double: &f}
		}
	case slog.KindTime:
		return otlpString(v.Time().UTC().Format(time.RFC3339Nano))
	}
	return otlpString(v.String())
}

// otlpString is a text, cut where it is too long.
func otlpString(s string) otlpValue {
	if len(s) > otlpText {
		n := otlpText
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n]
	}
	return otlpValue{String: &s}
}

// otlpSeverity is the severity number of a level (OpenTelemetry, Logs Data Model: 1 TRACE, 5 DEBUG, 9 INFO, 13 WARN,
// 17 ERROR). The levels of slog are four apart, too, with INFO at zero.
func otlpSeverity(level slog.Level) int { return min(max(int(level)+9, 1), 24) }
