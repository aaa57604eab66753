package ws

import (
	"context"
	"net/http"
	"runtime/debug"
	"strings"

	"github.com/coder/websocket"
)

// Protocol gives the messages of a connection their meaning where they are neither RPC nor bare statements. Take and
// Known are called by the reader of the connection alone.
type Protocol interface {
	// Take takes the next message, which is good until it returns. It gives the work that the message asks for; nil:
	// none. Messages are taken in order, while the work of those before goes on.
	Take(b []byte) (work func(ctx context.Context))
	// Known reports whether the client has an identity, or needs none.
	Known() bool
	// Done is called when the connection has ended and no work runs.
	Done()
}

// Frames is how a Protocol answers.
type Frames struct{ c *conn }

// Send sends a message of text. It waits while too much is queued.
func (f *Frames) Send(b []byte) {
	m := messages.Get().(*[]byte)
	*m = append((*m)[:0], b...)
	f.c.post(m)
}

// Close closes the connection with a code and a reason, without waiting.
func (f *Frames) Close(code int, reason string) {
	go f.c.bye(websocket.StatusCode(code), reason)
}

// Subprotocol is the one that was agreed on; "" for none.
func (f *Frames) Subprotocol() string { return f.c.socket.Subprotocol() }

// ServeProtocol upgrades the request and runs a connection of the protocol that open gives. A message has at most limit
// bytes; of a client that is not known, at most anonymous. Of the subprotocols the first one that the client names is
// chosen. The caller has reserved a place.
func (s *Server) ServeProtocol(w http.ResponseWriter, r *http.Request, client string, limit, anonymous int64,
	subprotocols []string, open func(*Frames) Protocol) {
	named := chosen(r, subprotocols)
	s.serveAs(w, r, client, min(limit, anonymous), named, func(socket *websocket.Conn, p *pipe) *conn {
		c := newConn(s, socket, p, s.limits.Requests)
		c.whole = limit
		c.proto = open(&Frames{c})
		return c
	})
}

// chosen is the first subprotocol that a client names of those that are spoken.
func chosen(r *http.Request, spoken []string) []string {
	for _, line := range r.Header.Values("Sec-Websocket-Protocol") {
		for name := range strings.SplitSeq(line, ",") {
			for _, known := range spoken {
				if strings.TrimSpace(name) == known {
					return []string{known}
				}
			}
		}
	}
	return nil
}

// takeFrame makes a job of the message b.
func (c *conn) takeFrame(b []byte) (j job, ok bool) {
	if c.srv.isDraining() {
		(&Frames{c}).Close(int(websocket.StatusGoingAway), goingAway)
		return j, false
	}
	work := c.proto.Take(b)
	if work == nil {
		return j, false
	}
	j = job{conn: c, work: work}
	if len(b) > smallMessage {
		held, full := c.hold(len(b))
		if full != nil {
			(&Frames{c}).Close(int(websocket.StatusTryAgainLater), noMemory)
			return j, false
		}
		j.held = held
	}
	return j, true
}

// work runs the work of a message.
func (c *conn) work(f func(ctx context.Context)) {
	defer func() {
		if p := recover(); p != nil {
			c.srv.log.Error("panic while answering", "panic", p, "stack", string(debug.Stack()))
			(&Frames{c}).Close(int(websocket.StatusInternalError), "An internal error occurred")
		}
	}()
	f(c.ctx)
}

// boundFrames is bound for a connection of a Protocol.
func (c *conn) boundFrames() {
	if c.anonymous && c.proto.Known() {
		c.anonymous, c.longest = false, c.whole
		c.in.Known()
	}
}
