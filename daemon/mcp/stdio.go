package mcp

import (
	"bufio"
	"context"
	"errors"
	"io"
	"sync"

	"github.com/nacredb/nacre/daemon/rpc"
)

// Stdio answers the messages of one client, one JSON value a line, until in ends. Calls run side by side. maxLine is
// the longest line, in bytes. Nothing else is written to out.
func (s *Server) Stdio(ctx context.Context, peer *Peer, in io.Reader, out io.Writer, maxLine int) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	c := &stdio{srv: s, peer: peer, out: out, room: make(chan struct{}, s.Limits.Calls), failed: stop}
	lines := bufio.NewReaderSize(in, 64<<10)
	read := make(chan []byte)
	go func() { // it ends with in, or with the process: a read of standard input cannot be interrupted
		defer close(read)
		for {
			b, err := line(lines, maxLine)
			if len(b) > 0 || errors.Is(err, errLongLine) {
				if errors.Is(err, errLongLine) {
					b = nil
				}
				select {
				case read <- b:
				case <-ctx.Done():
					return
				}
			}
			if err != nil && !errors.Is(err, errLongLine) {
				return
			}
		}
	}()
	for {
		select {
		case b, ok := <-read:
			if !ok {
				c.work.Wait()
				return c.end()
			}
			c.take(ctx, b)
		case <-ctx.Done():
			c.work.Wait()
			return c.end()
		}
	}
}

// stdio is the connection to one client.
type stdio struct {
	srv    *Server
	peer   *Peer
	sess   *Session // after initialize
	alone  bool     // the first request was of the revision without sessions
	room   chan struct{}
	work   sync.WaitGroup
	failed func()

	mu  sync.Mutex // guards out and err
	out io.Writer
	err error

	stops sync.Map // of requests that stand alone, by id
}

var errLongLine = errors.New("line over its limit")

// line reads a line of at most most bytes. A longer one is skipped.
func line(r *bufio.Reader, most int) ([]byte, error) {
	var all []byte
	long := false
	for {
		piece, err := r.ReadSlice('\n')
		if !long && len(all)+len(piece) <= most+1 {
			all = append(all, piece...)
		} else {
			all, long = nil, true
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case long:
			return nil, errLongLine
		}
		for len(all) > 0 && (all[len(all)-1] == '\n' || all[len(all)-1] == '\r') {
			all = all[:len(all)-1]
		}
		return all, err
	}
}

// take answers one line; nil is one that was too long.
func (c *stdio) take(ctx context.Context, b []byte) {
	if b == nil {
		c.send(Fail(invalid("the line is longer than the limit (NACRE_HTTP_MAX_MCP_BODY_SIZE)")))
		return
	}
	list, _, err := Decode(b, rpc.Decoding(c.srv.Limits.Depth))
	if err == nil && len(list) > 1 {
		err = invalid("a line is one message")
	}
	if err != nil {
		f, _ := errors.AsType[*Fault](err)
		c.send(Fail(f))
		return
	}
	m := list[0]
	if m.Method == "" {
		return
	}
	if m.ID == nil {
		c.notified(m)
		return
	}
	if err := c.mode(m); err != nil {
		c.send(m.fail(err))
		return
	}
	if m.Method == "initialize" { // nothing that follows may be before it
		c.send(c.srv.Handle(ctx, c.peer, c.sess, m))
		return
	}
	select {
	case c.room <- struct{}{}:
	default: // cancellations must still be read
		c.send(m.fail(&Fault{Code: CodeRequest, Message: "Too many requests at work: wait for answers"}))
		return
	}
	ctx, stop := context.WithCancelCause(ctx)
	if m.Alone {
		c.stops.Store(m.id(), stop)
	}
	sess := c.sess // of now: a request before initialize has none
	c.work.Go(func() {
		defer func() { <-c.room }()
		defer stop(nil)
		reply := c.srv.Handle(ctx, c.peer, sess, m)
		c.stops.Delete(m.id())
		if !reply.cancelled && !errors.Is(context.Cause(ctx), errStopped) {
			c.send(reply)
		}
	})
}

var errStopped = errors.New("cancelled by the client")

// notified takes what has no answer.
func (c *stdio) notified(m *Message) {
	if c.sess != nil || m.Method != "notifications/cancelled" {
		c.srv.notified(c.sess, m)
		return
	}
	if stop, ok := c.stops.Load(string(m.Params["requestId"])); ok {
		stop.(context.CancelCauseFunc)(errStopped)
	}
}

// mode keeps the process in the mode of its first request. The error is a Fault.
func (c *stdio) mode(m *Message) error {
	switch {
	case m.Alone && c.sess != nil:
		return invalid("this process has shaken hands: `_meta` may not name a protocol version")
	case m.Alone:
		c.alone = true
		return m.CheckAlone(nil)
	case m.Method == "initialize" && c.alone:
		return &Fault{Code: CodeMethod, Message: "Method not found"}
	case m.Method == "initialize" && c.sess != nil:
		return invalid("the session is initialized already")
	case m.Method == "initialize":
		version, err := Agreed(m)
		if err != nil {
			return err
		}
		c.sess = c.srv.newSession(c.peer, version)
	}
	return nil
}

func (c *stdio) send(r *Reply) {
	if r == nil {
		return
	}
	var b []byte
	for _, one := range r.Messages() {
		b = append(append(b, one...), '\n')
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	if _, c.err = c.out.Write(b); c.err != nil {
		c.failed()
	}
}

func (c *stdio) end() error {
	if c.sess != nil {
		c.sess.End()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}
