// Package history keeps the past of a store: what every record, and every definition of a database or table, was at any
// time since the keeping began, or within the retention.
//
// Store wraps a kv.Store. Each commit through it also writes, in the same batch, a version of every such key that it
// writes: the key of engine/key.Past with the time of the commit, and the value; an empty value says that the key was
// removed. Times are nanoseconds since 1970, and never go back, not over a restart either. A batch that writes or
// removes versions of a record itself gets no other version of that record: that is how an import brings the past with
// it, and how REMOVE DATABASE takes it away.
//
// Get and Scan read the past through a transaction. The time of a version is taken just before its commit is applied:
// for as long as that commit is under way, a read at a time within it does not see what a later one does.
//
// The package knows keys, and nothing of what is in the values.
package history

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
)

// Version is a time as versions have it: 0 for any time before 1970.
func Version(t time.Time) uint64 {
	if t.Unix() < 0 {
		return 0
	}
	return uint64(t.Unix())*uint64(time.Second) + uint64(t.Nanosecond())
}

// Time is the time of a version.
func Time(version uint64) time.Time {
	return time.Unix(int64(version/uint64(time.Second)), int64(version%uint64(time.Second))).UTC()
}

// clockKey is where the store keeps the time of its last commit, 8 bytes big endian.
func clockKey() []byte { return key.Meta(nil, "history clock") }

// Store is a kv.Store that keeps the past. It is safe for concurrent use.
type Store struct {
	kv.Store
	clock func() time.Time

	mu   sync.Mutex // guards last; a leaf lock
	last uint64     // the newest time given out
}

var _ kv.Store = (*Store)(nil)

// Wrap makes the commits to inner keep the past. clock may be nil: the system's. Close closes inner.
func Wrap(ctx context.Context, inner kv.Store, clock func() time.Time) (*Store, error) {
	if clock == nil {
		clock = time.Now
	}
	snap, err := inner.Begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("open the history: %w", err)
	}
	defer snap.Release()
	s := &Store{Store: inner, clock: clock}
	raw, ok, err := snap.Get(clockKey())
	if err != nil {
		return nil, fmt.Errorf("open the history: %w", err)
	}
	if ok && len(raw) == 8 {
		s.last = binary.BigEndian.Uint64(raw)
	}
	return s, nil
}

// tick gives a time later than all that it gave before.
func (s *Store) tick() uint64 {
	now := Version(s.clock())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = max(now, s.last+1)
	return s.last
}

// Commit implements kv.Store.
func (s *Store) Commit(ctx context.Context, b *kv.Batch) (kv.Version, error) {
	if past := s.past(b.Writes); len(past) > 0 {
		b.Writes = merge(b.Writes, past)
	}
	return s.Store.Commit(ctx, b)
}

// blockSize is how large the blocks become that keys are cut off.
const blockSize = 64 << 10

// past is the versions of what is written, in the order of their keys, behind the time of the commit; nil where there
// is nothing to keep.
func (s *Store) past(writes []kv.Write) []kv.Write {
	versions := written(writes)
	var defs, records []kv.Write
	var at uint64
	var block []byte // keys are cut off it
	for i := range writes {
		w := &writes[i]
		if need := 2*len(w.Key) + 16; cap(block)-len(block) < need { // no key has more escapes than bytes
			block = make([]byte, 0, max(need, min(blockSize, 2*cap(block))))
		}
		n := len(block)
		block = key.PastPrefix(block, w.Key)
		if len(block) == n {
			continue
		}
		if brings(versions, block[n:]) {
			block = block[:n]
			continue
		}
		if at == 0 {
			at = s.tick()
			records = make([]kv.Write, 0, len(writes)+1)
		}
		block = key.AppendVersion(block, at)
		v := kv.Write{Key: block[n:len(block):len(block)], Value: w.Value}
		if v.Value == nil {
			v.Value = []byte{}
		}
		if key.Class(v.Key[0]) == key.ClassPastDef {
			defs = append(defs, v)
		} else {
			records = append(records, v)
		}
	}
	if at == 0 {
		return nil
	}
	out := append(make([]kv.Write, 0, 1+len(defs)+len(records)),
		kv.Write{Key: clockKey(), Value: binary.BigEndian.AppendUint64(nil, at)})
	return append(append(out, defs...), records...)
}

// written is the part of a batch that writes the history of records itself.
func written(writes []kv.Write) []kv.Write {
	before := func(class key.Class) func(i int) bool {
		return func(i int) bool { return bytes.Compare(writes[i].Key, []byte{byte(class)}) >= 0 }
	}
	return writes[sort.Search(len(writes), before(key.ClassHistory)):sort.Search(len(writes),
		before(key.ClassHistory+1))]
}

// brings reports whether versions has one that starts with prefix.
func brings(versions []kv.Write, prefix []byte) bool {
	if len(versions) == 0 {
		return false
	}
	i, _ := slices.BinarySearchFunc(versions, prefix, func(w kv.Write, p []byte) int { return bytes.Compare(w.Key, p) })
	return i < len(versions) && bytes.HasPrefix(versions[i].Key, prefix)
}

// merge joins two sorted lists of writes that have no key in common, but for the clock's: that of b counts.
func merge(a, b []kv.Write) []kv.Write {
	out := make([]kv.Write, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch o := bytes.Compare(a[0].Key, b[0].Key); {
		case o < 0:
			out, a = append(out, a[0]), a[1:]
		case o > 0:
			out, b = append(out, b[0]), b[1:]
		default:
			out, a, b = append(out, b[0]), a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}
