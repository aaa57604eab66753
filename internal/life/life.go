// Package life has contexts that cost next to nothing as long as no goroutine waits for them.
//
// A context of the standard library registers with its parent and starts a timer when it is made. Most statements end
// before a goroutine waits for the end of their context: they only ask for its error now and then. A Context answers
// that question from its own fields and from its parent. It makes a context of the standard library the first time that
// it is asked for a channel or a value, and is that one from then on.
package life

import (
	"context"
	"sync"
	"time"
)

// Context is a context.Context that Stop ends, and a time where it has one. Init or InitUntil makes it ready for use.
// It must not be copied afterwards. Stop must be called when it is not needed any more.
type Context struct {
	parent context.Context
	until  time.Time // zero: no limit of its own
	late   error     // the cause of an end by until

	mu      sync.Mutex // guards the rest; held while the parent is asked for its channel, never in the other direction
	stopped bool
	more    *more // nil as long as nothing needs it
}

// more is what only a few contexts need.
type more struct {
	cause   error           // of stopped
	real    context.Context // what the Context has become; nil: not asked for yet
	cancel  context.CancelCauseFunc
	release context.CancelFunc // of the deadline of real
}

// With makes a context below parent.
func With(parent context.Context) *Context {
	c := new(Context)
	c.Init(parent)
	return c
}

// Until makes a context below parent that ends with context.DeadlineExceeded at a time; late is the cause.
func Until(parent context.Context, at time.Time, late error) *Context {
	c := new(Context)
	c.InitUntil(parent, at, late)
	return c
}

// Init makes c a context below parent.
func (c *Context) Init(parent context.Context) { c.parent = parent }

// InitUntil makes c the context that Until gives.
func (c *Context) InitUntil(parent context.Context, at time.Time, late error) {
	c.Init(parent)
	c.until, c.late = at, late
}

// Stop ends c, if it has not ended. Its error is context.Canceled then, and cause what context.Cause gives; nil is
// context.Canceled too. It may be called by any goroutine, and more than once.
func (c *Context) Stop(cause error) {
	c.mu.Lock()
	if !c.stopped {
		c.stopped = true
		if cause != nil {
			c.grown().cause = cause
		}
	}
	var cancel context.CancelCauseFunc
	var release context.CancelFunc
	if c.more != nil {
		cancel, release = c.more.cancel, c.more.release
	}
	c.mu.Unlock()
	if cancel != nil {
		cancel(cause)
	}
	if release != nil {
		release()
	}
}

// grown is c.more, made where it is missing. The caller holds mu.
func (c *Context) grown() *more {
	if c.more == nil {
		c.more = new(more)
	}
	return c.more
}

// Deadline implements context.Context.
func (c *Context) Deadline() (time.Time, bool) {
	at, ok := c.parent.Deadline()
	if c.until.IsZero() || ok && at.Before(c.until) {
		return at, ok
	}
	return c.until, true
}

// Err implements context.Context.
func (c *Context) Err() error {
	var real context.Context
	c.mu.Lock()
	if c.more != nil {
		real = c.more.real
	}
	stopped := c.stopped
	c.mu.Unlock()
	switch {
	case real != nil:
		return real.Err()
	case stopped:
		return context.Canceled
	}
	if err := c.parent.Err(); err != nil {
		return err
	}
	if !c.until.IsZero() && !time.Now().Before(c.until) {
		return c.become().Err() // it has ended for good: a later Stop changes nothing
	}
	return nil
}

// Done implements context.Context.
func (c *Context) Done() <-chan struct{} { return c.become().Done() }

// Value implements context.Context. context.Cause and the contexts below c come here, too.
func (c *Context) Value(key any) any { return c.become().Value(key) }

// become makes the context of the standard library that does all from now on.
func (c *Context) become() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.grown()
	if m.real != nil {
		return m.real
	}
	ctx, cancel := context.WithCancelCause(c.parent)
	m.real, m.cancel = ctx, cancel
	if c.stopped {
		cancel(m.cause)
		return ctx
	}
	if !c.until.IsZero() {
		m.real, m.release = context.WithDeadlineCause(ctx, c.until, c.late)
	}
	return m.real
}
