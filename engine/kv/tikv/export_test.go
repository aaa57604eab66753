package tikv

import "github.com/tikv/client-go/v2/txnkv/transaction"

// Lapse lets others take the place of the builder, as time does when its program stands still.
func (b *Builder) Lapse() error {
	return b.try(func(tx *transaction.KVTxn, _ holder) error { return b.note(tx, 0) })
}
