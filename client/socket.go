package client

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"sync"

	"github.com/coder/websocket"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// socket is a WebSocket transport. One goroutine (receive) reads until the connection ends and
// hands each answer to the call that waits for it; Close stops it.
type socket struct {
	conn *websocket.Conn
	done chan struct{} // closed when receive has ended

	mu      sync.Mutex // guards the rest; a leaf lock, never held across a send
	next    uint64
	waiting map[string]chan answer
	streams map[string]*gathering // those of waiting whose answers come in frames
	failed  error                 // why no more calls can be made
	notify  func(Notification)
}

type answer struct {
	v   value.Value
	err error
}

func dialSocket(ctx context.Context, base *url.URL, opt Options) (*socket, error) {
	u := *base
	u.Scheme = "ws" + u.Scheme[len("http"):]
	u.Path += "/rpc"
	conn, _, err := websocket.Dial(ctx, u.String(),
		&websocket.DialOptions{Subprotocols: []string{"cbor"}, HTTPClient: opt.HTTP})
	if err != nil {
		return nil, fmt.Errorf("%w: connect to %s: %w", ErrUnreachable, base.Host, err)
	}
	conn.SetReadLimit(opt.MaxMessage)
	s := &socket{conn: conn, done: make(chan struct{}), waiting: map[string]chan answer{},
		streams: map[string]*gathering{}, notify: opt.Notify}
	go s.receive()
	return s, nil
}

// receive owns the reading side until the connection ends.
func (s *socket) receive() {
	defer close(s.done)
	for {
		_, b, err := s.conn.Read(context.Background())
		if err != nil {
			s.fail(fmt.Errorf("%w: %w", ErrUnreachable, err))
			return
		}
		v, err := value.DecodeCBORValue(b, value.DecodeLimits{Own: true})
		if err != nil || v.Kind() != value.KindObject {
			s.fail(fmt.Errorf("%w: the answer is not a CBOR object", ErrUnreachable))
			return
		}
		s.deliver(v.Object())
	}
}

// deliver hands an answer to its call, and a notification, which has no id, to who is told of them.
func (s *socket) deliver(o *value.Object) {
	id := text(o, "id")
	if id == "" {
		s.tell(o)
		return
	}
	v, err := unwrap(o)
	s.mu.Lock()
	defer s.mu.Unlock()
	ch, ok := s.waiting[id]
	if !ok {
		return // its call has gone away
	}
	if g := s.streams[id]; g != nil && err == nil {
		var whole bool
		if v, whole, err = g.frame(v); err == nil && !whole {
			return
		}
	}
	delete(s.waiting, id)
	delete(s.streams, id)
	ch <- answer{v, err}
}

// tell hands on a notification.
func (s *socket) tell(o *value.Object) {
	r, ok := o.Get("result")
	if s.notify == nil || !ok || r.Kind() != value.KindObject {
		return
	}
	n := Notification{Action: text(r.Object(), "action")}
	n.Live, _ = r.Object().Get("id")
	n.Record, _ = r.Object().Get("record")
	n.Result, _ = r.Object().Get("result")
	s.notify(n)
}

// DecodeAnswer reads a response envelope in CBOR and gives the result in it, or its error.
func DecodeAnswer(b []byte) (value.Value, error) {
	v, err := value.DecodeCBORValue(b, value.DecodeLimits{Own: true})
	if err != nil || v.Kind() != value.KindObject {
		return value.None, fmt.Errorf("%w: the answer is not a CBOR object", ErrUnreachable)
	}
	return unwrap(v.Object())
}

// unwrap gives the result in a response envelope, or its error.
func unwrap(o *value.Object) (value.Value, error) {
	if e, ok := o.Get("error"); ok && e.Kind() == value.KindObject {
		return value.None, errorOf(e.Object(), "message")
	}
	v, _ := o.Get("result")
	return v, nil
}

func (s *socket) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		s.failed = err
	}
	for id, ch := range s.waiting {
		ch <- answer{err: s.failed}
		delete(s.waiting, id)
		delete(s.streams, id)
	}
}

// lost is why no more calls can be made; nil while they can.
func (s *socket) lost() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// send sends a request and gives its id and where its answer will come.
func (s *socket) send(ctx context.Context, req Request, g *gathering) (string, chan answer, error) {
	s.mu.Lock()
	if s.failed != nil {
		defer s.mu.Unlock()
		return "", nil, s.failed
	}
	s.next++
	id := strconv.FormatUint(s.next, 36)
	ch := make(chan answer, 1)
	s.waiting[id] = ch
	if g != nil {
		s.streams[id] = g
	}
	s.mu.Unlock()

	b, err := encodeRequest(id, req)
	if err == nil {
		if err = s.conn.Write(ctx, websocket.MessageBinary, b); err != nil {
			err = fmt.Errorf("%w: %w", ErrUnreachable, err)
		}
	}
	if err != nil {
		s.forget(id)
		return "", nil, err
	}
	return id, ch, nil
}

// Call implements Transport.
func (s *socket) Call(ctx context.Context, req Request) (value.Value, error) {
	id, ch, err := s.send(ctx, req, nil)
	if err != nil {
		return value.None, err
	}
	select {
	case a := <-ch:
		return a.v, a.err
	case <-ctx.Done():
	}
	if req.Method == "gql" {
		s.stop(ctx, id, ch)
	}
	s.forget(id)
	return value.None, context.Cause(ctx)
}

func (s *socket) forget(id string) {
	s.mu.Lock()
	delete(s.waiting, id)
	delete(s.streams, id)
	s.mu.Unlock()
}

// encodeRequest is {id, method, params, txn}; an empty id and no transaction are left out.
func encodeRequest(id string, req Request) ([]byte, error) {
	fields := []value.Field{{Name: "method", Value: value.Str(req.Method)},
		{Name: "params", Value: value.ArrayOf(req.Params)}}
	if req.Txn != nil {
		fields = append(fields, value.Field{Name: "txn", Value: value.UUIDOf(*req.Txn)})
	}
	if id != "" {
		fields = append(fields, value.Field{Name: "id", Value: value.Str(id)})
	}
	b, err := value.AppendCBOR(nil, value.ObjectOf(value.NewObject(fields...)))
	if err != nil {
		return nil, errs.Validation("These parameters cannot be sent: %v", err)
	}
	return b, nil
}

// Close implements Transport.
func (s *socket) Close() error {
	// The other side may be gone already: then there is nothing left to close.
	_ = s.conn.Close(websocket.StatusNormalClosure, "")
	<-s.done
	return nil
}
