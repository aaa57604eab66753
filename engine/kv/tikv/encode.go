package tikv

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/nacredb/nacre/engine/kv"
)

// The bytes in the cluster:
//
//	base    prefix escaped(key) 00 01                  → value crc4
//	delta   prefix escaped(key) 00 01 start8 number2   → counter8 crc4
//
// escaped doubles nothing but zeros: 00 is 00 ff. Therefore keys keep their order, and what is added to a counter lies
// between its base and the next key. start8 is the start timestamp of the transaction that added, number2 tells apart
// what it added. crc4 is the CRC-32C of the key in the cluster and the value.

// space is the first bytes of all keys of one database cluster.
type space []byte

// newSpace gives the space of a prefix of a DSN, which has no zero byte: no space is within another one.
func newSpace(prefix string) space { return append(append(space("nacre/"), prefix...), 0) }

const (
	baseEnd   = "\x00\x01"
	deltaSize = 8 + 2
	sumSize   = 4
)

// append appends the base key of key.
func (s space) append(dst, key []byte) []byte {
	dst = append(dst, s...)
	for {
		i := bytes.IndexByte(key, 0)
		if i < 0 {
			return append(append(dst, key...), baseEnd...)
		}
		dst = append(append(dst, key[:i+1]...), 0xff)
		key = key[i+1:]
	}
}

// base is the base key of key.
func (s space) base(key []byte) []byte {
	return s.append(make([]byte, 0, len(s)+len(key)+bytes.Count(key, []byte{0})+len(baseEnd)+deltaSize), key)
}

// delta is the key of what the transaction that started at start adds to key.
func (s space) delta(key []byte, start uint64, number uint16) []byte {
	return binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint64(s.base(key), start), number)
}

// bounds are the keys in the cluster of a range: start ≤ k < end.
func (s space) bounds(r kv.Range) (start, end []byte) {
	start = s
	if len(r.Start) > 0 {
		start = s.base(r.Start)
	}
	if r.End != nil {
		if len(r.End) == 0 {
			return start, start
		}
		return start, s.base(r.End)
	}
	end = bytes.Clone(s)
	end[len(end)-1]++
	return start, end
}

// entry is the range of a base key and its deltas.
func entry(base []byte) (start, end []byte) {
	end = bytes.Clone(base)
	end[len(end)-1]++
	return base, end
}

// decode gives the key that k is of, and whether k is a delta.
func (s space) decode(k []byte) (key []byte, delta bool, err error) {
	if !bytes.HasPrefix(k, s) {
		return nil, false, fmt.Errorf("key %x: %w", k, kv.ErrCorrupt)
	}
	rest := k[len(s):]
	key = make([]byte, 0, len(rest))
	for {
		i := bytes.IndexByte(rest, 0)
		if i < 0 || i+1 == len(rest) {
			return nil, false, fmt.Errorf("key %x: %w", k, kv.ErrCorrupt)
		}
		key = append(key, rest[:i]...)
		switch rest[i+1] {
		case 0xff:
			key = append(key, 0)
			rest = rest[i+2:]
		case 1:
			n := len(rest) - i - 2
			if n != 0 && n != deltaSize {
				return nil, false, fmt.Errorf("key %x: %w", k, kv.ErrCorrupt)
			}
			return key, n != 0, nil
		default:
			return nil, false, fmt.Errorf("key %x: %w", k, kv.ErrCorrupt)
		}
	}
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal is value as it is stored at k.
func seal(k, value []byte) []byte {
	sum := crc32.Update(crc32.Checksum(k, castagnoli), castagnoli, value)
	return binary.BigEndian.AppendUint32(append(make([]byte, 0, len(value)+sumSize), value...), sum)
}

// unseal gives the value in what is stored at k. Errors: kv.ErrCorrupt.
func unseal(k, stored []byte) ([]byte, error) {
	n := len(stored) - sumSize
	if n < 0 {
		return nil, fmt.Errorf("value of %d bytes at key %x: %w", len(stored), k, kv.ErrCorrupt)
	}
	sum := crc32.Update(crc32.Checksum(k, castagnoli), castagnoli, stored[:n])
	if binary.BigEndian.Uint32(stored[n:]) != sum {
		return nil, fmt.Errorf("value at key %x: %w", k, kv.ErrCorrupt)
	}
	return stored[:n:n], nil
}
