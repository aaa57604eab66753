package physical

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/nacredb/nacre/engine/kv"
)

// ErrBackup is a file that is no backup, or one that is damaged or cut short.
var ErrBackup = errors.New("not a whole, undamaged backup")

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrBackup, fmt.Sprintf(format, args...))
}

// reader reads a backup and trusts nothing in it.
type reader struct {
	r       io.Reader
	id      [16]byte
	number  uint64
	stored  []byte
	decoded []byte
	zstd    *zstd.Decoder
	key     []byte // the newest entry's
	counts  Manifest
	classes [256]Count
	in      uint64 // bytes read
}

func newReader(r io.Reader) *reader { return &reader{r: r} }

func (r *reader) close() {
	if r.zstd != nil {
		r.zstd.Close()
	}
}

// full reads len(p) bytes; an end before that is damage.
func (r *reader) full(p []byte, what string) error {
	n, err := io.ReadFull(r.r, p)
	r.in += uint64(n)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return damaged("it ends in %s, after %d bytes", what, r.in)
	case err != nil:
		return fmt.Errorf("read backup: %w", err)
	}
	return nil
}

// entries reads the whole backup: it hands each entry to f, in key order, and gives the manifest,
// with which all that was read agrees. The slices are f's only until it returns.
func (r *reader) entries(f func(key, value []byte) error) (*Manifest, error) {
	if err := r.begin(); err != nil {
		return nil, err
	}
	for {
		kind, n, payload, err := r.block()
		if err != nil {
			return nil, err
		}
		if kind == kindManifest {
			return r.end(payload)
		}
		if err := r.data(payload, n, f); err != nil {
			return nil, err
		}
		r.counts.Blocks++
	}
}

// begin reads the header.
func (r *reader) begin() error {
	var h [headerSize]byte
	if err := r.full(h[:], "its header"); err != nil {
		return err
	}
	if string(h[:8]) != magic {
		return damaged("it does not begin as one")
	}
	if binary.LittleEndian.Uint32(h[12:]) != checksum(h[:12], h[16:]) {
		return damaged("the checksum of its header")
	}
	if f := binary.LittleEndian.Uint32(h[8:]); f < oldestFormat || f > format {
		return fmt.Errorf("the backup has format %d, this program reads up to %d: %w", f, format, kv.ErrNewer)
	}
	copy(r.id[:], h[16:])
	return nil
}

// block reads one block. The payload is valid until the next call.
func (r *reader) block() (kind byte, entries int, payload []byte, err error) {
	var h [blockHeader]byte
	if err := r.full(h[:], fmt.Sprintf("the header of block %d", r.number)); err != nil {
		return 0, 0, nil, err
	}
	le := binary.LittleEndian
	if le.Uint32(h[28:]) != checksum(r.id[:], h[:28]) {
		return 0, 0, nil, damaged("the checksum of the header of block %d", r.number)
	}
	stored, raw := le.Uint32(h[4:]), le.Uint32(h[20:])
	switch {
	case le.Uint64(h[8:]) != r.number:
		return 0, 0, nil, damaged("block %d where number %d should be", le.Uint64(h[8:]), r.number)
	case h[0] != kindData && h[0] != kindManifest, h[1] > codecZstd, stored > maxPayload, raw > maxPayload:
		return 0, 0, nil, damaged("block %d is of no known kind", r.number)
	}
	r.stored = grow(r.stored, int(stored))
	if err := r.full(r.stored, fmt.Sprintf("block %d", r.number)); err != nil {
		return 0, 0, nil, err
	}
	if le.Uint32(h[24:]) != checksum(r.stored) {
		return 0, 0, nil, damaged("the checksum of block %d", r.number)
	}
	payload = r.stored
	if h[1] == codecZstd {
		if payload, err = r.unpack(int(raw)); err != nil {
			return 0, 0, nil, err
		}
	}
	if len(payload) != int(raw) {
		return 0, 0, nil, damaged("block %d has %d bytes, not %d", r.number, len(payload), raw)
	}
	r.number++
	return h[0], int(le.Uint32(h[16:])), payload, nil
}

// grow gives a slice of n bytes, with p's memory when it is large enough.
func grow(p []byte, n int) []byte {
	if cap(p) < n {
		return make([]byte, n)
	}
	return p[:n]
}

func (r *reader) unpack(raw int) ([]byte, error) {
	if r.zstd == nil {
		dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxPayload))
		if err != nil {
			return nil, fmt.Errorf("read backup: %w", err)
		}
		r.zstd = dec
	}
	var err error
	if r.decoded, err = r.zstd.DecodeAll(r.stored, grow(r.decoded, raw)[:0]); err != nil {
		return nil, damaged("block %d: %v", r.number, err)
	}
	return r.decoded, nil
}

// data reads the n entries of a data block.
func (r *reader) data(p []byte, n int, f func(key, value []byte) error) error {
	for i := range n {
		shared, rest, size, p2, ok := lengths(p)
		if !ok || shared > uint64(len(r.key)) || i == 0 && shared != 0 || rest > uint64(len(p2)) ||
			size > uint64(len(p2))-rest {
			return damaged("entry %d of block %d", i, r.number-1)
		}
		tail, value := p2[:rest], p2[rest:rest+size]
		if r.counts.Keys > 0 && bytes.Compare(tail, r.key[shared:]) <= 0 {
			return damaged("entry %d of block %d is out of order", i, r.number-1)
		}
		r.key = append(r.key[:shared], tail...)
		if kv.CheckKey(r.key) != nil {
			return damaged("entry %d of block %d has no proper key", i, r.number-1)
		}
		r.count(value)
		if err := f(r.key, value[:size:size]); err != nil {
			return err
		}
		p = p2[rest+size:]
	}
	if len(p) > 0 {
		return damaged("%d bytes after the entries of block %d", len(p), r.number-1)
	}
	return nil
}

// lengths reads the three numbers that begin an entry.
func lengths(p []byte) (shared, rest, size uint64, tail []byte, ok bool) {
	for _, n := range []*uint64{&shared, &rest, &size} {
		v, w := binary.Uvarint(p)
		if w <= 0 {
			return 0, 0, 0, nil, false
		}
		*n, p = v, p[w:]
	}
	return shared, rest, size, p, true
}

func (r *reader) count(value []byte) {
	size := uint64(len(r.key) + len(value))
	r.counts.Keys++
	r.counts.Bytes += size
	c := &r.classes[r.key[0]]
	c.Keys++
	c.Bytes += size
}

// end reads the manifest and holds it against what was read.
func (r *reader) end(payload []byte) (*Manifest, error) {
	m := new(Manifest)
	if err := json.Unmarshal(payload, m); err != nil {
		return nil, damaged("its manifest: %v", err)
	}
	if m.Keys != r.counts.Keys || m.Bytes != r.counts.Bytes || m.Blocks != r.counts.Blocks {
		return nil, damaged("it holds %d keys in %d blocks, its manifest says %d in %d", r.counts.Keys, r.counts.Blocks, m.Keys, m.Blocks)
	}
	var one [1]byte
	switch n, err := io.ReadFull(r.r, one[:]); {
	case n > 0:
		return nil, damaged("there is more after its end")
	case !errors.Is(err, io.EOF):
		return nil, fmt.Errorf("read backup: %w", err)
	}
	return m, nil
}
