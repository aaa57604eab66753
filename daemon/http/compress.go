package http

import (
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// compressFrom is the size from which answers are compressed.
const compressFrom = 512

// encoder compresses one answer; Reset readies it for the next.
type encoder interface {
	io.WriteCloser
	Flush() error
	Reset(io.Writer)
}

// encodings by name, in the order in which they are preferred.
var encodings = [...]struct {
	name string
	pool *sync.Pool
}{
	{"zstd", &sync.Pool{New: newZstd}},
	{"gzip", &sync.Pool{New: func() any { return gzip.NewWriter(io.Discard) }}},
	{"deflate", &sync.Pool{New: func() any { return zlib.NewWriter(io.Discard) }}},
}

func newZstd() any {
	w, err := zstd.NewWriter(io.Discard, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20),
		zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic(err) // only wrong options fail, and these are constants
	}
	return w
}

// compressor holds back the first bytes of an answer until it is known whether to compress it.
type compressor struct {
	http.ResponseWriter
	which   int // of encodings; -1: none wanted
	enc     encoder
	held    []byte
	status  int
	decided bool
}

func newCompressor(w http.ResponseWriter, r *http.Request) *compressor {
	c := &compressor{ResponseWriter: w, which: wanted(r.Header.Get("Accept-Encoding"))}
	if r.Method == http.MethodHead {
		c.which = -1
	}
	return c
}

// wanted is the best encoding that the client takes, or -1.
func wanted(accept string) int {
	if accept == "" {
		return -1
	}
	for i, e := range encodings {
		for part := range strings.SplitSeq(accept, ",") {
			name, q, _ := strings.Cut(strings.TrimSpace(part), ";")
			if strings.EqualFold(strings.TrimSpace(name), e.name) && !zeroQuality(q) {
				return i
			}
		}
	}
	return -1
}

func zeroQuality(q string) bool {
	q = strings.ReplaceAll(q, " ", "")
	return strings.HasPrefix(q, "q=0") && strings.Trim(q[3:], ".0") == ""
}

// Unwrap lets http.ResponseController through.
func (c *compressor) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (c *compressor) WriteHeader(status int) {
	if c.status == 0 {
		c.status = status
	}
}

// Write implements http.ResponseWriter.
func (c *compressor) Write(b []byte) (int, error) {
	if c.decided {
		if c.enc != nil {
			return c.enc.Write(b)
		}
		return c.ResponseWriter.Write(b)
	}
	if len(c.held)+len(b) <= compressFrom && c.which >= 0 {
		c.held = append(c.held, b...)
		return len(b), nil
	}
	if err := c.decide(c.which >= 0); err != nil {
		return 0, err
	}
	return c.Write(b)
}

// decide sends the header and what was held back.
func (c *compressor) decide(compress bool) error {
	c.decided = true
	h := c.Header()
	if strings.HasPrefix(h.Get("Content-Type"), "image/") || h.Get("Content-Encoding") != "" {
		compress = false
	}
	if compress {
		e := encodings[c.which]
		h.Set("Content-Encoding", e.name)
		h.Add("Vary", "accept-encoding")
		h.Del("Content-Length")
		c.enc = e.pool.Get().(encoder)
		c.enc.Reset(c.ResponseWriter)
	}
	if c.status != 0 {
		c.ResponseWriter.WriteHeader(c.status)
	}
	held := c.held
	c.held = nil
	if len(held) == 0 {
		return nil
	}
	_, err := c.Write(held)
	return err
}

// Flush sends what there is.
func (c *compressor) Flush() {
	if !c.decided {
		if err := c.decide(c.which >= 0 && len(c.held) > 0); err != nil {
			return // the next write reports it
		}
	}
	if c.enc != nil {
		if err := c.enc.Flush(); err != nil {
			return
		}
	}
	_ = http.NewResponseController(c.ResponseWriter).Flush()
}

// close ends the answer.
func (c *compressor) close() {
	if !c.decided {
		_ = c.decide(false) // the client is gone
	}
	if c.enc != nil {
		_ = c.enc.Close()
		c.enc.Reset(io.Discard)
		encodings[c.which].pool.Put(c.enc)
	}
}
