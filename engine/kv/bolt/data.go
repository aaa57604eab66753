package bolt

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/wal"
	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

const (
	dataFile      = "data.db"
	formatVersion = 1
)

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
	if s.db, s.mapSize, err = openBolt(filepath.Join(s.opt.Path, dataFile), s.opt.MapSize); err != nil {
		return 0, err
	}
	applied, err = s.readMeta()
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
	if s.db, _, err = openBolt(fresh, s.opt.MapSize); err != nil {
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
// would have to wait for every snapshot. It gives the size of the mapping.
func openBolt(path string, mapSize int) (*bbolt.DB, int, error) {
	sizes := []int{mapSize}
	if mapSize == 0 {
		sizes = defaultMapSizes()
	}
	var db *bbolt.DB
	err := checkSize(path)
	for _, size := range sizes {
		if err != nil {
			break
		}
		opt := &bbolt.Options{Timeout: time.Millisecond, FreelistType: bbolt.FreelistMapType,
			InitialMmapSize: size, MaxSize: size}
		if db, err = bbolt.Open(path, 0o600, opt); err == nil {
			db.AllocSize = growStep(0)
			return db, size, nil
		}
		if errors.Is(err, syscall.ENOMEM) {
			err = nil // try a smaller one
		}
	}
	switch {
	case err == nil:
		return nil, 0, fmt.Errorf("map %s: %w", dataFile, syscall.ENOMEM)
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, 0, kv.ErrLocked
	case isForeign(err):
		return nil, 0, fmt.Errorf("%s: %w (%v)", dataFile, kv.ErrFormat, err)
	}
	return nil, 0, err
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
	return errors.Is(err, bolterrors.ErrInvalid) || errors.Is(err, bolterrors.ErrVersionMismatch) || errors.Is(err, bolterrors.ErrChecksum)
}

// isCut reports whether bbolt does not open a file because it does not even hold the meta pages, which it tells in text only.
func isCut(err error) bool { return err != nil && strings.Contains(err.Error(), "file size too small") }

// checkSize refuses a file that was cut short: the first thing that bbolt does with one that is
// opened for writing is to read at its end, which would stop the process.
func checkSize(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: time.Millisecond, NoStatistics: true})
	if isCut(err) {
		return fmt.Errorf("%s has only %d bytes: %w", dataFile, info.Size(), kv.ErrCorrupt)
	}
	if err != nil {
		return err
	}
	err = db.View(func(tx *bbolt.Tx) error {
		if info.Size() < tx.Size() {
			return fmt.Errorf("%s has %d bytes of %d: %w", dataFile, info.Size(), tx.Size(), kv.ErrCorrupt)
		}
		return nil
	})
	return errors.Join(err, db.Close())
}

// readMeta reads who the store is; a new one is given an identity.
func (s *Store) readMeta() (applied kv.Version, err error) {
	fresh := false
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
		if f := binary.BigEndian.Uint32(format); f != formatVersion {
			return fmt.Errorf("%s has format %d, this program knows up to %d: %w", dataFile, f, formatVersion, kv.ErrNewer)
		}
		copy(s.id[:], id)
		applied = kv.Version(binary.BigEndian.Uint64(version))
		return nil
	})
	if err != nil || !fresh {
		return applied, err
	}
	return 0, s.initMeta()
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
			m.Put(name("format"), binary.BigEndian.AppendUint32(nil, formatVersion)),
			m.Put(name("id"), s.id[:]),
			putApplied(m, 0))
	})
}

func putApplied(meta *bbolt.Bucket, v kv.Version) error {
	return meta.Put(name("applied"), binary.BigEndian.AppendUint64(nil, uint64(v)))
}
