package http

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/wire"
)

var (
	errTooLarge = errors.New("body over its limit")
	errBody     = errors.New("body cannot be read")
)

// body reads a request's body under a limit of size and a demand of progress: in each window it brings at least
// BodyProgress bytes, or ends.
type body struct {
	r      io.Reader
	ctrl   *http.ResponseController
	left   int64
	window time.Duration
	demand int64 // bytes per window
	owed   int64 // bytes still to come in this one
	failed error
}

// limited is r's body under a limit; the error says that its declared length is over it.
func (s *Server) limited(w http.ResponseWriter, r *http.Request, limit int64) (*body, error) {
	if r.ContentLength > limit {
		return nil, errTooLarge
	}
	return &body{r: r.Body, ctrl: http.NewResponseController(w), left: limit, window: s.Limits.BodyWindow, demand: s.Limits.BodyProgress}, nil
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.failed != nil {
		return 0, b.failed
	}
	if b.owed <= 0 {
		b.owed = b.demand
		_ = b.ctrl.SetReadDeadline(time.Now().Add(b.window)) // a reader in a test may know no deadlines
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.r.Read(p)
	b.owed -= int64(n)
	if int64(n) > b.left {
		n, err = int(b.left), errTooLarge
	}
	b.left -= int64(n)
	if err == io.EOF {
		_ = b.ctrl.SetReadDeadline(time.Time{})
	}
	b.failed = err
	return n, err
}

// read takes in the whole body.
func (s *Server) read(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	in, err := s.limited(w, r, limit)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(in)
	s.RPC.Metrics.Network(len(b), 0)
	switch {
	case errors.Is(err, errTooLarge):
		return nil, err
	case err != nil:
		return nil, errBody
	}
	return b, nil
}

// readText takes in a body of text.
func (s *Server) readText(w http.ResponseWriter, r *http.Request, limit int64) (string, error) {
	b, err := s.read(w, r, limit)
	if err != nil {
		return "", err
	}
	if !utf8.Valid(b) {
		return "", errBody
	}
	return string(b), nil
}

// readObject takes in a body that is an object in the format its content type names; JSON where it names none.
func (s *Server) readObject(w http.ResponseWriter, r *http.Request, limit int64) (*value.Object, error) {
	b, err := s.read(w, r, limit)
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
