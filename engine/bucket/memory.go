package bucket

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/btree"
)

type file struct {
	data    []byte
	updated time.Time
}

// memory is the backend "memory".
type memory struct {
	limits Limits
	clock  func() time.Time

	mu      sync.RWMutex // guards what follows; a leaf lock
	buckets map[ID]*btree.Map[string, file]
	size    int64
}

func newMemory(limits Limits, clock func() time.Time) *memory {
	return &memory{limits: limits, clock: clock, buckets: make(map[ID]*btree.Map[string, file])}
}

func (s *memory) put(id ID, key string, data []byte, overwrite bool) (stored bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.set(id, key, data, overwrite)
}

// set takes over data. The caller holds the lock.
func (s *memory) set(id ID, key string, data []byte, overwrite bool) (stored bool, err error) {
	b := s.buckets[id]
	if b == nil {
		b = new(btree.Map[string, file])
		s.buckets[id] = b
	}
	old, found := b.Get(key)
	if found && !overwrite {
		return false, nil
	}
	grow := int64(len(data)) - int64(len(old.data))
	if !found {
		grow += int64(len(key))
	}
	if int64(len(data)) > s.limits.File || s.size+grow > s.limits.Total {
		return false, failed(id, full, nil)
	}
	b.Set(key, file{data: data, updated: s.clock().UTC()})
	s.size += grow
	return true, nil
}

// full is the error of a file that is too large, or one too many.
const full = "the bucket is full"

func (s *memory) get(id ID, key string) ([]byte, bool, error) {
	f, ok := s.file(id, key)
	return f.data, ok, nil
}

func (s *memory) head(id ID, key string) (Info, bool, error) {
	f, ok := s.file(id, key)
	return Info{Key: key, Size: int64(len(f.data)), Updated: f.updated}, ok, nil
}

func (s *memory) file(id ID, key string) (file, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	b := s.buckets[id]
	if b == nil {
		return file{}, false
	}
	return b.Get(key)
}

func (s *memory) remove(id ID, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unset(id, key)
	return nil
}

// unset removes a file. The caller holds the lock.
func (s *memory) unset(id ID, key string) {
	if b := s.buckets[id]; b != nil {
		if f, ok := b.Delete(key); ok {
			s.size -= int64(len(f.data) + len(key))
		}
	}
}

func (s *memory) copy(from ID, source string, to ID, target string, overwrite, move bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var f file
	found := false
	if b := s.buckets[from]; b != nil {
		f, found = b.Get(source)
	}
	if !found {
		return noSource(from, source, overwrite, move, nil)
	}
	if from == to && source == target {
		return nil
	}
	stored, err := s.set(to, target, f.data, overwrite)
	if err == nil && stored && move {
		s.unset(from, source)
	}
	return err
}

func (s *memory) list(_ context.Context, id ID, opt Listing) ([]Info, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := []Info{}
	b := s.buckets[id]
	if b == nil {
		return out, nil
	}
	prefix, after := opt.bounds()
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
	return out, nil
}

func (s *memory) drop(of ID) {
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
