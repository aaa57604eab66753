package cli

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nacredb/nacre/daemon/config"
	"github.com/nacredb/nacre/daemon/telemetry"
)

func TestOptionalFlagValues(t *testing.T) {
	table := config.Table(config.Default())
	for in, want := range map[string]string{
		"start --allow-experimental files memory":   "start --allow-experimental=files memory",
		"start --allow-net memory":                  "start --allow-net memory",
		"start --allow-net 10.0.0.0/8 bolt://x":     "start --allow-net=10.0.0.0/8 bolt://x",
		"start --deny-funcs --user root memory":     "start --deny-funcs --user root memory",
		"start --allow-all memory":                  "start --allow-all memory",
		"start --unauthenticated data.db":           "start --unauthenticated data.db",
		"start --allow-http=sql memory":             "start --allow-http=sql memory",
		"start -- --allow-net x":                    "start -- --allow-net x",
		"start --allow-rpc":                         "start --allow-rpc",
		"start --allow-arbitrary-query system mem:": "start --allow-arbitrary-query=system mem:",
	} {
		if got := strings.Join(joinOptional(table, strings.Fields(in)), " "); got != want {
			t.Errorf("%s: got %s", in, got)
		}
	}
}

func start(t *testing.T, environ []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	s := &streams{in: strings.NewReader(""), out: &out, err: &errs, environ: environ, build: Build{}.fill()}
	code = run(t.Context(), s, append([]string{"nacre"}, args...))
	return code, out.String(), errs.String()
}

func TestPrintConfig(t *testing.T) {
	code, out, _ := start(t, []string{"SURREAL_LOG=debug", "SERVICE_PASS=hunter2"}, "start", "--print-config",
		"--username", "ada", "bolt://x")
	if code != exitOK {
		t.Fatalf("exit code %d", code)
	}
	lines := strings.Split(out, "\n")
	for _, want := range [][]string{{"log", "debug", "(SURREAL_LOG)"}, {"pass", "********", "(SERVICE_PASS)"},
		{"user", "ada", "(flag)"},
		{"path", "bolt://x", "(argument)"}, {"bind", "127.0.0.1:8000", "(default)"}} {
		if !slices.ContainsFunc(lines, func(l string) bool { return slices.Equal(strings.Fields(l), want) }) {
			t.Errorf("%v is missing in\n%s", want, out)
		}
	}
	if strings.Contains(out, "hunter2") {
		t.Error("the password is shown")
	}
	_, _, words := start(t, []string{"NACRE_BNID=x"}, "start", "--print-config", "--graph-fold-interval", "5s")
	if !strings.Contains(words, "NACRE_BNID") || !strings.Contains(words, "--graph-fold-interval has no effect") {
		t.Errorf("warnings are missing: %q", words)
	}
}

func TestUsageErrorsExitWith2(t *testing.T) {
	for _, args := range [][]string{{"start", "--nope"}, {"start", "a", "b"}, {"start", "--query-timeout", "soon"},
		{"start", "--log", "loud"}} {
		code, out, errs := start(t, nil, args...)
		if code != exitUsage || out != "" || strings.Count(errs, "nacre:") != 1 {
			t.Errorf("%v: exit code %d, %q", args, code, errs)
		}
	}
}

func TestHelpShowsNoSecrets(t *testing.T) {
	if _, out, _ := start(t, []string{"SERVICE_PASS=hunter2"}, "start", "--help"); strings.Contains(out, "hunter2") ||
		!strings.Contains(out, "--bind") {
		t.Error(out)
	}
}

// SIGHUP reads the log level again: from the file, unless a variable or the flag says otherwise.
func TestLevelNow(t *testing.T) {
	file := filepath.Join(t.TempDir(), "nacre.toml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	never := func(string) bool { return false }
	for _, tc := range []struct {
		name, text string
		environ    []string
		flagged    func(string) bool
		want       slog.Level
	}{
		{"the file", `log = "debug"`, nil, never, slog.LevelDebug},
		{"the file without a level", `bind = "127.0.0.1:1"`, nil, never, slog.LevelInfo},
		{"a variable", `log = "debug"`, []string{"NACRE_LOG=warn"}, never, slog.LevelWarn},
		{"the flag", `log = "debug"`, []string{"NACRE_LOG=warn"}, func(f string) bool { return f == "log" },
			slog.LevelError},
	} {
		write(tc.text)
		cfg := config.Default()
		cfg.File, cfg.LogLevel = file, "error" // as it was at the start
		got, err := levelNow(&streams{environ: tc.environ}, cfg, tc.flagged)
		if err != nil || got != tc.want {
			t.Errorf("%s: %v %v", tc.name, got, err)
		}
	}
	cfg := config.Default()
	cfg.File = file
	for _, text := range []string{`log = "loud"`, `colour = "red"`, `log =`} {
		write(text)
		if _, err := levelNow(&streams{}, cfg, never); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
	var out bytes.Buffer
	level := new(slog.LevelVar)
	log := telemetry.NewLogger(&out, level, false)
	relevel(log, level, func() (slog.Level, error) { return slog.LevelDebug, nil })
	log.Debug("now shown")
	relevel(log, level, func() (slog.Level, error) { return 0, errors.New("no file") })
	if got := out.String(); level.Level() != slog.LevelDebug || !strings.Contains(got, "log level changed") ||
		!strings.Contains(got, "now shown") || !strings.Contains(got, "the old log level stays") {
		t.Errorf("%v %s", level.Level(), got)
	}
}
