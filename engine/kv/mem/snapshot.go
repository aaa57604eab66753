package mem

import (
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/overlay"
)

// snapshot implements kv.Snapshot on one published tree.
type snapshot struct {
	store *Store
	epoch *overlay.Epoch[overlay.Tree]
	done  bool
}

// Version implements kv.Snapshot.
func (s *snapshot) Version() kv.Version { return s.epoch.Version }

// Get implements kv.Snapshot.
func (s *snapshot) Get(key []byte) ([]byte, bool, error) {
	v, ok := s.epoch.State.Get(key)
	return v, ok, nil
}

// Scan implements kv.Snapshot.
func (s *snapshot) Scan(r kv.Range, opt kv.ScanOptions) kv.Cursor {
	c := &cursor{tree: &s.epoch.State, opt: opt}
	c.Move(r)
	return c
}

// Release implements kv.Snapshot. Values that were handed out stay valid here.
func (s *snapshot) Release() {
	if !s.done {
		s.done = true
		s.store.epochs.Release(s.epoch)
	}
}

// cursor implements kv.Cursor.
type cursor struct {
	tree *overlay.Tree
	opt  kv.ScanOptions
	scan overlay.Scan
	left int // keys still to give; negative = no limit
}

func (c *cursor) Move(r kv.Range) {
	c.left = c.opt.Limit
	if c.left <= 0 {
		c.left = -1
	}
	c.scan.Begin(c.tree, r, c.opt.Reverse)
}

func (c *cursor) Next() bool {
	if c.left == 0 || !c.scan.Next() {
		return false
	}
	if c.left > 0 {
		c.left--
	}
	return true
}

// Fill implements kv.Filler.
func (c *cursor) Fill(dst []kv.Pair) (n int) {
	if c.left >= 0 {
		dst = dst[:min(len(dst), c.left)]
	}
	for n < len(dst) && c.Next() {
		dst[n] = kv.Pair{Key: c.Key(), Value: c.Value()}
		more := c.scan.Beyond(dst[n+1:])
		if n += 1 + more; c.left > 0 {
			c.left -= more
		}
	}
	return n
}

func (c *cursor) Key() []byte   { return c.scan.Key() }
func (c *cursor) Value() []byte { return c.scan.Value() }
func (c *cursor) Err() error    { return nil }
func (c *cursor) Close()        {}
