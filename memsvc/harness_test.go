package memsvc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nacredb/nacre/internal/inprocess"
	"github.com/nacredb/nacre/memsvc"
	"github.com/nacredb/nacre/memsvc/config"
	"github.com/nacredb/nacre/memsvc/store"
)

const managementKey = "management-key-of-the-tests"

// service is a memory service over a store in memory, with one Context: main.
type service struct {
	t       *testing.T
	base    string
	key     string // of the administrator of main
	log     *safeBuffer
	connect store.Connect
	stop    func()
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// start runs a service with the given variables.
func start(t *testing.T, vars ...string) *service {
	t.Helper()
	e, err := inprocess.Open(t.Context(), "memory", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return startOver(t, store.Embedded(e), vars...)
}

// startOver runs a service over a database that is open.
func startOver(t *testing.T, connect store.Connect, vars ...string) *service {
	t.Helper()
	env := map[string]string{"MEMSVC_SURREALDB_URL": "memory", "MEMSVC_BIND": "127.0.0.1:0",
		"MEMSVC_LOG_LEVEL":          "debug",
		"MEMSVC_MANAGEMENT_API_KEY": managementKey, "MEMSVC_OBJECT_STORE": "local://" + t.TempDir()}
	for i := 0; i < len(vars); i += 2 {
		env[vars[i]] = vars[i+1]
	}
	conf, err := config.Load("", func(n string) (string, bool) { v, ok := env[n]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	if err := conf.SetRoles(env["ROLES"]); err != nil {
		t.Fatal(err)
	}
	s := &service{t: t, log: &safeBuffer{}, connect: connect}
	addr := make(chan net.Addr, 1)
	c := memsvc.Config{Config: conf, Connect: connect, Version: "test", Listening: func(a net.Addr) { addr <- a },
		Log: slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	keys, err := memsvc.Bootstrap(t.Context(), c, "main")
	switch {
	case err == nil:
		s.key = keys.Key
	case !memsvc.Bootstrapped(err):
		t.Fatal(err)
	}
	s.run(c, addr)
	return s
}

func (s *service) run(c memsvc.Config, addr chan net.Addr) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- memsvc.Serve(ctx, c) }()
	select {
	case a := <-addr:
		s.base = "http://" + a.String()
	case err := <-done:
		s.t.Fatalf("serve: %v", err)
	}
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			s.t.Errorf("serve: %v", err)
		}
	})
	s.t.Cleanup(s.stop)
}

// answer is a response with its body read.
type answer struct {
	status int
	header http.Header
	raw    []byte
	m      map[string]any
}

// send makes a request with a key and a JSON body (a string is sent as it is).
func (s *service) send(key, method, path string, body any, header ...string) answer {
	s.t.Helper()
	var r io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		r = strings.NewReader(b)
	case []byte:
		r = bytes.NewReader(b)
	default:
		j, err := json.Marshal(b)
		if err != nil {
			s.t.Fatal(err)
		}
		r = bytes.NewReader(j)
	}
	req, err := http.NewRequest(method, s.base+path, r)
	if err != nil {
		s.t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	a := answer{status: res.StatusCode, header: res.Header}
	if a.raw, err = io.ReadAll(res.Body); err != nil {
		s.t.Fatal(err)
	}
	_ = json.Unmarshal(a.raw, &a.m) // some bodies are lists or text
	return a
}

// must is send that wants a status.
func (s *service) must(want int, key, method, path string, body any, header ...string) answer {
	s.t.Helper()
	a := s.send(key, method, path, body, header...)
	if a.status != want {
		s.t.Fatalf("%s %s: got %d, want %d: %s", method, path, a.status, want, a.raw)
	}
	if a.status >= 400 && a.header.Get("Content-Type") != "application/problem+json" {
		s.t.Fatalf("%s %s: the error is %q", method, path, a.header.Get("Content-Type"))
	}
	return a
}

// post is must with the key of the administrator of main.
func (s *service) post(want int, path string, body any) answer {
	s.t.Helper()
	return s.must(want, s.key, "POST", "/api/v1/main"+path, body)
}

func (s *service) get(want int, path string) answer {
	s.t.Helper()
	return s.must(want, s.key, "GET", "/api/v1/main"+path, nil)
}

// patch changes the settings of main.
func (s *service) patch(want int, config string) answer {
	s.t.Helper()
	return s.must(want, managementKey, "PATCH", "/api/v1/contexts/main", `{"config":`+config+`}`)
}

// member makes a principal of a Context with grants and gives its id and a key.
func (s *service) member(context, name string, grants map[string][]string) (id, key string) {
	s.t.Helper()
	p := s.must(201, managementKey, "POST", "/api/v1/contexts/"+context+"/principals",
		map[string]any{"display_name": name, "kind": "human", "grants": grants})
	id = p.str("id")
	k := s.must(201, managementKey, "POST", "/api/v1/contexts/"+context+"/principals/"+id+"/keys/"+name, nil)
	return id, k.str("key")
}

// str is a text of the answer, by names and list positions.
func (a answer) str(path ...any) string {
	v := a.at(path...)
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

func (a answer) at(path ...any) any {
	var v any = a.m
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[p]
		case int:
			l, _ := v.([]any)
			if p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

func (a answer) list(path ...any) []any {
	l, _ := a.at(path...).([]any)
	return l
}

// eventually polls until f is true.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if f() {
			return
		}
	}
	t.Fatalf("not in 30 s: %s", what)
}
