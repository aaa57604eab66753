package tikv

import (
	"github.com/tikv/client-go/v2/txnkv/transaction"

	"github.com/nacredb/nacre/engine/kv"
)

// Lapse lets others take the place of the builder, as time does when its program stands still.
func (b *Builder) Lapse() error {
	return b.try(func(tx *transaction.KVTxn, _ holder) error { return b.note(tx, 0) })
}

// IsEarly reports whether a snapshot has a timestamp from before it began.
func IsEarly(sn kv.Snapshot) bool { return sn.(*snapshot).early }
