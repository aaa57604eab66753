package h2

import (
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// response is the answer of a stream. A short one leaves as a whole, when its handler ends.
type response struct {
	head    http.Header
	status  int // 0: WriteHeader was not called
	stated  int64
	buf     []byte // of the body, that has not been framed
	store   *[]byte
	written int64
	begun   bool // the head has been framed; guarded by conn.mu
}

// writer is the http.ResponseWriter of a stream, with what http.ResponseController looks for.
type writer struct{ *stream }

// Header implements http.ResponseWriter.
func (w writer) Header() http.Header { return w.head }

// WriteHeader implements http.ResponseWriter.
func (w writer) WriteHeader(status int) { w.stream.WriteHeader(status) }

// Write implements http.ResponseWriter.
func (w writer) Write(p []byte) (int, error) { return w.stream.Write(p) }

// Flush implements http.Flusher.
func (w writer) Flush() { _ = w.FlushError() }

// FlushError implements the flush of http.ResponseController.
func (w writer) FlushError() error { return w.stream.flush() }

// SetReadDeadline implements the method of http.ResponseController.
func (w writer) SetReadDeadline(t time.Time) error {
	w.conn.mu.Lock()
	defer w.conn.mu.Unlock()
	w.readBy = t
	wake(w.readable)
	return nil
}

// SetWriteDeadline implements the method of http.ResponseController.
func (w writer) SetWriteDeadline(t time.Time) error {
	w.conn.mu.Lock()
	defer w.conn.mu.Unlock()
	w.writeBy = t
	wake(w.roomy)
	return nil
}

// EnableFullDuplex implements the method of http.ResponseController: bodies are always read and written side by side.
func (w writer) EnableFullDuplex() error { return nil }

// bodyBuffer is how much of an answer is gathered before it leaves.
const bodyBuffer = 4 << 10

var bodies = sync.Pool{New: func() any { b := make([]byte, 0, bodyBuffer); return &b }}

// WriteHeader says the status. One that is only in between is sent at once.
func (st *stream) WriteHeader(status int) {
	if status < 100 || status > 999 {
		panic("http: a status of " + strconv.Itoa(status))
	}
	if st.status != 0 {
		return
	}
	if status < 200 {
		c := st.conn
		c.mu.Lock()
		defer c.mu.Unlock()
		if st.err == nil {
			st.interim(status, st.head)
			c.flush()
		}
		return
	}
	st.status, st.stated = status, -1
	if length := st.head.Get("Content-Length"); length != "" {
		if n, err := strconv.ParseInt(length, 10, 64); err == nil && n >= 0 {
			st.stated = n
		} else {
			st.head.Del("Content-Length")
		}
	}
}

// bodiless reports whether the answer has no body.
func (st *stream) bodiless() bool {
	return st.req.Method == http.MethodHead || st.status == http.StatusNoContent || st.status == http.StatusNotModified
}

// Write gathers bytes of the body, and sends them when they are enough.
func (st *stream) Write(p []byte) (int, error) {
	if st.status == 0 {
		st.WriteHeader(http.StatusOK)
	}
	if st.bodiless() {
		if st.req.Method == http.MethodHead {
			return len(p), nil
		}
		return 0, http.ErrBodyNotAllowed
	}
	if st.stated >= 0 && st.written+int64(len(p)) > st.stated {
		return 0, http.ErrContentLength
	}
	st.written += int64(len(p))
	if st.buf == nil {
		st.store = bodies.Get().(*[]byte)
		st.buf = (*st.store)[:0]
	}
	if len(st.buf)+len(p) <= bodyBuffer {
		st.buf = append(st.buf, p...)
		return len(p), nil
	}
	c := st.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	err := st.gathered()
	if err == nil {
		err = st.frame(p, false)
	}
	if err != nil {
		return 0, err
	}
	c.flush()
	return len(p), nil
}

// flush sends what was gathered.
func (st *stream) flush() error {
	if st.status == 0 {
		st.WriteHeader(http.StatusOK)
	}
	c := st.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := st.gathered(); err != nil {
		return err
	}
	c.flush()
	return st.err
}

// gathered frames the head, and what was gathered of the body; conn.mu is held.
func (st *stream) gathered() error {
	if st.err != nil {
		return st.err
	}
	if !st.begun {
		st.headFrame(false, false)
	}
	if len(st.buf) == 0 {
		return nil
	}
	err := st.frame(st.buf, false)
	st.buf = st.buf[:0]
	return err
}

// frame frames bytes of the body as the windows of the client allow it; conn.mu is held, but not while it waits.
func (st *stream) frame(b []byte, end bool) error {
	c := st.conn
	for len(b) > 0 || end {
		n := max(0, min(int64(len(b)), st.send, c.send, int64(c.frame)))
		if n == 0 && len(b) > 0 || len(c.pending.b) >= mostPending {
			if err := st.wait(); err != nil {
				return err
			}
			continue
		}
		if st.err != nil {
			return st.err
		}
		last := end && n == int64(len(b))
		c.pending.data(st.id, last, b[:n])
		st.send -= n
		c.send -= n
		b = b[n:]
		if last {
			return nil
		}
	}
	return nil
}

// wait writes what waits, and waits for room where that made none; conn.mu is held, but not while it waits.
func (st *stream) wait() error {
	c := st.conn
	c.flush()
	switch {
	case st.err != nil:
		return st.err
	case c.failed != nil:
		return c.failed
	case min(st.send, c.send) > 0 && len(c.pending.b) < mostPending:
		return nil
	}
	c.waiting[st] = struct{}{}
	defer delete(c.waiting, st)
	if !st.await(st.roomy, &st.writeBy) {
		return os.ErrDeadlineExceeded
	}
	return nil
}

// last frames the rest of the answer, and its end; conn.mu is held.
func (st *stream) last() error {
	if st.status == 0 {
		st.status, st.stated = http.StatusOK, -1
		if n, err := strconv.ParseInt(st.head.Get("Content-Length"), 10, 64); err == nil && n >= 0 {
			st.stated = n
		}
	}
	if st.stated >= 0 && st.written != st.stated && !st.bodiless() {
		return http.ErrContentLength
	}
	trails := false
	for name := range st.head {
		if strings.HasPrefix(name, http.TrailerPrefix) {
			trails = true
			break
		}
	}
	empty := len(st.buf) == 0
	switch {
	case !st.begun && empty && !trails:
		st.headFrame(true, true)
	case !st.begun:
		st.headFrame(false, !trails)
		fallthrough
	default:
		if err := st.frame(st.buf, !trails); err != nil {
			return err
		}
		if trails {
			st.trailerFrame()
		}
	}
	return nil
}

// interim sends a status that is not the last one; conn.mu is held.
func (st *stream) interim(status int, head http.Header) {
	c := st.conn
	c.head.Reset()
	c.field(":status", strconv.Itoa(status), false)
	st.fields(head)
	st.block(false)
}

// headFrame frames the head; whole: the body is what was gathered. conn.mu is held.
func (st *stream) headFrame(end, whole bool) {
	st.begun = true
	c := st.conn
	c.head.Reset()
	if st.status == http.StatusOK {
		c.field(":status", "200", false)
	} else {
		c.field(":status", strconv.Itoa(st.status), false)
	}
	st.fields(st.head)
	if _, has := st.head["Date"]; !has {
		c.field("date", dateNow(), false)
	}
	if _, has := st.head["Content-Type"]; !has && len(st.buf) > 0 && st.head.Get("Content-Encoding") == "" {
		c.field("content-type", http.DetectContentType(st.buf), false)
	}
	if _, has := st.head["Content-Length"]; !has && whole && !st.bodiless() {
		c.field("content-length", strconv.Itoa(len(st.buf)), true)
	}
	st.block(end)
}

// trailerFrame frames the trailers.
func (st *stream) trailerFrame() {
	c := st.conn
	c.head.Reset()
	for name, values := range st.head {
		if name, ok := strings.CutPrefix(name, http.TrailerPrefix); ok {
			c.header(name, values)
		}
	}
	st.block(true)
}

// fields encodes fields of a head.
func (st *stream) fields(head http.Header) {
	for name, values := range head {
		if strings.HasPrefix(name, http.TrailerPrefix) {
			continue
		}
		switch name {
		case "Connection", "Proxy-Connection", "Transfer-Encoding", "Upgrade", "Keep-Alive":
			continue
		}
		st.conn.header(name, values)
	}
}

func (c *conn) header(name string, values []string) {
	low, ok := wired[name]
	if !ok {
		if low = strings.ToLower(name); !httpguts.ValidHeaderFieldName(low) {
			return
		}
	}
	for _, v := range values {
		if httpguts.ValidHeaderFieldValue(v) {
			c.field(low, v, unique[low])
		}
	}
}

// unique are fields whose values do not come again: they would push others out of the table of the connection.
var unique = map[string]bool{"x-request-id": true, "content-length": true, "grpc-message": true,
	"grpc-status-details-bin": true, "etag": true, "location": true, "set-cookie": true}

func (c *conn) field(name, v string, unique bool) {
	_ = c.enc.WriteField(hpack.HeaderField{Name: name, Value: v, Sensitive: unique}) // into memory
}

// block frames the fields that were encoded.
func (st *stream) block(end bool) {
	c := st.conn
	b := c.head.Bytes()
	n := min(len(b), frameSize)
	_ = c.out.WriteHeaders(http2.HeadersFrameParam{StreamID: st.id, BlockFragment: b[:n], EndStream: end,
		EndHeaders: n == len(b)})
	for b = b[n:]; len(b) > 0; b = b[n:] {
		n = min(len(b), frameSize)
		_ = c.out.WriteContinuation(st.id, n == len(b), b[:n])
	}
	if c.head.Cap() > mostHead {
		c.head.Reset()
	}
}

// mostHead is the largest buffer of fields that a connection keeps.
const mostHead = 16 << 10

// date is the text of a second.
type date struct {
	at   int64
	text string
}

var today atomic.Pointer[date]

// dateNow is the time as the field Date wants it.
func dateNow() string {
	now := time.Now()
	if d := today.Load(); d != nil && d.at == now.Unix() {
		return d.text
	}
	d := &date{now.Unix(), now.UTC().Format(http.TimeFormat)}
	today.Store(d)
	return d.text
}
