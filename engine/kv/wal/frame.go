package wal

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/nacredb/nacre/engine/kv"
)

// maxPayload bounds one batch: its length must fit in memory twice and in 32 bits.
const maxPayload = 1 << 30

// Frame is one batch in its form on disk. Keys and sealed values are slices of that form.
type Frame struct {
	Version kv.Version
	Keys    [][]byte // sorted
	Sealed  [][]byte // as Keys; nil = deleted
	slots   []slot
	one     [1]slot // room for slots: most frames that count count their rows
	buf     []byte  // header, payload, padding
	payload int     // its length
	summed  bool    // the payload's checksum is in the header
}

// slot is a counter whose value is filled in at commit.
type slot struct {
	at  int // index in Keys and Sealed
	add int64
}

// Size is the number of bytes that the frame takes in the log.
func (f *Frame) Size() int { return len(f.buf) }

// Encode makes the frame of a batch; its Deltas still have to be given values (SetCounters). It
// copies everything. Errors: those of kv.Batch.CheckKeys, and kv.ErrTooLarge.
func Encode(b *kv.Batch) (*Frame, error) {
	if err := b.CheckKeys(); err != nil {
		return nil, err
	}
	n := len(b.Writes) + len(b.Deltas)
	payload := 0
	for _, w := range b.Writes {
		payload += entrySize(len(w.Key), len(w.Value), w.Value == nil)
	}
	for _, d := range b.Deltas {
		payload += entrySize(len(d.Key), 8, false)
	}
	if payload > maxPayload {
		return nil, fmt.Errorf("batch of %d bytes: %w", payload, kv.ErrTooLarge)
	}
	both := make([][]byte, 2*n)
	f := &Frame{Keys: both[:0:n], Sealed: both[n:n], payload: payload,
		buf: make([]byte, frameHeader, align(frameHeader+payload))}
	if len(b.Deltas) == 1 {
		f.slots = f.one[:0]
	}
	f.appendEntries(b)
	f.buf = f.buf[:cap(f.buf)]
	if len(f.slots) == 0 {
		f.sumPayload()
	}
	return f, nil
}

// appendEntries writes writes and deltas, merged by key.
func (f *Frame) appendEntries(b *kv.Batch) {
	deltas := b.Deltas
	for _, w := range b.Writes {
		for len(deltas) > 0 && bytes.Compare(deltas[0].Key, w.Key) < 0 {
			f.appendDelta(deltas[0])
			deltas = deltas[1:]
		}
		f.append(w.Key, w.Value, w.Value == nil)
	}
	for _, d := range deltas {
		f.appendDelta(d)
	}
}

func (f *Frame) appendDelta(d kv.Delta) {
	var zero [8]byte
	f.slots = append(f.slots, slot{at: len(f.Keys), add: d.Add})
	f.append(d.Key, zero[:], false)
}

func (f *Frame) append(key, value []byte, deleted bool) {
	f.buf = binary.AppendUvarint(f.buf, uint64(len(key)))
	size := uint64(0)
	if !deleted {
		size = uint64(len(value)) + 1
	}
	f.buf = binary.AppendUvarint(f.buf, size)
	at := len(f.buf)
	f.buf = append(f.buf, key...)
	end := len(f.buf)
	f.Keys = append(f.Keys, f.buf[at:end:end])
	if deleted {
		f.Sealed = append(f.Sealed, nil)
		return
	}
	f.buf = Seal(f.buf, key, value)
	f.Sealed = append(f.Sealed, f.buf[end:len(f.buf):len(f.buf)])
}

func entrySize(key, value int, deleted bool) int {
	if deleted {
		return uvarintSize(key) + 1 + key
	}
	return uvarintSize(key) + uvarintSize(value+1) + key + value + SealSize
}

func uvarintSize(n int) int { return max(1, (bits.Len(uint(n))+6)/7) }

// SetCounters gives the counters their new values: what old says there is now, plus the delta.
// Errors are those of old, and kv.ErrCounter.
func (f *Frame) SetCounters(old func(key []byte) ([]byte, error)) error {
	for _, s := range f.slots {
		key, sealed := f.Keys[s.at], f.Sealed[s.at]
		v, err := old(key)
		if err != nil {
			return err
		}
		n, ok := kv.Counter(v)
		if !ok {
			return fmt.Errorf("add to key %x: %w", key, kv.ErrCounter)
		}
		kv.AppendCounter(sealed[:0], n+s.add)
		binary.LittleEndian.PutUint32(sealed[8:], sealSum(key, sealed[:8]))
	}
	return nil
}

func (f *Frame) sumPayload() {
	binary.LittleEndian.PutUint32(f.buf[12:], checksum(f.buf[frameHeader:frameHeader+f.payload]))
	f.summed = true
}

// finish fills in the header for a place in the log.
func (f *Frame) finish(mark uint32, durable kv.Version) {
	if !f.summed {
		f.sumPayload()
	}
	le := binary.LittleEndian
	h := f.buf[:frameHeader]
	le.PutUint32(h[0:], mark)
	le.PutUint32(h[8:], uint32(f.payload))
	le.PutUint64(h[16:], uint64(f.Version))
	le.PutUint64(h[24:], uint64(durable))
	le.PutUint32(h[32:], uint32(len(f.Keys)))
	le.PutUint32(h[4:], checksum(h[8:]))
}

// decode reads the frame at the start of p; ok is false when there is none that is whole. The
// frame shares p's memory.
func decode(p []byte, mark uint32) (f *Frame, durable kv.Version, ok bool) {
	le := binary.LittleEndian
	if len(p) < frameHeader || le.Uint32(p) != mark {
		return nil, 0, false
	}
	h := p[:frameHeader]
	size := int(le.Uint32(h[8:]))
	if le.Uint32(h[4:]) != checksum(h[8:]) || size < 0 || size > maxPayload || size > len(p)-frameHeader {
		return nil, 0, false
	}
	body := p[frameHeader : frameHeader+size]
	if le.Uint32(h[12:]) != checksum(body) {
		return nil, 0, false
	}
	f = &Frame{Version: kv.Version(le.Uint64(h[16:])), payload: size, summed: true,
		buf: p[:min(len(p), align(frameHeader+size))]}
	if !f.entries(body, int(le.Uint32(h[32:]))) {
		return nil, 0, false
	}
	return f, kv.Version(le.Uint64(h[24:])), true
}

// entries reads n entries that must fill body.
func (f *Frame) entries(body []byte, n int) bool {
	if n < 0 || n > len(body) {
		return false
	}
	f.Keys, f.Sealed = make([][]byte, 0, n), make([][]byte, 0, n)
	for range n {
		klen, a := binary.Uvarint(body)
		if a <= 0 {
			return false
		}
		vlen, b := binary.Uvarint(body[a:])
		if b <= 0 {
			return false
		}
		body = body[a+b:]
		if klen > uint64(len(body)) {
			return false
		}
		f.Keys = append(f.Keys, body[:klen:klen])
		body = body[klen:]
		if vlen == 0 {
			f.Sealed = append(f.Sealed, nil)
			continue
		}
		if vlen > uint64(len(body)) || vlen-1+SealSize > uint64(len(body)) {
			return false
		}
		end := vlen - 1 + SealSize
		f.Sealed = append(f.Sealed, body[:end:end])
		body = body[end:]
	}
	return len(body) == 0
}
