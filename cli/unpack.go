package cli

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/klauspost/compress/zstd"
)

// The first bytes of packed files: RFC 1952 and RFC 8878.
var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// unpack gives the contents of r, which may be packed by gzip or zstd: its first bytes tell. path is for errors.
func unpack(path string, r io.Reader) (io.ReadCloser, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	head, err := in.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(head, gzipMagic):
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, damaged(path, err)
		}
		return unpacked{z, path}, nil
	case bytes.HasPrefix(head, zstdMagic):
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
		if err != nil {
			return nil, damaged(path, err)
		}
		return unpacked{z.IOReadCloser(), path}, nil
	}
	return io.NopCloser(in), nil
}

// unpacked reads the contents of the packed file at path.
type unpacked struct {
	io.ReadCloser
	path string
}

// Read implements io.Reader.
func (u unpacked) Read(p []byte) (int, error) {
	n, err := u.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = damaged(u.path, err)
	}
	return n, err
}

// damaged is the error of a file that cannot be unpacked, unless it is one of reading it.
func damaged(path string, err error) error {
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return err
	}
	return exitError{exitInvalid, fmt.Errorf("%s is packed, and damaged: %w", path, err)}
}
