package daemon_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nacredb/nacre/daemon"
	"github.com/nacredb/nacre/daemon/config"
	"github.com/nacredb/nacre/daemon/telemetry"
	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/kv/tikv/stub"
)

// balancing is how the tests of this package reach their server. With NACRE_TEST_BALANCER each server whose store
// would be in memory is two instead, which share a cluster of stubs, behind a round robin without affinity:
//
//	tcp   each connection goes to the next server; the client of server.do makes one for each request
//	http  each request of HTTP/1 goes to the next server; WebSockets and HTTP/2 do by connection
//
// TestSuitesBehindABalancer runs a part of them so in each run.
var balancing = os.Getenv("NACRE_TEST_BALANCER")

// ofOneServer has the tests that do not hold behind a balancer without affinity, with the reason.
var ofOneServer = map[string]string{
	"TestMessagesOfNobodyAreSmall":            heldByOne,
	"TestVariablesDoNotPileUp":                heldByOne,
	"TestWhatHangsOnAConnectionIsCounted":     heldByOne,
	"TestCompressedBombs":                     heldByOne,
	"TestSlowClients":                         heldByOne,
	"TestManyIdleSockets":                     heldByOne,
	"TestFloodOfAttachedSessions":             limitOfOne,
	"TestWrongPasswordsLockOutTheirUserAlone": limitOfOne,
	"TestGuessesAtAccessMethodsCount":         limitOfOne,
	"TestAttacks/guessed-secrets":             limitOfOne,
	"TestAttacks/lock-out":                    limitOfOne,
	"TestAttacks/grpc":                        grpcOfOne,
	"TestParallelGuesses":                     limitOfOne,
	"TestForwardedFromTheRight":               limitOfOne,
	"TestClientAddress":                       limitOfOne,
	"TestStates":                              readyOfOne,
	"TestReady":                               readyOfOne,
	"TestTokensByKeySet":                      "each server asks for the keys of an issuer itself",
	"TestScriptingAndExperiments":             "a bucket in memory is of one server, and refused while there are several",
	"TestGRPCSessions":                        grpcOfOne,
	"TestGRPCAdoption":                        grpcOfOne,
	"TestVanishedClientOfGRPCIsFound":         peer,
	"TestVanishedPeerIsFound":                 peer,
	"TestMetricsMove":                         metricsOfOne,
	"TestQueryMemory":                         metricsOfOne,
	"TestAnswersOnTheirWayCount":              metricsOfOne,
	"TestMatrix/query_of_MCP,_in_a_session":   mcpOfOne,
	"TestMatrix/gql_of_MCP":                   mcpOfOne,
	"TestMatrix/graphql_of_MCP":               mcpOfOne,
	"TestMCPTools":                            mcpOfOne,
	"TestMCPCancel":                           mcpOfOne,
	"TestMCPCancelByEnd":                      mcpOfOne,
	"TestMCPTimeout":                          mcpOfOne,
	"TestMCPSessionLimits":                    mcpOfOne,
	"TestMCPTransport":                        mcpOfOne,
	"TestMCPStream":                           mcpOfOne,
	"TestMCPCapabilities":                     mcpOfOne,
	"TestMCPAudit":                            mcpOfOne,
	"TestMCPFaults":                           mcpOfOne,
	"TestMCPClauses":                          mcpOfOne,
	"TestMCPSubjects":                         mcpOfOne,
	"TestMCPReadOnly":                         mcpOfOne,
	"TestMCPResources":                        mcpOfOne,
	"TestMCPPrompts":                          mcpOfOne,
	"TestMCPCompletion":                       mcpOfOne,
	"TestMCPDescribeBudget":                   mcpOfOne,
	"TestMCPToolTable":                        mcpOfOne,
	"TestMCPResults":                          mcpOfOne,
	"TestMCPResultBudget":                     mcpOfOne,
	"TestMCPPlaces":                           mcpOfOne,
	"TestMCPCrowd":                            metricsOfOne,
}

const (
	heldByOne    = "it counts what the process of one server holds"
	limitOfOne   = "limits are each server's own"
	grpcOfOne    = "sessions of gRPC are of one server, and it has one over two connections"
	peer         = "a server sees the connections of the balancer, not those of clients"
	mcpOfOne     = "sessions of MCP are of one server, and its requests go to both"
	readyOfOne   = "/ready is of one server: a balancer takes it out, and asks the other one"
	metricsOfOne = "metrics are of one server"
)

var memoryBucket = regexp.MustCompile(`(DEFINE BUCKET (?:IF NOT EXISTS )?\w+ BACKEND) ['"]memory['"]`)

// shareBuckets puts the buckets that a text defines in memory, which are refused while there are several servers, into
// folders of the database where there are.
func (s *server) shareBuckets(ns, db, text string) string {
	if s.second == nil {
		return text
	}
	return memoryBucket.ReplaceAllStringFunc(text, func(def string) string {
		s.buckets++
		return memoryBucket.ReplaceAllString(def, fmt.Sprintf("$1 'file:%s/%s/%s/%d'", s.folder, ns, db, s.buckets))
	})
}

// ofCluster reports whether a goroutine, by its stack, belongs to the client of the cluster, which makes connections as
// it needs them.
func ofCluster(stack string) bool {
	return balancing != "" && slices.ContainsFunc([]string{"/tikv/client-go/", "/tikv/pd/client", "transport.NewHTTP2Client",
		"grpcsync.NewCallbackSerializer", "grpc.newClientStreamWithParams"},
		func(of string) bool { return strings.Contains(stack, of) })
}

// shared are the tests that run behind a balancer in each run, by how it balances.
var shared = map[string]string{
	"tcp":  "TestKey|TestEnvelopes|TestAttachedIDsAreNotShared|TestRefreshIsSingleUse|TestGRPCQuery",
	"http": "TestOverview|TestSQL|TestAuthentication|TestAPIEndpoints|TestGraphQLOverHTTP",
}

// TestSuitesBehindABalancer runs a part of the tests of this package against two servers on a cluster of stubs.
func TestSuitesBehindABalancer(t *testing.T) {
	if balancing != "" {
		t.Skip("this is one of those runs")
	}
	for mode, tests := range shared {
		t.Run(mode, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run", "^("+tests+")$")
			cmd.Env = append(os.Environ(), "NACRE_TEST_BALANCER="+mode)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			if want, n := strings.Count(tests, "|")+1, strings.Count(string(out), "\n--- PASS: "); n != want {
				t.Errorf("%d of %d tests passed:\n%s", n, want, out)
			}
		})
	}
}

// balancer is a round robin over servers.
type balancer struct {
	net.Listener
	servers []string
	next    atomic.Uint64
	work    sync.WaitGroup
	mu      sync.Mutex // guards open; a leaf lock
	open    map[net.Conn]bool
	http    *http.Server
	handed  chan net.Conn // to http
	done    chan struct{}
}

// balance listens in front of servers, by tcp or http.
func balance(t testing.TB, mode string, servers ...string) *balancer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &balancer{Listener: l, servers: servers, open: map[net.Conn]bool{}, handed: make(chan net.Conn),
		done: make(chan struct{})}
	take := b.tunnel
	transport := &http.Transport{DisableCompression: true}
	if mode == "http" {
		take = b.sort
		b.http = &http.Server{Handler: &httputil.ReverseProxy{Rewrite: b.rewrite, FlushInterval: -1, Transport: transport,
			ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}}
		b.work.Go(func() { _ = b.http.Serve(listenerOf{b}) }) // it ends with Close
	}
	b.work.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			b.work.Go(func() { take(conn) })
		}
	})
	t.Cleanup(func() {
		close(b.done)
		_ = l.Close()
		if b.http != nil {
			_ = b.http.Close()
		}
		b.mu.Lock()
		for c := range b.open {
			_ = c.Close()
		}
		b.mu.Unlock()
		b.work.Wait()
		transport.CloseIdleConnections()
	})
	return b
}

// listenerOf gives an http.Server the connections that sort hands it.
type listenerOf struct{ *balancer }

// Accept implements net.Listener.
func (l listenerOf) Accept() (net.Conn, error) {
	select {
	case c := <-l.handed:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener: the balancer closes its own.
func (l listenerOf) Close() error { return nil }

// turn is the server whose turn it is.
func (b *balancer) turn() string { return b.servers[b.next.Add(1)%uint64(len(b.servers))] }

// rewrite sends a request to the next server as it came.
func (b *balancer) rewrite(r *httputil.ProxyRequest) {
	r.SetURL(&url.URL{Scheme: "http", Host: b.turn()})
	r.Out.Host = r.In.Host
	for _, name := range []string{"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "Forwarded"} {
		if v := r.In.Header[name]; v != nil {
			r.Out.Header[name] = v
		}
	}
	r.Out.URL.RawQuery = r.In.URL.RawQuery
	if _, ok := r.In.Header["User-Agent"]; !ok {
		r.Out.Header.Set("User-Agent", "")
	}
}

// peeked is a connection whose first bytes were looked at.
type peeked struct {
	net.Conn
	br *bufio.Reader
}

// Read implements net.Conn.
func (p peeked) Read(b []byte) (int, error) { return p.br.Read(b) }

// CloseWrite ends what is sent.
func (p peeked) CloseWrite() error { return p.Conn.(*net.TCPConn).CloseWrite() }

// sort gives HTTP/1 to the reverse proxy, and takes TLS and HTTP/2 through.
func (b *balancer) sort(conn net.Conn) {
	forget := b.keep(conn)
	p := peeked{conn, bufio.NewReader(conn)}
	first, err := p.br.Peek(1)
	if err == nil && first[0] == 'P' {
		first, err = p.br.Peek(3)
	}
	forget()
	switch {
	case err != nil && len(first) == 0:
		_ = conn.Close()
	case first[0] == 0x16 || string(first) == "PRI":
		b.tunnel(p)
	default:
		select {
		case b.handed <- p:
		case <-b.done:
			_ = conn.Close()
		}
	}
}

// keep has a connection closed with the balancer, until forget.
func (b *balancer) keep(c net.Conn) (forget func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open[c] = true
	select {
	case <-b.done:
		_ = c.Close()
	default:
	}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.open, c)
	}
}

// tunnel takes the bytes of a connection to the next server that listens.
func (b *balancer) tunnel(client net.Conn) {
	defer func() { _ = client.Close() }()
	var server net.Conn
	for range b.servers {
		c, err := net.Dial("tcp", b.turn())
		if err == nil {
			server = c
			break
		}
	}
	if server == nil {
		return
	}
	defer func() { _ = server.Close() }()
	defer b.keep(client)()
	defer b.keep(server)()
	var both sync.WaitGroup
	both.Go(func() { carry(server, client) })
	both.Go(func() { carry(client, server) })
	both.Wait()
}

// carry copies until the end, and passes that on. A connection that was reset resets the other one.
func carry(to, from net.Conn) {
	_, err := io.Copy(to, from)
	if c, ok := to.(interface{ CloseWrite() error }); ok && err == nil {
		_ = c.CloseWrite()
		return
	}
	_, _ = to.Close(), from.Close()
}

// skipOfOneServer skips a test that does not hold behind a balancer without affinity.
func skipOfOneServer(t testing.TB) {
	t.Helper()
	for _, name := range []string{rootOf(t), t.Name()} {
		if why, ok := ofOneServer[name]; ok && balancing != "" {
			t.Skip("behind a balancer: " + why)
		}
	}
}

// pair starts two servers over a prefix of its own of a cluster of stubs, with a balancer in front.
func pair(t testing.TB, cfg *config.Config, logs *lockedBuffer) (*server, error) {
	t.Helper()
	skipOfOneServer(t)
	cluster, prefix := stub.Shared(t)
	s := &server{t: t, logs: logs, folder: t.TempDir()}
	cfg.Path, cfg.DurableSessions = "tikv://"+cluster.PD+"/"+prefix, true
	cfg.BucketFolders = append(cfg.BucketFolders, filepath.Join(s.folder, "{ns}", "{db}"))
	second := *cfg
	var addrs, wires []string
	for _, c := range []*config.Config{cfg, &second} {
		d, err := daemon.Start(t.Context(), c, telemetry.NewLogger(logs, slog.LevelDebug, false))
		if err != nil {
			return nil, errors.Join(err, s.Close(context.Background()))
		}
		if s.Daemon == nil {
			s.Daemon = d
		} else {
			s.second = d
		}
		ready(t, d)
		addrs = append(addrs, d.Addr().String())
		if d.PostgresAddr() != nil {
			wires = append(wires, d.PostgresAddr().String())
		}
	}
	s.front = balance(t, balancing, addrs...)
	if wires != nil {
		s.wire = balance(t, "tcp", wires...)
	}
	return s, nil
}

// ready waits a while until a server is ready, as a balancer does that asks for it. Some never are.
func ready(t testing.TB, d *daemon.Daemon) {
	t.Helper()
	scheme := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} // a test of the certificate itself
	defer scheme.CloseIdleConnections()
	c := http.Client{Transport: scheme, Timeout: time.Second}
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		for _, by := range []string{"http://", "https://"} {
			r, err := c.Get(by + d.Addr().String() + "/ready")
			if err != nil {
				continue
			}
			_ = r.Body.Close()
			if r.StatusCode == http.StatusOK {
				return
			}
		}
	}
}

// rootOf is the name of the test that a subtest belongs to.
func rootOf(t testing.TB) string {
	for i, c := range t.Name() {
		if c == '/' {
			return t.Name()[:i]
		}
	}
	return t.Name()
}

// Addr is where clients connect to.
func (s *server) Addr() net.Addr {
	if s.front != nil {
		return s.front.Addr()
	}
	return s.Daemon.Addr()
}

// PostgresAddr is where clients of the PostgreSQL wire connect to.
func (s *server) PostgresAddr() net.Addr {
	if s.wire != nil {
		return s.wire.Addr()
	}
	return s.Daemon.PostgresAddr()
}

// Close stops the server, or both of them at once.
func (s *server) Close(ctx context.Context) error {
	var second error
	var stopping sync.WaitGroup
	if s.second != nil {
		stopping.Go(func() { second = s.second.Close(ctx) })
	}
	var first error
	if s.Daemon != nil {
		first = s.Daemon.Close(ctx)
	}
	stopping.Wait()
	return errors.Join(first, second)
}

// Reload makes the server, or both, read their certificate again.
func (s *server) Reload() error {
	err := s.Daemon.Reload()
	if s.second != nil {
		err = errors.Join(err, s.second.Reload())
	}
	return err
}

// stats are the figures of the server, or the sum of those of both.
func (s *server) stats() engine.Stats {
	st := s.Engine().Stats()
	if s.second != nil {
		other := s.second.Engine().Stats()
		st.LiveQueries += other.LiveQueries
		st.Snapshots += other.Snapshots
		st.Orphaned += other.Orphaned
	}
	return st
}
