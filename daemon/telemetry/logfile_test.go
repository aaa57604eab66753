package telemetry

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestLogFileEndsWithItsTime(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs")
	now := time.Date(2026, 3, 1, 23, 59, 0, 0, time.UTC)
	l, err := openLogFile(dir, "nacre.log", Daily, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	write := func(line string) {
		t.Helper()
		if _, err := l.Write([]byte(line + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	write("a")
	now = now.Add(2 * time.Minute)
	write("b")
	now = now.Add(time.Hour)
	write("c")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Write([]byte("d")); err == nil {
		t.Error("a closed file takes lines")
	}
	for name, want := range map[string]string{"nacre.log.2026-03-01": "a\n", "nacre.log": "b\nc\n"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || string(b) != want {
			t.Errorf("%s: %q %v", name, b, err)
		}
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, info.Mode(), err)
		}
	}
}

// A file of yesterday is ended by the first line of today; one that is there already under that name is not
// overwritten.
func TestLogFileOfAnEarlierProcess(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	if err := os.WriteFile(path, []byte("old\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	then := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	if err := os.Chtimes(path, then, then); err != nil {
		t.Fatal(err)
	}
	for i, now := range []time.Time{then.Add(time.Hour), then.Add(24 * time.Hour)} {
		l, err := openLogFile(dir, "x", Daily, func() time.Time { return now })
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Write([]byte("line\n")); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, now, now); err != nil {
			t.Fatal(err)
		}
		want := []string{"old\nline\n", "line\n"}[i]
		if b, err := os.ReadFile(path); err != nil || string(b) != want {
			t.Errorf("%d: %q %v", i, b, err)
		}
	}
	for _, name := range []string{"", "a/b", ".."} {
		if l, err := OpenLogFile(dir, name, Never); err == nil {
			t.Errorf("%q: a log file %v", name, l.path)
		}
	}
}

func TestTeeKeepsLevelsApart(t *testing.T) {
	var a, b bytes.Buffer
	log := Tee(NewLogger(&a, slog.LevelWarn, false), NewLogger(&b, slog.LevelDebug, true)).With("component",
		"x").WithGroup("g")
	log.Info("quiet", "pass", "hidden")
	log.Warn("loud")
	if got := a.String(); strings.Contains(got, "quiet") || !strings.Contains(got, "loud") ||
		!strings.Contains(got, "component=x") {
		t.Errorf("got %s", got)
	}
	if got := b.String(); strings.Count(got, "\n") != 2 || strings.Contains(got, "hidden") {
		t.Errorf("got %s", got)
	}
}
