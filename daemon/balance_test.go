package daemon_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nacredb/nacre/daemon"
	"github.com/nacredb/nacre/daemon/config"
	"github.com/nacredb/nacre/daemon/telemetry"
	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/kv/tikv/stub"
	"github.com/nacredb/nacre/internal/roundrobin"
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
	"TestMCPClients":                          mcpOfOne,
	"TestMCPInspector":                        mcpOfOne,
	"TestMCPConformance":                      mcpOfOne,
	"TestSlowLogThreshold":                    metricsOfOne,
	"TestConnectionID":                        heldByOne,
	"TestTooManySockets":                      limitOfOne,
	"TestSignInFlood":                         limitOfOne,
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

// ofOneConnection has those that look at the connections of a server, which are a reverse proxy's own by mode http.
var ofOneConnection = []string{"TestDefaultBodyCaps", "TestDeclaredLengthIsRefusedAtOnce",
	"TestSlowHeadersAndBodiesAreCutOff"}

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

// skipOfOneServer skips a test that does not hold behind a balancer without affinity.
func skipOfOneServer(t testing.TB) {
	t.Helper()
	for _, name := range []string{rootOf(t), t.Name()} {
		if why, ok := ofOneServer[name]; ok && balancing != "" {
			t.Skip("behind a balancer: " + why)
		}
	}
	if balancing == "http" && slices.Contains(ofOneConnection, rootOf(t)) {
		t.Skip("behind a balancer: the proxy has connections of its own")
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
	s.front = roundrobin.Listen(t, balancing, addrs...)
	if wires != nil {
		s.wire = roundrobin.Listen(t, "tcp", wires...)
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
