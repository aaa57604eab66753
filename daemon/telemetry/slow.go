package telemetry

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/nacredb/nacre/engine/parse"
	"github.com/nacredb/nacre/engine/value"
)

// SlowLog writes queries that took longer than a threshold. A nil *SlowLog writes none.
type SlowLog struct {
	Log       *slog.Logger
	Threshold time.Duration // 0: none
	// Shows says whether the value of a parameter may be logged; nil: none.
	Shows func(param string) bool
}

// SlowQuery is one entry.
type SlowQuery struct {
	Text                string
	Spent               time.Duration
	Namespace, Database string
	Vars                *value.Object
}

// Exceeds reports whether a query of d belongs into the log.
func (l *SlowLog) Exceeds(d time.Duration) bool {
	return l != nil && l.Threshold > 0 && d >= l.Threshold
}

// slowText is the longest text of a query in the log, in bytes.
const slowText = 4096

// Record writes the shape of q, without its data, and its parameters through the allow and deny lists.
func (l *SlowLog) Record(ctx context.Context, q SlowQuery) {
	attrs := []slog.Attr{
		slog.String("component", "query"),
		slog.Duration("spent", q.Spent),
		slog.String("ns", q.Namespace),
		slog.String("db", q.Database),
		slog.String("text", parse.Shape(clip(q.Text))),
	}
	if q.Vars != nil {
		for _, f := range q.Vars.Fields() {
			if l.Shows != nil && l.Shows(f.Name) {
				attrs = append(attrs, slog.String("$"+f.Name, clip(f.Value.String())))
			}
		}
	}
	l.Log.LogAttrs(ctx, slog.LevelWarn, "slow query", attrs...)
}

func clip(s string) string {
	if len(s) > slowText {
		return strings.ToValidUTF8(s[:slowText], "") + "…"
	}
	return s
}
