package pgwire

import (
	"bufio"
	"context"
	"errors"
	"net"
	"time"

	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/internal/life"
)

// work runs f with a context that ends with a cancellation, with the time that a statement has, and when the client
// goes. A statement may do others: then each is cancelled alone.
func (c *conn) work(text string, f func(context.Context) error) error {
	ended := life.With(c.ctx)
	defer ended.Stop(nil)
	ctx, stop := c.deadline(ended)
	defer stop()
	c.rmu.Lock()
	outer := c.running
	c.running, c.text, c.since = ended, text, time.Now()
	if c.ending != nil {
		ended.Stop(c.ending)
	}
	c.rmu.Unlock()
	c.srv.pulse.Begin()
	err := f(ctx)
	c.rmu.Lock()
	c.running = outer
	peeking := c.peeking
	if outer == nil {
		c.peeking = nil
	}
	c.rmu.Unlock()
	if peeking != nil && outer == nil {
		_ = c.raw.SetReadDeadline(time.Unix(1, 0))
		<-peeking
		_ = c.raw.SetReadDeadline(time.Time{})
	}
	if err == nil || ctx.Err() == nil {
		return err
	}
	if cause, ok := errors.AsType[*sqlstate.Error](context.Cause(ctx)); ok {
		return cause
	}
	return err
}

// A pulse watches the clients of all running statements for hang-ups: at each beat it finds those whose statement has
// run for watchEvery.
const (
	watchEvery = 50 * time.Millisecond
	watchStill = 20
)

// watchAll watches the clients of running statements, and reports whether there are any.
func (s *Server) watchAll() (any bool) {
	for _, c := range s.list() {
		any = c.watchClient() || any
	}
	return any
}

// watchClient reports whether a statement runs. It starts a goroutine that cancels the statement when the client hangs
// up. That goroutine reads the connection until work takes the reader back.
func (c *conn) watchClient() bool {
	c.rmu.Lock()
	defer c.rmu.Unlock()
	if c.running == nil {
		return false
	}
	if c.peeking != nil || time.Since(c.since) < watchEvery {
		return true
	}
	_ = c.raw.SetReadDeadline(time.Time{})
	running, done := c.running, make(chan struct{})
	c.peeking = done
	go func() {
		defer close(done)
		_, err := c.in.Peek(c.in.Buffered() + 1)
		if ne, ok := errors.AsType[net.Error](err); err != nil && err != bufio.ErrBufferFull && (!ok || !ne.Timeout()) {
			running.Stop(errBye)
		}
	}()
	return true
}
