package daemon_test

import (
	"context"
	"encoding/hex"
	"io"
	"strings"

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
	c.s.t.Fatalf("no such method: %s", action)
	return outcome{}
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
