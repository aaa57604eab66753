package http

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nacredb/nacre/daemon/unpack"
	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/socket"
	"github.com/nacredb/nacre/internal/wire"
)

var (
	errTooLarge = errors.New("body over its limit")
	errBody     = errors.New("body cannot be read")
)

// body reads a request's body, unpacked, under a limit of size. What the client sends is under a demand of progress.
type body struct {
	mem    *engine.Account // of the request
	r      io.Reader
	left   int64
	failed error
	sent   *paced
	count  func(bytes int64) // called with what was sent
}

// limited is r's body under a limit; the error says that its declared length is over it, or that there is no memory.
// The limit holds for the bytes that come and for those that they unpack to. by is who asks; nil for a client that is
// still to say. The caller calls close.
func (s *Server) limited(w http.ResponseWriter, r *http.Request, by *engine.Session, limit int64) (*body, error) {
	if r.ContentLength > limit {
		return nil, errTooLarge
	}
	mem := intake(w)
	if by != nil && !by.Anonymous() {
		mem.Known()
	}
	if err := charge(mem, headSize(r)); err != nil {
		return nil, err
	}
	sent := &paced{r: r.Body, ctrl: http.NewResponseController(w), left: limit, window: s.Limits.BodyWindow,
		demand: s.Limits.BodyProgress, pulse: &s.pulse}
	return &body{mem: mem, r: unpack.Reader(r.Header.Get("Content-Encoding"), sent, mem), left: limit, sent: sent,
		count: s.RPC.Metrics.Body}, nil
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.failed != nil {
		return 0, b.failed
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.r.Read(p)
	if int64(n) > b.left {
		n, err = int(b.left), errTooLarge
	}
	b.left -= int64(n)
	b.failed = err
	return n, err
}

// broken gives the reason where the body could not be read to its end, in the words of fail.
func (b *body) broken() error {
	switch {
	case b.failed == nil, b.failed == io.EOF:
		return nil
	case errors.Is(b.failed, errTooLarge):
		return errTooLarge
	case errors.Is(b.failed, errNoMemory{}):
		return errNoMemory{}
	}
	return errBody
}

func (b *body) close() {
	b.count(b.sent.came)
	if c, ok := b.r.(io.Closer); ok {
		_ = c.Close() // of a decoder that only reads
	}
}

// paced reads what a client sends: in each window it brings at least demand bytes, or ends.
type paced struct {
	r      io.Reader
	ctrl   *http.ResponseController
	left   int64
	window time.Duration
	demand int64 // bytes per window
	owed   int64 // bytes still to come in this one
	came   int64
	pulse  *socket.Pulse
}

// Read implements io.Reader.
func (b *paced) Read(p []byte) (int, error) {
	if b.owed <= 0 {
		b.owed = b.demand
		b.pulse.Begin()                                      // the client may have paused
		_ = b.ctrl.SetReadDeadline(time.Now().Add(b.window)) // a reader in a test may know no deadlines
	}
	n, err := b.r.Read(p)
	b.owed -= int64(n)
	b.came += int64(n)
	if b.left -= int64(n); b.left < 0 {
		err = errTooLarge
	}
	if err == io.EOF {
		_ = b.ctrl.SetReadDeadline(time.Time{})
	}
	return n, err
}

// read takes in the whole body; by as for limited.
func (s *Server) read(w http.ResponseWriter, r *http.Request, by *engine.Session, limit int64) ([]byte, error) {
	in, err := s.limited(w, r, by, limit)
	if err != nil {
		return nil, err
	}
	defer in.close()
	b, err := in.all(r.ContentLength)
	if err != nil && in.broken() == nil {
		return nil, err
	}
	return b, in.broken()
}

// What is made room for at first: for a body of unknown length, and for one that says that it is long.
const (
	firstRoom = 512
	mostRoom  = 64 << 10
)

// all reads to the end, and counts the bytes before there is room for them. length is what the client has announced;
// -1: nothing.
func (b *body) all(length int64) ([]byte, error) {
	room := firstRoom
	if length >= 0 {
		room = int(min(length+1, mostRoom)) // one more: the end shows without growing
	}
	if err := charge(b.mem, room); err != nil {
		return nil, err
	}
	all := make([]byte, 0, room)
	for {
		n, err := b.Read(all[len(all):cap(all)])
		all = all[:len(all)+n]
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if len(all) < cap(all) {
			continue
		}
		more := cap(all)
		if more > 1<<20 {
			more /= 4
		}
		if err := charge(b.mem, more); err != nil {
			return nil, err
		}
		all = append(make([]byte, 0, cap(all)+more), all...)
	}
}

// readText takes in a body of text; by as for limited.
func (s *Server) readText(w http.ResponseWriter, r *http.Request, by *engine.Session, limit int64) (string, error) {
	b, err := s.read(w, r, by, limit)
	if err != nil {
		return "", err
	}
	if !utf8.Valid(b) {
		return "", errBody
	}
	return string(b), nil
}

// readObject reads the body of an anonymous client: an object, in the format of its content type (JSON where there is
// none).
func (s *Server) readObject(w http.ResponseWriter, r *http.Request, limit int64) (*value.Object, error) {
	b, err := s.read(w, r, nil, limit)
	if err != nil {
		return nil, err
	}
	f := wire.JSON
	if mediaType(r.Header.Get("Content-Type")) == "application/cbor" {
		f = wire.CBOR
	}
	v, err := f.Decode(b, s.decode)
	if err != nil || v.Kind() != value.KindObject {
		return nil, errBody
	}
	return v.Object(), nil
}

// toText makes a text of the address a string of the language: what is not UTF-8 is replaced.
func toText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
