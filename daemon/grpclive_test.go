package daemon_test

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/nacredb/nacre/daemon/config"
	"github.com/nacredb/nacre/internal/pb/rpcpb"
	"github.com/nacredb/nacre/internal/pb/valuepb"
)

type subscription = grpc.ServerStreamingClient[rpcpb.SubscribeResponse]

// watch subscribes to a LIVE SELECT, and waits until it is there.
func (c *rpcClient) watch(ctx context.Context, at *rpcpb.RequestContext, text string) (subscription, *rpcpb.SubscribeBegin) {
	c.s.t.Helper()
	return c.begun(c.Subscribe(ctx, &rpcpb.SubscribeRequest{Context: at,
		SubscribeTo: &rpcpb.SubscribeRequest_Query{Query: &rpcpb.LiveQueryRegistration{Query: text}}}))
}

// watchID subscribes to a live query that is there.
func (c *rpcClient) watchID(ctx context.Context, at *rpcpb.RequestContext, id *valuepb.Uuid) (subscription, *rpcpb.SubscribeBegin) {
	c.s.t.Helper()
	return c.begun(c.Subscribe(ctx, &rpcpb.SubscribeRequest{Context: at, SubscribeTo: &rpcpb.SubscribeRequest_LiveQueryId{LiveQueryId: id}}))
}

func (c *rpcClient) begun(stream subscription, err error) (subscription, *rpcpb.SubscribeBegin) {
	c.s.t.Helper()
	if err != nil {
		c.s.t.Fatal(err)
	}
	first, err := stream.Recv()
	if err != nil || first.GetBegin() == nil {
		c.s.t.Fatalf("%v, %v", first, err)
	}
	return stream, first.GetBegin()
}

// heard is the next frame in short.
func heard(t testing.TB, stream subscription) string {
	t.Helper()
	resp, err := stream.Recv()
	if err == io.EOF {
		return "EOF"
	}
	if err != nil {
		return err.Error()
	}
	switch f := resp.GetFrame().(type) {
	case *rpcpb.SubscribeResponse_Notification:
		n := f.Notification
		id := fromPB(t, &valuepb.Value{Value: &valuepb.Value_RecordId{RecordId: n.GetRecordId()}}).Text()
		out := strings.TrimPrefix(n.GetAction().String(), "ACTION_") + " " + id
		if n.GetValue() != nil {
			out += " " + fromPB(t, n.GetValue()).Text()
		}
		return out
	case *rpcpb.SubscribeResponse_End:
		return "end " + strings.TrimPrefix(f.End.GetReason().String(), "SUBSCRIBE_END_REASON_")
	case *rpcpb.SubscribeResponse_Error:
		return fmt.Sprintf("error %s retry:%v", f.Error.GetMessage(), f.Error.GetRetry() != nil)
	}
	return resp.String()
}

func wantHeard(t testing.TB, stream subscription, want ...string) {
	t.Helper()
	for _, w := range want {
		if got := heard(t, stream); got != w {
			t.Fatalf("got %q, want %q", got, w)
		}
	}
}

func TestGRPCSubscribe(t *testing.T) {
	s := start(t)
	c := s.grpcRoot()
	c.texts("DEFINE TABLE t")
	stream, begin := c.watch(t.Context(), nil, "LIVE SELECT * FROM t")
	diff, _ := c.watch(t.Context(), nil, "LIVE SELECT DIFF FROM t")
	other, again := c.watchID(t.Context(), nil, begin.GetLiveQueryId())
	if string(again.GetSubscriptionId().GetValue()) == string(begin.GetSubscriptionId().GetValue()) {
		t.Error("two subscriptions have one id")
	}
	c.texts("CREATE t:1 SET a = 1; UPDATE t:1 SET a = 2; DELETE t:1")
	for _, st := range []subscription{stream, other} {
		wantHeard(t, st, "CREATED t:1 { a: 1, id: t:1 }", "UPDATED t:1 { a: 2, id: t:1 }", "DELETED t:1")
	}
	if got := heard(t, diff); !strings.HasPrefix(got, "CREATED t:1 [{ op: ") {
		t.Error(got)
	}
	// KILL ends every subscriber.
	r, err := c.run(t.Context(), &rpcpb.QueryRequest{Query: "KILL $id", Variables: &valuepb.Variables{Variables: []*valuepb.KeyValue{
		{Key: "id", Value: &valuepb.Value{Value: &valuepb.Value_Uuid{Uuid: begin.GetLiveQueryId()}}}}}})
	if err != nil || r[0].err != nil || r[0].kind != rpcpb.QueryStatementKind_QUERY_STATEMENT_KIND_KILL {
		t.Fatalf("%v %v", r, err)
	}
	wantHeard(t, stream, "end KILLED", "EOF")
	wantHeard(t, other, "end KILLED", "EOF")
	// The table goes.
	c.texts("REMOVE TABLE t")
	for {
		got := heard(t, diff)
		if strings.HasPrefix(got, "UPDATED") || strings.HasPrefix(got, "DELETED") {
			continue
		}
		if got != "end KILLED" {
			t.Error(got)
		}
		break
	}
}

// A live query of Query lives on without a subscriber; one of Subscribe ends with its stream.
func TestGRPCSubscribeLives(t *testing.T) {
	s := start(t)
	c := s.grpcRoot()
	c.texts("DEFINE TABLE t")
	r, err := c.run(t.Context(), &rpcpb.QueryRequest{Query: "LIVE SELECT * FROM t"})
	if err != nil || r[0].kind != rpcpb.QueryStatementKind_QUERY_STATEMENT_KIND_LIVE {
		t.Fatalf("%v, %v", r, err)
	}
	id := r[0].values[0].GetUuid()
	for range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		c.watchID(ctx, nil, id)
		cancel()
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, begin := c.watch(ctx, nil, "LIVE SELECT * FROM t")
	follower, _ := c.watchID(t.Context(), nil, begin.GetLiveQueryId())
	cancel()
	wantHeard(t, follower, "end KILLED", "EOF")
	eventually(t, "one live query is left", func() bool { return s.stats().LiveQueries == 1 })
	_, err = first(c.Subscribe(t.Context(), &rpcpb.SubscribeRequest{
		SubscribeTo: &rpcpb.SubscribeRequest_LiveQueryId{LiveQueryId: begin.GetLiveQueryId()}}))
	wantCode(t, "a live query that is gone", err, codes.NotFound, "Live query not found")
}

// first is the first frame of a stream, or its status.
func first(stream subscription, err error) (*rpcpb.SubscribeResponse, error) {
	if err != nil {
		return nil, err
	}
	return stream.Recv()
}

func TestGRPCSubscribeRefusals(t *testing.T) {
	s := start(t)
	c := s.grpcRoot()
	c.texts("DEFINE TABLE t; DEFINE USER eve ON ROOT PASSWORD 'eve' ROLES OWNER")
	_, begin := c.watch(t.Context(), nil, "LIVE SELECT * FROM t")
	byQuery := func(text string) *rpcpb.SubscribeRequest {
		return &rpcpb.SubscribeRequest{SubscribeTo: &rpcpb.SubscribeRequest_Query{Query: &rpcpb.LiveQueryRegistration{Query: text}}}
	}
	for _, tc := range []struct {
		req  *rpcpb.SubscribeRequest
		want codes.Code
		text string
	}{
		{&rpcpb.SubscribeRequest{}, codes.InvalidArgument, "Set live_query_id or query"},
		{byQuery("SELECT * FROM t"), codes.InvalidArgument, "exactly one LIVE SELECT"},
		{byQuery("LIVE SELECT * FROM t; LIVE SELECT * FROM t"), codes.InvalidArgument, "exactly one LIVE SELECT"},
		{byQuery("CREATE t:evil; LIVE SELECT * FROM t"), codes.InvalidArgument, "exactly one LIVE SELECT"},
		{byQuery("LIVE SELECT"), codes.InvalidArgument, "Parse error"},
		{byQuery("LIVE SELECT * FROM nowhere"), codes.NotFound, "does not exist"},
	} {
		_, err := first(c.Subscribe(t.Context(), tc.req))
		wantCode(t, tc.req.String(), err, tc.want, tc.text)
	}
	if got := c.texts("SELECT * FROM t"); got[0] != "[]" {
		t.Errorf("a refused text has run: %v", got)
	}
	// Somebody else's, and one of another database, are not there.
	eve := s.grpc()
	eve.signin(nil, "eve", "eve")
	eve.use(nil, "test", "test")
	_, err := first(eve.Subscribe(t.Context(), &rpcpb.SubscribeRequest{
		SubscribeTo: &rpcpb.SubscribeRequest_LiveQueryId{LiveQueryId: begin.GetLiveQueryId()}}))
	wantCode(t, "somebody else's", err, codes.NotFound, "Live query not found")
	c.use(nil, "test", "other")
	_, err = first(c.Subscribe(t.Context(), &rpcpb.SubscribeRequest{
		SubscribeTo: &rpcpb.SubscribeRequest_LiveQueryId{LiveQueryId: begin.GetLiveQueryId()}}))
	wantCode(t, "of another database", err, codes.NotFound, "Live query not found")
	// There is no history.
	c.use(nil, "test", "test")
	stream, err := c.Subscribe(t.Context(), &rpcpb.SubscribeRequest{ResumeFrom: &rpcpb.LiveQueryCursor{Versionstamp: 1},
		SubscribeTo: &rpcpb.SubscribeRequest_LiveQueryId{LiveQueryId: begin.GetLiveQueryId()}})
	stream, _ = c.begun(stream, err)
	wantHeard(t, stream, "end CURSOR_TOO_OLD", "EOF")
}

// Sessions that end, and a server that stops, end subscriptions with their reasons.
func TestGRPCSubscribeEnds(t *testing.T) {
	s := start(t)
	c := s.grpcRoot()
	c.texts("DEFINE TABLE t")
	a, err := c.AttachSession(t.Context(), &rpcpb.AttachSessionRequest{})
	if err != nil {
		t.Fatal(err)
	}
	at := &rpcpb.RequestContext{Session: a.GetSession()}
	enter := func() {
		c.signin(at, "root", "root")
		c.use(at, "test", "test")
	}
	enter()
	stream, _ := c.watch(t.Context(), at, "LIVE SELECT * FROM t")
	if _, err := c.ResetSession(t.Context(), &rpcpb.ResetSessionRequest{Context: at}); err != nil {
		t.Fatal(err)
	}
	wantHeard(t, stream, "end SESSION_CLOSED", "EOF")
	enter()
	stream, _ = c.watch(t.Context(), at, "LIVE SELECT * FROM t")
	if _, err := c.DetachSession(t.Context(), &rpcpb.DetachSessionRequest{Context: at}); err != nil {
		t.Fatal(err)
	}
	wantHeard(t, stream, "end SESSION_CLOSED", "EOF")
	stream, _ = c.watch(t.Context(), nil, "LIVE SELECT * FROM t")
	go func() { _ = s.Close(context.Background()) }()
	wantHeard(t, stream, "end SERVER_SHUTDOWN", "EOF")
}

// A subscriber that does not read is ended with a reason; the writer does not wait for it.
func TestGRPCSlowSubscriber(t *testing.T) {
	s := start(t, func(c *config.Config) { c.Limits.GRPCNotifications = 8 })
	c := s.grpcRoot(grpc.WithStaticStreamWindowSize(64<<10), grpc.WithStaticConnWindowSize(64<<10))
	writer := s.grpcRoot()
	writer.texts("DEFINE TABLE t")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	stream, _ := c.watch(ctx, nil, "LIVE SELECT * FROM t")
	for range 64 {
		writer.texts("CREATE t SET x = rand::string(65536)")
	}
	told := 0
	for {
		got := heard(t, stream)
		if strings.HasPrefix(got, "CREATED") {
			told++
			continue
		}
		if got != "error The subscription ended because its client does not keep up retry:true" {
			t.Errorf("after %d notifications: %.200s", told, got)
		}
		break
	}
	eventually(t, "the live query is gone", func() bool { return s.stats().LiveQueries == 0 })
}

// An operator who ends a session ends its subscriptions and its statements, and the connection that it has for itself.
func TestGRPCEndedSession(t *testing.T) {
	s := start(t)
	operator := s.grpcRoot()
	ids := func(mine map[string]bool) (fresh []string) {
		t.Helper()
		r := s.do("POST", "/rpc", `{"id":1,"method":"processes","params":[]}`, append(at(), "Content-Type: application/json", "Accept: application/json")...)
		for _, id := range sessionIDs.FindAllStringSubmatch(r.body, -1) {
			if !mine[id[1]] {
				fresh = append(fresh, id[1])
			}
		}
		return fresh
	}
	_ = operator.texts("DEFINE TABLE t")
	known := map[string]bool{}
	for _, id := range ids(nil) {
		known[id] = true
	}
	for _, attached := range []bool{false, true} {
		c := s.grpcRoot()
		var ctx *rpcpb.RequestContext
		if attached {
			a, err := c.AttachSession(t.Context(), &rpcpb.AttachSessionRequest{})
			if err != nil {
				t.Fatal(err)
			}
			ctx = &rpcpb.RequestContext{Session: a.GetSession()}
			c.signin(ctx, "root", "root")
			c.use(ctx, "test", "test")
		}
		stream, _ := c.watch(t.Context(), ctx, "LIVE SELECT * FROM t")
		slept := make(chan error, 1)
		go func() {
			results, err := c.run(t.Context(), &rpcpb.QueryRequest{Context: ctx, Query: "SLEEP 1h"})
			if err == nil && results[0].err == nil {
				err = io.EOF
			}
			slept <- err
		}()
		var fresh []string
		eventually(t, "the statement runs", func() bool {
			fresh = ids(known)
			return len(fresh) > 0
		})
		for _, id := range fresh {
			r := s.do("POST", "/rpc", `{"id":1,"method":"terminate","params":["`+id+`"]}`, append(at(), "Content-Type: application/json", "Accept: application/json")...)
			if r.StatusCode != 200 {
				t.Fatalf("%d %s", r.StatusCode, r.body)
			}
		}
		for got := ""; ; {
			got = heard(t, stream)
			if got == "end SESSION_CLOSED" || got == "end KILLED" || strings.Contains(got, "rror") || got == "EOF" {
				break
			}
		}
		if err := <-slept; err == io.EOF {
			t.Errorf("attached %v: the statement of an ended session goes on", attached)
		}
		if attached {
			_, err := c.run(t.Context(), &rpcpb.QueryRequest{Context: ctx, Query: "RETURN 1"})
			wantCode(t, "an ended session", err, codes.NotFound, "Session not found")
			again, err := c.AttachSession(t.Context(), &rpcpb.AttachSessionRequest{Context: ctx})
			if err != nil || !again.GetCreated() {
				t.Errorf("attached again: %v, %v", again, err)
			}
		}
		_ = c.conn.Close()
	}
}

var sessionIDs = regexp.MustCompile(`"id":"([0-9a-f-]{36})"`)
