package torn

import (
	"bytes"
	"path/filepath"
	"sync"

	"github.com/nacredb/nacre/engine/kv/wal"
)

// recorder is a file system for the log that notes what is done: what strace tells, without
// strace, but not of data.db.
type recorder struct {
	wal.FS
	mu     sync.Mutex // guards events; held over the operation itself, so that their order is the true one
	events []event
}

func (r *recorder) note(e event) {
	e.covers = len(r.events)
	r.events = append(r.events, e)
}

// mark notes what the run says of itself.
func (r *recorder) mark(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.note(event{kind: evMark, mark: text})
}

// Open implements wal.FS.
func (r *recorder) Open(name string) (wal.File, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f, err := r.FS.Open(name)
	if err != nil {
		return nil, err
	}
	r.note(event{kind: evCreate, file: filepath.Base(name)})
	return &recordedFile{File: f, r: r, name: filepath.Base(name)}, nil
}

// Remove implements wal.FS.
func (r *recorder) Remove(name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.note(event{kind: evRemove, file: filepath.Base(name)})
	return r.FS.Remove(name)
}

// SyncDir implements wal.FS.
func (r *recorder) SyncDir(dir string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.note(event{kind: evSyncDir, file: "."})
	return r.FS.SyncDir(dir)
}

// recordedFile implements wal.File.
type recordedFile struct {
	wal.File
	r    *recorder
	name string
}

// WriteAt implements wal.File.
func (f *recordedFile) WriteAt(p []byte, at int64) (int, error) {
	f.r.mu.Lock()
	defer f.r.mu.Unlock()
	f.r.note(event{kind: evWrite, file: f.name, at: at, data: bytes.Clone(p)})
	return f.File.WriteAt(p, at)
}

// Truncate implements wal.File.
func (f *recordedFile) Truncate(size int64) error {
	f.r.mu.Lock()
	defer f.r.mu.Unlock()
	f.r.note(event{kind: evTruncate, file: f.name, at: size})
	return f.File.Truncate(size)
}

// Sync implements wal.File.
func (f *recordedFile) Sync() error {
	f.r.mu.Lock()
	defer f.r.mu.Unlock()
	f.r.note(event{kind: evSync, file: f.name})
	return f.File.Sync()
}

// Blocks implements wal.File: the images are of whole blocks, also where the file system is not good at that.
func (f *recordedFile) Blocks() bool { return true }

// WriteBlocks implements wal.File. It is recorded as a write, and a sync of nothing else.
func (f *recordedFile) WriteBlocks(p []byte, at int64) error {
	f.r.mu.Lock()
	defer f.r.mu.Unlock()
	f.r.note(event{kind: evWrite, file: f.name, at: at, data: bytes.Clone(p)})
	if _, err := f.File.WriteAt(p, at); err != nil {
		return err
	}
	f.r.note(event{kind: evSync, file: f.name, since: len(f.r.events) - 1})
	return f.File.Sync()
}
