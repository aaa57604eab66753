package doctor

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

func level(list []Finding, check string) Level {
	var of []Finding
	for _, f := range list {
		if f.Check == check {
			of = append(of, f)
		}
	}
	return Worst(of)
}

func TestSettings(t *testing.T) {
	for env, want := range map[string]Level{
		"": OK, "NACRE_UNAUTHENTICATED=true": Failure,
		"NACRE_BIND=0.0.0.0:8000": Warning, "NACRE_BIND=127.0.0.1:1": OK,
		"NACRE_ALLOW_ALL=true": Warning, "NACRE_PASS=root": Warning,
		"NACRE_BNID=x": Warning, "NACRE_QUERY_TIMEOUT=x": Failure,
	} {
		got := settings([]string{env})
		if Worst(got) != want {
			t.Errorf("%s: got %v, want %s", env, got, want)
		}
		for _, f := range got {
			if f.Level != OK && f.Hint == "" {
				t.Errorf("%s: %v does not say what to do", env, f)
			}
		}
	}
}

func TestServer(t *testing.T) {
	status, date := http.StatusOK, time.Now()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/ready" {
			t.Errorf("asked for %s", r.URL.Path)
		}
		w.Header().Set("Date", date.UTC().Format(http.TimeFormat))
		w.WriteHeader(status)
	}))
	address := "ws" + strings.TrimPrefix(s.URL, "http")
	if got := server(t.Context(), address); Worst(got) != OK {
		t.Errorf("got %v", got)
	}
	date = time.Now().Add(-time.Hour)
	if got := server(t.Context(), address); level(got, "server clock") != Failure {
		t.Errorf("an hour apart: got %v", got)
	}
	status = http.StatusServiceUnavailable
	if got := server(t.Context(), address); level(got, "server") != Failure {
		t.Errorf("not ready: got %v", got)
	}
	s.Close()
	for _, gone := range []string{address, "ws://", "nonsense", "http://bad host"} {
		if got := server(t.Context(), gone); Worst(got) != Failure {
			t.Errorf("%s: got %v", gone, got)
		}
	}
}

func TestTLS(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler()) // its authority is unknown
	defer s.Close()
	if got := server(t.Context(), s.URL); level(got, "tls") != Failure {
		t.Errorf("got %v", got)
	}
	now := time.Now()
	ends := map[time.Duration]Level{-time.Hour: Failure, 48 * time.Hour: Warning, 2000 * time.Hour: OK}
	for left, want := range ends {
		if got := certificate(now.Add(left), now); got.Level != want {
			t.Errorf("%v left: got %v", left, got)
		}
	}
}

func TestStore(t *testing.T) {
	dir := t.TempDir()
	got := store(dir + "/not/there")
	if level(got, "store") != Note || level(got, "sync") == Failure {
		t.Errorf("got %v", got)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := store(dir); level(got, "store") != Warning {
		t.Errorf("a folder open to all: got %v", got)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	for free, want := range map[uint64]Level{1 << 20: Failure, 500 << 20: Warning, 90 << 30: OK} {
		if got := space(disk{free: free, size: 100 << 30}); got.Level != want {
			t.Errorf("%d free: got %v", free, got)
		}
	}
	for kind, want := range map[string]Level{"nfs": Warning, "ext4": OK, "": Note} {
		if got := fileSystem(kind); got.Level != want {
			t.Errorf("%q: got %v", kind, got)
		}
	}
}
