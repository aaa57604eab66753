package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/overlay"
	"github.com/nacredb/nacre/engine/kv/wal"
)

// Inspection is a store that is looked at and never changed: data.db by a reader that trusts no
// page, and on top of it what the log has. As a kv.Store it can be read from, forwards only. It
// belongs to one goroutine.
type Inspection struct {
	// Tolerant reading passes over what is damaged (CheckPages tells what that is); without it
	// reading stops there with kv.ErrCorrupt.
	Tolerant bool
	// Walked is called now and then with how many bytes of pages CheckPages has seen; nil: no calls.
	Walked func(bytes uint64)

	Format   uint32
	ID       [16]byte
	Applied  kv.Version   // data.db has everything up to here
	Version  kv.Version   // with the log
	Log      wal.Recovery // what of the log was read
	LogError error        // what kept the rest of it from being read
	FileSize int64

	lost Losses
	path string
	lock *bbolt.DB // nil when bbolt cannot open the file
	file *os.File
	pf   *pageFile
	bad  []int // damaged meta pages
	data tree
	over overlay.Tree
}

var _ kv.Store = (*Inspection)(nil)

// Inspect opens the store at path for looking at. Errors: kv.ErrLocked, os.ErrNotExist when there is nothing at path,
// kv.ErrFormat when it is no store, kv.ErrCorrupt when not even its description can be read.
func Inspect(path string) (*Inspection, error) {
	in := &Inspection{path: path}
	if err := in.open(); err != nil {
		return nil, errors.Join(fmt.Errorf("inspect %s: %w", path, err), in.Close())
	}
	return in, nil
}

func (in *Inspection) open() (err error) {
	if info, err := os.Stat(in.path); err != nil {
		return err
	} else if !info.IsDir() {
		return fmt.Errorf("it is a file, not a directory: %w", kv.ErrFormat)
	}
	if in.lock, err = peek(in.path); err != nil {
		return err
	}
	if in.file, err = os.Open(filepath.Join(in.path, dataFile)); err != nil {
		return err
	}
	info, err := in.file.Stat()
	if err != nil {
		return err
	}
	in.FileSize = info.Size()
	if in.pf, in.bad, err = openPages(in.file, in.FileSize); err != nil {
		return err
	}
	if err := in.describe(); err != nil {
		return err
	}
	in.Log, in.LogError = wal.Read(wal.Options{Dir: in.path, Store: in.ID}, in.Applied, func(f *wal.Frame) error {
		for i, k := range f.Keys {
			in.over.Set(k, f.Sealed[i])
		}
		return nil
	})
	in.Version = in.Log.Last
	return nil
}

// describe reads the bucket that says what the store is.
func (in *Inspection) describe() error {
	meta, err := in.pf.bucket(metaBucket())
	if err != nil {
		return err
	}
	facts := map[string][]byte{}
	c := treeCursor{pf: in.pf, t: meta}
	for ok := c.seek(nil); ok; ok = c.step() {
		facts[string(c.key)] = bytes.Clone(c.value)
	}
	format, id, applied := facts["format"], facts["id"], facts["applied"]
	if len(format) != 4 || len(id) != 16 || len(applied) != 8 {
		return fmt.Errorf("%s: incomplete description: %w", dataFile, kv.ErrCorrupt)
	}
	in.Format = binary.BigEndian.Uint32(format)
	if err := checkFormat(in.Format); err != nil {
		return err
	}
	copy(in.ID[:], id)
	in.Applied = kv.Version(binary.BigEndian.Uint64(applied))
	in.data, err = in.pf.bucket(dataBucket())
	return err
}

// TakeLosses tells what tolerant scans passed over since it was asked last.
func (in *Inspection) TakeLosses() Losses {
	l := in.lost
	in.lost = Losses{}
	return l
}

// cursor reads data.db.
func (in *Inspection) cursor() treeCursor {
	return treeCursor{pf: in.pf, t: in.data,
		sound: func(bucket bool, key, value []byte) bool { return !bucket && wal.Verify(key, value) }}
}

// Begin implements kv.Store.
func (in *Inspection) Begin(ctx context.Context) (kv.Snapshot, error) {
	if in.LogError != nil && !in.Tolerant {
		return nil, in.LogError
	}
	return inspected{in}, ctx.Err()
}

// Commit implements kv.Store: it is refused.
func (in *Inspection) Commit(context.Context, *kv.Batch) (kv.Version, error) {
	return 0, kv.ErrReadOnly
}

// Exclusive implements kv.Store: it is refused.
func (in *Inspection) Exclusive(context.Context) (*kv.Turn, error) { return nil, kv.ErrReadOnly }

// Stats implements kv.Store.
func (in *Inspection) Stats() kv.Stats {
	return kv.Stats{Kind: "bolt", Version: in.Version, FileBytes: in.FileSize + in.Log.Bytes, ReadOnly: true}
}

// Close implements kv.Store.
func (in *Inspection) Close() error {
	var errList []error
	if in.file != nil {
		errList = append(errList, in.file.Close())
	}
	if in.lock != nil {
		errList = append(errList, in.lock.Close())
	}
	return errors.Join(errList...)
}

// inspected implements kv.Snapshot.
type inspected struct{ in *Inspection }

// Version implements kv.Snapshot.
func (s inspected) Version() kv.Version { return s.in.Version }

// Release implements kv.Snapshot.
func (s inspected) Release() {}

// Get implements kv.Snapshot.
func (s inspected) Get(key []byte) ([]byte, bool, error) {
	sealed, known := s.in.over.Get(key)
	if known {
		if sealed == nil {
			return nil, false, nil
		}
		return wal.Unseal(sealed), true, nil
	}
	c := s.in.cursor()
	found := c.seek(key) && bytes.Equal(c.key, key)
	if c.err != nil && !s.in.Tolerant {
		return nil, false, c.err
	}
	if !found {
		return nil, false, nil
	}
	return wal.Unseal(c.value), true, nil
}

var errForwards = errors.New("a store that is inspected is read forwards only")

// Scan implements kv.Snapshot.
func (s inspected) Scan(r kv.Range, opt kv.ScanOptions) kv.Cursor {
	c := &inspectCursor{in: s.in, opt: opt}
	c.Move(r)
	return c
}

// inspectCursor merges the tree of data.db and the overlay.
type inspectCursor struct {
	in               *Inspection
	opt              kv.ScanOptions
	tolerant         bool
	end              []byte
	left             int
	base             treeCursor
	mine             overlay.Scan
	hasBase, hasMine bool
	key, val         []byte
	err              error
}

// Move implements kv.Cursor.
func (c *inspectCursor) Move(r kv.Range) {
	in, opt := c.in, c.opt
	*c = inspectCursor{in: in, opt: opt, tolerant: in.Tolerant, end: r.End, left: opt.Limit, base: in.cursor()}
	c.base.lost = &c.in.lost
	if c.opt.Limit <= 0 {
		c.left = -1
	}
	if c.opt.Reverse {
		c.err, c.left = errForwards, 0
		return
	}
	start := r.Start
	if len(start) == 0 {
		start = nil
	}
	c.hasBase = c.base.seek(start)
	c.mine.Begin(&c.in.over, r, false)
	c.hasMine = c.mine.Next()
}

// Next implements kv.Cursor.
func (c *inspectCursor) Next() bool {
	for c.left != 0 {
		if !c.tolerant && c.base.err != nil {
			c.err = c.base.err
			return false
		}
		order := c.order()
		if order == 0 && !c.hasMine {
			return false
		}
		var key, sealed []byte
		if order > 0 {
			key, sealed = c.base.key, c.base.value
			if c.end != nil && bytes.Compare(key, c.end) >= 0 {
				c.hasBase = false
				continue
			}
		} else {
			key, sealed = c.mine.Key(), c.mine.Value()
			c.hasMine = c.mine.Next()
		}
		if order >= 0 {
			c.hasBase = c.base.step()
		}
		if sealed != nil {
			c.key, c.val = key, wal.Unseal(sealed)
			c.left = max(-1, c.left-1)
			return true
		}
	}
	return false
}

// order is positive when base comes next, negative when mine does, 0 for both or none.
func (c *inspectCursor) order() int {
	switch {
	case c.hasMine && c.hasBase:
		return bytes.Compare(c.mine.Key(), c.base.key)
	case c.hasMine:
		return -1
	case c.hasBase:
		return 1
	}
	return 0
}

// Key implements kv.Cursor.
func (c *inspectCursor) Key() []byte { return c.key }

// Value implements kv.Cursor.
func (c *inspectCursor) Value() []byte { return c.val }

// Err implements kv.Cursor.
func (c *inspectCursor) Err() error { return c.err }

// Close implements kv.Cursor.
func (c *inspectCursor) Close() { c.left = 0 }
