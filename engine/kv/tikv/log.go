package tikv

import (
	"context"
	"log/slog"
	"sync"

	"github.com/pingcap/log"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// bridged makes sure that the client's log is taken over once a process; the client knows only one.
var bridged sync.Once

// bridge sends what the client writes to its log to to, from warnings on: what it does all day is of no interest.
func bridge(to *slog.Logger) {
	bridged.Do(func() {
		core := logCore{to: to.Handler()}
		log.ReplaceGlobals(zap.New(core), &log.ZapProperties{Core: core, Level: zap.NewAtomicLevelAt(zap.WarnLevel)})
	})
}

// logCore implements zapcore.Core on a slog.Handler.
type logCore struct{ to slog.Handler }

// level is the slog level of what the client says. Its errors are warnings here: each of them is also an answer to
// somebody, who knows how bad it is.
func level(l zapcore.Level) slog.Level {
	if l >= zapcore.DPanicLevel {
		return slog.LevelError
	}
	return slog.LevelWarn
}

// Enabled implements zapcore.LevelEnabler.
func (c logCore) Enabled(l zapcore.Level) bool {
	return l >= zapcore.WarnLevel && c.to.Enabled(context.Background(), level(l))
}

// With implements zapcore.Core.
func (c logCore) With(fields []zapcore.Field) zapcore.Core {
	return logCore{c.to.WithAttrs(attrs(fields))}
}

// Check implements zapcore.Core.
func (c logCore) Check(e zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) && !idle[e.Message] {
		return checked.AddCore(e, c)
	}
	return checked
}

// idle are messages that the client logs all day under load, and that need no action.
var idle = map[string]bool{"get timestamp too slow": true}

// Write implements zapcore.Core.
func (c logCore) Write(e zapcore.Entry, fields []zapcore.Field) error {
	r := slog.NewRecord(e.Time, level(e.Level), "tikv client: "+e.Message, 0)
	r.AddAttrs(attrs(fields)...)
	return c.to.Handle(context.Background(), r)
}

// Sync implements zapcore.Core.
func (c logCore) Sync() error { return nil }

func attrs(fields []zapcore.Field) []slog.Attr {
	enc := zapcore.NewMapObjectEncoder()
	for i := range fields {
		fields[i].AddTo(enc)
	}
	out := make([]slog.Attr, 0, len(enc.Fields))
	for i := range fields {
		if v, ok := enc.Fields[fields[i].Key]; ok {
			out = append(out, slog.Any(fields[i].Key, v))
		}
	}
	return out
}
