package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Rotation is when a log file ends and a new one begins.
type Rotation uint8

// The rotations. Hours and days are those of UTC.
const (
	Never Rotation = iota
	Hourly
	Daily
)

// ParseRotation reads never, hourly or daily.
func ParseRotation(name string) (Rotation, error) {
	switch strings.ToLower(name) {
	case "never":
		return Never, nil
	case "hourly":
		return Hourly, nil
	case "daily":
		return Daily, nil
	}
	return 0, fmt.Errorf("unknown rotation %q (daily, hourly, never)", name)
}

// period is the name of the time that t lies in; "" where files never end.
func (r Rotation) period(t time.Time) string {
	switch r {
	case Hourly:
		return t.UTC().Format("2006-01-02T15")
	case Daily:
		return t.UTC().Format("2006-01-02")
	}
	return ""
}

// LogFile is a file that is appended to. When its time is over it is renamed to NAME.PERIOD and a new one begins. It is
// safe for concurrent use.
type LogFile struct {
	path     string
	rotation Rotation
	now      func() time.Time

	mu     sync.Mutex // guards what follows
	file   *os.File
	period string
}

// OpenLogFile opens dir/name, readable by its owner alone, and makes the directory when it is absent. A file that an
// earlier process left is appended to, or ended when its time is over.
func OpenLogFile(dir, name string, rotation Rotation) (*LogFile, error) {
	return openLogFile(dir, name, rotation, time.Now)
}

func openLogFile(dir, name string, rotation Rotation, now func() time.Time) (*LogFile, error) {
	if name == "" || filepath.Base(name) != name {
		return nil, fmt.Errorf("the log file needs a name without directory, not %q", name)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of the log file: %w", err)
	}
	l := &LogFile{path: filepath.Join(dir, name), rotation: rotation, now: now}
	l.period = rotation.period(now())
	if info, err := os.Stat(l.path); err == nil {
		l.period = rotation.period(info.ModTime())
	}
	if err := l.open(); err != nil {
		return nil, err
	}
	return l, nil
}

func (l *LogFile) open() error {
	f, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the log file: %w", err)
	}
	l.file = f
	return nil
}

// Write implements io.Writer.
func (l *LogFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return 0, os.ErrClosed
	}
	if next := l.rotation.period(l.now()); next != l.period {
		if err := l.rotate(next); err != nil {
			return 0, err
		}
	}
	return l.file.Write(p)
}

// rotate ends the file. Where it cannot be renamed, it goes on: a log that is too long is better than none.
func (l *LogFile) rotate(next string) error {
	old := l.path + "." + l.period
	l.period = next
	if _, err := os.Lstat(old); err == nil {
		return nil
	}
	if err := os.Rename(l.path, old); err != nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return errors.Join(err, l.open())
}

// Close closes the file. Lines after it are lost.
func (l *LogFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}

// Tee is a logger to all of logs, each by its own level.
func Tee(logs ...*slog.Logger) *slog.Logger {
	t := make(tee, len(logs))
	for i, l := range logs {
		t[i] = l.Handler()
	}
	return slog.New(t)
}

type tee []slog.Handler

// Enabled implements slog.Handler.
func (t tee) Enabled(ctx context.Context, level slog.Level) bool {
	return slices.ContainsFunc(t, func(h slog.Handler) bool { return h.Enabled(ctx, level) })
}

// Handle implements slog.Handler.
func (t tee) Handle(ctx context.Context, r slog.Record) error {
	var errs []error
	for _, h := range t {
		if h.Enabled(ctx, r.Level) {
			errs = append(errs, h.Handle(ctx, r.Clone()))
		}
	}
	return errors.Join(errs...)
}

// WithAttrs implements slog.Handler.
func (t tee) WithAttrs(attrs []slog.Attr) slog.Handler {
	return t.each(func(h slog.Handler) slog.Handler { return h.WithAttrs(attrs) })
}

// WithGroup implements slog.Handler.
func (t tee) WithGroup(name string) slog.Handler {
	return t.each(func(h slog.Handler) slog.Handler { return h.WithGroup(name) })
}

func (t tee) each(f func(slog.Handler) slog.Handler) tee {
	out := make(tee, len(t))
	for i, h := range t {
		out[i] = f(h)
	}
	return out
}
