package flat

import (
	"context"
	"sync"
	"time"

	"github.com/nacredb/nacre/engine/index/vector"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/internal/budget"
)

// Place is what a copy is of: a field of a table by its name, vectors of one dimension, and how they are measured.
type Place struct {
	NS, DB, Table uint32
	Field         string
	Metric        vector.Metric
	Dimension     int
}

// Cache is the copies of an engine, those asked last. All of them together take an eighth of the memory that there is
// for statements at most, and count against it. It is safe for concurrent use.
type Cache struct {
	pool *budget.Pool
	most int64 // bytes of all copies

	mu      sync.Mutex // guards all below and the entries
	byPlace map[Place]*entry
	bytes   int64       // of the copies
	timer   *time.Timer // of tidy; nil where there are no copies
	closed  bool
}

// entry is a place that was asked for.
type entry struct {
	version kv.Version // of the store
	asked   int        // how often at that version
	copy    *vectors   // nil: there is none
	used    time.Time
}

const (
	copyAt     = 3    // the search within one version that makes a copy
	fewest     = 1000 // vectors; fewer are read in no time
	mostPlaces = 64
	poolPart   = 8         // of the memory for statements, what copies may take
	unbounded  = 256 << 20 // bytes of copies, where that has no bound
	idle       = time.Minute
)

// NewCache makes an empty cache, of copies that count against pool.
func NewCache(pool *budget.Pool) *Cache {
	c := &Cache{pool: pool, most: unbounded, byPlace: map[Place]*entry{}}
	if pool != nil {
		c.most = pool.Stats().Limit / poolPart
	}
	return c
}

// Near gives the records that may be among the k nearest to a query, of those that cur would give: the whole of the
// table of p, at a version of the store. cur must be Plain. It gives nil where there is no copy that tells; walked says
// that cur has been read, to make one.
func (c *Cache) Near(ctx context.Context, p Place, at kv.Version, cur *record.Cursor, query []float64,
	k int64) (f *Found, walked bool, err error) {
	if k > mostNear || !vector.Rounds(p.Metric, p.Dimension) {
		return nil, false, nil
	}
	have, missing := c.ask(p, at)
	if missing {
		have, err = c.make(ctx, p, at, cur)
	}
	if have == nil || err != nil {
		return nil, missing, err
	}
	f, err = have.near(ctx, query, int(k))
	return f, missing, err
}

// make makes a copy, and keeps it if it is worth it; nil where it cannot be made.
func (c *Cache) make(ctx context.Context, p Place, at kv.Version, cur *record.Cursor) (*vectors, error) {
	made, kept := &vectors{rough: vector.NewRough(p.Metric, p.Dimension), held: c.pool.Lasting()}, false
	defer func() { // also after a panic
		if !kept {
			made.held.Close()
		}
	}()
	ok, err := made.fill(ctx, cur, &p, c.most)
	if err != nil {
		c.forget(p)
	}
	if err != nil || !ok {
		return nil, err
	}
	kept = made.rough.Len() >= fewest && c.keep(p, at, made)
	return made, nil
}

// ask counts a search, and gives the copy that there is. missing says that the caller is to make one.
func (c *Cache) ask(p Place, at kv.Version) (have *vectors, missing bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pool.Tight() {
		c.dropAll()
		return nil, false
	}
	e := c.byPlace[p]
	switch {
	case e == nil:
		if len(c.byPlace) >= mostPlaces {
			c.dropOldest(nil)
		}
		e = &entry{version: at}
		c.byPlace[p] = e
	case e.version > at: // asked by a transaction that began before
		return nil, false
	case e.version < at:
		c.release(e)
		e.version, e.asked = at, 0
	}
	e.asked++
	e.used = time.Now()
	return e.copy, e.asked == copyAt && !c.closed
}

// keep takes a copy in; false where it is of no use any more. Those that were asked less lately make place.
func (c *Cache) keep(p Place, at kv.Version, made *vectors) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byPlace[p]
	if c.closed || e == nil || e.version != at || e.copy != nil {
		return false
	}
	for c.bytes+made.bytes > c.most {
		c.dropOldest(e)
	}
	e.copy = made
	c.bytes += made.bytes
	if c.timer == nil {
		c.timer = time.AfterFunc(idle, c.tidy)
	}
	return true
}

// tidy drops what was not asked for a while, and everything where memory is scarce.
func (c *Cache) tidy() {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := time.Now().Add(-idle)
	for p, e := range c.byPlace {
		if c.pool.Tight() || e.used.Before(before) {
			c.drop(p, e)
		}
	}
	if c.timer = nil; c.bytes > 0 && !c.closed {
		c.timer = time.AfterFunc(idle, c.tidy)
	}
}

// dropOldest drops what was asked longest ago, but not but. c.mu is held, and there is another entry.
func (c *Cache) dropOldest(but *entry) {
	var place Place
	var oldest *entry
	for p, e := range c.byPlace {
		if e != but && (oldest == nil || e.used.Before(oldest.used)) {
			place, oldest = p, e
		}
	}
	c.drop(place, oldest)
}

// forget has the next searches make a copy, where one of them could not for a reason of its own.
func (c *Cache) forget(p Place) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.byPlace[p]; e != nil {
		c.drop(p, e)
	}
}

// drop forgets a place. c.mu is held.
func (c *Cache) drop(p Place, e *entry) {
	c.release(e)
	delete(c.byPlace, p)
}

// dropAll forgets all places. c.mu is held.
func (c *Cache) dropAll() {
	for p, e := range c.byPlace {
		c.drop(p, e)
	}
}

// release lets go of the copy of an entry. Searches that use it go on. c.mu is held.
func (c *Cache) release(e *entry) {
	if e.copy == nil {
		return
	}
	c.bytes -= e.copy.bytes
	e.copy.held.Close()
	e.copy = nil
}

// Close drops all copies, and ends the cache.
func (c *Cache) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.dropAll(); c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
}
