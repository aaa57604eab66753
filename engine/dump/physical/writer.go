package physical

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/nacredb/nacre/engine/kv"
)

// block is one block on its way out: room for the header, then the payload.
type block struct {
	buf     []byte
	last    []byte // the key before
	entries int
}

func newBlock() *block {
	return &block{buf: make([]byte, blockHeader, blockHeader+blockSize+blockSize/8)}
}

func (b *block) reset() {
	b.buf, b.last, b.entries = b.buf[:blockHeader], b.last[:0], 0
}

func (b *block) size() int { return len(b.buf) - blockHeader }

// add appends an entry.
func (b *block) add(key, value []byte) {
	n := 0
	if b.entries > 0 {
		n = kv.SharedPrefix(b.last, key)
	}
	b.buf = binary.AppendUvarint(b.buf, uint64(n))
	b.buf = binary.AppendUvarint(b.buf, uint64(len(key)-n))
	b.buf = binary.AppendUvarint(b.buf, uint64(len(value)))
	b.buf = append(b.buf, key[n:]...)
	b.buf = append(b.buf, value...)
	b.last = append(b.last[:0], key...)
	b.entries++
}

// writer numbers, checks and writes blocks.
type writer struct {
	w      io.Writer
	id     [16]byte
	number uint64
	zstd   *zstd.Encoder // nil = blocks as they are
	packed []byte
	out    uint64 // bytes written
}

// begin writes the header of the backup.
func (w *writer) begin() error {
	h := make([]byte, headerSize)
	copy(h, magic)
	binary.LittleEndian.PutUint32(h[8:], format)
	copy(h[16:], w.id[:])
	binary.LittleEndian.PutUint32(h[12:], checksum(h[:12], h[16:]))
	return w.write(h)
}

func (w *writer) write(p []byte) error {
	n, err := w.w.Write(p)
	w.out += uint64(n)
	if err != nil {
		return fmt.Errorf("write backup: %w", err)
	}
	return nil
}

// block writes b; its payload may be gone afterwards.
func (w *writer) block(kind byte, b *block) error {
	raw := b.size()
	buf, codec := b.buf, byte(codecPlain)
	if w.zstd != nil && kind == kindData {
		w.packed = w.zstd.EncodeAll(b.buf[blockHeader:], append(w.packed[:0], make([]byte, blockHeader)...))
		buf, codec = w.packed, codecZstd
	}
	le := binary.LittleEndian
	h := buf[:blockHeader]
	h[0], h[1], h[2], h[3] = kind, codec, 0, 0
	le.PutUint32(h[4:], uint32(len(buf)-blockHeader))
	le.PutUint64(h[8:], w.number)
	le.PutUint32(h[16:], uint32(b.entries))
	le.PutUint32(h[20:], uint32(raw))
	le.PutUint32(h[24:], checksum(buf[blockHeader:]))
	le.PutUint32(h[28:], checksum(w.id[:], h[:28]))
	w.number++
	return w.write(buf)
}
