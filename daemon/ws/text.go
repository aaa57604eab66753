package ws

import (
	"context"
	"errors"
	"net/http"
	"runtime/debug"
	"unicode/utf8"

	"github.com/coder/websocket"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/errs"
)

// RunText runs a text of statements. The error is for the text as a whole.
type RunText func(ctx context.Context, text string) ([]engine.Result, error)

// ServeText upgrades the request and runs a connection whose messages are bare statements, at most limit bytes each,
// one message at a time. A message is answered with the array of its statements' results, or with the text of what is
// wrong with it as a whole. anonymous says that the client has no identity. The caller has reserved a place.
func (s *Server) ServeText(w http.ResponseWriter, r *http.Request, client string, limit int64, anonymous bool,
	run RunText) {
	s.serve(w, r, client, limit, func(socket *websocket.Conn, p *pipe) *conn {
		c := newConn(s, socket, p, 1)
		c.text = run
		if !anonymous {
			c.anonymous = false
			c.in.Known()
		}
		return c
	})
}

// takeText makes a job of the message b. A worker runs it, so that the reader hears of the client's end meanwhile.
func (c *conn) takeText(b []byte) (j job, ok bool) {
	switch {
	case c.srv.isDraining():
		c.sayText(goingAway)
		return j, false
	case !utf8.Valid(b):
		c.sayText("The request body contains invalid data")
		return j, false
	}
	held, full := c.hold(len(b))
	if full != nil {
		c.sayText(full.Msg)
		return j, false
	}
	return job{conn: c, text: string(b), held: held}, true
}

func (c *conn) answerText(text string) {
	defer func() {
		if p := recover(); p != nil {
			c.srv.log.Error("panic while answering", "panic", p, "stack", string(debug.Stack()))
			c.sayText(errs.As(errors.New("panic while answering")).Msg)
		}
	}()
	ctx, cancel := c.srv.rpc.Deadline(c.ctx)
	defer cancel()
	results, err := c.text(ctx, text)
	if err == nil {
		err = c.sendStatements(results)
	}
	if err != nil {
		e := errs.As(err)
		if e.Kind == errs.KindInternal && e.Err != nil {
			c.srv.log.Error("statements failed", "err", e.Err)
		}
		c.sayText(e.Msg)
	}
}

// sendStatements sends the results of a text; the error says that they have no encoded form.
func (c *conn) sendStatements(results []engine.Result) error {
	m := messages.Get().(*[]byte)
	b, held, err := c.srv.rpc.AppendResults((*m)[:0], c.format, results)
	*m = b
	held.Release()
	if err != nil {
		release(m)
		return err
	}
	c.post(m)
	return nil
}

// sayText sends what is wrong with a message.
func (c *conn) sayText(text string) {
	m := messages.Get().(*[]byte)
	*m = append((*m)[:0], text...)
	c.post(m)
}
