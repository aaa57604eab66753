package bolt

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/wal"
)

const dataFile = "data.db"

// FormatVersion is the version of the bytes of a store. Opening a store of an older format raises it: a program that
// does not know what the newer one has would pass over it in silence.
//
//	1  the first
//	2  the store may hold revoked tokens; a program of format 1 would let them in
const FormatVersion = 2

// oldestFormat is the oldest format that can be read.
const oldestFormat = 1

// checkFormat refuses formats that this program does not know.
func checkFormat(f uint32) error {
	if f >= oldestFormat && f <= FormatVersion {
		return nil
	}
	return fmt.Errorf("%s has format %d, this program knows up to %d: %w", dataFile, f, FormatVersion, kv.ErrNewer)
}

// names of the buckets and keys in data.db.
type name = []byte

func metaBucket() name { return name("nacre") }
func dataBucket() name { return name("data") }

// openData opens data.db and gives the version up to which it is complete.
func (s *Store) openData() (applied kv.Version, err error) {
	if err := claimDirectory(s.opt.Path); err != nil {
		return 0, err
	}
	if err := s.createData(); err != nil {
		return 0, err
	}
	file := filepath.Join(s.opt.Path, dataFile)
	if s.doubt, err = checkFile(file); err != nil {
		return 0, err
	}
	var opened *os.File
	if s.db, opened, s.mapSize, err = openBolt(file, s.opt.MapSize); err != nil {
		return 0, err
	}
	if applied, err = s.readMeta(); err == nil {
		s.pager, err = newPager(s.db, opened, s.trimResident)
	}
	if err != nil {
		return 0, errors.Join(err, s.db.Close())
	}
	return applied, nil
}

// createData makes data.db when it is absent: under another name until it is whole, so that a
// power cut in the midst of it leaves nothing that a later start stumbles over.
func (s *Store) createData() error {
	file, fresh := filepath.Join(s.opt.Path, dataFile), filepath.Join(s.opt.Path, "."+dataFile+".new")
	if _, err := os.Lstat(file); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := removeUnlocked(fresh); err != nil {
		return err
	}
	var err error
	if s.db, _, _, err = openBolt(fresh, s.opt.MapSize); err != nil {
		return err
	}
	if err := errors.Join(s.initMeta(), s.db.Close()); err != nil {
		return err
	}
	// A link never replaces what another process has made meanwhile. Not all file systems have it.
	if err := os.Link(fresh, file); err != nil && !errors.Is(err, os.ErrExist) {
		if err := os.Rename(fresh, file); err != nil {
			return err
		}
	}
	if err := os.Remove(fresh); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return wal.OS{}.SyncDir(s.opt.Path)
}

// removeUnlocked removes what a killed process has left, not what another one is at work on.
func removeUnlocked(file string) error {
	db, err := bbolt.Open(file, 0o600, &bbolt.Options{ReadOnly: true, Timeout: time.Millisecond, NoStatistics: true})
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case errors.Is(err, bolterrors.ErrTimeout):
		return kv.ErrLocked
	case err == nil:
		if err := db.Close(); err != nil {
			return err
		}
	}
	return os.Remove(file)
}

// claimDirectory makes sure that path is a directory that is ours or empty.
func claimDirectory(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if err := os.MkdirAll(path, 0o700); err != nil {
			return err
		}
		return wal.OS{}.SyncDir(filepath.Dir(path))
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("it is a file, not a directory: %w", kv.ErrFormat)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	foreign := ""
	for _, e := range entries {
		if e.Name() == dataFile {
			return nil
		}
		// A fresh volume has lost+found, a folder opened on a desktop has dot files.
		if e.Name() != "lost+found" && e.Name()[0] != '.' {
			foreign = e.Name()
		}
	}
	if foreign != "" {
		return fmt.Errorf("the directory holds other files: %w", kv.ErrFormat)
	}
	return nil
}

// openBolt opens the file with a mapping that is large enough to never be replaced: replacing it
// would have to wait for every snapshot. It gives the file and the size of the mapping.
func openBolt(path string, mapSize int) (db *bbolt.DB, opened *os.File, size int, err error) {
	sizes := []int{mapSize}
	if mapSize == 0 {
		sizes = defaultMapSizes()
	}
	for _, size := range sizes {
		opt := &bbolt.Options{Timeout: time.Millisecond, FreelistType: bbolt.FreelistMapType,
			InitialMmapSize: size, MaxSize: size}
		opt.OpenFile = func(path string, flag int, mode os.FileMode) (f *os.File, err error) {
			opened, err = os.OpenFile(path, flag, mode)
			return opened, err
		}
		db, err := bbolt.Open(path, 0o600, opt)
		if err == nil {
			db.AllocSize = int(growStep(0))
			return db, opened, size, nil
		}
		if !errors.Is(err, syscall.ENOMEM) { // else try a smaller one
			return nil, nil, 0, refusedFile(err)
		}
	}
	return nil, nil, 0, fmt.Errorf("map %s: %w", dataFile, syscall.ENOMEM)
}

// refusedFile is the error of a file that bbolt did not open.
func refusedFile(err error) error {
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return kv.ErrLocked
	case isForeign(err):
		return fmt.Errorf("%s: %w (%v)", dataFile, kv.ErrFormat, err)
	case isCut(err):
		return fmt.Errorf("%s does not even hold its meta pages: %w", dataFile, kv.ErrCorrupt)
	}
	return err
}

// defaultMapSizes are tried in turn: an address space limit may forbid the first.
func defaultMapSizes() []int {
	if runtime.GOOS == "windows" || strconv.IntSize == 32 {
		return []int{1 << 30}
	}
	var sizes []int
	for _, size := range []int64{1 << 40, 1 << 36, 1 << 32} {
		sizes = append(sizes, int(size))
	}
	return sizes
}

func isForeign(err error) bool {
	return errors.Is(err, bolterrors.ErrInvalid) || errors.Is(err, bolterrors.ErrVersionMismatch) ||
		errors.Is(err, bolterrors.ErrChecksum)
}

// isCut reports whether bbolt does not open a file because it does not even hold the meta pages, which it tells in text
// only.
func isCut(err error) bool { return err != nil && strings.Contains(err.Error(), "file size too small") }

// checkFile refuses a file that was cut short, or whose free list is damaged: what bbolt does first with one that is
// opened for writing would stop the process. doubt: one of the two meta pages is damaged, and perhaps it is the newer
// one.
func checkFile(path string) (doubt bool, err error) {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) || err == nil && info.Size() == 0 {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: time.Millisecond, NoStatistics: true})
	if err != nil {
		return false, refusedFile(err)
	}
	doubt, err = checkHead(path)
	return doubt, errors.Join(err, db.Close())
}

// checkHead looks at what bbolt reads of a file when it opens it: the meta pages and the free list.
func checkHead(path string) (doubt bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	info, err := f.Stat()
	if err != nil {
		return false, errors.Join(err, f.Close())
	}
	pf, bad, err := openPages(f, info.Size())
	if err == nil {
		err = pf.checkHead()
	}
	return len(bad) > 0, errors.Join(err, f.Close())
}

func (pf *pageFile) checkHead() error {
	if want := int64(pf.meta.pages) * int64(pf.meta.pageSize); pf.size < want {
		return fmt.Errorf("%s has %d bytes of %d: %w", dataFile, pf.size, want, kv.ErrCorrupt)
	}
	if pf.meta.freeList == noFreeList {
		return nil
	}
	pg, err := pf.page(pf.meta.freeList)
	if err == nil && pg.kind != pageFree {
		err = damagedPage(pg.id, "is of another kind")
	}
	if err != nil {
		return fmt.Errorf("free list: %w", err)
	}
	ids, err := pg.freeIDs()
	if err != nil {
		return fmt.Errorf("free list: %w", err)
	}
	last := uint64(1) // both meta pages are in use
	for _, id := range ids {
		if id <= last || id >= pf.meta.pages {
			return fmt.Errorf("free list: %w", damagedPage(id, "does not follow page %d", last))
		}
		last = id
	}
	return nil
}

// readMeta reads who the store is; a new one is given an identity.
func (s *Store) readMeta() (applied kv.Version, err error) {
	defer asCorrupt(&err, debug.SetPanicOnFault(true))
	fresh, older := false, false
	err = s.db.View(func(tx *bbolt.Tx) error {
		m := tx.Bucket(metaBucket())
		if m == nil {
			k, _ := tx.Cursor().First()
			if fresh = k == nil; !fresh {
				return fmt.Errorf("%s is another program's: %w", dataFile, kv.ErrFormat)
			}
			return nil
		}
		format, id, version := m.Get(name("format")), m.Get(name("id")), m.Get(name("applied"))
		if len(format) != 4 || len(id) != 16 || len(version) != 8 || tx.Bucket(dataBucket()) == nil {
			return fmt.Errorf("%s: incomplete description: %w", dataFile, kv.ErrCorrupt)
		}
		f := binary.BigEndian.Uint32(format)
		if err := checkFormat(f); err != nil {
			return err
		}
		older = f < FormatVersion
		copy(s.id[:], id)
		applied = kv.Version(binary.BigEndian.Uint64(version))
		return nil
	})
	switch {
	case err != nil:
	case fresh:
		err = s.initMeta()
	case older:
		err = s.db.Update(func(tx *bbolt.Tx) error {
			return putFact(tx.Bucket(metaBucket()), formatFact(FormatVersion))
		})
	}
	return applied, err
}

// initMeta describes a new store.
func (s *Store) initMeta() error {
	rand.Read(s.id[:]) // never fails
	return s.db.Update(func(tx *bbolt.Tx) error {
		m, err := tx.CreateBucket(metaBucket())
		if err != nil {
			return err
		}
		if _, err := tx.CreateBucket(dataBucket()); err != nil {
			return err
		}
		return errors.Join(
			putFact(m, formatFact(FormatVersion)),
			putFact(m, fact{name("id"), s.id[:]}),
			putFact(m, appliedFact(0)))
	})
}

func putFact(meta *bbolt.Bucket, f fact) error { return meta.Put(f.name, f.value) }
