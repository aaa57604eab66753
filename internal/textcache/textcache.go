// Package textcache keeps what was made of texts, such as parsed statements, within bounds of number and bytes.
package textcache

import "sync"

// Cache keeps values by text. It has two generations: when the young one is full it becomes the old one, and what is
// asked for again moves back, so the texts in use stay without any bookkeeping. It is safe for concurrent use.
type Cache[V any] struct {
	mu         sync.Mutex // guards the rest; a leaf lock
	young, old map[string]entry[V]
	bytes      int // of young
	size       int // texts per generation
	room       int // bytes per generation
}

type entry[V any] struct {
	value  V
	weight int
}

// New makes a cache of about size texts and bytes bytes.
func New[V any](size, bytes int) *Cache[V] {
	return &Cache[V]{young: map[string]entry[V]{}, size: max(1, size/2), room: max(1, bytes/2)}
}

// Get gives what is kept of a text.
func (c *Cache[V]) Get(text string) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.young[text]; ok {
		return e.value, true
	}
	e, ok := c.old[text]
	if ok {
		c.add(text, e)
	}
	return e.value, ok
}

// Put keeps a value that takes weight bytes, unless it is larger than a generation may be.
func (c *Cache[V]) Put(text string, v V, weight int) {
	if weight > c.room {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(text, entry[V]{v, weight})
}

func (c *Cache[V]) add(text string, e entry[V]) {
	if len(c.young) >= c.size || c.bytes+e.weight > c.room {
		c.old, c.young, c.bytes = c.young, make(map[string]entry[V], c.size), 0
	}
	c.young[text] = e
	c.bytes += e.weight
}
