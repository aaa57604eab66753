package index

import (
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/txn"
)

// ahead reads the records that a scan is about to find, many together, where the store is elsewhere and each read is a
// request over the network. It changes no answer: what it has read is only nearer when it is asked for.
type ahead struct {
	tx    *txn.Tx
	tb    *catalog.Table
	left  int // records that are read and not reached
	count int // how many to read next
}

// firstAhead is how many records are read ahead first, as many as the first request of a scan brings keys; it grows
// fourfold, for most scans end early.
const firstAhead = 32

// ReadAhead says that the record of each key is going to be read, if records is true, and gives c. wanted is how many
// records are asked for; 0: that is not known.
func (c *Cursor) ReadAhead(tx *txn.Tx, tb *catalog.Table, records bool, wanted int64) *Cursor {
	if records && tx.Prefetches() {
		c.ahead = &ahead{tx: tx, tb: tb, count: firstAhead}
		if wanted > 0 && wanted < firstAhead {
			c.ahead.count = int(wanted)
		}
	}
	return c
}

// pass is called at each record of the scan.
func (a *ahead) pass(c *Cursor) error {
	if a.left > 0 {
		a.left--
		return nil
	}
	keys := [][]byte{a.record(c)}
	mine := c.key
	for _, p := range c.cur.Peek(a.count - 1) {
		k, ok, err := c.decode(p.Key, p.Value)
		if err != nil {
			break // the scan says so when it gets there
		}
		if ok {
			c.key = k
			keys = append(keys, a.record(c))
		}
	}
	c.key = mine
	if len(keys) == 1 {
		return nil
	}
	a.left = len(keys) - 1
	most, err := a.tx.Prefetch(keys)
	a.count = min(4*a.count, most)
	return err
}

// record is the key of the record that c is at.
func (a *ahead) record(c *Cursor) []byte {
	s := a.tb.Scope
	return key.Record(nil, s.NS, s.DB, a.tb.ID, c.key)
}
