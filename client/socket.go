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
	failed  error // why no more calls can be made
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
	s := &socket{conn: conn, done: make(chan struct{}), waiting: map[string]chan answer{}}
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
		v, err := value.DecodeCBORValue(b, value.Limits{Own: true})
		if err != nil || v.Kind() != value.KindObject {
			s.fail(fmt.Errorf("%w: the answer is not a CBOR object", ErrUnreachable))
			return
		}
		s.deliver(v.Object())
	}
}

// deliver hands an answer to its call. Live notifications have no id and no taker here.
func (s *socket) deliver(o *value.Object) {
	id := text(o, "id")
	s.mu.Lock()
	ch, ok := s.waiting[id]
	delete(s.waiting, id)
	s.mu.Unlock()
	if ok {
		v, err := unwrap(o)
		ch <- answer{v, err}
	}
}

// DecodeAnswer reads a response envelope in CBOR and gives the result in it, or its error.
func DecodeAnswer(b []byte) (value.Value, error) {
	v, err := value.DecodeCBORValue(b, value.Limits{Own: true})
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
	}
}

// Call implements Transport.
func (s *socket) Call(ctx context.Context, method string, params []value.Value) (value.Value, error) {
	s.mu.Lock()
	if s.failed != nil {
		defer s.mu.Unlock()
		return value.None, s.failed
	}
	s.next++
	id := strconv.FormatUint(s.next, 36)
	ch := make(chan answer, 1)
	s.waiting[id] = ch
	s.mu.Unlock()

	b, err := encodeRequest(id, method, params)
	if err == nil {
		if err = s.conn.Write(ctx, websocket.MessageBinary, b); err != nil {
			err = fmt.Errorf("%w: %w", ErrUnreachable, err)
		}
	}
	if err != nil {
		s.forget(id)
		return value.None, err
	}
	select {
	case a := <-ch:
		return a.v, a.err
	case <-ctx.Done():
		s.forget(id)
		return value.None, context.Cause(ctx)
	}
}

func (s *socket) forget(id string) {
	s.mu.Lock()
	delete(s.waiting, id)
	s.mu.Unlock()
}

// encodeRequest is {id, method, params}; an empty id is left out.
func encodeRequest(id, method string, params []value.Value) ([]byte, error) {
	fields := []value.Field{{Name: "method", Value: value.Str(method)}, {Name: "params", Value: value.ArrayOf(params)}}
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
