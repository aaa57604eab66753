package vector

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/nacredb/nacre/engine/key"
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
	return x.agrees(raw, want), nil
}

// Check looks at what is stored of the index, and tells report what is wrong. It gives the number of vectors. Errors:
// those of reading the store, and of ctx.
func (x *Index) Check(ctx context.Context, report func(text string)) (vectors int64, err error) {
	numbers := map[uint64]bool{}
	err = x.eachEntry(false, func(record, entry []byte, _ *fields, _ []byte) ([]byte, error) {
		if vectors++; vectors&255 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if !x.wellFormed(entry) {
			report("a vector of another dimension")
			return nil, nil
		}
		n := binary.BigEndian.Uint64(entry)
		if numbers[n] {
			report(fmt.Sprintf("number %d is given twice", n))
		}
		numbers[n] = true
		if _, err := key.DecodeIndex(nil, record, 0); err != nil {
			report(fmt.Sprintf("a vector of no record: %v", err))
		}
		return nil, nil
	})
	if err != nil {
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
