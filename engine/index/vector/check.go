package vector

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// Holds reports whether what is stored for a record is the vector v; for NONE and NULL, whether nothing is.
func (x *Index) Holds(record, v value.Value) (bool, error) {
	raw, err := x.Tx.Get(x.vectorKey(record))
	if err != nil {
		return false, fmt.Errorf("read index %s: %w", x.Name, err)
	}
	if v.IsNullish() || raw == nil {
		return v.IsNullish() && raw == nil, nil
	}
	want, err := x.Spec.Encode(nil, v)
	if err != nil {
		return false, err
	}
	return len(raw) == 8+len(want) && bytes.Equal(raw[8:], want), nil
}

// Check looks at what is stored of the index, and tells report what is wrong. It gives the number of vectors. Errors:
// those of reading the store, and of ctx.
func (x *Index) Check(ctx context.Context, report func(text string)) (vectors int64, err error) {
	prefix := bytes.Clone(x.part(partVector))
	cur := x.Tx.Scan(kv.Prefix(prefix), txn.ScanOptions{})
	defer cur.Close()
	numbers := map[uint64]bool{}
	for cur.Next() {
		if vectors++; vectors&255 == 0 && ctx.Err() != nil {
			return vectors, ctx.Err()
		}
		raw := cur.Value()
		if len(raw) != 8+x.Spec.Dimension*x.Spec.size() {
			report("a vector of another dimension")
			continue
		}
		n := binary.BigEndian.Uint64(raw)
		if numbers[n] {
			report(fmt.Sprintf("number %d is given twice", n))
		}
		numbers[n] = true
		if _, err := key.DecodeIndex(nil, cur.Key()[len(prefix):], 0); err != nil {
			report(fmt.Sprintf("a vector of no record: %v", err))
		}
	}
	if err := cur.Err(); err != nil {
		return vectors, err
	}
	if _, err := x.changes(own{}); err != nil {
		report(err.Error())
	}
	if _, err := x.checkpoint(); err != nil {
		report(err.Error())
	}
	return vectors, nil
}
