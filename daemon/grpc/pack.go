package grpc

import (
	"bytes"
	"encoding/binary"
	"io"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// packing compresses messages.
type packing struct {
	names []string // the value of the header
	pool  *sync.Pool
}

// compressor compresses one message; Reset readies it for the next.
type compressor interface {
	io.WriteCloser
	Reset(io.Writer)
}

var packings = map[string]*packing{
	"zstd": {[]string{"zstd"}, &sync.Pool{New: newZstd}},
	"gzip": {[]string{"gzip"}, &sync.Pool{New: func() any { return gzip.NewWriter(io.Discard) }}},
}

func newZstd() any {
	w, err := zstd.NewWriter(io.Discard, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20),
		zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic(err) // only wrong options fail, and these are constants
	}
	return w
}

// packingFor is the first encoding that a client lists and the server has; nil: messages leave as they are.
func packingFor(accept string) *packing {
	if accept == "" || accept == "identity" {
		return nil
	}
	for name := range strings.SplitSeq(accept, ",") {
		if p := packings[strings.ToLower(strings.TrimSpace(name))]; p != nil {
			return p
		}
	}
	return nil
}

// packFrom is the size from which messages are compressed.
const packFrom = 1 << 10

// shrink compresses the message that begins at start of b, where that makes it shorter.
func (p *packing) shrink(b []byte, start int) []byte {
	message := b[start+headSize:]
	if len(message) < packFrom {
		return b
	}
	var packed bytes.Buffer
	packed.Grow(len(message) / 2)
	w := p.pool.Get().(compressor)
	defer p.pool.Put(w)
	w.Reset(&packed)
	_, err := w.Write(message)
	if closed := w.Close(); err != nil || closed != nil || packed.Len() >= len(message) {
		return b // it goes as it is
	}
	b[start] = 1
	binary.BigEndian.PutUint32(b[start+1:], uint32(packed.Len()))
	return append(b[:start+headSize], packed.Bytes()...)
}
