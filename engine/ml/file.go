package ml

import (
	"encoding/binary"
	"io"
)

// lengthBytes are the bytes before the header: its length, big endian.
const lengthBytes = 4

// MaxHeader bounds the header of a model file, in bytes.
const MaxHeader = 1 << 20

// The errors of a file that ends too early.
const (
	textNoLength = "Not enough bytes to read"
	textNoHeader = "Not enough bytes to read for header, maybe the file format is not correct"
)

// ReadHeader reads the header of a model file from r, and no byte behind it.
//
//	offset 0    N, 4 bytes, big endian
//	offset 4    N bytes: the header, UTF-8
//	offset 4+N  the rest: an ONNX ModelProto
//
// It never takes more memory than there are bytes in r.
func ReadHeader(r io.Reader) (*Header, error) {
	var length [lengthBytes]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, tooShort(err, textNoLength)
	}
	n := int64(binary.BigEndian.Uint32(length[:]))
	text, err := io.ReadAll(io.LimitReader(r, min(n, MaxHeader+1)))
	if err != nil {
		return nil, err
	}
	if int64(len(text)) < min(n, MaxHeader+1) {
		return nil, tooShort(io.ErrUnexpectedEOF, textNoHeader)
	}
	if n > MaxHeader {
		return nil, refuse("Model header is longer than %d bytes", MaxHeader)
	}
	return ParseHeader(text)
}

// tooShort is the error of a file that ends too early; other errors of reading stay what they are.
func tooShort(err error, text string) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return refuse("%s", text)
	}
	return err
}

// Bytes is the header as it stands at the start of a model file.
func (h *Header) Bytes() []byte {
	s := h.String()
	b := make([]byte, lengthBytes, lengthBytes+len(s))
	binary.BigEndian.PutUint32(b, uint32(len(s)))
	return append(b, s...)
}

// Split takes a whole model file apart: its header and the bytes of its ONNX model.
func Split(b []byte) (*Header, []byte, error) {
	if len(b) < lengthBytes {
		return nil, nil, refuse("%s", textNoLength)
	}
	n := uint64(binary.BigEndian.Uint32(b))
	if n > uint64(len(b)-lengthBytes) {
		return nil, nil, refuse("%s", textNoHeader)
	}
	if n > MaxHeader {
		return nil, nil, refuse("Model header is longer than %d bytes", MaxHeader)
	}
	h, err := ParseHeader(b[lengthBytes : lengthBytes+n])
	return h, b[lengthBytes+n:], err
}
