package index

import (
	"fmt"

	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// Access says which part of an index to walk: the first fields equal Lead, the next one lies between From and To.
type Access struct {
	Lead     []value.Value
	From, To value.Bound
	Reverse  bool
	// Elements walks the element entries (what CONTAINS asks); without it the whole entries, each record once.
	// Element walks may give a record more than once.
	Elements bool
	// Untracked walks do not count as read when the transaction commits: for looks that change no answer.
	Untracked bool
}

// Cursor walks the record keys that an access finds, in index order.
type Cursor struct {
	cur   *txn.Cursor
	ix    *catalog.Index
	elems bool
	key   value.Value
	ahead *ahead // nil: records are not read ahead
	err   error
}

// Scan walks an index. The caller closes the cursor.
func Scan(tx *txn.Tx, tb *catalog.Table, ix *catalog.Index, a Access) *Cursor {
	s := tb.Scope
	start, end := key.IndexRange(s.NS, s.DB, tb.ID, ix.ID, a.Lead, a.From, a.To)
	cur := tx.Scan(kv.Range{Start: start, End: end}, txn.ScanOptions{Reverse: a.Reverse, Untracked: a.Untracked})
	return &Cursor{cur: cur, ix: ix, elems: a.Elements}
}

// Next steps to the next record key.
func (c *Cursor) Next() bool {
	for c.err == nil && c.cur.Next() {
		stored := c.cur.Value()
		k, ok, err := c.decode(c.cur.Key(), stored)
		if err != nil {
			c.err = fmt.Errorf("read an entry of index %s: %w", c.ix.Name, err)
			return false
		}
		if !ok {
			continue
		}
		c.key = k
		if c.ahead != nil {
			c.err = c.ahead.pass(c)
		}
		return c.err == nil
	}
	return false
}

// decode gives the record key in an entry; false for an entry of the other kind.
func (c *Cursor) decode(entry, stored []byte) (value.Value, bool, error) {
	element := len(stored) > 0 && stored[0] == elementMark
	if element != c.elems {
		return value.None, false, nil
	}
	if element {
		stored = stored[1:]
	}
	k, err := key.DecodeIndex(entry, stored, len(c.ix.Paths))
	return k, err == nil, err
}

// Key is the key of the current record.
func (c *Cursor) Key() value.Value { return c.key }

// Entry is the part of the current index key that holds the first n field values; equal parts mean equal values. It is
// valid until the transaction ends.
func (c *Cursor) Entry(n int) ([]byte, error) { return key.IndexFields(c.cur.Key(), n) }

// Err returns the error that stopped the scan early, if any.
func (c *Cursor) Err() error {
	if c.err != nil {
		return c.err
	}
	return c.cur.Err()
}

// Close ends the scan.
func (c *Cursor) Close() { c.cur.Close() }
