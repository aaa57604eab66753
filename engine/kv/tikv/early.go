package tikv

import (
	"context"
	"sync"
	"time"

	"github.com/nacredb/nacre/engine/kv"
)

// A transaction that reads nothing but what it presumes needs no snapshot: all of it is validated at its commit
// timestamp. What it needs is a timestamp of its own to write with, and that may have been asked for in advance. So its
// snapshot is early: it has a timestamp from before it began. With its first request it takes one of now.

// spares are timestamps that were asked for in advance.
type spares struct {
	asking sync.WaitGroup

	mu    sync.Mutex // guards all below; a leaf lock
	of    []spare
	asked int // how many are on their way
}

// spare is a timestamp that no transaction has, and when it was asked for.
type spare struct {
	ts    uint64
	asked time.Time
}

// How many spares are kept, and for how long: from its timestamp on the cluster counts how long a transaction lives,
// and a batch of an old one goes alone.
const (
	maxSpares = 64
	spareFor  = youngFor / 2
)

// Presume implements kv.Presumer.
func (s *Store) Presume(ctx context.Context, pairs []kv.Pair) (kv.Snapshot, error) {
	if one, ok := s.spares.take(); ok && ctx.Err() == nil && s.ctx.Err() == nil {
		sn := newSnapshot(s, one.ts)
		sn.early, sn.began = true, one.asked
		sn.presume(pairs)
		return s.opened(sn), nil
	}
	sn, err := s.Begin(ctx)
	if err == nil {
		sn.(*snapshot).presume(pairs)
	}
	return sn, err
}

// Base implements kv.Presuming.
func (sn *snapshot) Base() kv.Version { return kv.Version(sn.reader.at) }

// asks comes before each request of a snapshot. If it is early it becomes one of now, and gives its timestamp back.
func (sn *snapshot) asks() error {
	sn.quiet = false
	if !sn.early {
		return nil
	}
	s := sn.reader.store
	began := time.Now()
	s.trips.Stamps.Add(1)
	ts, err := s.now(s.ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, sn.Base())
	if !sn.used {
		s.spares.put(spare{sn.reader.at, sn.began})
	}
	sn.reader.at, sn.began, sn.early = ts, began, false
	s.open[sn.Base()] = sn
	return nil
}

// take gives the last spare.
func (s *spares) take() (spare, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.of)
	if n == 0 {
		return spare{}, false
	}
	one := s.of[n-1]
	if time.Since(one.asked) > spareFor { // and so are most others
		s.of = s.of[:0]
		return spare{}, false
	}
	s.of = s.of[:n-1]
	return one, true
}

// put keeps a spare, if there is room.
func (s *spares) put(one spare) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.of) < maxSpares {
		s.of = append(s.of, one)
	}
}

// spare asks for timestamps in advance: those that parts of a commit would have used.
func (s *Store) spare(parts []part) {
	n := 0
	for _, p := range parts {
		if p.snap != nil && p.snap.quiet && len(p.snap.belief.used) > 0 {
			n++
		}
	}
	sp := &s.spares
	sp.mu.Lock()
	n = min(n, maxSpares-len(sp.of)-sp.asked)
	if n <= 0 {
		sp.mu.Unlock()
		return
	}
	sp.asked += n
	sp.mu.Unlock()
	asked := time.Now()
	for range n {
		sp.asking.Go(func() {
			ts, err := s.now(s.ctx)
			if err == nil { // otherwise the next transaction asks, and says why there is none
				sp.put(spare{ts, asked})
			}
			sp.mu.Lock()
			defer sp.mu.Unlock()
			sp.asked--
		})
	}
}
