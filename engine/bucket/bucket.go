// Package bucket keeps the files of buckets with the backend "memory".
//
// A Store belongs to one engine and is safe for concurrent use. Files are not part of transactions: every change is seen
// at once, by everybody, and is lost when the engine closes. The package knows no permissions and no definitions: its
// callers check that a bucket is defined and what may be done there.
package bucket

import (
	"strings"
	"sync"
	"time"

	"github.com/tidwall/btree"

	"github.com/nacredb/nacre/engine/errs"
)

// Limits bound what a Store holds, in bytes. The zero value of a field means its default.
type Limits struct {
	File  int64 // of one file; 64 MiB
	Total int64 // of all files with their keys; 1 GiB
}

// ID names a bucket.
type ID struct {
	NS, DB uint32
	Name   string
}

// Info describes a file.
type Info struct {
	Key     string // starts with a slash
	Size    int64
	Updated time.Time
}

// Options narrows a listing.
type Options struct {
	Prefix string // of the key, with or without the slash
	After  string // keys above this one only, with or without the slash
	Limit  int    // at most this many; negative: all
}

type file struct {
	data    []byte
	updated time.Time
}

// Store is the files of all buckets.
type Store struct {
	limits Limits
	clock  func() time.Time

	mu      sync.RWMutex // guards what follows; a leaf lock
	buckets map[ID]*btree.Map[string, file]
	size    int64
}

// New makes an empty store; a nil clock means the system's.
func New(limits Limits, clock func() time.Time) *Store {
	if limits.File == 0 {
		limits.File = 64 << 20
	}
	if limits.Total == 0 {
		limits.Total = 1 << 30
	}
	if clock == nil {
		clock = time.Now
	}
	return &Store{limits: limits, clock: clock, buckets: make(map[ID]*btree.Map[string, file])}
}

// Put stores a copy of data. Without overwrite it leaves a file that is there as it is.
func (s *Store) Put(id ID, key string, data []byte, overwrite bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.put(id, key, append([]byte(nil), data...), overwrite)
}

// put takes over data. The caller holds the lock.
func (s *Store) put(id ID, key string, data []byte, overwrite bool) error {
	b := s.buckets[id]
	if b == nil {
		b = new(btree.Map[string, file])
		s.buckets[id] = b
	}
	old, found := b.Get(key)
	if found && !overwrite {
		return nil
	}
	grow := int64(len(data)) - int64(len(old.data))
	if !found {
		grow += int64(len(key))
	}
	if int64(len(data)) > s.limits.File || s.size+grow > s.limits.Total {
		return failed(id, "the bucket is full")
	}
	b.Set(key, file{data: data, updated: s.clock().UTC()})
	s.size += grow
	return nil
}

func failed(id ID, what string) error {
	return errs.Internal("Operation for bucket `%s` failed: %s", id.Name, what)
}

// Get is the bytes of a file, read-only, and whether it is there.
func (s *Store) Get(id ID, key string) ([]byte, bool) {
	f, ok := s.file(id, key)
	return f.data, ok
}

// Head describes a file, if it is there.
func (s *Store) Head(id ID, key string) (Info, bool) {
	f, ok := s.file(id, key)
	return Info{Key: key, Size: int64(len(f.data)), Updated: f.updated}, ok
}

func (s *Store) file(id ID, key string) (file, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	b := s.buckets[id]
	if b == nil {
		return file{}, false
	}
	return b.Get(key)
}

// Delete removes a file, if it is there.
func (s *Store) Delete(id ID, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(id, key)
}

func (s *Store) remove(id ID, key string) {
	if b := s.buckets[id]; b != nil {
		if f, ok := b.Delete(key); ok {
			s.size -= int64(len(f.data) + len(key))
		}
	}
}

// Copy copies a file, or moves it, at once. Without overwrite it does nothing where the target is there.
func (s *Store) Copy(from ID, source string, to ID, target string, overwrite, move bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var f file
	found := false
	if b := s.buckets[from]; b != nil {
		f, found = b.Get(source)
	}
	if !found {
		if !overwrite && !move {
			return nil // as the reference: a copy that may not happen needs no source
		}
		return failed(from, "Source key does not exist: "+source)
	}
	if from == to && source == target {
		return nil
	}
	if b := s.buckets[to]; b != nil && !overwrite {
		if _, taken := b.Get(target); taken {
			return nil
		}
	}
	if err := s.put(to, target, f.data, true); err != nil {
		return err
	}
	if move {
		s.remove(from, source)
	}
	return nil
}

// List describes files in order of their keys.
func (s *Store) List(id ID, opt Options) []Info {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := []Info{}
	b := s.buckets[id]
	if b == nil {
		return out
	}
	prefix, after := withSlash(opt.Prefix), ""
	if opt.After != "" {
		after = withSlash(opt.After)
	}
	b.Ascend(max(prefix, after), func(key string, f file) bool {
		if !strings.HasPrefix(key, prefix) {
			return key < prefix
		}
		if opt.Limit >= 0 && len(out) >= opt.Limit {
			return false
		}
		if key > after {
			out = append(out, Info{Key: key, Size: int64(len(f.data)), Updated: f.updated})
		}
		return true
	})
	return out
}

func withSlash(key string) string {
	if strings.HasPrefix(key, "/") {
		return key
	}
	return "/" + key
}

// Drop forgets a bucket and all its files. Without a name it is every bucket of the database, without that too of the
// namespace.
func (s *Store) Drop(of ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, b := range s.buckets {
		if id.NS != of.NS || of.DB != 0 && id.DB != of.DB || of.Name != "" && id.Name != of.Name {
			continue
		}
		b.Scan(func(key string, f file) bool {
			s.size -= int64(len(f.data) + len(key))
			return true
		})
		delete(s.buckets, id)
	}
}
