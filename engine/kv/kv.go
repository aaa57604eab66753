// Package kv is the ordered byte store under the database: snapshots to read, batches to commit.
//
// A Store promises: a Snapshot never changes; Commit is atomic and durable (to the degree that the
// store's sync mode says) when it returns nil; a batch whose read set was overwritten since its
// snapshot fails with ErrConflict and leaves no trace. Nothing here knows about records, tables
// or the language. Only engine/txn uses it.
package kv

import (
	"context"
	"errors"
)

// Version is the commit counter of a store: each successful Commit has a larger one.
type Version uint64

// Store is an ordered map of byte keys with snapshots and validated atomic commits.
// Implementations are safe for concurrent use.
type Store interface {
	// Begin opens a snapshot of the newest committed state. It never blocks on writers.
	Begin(ctx context.Context) (Snapshot, error)
	// Commit validates b.Reads against everything committed after b.Snapshot and, if nothing
	// overlaps, applies b.Writes. Errors: ErrConflict, ErrReadOnly, ErrNoSpace, ErrClosed, ctx.Err().
	// When it returns nil the writes are visible to every later Begin.
	Commit(ctx context.Context, b *Batch) (Version, error)
	// Stats reports sizes and counters; it is cheap.
	Stats() Stats
	// Close waits for running commits, flushes and releases the files. Snapshots must be released before.
	Close() error
}

// Snapshot is a frozen view. Byte slices that it hands out are read-only and stay valid until
// Release. It may be used by one goroutine at a time.
type Snapshot interface {
	Version() Version
	// Get gives the value of key, or nil and false.
	Get(key []byte) ([]byte, bool, error)
	// Scan iterates over r in key order (or reversed).
	Scan(r Range, opt ScanOptions) Cursor
	Release()
}

// Cursor walks a scan: for c.Next() { c.Key(); c.Value() }; err := c.Err(); c.Close().
// Key and Value are read-only and stay valid until the snapshot is released.
type Cursor interface {
	Next() bool
	Key() []byte
	Value() []byte
	Err() error
	Close()
}

// Range is the keys k with Start <= k < End. A nil End means no upper bound.
type Range struct{ Start, End []byte }

// ScanOptions tunes a scan.
type ScanOptions struct {
	Reverse  bool
	KeysOnly bool // Value may answer nil
	Limit    int  // 0 = no limit
}

// Write is one change; a nil Value deletes the key.
type Write struct{ Key, Value []byte }

// Batch is what a transaction asks to commit. Writes are sorted by key, one per key.
// The store owns the slices from then on.
type Batch struct {
	Snapshot Version // the version that the reads were made at
	Reads    ReadSet
	Writes   []Write
}

// ReadSet is what a transaction has looked at: single keys and key ranges.
type ReadSet struct {
	Keys   [][]byte
	Ranges []Range
}

// Stats are a store's counters.
type Stats struct {
	Kind       string // "memory", "bolt", …
	Version    Version
	Keys       int64 // live keys, where known
	Bytes      int64 // approximate live bytes in memory
	FileBytes  int64
	Snapshots  int64 // open snapshots
	Commits    uint64
	Conflicts  uint64
	Syncs      uint64
	Checkpoint uint64
}

// The errors of a store. Anything else is an I/O error.
var (
	ErrConflict = errors.New("transaction conflict")
	ErrReadOnly = errors.New("store is read-only after a failed write")
	ErrNoSpace  = errors.New("no space left on the device")
	ErrClosed   = errors.New("store is closed")
	ErrLocked   = errors.New("store is in use by another process")
	ErrFormat   = errors.New("not a nacre store")
	ErrCorrupt  = errors.New("stored value fails its checksum")
)
