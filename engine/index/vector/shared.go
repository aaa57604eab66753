package vector

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/nacredb/nacre/engine/kv"
)

// shared is the state that all users of an index share: its graph. Changes come in from commits and are compared one by
// one until the worker, one goroutine at a time, has linked them.
type shared struct {
	x      *Index       // without a transaction
	misses atomic.Int64 // searches in a row that knew of changes which did not come in
	// dropped: no query uses it any more, and its worker ends.
	dropped atomic.Bool

	mu       sync.RWMutex // guards all below; held over no I/O and no user code
	g        *graph
	loaded   bool
	broken   bool                  // loading failed: the index is scanned
	working  bool                  // there is a worker
	early    []change              // that came in before it was loaded
	places   map[string]uint32     // the newest node of a record
	gone     map[string]kv.Version // records without one, lately: when they lost it
	versions []kv.Version          // of the changes since the load, ascending
	base     int64                 // changes before versions
	from     kv.Version            // what it was loaded from has the changes up to here
	floor    kv.Version            // snapshots before it are not answered
	since    int                   // changes since the checkpoint
}

// Limits of what is kept about the past.
const (
	maxVersions = 8192
	maxGone     = 8192
	maxMisses   = 32
)

// exactLimit is how many nodes are compared one by one rather than searched.
const exactLimit = 1000

// commit takes in a committed change. It may come in after the load that has found it stored.
func (s *shared) commit(c change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.loaded:
		s.early = append(s.early, c)
	case c.version > s.from:
		s.take(c)
	}
}

// take puts a change into the graph. Commits may come in out of their order: what is older than what is there of the
// record is left out, and snapshots that would see it are not answered any more.
func (s *shared) take(c change) {
	s.count(c.version)
	s.since++
	place, there := s.places[c.record]
	newest := s.gone[c.record]
	if there {
		newest = s.g.nodes[place].born
	}
	if newest > c.version {
		s.floor = max(s.floor, newest)
		return
	}
	if there {
		s.g.kill(place, c.version)
		delete(s.places, c.record)
	}
	if c.raw == nil {
		if len(s.gone) >= maxGone {
			s.floor = max(s.floor, c.version)
			clear(s.gone)
		}
		s.gone[c.record] = c.version
		return
	}
	delete(s.gone, c.record)
	place = s.g.put(node{record: c.record, number: c.number, born: c.version, gone: alive}, c.raw)
	s.places[s.g.nodes[place].record] = place
}

// count remembers the version of a change.
func (s *shared) count(v kv.Version) {
	i := len(s.versions)
	for i > 0 && s.versions[i-1] > v {
		i--
	}
	s.versions = slices.Insert(s.versions, i, v)
	if len(s.versions) > maxVersions {
		cut := maxVersions / 2
		s.floor = max(s.floor, s.versions[cut-1])
		s.base += int64(cut)
		s.versions = slices.Clone(s.versions[cut:])
	}
}

// answers reports whether the graph says everything about a snapshot that knows of so many changes.
func (s *shared) answers(at kv.Version, count int64) bool {
	if !s.loaded || at < s.floor {
		return false
	}
	later := len(s.versions)
	for later > 0 && s.versions[later-1] > at {
		later--
	}
	if s.base+int64(later) != count {
		s.misses.Add(1)
		return false
	}
	s.misses.Store(0)
	return true
}

// nearest finds about ef nearest records of a snapshot; whole says that these are all, ok is false where it cannot
// tell. mine are the changes that the asking transaction has made itself; a search of the graph goes on where before
// has paused.
func (s *shared) nearest(before *paused, query []byte, ef int, at kv.Version, count int64,
	mine map[string]*change) (hits []found, whole, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if !s.answers(at, count) {
		return nil, false, false
	}
	g := s.g
	seen := func(p uint32) bool {
		n := &g.nodes[p]
		return n.born <= at && n.gone > at && n.state != free && (mine == nil || mine[n.record] == nil)
	}
	to := g.arena.to(query)
	hits = make([]found, 0, min(ef, 256)+len(g.queue)+len(g.loose)+len(mine))
	bound := unbounded // of what is compared: what is farther waits for a look that is as wide as that
	compared := func(places []uint32) {
		for _, p := range places {
			if !seen(p) {
				continue
			}
			if far := to.one(p, unbounded); !(far > bound) {
				hits = append(hits, found{g.nodes[p].record, far})
			}
		}
	}
	if whole = g.live <= exactLimit || ef >= g.live/4; whole {
		for p := range g.nodes {
			if seen(uint32(p)) {
				hits = append(hits, found{g.nodes[p].record, to.one(uint32(p), unbounded)})
			}
		}
	} else {
		keep := seen
		if last := len(s.versions) - 1; g.dead == 0 && len(mine) == 0 && (last < 0 || s.versions[last] <= at) {
			keep = nil // the snapshot has all nodes: none of them is looked at for that
		}
		hits, bound = g.search(hits, before, to, ef, keep)
		compared(g.queue)
		compared(g.loose)
	}
	return s.x.compareOwn(hits, query, bound, mine), whole, true
}

// compareOwn adds the vectors that a transaction has put itself, if they are not beyond a bound.
func (x *Index) compareOwn(hits []found, query []byte, bound float64, mine map[string]*change) []found {
	if len(mine) == 0 {
		return hits
	}
	to := newArena(&x.Spec).between(query)
	for _, c := range mine {
		if c.raw == nil {
			continue
		}
		if far := to(c.raw); !(far > bound) {
			hits = append(hits, found{c.record, far})
		}
	}
	return hits
}

// work links what is queued until there is nothing left, or stop says so.
func (s *shared) work(stop func() bool) {
	for !stop() && s.step() {
		s.tidy()
	}
}

// step links one vector. Its neighbours are found while readers go on.
func (s *shared) step() bool {
	s.mu.RLock()
	if len(s.g.queue) == 0 {
		s.mu.RUnlock()
		return false
	}
	place := s.g.queue[0]
	chosen := s.g.plan(place)
	s.mu.RUnlock()
	s.mu.Lock()
	s.g.join(place, chosen)
	s.mu.Unlock()
	return true
}

// rest ends the work of a worker, unless there is more to do.
func (s *shared) rest(stopped bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.g.queue) > 0 && !stopped {
		return false
	}
	s.working = false
	return true
}

// tidy takes gone nodes out of the graph when there are many. Snapshots that see them are not answered any more.
func (s *shared) tidy() {
	s.mu.RLock()
	many := s.g.dead >= 256 && s.g.dead >= s.g.live/4
	s.mu.RUnlock()
	if !many {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.g.nodes {
		if n := &s.g.nodes[i]; n.state != free && n.gone != alive {
			s.floor = max(s.floor, n.gone)
		}
	}
	s.g.purge(s.floor)
}

// settled reports whether all that has come in is linked.
func (s *shared) settled() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.loaded && len(s.g.queue) == 0 && !s.working
}
