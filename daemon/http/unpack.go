package http

import (
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// unpackMemory bounds the memory of a zstd decoder: frames with a larger window are refused.
const unpackMemory = 8 << 20

// unpackers open compressed bodies, by the name of their Content-Encoding.
var unpackers = map[string]func(io.Reader) (io.Reader, error){
	"gzip":    func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
	"deflate": func(r io.Reader) (io.Reader, error) { return zlib.NewReader(r) },
	"zstd": func(r io.Reader) (io.Reader, error) {
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(unpackMemory))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	},
}

// knownEncoding reports whether bodies with that Content-Encoding can be read.
func knownEncoding(name string) bool {
	name = strings.ToLower(name)
	return name == "" || name == "identity" || unpackers[name] != nil
}

// unpacked is r, or what its bytes in a known encoding unpack to.
func unpacked(encoding string, r io.Reader) io.Reader {
	open := unpackers[strings.ToLower(encoding)]
	if open == nil {
		return r
	}
	return &unpacker{open: open, packed: r}
}

// unpacker opens its decoder with the first Read: that reads from the client already.
type unpacker struct {
	open   func(io.Reader) (io.Reader, error)
	packed io.Reader
	plain  io.Reader // nil: not open yet
}

// Read implements io.Reader.
func (u *unpacker) Read(p []byte) (int, error) {
	if u.plain == nil {
		plain, err := u.open(u.packed)
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
