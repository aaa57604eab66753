// Package unpack opens what clients send compressed. What a decoder takes counts for the request, before it is taken.
package unpack

import (
	"bufio"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/nacredb/nacre/engine"
)

// unpackMemory bounds the memory of a zstd decoder: frames with a larger window are refused.
const unpackMemory = 8 << 20

// unpackers open compressed bytes, by the name of their encoding.
var unpackers = map[string]func(io.Reader, *engine.Account) (io.Reader, error){
	"gzip":    func(r io.Reader, mem *engine.Account) (io.Reader, error) { return inflating(r, mem, gzip.NewReader) },
	"deflate": func(r io.Reader, mem *engine.Account) (io.Reader, error) { return inflating(r, mem, zlib.NewReader) },
	"zstd":    openZstd,
}

// inflateMemory is the memory of a decoder of gzip or deflate: its window and its tables.
const inflateMemory = 64 << 10

func inflating[R io.Reader](r io.Reader, mem *engine.Account, open func(io.Reader) (R, error)) (io.Reader, error) {
	if err := charge(mem, inflateMemory); err != nil {
		return nil, err
	}
	return open(r)
}

// openZstd makes a decoder for windows no larger than that of the first frame, which is what it takes.
func openZstd(r io.Reader, mem *engine.Account) (io.Reader, error) {
	in := bufio.NewReaderSize(r, zstd.HeaderMaxSize)
	first, err := in.Peek(zstd.HeaderMaxSize)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if len(first) == 0 {
		return in, nil
	}
	var head zstd.Header
	if err := head.Decode(first); err != nil {
		return nil, err
	}
	window := head.WindowSize
	switch {
	case head.Skippable:
		window = unpackMemory
	case head.SingleSegment:
		window = head.FrameContentSize
	}
	window = max(window, zstd.MinWindowSize)
	if window > unpackMemory {
		return nil, zstd.ErrWindowSizeExceeded
	}
	if err := charge(mem, 2*int(window)+zstdMemory); err != nil {
		return nil, err
	}
	d, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(window))
	if err != nil {
		return nil, err
	}
	return d.IOReadCloser(), nil
}

// zstdMemory is the memory of a decoder of zstd besides its window, which counts twice because it moves: blocks and
// tables.
const zstdMemory = 512 << 10

// NoMemory says that the bytes of a request do not fit.
type NoMemory struct{}

// Error implements error.
func (NoMemory) Error() string { return "no memory for the request" }

func charge(mem *engine.Account, n int) error {
	if mem.Charge(n) != nil {
		return NoMemory{}
	}
	return nil
}

// Knows reports whether what is sent in that encoding can be read.
func Knows(name string) bool {
	name = strings.ToLower(name)
	return name == "" || name == "identity" || unpackers[name] != nil
}

// Reader is r, or what its bytes in a known encoding unpack to. Where it is an io.Closer, the caller closes it.
func Reader(encoding string, r io.Reader, mem *engine.Account) io.Reader {
	open := unpackers[strings.ToLower(encoding)]
	if open == nil {
		return r
	}
	return &unpacker{open: open, packed: r, mem: mem}
}

// unpacker opens its decoder with the first Read: that reads from the client already.
type unpacker struct {
	open   func(io.Reader, *engine.Account) (io.Reader, error)
	packed io.Reader
	mem    *engine.Account
	plain  io.Reader // nil: not open yet
}

// Read implements io.Reader.
func (u *unpacker) Read(p []byte) (int, error) {
	if u.plain == nil {
		plain, err := u.open(u.packed, u.mem)
		if err != nil {
			return 0, err
		}
		u.plain = plain
	}
	return u.plain.Read(p)
}

// Close implements io.Closer: it lets go of the decoder.
func (u *unpacker) Close() error {
	if c, ok := u.plain.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
