package daemon_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacredb/nacre/daemon/config"
	"github.com/nacredb/nacre/internal/pb/rpcpb"
)

// The official Go client, unchanged, over both transports. It is a module of its own; scripts/test downloads it.
func TestOfficialGoClient(t *testing.T) {
	program := filepath.Join(t.TempDir(), "sdk-go")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Dir = filepath.Join("..", "testdata", "sdk-go")
	build.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=-mod=readonly")
	if out, err := build.CombinedOutput(); err != nil {
		if strings.Contains(string(out), "module lookup disabled by GOPROXY=off") {
			t.Fatal("the official Go client is not there: run scripts/test, or go mod download in testdata/sdk-go")
		}
		t.Fatalf("%v\n%s", err, out)
	}
	s := start(t)
	for _, scheme := range []string{"ws", "http"} {
		t.Run(scheme, func(t *testing.T) {
			out, err := exec.CommandContext(t.Context(), program, scheme+"://"+s.Addr().String(), "root", "root").CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			if n := strings.Count(string(out), "ok   "); n < 34 {
				t.Errorf("only %d steps ran:\n%s", n, out)
			}
		})
	}
}

// busyWithCalls keeps four streams of gRPC going on the server until stop is called.
func (s *server) busyWithCalls() (stop func()) {
	c := s.grpc()
	c.signin(nil, "root", "root")
	c.use(nil, "load", "load")
	c.texts("CREATE |t:500| SET x = 'some text' RETURN NONE")
	done, ended := make(chan struct{}), make(chan int, 4)
	for range cap(ended) {
		go func() {
			n := 0
			for {
				select {
				case <-done:
					ended <- n
					return
				default:
				}
				if r, err := c.run(s.t.Context(), &rpcpb.QueryRequest{Query: "SELECT * FROM t"}); err != nil ||
					len(r) != 1 || len(r[0].values) != 500 {
					s.t.Errorf("a call beside: %v", err)
				}
				n++
			}
		}()
	}
	return func() {
		close(done)
		for range cap(ended) {
			if <-ended == 0 {
				s.t.Error("no call ran beside")
			}
		}
	}
}

// The official JavaScript client, unchanged, over both transports, on a port that serves gRPC at the same time.
// scripts/test installs it.
func TestOfficialClient(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal("node is not installed: scripts/test installs it")
	}
	dir := filepath.Join("..", "testdata", "sdk")
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "surrealdb")); err != nil {
		t.Fatal("the official client is not installed: run scripts/test, or npm ci in testdata/sdk")
	}
	s := start(t, func(c *config.Config) { c.AllowExperimental = names("files") })
	defer s.busyWithCalls()()
	for _, scheme := range []string{"ws", "http"} {
		t.Run(scheme, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), node, "sdk.mjs", scheme+"://"+s.Addr().String()+"/rpc", "root", "root")
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			if n := strings.Count(string(out), "ok   "); n < 57 {
				t.Errorf("only %d steps ran:\n%s", n, out)
			}
		})
	}
}

// The clients of GraphQL that people use, unchanged: graphql-js, graphql-request, Apollo Client, graphql-ws and its older
// relative. scripts/test installs them.
func TestGraphQLClients(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal("node is not installed: scripts/test installs it")
	}
	dir := filepath.Join("..", "testdata", "sdk-graphql")
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "graphql-ws")); err != nil {
		t.Fatal("the clients are not installed: run scripts/test, or npm ci in testdata/sdk-graphql")
	}
	s := start(t)
	out, err := exec.CommandContext(t.Context(), node, "--no-warnings", filepath.Join(dir, "clients.mjs"),
		"http://"+s.Addr().String(), "root", "root").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if n := strings.Count(string(out), "ok   "); n < 6 {
		t.Errorf("only %d steps ran:\n%s", n, out)
	}
}
