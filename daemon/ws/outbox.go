package ws

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/wire"
)

// outbox holds encoded messages on their way out of one connection.
type outbox struct {
	mu      sync.Mutex // guards the rest; a leaf lock, never held across a write
	room    sync.Cond  // signalled when messages leave or the box closes
	queue   []message
	spare   []message // the other slice of the pair that queue swaps between
	bytes   int64     // of answers in queue and in the writer's hands
	notes   int64     // likewise of notifications: a large answer before them does not make their reader a slow one
	limit   int64     // of each
	writing bool      // somebody is the writer
	closed  bool
	mem     engine.Account // of what is in queue and in the writer's hands
	engine  *engine.Engine
	full    atomic.Bool // answers are over the limit
}

// tightPart is the part of the limit that may wait where memory is tight.
const tightPart = 32

// over reports whether answers have to wait; o.mu is held.
func (o *outbox) over() bool {
	over := o.bytes >= o.limit || o.bytes >= o.limit/tightPart && o.engine.MemoryTight()
	o.full.Store(over)
	return over
}

// roomy waits until answers need not wait, or the box closes.
func (o *outbox) roomy() {
	if !o.full.Load() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.over() && !o.closed {
		o.room.Wait()
	}
}

// message is one encoded message.
type message struct {
	buf  *[]byte
	note bool // a notification: no sender waits for it
}

// add queues m and reports whether the caller is to write; o.mu is held. Those who add notifications have charged them.
func (o *outbox) add(m message) bool {
	o.queue = append(o.queue, m)
	if m.note {
		o.notes += int64(len(*m.buf))
	} else {
		o.mem.Hold(len(*m.buf))
		o.bytes += int64(len(*m.buf))
		o.over()
	}
	writer := !o.writing
	o.writing = true
	return writer
}

func (o *outbox) init(limit int64, e *engine.Engine) {
	o.limit = limit
	o.engine, o.mem = e, e.Account(false)
	o.room.L = &o.mu
}

func (o *outbox) busy() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.writing
}

func (o *outbox) waiting() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.bytes + o.notes
}

// settle waits until all that was queued is on its way, or the box is closed, or ctx ends.
func (o *outbox) settle(ctx context.Context) {
	defer context.AfterFunc(ctx, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.room.Broadcast()
	})()
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.writing && !o.closed && ctx.Err() == nil {
		o.room.Wait()
	}
}

func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.mem.Close()
	o.room.Broadcast()
}

var messages = sync.Pool{New: func() any { b := make([]byte, 0, 1<<10); return &b }}

func release(m *[]byte) {
	if cap(*m) <= keptBuffer {
		messages.Put(m)
	}
}

// send encodes a response, lets go of it and sends it. It waits while the queue is full.
func (c *conn) send(resp *wire.Response) {
	held := c.srv.rpc.Engine.Hold(2 * resp.Weight()) // and what it is encoded as
	m := messages.Get().(*[]byte)
	*m = resp.Append((*m)[:0], c.format)
	*resp = wire.Response{}
	held.Release()
	c.post(m)
}

// sendFrame is send for a stream: it gives up when ctx ends, or when the client takes too long.
func (c *conn) sendFrame(ctx context.Context, resp *wire.Response) error {
	m := messages.Get().(*[]byte)
	*m = resp.Append((*m)[:0], c.format)
	o := &c.out
	o.mu.Lock()
	if err := o.await(ctx, c.srv.limits.SendTimeout); err != nil {
		o.mu.Unlock()
		release(m)
		return err
	}
	writer := o.add(message{buf: m})
	o.mu.Unlock()
	if writer {
		c.flush()
	}
	return nil
}

// await waits for room in the queue no longer than patience; o.mu is held.
func (o *outbox) await(ctx context.Context, patience time.Duration) error {
	if o.over() && !o.closed {
		wake := func() {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.room.Broadcast()
		}
		late, end := context.WithTimeout(ctx, patience)
		defer end()
		defer context.AfterFunc(late, wake)()
		for o.over() && !o.closed && late.Err() == nil {
			o.room.Wait()
		}
		if err := late.Err(); err != nil && !o.closed {
			return err
		}
	}
	if o.closed {
		return errClosed
	}
	return ctx.Err()
}

// errClosed ends the live queries of a connection that is closed or too slow.
var errClosed = errors.New("websocket is closed")

// notify queues a message and returns at once: another goroutine writes it, and a client that lets
// its queue fill up is closed.
func (c *conn) notify(session *value.UUID, n *engine.Notification) error {
	body, err := n.Shared(int(c.format), func() ([]byte, error) {
		return wire.AppendNotificationBody(nil, c.format, n.Record, n.Result)
	})
	if err == nil {
		return c.push(session, n.Live, n.Action, body)
	}
	// It has no encoded form: the live query ends, and its subscriber is told.
	body, none := wire.AppendNotificationBody(nil, c.format, value.None, value.None)
	return errors.Join(err, none, c.push(session, n.Live, "KILLED", body))
}

// push queues a notification and sees to it that somebody writes it.
func (c *conn) push(session *value.UUID, live value.UUID, action string, body []byte) error {
	m := messages.Get().(*[]byte)
	*m = wire.AppendNotification((*m)[:0], c.format,
		&wire.Notification{Live: live, Session: session, Action: action, Body: body})
	o := &c.out
	o.mu.Lock()
	full := o.notes >= o.limit || !o.closed && o.mem.Take(len(*m)) != nil
	if o.closed || full {
		o.mu.Unlock()
		release(m)
		if full {
			c.drop(true)
		}
		return errClosed
	}
	writer := o.add(message{buf: m, note: true})
	if writer {
		c.running.Add(1) // under the lock: close takes it before anybody waits
	}
	o.mu.Unlock()
	if writer {
		c.srv.workers.run(job{conn: c, flush: true})
	}
	return nil
}

// post queues m and, without another writer, writes until the queue is empty. It waits while the queue is full.
func (c *conn) post(m *[]byte) {
	o := &c.out
	o.mu.Lock()
	if !o.closed && o.over() {
		held := o.engine.Hold(len(*m))
		for !o.closed && o.over() {
			o.room.Wait()
		}
		held.Release()
	}
	if o.closed {
		o.mu.Unlock()
		release(m)
		return
	}
	writer := o.add(message{buf: m})
	o.mu.Unlock()
	if writer {
		c.flush()
	}
}

// flush writes until the queue is empty. The caller has set writing.
func (c *conn) flush() {
	o := &c.out
	o.mu.Lock()
	for len(o.queue) > 0 && !o.closed {
		batch := o.queue
		o.queue, o.spare = o.spare[:0], nil
		o.mu.Unlock()
		sent, notes, err := c.write(batch)
		clear(batch)
		o.mu.Lock()
		o.spare = batch[:0]
		o.bytes -= sent
		o.notes -= notes
		o.mem.Release(int(sent + notes))
		o.over()
		o.room.Broadcast()
		if err != nil {
			o.closed = true
			o.mu.Unlock()
			c.drop(errors.Is(err, os.ErrDeadlineExceeded))
			o.mu.Lock()
		}
	}
	o.writing = false
	if !o.closed {
		o.mem.Shrink()
	}
	o.room.Broadcast()
	o.mu.Unlock()
}

// write sends a batch in as few system calls as it fits, and gives back its buffers. sent and notes are the bytes of
// answers and of notifications.
func (c *conn) write(batch []message) (sent, notes int64, err error) {
	typ := websocket.MessageText
	if c.format == wire.CBOR {
		typ = websocket.MessageBinary
	}
	c.pipe.cork()
	for _, m := range batch {
		if err == nil {
			err = c.socket.Write(context.Background(), typ, *m.buf)
		}
		if m.note {
			notes += int64(len(*m.buf))
		} else {
			sent += int64(len(*m.buf))
		}
		release(m.buf)
	}
	if e := c.pipe.uncork(); err == nil {
		err = e
	}
	c.srv.metrics.Network(0, int(sent+notes))
	return sent, notes, err
}

// drop ends a connection that cannot be written to; slow says that the client does not take what it asked for.
func (c *conn) drop(slow bool) {
	if slow {
		c.tooSlow.Store(true)
	}
	c.cut()
}
