package txn

import (
	"bytes"
	"slices"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/overlay"
)

// Limits of a read set. Beyond them neighbours are joined into ranges: the set gets coarser,
// never larger and never smaller than what was read.
const (
	maxReadKeys = 4096
	maxSpans    = 1024
)

// readSet is the set of keys that a transaction has read.
type readSet struct {
	keys  overlay.Tree // a set: values are nil
	spans []*span
	arena arena
	added int // keys and spans, ever
	bytes int // about what the set takes at most
}

// readSize is about what a key or a span takes beside its bytes. Long keys count however many there are, short ones
// while the set still grows.
const (
	readSize = 64
	longRead = 512
)

// count adds n bytes of keys to what the set takes, and gives by how much that grows.
func (s *readSet) count(n int) int {
	if s.added++; s.added > maxReadKeys+maxSpans && n <= longRead {
		return 0
	}
	s.bytes += n + readSize
	return n + readSize
}

// span is a range that was read. While its scan runs it is the whole range of the scan; when the
// scan is closed early it shrinks to what the scan has seen.
type span struct {
	kv.Range
	running bool
}

// addKey remembers a copy of key. It gives how many bytes that takes.
func (s *readSet) addKey(key []byte) int {
	if s.keys.Len() >= maxReadKeys {
		s.keysToSpans()
	}
	mine := s.arena.copy(key)
	if _, there := s.keys.Set(mine, nil); there {
		s.arena.undo(mine)
		return 0
	}
	return s.count(len(key))
}

// addScan remembers a copy of a range whose scan begins now.
func (s *readSet) addScan(r kv.Range) *span {
	c := kv.Range{Start: s.arena.copy(r.Start)}
	if r.End != nil {
		c.End = s.arena.copy(r.End)
	}
	return s.addSpan(c, true)
}

func (s *readSet) addSpan(r kv.Range, running bool) *span {
	if len(s.spans) >= maxSpans {
		s.compact()
	}
	sp := &span{Range: r, running: running}
	s.spans = append(s.spans, sp)
	return sp
}

// keysToSpans turns all keys into at most maxReadKeys/16 ranges.
func (s *readSet) keysToSpans() {
	ranges := make([]kv.Range, 0, s.keys.Len())
	var c overlay.Cursor
	for ok := c.First(&s.keys, nil); ok; ok = c.Next() {
		ranges = append(ranges, kv.Range{Start: c.Key(), End: after(c.Key())})
	}
	s.keys, s.arena = overlay.Tree{}, arena{}
	for _, r := range join(ranges, maxReadKeys/16) {
		s.addSpan(r, false)
	}
}

// compact joins the ranges of finished scans to at most half of maxSpans.
func (s *readSet) compact() {
	var finished []kv.Range
	running := make([]*span, 0, maxSpans)
	for _, sp := range s.spans {
		if sp.running {
			running = append(running, sp)
		} else {
			finished = append(finished, sp.Range)
		}
	}
	s.spans = running
	for _, r := range join(disjoint(finished), maxSpans/2) {
		s.spans = append(s.spans, &span{Range: r})
	}
}

// sorted gives the read set in the form that stores want. Running scans count whole.
func (s *readSet) sorted() kv.ReadSet {
	ranges := make([]kv.Range, 0, len(s.spans))
	for _, sp := range s.spans {
		ranges = append(ranges, sp.Range)
	}
	rs := kv.ReadSet{Ranges: disjoint(ranges)}
	if s.keys.Len() == 0 {
		return rs
	}
	rs.Keys = make([][]byte, 0, s.keys.Len())
	rest := rs.Ranges
	var c overlay.Cursor
	for ok := c.First(&s.keys, nil); ok; ok = c.Next() {
		for len(rest) > 0 && rest[0].End != nil && bytes.Compare(rest[0].End, c.Key()) <= 0 {
			rest = rest[1:]
		}
		if len(rest) == 0 || !rest[0].Contains(c.Key()) {
			rs.Keys = append(rs.Keys, c.Key())
		}
	}
	return rs
}

// disjoint sorts ranges and joins those that touch, in place; empty ones go.
func disjoint(ranges []kv.Range) []kv.Range {
	ranges = slices.DeleteFunc(ranges, kv.Range.Empty)
	slices.SortFunc(ranges, func(a, b kv.Range) int { return bytes.Compare(a.Start, b.Start) })
	out := ranges[:0]
	for _, r := range ranges {
		if n := len(out) - 1; n >= 0 && (out[n].End == nil || bytes.Compare(out[n].End, r.Start) >= 0) {
			if out[n].End != nil && (r.End == nil || bytes.Compare(out[n].End, r.End) < 0) {
				out[n].End = r.End
			}
			continue
		}
		out = append(out, r)
	}
	return out
}

// join reduces sorted disjoint ranges to at most most, in place. It closes the gaps between the
// closest first: those whose two sides have the longest prefix in common, so that ranges of
// different key spaces stay apart as long as possible.
func join(ranges []kv.Range, most int) []kv.Range {
	if len(ranges) <= most {
		return ranges
	}
	gaps := make([]int, len(ranges)-1)
	for i := range gaps {
		gaps[i] = kv.SharedPrefix(ranges[i].End, ranges[i+1].Start)
	}
	order := slices.Clone(gaps)
	slices.Sort(order)
	// The gaps with the most-1 shortest prefixes stay.
	limit, keep := order[most-1], 0
	for _, g := range order[:most-1] {
		if g == limit {
			keep++ // of those at the limit, only so many
		}
	}
	out := ranges[:1]
	for i, g := range gaps {
		stays := g < limit
		if g == limit && keep > 0 {
			keep--
			stays = true
		}
		if stays {
			out = append(out, ranges[i+1])
		} else {
			out[len(out)-1].End = ranges[i+1].End
		}
	}
	return out
}

// after is the smallest key greater than key.
func after(key []byte) []byte {
	return append(append(make([]byte, 0, len(key)+1), key...), 0)
}
