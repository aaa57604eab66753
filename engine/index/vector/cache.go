package vector

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/nacredb/nacre/engine/index/numbers"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
)

// Cache holds the graphs of a store's vector indexes, of those that were searched. It is safe for concurrent use.
//
// It owns a goroutine per index that has something to do: it loads the graph, takes in what was committed and writes
// checkpoints. Each ends when there is nothing left; Close stops them and waits.
type Cache struct {
	store   kv.Store
	log     *slog.Logger
	numbers numbers.Source

	mu      sync.Mutex // guards all below; taken before that of a shared
	indexes map[place]*shared
	closed  bool
	workers sync.WaitGroup
}

// NewCache makes the cache of a store.
func NewCache(store kv.Store, log *slog.Logger) *Cache {
	return &Cache{store: store, log: log, indexes: map[place]*shared{}}
}

// shared gives what is kept of an index, which it begins to load at the first call. It is nil where there is nothing to
// ask.
func (c *Cache) shared(x *Index) *shared {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.indexes[x.place]
	if s != nil && s.misses.Load() > maxMisses { // others write the index too: look again at what is stored
		s.dropped.Store(true)
		delete(c.indexes, x.place)
		s = nil
	}
	if s == nil && !c.closed {
		s = newShared(x)
		c.indexes[x.place] = s
		c.start(s)
	}
	return s
}

func newShared(x *Index) *shared {
	bare := &Index{Spec: x.Spec, Cache: x.Cache, Name: x.Name, place: x.place, path: x.path}
	return &shared{x: bare, g: newGraph(&bare.Spec, uint64(x.ix)), places: map[string]uint32{},
		gone: map[string]kv.Version{}}
}

// start sets a worker on an index. c.mu is held.
func (c *Cache) start(s *shared) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.closed || s.working || s.broken {
		return
	}
	s.working = true
	c.workers.Go(func() { c.run(s) })
}

// run is a worker.
func (c *Cache) run(s *shared) {
	if err := s.load(c.store); err != nil {
		s.mu.Lock()
		s.broken, s.working = true, false
		s.mu.Unlock()
		c.log.Error("load a vector index; it is scanned instead", "index", s.x.Name, "error", err)
		return
	}
	stop := func() bool { return s.dropped.Load() || c.stopped() }
	for {
		s.work(stop)
		if err := s.checkpointIfDue(c.store, checkpointAfter); err != nil {
			c.log.Error("write a checkpoint of a vector index", "index", s.x.Name, "error", err)
		}
		if s.rest(stop()) {
			return
		}
	}
}

func (c *Cache) stopped() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// committed takes in a change.
func (c *Cache) committed(ch change, v kv.Version) {
	ch.version = v
	c.mu.Lock()
	s := c.indexes[ch.index]
	c.mu.Unlock()
	if s == nil {
		return // it will be loaded with the change
	}
	if ch.many > 0 {
		c.drop(ch.index)
		return
	}
	s.commit(ch)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.start(s)
}

// drop forgets an index.
func (c *Cache) drop(ix place) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.indexes[ix]; s != nil {
		s.dropped.Store(true)
		delete(c.indexes, ix)
	}
}

// Drop forgets the indexes of what was removed: a table, or, where ids are 0, all of a database or namespace.
func (c *Cache) Drop(ns, db, tb uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for at, s := range c.indexes {
		if at.ns == ns && (db == 0 || at.db == db) && (tb == 0 || at.tb == tb) {
			s.dropped.Store(true)
			delete(c.indexes, at)
		}
	}
}

// Close stops the workers and waits for them. What they had left to do is done at the next opening.
func (c *Cache) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.workers.Wait()
	for _, s := range c.indexes {
		if err := s.checkpointIfDue(c.store, checkpointAtClose); err != nil {
			c.log.Error("write a checkpoint of a vector index", "index", s.x.Name, "error", err)
		}
	}
}

// load fills the graph with what is stored, and then counts on commits.
func (s *shared) load(store kv.Store) error {
	s.mu.RLock()
	loaded := s.loaded
	s.mu.RUnlock()
	if loaded {
		return nil
	}
	tx, err := txn.Begin(context.Background(), store, txn.Options{})
	if err != nil {
		return err
	}
	defer tx.Cancel()
	stored := *s.x
	stored.Tx = tx
	at := tx.Version()
	count, err := stored.changes(own{})
	if err != nil {
		return err
	}
	fresh := newShared(s.x) // filled aside, so that commits need not wait
	if err := fresh.restore(&stored, at); err != nil {
		return fmt.Errorf("load index %s: %w", s.x.Name, err)
	}
	left := len(fresh.g.queue)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.g, s.places, s.base, s.from, s.floor, s.since, s.loaded = fresh.g, fresh.places, count, at, at, left, true
	for _, c := range s.early {
		if c.version > at { // what came before is stored already
			s.take(c)
		}
	}
	s.early = nil
	return nil
}
