package h2

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// conn is one connection. serve reads it; workers run its requests and write.
type conn struct {
	srv     *Server
	nc      net.Conn
	ctx     context.Context // of all requests
	cancel  context.CancelFunc
	handler http.Handler
	tls     *tls.ConnectionState
	remote  string

	// The reader's.
	br      *bufio.Reader
	fr      *http2.Framer
	held    *stream // whose handler starts when no more frames are there
	settled bool    // the settings of the client have come
	calm    calm
	path    string // of the last request, and what it is as a URL
	url     *url.URL

	mu       sync.Mutex // guards the rest, and what is said to be guarded of streams; a leaf lock
	streams  map[uint32]*stream
	running  int       // handlers
	last     uint32    // the highest id of a stream
	idle     time.Time // since when no handler runs
	timer    *time.Timer
	draining bool
	failed   error // why nothing can be read or written any more

	recv, owed int64 // of our window: what the client may send, and what has been read of that and not given back
	send       int64 // of its window
	initial    int64 // its window of new streams
	frame      int   // its limit of frames
	waiting    map[*stream]struct{}

	enc     *hpack.Encoder
	head    bytes.Buffer // enc writes here
	out     *http2.Framer
	pending pending
	spare   []byte
	writing bool      // a goroutine writes
	writeBy time.Time // the deadline of the connection; of the goroutine that writes
}

// pending are frames that have not left.
type pending struct{ b []byte }

// Write implements io.Writer.
func (p *pending) Write(b []byte) (int, error) {
	p.b = append(p.b, b...)
	return len(b), nil
}

// data appends a DATA frame. http2.Framer would copy its bytes twice.
func (p *pending) data(id uint32, end bool, b []byte) {
	flags := http2.Flags(0)
	if end {
		flags = http2.FlagDataEndStream
	}
	p.b = append(p.b, byte(len(b)>>16), byte(len(b)>>8), byte(len(b)), byte(http2.FrameData), byte(flags))
	p.b = append(binary.BigEndian.AppendUint32(p.b, id), b...)
}

const (
	readBuffer = 4 << 10
	// tableSize is the size of the tables of header fields, either way.
	tableSize = 4 << 10
	frameSize = 16 << 10
	// mostPending is how much of answers waits to be written.
	mostPending = 256 << 10
	// mostSpare is the largest buffer for them that is used again.
	mostSpare = 2 * mostPending
	// mostControl is how much more of answers to frames of the client may wait.
	mostControl = 64 << 10
)

func newConn(ctx context.Context, s *Server, nc net.Conn, h http.Handler) *conn {
	c := &conn{srv: s, nc: nc, handler: h, remote: nc.RemoteAddr().String(), streams: map[uint32]*stream{},
		idle: time.Now(), recv: int64(s.limits.Window), send: leastWindow, initial: leastWindow, frame: frameSize,
		waiting: map[*stream]struct{}{}, br: bufio.NewReaderSize(nc, readBuffer)}
	c.ctx, c.cancel = context.WithCancel(ctx)
	if tc, ok := nc.(*tls.Conn); ok {
		state := tc.ConnectionState()
		c.tls = &state
	}
	c.fr = http2.NewFramer(io.Discard, c.br)
	c.fr.SetReuseFrames()
	c.fr.SetMaxReadFrameSize(frameSize)
	c.fr.ReadMetaHeaders = hpack.NewDecoder(tableSize, nil)
	c.fr.MaxHeaderListSize = uint32(s.limits.Head)
	c.out = http2.NewFramer(&c.pending, nil)
	c.enc = hpack.NewEncoder(&c.head)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer = time.AfterFunc(s.limits.Idle, c.look)
	return c
}

// serve reads until the connection ends.
func (c *conn) serve(greeted bool) {
	defer c.end()
	c.mu.Lock()
	_ = c.out.WriteSettings(
		http2.Setting{ID: http2.SettingMaxFrameSize, Val: frameSize},
		http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: uint32(c.srv.limits.Streams)},
		http2.Setting{ID: http2.SettingMaxHeaderListSize, Val: uint32(c.srv.limits.Head)},
		http2.Setting{ID: http2.SettingInitialWindowSize, Val: uint32(c.srv.limits.Window)})
	if more := c.srv.limits.Window - leastWindow; more > 0 {
		_ = c.out.WriteWindowUpdate(0, uint32(more))
	}
	c.flush()
	c.mu.Unlock()
	if weak(c.tls) {
		c.goAway(http2.ErrCodeInadequateSecurity)
		return
	}
	_ = c.nc.SetReadDeadline(time.Now().Add(c.srv.limits.Greeting))
	if !greeted && !c.preface() {
		return
	}
	for {
		c.start()
		f, err := c.fr.ReadFrame()
		if err == nil {
			err = c.take(f)
		}
		if err == nil {
			continue
		}
		var ofStream http2.StreamError
		if errors.As(err, &ofStream) {
			if !c.settled {
				return
			}
			err = c.refuse(ofStream.StreamID, ofStream.Code)
		}
		if err != nil {
			c.broken(err)
			return
		}
	}
}

// weak reports whether HTTP/2 forbids the cipher of a connection: of those that the standard library has for TLS 1.2,
// it allows only these.
func weak(state *tls.ConnectionState) bool {
	if state == nil || state.Version >= tls.VersionTLS13 {
		return false
	}
	switch state.CipherSuite {
	case tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
		tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
		tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256:
		return false
	}
	return true
}

// preface reads the bytes by which a client says that it speaks HTTP/2.
func (c *conn) preface() bool {
	var b [len(http2.ClientPreface)]byte
	_, err := io.ReadFull(c.br, b[:])
	return err == nil && string(b[:]) == http2.ClientPreface
}

// start starts the handler that waits, and writes what waits, unless the next frame is there as a whole: it may be the
// body of the request.
func (c *conn) start() {
	if n := c.br.Buffered(); n >= frameHead {
		if head, err := c.br.Peek(frameHead); err == nil {
			length := int(head[0])<<16 | int(head[1])<<8 | int(head[2])
			if n >= frameHead+length {
				return
			}
		}
	}
	c.release()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flush()
}

// frameHead is the length of the head of a frame.
const frameHead = 9

// release starts the handler that waits.
func (c *conn) release() {
	if st := c.held; st != nil {
		c.held = nil
		c.srv.work.run(st)
	}
}

// broken ends the connection for a reason of ours, which its client is told.
func (c *conn) broken(err error) {
	var code http2.ConnectionError
	switch {
	case errors.As(err, &code):
		c.goAway(http2.ErrCode(code))
	case errors.Is(err, http2.ErrFrameTooLarge):
		c.goAway(http2.ErrCodeFrameSize)
	}
}

const (
	// lastWords is how long the client has to read why its connection ends.
	lastWords = time.Second
	// unread bounds the frames of the client that are read in that time: the reason would be lost with them otherwise.
	unread = 256 << 10
)

// goAway says why the connection ends.
func (c *conn) goAway(code http2.ErrCode) {
	c.srv.log.Debug("http/2 connection refused", "client", c.remote, "code", code.String())
	c.mu.Lock()
	c.draining = true
	_ = c.out.WriteGoAway(c.last, code, nil)
	c.flush()
	c.mu.Unlock()
	if half, ok := c.nc.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	_ = c.nc.SetReadDeadline(time.Now().Add(lastWords))
	_, _ = io.CopyN(io.Discard, c.nc, unread)
}

var errClosed = fmt.Errorf("the connection is closed: %w", net.ErrClosed)

// end ends all that hangs on the connection.
func (c *conn) end() {
	c.release() // it finds out
	c.timer.Stop()
	c.mu.Lock()
	c.fail(errClosed)
	c.mu.Unlock()
	c.cancel()
	_ = c.nc.Close()
}

// fail ends all streams; c.mu is held.
func (c *conn) fail(err error) {
	if c.failed != nil {
		return
	}
	c.failed = err
	for _, st := range c.streams {
		st.gone(err)
	}
	clear(c.streams)
}

// drain takes no more requests, and ends the connection when none runs.
func (c *conn) drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.draining || c.failed != nil {
		return
	}
	c.draining = true
	_ = c.out.WriteGoAway(c.last, http2.ErrCodeNo, nil)
	if c.running == 0 {
		c.leave()
	}
	c.flush()
}

// leave lets the client read what has been sent before the connection is closed; c.mu is held.
func (c *conn) leave() { _ = c.nc.SetReadDeadline(time.Now().Add(lastWords)) }

// look drains a connection that has had no request for too long.
func (c *conn) look() {
	c.mu.Lock()
	left := c.srv.limits.Idle
	if c.running == 0 {
		left -= time.Since(c.idle)
	}
	if left > 0 {
		c.timer.Reset(left)
	}
	c.mu.Unlock()
	if left <= 0 {
		c.drain()
	}
}

// flush writes what waits, unless another goroutine does. c.mu is held; it is given up while bytes are written.
func (c *conn) flush() {
	if c.writing {
		return
	}
	c.writing = true
	for len(c.pending.b) > 0 && c.failed == nil {
		b := c.pending.b
		c.pending.b, c.spare = c.spare, nil
		c.mu.Unlock()
		err := c.write(b)
		c.mu.Lock()
		if cap(b) <= mostSpare {
			c.spare = b[:0]
		}
		if err != nil {
			c.fail(fmt.Errorf("write: %w", err))
			_ = c.nc.Close()
		}
		c.room()
	}
	c.writing = false
}

// room wakes the streams that wait for room; c.mu is held.
func (c *conn) room() {
	for st := range c.waiting {
		wake(st.roomy)
	}
}

func wake(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// writePiece is the most that must be taken in one patience.
const writePiece = 256 << 10

// write writes to the connection. Its deadline is moved rarely: that costs nearly as much as a short write.
func (c *conn) write(b []byte) error {
	for len(b) > 0 {
		patience := c.srv.limits.SendTimeout
		if now := time.Now(); c.writeBy.Sub(now) < patience {
			c.writeBy = now.Add(patience + patience/4)
			_ = c.nc.SetWriteDeadline(c.writeBy)
		}
		n, err := c.nc.Write(b[:min(len(b), writePiece)])
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// overfull reports whether the client makes us answer frames, and does not read the answers; c.mu is held.
func (c *conn) overfull() bool { return len(c.pending.b) > mostPending+mostControl+2*frameSize }

// refuse resets a stream; the error is that of the connection.
func (c *conn) refuse(id uint32, code http2.ErrCode) error {
	if !c.calm.take(1) {
		return http2.ConnectionError(http2.ErrCodeEnhanceYourCalm)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if id > c.last {
		c.last = id
	}
	if st := c.streams[id]; st != nil {
		delete(c.streams, id)
		st.gone(http2.StreamError{StreamID: id, Code: code})
	}
	_ = c.out.WriteRSTStream(id, code)
	if c.overfull() {
		return http2.ConnectionError(http2.ErrCodeEnhanceYourCalm)
	}
	return nil
}

// calm bounds frames that only cost work: so many at once, and so many a second.
type calm struct {
	left int
	at   time.Time
}

const (
	mostAtOnce = 4000
	eachSecond = 1000
)

func (l *calm) take(n int) bool {
	if l.left < n {
		now := time.Now()
		if l.at.IsZero() {
			l.left = mostAtOnce
		} else {
			l.left = min(mostAtOnce, l.left+int(now.Sub(l.at)*eachSecond/time.Second))
		}
		l.at = now
	}
	l.left -= n
	return l.left >= 0
}
