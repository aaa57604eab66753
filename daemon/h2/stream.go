package h2

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"runtime/debug"
	"time"

	"golang.org/x/net/http2"
)

// stream is one request and its answer. The fields of the middle part are guarded by conn.mu.
type stream struct {
	conn     *conn
	id       uint32
	req      *http.Request
	cancel   context.CancelFunc
	readable chan struct{} // one token: look again
	roomy    chan struct{} // likewise
	tooLarge bool          // its head is
	length   int64         // of the body, as stated; -1: it is not

	send, recv, owed int64 // as in conn
	body             []byte
	off              int   // of body that has been read
	came             int64 // bytes of the body
	ended            bool  // the client sends no more
	expects          bool  // the client waits for 100 Continue
	deaf             bool  // nothing reads the body
	err              error // why the stream is gone
	readBy, writeBy  time.Time

	response // the handler's
}

var (
	noDeadline time.Time
	errReset   = errors.New("the client has given the request up")
	errDeaf    = errors.New("the body of a request is read after its end")
)

// gone ends a stream that the other side, or an error, has closed; conn.mu is held.
func (st *stream) gone(err error) {
	if st.err == nil {
		st.err = err
	}
	st.drop()
	st.cancel()
	wake(st.readable)
	wake(st.roomy)
}

// drop gives up what waits of the body; conn.mu is held.
func (st *stream) drop() {
	st.deaf = true
	st.conn.read(int64(len(st.body) - st.off))
	st.body, st.off = nil, 0
}

// run runs the handler.
func (st *stream) run() {
	whole := false
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler {
			st.conn.srv.log.Error("panic in a handler", "panic", p, "stack", string(debug.Stack()))
		}
		st.finish(whole)
	}()
	switch {
	case st.req.Context().Err() != nil: // it was given up before it began
	case st.tooLarge:
		st.WriteHeader(http.StatusRequestHeaderFieldsTooLarge)
	default:
		st.conn.handler.ServeHTTP(writer{st}, st.req)
	}
	whole = true
}

// finish ends the answer, and the stream.
func (st *stream) finish(whole bool) {
	c := st.conn
	c.mu.Lock()
	if st.err == nil && whole {
		// A client that takes no bytes must not hold the worker: no handler sets a deadline any more.
		st.writeBy = time.Now().Add(c.srv.limits.SendTimeout)
		whole = st.last() == nil
	}
	if st.err == nil {
		switch {
		case !whole:
			_ = c.out.WriteRSTStream(st.id, http2.ErrCodeInternal)
		case !st.ended:
			_ = c.out.WriteRSTStream(st.id, http2.ErrCodeNo) // the rest of the body is not wanted
		}
		st.err = errDeaf
		delete(c.streams, st.id)
	}
	st.drop()
	if c.running--; c.running == 0 {
		c.idle = time.Now()
		if c.draining {
			c.leave()
		}
	}
	c.flush()
	c.mu.Unlock()
	st.cancel()
	if st.store != nil {
		bodies.Put(st.store)
		st.store, st.buf = nil, nil
	}
}

// read gives n bytes of the window of the stream back; conn.mu is held.
func (st *stream) read(n int64) {
	if st.owed += n; st.owed >= int64(st.conn.srv.limits.Window/2) && !st.ended && st.err == nil {
		st.recv += st.owed
		_ = st.conn.out.WriteWindowUpdate(st.id, uint32(st.owed))
		st.owed = 0
	}
}

// body is the body of a request.
type body stream

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	st := (*stream)(b)
	c := st.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		switch {
		case st.off < len(st.body):
			n := copy(p, st.body[st.off:])
			if st.off += n; st.off == len(st.body) {
				st.body, st.off = st.body[:0], 0
			}
			c.read(int64(n))
			st.read(int64(n))
			if len(c.pending.b) > 0 {
				c.flush()
			}
			return n, nil
		case st.err != nil:
			return 0, st.err
		case st.ended:
			return 0, io.EOF
		case st.deaf:
			return 0, errDeaf
		case len(p) == 0:
			return 0, nil
		}
		if st.expects {
			st.expects = false
			if !st.begun {
				st.interim(http.StatusContinue, nil)
			}
			c.flush()
			continue
		}
		if !st.await(st.readable, &st.readBy) {
			return 0, os.ErrDeadlineExceeded
		}
	}
}

// await waits for a token; false: the deadline has passed. conn.mu is held, but not while it waits.
func (st *stream) await(ch chan struct{}, deadline *time.Time) bool {
	c := st.conn
	var late <-chan time.Time
	if !deadline.IsZero() {
		left := time.Until(*deadline)
		if left <= 0 {
			return false
		}
		t := time.NewTimer(left)
		defer t.Stop()
		late = t.C
	}
	c.mu.Unlock()
	select {
	case <-ch:
	case <-late: // the deadline may have moved
	}
	c.mu.Lock()
	return true
}

// Close implements io.Closer: the rest of the body is not wanted.
func (b *body) Close() error {
	st := (*stream)(b)
	st.conn.mu.Lock()
	defer st.conn.mu.Unlock()
	st.drop()
	return nil
}
