package wal

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
)

// File is the part of *os.File that the log uses.
type File interface {
	io.ReaderAt
	io.WriterAt
	Size() (int64, error)
	Truncate(size int64) error
	// Sync makes contents and size durable.
	Sync() error
	// Blocks reports whether WriteBlocks is better than WriteAt and Sync.
	Blocks() bool
	// WriteBlocks writes whole blocks of blockSize, from memory at a multiple of that to a place in the file that is
	// one, where the file has space; they are durable when it returns. It says nothing of earlier writes.
	WriteBlocks(p []byte, at int64) error
	Close() error
}

// FS opens the files of a log. Tests put faults in between.
type FS interface {
	// Open opens a file for reading and writing, and creates it when it is absent.
	Open(name string) (File, error)
	// List gives the names of the segments in dir, with dir.
	List(dir string) ([]string, error)
	Remove(name string) error
	// SyncDir makes the creation and removal of files in dir durable.
	SyncDir(dir string) error
}

// OS is the file system of the machine.
type OS struct{}

type osFile struct {
	*os.File
	past   *os.File    // the same file, past the cache of the system and with each write durable; nil: not so
	unable atomic.Bool // past was refused a write, and is not tried again
}

// Open implements FS.
func (OS) Open(name string) (File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return &osFile{File: f, past: openPast(f)}, nil
}

// Sync implements File.
func (f *osFile) Sync() error { return datasync(f.File) }

// Blocks implements File.
func (f *osFile) Blocks() bool { return f.past != nil && !f.unable.Load() }

// WriteBlocks implements File.
func (f *osFile) WriteBlocks(p []byte, at int64) error {
	_, err := f.past.WriteAt(p, at)
	if !cannot(err) {
		return err
	}
	f.unable.Store(true)
	if _, err := f.WriteAt(p, at); err != nil {
		return err
	}
	return f.Sync()
}

// Close implements File.
func (f *osFile) Close() error {
	if f.past == nil {
		return f.File.Close()
	}
	return errors.Join(f.past.Close(), f.File.Close())
}

// List implements FS.
func (OS) List(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "wal-") && strings.HasSuffix(e.Name(), ".log") {
			names = append(names, filepath.Join(dir, e.Name()))
		}
	}
	return names, nil
}

// Remove implements FS.
func (OS) Remove(name string) error { return os.Remove(name) }

// SyncDir implements FS.
func (OS) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return err // a file system that cannot sync directories says EINVAL
	}
	return nil
}

// Size implements File.
func (f *osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// IsNoSpace reports whether err says that the device, the quota or the file's limit is full.
func IsNoSpace(err error) bool {
	return isDiskFull(err) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) ||
		errors.Is(err, syscall.EFBIG)
}
