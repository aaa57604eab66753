package bolt

import (
	"bytes"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/bloom"
	"github.com/nacredb/nacre/engine/kv/overlay"
	"github.com/nacredb/nacre/engine/kv/wal"
)

// state is the content of a snapshot. The overlays hold sealed values; nil = deleted.
type state struct {
	active overlay.Layer // the newest
	frozen overlay.Layer // on its way to data.db
	base   *base
}

// base is a reader of data.db, shared by all states between two parts of checkpoints: it keeps its pages as they are.
type base struct {
	txid  uint64 // the transaction that it sees
	pages *pages
	keys  *bloom.Filter // all of them, and others; nil: not known
	refs  atomic.Int64  // states that hold it; only the committer adds
}

// openBase begins to read what data.db has now.
func (s *Store) openBase() (*base, error) {
	p, err := s.pager.view()
	if err != nil {
		return nil, err
	}
	size := int64(len(p.data))
	s.count.fileBytes.Store(size)
	if size > residentBytes {
		s.keeper.Do(func() { s.background.Go(s.keepResident) })
	}
	return &base{txid: s.pager.begin(), pages: p, keys: s.absent.filter.Load()}, nil
}

func (b *base) cursor() boltCursor { return boltCursor{pages: b.pages} }

// dropBase lets go of b for one state. The last drop of the last base of a closed store closes
// the file.
func (s *Store) dropBase(b *base) error {
	if b.refs.Add(-1) > 0 {
		return nil
	}
	if s.pager.end(b.txid) {
		return s.db.Close()
	}
	return nil
}

// asCorrupt is the one recover of this package: bbolt, and a mapping that cannot be read, have no other way to say that
// a page is damaged. fault is the goroutine's former setting.
func asCorrupt(err *error, fault bool) {
	debug.SetPanicOnFault(fault)
	if p := recover(); p != nil {
		*err = fmt.Errorf("read a page of %s: %v: %w", dataFile, p, kv.ErrCorrupt)
	}
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
