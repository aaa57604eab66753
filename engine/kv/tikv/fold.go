package tikv

import (
	"bytes"
	"context"
	"errors"
	"sync"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	client "github.com/tikv/client-go/v2/tikv"

	"github.com/nacredb/nacre/engine/kv"
)

// What is added to a counter lies beside it, so that those who add do not meet. folder puts it together from time to
// time: a counter is a sum of few parts however often it is added to.
type folder struct {
	store *Store
	wake  chan struct{}
	quit  chan struct{}
	done  chan struct{}

	mu    sync.Mutex // guards all below; a leaf lock
	parts map[string]int
	due   map[string]struct{}
}

// How many parts make a counter due, how many are put together at once, and how many counters are watched.
const (
	foldParts   = 128
	foldAtOnce  = 4096
	maxCounters = 1 << 16
)

func (f *folder) start(s *Store) {
	f.store, f.wake = s, make(chan struct{}, 1)
	f.quit, f.done = make(chan struct{}), make(chan struct{})
	f.parts, f.due = map[string]int{}, map[string]struct{}{}
	go f.run()
}

// stop waits for the end of what the folder is doing.
func (f *folder) stop() {
	close(f.quit)
	<-f.done
}

// added notes what a commit of this process added to.
func (f *folder) added(deltas []kv.Delta) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range deltas {
		k := string(deltas[i].Key)
		if f.parts[k]++; f.parts[k] >= foldParts {
			f.call(k)
		}
	}
	if len(f.parts) > maxCounters { // those that are forgotten are put together when somebody reads them
		clear(f.parts)
	}
}

// knows reports whether a commit of this process has added to key before, and found a counter there.
func (f *folder) knows(key []byte) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, ok := f.parts[string(key)]
	return ok
}

// forget forgets that something was added to a counter: it was overwritten.
func (f *folder) forget(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.parts, key)
}

// seen notes that a read has met a counter of so many parts.
func (f *folder) seen(key []byte, parts int) {
	if parts < foldParts {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.call(string(key))
}

// call makes a counter due; f.mu is held.
func (f *folder) call(key string) {
	delete(f.parts, key)
	if len(f.due) >= maxCounters {
		return
	}
	f.due[key] = struct{}{}
	select {
	case f.wake <- struct{}{}:
	default: // it is awake
	}
}

func (f *folder) run() {
	defer close(f.done)
	for {
		select {
		case <-f.wake:
		case <-f.quit:
			return
		}
		for key, ok := f.next(); ok && !f.stopping(); key, ok = f.next() {
			err := f.fold(f.store.ctx, []byte(key))
			if err != nil && !errors.Is(err, kv.ErrConflict) && f.store.ctx.Err() == nil {
				f.store.opt.Log.Warn("the parts of a counter could not be put together", "err", err)
			}
		}
	}
}

func (f *folder) stopping() bool {
	select {
	case <-f.quit:
		return true
	default:
		return false
	}
}

func (f *folder) next() (string, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for k := range f.due {
		delete(f.due, k)
		return k, true
	}
	return "", false
}

// fold makes a counter of one part. The sum stays the same, so its readers are not in conflict; a transaction that
// overwrites or folds the counter is, over the same keys.
func (f *folder) fold(ctx context.Context, key []byte) error {
	s := f.store
	start, err := s.now(ctx)
	if err != nil {
		return err
	}
	r := s.reader(start)
	base := s.space.base(key)
	first, end := entry(base)
	st := stretch{start: first, end: end}
	pairs, err := r.next(ctx, &st, foldAtOnce)
	if err != nil || len(pairs) < 2 {
		return err
	}
	return s.fold(ctx, start, key, base, pairs)
}

// fold writes the sum of pairs, those of a counter, in their place.
func (s *Store) fold(ctx context.Context, start uint64, key, base []byte, pairs []*kvrpcpb.KvPair) error {
	tx, err := s.client.Begin(client.WithStartTS(start))
	if err != nil {
		return s.failure(ctx, err)
	}
	var first []byte
	var deltas [][]byte
	for _, p := range pairs {
		v, err := unseal(p.Key, p.Value)
		if err != nil {
			return err
		}
		if bytes.Equal(p.Key, base) {
			first = v
			continue
		}
		deltas = append(deltas, v)
		if err := tx.Delete(p.Key); err != nil {
			return s.commitFailure(err)
		}
	}
	total, err := sum(key, first, deltas)
	if err != nil {
		return err
	}
	if err := tx.Set(base, seal(base, total)); err != nil {
		return s.commitFailure(err)
	}
	if err := tx.Commit(ctx); err != nil {
		return s.commitFailure(err)
	}
	return nil
}
