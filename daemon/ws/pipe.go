package ws

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// pipeBuffer is how much is gathered before it goes to the network in one piece.
const pipeBuffer = 64 << 10

// pipe is the network connection under a WebSocket. Between cork and uncork writes are gathered, so that frames
// written together leave in one system call. Each write to the network has its deadline.
//
// The writer goroutine of the moment and control frames of the library may write at the same time; mu orders them.
type pipe struct {
	net.Conn
	timeout time.Duration
	writes  atomic.Int64  // that began
	reads   atomic.Uint64 // of what comes in
	last    atomic.Int64  // bytes of the last of them
	drains  atomic.Int64  // what comes in is dropped, so many bytes of it at most; 0: it is read

	mu     sync.Mutex // guards the rest; held across writes to the network, which have a deadline
	corked bool
	buf    *[]byte
}

// drain makes the next read drop up to n bytes and end. A client that is told in the middle of a message that it is
// refused sends the rest all the same, and would not see the reason if the connection were closed before that.
func (p *pipe) drain(n int64) { p.drains.Store(n) }

// Read implements net.Conn.
func (p *pipe) Read(b []byte) (int, error) {
	left := p.drains.Load()
	if left == 0 {
		n, err := p.Conn.Read(b)
		p.last.Store(int64(n))
		p.reads.Add(1)
		return n, err
	}
	buf := pipeBuffers.Get().(*[]byte)
	defer pipeBuffers.Put(buf)
	for whole := (*buf)[:cap(*buf)]; left > 0; {
		n, err := p.Conn.Read(whole[:min(int64(len(whole)), left)])
		if left -= int64(n); err != nil {
			return 0, err
		}
	}
	return 0, io.EOF
}

var pipeBuffers = sync.Pool{New: func() any { b := make([]byte, 0, pipeBuffer); return &b }}

// Write implements net.Conn.
func (p *pipe) Write(b []byte) (int, error) {
	p.writes.Add(1)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.corked {
		return p.send(b)
	}
	if p.buf == nil {
		p.buf = pipeBuffers.Get().(*[]byte)
	}
	if len(*p.buf)+len(b) > pipeBuffer {
		if err := p.flush(); err != nil {
			return 0, err
		}
	}
	if len(b) > pipeBuffer {
		return p.send(b)
	}
	*p.buf = append(*p.buf, b...)
	return len(b), nil
}

func (p *pipe) cork() {
	p.mu.Lock()
	p.corked = true
	p.mu.Unlock()
}

// uncork sends what was gathered.
func (p *pipe) uncork() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.corked = false
	if p.buf == nil {
		return nil
	}
	err := p.flush()
	pipeBuffers.Put(p.buf)
	p.buf = nil
	return err
}

func (p *pipe) flush() error {
	_, err := p.send(*p.buf)
	*p.buf = (*p.buf)[:0]
	return err
}

// sendPiece is the most that must pass within one timeout: a slow client that makes progress is not cut off.
const sendPiece = 1 << 20

func (p *pipe) send(b []byte) (int, error) {
	sent := 0
	for len(b) > 0 {
		if err := p.Conn.SetWriteDeadline(time.Now().Add(p.timeout)); err != nil {
			return sent, err
		}
		n, err := p.Conn.Write(b[:min(len(b), sendPiece)])
		sent += n
		if err != nil {
			return sent, err
		}
		b = b[n:]
	}
	return sent, nil
}

// frameBuffer is the buffer of the WebSocket library: the head of a frame and a short message. An idle connection keeps
// it, and what is longer is gathered by the pipe anyway.
const frameBuffer = 512

// hijacker gives the WebSocket library a pipe instead of the bare connection.
type hijacker struct {
	http.ResponseWriter
	timeout time.Duration
	pipe    *pipe
}

// Hijack implements http.Hijacker.
func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	if err := c.SetDeadline(time.Time{}); err != nil {
		_ = c.Close()
		return nil, nil, err
	}
	h.pipe = &pipe{Conn: c, timeout: h.timeout}
	return h.pipe, bufio.NewReadWriter(rw.Reader, bufio.NewWriterSize(h.pipe, frameBuffer)), nil
}
