package daemon_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/nacredb/nacre/daemon"
	"github.com/nacredb/nacre/daemon/config"
	"github.com/nacredb/nacre/daemon/telemetry"
	"github.com/nacredb/nacre/internal/roundrobin"
)

func TestMain(m *testing.M) {
	if balancing != "" { // the client of a cluster, and the cluster, end with the process
		os.Exit(m.Run())
	}
	goleak.VerifyTestMain(m)
}

// server is a daemon on loopback with a memory store and root:root.
type server struct {
	*daemon.Daemon
	t      testing.TB
	url    string // http://…
	logs   *lockedBuffer
	http   *http.Client
	broken error // what its store suffers from on purpose, and Close tells

	second      *daemon.Daemon       // with NACRE_TEST_BALANCER
	front, wire *roundrobin.Balancer // before both of them
	folder      string               // that both may have buckets in
	buckets     int                  // how many shareBuckets has put there
}

func start(t testing.TB, change ...func(*config.Config)) *server {
	t.Helper()
	cfg := config.Default()
	cfg.Bind, cfg.User, cfg.Pass = "127.0.0.1:0", "root", "root"
	cfg.ShutdownTimeout = 10 * time.Second
	for _, f := range change {
		f(cfg)
	}
	logs := &lockedBuffer{}
	s, err := &server{t: t, logs: logs}, error(nil)
	if balancing != "" && cfg.Path == "memory" {
		s, err = pair(t, cfg, logs)
	} else {
		s.Daemon, err = daemon.Start(t.Context(), cfg, telemetry.NewLogger(logs, slog.LevelDebug, false))
	}
	if err != nil {
		t.Fatal(err)
	}
	s.url = "http://" + s.Addr().String()
	s.http = &http.Client{
		Transport:     &http.Transport{DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	if balancing == "tcp" {
		s.http.Transport.(*http.Transport).MaxIdleConnsPerHost = -1 // each request makes a connection
	}
	t.Cleanup(func() {
		s.http.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), cfg.ShutdownTimeout)
		defer cancel()
		if err := s.Close(ctx); !errors.Is(err, s.broken) {
			t.Errorf("close: %v", err)
		}
		if t.Failed() && os.Getenv("NACRE_TEST_LOG") != "" {
			t.Log(logs.String())
		}
		if strings.Contains(logs.String(), "panic") {
			t.Errorf("a panic was logged:\n%s", logs.String())
		}
	})
	return s
}

// reply is an answer with its body read.
type reply struct {
	*http.Response
	body string
}

// do sends a request; headers are "Name: value".
func (s *server) do(method, path, body string, headers ...string) reply {
	s.t.Helper()
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	return s.send(method, path, in, headers...)
}

func (s *server) send(method, path string, body io.Reader, headers ...string) reply {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, h := range headers {
		name, v, _ := strings.Cut(h, ": ")
		req.Header.Set(name, v)
		if name == "Host" {
			req.Host = v
		}
	}
	resp, err := s.http.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return reply{resp, string(b)}
}

const rootAuth = "Authorization: Basic cm9vdDpyb290"

// at are the headers of root in namespace and database test.
func at(more ...string) []string {
	return append([]string{rootAuth, "Service-NS: test", "Service-DB: test", "Accept: application/json"}, more...)
}

// eventually polls until ok, or fails after a minute.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("did not happen: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// lockedBuffer collects log lines.
type lockedBuffer struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

// Write implements io.Writer.
func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String is what was written so far.
func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func writeFile(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.surql")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
