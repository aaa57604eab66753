package txn

import (
	"bytes"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/overlay"
)

// ScanOptions tunes a scan.
type ScanOptions struct {
	Reverse   bool
	KeysOnly  bool // Value may answer nil
	Damaged   bool // as that of kv.ScanOptions
	Limit     int  // 0 = no limit
	Untracked bool // as GetUntracked
}

// Cursor walks the keys of a range: the snapshot with the transaction's writes on top, both as
// they were when the scan began (writes made while it runs do not show). Use it as a kv.Cursor.
type Cursor struct {
	tx      *Tx
	buf     overlay.Tree
	mine    overlay.Scan // over buf, ahead of what was given out; holds deletions too
	base    kv.Cursor    // over the snapshot, ahead likewise
	hasMine bool         // mine is at an entry that was not given out
	hasBase bool
	plain   bool // no own writes in the range: base says it all
	reverse bool
	limited bool // base was opened with the limit, which is right for plain scans only
	opt     ScanOptions
	left    int // keys still to give; negative = no limit
	span    *span
	key     []byte
	val     []byte
	ended   bool // the range was seen to its end
	err     error
}

var _ kv.Cursor = (*Cursor)(nil)

// Scan iterates over r, whose slices must not change before Close. What the cursor has passed by
// then counts as read.
func (tx *Tx) Scan(r kv.Range, opt ScanOptions) *Cursor {
	c := &Cursor{tx: tx, reverse: opt.Reverse, opt: opt}
	c.begin(r)
	return c
}

// Move implements kv.Cursor: it is Close, and Scan into the same cursor.
func (c *Cursor) Move(r kv.Range) {
	c.leave()
	c.ended, c.err, c.key, c.val = false, nil, nil, nil
	c.begin(r)
}

// begin opens the scan of r.
func (c *Cursor) begin(r kv.Range) {
	tx := c.tx
	if c.left = c.opt.Limit; c.left <= 0 {
		c.left = -1
	}
	if tx.done {
		c.err = ErrDone
		return
	}
	c.hasMine, c.hasBase = false, false
	if tx.opt.Write {
		if !c.opt.Untracked {
			c.span = tx.reads.addScan(r)
			if c.err = tx.held.Charge(tx.reads.count(len(r.Start) + len(r.End))); c.err != nil {
				return
			}
		}
		c.buf = tx.buf.Snapshot()
		if tx.adds.Len() > 0 && !c.addCounters(r) {
			return
		}
		c.mine.Begin(&c.buf, r, c.reverse)
		c.hasMine = c.mine.Next()
	}
	c.plain = !c.hasMine
	tx.work.Scans++
	c.open(r)
	if !c.plain {
		c.hasBase = c.base.Next()
	}
}

// open opens the scan of the snapshot. Only one without own writes in its range may end at the limit.
func (c *Cursor) open(r kv.Range) {
	limited := c.plain && c.opt.Limit > 0
	if c.base != nil && limited == c.limited {
		c.base.Move(r)
		return
	}
	if c.base != nil {
		c.base.Close()
	}
	opt := kv.ScanOptions{Reverse: c.reverse, KeysOnly: c.opt.KeysOnly, Damaged: c.opt.Damaged}
	if c.limited = limited; limited {
		opt.Limit = c.opt.Limit
	}
	c.base = c.tx.snap.Scan(r, opt)
}

// addCounters puts the counters of r that the transaction adds to into the cursor's own buffer.
func (c *Cursor) addCounters(r kv.Range) bool {
	var adds overlay.Scan
	adds.Begin(&c.tx.adds, r, false)
	for adds.Next() {
		v, err := c.tx.base(adds.Key())
		if err != nil {
			c.err = err
			return false
		}
		c.buf.Set(adds.Key(), v)
	}
	return true
}

// Next moves to the next key and reports whether there is one.
func (c *Cursor) Next() bool {
	if c.left == 0 || c.ended || c.err != nil {
		return false
	}
	if c.plain && !c.tx.done && c.base.Next() {
		c.key, c.val = c.base.Key(), c.base.Value()
		if c.left > 0 {
			c.left--
		}
		c.tx.work.found(c.key, c.val)
		return true
	}
	if c.plain {
		c.endBase()
	} else {
		c.nextMerged()
	}
	if c.ended || c.err != nil {
		return false
	}
	if c.left > 0 {
		c.left--
	}
	c.tx.work.found(c.key, c.val)
	return true
}

// Fill moves on by len(dst) pairs, fewer at the end or where Err says why. It puts them into dst and reports how many.
// They are good as long as those that Key and Value give.
func (c *Cursor) Fill(dst []kv.Pair) (n int) {
	if !c.plain || c.left >= 0 || c.ended || c.err != nil || c.tx.done {
		for n < len(dst) && c.Next() {
			dst[n] = kv.Pair{Key: c.key, Value: c.val}
			n++
		}
		return n
	}
	n = kv.Fill(c.base, dst)
	for i := range dst[:n] {
		c.tx.work.found(dst[i].Key, dst[i].Value)
	}
	if n > 0 {
		c.key, c.val = dst[n-1].Key, dst[n-1].Value
	}
	if n < len(dst) {
		c.err = c.base.Err()
		c.ended = c.err == nil
	}
	return n
}

// Skip moves on by n keys, fewer at the end or where Err says why, and reports how many. They count as read. Key gives
// the last of n then; what Value gives is open.
func (c *Cursor) Skip(n int) (passed int) {
	if !c.plain || c.left >= 0 || c.ended || c.err != nil || c.tx.done {
		for passed < n && c.Next() {
			passed++
		}
		return passed
	}
	passed = kv.Skip(c.base, n)
	c.tx.work.KeysRead += uint64(passed)
	switch {
	case passed < n:
		c.endBase()
	case n > 0:
		c.key, c.val = c.base.Key(), nil
	}
	return passed
}

// Peek gives some of the pairs of the snapshot that follow, up to n, as far as they are at hand without a request to a
// store elsewhere; none where the store is here. They do not count as read, and the transaction's own writes are not
// among them: this tells only what it is good to Prefetch.
func (c *Cursor) Peek(n int) []kv.Pair {
	if p, ok := c.base.(kv.Peeker); ok {
		return p.Peek(n)
	}
	return nil
}

// endBase notes why base gave no more.
func (c *Cursor) endBase() {
	if c.tx.done {
		c.err = ErrDone
		return
	}
	c.err = c.base.Err()
	c.ended = c.err == nil
}

// nextMerged takes the nearer of the two sides; where both have a key, the own write wins.
func (c *Cursor) nextMerged() {
	if c.tx.done {
		c.err = ErrDone
		return
	}
	for {
		order := c.order()
		if order == 0 && !c.hasMine {
			if c.err = c.base.Err(); c.err == nil {
				c.ended = true
			}
			return
		}
		if order > 0 {
			c.key, c.val = c.base.Key(), c.base.Value()
			c.hasBase = c.base.Next()
			return
		}
		c.key, c.val = c.mine.Key(), c.mine.Value()
		c.hasMine = c.mine.Next()
		if order == 0 {
			c.hasBase = c.base.Next()
		}
		if c.val != nil {
			return
		}
	}
}

// order is negative when mine comes next, positive when base does, 0 when both are at one key or
// both at their end.
func (c *Cursor) order() int {
	switch {
	case c.hasMine && c.hasBase:
		o := bytes.Compare(c.mine.Key(), c.base.Key())
		if c.reverse {
			return -o
		}
		return o
	case c.hasMine:
		return -1
	case c.hasBase:
		return 1
	default:
		return 0
	}
}

// Key is the present key: read-only, valid until Commit or Cancel.
func (c *Cursor) Key() []byte { return c.key }

// Value is the present value: read-only, valid until Commit or Cancel.
func (c *Cursor) Value() []byte { return c.val }

// Err returns the error that ended the scan early, or nil.
func (c *Cursor) Err() error { return c.err }

// Close ends the scan; what it has not reached does not count as read.
func (c *Cursor) Close() {
	if c.base != nil {
		c.base.Close()
	}
	c.leave()
	c.ended = true
}

// leave notes what was passed of the range.
func (c *Cursor) leave() {
	if c.span != nil {
		c.narrow()
		c.span = nil
	}
}

// narrow cuts the span to what was passed.
func (c *Cursor) narrow() {
	c.span.running = false
	switch {
	case c.ended || c.err != nil:
	case c.key == nil:
		c.span.End = c.span.Start
		if c.span.End == nil {
			c.span.End = []byte{}
		}
	case c.reverse:
		c.span.Start = c.tx.reads.arena.copy(c.key)
	default:
		c.span.End = after(c.key)
	}
}
