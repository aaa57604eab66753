// Package flat keeps copies of the vectors of tables in memory, rounded to 32-bit floats, for exact searches that no
// index answers. A copy tells which few records may be among the nearest; the caller reads these records and measures
// them as it would measure all.
//
// A copy is good for one version of the store: a commit, to any table, ends it. It is made by the third search
// within one version, so a store that is written to all the time makes none. It has nothing of permissions: it may be
// made, and asked, only for those who see the records of the table as they are stored.
//
// The lock of a Cache is a leaf lock, held over no I/O.
package flat

import (
	"context"
	"errors"
	"fmt"

	"github.com/nacredb/nacre/engine/index/vector"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/budget"
)

// vectors is the copy of those of a field of a table that have the dimension of a query. It does not change.
type vectors struct {
	rough *vector.Rough
	keys  []byte   // of the records that have them, as CBOR
	ends  []uint32 // of each key
	rows  int64    // of the table
	bytes int64    // that all of it takes
	held  budget.Account
}

// Found is the records of a table that may be among the nearest. All others are farther away.
type Found struct {
	Keys []value.Value // in their order
	Rows int64         // how many records the table has
}

const (
	batchRows = 512
	mostKeys  = 1 << 31       // bytes of all keys
	mostFound = 1024          // records that a search may ask to be measured
	mostNear  = mostFound / 2 // that a search may be for
	mostOdd   = mostFound / 2 // vectors that cannot be rounded
	beside    = 4             // bytes of a vector's entry in ends
)

// fill copies the vectors of a field that cur gives, which is Plain. ok is false where there is no memory for them, or
// where too many arrays have other elements than ints and floats of a moderate size.
func (c *vectors) fill(ctx context.Context, cur *record.Cursor, p *Place, most int64) (ok bool, err error) {
	row := value.NewFields([][]string{{p.Field}, {"id"}})
	batch := make([]record.Stored, 0, batchRows)
	for {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		batch = cur.Batch(batch[:0], batchRows)
		for _, st := range batch {
			if err := st.Into(row); err != nil {
				return false, err
			}
			if err := c.add(row, p.Dimension); err != nil {
				return false, err
			}
		}
		c.rows += int64(len(batch))
		before := c.bytes
		c.bytes = int64(c.rough.Len()*(c.rough.Size()+beside) + len(c.keys))
		if c.bytes > most || len(c.keys) > mostKeys || c.rough.Odd() > mostOdd ||
			c.held.Charge(int(c.bytes-before)) != nil {
			return false, nil
		}
		if len(batch) < batchRows {
			return true, cur.Err()
		}
	}
}

// add copies the vector of a record, if it has the dimension.
func (c *vectors) add(row *value.Fields, dimension int) error {
	const field, id = 0, 1
	v, ok := row.Floats(field)
	switch {
	case ok && len(v) != dimension:
		return nil
	case ok:
		c.rough.Add(v)
	default:
		if v, _ := row.At(field); v.Kind() != value.KindArray || v.Len() != dimension {
			return nil
		}
		c.rough.AddOdd()
	}
	of, _ := row.At(id)
	if of.Kind() != value.KindRecord {
		return errors.New("copy the key of a record: it has none")
	}
	var err error
	if c.keys, err = value.AppendCBOR(c.keys, of.Record().Key); err != nil {
		return fmt.Errorf("copy the key of a record: %w", err)
	}
	c.ends = append(c.ends, uint32(len(c.keys)))
	return nil
}

// near gives the records that may be among the k nearest to a query; nil where it cannot tell, or where these are many.
func (c *vectors) near(ctx context.Context, query []float64, k int) (*Found, error) {
	places, ok := c.rough.Near(ctx, query, k, mostFound)
	if !ok {
		return nil, nil
	}
	f := &Found{Keys: make([]value.Value, len(places)), Rows: c.rows}
	for i, p := range places {
		from := uint32(0)
		if p > 0 {
			from = c.ends[p-1]
		}
		var err error
		if f.Keys[i], err = value.DecodeCBORValue(c.keys[from:c.ends[p]], value.DecodeLimits{}); err != nil {
			return nil, fmt.Errorf("read the key of a copied vector: %w", err)
		}
	}
	return f, nil
}
