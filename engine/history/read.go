package history

import (
	"bytes"
	"fmt"

	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
)

// Get gives what stood at version where the keys of the past start with prefix; nil where there was nothing.
func Get(tx *txn.Tx, prefix []byte, version uint64) ([]byte, error) {
	start := key.AppendVersion(bytes.Clone(prefix), version)
	c := tx.Scan(kv.Range{Start: start, End: key.PrefixEnd(prefix)}, txn.ScanOptions{Limit: 1, Untracked: true})
	defer c.Close()
	if !c.Next() || len(c.Value()) == 0 {
		return nil, wrap(c.Err())
	}
	return c.Value(), nil
}

func wrap(err error) error {
	if err != nil {
		return fmt.Errorf("read the history: %w", err)
	}
	return nil
}

// versionsBeforeSeek is how many versions of one key are stepped over before the scan is begun anew behind them.
const versionsBeforeSeek = 16

// Cursor walks what stood at a version in a range of keys of the past: one step for each key that was there then.
type Cursor struct {
	tx      *txn.Tx
	r       kv.Range
	version uint64
	reverse bool
	cur     *txn.Cursor

	prefix  []byte // of the versions that the scan is in
	settled bool   // the right one of them has been met
	skipped int

	ahead bool // backwards: the scan stands on a version of the next key
	key   []byte
	value []byte
}

// Scan walks the range start to end of keys of the past, backwards with reverse. What it reads is not validated at
// commit: the past does not change. The caller closes the cursor.
func Scan(tx *txn.Tx, start, end []byte, version uint64, reverse bool) *Cursor {
	c := &Cursor{tx: tx, r: kv.Range{Start: start, End: end}, version: version, reverse: reverse}
	c.begin()
	return c
}

func (c *Cursor) begin() {
	c.cur = c.tx.Scan(c.r, txn.ScanOptions{Reverse: c.reverse, Untracked: true})
	c.skipped = 0
}

// Next steps to the next key that was there.
func (c *Cursor) Next() bool {
	if c.reverse {
		return c.previous()
	}
	for c.cur.Next() {
		k := c.cur.Key()
		prefix, version := key.CutVersion(k)
		if !bytes.Equal(prefix, c.prefix) {
			c.prefix, c.settled, c.skipped = prefix, false, 0
		}
		if !c.settled && version <= c.version {
			c.settled, c.skipped = true, 0
			if len(c.cur.Value()) > 0 {
				c.key, c.value = k, c.cur.Value()
				return true
			}
			continue
		}
		if c.skipped++; c.skipped >= versionsBeforeSeek {
			c.seek()
		}
	}
	return false
}

// seek begins the scan anew at the version that is looked for, or behind the last one of a key that is settled.
func (c *Cursor) seek() {
	if c.settled {
		c.r.Start = key.PrefixEnd(c.prefix)
	} else {
		c.r.Start = key.AppendVersion(bytes.Clone(c.prefix), c.version)
	}
	c.cur.Close()
	c.begin()
}

// previous is Next backwards: the versions of a key come oldest first, and the last one that is old enough counts.
func (c *Cursor) previous() bool {
	c.value = nil
	for c.ahead || c.cur.Next() {
		c.ahead = false
		k := c.cur.Key()
		prefix, version := key.CutVersion(k)
		if !bytes.Equal(prefix, c.prefix) {
			c.prefix = prefix
			if len(c.value) > 0 {
				c.ahead = true
				return true
			}
			c.value = nil
		}
		if version <= c.version {
			c.key, c.value = k, c.cur.Value()
		}
	}
	return c.cur.Err() == nil && len(c.value) > 0
}

// Key is the key of the past of the present step; it and Value are read-only and valid until the transaction ends.
func (c *Cursor) Key() []byte { return c.key }

// Value returns the value of that version.
func (c *Cursor) Value() []byte { return c.value }

// Err returns the error that ended the walk early, or nil.
func (c *Cursor) Err() error { return wrap(c.cur.Err()) }

// Close ends the walk.
func (c *Cursor) Close() { c.cur.Close() }
