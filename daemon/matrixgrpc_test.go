package daemon_test

import (
	"context"
	"encoding/hex"
	"io"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"lukechampine.com/blake3"

	"github.com/nacredb/nacre/internal/pb/rpcpb"
	"github.com/nacredb/nacre/internal/pb/valuepb"
)

// ofGRPC is the outcome of a call that failed as a whole.
func (c *caller) ofGRPC(err error) outcome {
	return outcome{kind: kindName(detailsOf(c.s.t, err)), msg: status.Convert(err).Message(), raw: status.Convert(err).Proto().String()}
}

// kindName is the name of a kind in the other formats.
func kindName(e *valuepb.SurrealError) string {
	var b strings.Builder
	for word := range strings.SplitSeq(strings.TrimPrefix(e.GetKind().String(), "ERROR_KIND_"), "_") {
		b.WriteString(word[:1] + strings.ToLower(word[1:]))
	}
	return b.String()
}

// dialGRPC opens a connection for the caller: another one for another place, which stays selected on a connection.
func (c *caller) dialGRPC(r *row) {
	if c.rpc != nil && (r.place == "" || c.place != r.place) {
		c.leave()
		c.rpc = nil
	}
	if c.rpc == nil {
		c.rpc, c.place = c.s.grpc(), r.place
		c.leave = func() { _ = c.rpc.conn.Close() }
	}
}

// ctxGRPC has the headers of the caller.
func (c *caller) ctxGRPC(r *row) context.Context {
	c.dialGRPC(r)
	var pairs []string
	for _, h := range c.headers(r.place) {
		name, v, _ := strings.Cut(h, ": ")
		pairs = append(pairs, strings.ToLower(name), v)
	}
	return metadata.AppendToOutgoingContext(c.s.t.Context(), pairs...)
}

// query runs a text: the last statement counts.
func (c *caller) query(ctx context.Context, at *rpcpb.RequestContext, text string) outcome {
	results, err := c.rpc.run(ctx, &rpcpb.QueryRequest{Context: at, Query: text})
	if err != nil {
		return c.ofGRPC(err)
	}
	var raw strings.Builder
	for _, r := range results {
		for _, v := range r.values {
			b, _ := proto.Marshal(v)
			raw.Write(b)
		}
	}
	last := results[len(results)-1]
	o := outcome{raw: raw.String(), empty: true}
	if last.err != nil {
		o.kind, o.msg, o.raw = kindName(last.err), last.err.GetMessage(), o.raw+last.err.String()
		return o
	}
	for _, v := range last.values {
		x := fromPB(c.s.t, v)
		o.empty = o.empty && emptyValue(x)
		o.answer = x.Text()
	}
	return o
}

func (c *caller) grpcHeaders(r *row, text string) outcome {
	return c.query(c.ctxGRPC(r), nil, text)
}

// enterGRPC attaches a session that has the caller's identity and place.
func (c *caller) enterGRPC(r *row) (at *rpcpb.RequestContext, bad outcome, ok bool) {
	c.dialGRPC(r)
	ctx := c.s.t.Context()
	a, err := c.rpc.AttachSession(ctx, &rpcpb.AttachSessionRequest{})
	if err != nil {
		return nil, c.ofGRPC(err), false
	}
	at = &rpcpb.RequestContext{Session: a.GetSession()}
	if c.who.token != "" {
		if _, err := c.rpc.Authenticate(ctx, &rpcpb.AuthenticateRequest{Context: at, Token: c.who.token}); err != nil {
			return at, c.ofGRPC(err), false
		}
	}
	if ns, db, there := strings.Cut(r.place, "/"); there {
		if _, err := c.rpc.Use(ctx, &rpcpb.UseRequest{Context: at, Namespace: some(ns), Database: some(db)}); err != nil {
			return at, c.ofGRPC(err), false
		}
	}
	return at, outcome{}, true
}

func (c *caller) detachGRPC(at *rpcpb.RequestContext) {
	if at == nil {
		return
	}
	at.Transaction = nil
	if _, err := c.rpc.DetachSession(c.s.t.Context(), &rpcpb.DetachSessionRequest{Context: at}); err != nil {
		c.s.t.Error(err)
	}
}

func (c *caller) grpcSession(r *row, text string) outcome {
	at, bad, ok := c.enterGRPC(r)
	defer c.detachGRPC(at)
	if !ok {
		return bad
	}
	return c.query(c.s.t.Context(), at, text)
}

func (c *caller) grpcTransaction(r *row, text string) outcome {
	ctx := c.ctxGRPC(r)
	begun, err := c.rpc.BeginTransaction(ctx, &rpcpb.BeginTransactionRequest{})
	if err != nil {
		return c.ofGRPC(err)
	}
	at := &rpcpb.RequestContext{Transaction: begun.GetTransaction()}
	o := c.query(ctx, at, text)
	_, err = c.rpc.CommitTransaction(ctx, &rpcpb.CommitTransactionRequest{Context: at})
	if err != nil && o.msg == "" {
		return c.ofGRPC(err)
	}
	return o
}

// grpcMethod is a method and what it is about.
func (c *caller) grpcMethod(r *row, action string) outcome {
	method, rest, _ := strings.Cut(action, " ")
	ctx := c.ctxGRPC(r)
	switch method {
	case "ImportSql":
		if err := c.rpc.importText(ctx, rest); err != nil {
			return c.ofGRPC(err)
		}
		return outcome{}
	case "ExportSql":
		stream, err := c.rpc.ExportSql(ctx, &rpcpb.ExportSqlRequest{})
		return c.exported(err, func() (proto.Message, error) { return stream.Recv() })
	case "ExportDirectory":
		stream, err := c.rpc.ExportDirectory(ctx, &rpcpb.ExportDirectoryRequest{})
		return c.exported(err, func() (proto.Message, error) { return stream.Recv() })
	case "ExportMlModel":
		stream, err := c.rpc.ExportMlModel(ctx, &rpcpb.ExportMlModelRequest{Name: rest, Version: "1.0.0"})
		return c.exported(err, func() (proto.Message, error) { return stream.Recv() })
	case "Subscribe":
		return c.subscribed(ctx, rest)
	case "CommitTransaction", "CancelTransaction":
		return c.endsAnother(ctx, method)
	case "BeginTransaction":
		begun, err := c.rpc.BeginTransaction(ctx, &rpcpb.BeginTransactionRequest{})
		if err != nil {
			return c.ofGRPC(err)
		}
		at := &rpcpb.RequestContext{Transaction: begun.GetTransaction()}
		if _, err := c.rpc.CancelTransaction(ctx, &rpcpb.CancelTransactionRequest{Context: at}); err != nil {
			return c.ofGRPC(err)
		}
		return outcome{answer: "a transaction"}
	}
	if err := c.grpcUnary(ctx, method, strings.Fields(rest)); err != nil {
		return c.ofGRPC(err)
	}
	return outcome{answer: "done"}
}

// grpcUnary calls a method whose answer says nothing of the scene.
func (c *caller) grpcUnary(ctx context.Context, method string, args []string) (err error) {
	switch method {
	case "GetCapabilities":
		_, err = c.rpc.GetCapabilities(ctx, &rpcpb.GetCapabilitiesRequest{})
	case "Health":
		_, err = c.rpc.Health(ctx, &rpcpb.HealthRequest{})
	case "AttachSession", "DetachSession", "ResetSession":
		err = c.inSession(ctx, method)
	case "Use":
		_, err = c.rpc.Use(ctx, &rpcpb.UseRequest{Namespace: some(args[0]), Database: some(args[1])})
	case "SetVariable":
		_, err = c.rpc.SetVariable(ctx, &rpcpb.SetVariableRequest{Name: args[0], Value: toPB(c.s.t, args[1])})
	case "UnsetVariable":
		_, err = c.rpc.UnsetVariable(ctx, &rpcpb.UnsetVariableRequest{Name: args[0]})
	case "Signin":
		_, err = c.rpc.Signin(ctx, signinAs(args[0], args[1]))
	case "Signup":
		_, err = c.rpc.Signup(ctx, &rpcpb.SignupRequest{Credentials: &rpcpb.RecordCredentials{Namespace: "n", Database: "d",
			Access: "acc", Variables: &valuepb.Variables{Variables: []*valuepb.KeyValue{{Key: "pass", Value: toPB(c.s.t, "'z'")}}}}})
	case "Authenticate":
		_, err = c.rpc.Authenticate(ctx, &rpcpb.AuthenticateRequest{Token: c.s.users[args[0]].token})
	case "RefreshTokens":
		_, err = c.rpc.RefreshTokens(ctx, &rpcpb.RefreshTokensRequest{Refresh: args[0]})
	case "RevokeTokens":
		resp, bad := c.s.grpc().Signin(ctx, signinAs("dv", "p"))
		if bad != nil {
			return bad
		}
		_, err = c.rpc.RevokeTokens(ctx, &rpcpb.RevokeTokensRequest{Access: resp.GetTokens().GetAccess()})
	case "Invalidate":
		_, err = c.rpc.Invalidate(ctx, &rpcpb.InvalidateRequest{})
	default:
		c.s.t.Fatalf("no such method: %s", method)
	}
	return err
}

// signinAs are the credentials of a user of n/d.
func signinAs(user, pass string) *rpcpb.SigninRequest {
	return &rpcpb.SigninRequest{AccessMethod: &rpcpb.AccessMethod{Method: &rpcpb.AccessMethod_User{
		User: &rpcpb.UserCredentials{Namespace: "n", Database: "d", Username: user, Password: pass}}}}
}

// inSession attaches a session, calls a method on it, and detaches it.
func (c *caller) inSession(ctx context.Context, method string) error {
	a, err := c.rpc.AttachSession(ctx, &rpcpb.AttachSessionRequest{})
	if err != nil {
		return err
	}
	at := &rpcpb.RequestContext{Session: a.GetSession()}
	if method == "ResetSession" {
		if _, err := c.rpc.ResetSession(ctx, &rpcpb.ResetSessionRequest{Context: at}); err != nil {
			return err
		}
	}
	_, err = c.rpc.DetachSession(ctx, &rpcpb.DetachSessionRequest{Context: at})
	return err
}

// endsAnother tries to end a transaction of somebody else.
func (c *caller) endsAnother(ctx context.Context, method string) outcome {
	other := c.s.grpc()
	defer func() { _ = other.conn.Close() }()
	signin := &rpcpb.SigninRequest{AccessMethod: &rpcpb.AccessMethod{Method: &rpcpb.AccessMethod_User{
		User: &rpcpb.UserCredentials{Username: "ro", Password: "p"}}}}
	if _, err := other.Signin(c.s.t.Context(), signin); err != nil {
		c.s.t.Fatal(err)
	}
	begun, err := other.BeginTransaction(c.s.t.Context(), &rpcpb.BeginTransactionRequest{})
	if err != nil {
		c.s.t.Fatal(err)
	}
	at := &rpcpb.RequestContext{Transaction: begun.GetTransaction()}
	if method == "CommitTransaction" {
		_, err = c.rpc.CommitTransaction(ctx, &rpcpb.CommitTransactionRequest{Context: at})
	} else {
		_, err = c.rpc.CancelTransaction(ctx, &rpcpb.CancelTransactionRequest{Context: at})
	}
	if err == nil {
		return outcome{answer: "the transaction of another"}
	}
	o := c.ofGRPC(err)
	if status.Code(err) == codes.NotFound {
		o.status = 404
	}
	return o
}

// The matrix has every method of the service; what Query does is in the section of statements.
func TestMatrixHasEveryMethodOfGRPC(t *testing.T) {
	there := map[string]bool{"Query": true}
	for _, r := range readMatrix(t).rows {
		if r.section == "grpc" {
			method, _, _ := strings.Cut(r.action, " ")
			there[method] = true
		}
	}
	methods := rpcpb.File_protocol_rpc_v1_rpc_proto.Services().ByName("Service").Methods()
	for i := range methods.Len() {
		if name := string(methods.Get(i).Name()); !there[name] {
			t.Errorf("the matrix does not have %s", name)
		}
	}
}

func (c *caller) exported(err error, next func() (proto.Message, error)) outcome {
	var raw strings.Builder
	for err == nil {
		var m proto.Message
		if m, err = next(); err == nil {
			b, _ := proto.Marshal(m)
			raw.Write(b)
		}
	}
	if err != io.EOF {
		return c.ofGRPC(err)
	}
	return outcome{answer: raw.String(), raw: raw.String()}
}

// subscribed is the first frame of a subscription.
func (c *caller) subscribed(ctx context.Context, text string) outcome {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.rpc.Subscribe(ctx, &rpcpb.SubscribeRequest{
		SubscribeTo: &rpcpb.SubscribeRequest_Query{Query: &rpcpb.LiveQueryRegistration{Query: text}}})
	if err != nil {
		return c.ofGRPC(err)
	}
	first, err := stream.Recv()
	if err != nil {
		return c.ofGRPC(err)
	}
	return outcome{answer: first.String(), raw: first.String()}
}

// importText imports a text in small chunks.
func (c *rpcClient) importText(ctx context.Context, text string) error {
	stream, err := c.ImportSql(ctx)
	if err != nil {
		return err
	}
	sum := blake3.Sum256([]byte(text))
	frames := []*rpcpb.ImportSqlRequest{{Frame: &rpcpb.ImportSqlRequest_Begin{Begin: &rpcpb.ImportSqlBegin{}}}}
	for rest := text; rest != ""; {
		n := min(len(rest), 1000)
		frames = append(frames, importChunk(rest[:n]))
		rest = rest[n:]
	}
	frames = append(frames, importTrailer(uint64(len(text)), hex.EncodeToString(sum[:])))
	for _, f := range frames {
		if stream.Send(f) != nil {
			break // the answer says why
		}
	}
	_, err = stream.CloseAndRecv()
	return err
}

func importChunk(text string) *rpcpb.ImportSqlRequest {
	return &rpcpb.ImportSqlRequest{Frame: &rpcpb.ImportSqlRequest_Chunk{Chunk: &rpcpb.DataChunk{Data: []byte(text)}}}
}

func importTrailer(bytes uint64, sum string) *rpcpb.ImportSqlRequest {
	return &rpcpb.ImportSqlRequest{Frame: &rpcpb.ImportSqlRequest_Trailer{Trailer: &rpcpb.DataTrailer{Bytes: bytes, Blake3: sum}}}
}
