package bolt

import (
	"bytes"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/overlay"
	"github.com/nacredb/nacre/engine/kv/wal"
	"go.etcd.io/bbolt"
)

// state is what a snapshot looks at. The overlays hold sealed values; nil = deleted.
type state struct {
	active overlay.Tree // the newest
	frozen overlay.Tree // on its way to bbolt
	base   *base
}

// base is one bbolt read transaction, shared by all states between two checkpoints. A read
// transaction and its buckets may be read by many goroutines as long as nothing but reads of a
// bucket that was looked up before is done with them.
type base struct {
	tx   *bbolt.Tx
	data *bbolt.Bucket
	refs atomic.Int64 // states that hold it; only the committer adds
}

// openBase opens a read transaction on what bbolt has now.
func (s *Store) openBase() (*base, error) {
	tx, err := s.db.Begin(false)
	if err != nil {
		return nil, err
	}
	s.bases.Add(1)
	s.count.fileBytes.Store(tx.Size())
	return &base{tx: tx, data: tx.Bucket(dataBucket())}, nil
}

// dropBase lets go of b for one state. The last drop of the last base of a closed store closes
// the file.
func (s *Store) dropBase(b *base) error {
	if b.refs.Add(-1) > 0 {
		return nil
	}
	err := b.tx.Rollback()
	if s.bases.Add(-1) == 0 {
		return s.db.Close()
	}
	return err
}

// boltCursor is a place in a base. It turns panics of bbolt on damaged pages, and faults of the
// mapping on a device that does not read, into errors.
type boltCursor struct{ c *bbolt.Cursor }

func (b *base) cursor() boltCursor { return boltCursor{b.data.Cursor()} }

// seek moves to the first key >= key.
func (c boltCursor) seek(key []byte) (k, v []byte, err error) {
	defer asCorrupt(&err, debug.SetPanicOnFault(true))
	k, v = c.c.Seek(key)
	return k, v, nil
}

// before moves to the last key < end; a nil end means the last of all.
func (c boltCursor) before(end []byte) (k, v []byte, err error) {
	defer asCorrupt(&err, debug.SetPanicOnFault(true))
	if end != nil {
		if k, _ = c.c.Seek(end); k != nil {
			k, v = c.c.Prev()
			return k, v, nil
		}
	}
	k, v = c.c.Last()
	return k, v, nil
}

func (c boltCursor) move(reverse bool) (k, v []byte, err error) {
	defer asCorrupt(&err, debug.SetPanicOnFault(true))
	if reverse {
		k, v = c.c.Prev()
	} else {
		k, v = c.c.Next()
	}
	return k, v, nil
}

// asCorrupt is the one recover of this package: bbolt has no other way to say that a page is
// damaged. fault is the goroutine's former setting.
func asCorrupt(err *error, fault bool) {
	debug.SetPanicOnFault(fault)
	if p := recover(); p != nil {
		*err = fmt.Errorf("read a page of %s: %v: %w", dataFile, p, kv.ErrCorrupt)
	}
}

// get gives the value of key in bbolt.
func (c boltCursor) get(key []byte) ([]byte, bool, error) {
	k, sealed, err := c.seek(key)
	if err != nil || k == nil || !bytes.Equal(k, key) {
		return nil, false, err
	}
	v, err := open(k, sealed)
	return v, err == nil, err
}

// KeyError is a value that fails its checksum, or whose key does. It is kv.ErrCorrupt.
type KeyError struct{ Key []byte }

// Error implements error.
func (e *KeyError) Error() string { return fmt.Sprintf("value of key %x: %v", e.Key, kv.ErrCorrupt) }

// Unwrap gives kv.ErrCorrupt.
func (e *KeyError) Unwrap() error { return kv.ErrCorrupt }

// open gives the value in a sealed one that comes from disk.
func open(key, sealed []byte) (v []byte, err error) {
	defer asCorrupt(&err, debug.SetPanicOnFault(true))
	if !wal.Verify(key, sealed) {
		return nil, &KeyError{Key: bytes.Clone(key)}
	}
	return wal.Unseal(sealed), nil
}

// lookup finds key in the overlays: known is false when they say nothing about it, and a nil
// value means that it was deleted.
func (st *state) lookup(key []byte) (v []byte, known bool) {
	sealed, known := st.active.Get(key)
	if !known {
		sealed, known = st.frozen.Get(key)
	}
	if sealed == nil {
		return nil, known
	}
	return wal.Unseal(sealed), true
}
