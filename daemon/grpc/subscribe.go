package grpc

import (
	"context"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/parse"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/protobuf"
	"github.com/nacredb/nacre/internal/wire"
)

// notes remembers a live query that the call has made.
func (c *call) notes(id value.UUID) {
	if s, release, err := c.entry.conn.Engine(c.session); err == nil {
		release()
		c.srv.feeds.made(id, s)
	}
}

// subscription holds the wishes of a SubscribeRequest.
type subscription struct {
	id       *value.UUID
	register []byte // a LiveQueryRegistration
	resume   bool
}

func subscriptionIn(message []byte) (want subscription, err error) {
	for s := protobuf.Fields(message); ; {
		more, err := s.Next()
		if err != nil || !more {
			return want, err
		}
		switch {
		case s.B == nil:
		case s.Num == 2:
			want.register = nil
			want.id, err = uuidIn(s.B)
		case s.Num == 3:
			want.id, want.register = nil, s.B
		case s.Num == 4:
			want.resume = true
		}
		if err != nil {
			return want, err
		}
	}
}

func subscribe(c *call, message []byte) error {
	want, err := subscriptionIn(message)
	if err != nil {
		return err
	}
	session, release, err := c.entry.conn.Engine(c.session)
	if err != nil {
		return err
	}
	defer release()
	if err := session.MayAct(); err != nil {
		return err
	}
	if err := session.MayEnter(); err != nil {
		return err
	}
	var s *subscriber
	var id value.UUID
	switch {
	case want.id != nil:
		id = *want.id
		if s, err = c.srv.feeds.attach(id, session); err != nil {
			return err
		}
	case want.register != nil:
		if id, s, err = c.register(session, want.register); err != nil {
			return err
		}
		defer c.kill(session, id)
	default:
		return errs.InvalidParams("Set live_query_id or query")
	}
	defer c.srv.feeds.leave(id, s)
	return c.follow(id, s, want.resume)
}

// register makes a live query and subscribes to it: nothing that happens in between is lost.
func (c *call) register(session *engine.Session, registration []byte) (id value.UUID, s *subscriber, err error) {
	t, err := c.textIn(registration, 1, 2, func(*protobuf.Scan) error { return nil })
	if err != nil {
		return id, nil, err
	}
	if err := parse.SingleLive(t.query, parse.Options{}); err != nil {
		return id, nil, err
	}
	s = c.srv.feeds.open(session.ID())
	one := &liveID{c: c}
	failed := c.entry.conn.Feed(c.ctx, c.request(t), one)
	if failed == nil {
		failed = one.err
	}
	if failed == nil && !one.made {
		failed = errs.As(errNoRegistration)
	}
	c.srv.feeds.opened(s, session.ID(), one.id, failed == nil)
	if failed != nil {
		return id, nil, failed
	}
	return one.id, s, nil
}

// liveID is an engine.Sink for one LIVE SELECT.
type liveID struct {
	c    *call
	id   value.UUID
	made bool
	err  *errs.Error
}

// Begin implements engine.Sink.
func (l *liveID) Begin(int) error { return nil }

// Rows implements engine.Sink.
func (l *liveID) Rows(int, []value.Value) error { return nil }

// Finished implements engine.Sink.
func (l *liveID) Finished(_ int, r *engine.Result, _ bool) error {
	if l.err = r.Err; r.Err == nil && r.Type == "live" && r.Value.Kind() == value.KindUUID {
		l.id, l.made = r.Value.UUID(), true
		l.c.notes(l.id)
	}
	return nil
}

// kill ends the live query of a stream that has ended: others that have subscribed to it end with it.
func (c *call) kill(session *engine.Session, id value.UUID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), closeGrace)
	defer cancel()
	kill := &wire.Request{Method: "kill", Params: []value.Value{value.UUIDOf(id)}, Session: c.session,
		Format: wire.CBOR}
	c.srv.feeds.end(id, endKilled, nil)
	// It may be gone already, with its table or its session.
	if resp := c.entry.conn.Call(ctx, kill); resp.Err != nil {
		c.srv.Log.Debug("end of a live query", "session", session.ID().String(), "err", resp.Err)
	}
}

// cursor is a LiveQueryCursor.
func cursor(b []byte, field protowire.Number, commit, seq uint64) []byte {
	b, at := protobuf.Open(b, field)
	b = protobuf.AppendUint(b, 1, commit)
	return protobuf.Seal(protobuf.AppendUint(b, 2, seq), at)
}

// follow sends what a subscriber is told until its subscription ends.
func (c *call) follow(id value.UUID, s *subscriber, resume bool) error {
	commit, seq := uint64(c.srv.RPC.Engine.Stats().Version), uint64(0)
	err := c.out.message(func(b []byte) ([]byte, error) {
		b, at := protobuf.Open(b, 1)
		b = protobuf.AppendUUID(b, 1, value.UUIDv7(value.Datetime{Secs: time.Now().Unix()}))
		b = protobuf.AppendUUID(b, 2, id)
		return protobuf.Seal(cursor(b, 3, commit, seq), at), nil
	})
	if err != nil {
		return err
	}
	if resume { // no changes are kept
		return c.endSubscription(endCursorTooOld, commit, seq)
	}
	for {
		queue, ended, failed := s.take()
		for i := range queue {
			n := &queue[i]
			commit, seq = n.commit, n.seq
			if len(n.body)+batchRoom > c.srv.Limits.Message {
				return c.failSubscription(errs.With(errs.KindSerialization, "Serialization", nil,
					"A notification has %d bytes, more than a message may have: raise SERVICE_GRPC_MAX_MESSAGE_SIZE, or select less", len(n.body)))
			}
			if err := c.notify(id, n); err != nil {
				return err
			}
		}
		switch {
		case failed != nil:
			return c.failSubscription(failed)
		case ended != 0:
			return c.endSubscription(ended, commit, seq)
		}
		select {
		case <-s.wake:
		case <-c.ctx.Done():
			return context.Cause(c.ctx)
		}
		if err := c.out.lost(); err != nil {
			return err
		}
	}
}

func (c *call) notify(id value.UUID, n *note) error {
	return c.out.message(func(b []byte) ([]byte, error) {
		b, at := protobuf.Open(b, 2)
		b = protobuf.AppendUUID(b, 1, id)
		b = protobuf.AppendUint(b, 2, n.action)
		b = append(b, n.body...)
		return protobuf.Seal(cursor(b, 5, n.commit, n.seq), at), nil
	})
}

func (c *call) endSubscription(reason, commit, seq uint64) error {
	return c.out.message(func(b []byte) ([]byte, error) {
		b, at := protobuf.Open(b, 3)
		b = protobuf.AppendUint(b, 1, reason)
		return protobuf.Seal(cursor(b, 2, commit, seq), at), nil
	})
}

// failSubscription sends the error frame: what was missed can be read, so trying again is in order.
func (c *call) failSubscription(e *errs.Error) error {
	return c.out.message(func(b []byte) ([]byte, error) {
		b, at := protobuf.Open(b, 4)
		return protobuf.Seal(protobuf.AppendError(b, e, &protobuf.Hint{}), at), nil
	})
}
