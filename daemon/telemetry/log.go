package telemetry

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// Levels of --log beyond slog's own.
const (
	LevelTrace = slog.LevelDebug - 4
	LevelNone  = slog.LevelError + 100
)

// ParseLevel reads none, full, error, warn, info, debug or trace.
func ParseLevel(name string) (slog.Level, error) {
	switch strings.ToLower(name) {
	case "none":
		return LevelNone, nil
	case "error":
		return slog.LevelError, nil
	case "warn":
		return slog.LevelWarn, nil
	case "info":
		return slog.LevelInfo, nil
	case "debug":
		return slog.LevelDebug, nil
	case "trace", "full":
		return LevelTrace, nil
	}
	return 0, fmt.Errorf("unknown log level %q (none, full, error, warn, info, debug, trace)", name)
}

// NewLogger writes to w as text or, where json is set, as one JSON object a line.
func NewLogger(w io.Writer, level slog.Leveler, json bool) *slog.Logger {
	opt := &slog.HandlerOptions{Level: level, ReplaceAttr: mask}
	if json {
		return slog.New(slog.NewJSONHandler(w, opt))
	}
	return slog.New(slog.NewTextHandler(w, opt))
}

// mask hides attributes that are named like secrets, in every log line.
func mask(_ []string, a slog.Attr) slog.Attr {
	switch strings.ToLower(a.Key) {
	case "pass", "password", "token", "authorization", "secret", "key", "jwt":
		return slog.String(a.Key, "***")
	}
	return a
}
