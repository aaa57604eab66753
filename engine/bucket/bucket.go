// Package bucket keeps the files of buckets: in memory, or in a folder of the machine.
//
// A Store belongs to one engine and is safe for concurrent use. Files are not part of transactions: every change is
// seen at once, by everybody. What is in memory is lost when the engine closes; what is in a folder stays, even when
// its bucket is removed. Folders are used only inside those that the operator allows, and no key, link or name leads
// out of them. The package knows no permissions and no definitions: its callers check that a bucket is defined and what
// may be done there. No error's text names a path of the machine that the caller did not write.
package bucket

import (
	"context"
	"strings"
	"time"

	"github.com/nacredb/nacre/engine/errs"
)

// Limits bound what a Store holds, in bytes. The zero value of a field means its default.
type Limits struct {
	File  int64 // of one file; 64 MiB
	Total int64 // of all files in memory with their keys; 1 GiB
}

// ID names a bucket and where it is.
type ID struct {
	NS, DB uint32
	Name   string
	Folder string // what Store.Folder answered; empty: in memory
	Place  Place  // of the database; only for those in folders
}

// Info describes a file.
type Info struct {
	Key     string // starts with a slash
	Size    int64
	Updated time.Time
}

// Listing narrows a listing.
type Listing struct {
	Prefix string // of the key, with or without the slash
	After  string // keys above this one only, with or without the slash
	Limit  int    // at most this many; negative: all
}

// bounds are the keys that o is after.
func (o Listing) bounds() (prefix, after string) {
	if o.After != "" {
		after = withSlash(o.After)
	}
	return withSlash(o.Prefix), after
}

func withSlash(key string) string {
	if strings.HasPrefix(key, "/") {
		return key
	}
	return "/" + key
}

// backend is one way to keep files. Keys start with a slash.
type backend interface {
	// put may keep data. stored is false where overwrite is too and the file is there.
	put(id ID, key string, data []byte, overwrite bool) (stored bool, err error)
	// get is read-only.
	get(id ID, key string) (data []byte, found bool, err error)
	head(id ID, key string) (info Info, found bool, err error)
	remove(id ID, key string) error
	// copy is between buckets of one folder, or in memory.
	copy(from ID, source string, to ID, target string, overwrite, move bool) error
	list(ctx context.Context, id ID, opt Listing) ([]Info, error)
}

// Store is the files of all buckets.
type Store struct {
	memory  *memory
	folders *folders
}

// New makes a store whose buckets may also be in what is below allowed, see Folders. A nil clock means the system's; it
// dates what is in memory.
func New(limits Limits, allowed []string, clock func() time.Time) *Store {
	if limits.File == 0 {
		limits.File = 64 << 20
	}
	if limits.Total == 0 {
		limits.Total = 1 << 30
	}
	if clock == nil {
		clock = time.Now
	}
	return &Store{memory: newMemory(limits, clock), folders: &folders{allowed: allowed, limit: limits.File}}
}

func (s *Store) of(id ID) backend {
	if id.Folder == "" {
		return s.memory
	}
	return s.folders
}

// Put stores a copy of data. Without overwrite it leaves a file that is there as it is.
func (s *Store) Put(id ID, key string, data []byte, overwrite bool) error {
	if id.Folder == "" {
		data = append([]byte(nil), data...)
	}
	_, err := s.of(id).put(id, key, data, overwrite)
	return err
}

// Get is the bytes of a file, read-only, and whether it is there.
func (s *Store) Get(id ID, key string) (data []byte, found bool, err error) {
	return s.of(id).get(id, key)
}

// Head describes a file, if it is there.
func (s *Store) Head(id ID, key string) (info Info, found bool, err error) {
	return s.of(id).head(id, key)
}

// Delete removes a file, if it is there.
func (s *Store) Delete(id ID, key string) error { return s.of(id).remove(id, key) }

// List describes files in order of their keys.
func (s *Store) List(ctx context.Context, id ID, opt Listing) ([]Info, error) {
	return s.of(id).list(ctx, id, opt)
}

// Copy copies a file, or moves it: at once in memory and inside one folder, otherwise the source goes once the target
// is there. Without overwrite it does nothing where the target is there.
func (s *Store) Copy(from ID, source string, to ID, target string, overwrite, move bool) error {
	if from.Folder == to.Folder {
		return s.of(from).copy(from, source, to, target, overwrite, move)
	}
	data, found, err := s.Get(from, source)
	if err != nil || !found {
		return noSource(from, source, overwrite, move, err)
	}
	stored, err := s.of(to).put(to, target, data, overwrite)
	if err != nil || !stored || !move {
		return err
	}
	return s.Delete(from, source)
}

// noSource returns the error of a copy with a missing source, or with one that cannot be read for err.
func noSource(from ID, source string, overwrite, move bool, err error) error {
	if err != nil || !overwrite && !move {
		return err // as the reference: a copy that may not happen needs no source
	}
	return failed(from, "Source key does not exist: "+source, nil)
}

// Drop forgets a bucket and all its files in memory. Without a name it is every bucket of the database, without that
// too of the namespace. Folders stay as they are.
func (s *Store) Drop(of ID) { s.memory.drop(of) }

// failed is the error of an operation; cause is for the log.
func failed(id ID, what string, cause error) error {
	e := errs.Internal("Operation for bucket `%s` failed: %s", id.Name, what)
	e.Err = cause
	return e
}
