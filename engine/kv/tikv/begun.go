package tikv

import (
	"bytes"
	"errors"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	"golang.org/x/sync/errgroup"

	"github.com/nacredb/nacre/engine/kv"
)

// begun are scans whose first pairs were read before they were asked for, by where they start. A snapshot does not
// change, so that what was read stays right; it is forgotten when as many scans have begun with it as were to come, and
// when it gets too much.
type begun struct {
	scans map[string]*start
	bytes int // about what they take
}

// start is the first part of a scan.
type start struct {
	whole stretch
	rest  stretch // behind pairs
	pairs []*kvrpcpb.KvPair
	bytes int
	calls int // of PrefetchRanges for it that no scan has answered yet
}

// How many scans are begun at once, and how much of what PrefetchRanges has read is kept: beyond it all of it is
// forgotten.
const (
	scansAtOnce   = 32
	mostScans     = 256
	maxBegun      = 1024
	maxBegunBytes = 2 * batchBytes
)

// PrefetchRanges implements kv.Prefetcher: TiKV has no request for several ranges, so that many go out beside each
// other.
func (sn *snapshot) PrefetchRanges(ranges []kv.Range) (first [][]kv.Pair, next int, err error) {
	all := make([]*start, len(ranges))
	fresh, starts := []*start(nil), make(map[string]*start, len(ranges))
	for i, r := range ranges {
		st := &start{}
		st.whole.start, st.whole.end = sn.reader.store.space.bounds(r)
		from := string(st.whole.start)
		if old := sn.begun.scans[from]; old.covers(&st.whole) {
			st = old
		} else if old := starts[from]; old.covers(&st.whole) {
			st = old
		} else {
			fresh, starts[from] = append(fresh, st), st
		}
		st.calls++
		all[i] = st
	}
	next = mostScans
	if len(fresh) > 0 {
		if err := sn.beside(func() error { return sn.begin(fresh) }); err != nil {
			return nil, 0, err
		}
		next = max(1, min(mostScans, len(fresh)*batchBytes/sn.begun.add(fresh)))
	}
	first = make([][]kv.Pair, len(all))
	for i, st := range all {
		first[i] = sn.reader.store.shown(st.pairs, false)
	}
	return first, next, nil
}

// begin reads the first pairs of scans.
func (sn *snapshot) begin(scans []*start) error {
	r := sn.reader
	one := func(st *start) (err error) {
		st.rest = st.whole
		st.pairs, err = r.next(r.store.ctx, &st.rest, firstPairs)
		st.bytes = weight(st.pairs)
		return err
	}
	r.store.trips.together.Add(uint64(len(scans) - 1))
	var group errgroup.Group
	group.SetLimit(scansAtOnce)
	last := len(scans) - 1
	for _, st := range scans[:last] {
		group.Go(func() error { return one(st) })
	}
	err := one(scans[last])
	return errors.Join(err, group.Wait())
}

// add keeps scans, and gives about what they take, at least 1.
func (b *begun) add(scans []*start) int {
	if b.scans == nil || len(b.scans)+len(scans) > maxBegun || b.bytes > maxBegunBytes {
		*b = begun{scans: make(map[string]*start, len(scans))}
	}
	read := 1
	for _, st := range scans {
		b.forget(string(st.whole.start)) // of another range
		b.scans[string(st.whole.start)] = st
		b.bytes += st.bytes
		read += st.bytes
	}
	return read
}

// covers reports whether a scan is there, and just of a range.
func (st *start) covers(r *stretch) bool {
	return st != nil && bytes.Equal(st.whole.start, r.start) && bytes.Equal(st.whole.end, r.end)
}

// forget forgets the scan that begins somewhere.
func (b *begun) forget(from string) {
	if st := b.scans[from]; st != nil {
		delete(b.scans, from)
		b.bytes -= st.bytes
	}
}

// goOn makes the cursor, at its start, go on where PrefetchRanges has stopped, if that has begun this scan.
func (c *cursor) goOn() bool {
	if c.of == nil || c.opt.Reverse || len(c.of.begun.scans) == 0 {
		return false
	}
	st := c.of.begun.scans[string(c.rest.start)]
	if !st.covers(&c.rest) {
		return false
	}
	if st.calls--; st.calls == 0 {
		c.of.begun.forget(string(c.rest.start))
	}
	if c.of.belief.moved {
		c.err = kv.ErrMoved
		return true
	}
	c.pairs, c.rest = st.pairs, st.rest
	c.rest.keysOnly = c.opt.KeysOnly
	return true
}
