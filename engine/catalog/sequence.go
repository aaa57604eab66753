package catalog

import (
	"encoding/binary"
	"fmt"

	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
)

// SequenceKey is where the store keeps where the next batch of a sequence begins: 8 bytes, big endian. Nothing is there
// until the first number is given.
func SequenceKey(d *Def) []byte { return key.Sequence(nil, d.Scope.NS, d.Scope.DB, d.Name) }

// SequenceNext is where the next batch of a sequence begins, if a number was given at all.
func SequenceNext(tx *txn.Tx, d *Def) (next int64, given bool, err error) {
	raw, err := tx.Get(SequenceKey(d))
	if err != nil {
		return 0, false, fmt.Errorf("read the sequence %s: %w", d.Name, err)
	}
	if len(raw) != 8 {
		return 0, false, nil
	}
	return int64(binary.BigEndian.Uint64(raw)), true, nil
}

// DropSequence forgets which numbers of a sequence were given.
func (v *View) DropSequence(d *Def) error {
	start, end := key.PrefixRange(SequenceKey(d))
	if err := v.tx.DeleteRange(kv.Range{Start: start, End: end}); err != nil {
		return fmt.Errorf("remove a sequence: %w", err)
	}
	return nil
}
