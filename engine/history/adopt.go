package history

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
)

// How much Adopt reads and writes at a time: whichever comes first.
const (
	adoptKeys  = 10_000
	adoptBytes = 8 << 20
)

// Adopt writes the first version of everything in s, for a store that did not keep its past so far. No other goroutine
// may use the store meanwhile. n is the number of versions.
func (s *Store) Adopt(ctx context.Context) (n int, err error) {
	at := s.tick()
	for _, class := range [...]key.Class{key.ClassDBDef, key.ClassTableDef, key.ClassRecord} {
		start, end := key.PrefixRange([]byte{byte(class)})
		for r := (kv.Range{Start: start, End: end}); r.Start != nil; {
			writes, next, err := s.firstVersions(ctx, r, at)
			if err != nil {
				return n, fmt.Errorf("begin the history: %w", err)
			}
			if len(writes) > 0 {
				if _, err := s.Store.Commit(ctx, &kv.Batch{Writes: writes}); err != nil {
					return n, fmt.Errorf("begin the history: %w", err)
				}
			}
			n += len(writes)
			r.Start = next
		}
	}
	_, err = s.Store.Commit(ctx,
		&kv.Batch{Writes: []kv.Write{{Key: clockKey(), Value: binary.BigEndian.AppendUint64(nil, at)}}})
	return n, err
}

// firstVersions makes versions of what stands in r, as far as one batch goes; next is where it stopped, nil at the end.
func (s *Store) firstVersions(ctx context.Context, r kv.Range, at uint64) (writes []kv.Write, next []byte, err error) {
	snap, err := s.Store.Begin(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer snap.Release()
	cur := snap.Scan(r, kv.ScanOptions{})
	defer cur.Close()
	size := 0
	for cur.Next() {
		k := cur.Key()
		if len(writes) >= adoptKeys || size >= adoptBytes {
			return writes, bytes.Clone(k), cur.Err()
		}
		past := key.Past(nil, k, at)
		if len(past) == 0 {
			continue
		}
		writes = append(writes, kv.Write{Key: past, Value: bytes.Clone(cur.Value())})
		size += len(past) + len(cur.Value())
	}
	return writes, nil, cur.Err()
}
