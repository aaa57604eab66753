package vector

import (
	"slices"
	"sort"
	"sync"

	"github.com/nacredb/nacre/engine/kv"
)

// shared is what all users of an index share: its graph, and the changes that are not in it yet. Changes come in from
// commits; one goroutine at a time, the worker, moves them into the graph.
type shared struct {
	x *Index // without a transaction
	g *graph

	mu       sync.Mutex // guards all below; taken before the graph's
	loaded   bool
	broken   bool         // loading failed: the index is scanned
	pending  []change     // committed, in the order they came in; readers keep parts of it, which do not change
	versions []kv.Version // of the changes since the load, ascending
	base     int64        // changes before versions
	floor    kv.Version   // snapshots before it are not answered
	misses   int          // searches in a row that knew of changes which did not come in
	working  bool

	// of the worker
	places map[string]uint32     // the node of a record
	gone   map[string]kv.Version // records without one, lately: when they lost it
	since  int                   // changes since the checkpoint
}

// Limits of what is kept about the past.
const (
	maxVersions = 8192
	maxGone     = 8192
	maxMisses   = 32
)

// exactLimit is how many nodes are compared one by one rather than searched.
const exactLimit = 1000

// commit takes in a committed change.
func (s *shared) commit(c change) {
	s.pending = append(s.pending, c)
	i := len(s.versions)
	for i > 0 && s.versions[i-1] > c.version {
		i--
	}
	s.versions = slices.Insert(s.versions, i, c.version)
	if len(s.versions) > maxVersions {
		cut := maxVersions / 2
		s.floor = max(s.floor, s.versions[cut-1])
		s.base += int64(cut)
		s.versions = slices.Clone(s.versions[cut:])
	}
}

// answers reports whether the graph and what is pending say everything about a snapshot that knows of so many changes.
func (s *shared) answers(at kv.Version, count int64) bool {
	if !s.loaded || at < s.floor {
		return false
	}
	later := len(s.versions)
	for later > 0 && s.versions[later-1] > at {
		later--
	}
	if s.base+int64(later) != count {
		s.misses++
		return false
	}
	s.misses = 0
	return true
}

// nearest finds about ef nearest records of a snapshot; ok is false where it cannot tell. mine are the changes that the
// asking transaction has made itself.
func (s *shared) nearest(query []byte, ef int, at kv.Version, count int64, mine map[string]*change) (hits []found, whole, ok bool) {
	s.mu.Lock()
	ok = s.answers(at, count)
	pending := s.pending
	s.mu.Unlock()
	if !ok {
		return nil, false, false
	}
	hits, whole = s.among(query, ef, at, apart(pending, at, mine))
	s.mu.Lock()
	defer s.mu.Unlock()
	return hits, whole, at >= s.floor
}

// apart is the changes that a snapshot knows of and the graph may not, by record.
func apart(pending []change, at kv.Version, mine map[string]*change) map[string]*change {
	if len(pending) == 0 {
		return mine
	}
	out := make(map[string]*change, len(pending)+len(mine))
	for i := range pending {
		c := &pending[i]
		if c.version > at {
			continue
		}
		if old := out[string(c.record)]; old == nil || old.version <= c.version {
			out[string(c.record)] = c
		}
	}
	for k, c := range mine {
		out[k] = c
	}
	return out
}

// among searches the graph and compares with the changes apart from it.
func (s *shared) among(query []byte, ef int, at kv.Version, others map[string]*change) (hits []found, whole bool) {
	g := s.g
	seen := func(p uint32) bool {
		n := &g.nodes[p]
		if n.free || n.born > at || n.gone <= at {
			return false
		}
		return others == nil || others[string(n.record)] == nil
	}
	g.mu.RLock()
	to := g.arena.to(query)
	add := func(p uint32, far float64) { hits = append(hits, found{g.nodes[p].record, far}) }
	if whole = g.live <= exactLimit || ef >= g.live/4; whole {
		for p := range g.nodes {
			if seen(uint32(p)) {
				add(uint32(p), to(uint32(p)))
			}
		}
	} else {
		for _, n := range g.search(nil, to, ef, seen) {
			add(n.place, n.far)
		}
		for _, p := range g.loose {
			if seen(p) {
				add(p, to(p))
			}
		}
	}
	g.mu.RUnlock()
	return s.compareAll(hits, query, others), whole
}

// compareAll adds the changes apart from the graph.
func (s *shared) compareAll(hits []found, query []byte, others map[string]*change) []found {
	if len(others) == 0 {
		return hits
	}
	one := newArena(s.g.spec)
	one.set(0, query)
	to := one.to(query)
	for _, c := range others {
		if c.raw != nil {
			one.set(0, c.raw)
			hits = append(hits, found{c.record, to(0)})
		}
	}
	return hits
}

// work moves pending changes into the graph until there are none, or stop says so.
func (s *shared) work(stop func() bool) {
	for !stop() {
		s.mu.Lock()
		if len(s.pending) == 0 {
			s.mu.Unlock()
			return
		}
		c := s.pending[0]
		s.mu.Unlock()
		s.apply(c)
		s.mu.Lock()
		if s.pending = s.pending[1:]; len(s.pending) == 0 {
			s.pending = nil
		}
		s.mu.Unlock()
		s.tidy()
	}
}

// rest ends the work of a worker, unless there is more to do.
func (s *shared) rest(stopped bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pending) > 0 && !stopped {
		return false
	}
	s.working = false
	return true
}

// apply moves one change into the graph. Commits may come in out of their order: what is older than what the graph has of
// the record is left out, and snapshots that would see it are not answered any more.
func (s *shared) apply(c change) {
	k := string(c.record)
	place, there := s.places[k]
	newest := s.gone[k]
	if there {
		newest = s.g.nodes[place].born
	}
	if newest > c.version {
		s.raise(newest)
		return
	}
	if there {
		s.g.kill(place, c.version)
		delete(s.places, k)
	}
	s.since++
	if c.raw == nil {
		if len(s.gone) >= maxGone {
			s.raise(c.version)
			clear(s.gone)
		}
		s.gone[k] = c.version
		return
	}
	delete(s.gone, k)
	s.places[k] = s.g.add(node{record: c.record, number: c.number, born: c.version, gone: alive}, c.raw)
}

func (s *shared) raise(floor kv.Version) {
	s.mu.Lock()
	s.floor = max(s.floor, floor)
	s.mu.Unlock()
}

// tidy takes gone nodes out of the graph when there are many.
func (s *shared) tidy() {
	if s.g.dead < 256 || s.g.dead < s.g.live/4 {
		return
	}
	var last kv.Version
	for i := range s.g.nodes {
		if n := &s.g.nodes[i]; !n.free && n.gone != alive {
			last = max(last, n.gone)
		}
	}
	s.raise(last)
	s.g.purge(last)
}

// kill notes that a node has gone.
func (g *graph) kill(place uint32, at kv.Version) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := &g.nodes[place]
	n.gone = at
	if !n.loose {
		g.live--
		g.dead++
	}
}

// settled reports whether the graph holds all that has come in.
func (s *shared) settled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loaded && len(s.pending) == 0 && !s.working
}

// byNumber orders changes so that loading is deterministic.
func byNumber(cs []change) {
	sort.Slice(cs, func(i, j int) bool { return cs[i].number < cs[j].number })
}
