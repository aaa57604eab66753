package top

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/hinshun/vt10x"

	"github.com/nacredb/nacre/cli/process"
)

var update = flag.Bool("update", false, "rewrite the screens of testdata")

// played is a server that answers a fixed number of readings, and then does not answer until the program ends.
type played struct {
	mu     sync.Mutex // guards what follows
	reads  int
	until  int // readings that are answered
	fails  int // the reading that fails; 0: none
	killed []string
}

// counter is a counter after n readings: it grows a little more each time.
func counter(n int, step float64) float64 { return step * float64(n*(n+1)) / 2 }

func (s *played) Read(ctx context.Context) (string, *process.List, error) {
	s.mu.Lock()
	n := s.reads
	s.reads++
	blocked, fails := n >= s.until, n > 0 && n == s.fails
	s.mu.Unlock()
	if blocked {
		<-ctx.Done()
		return "", nil, ctx.Err()
	}
	if fails {
		return "", nil, errors.New("server is not reachable:\x1b[2J gone")
	}
	var m strings.Builder
	for name, v := range map[string]float64{
		"surrealdb_process_uptime_seconds":                        3723 + float64(n),
		"surrealdb_process_memory_bytes":                          64<<20 + float64(n<<20),
		`surrealdb_rpc_total{method="query",status="ok"}`:         counter(n, 40),
		`surrealdb_rpc_total{method="ping",status="ok"}`:          counter(n, 1),
		`surrealdb_http_request_total{route="sql",status="200"}`:  counter(n, 3),
		`surrealdb_statement_total{status="ok"}`:                  counter(n, 50),
		`surrealdb_statement_total{status="error"}`:               counter(n, 1),
		`nacre_statement_verb_total{verb="select"}`:               counter(n, 45),
		`nacre_statement_verb_total{verb="create"}`:               counter(n, 6),
		`surrealdb_statement_duration_seconds_bucket{le="0.001"}`: counter(n, 40),
		`surrealdb_statement_duration_seconds_bucket{le="0.01"}`:  counter(n, 50),
		`surrealdb_statement_duration_seconds_bucket{le="+Inf"}`:  counter(n, 51),
		`surrealdb_transaction_total{status="committed"}`:         counter(n, 50),
		"surrealdb_transaction_conflicts_total":                   float64(n / 2),
		"surrealdb_session_active":                                3, "surrealdb_live_query_active": 1,
		"nacre_txn_open": 2, "nacre_txn_oldest_seconds": 61.3,
		"nacre_query_memory_bytes": 84 << 10, "nacre_query_memory_limit_bytes": 512 << 20,
		"surrealdb_process_cpu_percent": 37,
		"nacre_kv_file_bytes":           5 << 30, "nacre_kv_overlay_bytes": 3 << 20, "nacre_kv_checkpoints_total": 12,
		"nacre_kv_fsync_duration_seconds_sum": float64(n) * 0.002, "nacre_kv_fsync_duration_seconds_count": float64(n),
	} {
		fmt.Fprintf(&m, "# HELP x y\n%s %v\n", name, v)
	}
	return m.String(), &process.List{
		Statements: []process.Row{
			{ID: "42", Kind: "query", User: "root", Namespace: "main", Database: "shop", Client: "10.0.0.7",
				Seconds: 61.3, Rows: 1200, Memory: 9 << 20, Text: "SELECT * FROM order WHERE note = …\nFETCH customer, items.product, items.product.supplier"},
			{ID: "57", Kind: "query", Level: "record", Namespace: "main", Database: "日本語", Client: "10.0.0.9",
				Seconds: 0.012, Text: "UPDATE 人 SET \x1b[31mname = …"},
		},
		Sessions: []process.Row{{ID: "01a1ff8e-6163-7761-a50f-13f3db900459", User: "root", Client: "10.0.0.7",
			Seconds: 3600, Statements: 1, Live: 2}},
		Slowest: []process.Row{{Spent: 12.5, Seconds: 30, Namespace: "main", Database: "shop", Failed: true,
			Text: "SELECT count() FROM order GROUP ALL"}},
	}, nil
}

func (s *played) Kill(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.killed = append(s.killed, id)
	return nil
}

// clock ticks a second a reading.
func clock() func() time.Time {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return func() time.Time { at = at.Add(time.Second); return at }
}

// show is the dashboard in a terminal emulator.
type show struct {
	t    *testing.T
	term vt10x.Terminal
	p    *tea.Program
	keys *io.PipeWriter
	done chan error
}

func start(t *testing.T, src Source, w, h int) *show {
	t.Helper()
	r, keys := io.Pipe()
	s := &show{t: t, term: vt10x.New(vt10x.WithSize(w, h)), keys: keys, done: make(chan error, 1)}
	ctx, stop := context.WithCancel(t.Context())
	m := newModel(ctx, Options{Source: src, Name: "prod ws://db:8000", Every: time.Millisecond, Colour: true,
		Now: clock()})
	s.p = tea.NewProgram(m, tea.WithContext(ctx), tea.WithAltScreen(), tea.WithMouseCellMotion(), tea.WithInput(r),
		tea.WithOutput(s.term), tea.WithoutSignals())
	go func() { _, err := s.p.Run(); s.done <- err }()
	s.p.Send(tea.WindowSizeMsg{Width: w, Height: h})
	t.Cleanup(func() {
		stop()
		_ = keys.Close()
		<-s.done
	})
	return s
}

func (s *show) screen() string {
	lines := strings.Split(s.term.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}

// until waits for a screen that ok accepts.
func (s *show) until(what string, ok func(string) bool) {
	s.t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(s.screen()); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("%s does not come; the screen is\n%s", what, s.screen())
		}
	}
}

func (s *show) shows(text string) {
	s.t.Helper()
	s.until(text, func(screen string) bool { return strings.Contains(screen, text) })
}

func (s *show) press(keys string) {
	s.t.Helper()
	if _, err := io.WriteString(s.keys, keys); err != nil {
		s.t.Fatal(err)
	}
}

// golden compares the screen with a file.
func (s *show) golden(name string) {
	s.t.Helper()
	file := filepath.Join("testdata", name+".txt")
	want, err := os.ReadFile(file)
	if !*update {
		if err != nil {
			s.t.Fatal(err)
		}
		s.until("the screen "+name, func(screen string) bool { return screen == string(want) })
		return
	}
	for last := ""; last != s.screen(); time.Sleep(200 * time.Millisecond) {
		last = s.screen()
	}
	if err := os.WriteFile(file, []byte(s.screen()), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// TestScreens compares every page with its picture, in the sizes that most terminals have.
func TestScreens(t *testing.T) {
	for _, size := range []struct{ w, h int }{{80, 24}, {120, 40}} {
		t.Run(fmt.Sprintf("%dx%d", size.w, size.h), func(t *testing.T) {
			s := start(t, &played{until: 9}, size.w, size.h)
			s.shows("03:04:14") // the last reading
			for i, name := range []string{"overview", "running", "sessions", "transactions", "live", "slowest"} {
				s.press(fmt.Sprint(i + 1))
				s.golden(fmt.Sprintf("%s-%dx%d", name, size.w, size.h))
			}
			s.press("?")
			s.golden(fmt.Sprintf("help-%dx%d", size.w, size.h))
		})
	}
}

// A statement is ended after a question only, and the row that is selected is the one that ends.
func TestKill(t *testing.T) {
	src := &played{until: 3}
	s := start(t, src, 80, 24)
	s.shows("03:04:08")
	s.press("2")
	s.press("\x1b[B") // down
	s.press("k")
	s.shows("End the statement 57?")
	s.press("n")
	s.shows("not ended")
	s.press("k")
	s.shows("End the statement 57?")
	s.press("y")
	s.shows("ended 57")
	src.mu.Lock()
	defer src.mu.Unlock()
	if got := strings.Join(src.killed, " "); got != "57" {
		t.Errorf("ended %q, want 57", got)
	}
}

func TestMouseAndResize(t *testing.T) {
	s := start(t, &played{until: 3}, 80, 24)
	s.shows("03:04:08")
	s.press("\x1b[<0;16;2M") // a press on the second tab
	s.shows("MEMORY")
	s.press("\x1b[<0;5;6M") // on the second row
	s.press("k")
	s.shows("End the statement 57?")
	s.press("n")
	s.press("\x1b[<64;5;6M") // the wheel goes up
	s.press("k")
	s.shows("End the statement 42?")
	s.press("n")
	s.term.Resize(30, 8)
	s.p.Send(tea.WindowSizeMsg{Width: 30, Height: 8})
	s.shows("The screen is too small")
	s.term.Resize(120, 40)
	s.p.Send(tea.WindowSizeMsg{Width: 120, Height: 40})
	s.shows("CLIENT")
}

// A server that goes away is told, and what was read stays.
func TestServerAway(t *testing.T) {
	s := start(t, &played{until: 3, fails: 2}, 80, 24)
	s.shows(`No answer, trying again: server is not reachable:\x1b[2J gone`)
	s.shows("Requests/s")
	s.press("q")
	if err := <-s.done; err != nil {
		t.Error(err)
	}
	s.done <- nil
}

// Counters that fell are those of a server that was started again.
func TestRestartIsNoNegativeRate(t *testing.T) {
	at := time.Now()
	old := &reading{at, series{"surrealdb_process_uptime_seconds": 100, "surrealdb_transaction_total": 1000}, nil}
	f := figures(old, &reading{at.Add(time.Second),
		series{"surrealdb_process_uptime_seconds": 1, "surrealdb_transaction_total": 5}, nil})
	if f.Transactions != 5 {
		t.Errorf("got %v transactions a second, want 5", f.Transactions)
	}
}

func TestQuantiles(t *testing.T) {
	now := parseMetrics("h_bucket{le=\"1\"} 50\nh_bucket{le=\"2\"} 90\nh_bucket{le=\"+Inf\"} 100\nbroken\nx NaN\n")
	for share, want := range map[float64]float64{0.25: 0.5, 0.5: 1, 0.7: 1.5, 0.99: 2} {
		if got := now.quantiles(series{}, "h", share); len(got) != 1 || got[0] != want {
			t.Errorf("%v: got %v, want %v", share, got, want)
		}
	}
	if got := now.quantiles(now, "h", 0.5); got != nil {
		t.Errorf("nothing happened: got %v, want none", got)
	}
}

func FuzzMetrics(f *testing.F) {
	f.Add("a{b=\"c\",le=\"0.1\"} 1\na{le=\"+Inf\"} 2\n")
	f.Fuzz(func(t *testing.T, text string) {
		s := parseMetrics(text)
		s.quantiles(series{}, "a", 0.5, 0.99)
		s.label("a", "b")
	})
}
