// Package fault wraps stores and the files of the log to make them fail on purpose, for tests.
//
// Store lets operations of any kv.Store fail, and can spoil what it handed out once a snapshot is
// released. Disk is a file system in memory for package wal that can fail, fill up, and crash:
// what was not synced then survives in pieces. Nothing here is part of the product.
package fault

import (
	"bytes"
	"context"
	"sync/atomic"

	"github.com/nacredb/nacre/engine/kv"
)

// Op is an operation that can fail.
type Op uint8

// The operations of a Store and of a Disk.
const (
	Begin Op = iota
	Get
	Scan // opening a scan; the error shows in the cursor
	Next
	Commit
	Exclusive
	Open
	Read
	Write
	Truncate
	Sync
	Remove
	SyncDir
	ops
)

func opNames() [ops]string {
	return [ops]string{"begin", "get", "scan", "next", "commit", "exclusive", "open", "read", "write", "truncate",
		"sync", "remove", "sync dir"}
}

// String names op.
func (op Op) String() string { return opNames()[op] }

// Outcome is the fate of an operation.
type Outcome struct {
	Err   error // nil = it goes ahead
	After bool  // it goes ahead and then says Err
}

// Plan decides over the n-th operation (from 1) of all. It may be called concurrently.
type Plan func(op Op, n int64) Outcome

// Nth fails the n-th operation among those of the given kinds, and no other.
func Nth(n int64, out Outcome, kinds ...Op) Plan {
	var seen atomic.Int64
	return func(op Op, _ int64) Outcome {
		for _, k := range kinds {
			if k == op && seen.Add(1) == n {
				return out
			}
		}
		return Outcome{}
	}
}

// Store is a kv.Store with faults.
type Store struct {
	kv.Store
	plan   atomic.Pointer[Plan]
	count  atomic.Int64
	spoils bool
}

// New wraps st; without a plan nothing fails.
func New(st kv.Store) *Store { return &Store{Store: st} }

// NewSpoiling wraps st so that keys and values are copies which are overwritten when their
// snapshot is released: who uses one afterwards reads rubbish, as may happen with bolt.
func NewSpoiling(st kv.Store) *Store { return &Store{Store: st, spoils: true} }

// SetPlan replaces the plan; nil means no more faults. The count of operations goes on.
func (s *Store) SetPlan(p Plan) {
	if p == nil {
		s.plan.Store(nil)
		return
	}
	s.plan.Store(&p)
}

// Ops is the number of operations so far.
func (s *Store) Ops() int64 { return s.count.Load() }

func (s *Store) next(op Op) Outcome {
	n := s.count.Add(1)
	if p := s.plan.Load(); p != nil {
		return (*p)(op, n)
	}
	return Outcome{}
}

// Begin implements kv.Store.
func (s *Store) Begin(ctx context.Context) (kv.Snapshot, error) {
	if out := s.next(Begin); out.Err != nil {
		return nil, out.Err
	}
	sn, err := s.Store.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return &snapshot{Snapshot: sn, store: s}, nil
}

// Commit implements kv.Store.
func (s *Store) Commit(ctx context.Context, b *kv.Batch) (kv.Version, error) {
	out := s.next(Commit)
	if out.Err != nil && !out.After {
		return 0, out.Err
	}
	v, err := s.Store.Commit(ctx, b)
	if err == nil && out.Err != nil {
		return 0, out.Err
	}
	return v, err
}

// Exclusive implements kv.Store.
func (s *Store) Exclusive(ctx context.Context) (*kv.Turn, error) {
	if out := s.next(Exclusive); out.Err != nil {
		return nil, out.Err
	}
	return s.Store.Exclusive(ctx)
}

type snapshot struct {
	kv.Snapshot
	store  *Store
	handed [][]byte // copies to spoil
	done   bool
}

// hand gives p, or a copy that will be spoiled.
func (s *snapshot) hand(p []byte) []byte {
	if !s.store.spoils || p == nil {
		return p
	}
	c := bytes.Clone(p)
	s.handed = append(s.handed, c)
	return c
}

// Get implements kv.Snapshot.
func (s *snapshot) Get(key []byte) ([]byte, bool, error) {
	if out := s.store.next(Get); out.Err != nil {
		return nil, false, out.Err
	}
	v, ok, err := s.Snapshot.Get(key)
	return s.hand(v), ok, err
}

// Scan implements kv.Snapshot.
func (s *snapshot) Scan(r kv.Range, opt kv.ScanOptions) kv.Cursor {
	return &cursor{Cursor: s.Snapshot.Scan(r, opt), snap: s, err: s.store.next(Scan).Err}
}

// Release implements kv.Snapshot.
func (s *snapshot) Release() {
	if s.done {
		return
	}
	s.done = true
	for _, p := range s.handed {
		for i := range p {
			p[i] = 0xdb
		}
	}
	s.Snapshot.Release()
}

type cursor struct {
	kv.Cursor
	snap     *snapshot
	key, val []byte
	err      error
}

// Move implements kv.Cursor.
func (c *cursor) Move(r kv.Range) {
	c.err = c.snap.store.next(Scan).Err
	c.Cursor.Move(r)
}

// Next implements kv.Cursor.
func (c *cursor) Next() bool {
	if c.err == nil {
		c.err = c.snap.store.next(Next).Err
	}
	if c.err != nil || !c.Cursor.Next() {
		return false
	}
	c.key, c.val = c.snap.hand(c.Cursor.Key()), c.snap.hand(c.Cursor.Value())
	return true
}

// Key implements kv.Cursor.
func (c *cursor) Key() []byte { return c.key }

// Value implements kv.Cursor.
func (c *cursor) Value() []byte { return c.val }

// Err implements kv.Cursor.
func (c *cursor) Err() error {
	if c.err != nil {
		return c.err
	}
	return c.Cursor.Err()
}
