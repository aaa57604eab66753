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

// Builder makes a new store from keys in ascending order, without a log: for restore and compact.
// What it makes can be opened after Finish, never before. It belongs to one goroutine.
type Builder struct {
	s     Store    // only its identity and file are used
	r     rewriter // whose rows have what is not in pages yet
	last  []byte
	block []byte // that keys and sealed values of the row of leaves are cut from
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
	if err := b.begin(); err != nil {
		return nil, errors.Join(fmt.Errorf("build %s: %w", path, err), b.s.db.Close())
	}
	return b, nil
}

// formatUnfinished is the format number of a store that is still being built: nothing opens it.
const formatUnfinished = 0

// begin marks the store as unfinished, and begins the transaction that all keys are written in.
func (b *Builder) begin() (err error) {
	p := b.s.pager
	if b.r.view, err = p.view(); err != nil {
		return err
	}
	err = p.update(&b.r.w, 0, func() (uint64, error) {
		leaf, err := b.r.writePage(0, nil)
		if err != nil {
			return 0, err
		}
		return b.r.rewriteRoot(leaf, formatFact(formatUnfinished))
	})
	if err != nil {
		return err
	}
	if b.r.view, err = p.view(); err != nil {
		return err
	}
	b.r.w.begin(p)
	b.r.w.drop(b.r.view.root.id, p.meta.pageSize)
	b.r.rows = make([]row, 2)
	return nil
}

// rowBytes is how much of a row is kept: many pages of it are written at once.
const rowBytes = 256 << 10

// Put adds a key, which must be greater than the one before. It copies both.
func (b *Builder) Put(key, value []byte) error {
	if err := kv.CheckKey(key); err != nil {
		return err
	}
	if b.last != nil && bytes.Compare(key, b.last) <= 0 {
		return fmt.Errorf("build: key %x does not follow %x", key, b.last)
	}
	it := b.item(key, value)
	b.last = it.key
	if b.r.rows[0].add(it); b.r.rows[0].bytes < rowBytes {
		return nil
	}
	return b.flow()
}

const sealedBlock = 1 << 20

// item gives the key and the sealed value in memory of their own.
func (b *Builder) item(key, value []byte) item {
	n := len(key) + len(value) + wal.SealSize
	if n > cap(b.block)-len(b.block) {
		b.block = make([]byte, 0, max(n, sealedBlock))
	}
	at := len(b.block)
	to := at + len(key)
	b.block = wal.Seal(append(b.block, key...), key, value)
	return item{key: b.block[at:to:to], value: b.block[to:len(b.block):len(b.block)]}
}

// flow writes what fills pages of the rows that have grown long.
func (b *Builder) flow() error {
	for height := 0; b.r.rows[height].bytes >= rowBytes; height++ {
		if err := b.split(height, true); err != nil {
			return err
		}
	}
	return nil
}

// split puts a row into pages; flows: but for what does not fill one.
func (b *Builder) split(height int, flows bool) error {
	if len(b.r.rows) == height+1 {
		b.r.rows = append(b.r.rows, row{})
	}
	before := len(b.r.rows[height+1].items)
	if err := b.r.split(height, builtFill, flows); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	for i := range b.r.rows[height+1].items[before:] { // the block of a key is not kept for it
		it := &b.r.rows[height+1].items[before+i]
		it.key = bytes.Clone(it.key)
	}
	return nil
}

// Finish makes the store durable, at version, and closes it.
func (b *Builder) Finish(version kv.Version) error {
	if err := errors.Join(b.commit(version), b.s.db.Close()); err != nil {
		return fmt.Errorf("finish %s: %w", b.s.opt.Path, err)
	}
	return errors.Join(wal.OS{}.SyncDir(b.s.opt.Path), wal.OS{}.SyncDir(filepath.Dir(b.s.opt.Path)))
}

// commit writes what is left of the rows, and what says that the store is finished.
func (b *Builder) commit(version kv.Version) error {
	data, err := b.root()
	if err != nil {
		return err
	}
	root, err := b.r.rewriteRoot(data, appliedFact(version), formatFact(FormatVersion))
	if err != nil {
		return err
	}
	return b.s.pager.commit(&b.r.w, root, 0)
}

// root writes what is left of the rows, and gives the page that is above all others.
func (b *Builder) root() (uint64, error) {
	top := len(b.r.rows) - 1
	for height := range top {
		if err := b.split(height, false); err != nil {
			return 0, err
		}
	}
	return b.r.climb(top, builtFill)
}

// Abort closes the unfinished store and removes its directory.
func (b *Builder) Abort() error {
	return errors.Join(b.s.db.Close(), os.RemoveAll(b.s.opt.Path))
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
