package txn

import (
	"errors"
	"time"

	"github.com/nacredb/nacre/engine/kv"
)

// Work counts the reads and writes of one finished transaction.
type Work struct {
	Spent     time.Duration // from Begin to its end
	Write     bool          // it was opened for writing
	Committed bool          // by Commit; with Write, its writes are visible
	Conflict  bool          // it was refused because another one was first
	Again     bool          // it repeats one that was refused

	Gets, Scans                         uint64 // reads of one key and of ranges
	Sets, Deletes                       uint64 // buffered, rolled back ones included
	KeysRead, KeyBytesRead, BytesRead   uint64 // what the reads found; BytesRead is of values
	KeysWritten, KeyBytesWritten, Bytes uint64 // what was committed; Bytes is of values
}

// Meter takes the Work of finished transactions. Count is called by many goroutines, must be quick, and must not keep
// w.
type Meter interface {
	Count(w *Work)
}

// found counts a value that a read gave.
func (w *Work) found(key, value []byte) {
	w.KeysRead++
	w.KeyBytesRead += uint64(len(key))
	w.BytesRead += uint64(len(value))
}

// wrote counts what a batch writes.
func (w *Work) wrote(b *kv.Batch) {
	w.KeysWritten = uint64(len(b.Writes) + len(b.Deltas))
	for i := range b.Writes {
		w.KeyBytesWritten += uint64(len(b.Writes[i].Key))
		w.Bytes += uint64(len(b.Writes[i].Value))
	}
	for i := range b.Deltas {
		w.KeyBytesWritten += uint64(len(b.Deltas[i].Key))
		w.Bytes += 8
	}
}

// report hands the work of a transaction that ends with err, or is cancelled, to its meter.
func (tx *Tx) report(committed bool, err error) {
	m := tx.opt.Meter
	if m == nil {
		return
	}
	tx.work.Spent, tx.work.Write, tx.work.Again = time.Since(tx.opt.Began), tx.opt.Write, tx.opt.again
	tx.work.Committed, tx.work.Conflict = committed, errors.Is(err, kv.ErrConflict)
	if !committed {
		tx.work.KeysWritten, tx.work.KeyBytesWritten, tx.work.Bytes = 0, 0, 0
	}
	m.Count(&tx.work)
}
