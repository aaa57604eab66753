package daemon_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/nacredb/nacre/daemon/config"
	"github.com/nacredb/nacre/engine/parse"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/pb/rpcpb"
	"github.com/nacredb/nacre/internal/pb/valuepb"
	"github.com/nacredb/nacre/internal/protobuf"
)

// The client of these tests is grpc-go with the generated stubs: nothing of it is shared with the server.

// caller of the service on one connection.
type rpcClient struct {
	rpcpb.ServiceClient
	conn *grpc.ClientConn
	s    *server
}

func (s *server) grpc(opt ...grpc.DialOption) *rpcClient {
	s.t.Helper()
	conn, err := grpc.NewClient(s.Addr().String(), append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(1 << 30)),
	}, opt...)...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	return &rpcClient{rpcpb.NewServiceClient(conn), conn, s}
}

// root is a client that has signed in as root and uses test/test.
func (s *server) grpcRoot(opt ...grpc.DialOption) *rpcClient {
	s.t.Helper()
	c := s.grpc(opt...)
	c.signin(nil, "root", "root")
	c.use(nil, "test", "test")
	return c
}

func (c *rpcClient) signin(at *rpcpb.RequestContext, user, pass string) *rpcpb.Tokens {
	c.s.t.Helper()
	resp, err := c.Signin(c.s.t.Context(), &rpcpb.SigninRequest{Context: at, AccessMethod: &rpcpb.AccessMethod{
		Method: &rpcpb.AccessMethod_User{User: &rpcpb.UserCredentials{Username: user, Password: pass}}}})
	if err != nil {
		c.s.t.Fatal(err)
	}
	return resp.GetTokens()
}

func some(name string) *rpcpb.NullableString {
	return &rpcpb.NullableString{Value: &rpcpb.NullableString_Some{Some: name}}
}

func (c *rpcClient) use(at *rpcpb.RequestContext, ns, db string) {
	c.s.t.Helper()
	if _, err := c.Use(c.s.t.Context(), &rpcpb.UseRequest{Context: at, Namespace: some(ns), Database: some(db)}); err != nil {
		c.s.t.Fatal(err)
	}
}

// result is the answer to one statement.
type result struct {
	values []*valuepb.Value
	list   bool
	kind   rpcpb.QueryStatementKind
	stats  *rpcpb.QueryStats
	err    *valuepb.SurrealError
}

// text of the result in the language.
func (r *result) text(t testing.TB) string {
	t.Helper()
	if r.err != nil {
		return "error: " + r.err.GetMessage()
	}
	var all []string
	for _, v := range r.values {
		all = append(all, fromPB(t, v).Text())
	}
	if !r.list {
		return strings.Join(all, " ")
	}
	return "[" + strings.Join(all, ", ") + "]"
}

func fromPB(t testing.TB, v *valuepb.Value) value.Value {
	t.Helper()
	b, err := proto.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	out, err := protobuf.DecodeValue(b, value.DecodeLimits{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// toPB is a value of the language.
func toPB(t testing.TB, text string) *valuepb.Value {
	t.Helper()
	v, err := parse.Value(text)
	if err != nil {
		t.Fatal(err)
	}
	b, err := protobuf.AppendValue(nil, v)
	if err != nil {
		t.Fatal(err)
	}
	out := &valuepb.Value{}
	if err := proto.Unmarshal(b, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// run runs a text and holds the stream to its grammar. It may be called by any goroutine.
func (c *rpcClient) run(ctx context.Context, req *rpcpb.QueryRequest) ([]*result, error) {
	stream, err := c.Query(ctx, req)
	if err != nil {
		return nil, err
	}
	return gather(stream)
}

// gather reads a stream to its end. The error says where it is not as its grammar wants it.
func gather(stream grpc.ServerStreamingClient[rpcpb.QueryResponse]) ([]*result, error) {
	g := &gathered{done: map[uint32]bool{}}
	for {
		resp, err := stream.Recv()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = g.frame(resp)
		}
		if err != nil {
			return g.results, err
		}
	}
	if !g.ended || len(g.done) != len(g.results) {
		return g.results, fmt.Errorf("the stream is not whole: end %v, %d of %d results", g.ended, len(g.done), len(g.results))
	}
	return g.results, nil
}

// gathered are the results of a stream so far.
type gathered struct {
	results      []*result
	batches      []uint64
	done         map[uint32]bool
	begun, ended bool
}

func (g *gathered) frame(resp *rpcpb.QueryResponse) error {
	if g.ended {
		return fmt.Errorf("a frame behind the end: %v", resp)
	}
	switch f := resp.GetFrame().(type) {
	case *rpcpb.QueryResponse_Begin:
		if g.begun || len(f.Begin.GetQueryId().GetValue()) != 16 {
			return fmt.Errorf("begin: %v", resp)
		}
		g.begun = true
		for range f.Begin.GetResultCount() {
			g.results, g.batches = append(g.results, &result{}), append(g.batches, 0)
		}
	case *rpcpb.QueryResponse_Batch:
		return g.batch(f.Batch)
	case *rpcpb.QueryResponse_End:
		g.ended = true
	case *rpcpb.QueryResponse_Error:
		return errors.New("error frame: " + f.Error.GetMessage())
	default:
		return fmt.Errorf("an unknown frame: %v", resp)
	}
	return nil
}

func (g *gathered) batch(b *rpcpb.QueryBatchFrame) error {
	i := b.GetQueryIndex()
	if !g.begun || int(i) >= len(g.results) || g.done[i] || b.GetBatchIndex() != g.batches[i] {
		return fmt.Errorf("batch out of order: %v", b)
	}
	g.batches[i]++
	r := g.results[i]
	r.values = append(r.values, b.GetValues().GetValues()...)
	r.kind = b.GetStatementKind()
	last := b.GetKind() != rpcpb.QueryResponseKind_QUERY_RESPONSE_KIND_BATCHED
	if (b.GetStats() != nil) != last || b.GetError() != nil && (!last || len(b.GetValues().GetValues()) > 0) {
		return fmt.Errorf("a batch does not fit its kind: %v", b)
	}
	if b.GetKind() == rpcpb.QueryResponseKind_QUERY_RESPONSE_KIND_SINGLE && len(r.values) != 1 {
		return fmt.Errorf("a single result has %d values", len(r.values))
	}
	if last {
		g.done[i] = true
		r.list = b.GetKind() != rpcpb.QueryResponseKind_QUERY_RESPONSE_KIND_SINGLE
		r.stats, r.err = b.GetStats(), b.GetError()
	}
	return nil
}

// texts runs a text and gives its results as texts.
func (c *rpcClient) texts(query string, vars ...string) []string {
	c.s.t.Helper()
	req := &rpcpb.QueryRequest{Query: query}
	for _, v := range vars {
		name, text, _ := strings.Cut(v, "=")
		if req.Variables == nil {
			req.Variables = &valuepb.Variables{}
		}
		req.Variables.Variables = append(req.Variables.Variables, &valuepb.KeyValue{Key: name, Value: toPB(c.s.t, text)})
	}
	results, err := c.run(c.s.t.Context(), req)
	if err != nil {
		c.s.t.Fatal(err)
	}
	var out []string
	for _, r := range results {
		out = append(out, r.text(c.s.t))
	}
	return out
}

func wantCode(t testing.TB, what string, err error, want codes.Code, text string) {
	t.Helper()
	if got := status.Code(err); got != want || !strings.Contains(status.Convert(err).Message(), text) {
		t.Errorf("%s: got %v, want %v with %q", what, err, want, text)
	}
}

// detailsOf is the error in the details of a status.
func detailsOf(t testing.TB, err error) *valuepb.SurrealError {
	t.Helper()
	for _, d := range status.Convert(err).Proto().GetDetails() {
		if d.GetTypeUrl() == "type.googleapis.com/surrealdb.protocol.v1.SurrealError" {
			e := &valuepb.SurrealError{}
			if err := proto.Unmarshal(d.GetValue(), e); err != nil {
				t.Fatal(err)
			}
			return e
		}
	}
	t.Fatalf("%v: no details", err)
	return nil
}

func TestGRPCQuery(t *testing.T) {
	c := start(t).grpcRoot()
	for _, tc := range []struct{ query, want string }{
		{"RETURN 1", "1"},
		{"RETURN [1, 2]", "[1, 2]"},
		{"CREATE t:1 SET a = 1", "[{ a: 1, id: t:1 }]"},
		{"CREATE ONLY t:2 SET a = 2", "{ a: 2, id: t:2 }"},
		{"SELECT * FROM t", "[{ a: 1, id: t:1 }, { a: 2, id: t:2 }]"},
		{"SELECT * FROM ONLY t:1", "{ a: 1, id: t:1 }"},
		{"SELECT * FROM t WHERE a = 9", "[]"},
		{"SELECT VALUE a FROM t ORDER BY a DESC", "[2, 1]"},
		{"LET $x = 1", "NONE"},
		{"RETURN NONE; RETURN NULL", "NONE|NULL"},
		{"THROW 'x'; RETURN 2", "error: An error occurred: x|2"},
		{"BEGIN; CREATE t:3; THROW 'x'; COMMIT", "NONE|error: The query was not executed due to a failed transaction|error: An error occurred: x|error: Cannot COMMIT: the transaction was aborted due to a prior error"},
		{"BEGIN; CREATE t:4; COMMIT", "NONE|[{ id: t:4 }]|NONE"},
		{"", ""},
		{"DELETE t:1 RETURN BEFORE", "[{ a: 1, id: t:1 }]"},
		{"UPDATE t:2 SET a = 3 RETURN DIFF", "[[{ op: 'replace', path: '/a', value: 3 }]]"},
	} {
		if got := strings.Join(c.texts(tc.query), "|"); got != tc.want {
			t.Errorf("%s:\n got %s\nwant %s", tc.query, got, tc.want)
		}
	}
	if got := c.texts("RETURN [$a, $b]", "a=1", "b=person:x"); got[0] != "[1, person:x]" {
		t.Errorf("variables: %v", got)
	}
	_, err := c.run(t.Context(), &rpcpb.QueryRequest{Query: "SELECT FROM"})
	wantCode(t, "a parse error", err, codes.InvalidArgument, "Parse error")
	if e := detailsOf(t, err); e.GetKind() != valuepb.ErrorKind_ERROR_KIND_VALIDATION || e.GetCode() != -32000 || e.GetRetry() != nil {
		t.Errorf("%v", e)
	}
}

// Every kind of value arrives, and comes back, as it is.
func TestGRPCValues(t *testing.T) {
	c := start(t, func(c *config.Config) { c.AllowExperimental = names("files") }).grpcRoot()
	for _, text := range []string{
		"NONE", "NULL", "true", "false", "0", "-9223372036854775808", "1.5f", "-0f", "5.0dec", "-1.23dec", "'text'", "''", "b'00ff'",
		"1h30m", "d'2024-02-29T12:00:00.000000001Z'", "d'-0500-01-01T00:00:00Z'", "u'018d5e1b-7d3c-7c9a-8f6e-000000000001'",
		"(1.5, 2.5)", "person:1", "person:['a', 1]", "person:{ a: 1 }", "person:u'018d5e1b-7d3c-7c9a-8f6e-000000000001'", "person:1..=5", "person:..",
		"1..2", "1>..=2", "..", "{ a: { b: [1, NONE, NULL] } }", "{}", "[]", "[1, 'a', [2]]", "{1, 2}", "{,}", "f'bucket:/path'", "/a+/",
		"{ type: 'Polygon', coordinates: [[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 0.0]], [[0.1, 0.1], [0.2, 0.1], [0.2, 0.2], [0.1, 0.1]]] }",
		"{ type: 'MultiPoint', coordinates: [[0.0, 0.0], [1.0, 1.0]] }", "{ type: 'LineString', coordinates: [[0.0, 0.0], [1.0, 1.0]] }",
		"{ type: 'MultiLineString', coordinates: [[[0.0, 0.0], [1.0, 1.0]]] }",
		"{ type: 'MultiPolygon', coordinates: [[[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 0.0]]]] }",
		"{ type: 'GeometryCollection', geometries: [(1, 2)] }",
	} {
		results, err := c.run(t.Context(), &rpcpb.QueryRequest{Query: "RETURN " + text})
		if err != nil || results[0].err != nil {
			t.Errorf("%s: %v %v", text, err, results)
			continue
		}
		v := results[0].values[0]
		again, err := c.run(t.Context(), &rpcpb.QueryRequest{Query: "RETURN $v",
			Variables: &valuepb.Variables{Variables: []*valuepb.KeyValue{{Key: "v", Value: v}}}})
		if err != nil || again[0].err != nil || !proto.Equal(v, again[0].values[0]) {
			t.Errorf("%s: %v came back as %v, %v", text, v, again, err)
		}
	}
	if got := c.texts("RETURN |$a| $a"); !strings.Contains(got[0], "cannot be serialized") {
		t.Errorf("a closure: %v", got)
	}
}

func TestGRPCSessions(t *testing.T) {
	s := start(t)
	c := s.grpcRoot()
	a, err := c.AttachSession(t.Context(), &rpcpb.AttachSessionRequest{})
	if err != nil || !a.GetCreated() || len(a.GetSession().GetValue()) != 16 {
		t.Fatalf("%v, %v", a, err)
	}
	at := &rpcpb.RequestContext{Session: a.GetSession()}
	if again, err := c.AttachSession(t.Context(), &rpcpb.AttachSessionRequest{Context: at}); err != nil || again.GetCreated() {
		t.Fatalf("a repeat: %v, %v", again, err)
	}
	_, err = c.run(t.Context(), &rpcpb.QueryRequest{Context: at, Query: "RETURN 1"})
	wantCode(t, "a session without an identity", err, codes.PermissionDenied, "Anonymous access not allowed")
	c.signin(at, "root", "root")
	c.use(at, "test", "other")
	if _, err := c.SetVariable(t.Context(), &rpcpb.SetVariableRequest{Context: at, Name: "x", Value: toPB(t, "{ a: [1] }")}); err != nil {
		t.Fatal(err)
	}
	got := func(c *rpcClient, at *rpcpb.RequestContext, text string) string {
		t.Helper()
		r, err := c.run(t.Context(), &rpcpb.QueryRequest{Context: at, Query: text})
		if err != nil {
			return err.Error()
		}
		return r[0].text(t)
	}
	const place = "RETURN [session::ns(), session::db(), $x]"
	if g := got(c, at, place); g != "['test', 'other', { a: [1] }]" {
		t.Error(g)
	}
	if g := got(c, nil, place); g != "['test', 'test', NONE]" {
		t.Error(g)
	}
	// The session outlives the connection.
	other := s.grpc()
	if again, err := other.AttachSession(t.Context(), &rpcpb.AttachSessionRequest{Context: at}); err != nil || again.GetCreated() {
		t.Fatalf("over another connection: %v, %v", again, err)
	}
	if g := got(other, at, place); g != "['test', 'other', { a: [1] }]" {
		t.Error(g)
	}
	if _, err := c.UnsetVariable(t.Context(), &rpcpb.UnsetVariableRequest{Context: at, Name: "x"}); err != nil {
		t.Fatal(err)
	}
	if g := got(c, at, "RETURN $x"); g != "NONE" {
		t.Error(g)
	}
	if _, err := c.ResetSession(t.Context(), &rpcpb.ResetSessionRequest{Context: at}); err != nil {
		t.Fatal(err)
	}
	if g := got(c, at, place); !strings.Contains(g, "Anonymous access not allowed") {
		t.Error(g)
	}
	for range 2 { // a repeat is no error
		if _, err := c.DetachSession(t.Context(), &rpcpb.DetachSessionRequest{Context: at}); err != nil {
			t.Fatal(err)
		}
	}
	_, err = c.run(t.Context(), &rpcpb.QueryRequest{Context: at, Query: "RETURN 1"})
	wantCode(t, "a detached session", err, codes.NotFound, "Session not found: ")
	_, err = c.DetachSession(t.Context(), &rpcpb.DetachSessionRequest{})
	wantCode(t, "detach without an id", err, codes.InvalidArgument, "Expected a session ID")
}

// A session of one user is not given to another.
func TestGRPCAdoption(t *testing.T) {
	s := start(t)
	c := s.grpcRoot()
	c.texts("DEFINE USER eve ON ROOT PASSWORD 'eve' ROLES VIEWER")
	a, err := c.AttachSession(t.Context(), &rpcpb.AttachSessionRequest{})
	if err != nil {
		t.Fatal(err)
	}
	at := &rpcpb.RequestContext{Session: a.GetSession()}
	c.signin(at, "root", "root")
	eve := s.grpc()
	eve.signin(nil, "eve", "eve")
	_, err = eve.AttachSession(t.Context(), &rpcpb.AttachSessionRequest{Context: at})
	wantCode(t, "adoption by another user", err, codes.PermissionDenied, "belongs to another user")
	// Nor may another user do anything in it.
	if _, err := c.SetVariable(t.Context(), &rpcpb.SetVariableRequest{Context: at, Name: "x", Value: toPB(t, "1")}); err != nil {
		t.Fatal(err)
	}
	for what, act := range map[string]func() error{
		"Query": func() error {
			_, err := eve.run(t.Context(), &rpcpb.QueryRequest{Context: at, Query: "RETURN 1"})
			return err
		},
		"Subscribe": func() error {
			_, err := first(eve.Subscribe(t.Context(), &rpcpb.SubscribeRequest{Context: at, SubscribeTo: &rpcpb.SubscribeRequest_Query{
				Query: &rpcpb.LiveQueryRegistration{Query: "LIVE SELECT * FROM t"}}}))
			return err
		},
		"ExportSql": func() error {
			stream, err := eve.ExportSql(t.Context(), &rpcpb.ExportSqlRequest{Context: at})
			if err == nil {
				_, err = stream.Recv()
			}
			return err
		},
		"Use": func() error {
			_, err := eve.Use(t.Context(), &rpcpb.UseRequest{Context: at, Namespace: some("evil")})
			return err
		},
		"SetVariable": func() error {
			_, err := eve.SetVariable(t.Context(), &rpcpb.SetVariableRequest{Context: at, Name: "x", Value: toPB(t, "2")})
			return err
		},
		"Invalidate": func() error {
			_, err := eve.Invalidate(t.Context(), &rpcpb.InvalidateRequest{Context: at})
			return err
		},
		"BeginTransaction": func() error {
			_, err := eve.BeginTransaction(t.Context(), &rpcpb.BeginTransactionRequest{Context: at})
			return err
		},
		"DetachSession": func() error {
			_, err := eve.DetachSession(t.Context(), &rpcpb.DetachSessionRequest{Context: at})
			return err
		},
		"ResetSession": func() error {
			_, err := eve.ResetSession(t.Context(), &rpcpb.ResetSessionRequest{Context: at})
			return err
		},
	} {
		wantCode(t, what, act(), codes.PermissionDenied, "belongs to another user")
	}
	own := &valuepb.Uuid{Value: bytes.Repeat([]byte{7}, 16)}
	// A client whose connection has one identity goes on in a session that it signs in to as another.
	if _, err := eve.AttachSession(t.Context(), &rpcpb.AttachSessionRequest{Context: &rpcpb.RequestContext{Session: own}}); err != nil {
		t.Fatal(err)
	}
	eve.signin(&rpcpb.RequestContext{Session: own}, "root", "root")
	eve.use(&rpcpb.RequestContext{Session: own}, "test", "test")
	if r, err := c.run(t.Context(), &rpcpb.QueryRequest{Context: at, Query: "RETURN [$x, session::ns()]"}); err != nil || r[0].text(t) != "[1, NONE]" {
		t.Errorf("after all that: %v, %v", r, err)
	}
}

func TestGRPCTransactions(t *testing.T) {
	s := start(t, func(c *config.Config) { c.Limits.Transactions = 2 })
	c := s.grpcRoot()
	begin := func() *rpcpb.RequestContext {
		t.Helper()
		b, err := c.BeginTransaction(t.Context(), &rpcpb.BeginTransactionRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return &rpcpb.RequestContext{Transaction: b.GetTransaction()}
	}
	in := func(at *rpcpb.RequestContext, text string) string {
		t.Helper()
		r, err := c.run(t.Context(), &rpcpb.QueryRequest{Context: at, Query: text})
		if err != nil {
			return err.Error()
		}
		return r[0].text(t)
	}
	a := begin()
	if g := in(a, "CREATE t:1"); g != "[{ id: t:1 }]" {
		t.Error(g)
	}
	if g := in(nil, "SELECT * FROM t"); !strings.Contains(g, "does not exist") && g != "[]" {
		t.Errorf("outside of the transaction: %s", g)
	}
	if _, err := c.CommitTransaction(t.Context(), &rpcpb.CommitTransactionRequest{Context: a}); err != nil {
		t.Fatal(err)
	}
	if g := in(nil, "SELECT * FROM t"); g != "[{ id: t:1 }]" {
		t.Error(g)
	}
	_, err := c.CommitTransaction(t.Context(), &rpcpb.CommitTransactionRequest{Context: a})
	wantCode(t, "a finished transaction", err, codes.NotFound, "Transaction not found")
	b := begin()
	in(b, "CREATE t:2")
	if _, err := c.CancelTransaction(t.Context(), &rpcpb.CancelTransactionRequest{Context: b}); err != nil {
		t.Fatal(err)
	}
	if g := in(nil, "SELECT * FROM t"); g != "[{ id: t:1 }]" {
		t.Error(g)
	}
	begin()
	begin()
	_, err = c.BeginTransaction(t.Context(), &rpcpb.BeginTransactionRequest{})
	wantCode(t, "one too many", err, codes.ResourceExhausted, "Too many open transactions")
	_, err = c.CommitTransaction(t.Context(), &rpcpb.CommitTransactionRequest{})
	wantCode(t, "no transaction", err, codes.InvalidArgument, "context.transaction is missing")
	_, err = c.Use(t.Context(), &rpcpb.UseRequest{Context: b})
	wantCode(t, "a transaction where it has no meaning", err, codes.InvalidArgument, "takes no transaction")
}

func TestGRPCConflict(t *testing.T) {
	c := start(t).grpcRoot()
	c.texts("CREATE t:1 SET n = 0")
	var at [2]*rpcpb.RequestContext
	for i := range at {
		b, err := c.BeginTransaction(t.Context(), &rpcpb.BeginTransactionRequest{})
		if err != nil {
			t.Fatal(err)
		}
		at[i] = &rpcpb.RequestContext{Transaction: b.GetTransaction()}
		if _, err := c.run(t.Context(), &rpcpb.QueryRequest{Context: at[i], Query: "UPDATE t:1 SET n += 1"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.CommitTransaction(t.Context(), &rpcpb.CommitTransactionRequest{Context: at[0]}); err != nil {
		t.Fatal(err)
	}
	_, err := c.CommitTransaction(t.Context(), &rpcpb.CommitTransactionRequest{Context: at[1]})
	wantCode(t, "a conflict", err, codes.Aborted, "conflict")
	if e := detailsOf(t, err); e.GetRetry() == nil || e.GetDetails().GetReason() != "TransactionConflict" || e.GetCode() != -32009 {
		t.Errorf("%v", e)
	}
}

func TestGRPCCapabilities(t *testing.T) {
	s := start(t, func(c *config.Config) { c.QueryTimeout, c.DenyRPC = 90*time.Second, names("begin,let") })
	c := s.grpc()
	resp, err := c.GetCapabilities(t.Context(), &rpcpb.GetCapabilitiesRequest{Client: &rpcpb.ClientInfo{Name: "test"}})
	if err != nil {
		t.Fatal(err)
	}
	caps := resp.GetCapabilities()
	if caps.GetServerVersion() != "3.3.1" || caps.GetLimits().GetMaxMessageBytes() != 4<<20 || caps.GetLimits().GetMaxChunkBytes() != 1<<20 ||
		caps.GetLimits().GetMaxQueryDuration().GetSeconds() != 90 || !caps.GetLiveQueries().GetMultipleSubscribers() {
		t.Errorf("%v", caps)
	}
	want := "protocol.rpc.v1.Service/BeginTransaction surrealdb.protocol.rpc.v1.SurrealDBService/BeginTransaction " +
		"protocol.rpc.v1.Service/SetVariable surrealdb.protocol.rpc.v1.SurrealDBService/SetVariable"
	if got := strings.Join(caps.GetDeniedMethods(), " "); got != want {
		t.Errorf("denied: %s", got)
	}
	_, err = c.BeginTransaction(t.Context(), &rpcpb.BeginTransactionRequest{})
	wantCode(t, "a denied method", err, codes.PermissionDenied, "Method not allowed")
	_, err = c.GetCapabilities(t.Context(), &rpcpb.GetCapabilitiesRequest{Context: &rpcpb.RequestContext{Session: &valuepb.Uuid{Value: make([]byte, 16)}}})
	wantCode(t, "a session for GetCapabilities", err, codes.InvalidArgument, "takes no session")
}

func TestGRPCHealthAndNames(t *testing.T) {
	s := start(t)
	c := s.grpc()
	for _, method := range []string{
		"/protocol.rpc.v1.Service/Health", "/surrealdb.protocol.rpc.v1.SurrealDBService/Health",
	} {
		if err := c.conn.Invoke(t.Context(), method, &rpcpb.HealthRequest{}, &rpcpb.HealthResponse{}); err != nil {
			t.Errorf("%s: %v", method, err)
		}
	}
	for _, method := range []string{
		"/grpc.health.v1.Health/Check", "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
		"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", "/protocol.rpc.v1.Service/Nothing", "/other.Service/Health",
	} {
		err := c.conn.Invoke(t.Context(), method, &rpcpb.HealthRequest{}, &rpcpb.HealthResponse{})
		wantCode(t, method, err, codes.Unimplemented, "Method not found")
	}
	for _, tc := range []struct {
		deny string
		want codes.Code
	}{{"health", codes.PermissionDenied}, {"rpc", codes.PermissionDenied}, {"sql", codes.OK}} {
		s := start(t, func(c *config.Config) { c.DenyHTTP = names(tc.deny) })
		if _, err := s.grpc().Health(t.Context(), &rpcpb.HealthRequest{}); status.Code(err) != tc.want {
			t.Errorf("route %s denied: %v", tc.deny, err)
		}
	}
}

// The Authorization header gives an identity for the calls that carry it, and for no others.
func TestGRPCAuthorization(t *testing.T) {
	s := start(t)
	c := s.grpc()
	with := func(h ...string) context.Context { return metadata.AppendToOutgoingContext(t.Context(), h...) }
	const basic = "Basic cm9vdDpyb290"
	root := with("authorization", basic, "service-ns", "test", "service-db", "test")
	who := func(ctx context.Context) string {
		t.Helper()
		r, err := c.run(ctx, &rpcpb.QueryRequest{Query: "RETURN [session::ns(), $auth, $access]"})
		if err != nil {
			return status.Code(err).String() + ": " + status.Convert(err).Message()
		}
		return r[0].text(t)
	}
	if got := who(root); got != "['test', NONE, NONE]" {
		t.Error(got)
	}
	if got := who(t.Context()); got != "PermissionDenied: Anonymous access not allowed: Not enough permissions to perform this action" {
		t.Error(got)
	}
	for _, bad := range []string{"Basic cm9vdDp3cm9uZw==", "Bearer nonsense", "Other x", "Basic !"} {
		if got := who(with("authorization", bad)); got != "Unauthenticated: There was a problem with authentication" {
			t.Errorf("%s: %s", bad, got)
		}
	}
	token := c.signin(nil, "root", "root").GetAccess()
	if _, err := c.Invalidate(t.Context(), &rpcpb.InvalidateRequest{}); err != nil {
		t.Fatal(err)
	}
	if got := who(with("authorization", "Bearer "+token, "surreal-ns", "test", "surreal-db", "test")); got != "['test', NONE, NONE]" {
		t.Error(got)
	}
	// Transactions go on from call to call with the same header, and only with it.
	b, err := c.BeginTransaction(root, &rpcpb.BeginTransactionRequest{})
	if err != nil {
		t.Fatal(err)
	}
	at := &rpcpb.RequestContext{Transaction: b.GetTransaction()}
	if r, err := c.run(root, &rpcpb.QueryRequest{Context: at, Query: "RETURN 1"}); err != nil || r[0].text(t) != "1" {
		t.Errorf("%v, %v", r, err)
	}
	_, err = c.run(with("authorization", "Bearer "+token), &rpcpb.QueryRequest{Context: at, Query: "RETURN 1"})
	wantCode(t, "a transaction of another identity", err, codes.NotFound, "Transaction not found")
	// What a call changes of the identity does not outlast it.
	if _, err := c.Invalidate(root, &rpcpb.InvalidateRequest{}); err != nil {
		t.Fatal(err)
	}
	if got := who(root); got != "['test', NONE, NONE]" {
		t.Error(got)
	}
}
