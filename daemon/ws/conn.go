package ws

import (
	"context"
	"errors"
	"io"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/nacredb/nacre/daemon/rpc"
	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/wire"
)

// conn is one connection. run owns it; the goroutines it starts end before run does. What is the reader's is of the
// goroutine that reads, see alone.go.
type conn struct {
	srv     *Server
	socket  *websocket.Conn
	pipe    *pipe
	rpc     *rpc.Conn // nil where text is set
	text    RunText   // nil but on connections that carry bare statements
	proto   Protocol  // nil but on connections that carry another protocol
	client  string    // address, for the log
	format  wire.Format
	longest int64              // message, in bytes
	decode  value.DecodeLimits // of the next message

	ctx     context.Context // of every request; ends with the connection
	cancel  context.CancelFunc
	slots   chan struct{}  // a token for each running request
	running sync.WaitGroup // jobs under way; added to by the reader, and under out.mu
	done    chan struct{}  // closed when run ends
	ended   chan struct{}  // closed when nothing more is read
	heard   atomic.Bool    // something was read since the last look
	// the turn of Server.ping in which the last bytes of an unfinished message came; 0: there is none
	arrived   atomic.Int64
	probing   atomic.Bool
	tooSlow   atomic.Bool
	whole     int64          // what longest is for a client that is known, where proto is set
	trusted   bool           // the limits of bound are the wide ones; the reader's
	anonymous bool           // what comes in is of the anonymous clients' share; the reader's
	in        engine.Account // of the message that comes in; the reader's
	rest      arriving       // of the message that comes in; the reader's
	reads     uint64         // of the network, up to the end of the last message; the reader's
	out       outbox

	turn   atomic.Uint64 // who reads, see alone.go
	listed atomic.Bool   // in Server.alone; set under its mutex
	seen   uint64        // turn at the last beat; the beats'
	still  int           // beats at which turn was seen; the beats'
}

// newConn makes a connection that runs at most requests at a time.
func newConn(s *Server, socket *websocket.Conn, p *pipe, requests int) *conn {
	c := &conn{srv: s, socket: socket, pipe: p, format: formatOf(socket.Subprotocol()),
		slots: make(chan struct{}, requests), done: make(chan struct{}), ended: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.anonymous, c.in = true, s.rpc.Engine.Account(true)
	c.out.init(s.limits.Queue, s.rpc.Engine)
	return c
}

// closeGrace is how long ending a connection may take: its transactions are undone in that time.
const closeGrace = 5 * time.Second

// run reads until the connection ends, then undoes what hangs on it.
func (c *conn) run() {
	defer close(c.done)
	defer c.in.Close()
	c.readOn()
	<-c.ended
	c.running.Wait()
	if c.proto != nil {
		c.proto.Done()
	}
	if c.rpc == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeGrace)
	defer cancel()
	if err := c.rpc.Close(ctx); err != nil {
		c.srv.log.Warn("end of a connection", "err", err)
	}
}

// readOn reads until the connection ends, which it does then, or until another goroutine reads.
func (c *conn) readOn() {
	err := c.read()
	if err == errHanded {
		return
	}
	c.cancel()
	c.out.close()
	c.ending(err)
	_ = c.socket.CloseNow()
	close(c.ended)
}

// errHanded says that another goroutine reads the connection.
var errHanded = errors.New("another goroutine reads")

// ending logs why the connection ended, where that was not the client's own wish.
func (c *conn) ending(err error) {
	if c.tooSlow.Load() {
		c.srv.log.Info("websocket closed: the client does not read", "client", c.client)
		return
	}
	switch websocket.CloseStatus(err) {
	case websocket.StatusNormalClosure, websocket.StatusGoingAway, websocket.StatusNoStatusRcvd:
		return
	}
	if !errors.Is(err, io.EOF) {
		c.srv.log.Debug("websocket ended", "client", c.client, "err", err)
	}
}

var readBuffers = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}

// keptBuffer is the largest buffer that goes back to a pool.
const keptBuffer = 1 << 20

// read handles messages until an error.
func (c *conn) read() error {
	var j job
	for {
		c.bound()
		// No deadline of its own: a client may be silent as long as it likes, see probe.
		_, r, err := c.socket.Reader(context.Background())
		if err != nil {
			return err
		}
		c.arrived.Store(c.srv.turn.Load())
		buf := readBuffers.Get().(*[]byte)
		c.rest = arriving{r, c}
		b, err := readAll(&c.rest, (*buf)[:0], c.longest, &c.in)
		c.arrived.Store(0)
		switch err {
		case nil:
		case errTooLong:
			c.refuse(websocket.StatusMessageTooBig, tooLong)
			return err
		case errNoMemory:
			c.srv.metrics.Limited("memory")
			c.refuse(websocket.StatusTryAgainLater, noMemory)
			return err
		default:
			return err
		}
		c.heard.Store(true)
		c.srv.metrics.Network(len(b), 0)
		watched := c.srv.pulse.Begin()
		alone := c.lone(len(b)) && watched
		var ok bool
		j, ok = c.take(b)
		if cap(b) <= keptBuffer {
			*buf = b
			readBuffers.Put(buf)
		}
		b = nil // the request may wait for long
		c.in.Rewind(0)
		c.in.Shrink()
		if ok && !c.dispatch(&j, alone) {
			return errHanded
		}
		j = job{}
	}
}

// arriving is the rest of a message.
type arriving struct {
	io.Reader
	conn *conn
}

// Read implements io.Reader.
func (a *arriving) Read(b []byte) (int, error) {
	n, err := a.Reader.Read(b)
	a.conn.arrived.Store(a.conn.srv.turn.Load())
	return n, err
}

// stalled reports whether the client has begun a message and sent nothing more of it for two turns of Server.ping.
func (c *conn) stalled(turn int64) bool {
	at := c.arrived.Load()
	return at != 0 && turn-at > 2
}

// What the clients of messages over a limit are told.
const (
	tooLong  = "Message too long"
	noMemory = "The server has no memory for this message now. Try again."
)

var (
	errTooLong  = errors.New("the message is too long")
	errNoMemory = errors.New("no memory for the message")
)

// bound sets the limits of the next message: tight ones until the client has an identity.
func (c *conn) bound() {
	if c.proto != nil {
		c.boundFrames()
		return
	}
	if c.anonymous && c.rpc != nil && !c.rpc.Anonymous() {
		c.anonymous = false
		c.in.Known()
	}
	if c.rpc == nil || c.trusted {
		return
	}
	l := &c.srv.limits
	if c.decode = rpc.DecodingOf(c.rpc.Session(), l.Depth); !c.rpc.Known() {
		c.longest = l.Anonymous
		return
	}
	c.trusted, c.longest, c.decode = true, l.Message, rpc.Decoding(l.Depth)
}

// readStep is how many bytes of a message are counted at a time, while it is short.
const readStep = 16 << 10

// readAll reads r to its end into b, and counts what is read on mem. errTooLong: there are more than longest bytes; no
// more than those are kept. errNoMemory: there is no room for more.
func readAll(r io.Reader, b []byte, longest int64, mem *engine.Account) ([]byte, error) {
	counted := 0
	for {
		if int64(len(b)) > longest {
			return b, errTooLong
		}
		if len(b) > counted && len(b) > smallMessage {
			more := max(readStep, growth(len(b)))
			if mem.Charge(more) != nil {
				return b, errNoMemory
			}
			counted += more
		}
		if len(b) == cap(b) {
			b = slices.Grow(b, growth(len(b)))
		}
		n, err := r.Read(b[len(b):min(int64(cap(b)), longest+1)])
		b = b[:len(b)+n]
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			return b, err
		}
	}
}

// growth is how many bytes more a message has room for when there are more than n. Texts of many rows are some MiB.
func growth(n int) int {
	if n > 4<<20 {
		return n / 4
	}
	return max(n, 512)
}

// smallMessage is the size of messages that are not counted.
const smallMessage = 4 << 10

// ordered are the methods that change the session or only look at the connection: quick, and run in the order in
// which they come, so that what follows sees what they did.
var ordered = map[string]bool{
	"ping": true, "version": true, "use": true, "signin": true, "signup": true, "authenticate": true, "refresh": true,
	"revoke": true, "invalidate": true,
	"reset": true, "let": true, "set": true, "unset": true, "attach": true, "detach": true, "sessions": true,
	"query_cancel": true,
}

// take makes a job of the message b, which nothing keeps; false: there is nothing to run.
func (c *conn) take(b []byte) (j job, ok bool) {
	if c.text != nil {
		return c.takeText(b)
	}
	if c.proto != nil {
		return c.takeFrame(b)
	}
	j.conn = c
	var bad *errs.Error
	j.req, bad = wire.DecodeRequest(b, c.format, c.decode)
	if bad == nil && c.srv.isDraining() {
		bad = errs.New(errs.KindConnection, goingAway)
	}
	if bad == nil && len(b) > smallMessage {
		j.held, bad = c.hold(j.req.Weight())
	}
	if bad != nil {
		c.send(&wire.Response{ID: j.req.ID, Session: j.req.Session, Err: bad})
		return j, false
	}
	return j, true
}

// hold counts n bytes of a request that waits for its turn.
func (c *conn) hold(n int) (engine.Held, *errs.Error) {
	held, err := c.srv.rpc.Engine.Take(n, c.anonymous)
	if err != nil {
		c.srv.metrics.Limited("memory")
		return held, errs.NoMemory()
	}
	return held, nil
}

// dispatch runs a job, or hands it to a worker. alone: nothing else of the connection runs or waits, and beats look
// after the readers. It reports whether the caller is still the reader.
func (c *conn) dispatch(j *job, alone bool) bool {
	if !c.slot() {
		j.held.Release()
		return true
	}
	if c.rpc != nil && ordered[j.req.Method] {
		j.held.Release() // what the call keeps it counts itself
		c.answer(&j.req)
		<-c.slots
		return true
	}
	reads := true
	c.running.Add(1) // from here on another goroutine may be the reader, which may end the connection
	if alone && c.proto == nil && !(c.rpc != nil && rpc.IsStream(&j.req)) {
		var served bool
		if served, reads = c.serveAlone(j); served {
			return reads
		}
	}
	if len(c.slots) > freeRequests && !c.crowd(j) {
		<-c.slots
		c.running.Done()
		return reads
	}
	c.srv.workers.run(*j)
	return reads
}

// Requests at work on one connection count from the fifth one on: what each has of a goroutine's stack.
const (
	freeRequests = 4
	requestCost  = 16 << 10
)

// crowd counts one request more; false: there is no room, and its client has been told.
func (c *conn) crowd(j *job) bool {
	j.held.Release()
	n := requestCost + len(j.text)
	if c.rpc != nil {
		n += j.req.Weight()
	}
	var full *errs.Error
	if j.held, full = c.hold(n); full == nil {
		return true
	}
	switch {
	case c.text != nil:
		c.sayText(full.Msg)
	case c.proto != nil:
		(&Frames{c}).Close(int(websocket.StatusTryAgainLater), noMemory)
	default:
		c.send(&wire.Response{ID: j.req.ID, Session: j.req.Session, Err: full})
	}
	return false
}

// slot waits until one more request may run; false: the connection ends.
func (c *conn) slot() bool {
	select {
	case c.slots <- struct{}{}: // nearly always, and cheaper than the next
		return true
	default:
	}
	select {
	case c.slots <- struct{}{}:
		return true
	case <-c.ctx.Done():
		return false
	}
}

func (c *conn) serve(j *job) {
	defer c.running.Done()
	if j.flush {
		c.flush()
		return
	}
	defer func() { <-c.slots }()
	c.out.roomy() // a client that takes no answers gets no more of them made
	j.held.Release()
	j.held = engine.Held{}
	switch {
	case c.text != nil:
		c.answerText(j.text)
	case c.proto != nil:
		c.work(j.work)
	default:
		c.answer(&j.req)
	}
}

func (c *conn) answer(req *wire.Request) {
	// The call itself recovers; this is for an encoder that meets a value it cannot walk.
	defer func() {
		if p := recover(); p != nil {
			c.srv.log.Error("panic while answering", "method", req.Method, "panic", p, "stack", string(debug.Stack()))
			c.send(&wire.Response{ID: req.ID, Session: req.Session, Err: errs.As(errors.New("panic while answering"))})
		}
	}()
	if rpc.IsStream(req) {
		c.rpc.Stream(c.ctx, req, c.sendFrame)
		return
	}
	resp := c.rpc.Call(c.ctx, req)
	c.send(&resp)
}

// leave waits for the running requests or the end of ctx and closes the connection with code 1001.
func (c *conn) leave(ctx context.Context) {
	// Who has all slots knows that nothing runs, and that nothing will.
	for range cap(c.slots) {
		select {
		case c.slots <- struct{}{}:
			continue
		case <-ctx.Done():
		case <-c.done:
		}
		break
	}
	// An answer may still lie behind another one that somebody writes: nothing goes out behind the close frame.
	c.out.settle(ctx)
	c.cancel()
	c.bye(websocket.StatusGoingAway, goingAway)
	<-c.done
}

// bye closes the connection with a code and a reason. The library waits five seconds for the client's own close frame;
// one has to do.
func (c *conn) bye(code websocket.StatusCode, reason string) {
	said := c.pipe.writes.Load()
	late := time.AfterFunc(5*time.Second, c.cut)
	defer late.Stop()
	silent := time.AfterFunc(time.Second, func() {
		if c.pipe.writes.Load() != said { // on a busy machine it takes longer until the words are on their way
			c.cut()
		}
	})
	defer silent.Stop()
	_ = c.socket.Close(code, reason)
}

// refuse is bye in the middle of a message. The library would look at each byte of the rest.
func (c *conn) refuse(code websocket.StatusCode, reason string) {
	c.pipe.drain(max(c.longest, frameBuffer))
	c.bye(code, reason)
}

// silent reports whether nothing came since it was last asked and nothing is on its way out.
func (c *conn) silent() bool {
	return !c.heard.Swap(false) && !c.out.busy() && !c.probing.Load()
}

// probe pings the client. A ping without an answer ends nothing: a client that reads only when it asks answers none,
// and the system below tells by a failed write when the peer is gone.
func (c *conn) probe(ctx context.Context, patience time.Duration) {
	c.probing.Store(true)
	defer c.probing.Store(false)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := c.socket.Ping(ctx)
	if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		c.cut()
	}
}

// cut ends the connection without a word and without waiting: the reader finds it closed and undoes the rest.
func (c *conn) cut() {
	c.cancel()
	_ = c.pipe.Conn.Close()
}
