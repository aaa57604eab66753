package bolt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/wal"
)

// builtFill is how full the pages of a built store are: nearly, because nothing falls in between
// soon.
const builtFill = 0.9

// Limits of one bbolt transaction of a Builder.
const (
	builtKeys  = 50_000
	builtBytes = 32 << 20
)

// Builder makes a new store from keys in ascending order, without a log: for restore and compact.
// What it makes can be opened after Finish, never before. It belongs to one goroutine.
type Builder struct {
	s      Store // only its identity and file are used
	tx     *bbolt.Tx
	data   *bbolt.Bucket
	last   []byte
	sealed []byte // block that sealed values are cut from; bbolt holds them until the commit
	keys   int    // in tx
	size   int    // likewise
	total  uint64
}

// NewBuilder starts a store in the directory path, which must be absent or empty.
func NewBuilder(path string) (*Builder, error) {
	b := &Builder{s: Store{opt: Options{Path: path}}}
	if entries, err := os.ReadDir(path); err == nil && len(entries) > 0 {
		return nil, fmt.Errorf("build %s: %w", path, os.ErrExist)
	}
	if _, err := b.s.openData(); err != nil {
		return nil, fmt.Errorf("build %s: %w", path, err)
	}
	b.s.db.NoSync, b.s.db.NoGrowSync = true, true
	err := b.begin()
	if err == nil {
		err = putFormat(b.tx.Bucket(metaBucket()), formatUnfinished)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("build %s: %w", path, err), b.s.db.Close())
	}
	return b, nil
}

// formatUnfinished is the format number of a store that is still being built: nothing opens it.
const formatUnfinished = 0

func putFormat(meta *bbolt.Bucket, format uint32) error {
	return meta.Put(name("format"), binary.BigEndian.AppendUint32(nil, format))
}

func (b *Builder) begin() (err error) {
	if b.tx, err = b.s.db.Begin(true); err != nil {
		return err
	}
	b.data = b.tx.Bucket(dataBucket())
	b.data.FillPercent = builtFill
	b.keys, b.size, b.sealed = 0, 0, nil
	return nil
}

// Put adds a key, which must be greater than the one before. It copies both.
func (b *Builder) Put(key, value []byte) error {
	if err := kv.CheckKey(key); err != nil {
		return err
	}
	if b.total > 0 && bytes.Compare(key, b.last) <= 0 {
		return fmt.Errorf("build: key %x does not follow %x", key, b.last)
	}
	if b.keys >= builtKeys || b.size >= builtBytes {
		if err := b.tx.Commit(); err != nil {
			return fmt.Errorf("build: %w", err)
		}
		if err := b.begin(); err != nil {
			return fmt.Errorf("build: %w", err)
		}
	}
	if err := b.data.Put(key, b.seal(key, value)); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	b.last = append(b.last[:0], key...)
	b.keys++
	b.size += len(key) + len(value)
	b.total++
	return nil
}

const sealedBlock = 1 << 20

// seal gives the sealed form of value in memory that stays until the commit.
func (b *Builder) seal(key, value []byte) []byte {
	n := len(value) + wal.SealSize
	if n > cap(b.sealed)-len(b.sealed) {
		b.sealed = make([]byte, 0, max(n, sealedBlock))
	}
	at := len(b.sealed)
	b.sealed = wal.Seal(b.sealed, key, value)
	return b.sealed[at:len(b.sealed):len(b.sealed)]
}

// Finish makes the store durable, at version, and closes it.
func (b *Builder) Finish(version kv.Version) error {
	meta := b.tx.Bucket(metaBucket())
	err := errors.Join(putApplied(meta, version), putFormat(meta, FormatVersion))
	if err == nil {
		err = b.tx.Commit()
	} else {
		err = errors.Join(err, b.tx.Rollback())
	}
	if err == nil {
		err = b.s.db.Sync()
	}
	if err = errors.Join(err, b.s.db.Close()); err != nil {
		return fmt.Errorf("finish %s: %w", b.s.opt.Path, err)
	}
	return errors.Join(wal.OS{}.SyncDir(b.s.opt.Path), wal.OS{}.SyncDir(filepath.Dir(b.s.opt.Path)))
}

// Abort closes the unfinished store and removes its directory.
func (b *Builder) Abort() error {
	err := b.tx.Rollback()
	if errors.Is(err, bolterrors.ErrTxClosed) { // a commit that failed has closed it
		err = nil
	}
	return errors.Join(err, b.s.db.Close(), os.RemoveAll(b.s.opt.Path))
}

// Unused reports whether the store at path, with at least its data.db, is open in
// another process: nil when it is not. Errors: kv.ErrLocked, kv.ErrFormat when there is no store.
func Unused(path string) error {
	db, err := peek(path)
	if err != nil || db == nil {
		return err
	}
	return db.Close()
}

// Finished reports whether the store at path is one that can be opened, as against one whose
// Builder was killed. Errors: as Unused.
func Finished(path string) (finished bool, err error) {
	db, err := peek(path)
	if err != nil || db == nil {
		return false, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	defer asCorrupt(&err, debug.SetPanicOnFault(true))
	err = db.View(func(tx *bbolt.Tx) error {
		if m := tx.Bucket(metaBucket()); m != nil {
			f := m.Get(name("format"))
			finished = len(f) == 4 && binary.BigEndian.Uint32(f) != formatUnfinished
		}
		return nil
	})
	return finished, err
}

// peek opens data.db for reading, under its lock; nil when it is damaged beyond that.
func peek(path string) (*bbolt.DB, error) {
	file := filepath.Join(path, dataFile)
	if info, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("no %s: %w", dataFile, kv.ErrFormat)
	} else if err != nil {
		return nil, err
	} else if info.Size() == 0 {
		return nil, nil
	}
	db, err := bbolt.Open(file, 0o600, &bbolt.Options{ReadOnly: true, Timeout: time.Millisecond, NoStatistics: true})
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, kv.ErrLocked
	case isForeign(err), isCut(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return db, nil
}
