package overlay

import (
	"bytes"
	"sort"
	"sync"

	"github.com/nacredb/nacre/engine/kv"
)

// Limits of a window: what an old snapshot can make it keep. A transaction that is older than
// the window meets a conflict, unless nothing that it read may have been changed at all.
const (
	maxWindowKeys  = 1 << 20
	maxWindowBytes = 64 << 20
)

// Footprint lists the keys that a commit changed, sorted. Bytes is the memory that they keep.
type Footprint struct {
	Version kv.Version
	Keys    [][]byte
	Bytes   int
}

// Window remembers the newest commits, oldest first, so that a read set can be checked against
// all that was committed after its snapshot. It is safe for concurrent use.
type Window struct {
	touches touches // by every commit in the window, and by those announced

	mu     sync.Mutex // guards all below; a leaf lock
	floor  kv.Version // commits up to here are forgotten
	newest kv.Version // the newest commit in the window
	recent []Footprint
	keys   int
	bytes  int
}

// Announce counts keys as changed by the commit that gets this version, before it is added. One goroutine at a time may
// call it.
func (w *Window) Announce(keys [][]byte, v kv.Version) { w.touches.note(keys, v) }

// Untouched reports that no commit after since, of those that were added or announced, has changed anything in reads;
// false: one may have.
func (w *Window) Untouched(reads *kv.ReadSet, since kv.Version) bool {
	return w.touches.free(reads, since)
}

// Add appends a commit and forgets those that no snapshot is older than: oldest is the version
// of the oldest open snapshot. As Announce, it is for one goroutine at a time.
func (w *Window) Add(f Footprint, oldest kv.Version) {
	w.Announce(f.Keys, f.Version)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.recent = append(w.recent, f)
	w.newest = f.Version
	w.keys += len(f.Keys)
	w.bytes += f.Bytes
	drop := 0
	for ; drop < len(w.recent); drop++ {
		r := &w.recent[drop]
		if r.Version > oldest && w.keys <= maxWindowKeys && w.bytes <= maxWindowBytes {
			break
		}
		w.keys -= len(r.Keys)
		w.bytes -= r.Bytes
		w.floor = r.Version
	}
	// Readers hold slices of recent: what they see is never overwritten, only left behind.
	if drop == len(w.recent) {
		w.recent = nil
	} else if w.recent = w.recent[drop:]; drop > 0 && cap(w.recent) < 2*len(w.recent) {
		w.recent = append(make([]Footprint, 0, 2*len(w.recent)), w.recent...)
	}
}

// Check looks for a commit after since that changed something in reads, and gives the version
// up to which it has looked. ok is false when there is one, or when there may be one and the window
// does not reach back to since.
func (w *Window) Check(reads *kv.ReadSet, since kv.Version) (upTo kv.Version, ok bool) {
	w.mu.Lock()
	recent, floor, newest := w.recent, w.floor, w.newest
	w.mu.Unlock()
	if w.Untouched(reads, since) {
		return max(newest, since), true
	}
	if since < floor {
		return newest, false
	}
	first := sort.Search(len(recent), func(i int) bool { return recent[i].Version > since })
	for i := first; i < len(recent); i++ {
		if Overlaps(reads, recent[i].Keys) {
			return newest, false
		}
	}
	return max(newest, since), true
}

// Overlaps reports whether one of keys (sorted) is in reads.
func Overlaps(reads *kv.ReadSet, keys [][]byte) bool {
	return sharesKey(reads.Keys, keys) || anyInside(reads.Ranges, keys)
}

// sharesKey walks the shorter of two sorted lists and searches in the rest of the longer.
func sharesKey(a, b [][]byte) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	for _, k := range a {
		i := searchKey(b, k)
		if i == len(b) {
			return false
		}
		if bytes.Equal(b[i], k) {
			return true
		}
		b = b[i:]
	}
	return false
}

// anyInside reports whether a key lies in a range; the ranges are sorted and disjoint.
func anyInside(ranges []kv.Range, keys [][]byte) bool {
	if len(ranges) <= len(keys) {
		for _, r := range ranges {
			i := searchKey(keys, r.Start)
			if i == len(keys) {
				return false
			}
			if r.End == nil || bytes.Compare(keys[i], r.End) < 0 {
				return true
			}
			keys = keys[i:]
		}
		return false
	}
	for _, k := range keys {
		// The last range that starts at or before k is the only one that may hold it.
		i := sort.Search(len(ranges), func(i int) bool { return bytes.Compare(ranges[i].Start, k) > 0 })
		if i > 0 && ranges[i-1].Contains(k) {
			return true
		}
	}
	return false
}

// searchKey is the index of the first of keys that is >= k.
func searchKey(keys [][]byte, k []byte) int {
	lo, hi := 0, len(keys)
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if bytes.Compare(keys[m], k) < 0 {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo
}

// MergeKeys adds the keys of deltas to keys; both are sorted, and so is the result.
func MergeKeys(keys [][]byte, deltas []kv.Delta) [][]byte {
	if len(deltas) == 0 {
		return keys
	}
	i, j := len(keys)-1, len(deltas)-1
	for range deltas {
		keys = append(keys, nil)
	}
	for at := len(keys) - 1; j >= 0; at-- {
		if i >= 0 && bytes.Compare(keys[i], deltas[j].Key) > 0 {
			keys[at] = keys[i]
			i--
			continue
		}
		keys[at] = deltas[j].Key
		j--
	}
	return keys
}
