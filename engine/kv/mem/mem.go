// Package mem is the store in memory: a copy-on-write ordered map of the newest state.
//
// It promises what kv.Store does, but for durability: Close loses everything. A snapshot is a
// pointer to an immutable tree; it costs two small allocations and never waits. Commits are
// applied one at a time, in the order in which they come.
package mem

import (
	"context"
	"fmt"
	"sync"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/overlay"
)

// Store implements kv.Store.
type Store struct {
	epochs overlay.Epochs[overlay.Tree]
	window overlay.Window
	turns  chan struct{} // holds one token while the commit turn is free

	mu     sync.Mutex // guards all below; taken before the locks of epochs and window
	tree   overlay.Tree
	turn   *kv.Turn      // who alone may commit, or nil
	freed  chan struct{} // closed when turn is released
	stats  kv.Stats
	closed bool
}

var _ kv.Store = (*Store)(nil)

// New gives an empty store.
func New() *Store {
	s := &Store{turns: make(chan struct{}, 1), stats: kv.Stats{Kind: "memory"}}
	s.turns <- struct{}{}
	s.epochs.Publish(0, overlay.Tree{})
	return s
}

// Begin implements kv.Store.
func (s *Store) Begin(ctx context.Context) (kv.Snapshot, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ep := s.epochs.Acquire()
	if ep == nil {
		return nil, kv.ErrClosed
	}
	return &snapshot{store: s, epoch: ep}, nil
}

// Commit implements kv.Store.
func (s *Store) Commit(ctx context.Context, b *kv.Batch) (kv.Version, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := b.CheckKeys(); err != nil {
		return 0, err
	}
	// Most of the validation happens before the lock: under it only what came since remains.
	checked, ok := s.window.Check(&b.Reads, b.Snapshot)
	if ok {
		if err := s.lockFor(ctx, b.Turn); err != nil {
			return 0, err
		}
		defer s.mu.Unlock()
		if s.closed {
			return 0, kv.ErrClosed
		}
		_, ok = s.window.Check(&b.Reads, max(checked, b.Snapshot))
	} else {
		s.mu.Lock()
		defer s.mu.Unlock()
	}
	if !ok {
		s.stats.Conflicts++
		return 0, kv.ErrConflict
	}
	v := s.stats.Version
	if !b.Empty() {
		var err error
		if v, err = s.apply(b); err != nil {
			return 0, err
		}
	}
	if b.Applied != nil {
		b.Applied(v)
	}
	return v, nil
}

// lockFor takes s.mu when the commit turn is free or ours.
func (s *Store) lockFor(ctx context.Context, turn *kv.Turn) error {
	s.mu.Lock()
	for s.turn != nil && s.turn != turn {
		freed := s.freed
		s.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return ctx.Err()
		}
		s.mu.Lock()
	}
	return nil
}

// apply writes b, which is valid, and publishes the result; s.mu is held.
func (s *Store) apply(b *kv.Batch) (kv.Version, error) {
	sums, err := s.counters(b.Deltas)
	if err != nil {
		return 0, err
	}
	size := 0
	keys := make([][]byte, 0, len(b.Writes)+len(b.Deltas))
	for _, w := range b.Writes {
		keys = append(keys, w.Key)
		size += len(w.Key)
		s.put(w.Key, w.Value)
	}
	for i, d := range b.Deltas {
		s.put(d.Key, sums[i])
	}
	keys = overlay.MergeKeys(keys, b.Deltas)
	s.stats.Version++
	s.stats.Commits++
	v := s.stats.Version
	oldest, _ := s.epochs.Oldest()
	s.window.Add(overlay.Footprint{Version: v, Keys: keys, Bytes: size}, oldest)
	s.epochs.Publish(v, s.tree.Snapshot())
	return v, nil
}

// counters gives the new values of the keys of deltas.
func (s *Store) counters(deltas []kv.Delta) ([][]byte, error) {
	if len(deltas) == 0 {
		return nil, nil
	}
	sums := make([][]byte, len(deltas))
	for i, d := range deltas {
		old, _ := s.tree.Get(d.Key)
		n, ok := kv.Counter(old)
		if !ok {
			return nil, fmt.Errorf("add to key %x: %w", d.Key, kv.ErrCounter)
		}
		sums[i] = kv.AppendCounter(make([]byte, 0, 8), n+d.Add)
	}
	return sums, nil
}

func (s *Store) put(key, val []byte) {
	if val == nil {
		if old, found := s.tree.Delete(key); found {
			s.stats.Bytes -= int64(len(key) + len(old))
		}
		return
	}
	old, replaced := s.tree.Set(key, val)
	s.stats.Bytes += int64(len(val) - len(old))
	if !replaced {
		s.stats.Bytes += int64(len(key))
	}
}

// Exclusive implements kv.Store.
func (s *Store) Exclusive(ctx context.Context) (*kv.Turn, error) {
	select {
	case <-s.turns:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		s.turns <- struct{}{}
		return nil, kv.ErrClosed
	}
	s.freed = make(chan struct{})
	s.turn = kv.NewTurn(func() {
		s.mu.Lock()
		s.turn = nil
		close(s.freed)
		s.mu.Unlock()
		s.turns <- struct{}{}
	})
	return s.turn, nil
}

// Stats implements kv.Store.
func (s *Store) Stats() kv.Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.stats
	st.Keys = int64(s.tree.Len())
	u := s.epochs.Usage()
	st.Snapshots, st.Begun, st.Lag, st.Oldest = u.Open, u.All, u.Lag, u.Since
	return st
}

// Close implements kv.Store. Snapshots that are still open stay readable.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.epochs.Shut()
	return nil
}
