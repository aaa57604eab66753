package pgwire

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/nacredb/nacre/daemon/pgwire/catalog"
	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/internal/life"
)

// readBuffer is the size of the read buffer of an idle connection, in bytes.
const readBuffer = 4 << 10

// conn is one connection. Its own goroutine owns it but for what a mutex guards.
type conn struct {
	srv     *Server
	raw     net.Conn
	net     net.Conn // raw, or TLS over it
	tls     *tls.Conn
	in      *bufio.Reader
	secured bool
	client  string // address
	user    string
	pid     uint32
	secret  []byte
	began   time.Time

	ctx     context.Context // of every statement; ends with the connection
	end     context.CancelFunc
	session *engine.Session
	mem     engine.Account // of the message that is at work, and of statements and portals that are kept

	head     [5]byte // of the message that is read
	body     []byte  // room for short messages
	messages messages

	settings   settings
	style      pgtype.Style
	tx         transaction
	statements map[string]*prepared
	portals    map[string]*portal
	skipping   bool // messages up to the next Sync, after an error
	slow       bool // ended because it did not read
	listening  listening

	schema      *catalog.Schema // as of catalogOf; nil: not read yet
	catalog     *catalog.Catalog
	catalogOf   knowledge
	catalogRead time.Time
	catalogOpen bool                                  // there are tables whose columns are found in their records
	env         *sqlEnv                               // of the statement of SQL that runs
	regName     func(oid pgtype.OID, id int64) string // its ObjectName
	epoch       uint64                                // see changed
	styled      uint64                                // see basis
	// statements of SQL are bound as they run: those before them in their text may change what they see
	lateBind bool

	wmu     sync.Mutex // guards the rest of this block; held while the socket is written
	out     []byte
	idle    bool   // the client waits for nothing
	pending []byte // notifications that wait for the client to be idle
	closed  bool

	rmu     sync.Mutex    // guards the rest; a leaf lock
	running *life.Context // of the statement that runs; nil: none does
	text    string        // of the statement that runs, or ran last
	since   time.Time
	peeking chan struct{}   // closed when only the connection reads; nil: only it does
	ending  *sqlstate.Error // why the connection is to end; nil: it is not
}

func newConn(s *Server, nc net.Conn) *conn {
	c := &conn{srv: s, raw: nc, net: nc, in: bufio.NewReaderSize(nc, readBuffer), began: time.Now(),
		mem: s.RPC.Engine.Account(true), statements: map[string]*prepared{}, portals: map[string]*portal{}}
	c.ctx, c.end = context.WithCancel(context.Background())
	c.regName = func(oid pgtype.OID, id int64) string { return c.env.ObjectName(oid, id) }
	c.settings.init(c)
	if tcp, ok := nc.(interface{ SetNoDelay(bool) error }); ok {
		_ = tcp.SetNoDelay(true)
	}
	return c
}

func itoa(n int) string { return strconv.Itoa(n) }

// close undoes what hangs on the connection.
func (c *conn) close() {
	c.srv.unregister(c)
	c.srv.notices.dropAll(c)
	c.end()
	c.tx.drop()
	c.wmu.Lock()
	c.closed = true
	c.wmu.Unlock()
	_ = c.net.Close()
	_ = c.raw.Close()
	if c.session != nil {
		c.session.Close()
	}
	c.mem.Close()
}

// part tells the client why the connection ends, where it can still hear it.
func (c *conn) part(err error) {
	if err == nil || errors.Is(err, errBye) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return
	}
	e, ok := errors.AsType[*sqlstate.Error](err)
	if !ok {
		c.srv.Log.Debug("connection ended", "client", c.client, "err", err)
		return
	}
	c.fail(e)
	_ = c.flush() // the client may be gone
}

// run reads messages until the connection ends.
func (c *conn) run() error {
	for {
		kind, body, err := c.await()
		if err != nil {
			return err
		}
		if err := c.handle(kind, body); err != nil {
			return err
		}
		c.releaseMessage(len(body))
	}
}

// await reads the next message while the client is idle.
func (c *conn) await() (kind byte, body []byte, err error) {
	if c.in.Buffered() == 0 {
		limit := c.idleLimit()
		if limit > 0 {
			_ = c.raw.SetReadDeadline(time.Now().Add(limit))
			defer func() { _ = c.raw.SetReadDeadline(time.Time{}) }()
		}
		if err := c.isEnding(); err != nil {
			return 0, nil, err
		}
	}
	kind, body, err = c.readMessage(c.srv.Limits.Message)
	if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
		if err := c.isEnding(); err != nil {
			return 0, nil, err
		}
		if c.tx.open() {
			return 0, nil, sqlstate.Fatal("25P03", "terminating connection due to idle-in-transaction timeout")
		}
		return 0, nil, sqlstate.Fatal(sqlstate.IdleTimeout, "terminating connection due to idle-session timeout")
	}
	return kind, body, err
}

// idleLimit is how long the client may be silent; 0: as long as it likes.
func (c *conn) idleLimit() time.Duration {
	if c.tx.open() {
		return c.settings.idleInTransaction
	}
	return c.settings.idleSession
}

// wake makes a connection that waits for its client look whether the server stops.
func (c *conn) wake() {
	c.rmu.Lock()
	defer c.rmu.Unlock()
	if c.running == nil {
		_ = c.raw.SetReadDeadline(time.Unix(1, 0))
	}
}

// smallMessage is the size of messages that are not counted, shortMessage that of those that share their room.
const (
	smallMessage = 4 << 10
	shortMessage = 512
)

// readMessage reads a message of at most most bytes. Its bytes are counted before they are read. The body is good until
// the next message is read.
func (c *conn) readMessage(most int64) (kind byte, body []byte, err error) {
	head := c.head[:]
	if err := c.flushBefore(len(head)); err != nil {
		return 0, nil, err
	}
	if _, err := io.ReadFull(c.in, head); err != nil {
		return 0, nil, err
	}
	n := int64(binary.BigEndian.Uint32(head[1:])) - 4
	if n < 0 || n > most {
		return 0, nil, sqlstate.Fatal(sqlstate.ProtocolViolation, "invalid message length")
	}
	if n > smallMessage {
		if err := c.mem.Take(int(n)); err != nil {
			c.srv.RPC.Metrics.Limited("memory")
			return 0, nil, sqlstate.Fatal(sqlstate.OutOfMemory,
				"The server has no memory for this message now. Try again.")
		}
	}
	if err := c.flushBefore(int(n)); err != nil {
		return 0, nil, err
	}
	if n <= shortMessage {
		if cap(c.body) < int(n) {
			c.body = make([]byte, n, min(2*n, shortMessage))
		}
		body = c.body[:n]
	} else {
		body = make([]byte, n)
	}
	kind = head[0]
	if _, err := io.ReadFull(c.in, body); err != nil {
		return 0, nil, err
	}
	c.srv.RPC.Metrics.Network(len(body)+len(head), 0)
	return kind, body, nil
}

// flushBefore sends the answers that wait for company, where n bytes more have to come from the client first.
func (c *conn) flushBefore(n int) error {
	if c.in.Buffered() >= n {
		return nil
	}
	c.wmu.Lock()
	defer c.wmu.Unlock()
	if !c.idle {
		return nil
	}
	return c.writeOut()
}

func (c *conn) releaseMessage(n int) {
	if n > smallMessage {
		c.mem.Release(n)
		c.mem.Shrink()
	}
}

// handle does what one message asks.
func (c *conn) handle(kind byte, body []byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			c.srv.Log.Error("panic in a statement", "panic", p, "stack", string(debug.Stack()))
			err = sqlstate.Fatal(sqlstate.Internal, "An internal error occurred")
		}
	}()
	if kind == 'd' || kind == 'c' || kind == 'f' { // of a COPY that has failed
		return nil
	}
	c.busy()
	if c.skipping && kind != 'S' && kind != 'X' {
		if !known(kind) {
			return unknownMessage(kind)
		}
		return nil
	}
	switch kind {
	case 'Q', 'P', 'B', 'E':
		c.asked()
	}
	switch kind {
	case 'Q':
		text, rest, ok := cString(body)
		if !ok || len(rest) > 0 {
			return badMessage()
		}
		c.endImplicit()
		c.simple(text)
		return c.ready()
	case 'P', 'B', 'D', 'E', 'C':
		return c.extended(kind, body)
	case 'H':
		return c.flush()
	case 'S':
		c.skipping = false
		c.endImplicit()
		return c.ready()
	case 'F':
		c.fail(sqlstate.New(sqlstate.FeatureNotSupported, "the function call protocol is not supported"))
		return c.ready()
	case 'X':
		return errBye
	}
	return unknownMessage(kind)
}

func known(kind byte) bool {
	switch kind {
	case 'Q', 'P', 'B', 'D', 'E', 'C', 'H', 'F':
		return true
	}
	return false
}

func unknownMessage(kind byte) error {
	return sqlstate.Fatal(sqlstate.ProtocolViolation, "invalid frontend message type %d", kind)
}

func badMessage() error {
	return sqlstate.Fatal(sqlstate.ProtocolViolation, "invalid message format")
}

// interrupt stops the statement that runs, if there is one. A fatal cause ends the connection, too.
func (c *conn) interrupt(cause *sqlstate.Error) {
	c.rmu.Lock()
	defer c.rmu.Unlock()
	if cause.Fatal {
		c.ending = cause
		_ = c.raw.SetWriteDeadline(time.Now().Add(lastWait)) // of a client that does not read
	}
	if c.running != nil {
		c.running.Stop(cause)
	} else if cause.Fatal {
		_ = c.raw.SetReadDeadline(time.Unix(1, 0))
	}
}

// isEnding is why the connection is to end, or nil.
func (c *conn) isEnding() error {
	if c.srv.isDraining() {
		return errShutdown
	}
	c.rmu.Lock()
	defer c.rmu.Unlock()
	if c.ending != nil {
		return c.ending
	}
	return nil
}

// ready tells the client that it may go on, after everything that waits for that.
func (c *conn) ready() error {
	if !c.tx.block {
		c.style.Began = time.Time{}
	}
	c.settings.reportChanges()
	c.deliver()
	c.wmu.Lock()
	defer c.wmu.Unlock()
	c.out = append(c.out, 'Z', 0, 0, 0, 5, c.tx.status())
	c.idle = true
	if c.in.Buffered() > 0 && len(c.out) < flushAt {
		return nil // the next message is here: its answer goes along
	}
	return c.writeOut()
}
