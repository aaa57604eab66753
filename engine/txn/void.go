package txn

import (
	"bytes"
	"slices"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/overlay"
)

// gaps are ranges without a key in the snapshot, as those who ask range by range have found them: one each for some of
// the outer ranges that they asked within, the one that was used last in front.
type gaps struct {
	known  []gap
	wide   *gap  // around a key that was not there; nil: there is none
	misses int32 // such keys, since the last look for wide
	vain   uint8 // looks in a row whose wide did not answer for another key
	held   bool  // it has, since
}

type gap struct {
	kv.Range
	within []byte // where the outer range starts
}

// mostGaps is enough for those who ask in turn whether a record has edges, and whether it is referred to, in two
// tables.
const mostGaps = 4

// Void reports whether r has no key, neither in the snapshot nor among what the transaction has written or deleted; r
// then counts as read. It is a cheap question before a Scan where most ranges are empty: within is a range around r,
// and how far the emptiness reaches in it is remembered. Neither of them is kept.
func (tx *Tx) Void(r, within kv.Range) (bool, error) {
	if tx.done {
		return false, ErrDone
	}
	if tx.opt.Write && (touched(&tx.buf, r) || touched(&tx.adds, r)) {
		return false, nil
	}
	if !tx.gaps.contain(r) {
		g, err := tx.gapAt(r.Start, within)
		if err != nil {
			return false, err
		}
		if tx.gaps.add(g); !g.contains(r) {
			return false, nil
		}
	}
	if tx.opt.Write {
		tx.reads.addScan(r).running = false
	}
	return true, nil
}

// touched reports whether t has a key in r.
func touched(t *overlay.Tree, r kv.Range) bool {
	var c overlay.Cursor
	return c.First(t, r.Start) && (r.End == nil || bytes.Compare(c.Key(), r.End) < 0)
}

// gapAt is the gap of the snapshot in within that starts at from; it is empty where from is a key.
func (tx *Tx) gapAt(from []byte, within kv.Range) (gap, error) {
	tx.work.Scans++
	c := tx.snap.Scan(kv.Range{Start: from, End: within.End}, kv.ScanOptions{KeysOnly: true, Limit: 1})
	defer c.Close()
	g := gap{Range: kv.Range{Start: bytes.Clone(from), End: bytes.Clone(within.End)}, within: bytes.Clone(within.Start)}
	if c.Next() {
		g.End = bytes.Clone(c.Key())
	}
	return g, c.Err()
}

func (g *gap) contains(r kv.Range) bool {
	return bytes.Compare(g.Start, r.Start) <= 0 && (g.End == nil || r.End != nil && bytes.Compare(r.End, g.End) <= 0)
}

// contain reports whether r is inside of a gap that is known, and puts that in front.
func (gs *gaps) contain(r kv.Range) bool {
	for i := range gs.known {
		if gs.known[i].contains(r) {
			gs.toFront(i)
			return true
		}
	}
	return false
}

// add remembers g, in place of the one that was found in the same outer range or of the one that was not used for
// longest.
func (gs *gaps) add(g gap) {
	i := slices.IndexFunc(gs.known, func(o gap) bool { return bytes.Equal(o.within, g.within) })
	if i < 0 && len(gs.known) < mostGaps {
		gs.known = append(gs.known, gap{})
	}
	if i < 0 {
		i = len(gs.known) - 1
	}
	gs.known[i] = g
	gs.toFront(i)
}

func (gs *gaps) toFront(i int) {
	g := gs.known[i]
	copy(gs.known[1:i+1], gs.known[:i])
	gs.known[0] = g
}

// A transaction that has missed someMisses keys in the snapshot looks how wide the gap is that the last of them is in.
// A row that is inserted is looked for first, and most of those that come together have ids that ascend from one gap.
// Where they do not, each look is for twice as many misses as the one before, up to 2^mostVain times as many: what can
// say by itself that it does not have a key does that for much less than such a look.
const (
	someMisses = 16
	mostVain   = 6
)

// missed notes that a key is not in the snapshot.
func (tx *Tx) missed(key []byte) (err error) {
	gs := &tx.gaps
	if gs.misses++; gs.misses < someMisses<<gs.vain || !tx.opt.Write {
		return nil
	}
	if gs.misses = 0; gs.held {
		gs.vain = 0
	} else if gs.wide != nil {
		gs.vain = min(gs.vain+1, mostVain)
	}
	gs.held = false
	gs.wide, err = tx.gapAround(key)
	return err
}

// gapAround is the gap of the snapshot that key is in.
func (tx *Tx) gapAround(key []byte) (*gap, error) {
	g, err := tx.gapAt(key, kv.Range{})
	if err != nil {
		return nil, err
	}
	c := tx.snap.Scan(kv.Range{End: key}, kv.ScanOptions{KeysOnly: true, Limit: 1, Reverse: true})
	defer c.Close()
	if g.Start = []byte{}; c.Next() {
		g.Start = after(c.Key())
	}
	return &g, c.Err()
}

// hold reports whether key is known not to be in the snapshot.
func (gs *gaps) hold(key []byte) bool {
	g := gs.wide
	in := g != nil && bytes.Compare(g.Start, key) <= 0 && (g.End == nil || bytes.Compare(key, g.End) < 0)
	gs.held = gs.held || in
	return in
}
