package bolt

import (
	"bytes"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/overlay"
	"github.com/nacredb/nacre/engine/kv/wal"
)

// snapshot implements kv.Snapshot on one published state.
type snapshot struct {
	store *Store // nil: it was released
	epoch *overlay.Epoch[state]
	point boltCursor // for Get, made at the first use
}

// Version implements kv.Snapshot.
func (s *snapshot) Version() kv.Version { return s.epoch.Version }

// Get implements kv.Snapshot.
func (s *snapshot) Get(key []byte) ([]byte, bool, error) {
	st := &s.epoch.State
	if v, known := st.lookup(key); known {
		return v, v != nil, nil
	}
	if keys := st.base.keys; keys != nil && !keys.MayHave(key) {
		return nil, false, nil
	}
	if s.point.pages == nil {
		s.point = st.base.cursor()
	}
	v, ok, err := s.point.get(key)
	if !ok {
		s.store.absent.vain.Add(1)
	}
	return v, ok, err
}

// Scan implements kv.Snapshot.
func (s *snapshot) Scan(r kv.Range, opt kv.ScanOptions) kv.Cursor {
	c := &cursor{state: &s.epoch.State, reverse: opt.Reverse, keysOnly: opt.KeysOnly, damaged: opt.Damaged,
		limit: opt.Limit}
	if opt.Limit <= 0 {
		c.limit = -1
	}
	c.base = c.state.base.cursor()
	c.base.proves = !opt.KeysOnly || !opt.Damaged && opt.Limit <= 0
	c.Move(r)
	return c
}

// Release implements kv.Snapshot.
func (s *snapshot) Release() {
	store := s.store
	if store == nil {
		return
	}
	s.store = nil
	s.point.tell()
	if store.epochs.Release(s.epoch) {
		// A read transaction that cannot be closed is of no further consequence here.
		_ = store.dropBase(s.epoch.State.base)
	}
}

// cursor implements kv.Cursor: it merges the overlays and data.db. All three are ahead of what was
// given out.
type cursor struct {
	state    *state
	rng      kv.Range
	reverse  bool
	keysOnly bool
	damaged  bool             // with keysOnly: damaged ones too
	limit    int              // negative = none
	left     int              // keys still to give; negative = no limit
	over     []*overlay.Scan  // those that are not at their end, the newest first
	mine     [2]*overlay.Scan // of the active and of the frozen part; nil until it is used
	base     boltCursor
	bk, bv   []byte // where base is; nil = at its end
	key, val []byte
	err      error
}

// Move implements kv.Cursor.
func (c *cursor) Move(r kv.Range) {
	c.rng, c.left, c.err = r, c.limit, nil
	c.over, c.bk, c.bv = c.over[:0], nil, nil
	if r.Empty() {
		c.left = 0
		return
	}
	c.add(0, &c.state.active.Tree)
	c.add(1, &c.state.frozen.Tree)
	if c.reverse {
		c.setBase(c.base.before(r.End))
	} else {
		c.setBase(c.base.seek(r.Start))
	}
}

// add takes part i of the overlay in the scan, if it has any key of the range.
func (c *cursor) add(i int, t *overlay.Tree) {
	if t.Len() == 0 {
		return
	}
	if c.mine[i] == nil {
		c.mine[i] = new(overlay.Scan)
	}
	s := c.mine[i]
	if s.Begin(t, c.rng, c.reverse); s.Next() {
		c.over = append(c.over, s)
	}
}

// setBase takes over where the cursor of data.db is, as long as that is in the range.
func (c *cursor) setBase(k, v []byte, err error) {
	if err != nil && c.err == nil {
		c.err = err
	}
	c.bk, c.bv = k, v
	if k == nil {
		return
	}
	if c.reverse && bytes.Compare(k, c.rng.Start) < 0 || !c.reverse && c.rng.End != nil &&
		bytes.Compare(k, c.rng.End) >= 0 {
		c.bk = nil
		// The keys of a page have no checksum of their own: a damaged one must not end the scan as if nothing came
		// after it.
		if _, err := c.base.open(k, v); err != nil && c.err == nil {
			c.err = err
		}
	}
}

// Next implements kv.Cursor.
func (c *cursor) Next() bool {
	if c.left == 0 || c.err != nil {
		return false
	}
	found := false
	if len(c.over) == 0 {
		found = c.takeBase()
	} else {
		found = c.merge()
	}
	if !found {
		return false
	}
	if c.left > 0 {
		c.left--
	}
	return true
}

// Fill implements kv.Filler.
func (c *cursor) Fill(dst []kv.Pair) (n int) {
	if c.left >= 0 {
		dst = dst[:min(len(dst), c.left)]
	}
	for n < len(dst) {
		run := c.run(dst[n:])
		if n += run; c.left > 0 {
			c.left -= run
		}
		if n == len(dst) || !c.Next() {
			break
		}
		dst[n] = kv.Pair{Key: c.key, Value: c.val}
		n++
	}
	return n
}

// Skip implements kv.Skipper. Where only the file has keys, a leaf is passed by without a look at its elements, and
// neither fetched nor proven. How many there are in the range depends on the keys at its edges alone, as keys ascend:
// the first and the last one that are passed are looked at.
func (c *cursor) Skip(n int) (passed int) {
	if c.left >= 0 {
		n = min(n, c.left)
	}
	proves := c.base.proves
	c.base.proves = false
	var last kv.Pair // that was passed by in the file
	for passed < n && c.err == nil {
		step := 0
		if len(c.over) == 0 && !c.reverse {
			step = c.skipBase(n-passed, &last)
		} else if c.Next() {
			passed++
			continue
		}
		if step == 0 {
			break
		}
		if passed += step; c.left > 0 {
			c.left -= step
		}
	}
	if c.bk == nil && last.Key != nil && c.err == nil {
		c.err = verify(last.Key, last.Value)
	}
	if c.base.proves = proves; proves && c.bk != nil && c.err == nil {
		c.err = c.base.proveLeaf()
	}
	return passed
}

// skipBase passes by most keys of the file, as far as to the end of the leaf; none at the end of the range. last is the
// one that was passed last.
func (c *cursor) skipBase(most int, last *kv.Pair) (n int) {
	if c.bk == nil {
		return 0
	}
	if last.Key == nil {
		if c.err = verify(c.bk, c.bv); c.err != nil {
			return 0
		}
	}
	passed, n, k, v, err := c.base.skip(most, c.rng.End)
	if n == 0 && err == nil {
		passed, n = kv.Pair{Key: c.bk, Value: c.bv}, 1
		k, v, err = c.base.move(false)
	}
	*last, c.key, c.val = passed, passed.Key, nil
	c.setBase(k, v, err)
	return n
}

// mostFetched is how many bytes of a key or value in an overlay are fetched ahead: those that were written at different
// times lie all over the memory, and a reader of many would wait for each. Where sources are merged it is done for the
// pair that comes stepsAhead later.
const (
	mostFetched = 256
	stepsAhead  = 4
)

func fetch(p []byte) {
	if len(p) > 0 {
		fetchAhead(&p[0], uint64(min(len(p), mostFetched)+63))
	}
}

// fetchLater fetches what s comes to after some more steps.
func (c *cursor) fetchLater(s *overlay.Scan) {
	key, sealed, ok := s.Later(stepsAhead)
	if !ok {
		return
	}
	fetch(key)
	if !c.keysOnly {
		fetch(sealed)
	}
}

// run is Fill within one leaf, where only one source is left. It may give nothing, which is left to Next.
func (c *cursor) run(dst []kv.Pair) (n int) {
	switch {
	case c.reverse || c.keysOnly || c.err != nil:
	case len(c.over) == 0 && c.bk != nil:
		var k, v []byte
		var err error
		n, k, v, err = c.base.run(dst, c.rng.End)
		c.setBase(k, v, err)
	case len(c.over) == 1 && c.bk == nil && c.over[0].Value() != nil:
		s := c.over[0]
		dst[0] = kv.Pair{Key: s.Key(), Value: s.Value()}
		n = 1 + s.Beyond(dst[1:])
		for i := range dst[:n] {
			v := dst[i].Value
			fetch(v)
			dst[i].Value = wal.Unseal(v)
		}
		if !s.Next() {
			c.over = c.over[:0]
		}
	}
	return n
}

// takeBase gives out the key that data.db is at.
func (c *cursor) takeBase() bool {
	if c.bk == nil {
		return false
	}
	c.key, c.val = c.bk, nil
	switch {
	case !c.keysOnly:
		c.val, c.err = c.base.open(c.bk, c.bv)
	case !c.damaged:
		c.err = c.base.trust(c.bk, c.bv)
	}
	if c.err != nil {
		return false
	}
	c.setBase(c.base.move(c.reverse))
	return c.err == nil
}

// merge gives out the nearest key of all; of equal ones the newest overlay's. Deleted ones are
// passed over.
func (c *cursor) merge() bool {
	for len(c.over) > 0 {
		near := c.nearest()
		if near < 0 {
			return c.takeBase()
		}
		s := c.over[near]
		key, sealed := s.Key(), s.Value()
		if err := c.pass(key); err != nil {
			c.err = err
			return false
		}
		if sealed != nil {
			c.key, c.val = key, wal.Unseal(sealed)
			return true
		}
	}
	return c.takeBase()
}

// nearest is the index of the overlay that comes next, or -1 for data.db.
func (c *cursor) nearest() int {
	near, key := -1, c.bk
	for i := len(c.over) - 1; i >= 0; i-- {
		k := c.over[i].Key()
		if key == nil || c.compare(k, key) <= 0 {
			near, key = i, k
		}
	}
	return near
}

func (c *cursor) compare(a, b []byte) int {
	if c.reverse {
		return bytes.Compare(b, a)
	}
	return bytes.Compare(a, b)
}

// pass moves every source that is at key.
func (c *cursor) pass(key []byte) error {
	if c.bk != nil && bytes.Equal(c.bk, key) {
		c.setBase(c.base.move(c.reverse))
	}
	kept := c.over[:0]
	for _, s := range c.over {
		if bytes.Equal(s.Key(), key) {
			if !s.Next() {
				continue
			}
			c.fetchLater(s)
		}
		kept = append(kept, s)
	}
	c.over = kept
	return c.err
}

// Key implements kv.Cursor.
func (c *cursor) Key() []byte { return c.key }

// Value implements kv.Cursor.
func (c *cursor) Value() []byte { return c.val }

// Err implements kv.Cursor.
func (c *cursor) Err() error { return c.err }

// Close implements kv.Cursor.
func (c *cursor) Close() {
	c.left = 0
	if c.base.leaves > 0 { // the snapshot may be gone, so the next reader tells of them
		c.base.pages.leaves.Add(c.base.leaves)
		c.base.leaves = 0
	}
}
