// Package model is the models of a database at work: their files loaded and kept in memory, the arguments of calls made
// into rows of numbers, and the calls of many rows computed together. It knows neither rights nor statements:
// engine/exec finds a definition, asks whether it may be called, and evaluates arguments.
package model

import (
	"context"
	"errors"
	"sync"

	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/ml"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/internal/budget"
)

// Cache keeps loaded models, those used last, up to a number of bytes. They count against the memory of all
// statements. Models are found by the id of their blob: what is under an id never changes.
type Cache struct {
	pool   *budget.Pool
	most   int64
	limits ml.Limits

	mu    sync.Mutex // guards all below
	byID  map[[16]byte]*cachedModel
	clock int64
	bytes int64
}

// cachedModel is a model in memory, or on its way there.
type cachedModel struct {
	ready chan struct{} // closed when model or err is set; they do not change afterwards
	model *ml.Model
	err   error
	bytes int64 // 0 while it is loaded
	held  budget.Held
	used  int64 // when it was asked for last, by the clock of the cache
}

// NewCache makes an empty cache for most bytes, of models that are loaded under limits.
func NewCache(pool *budget.Pool, most int64, limits ml.Limits) *Cache {
	return &Cache{pool: pool, most: most, limits: limits, byID: map[[16]byte]*cachedModel{}}
}

// Get gives a model, and loads it in tx if it is not in memory. Those who ask meanwhile wait for it.
func (c *Cache) Get(ctx context.Context, tx *txn.Tx, db catalog.Scope, f *catalog.ModelFile) (*ml.Model, error) {
	for {
		c.mu.Lock()
		e := c.byID[f.Blob]
		mine := e == nil
		if mine {
			e = &cachedModel{ready: make(chan struct{})}
			c.byID[f.Blob] = e
		}
		c.clock++
		e.used = c.clock
		c.mu.Unlock()
		if mine {
			c.fill(ctx, tx, db, f, e)
			return e.model, e.err
		}
		select {
		case <-e.ready:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if e.err == nil || !passing(e.err) {
			return e.model, e.err
		}
		if err := ctx.Err(); err != nil { // its loader went away; this caller may still load it
			return nil, err
		}
	}
}

// passing reports whether an error was a matter of the caller that loaded the model, and not of the model.
func passing(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// fill loads a model. One that cannot be loaded is forgotten, so that the next call tries again.
func (c *Cache) fill(ctx context.Context, tx *txn.Tx, db catalog.Scope, f *catalog.ModelFile, e *cachedModel) {
	var held budget.Held
	model, err := (*ml.Model)(nil), error(errs.Internal("Failed to load model: it was interrupted"))
	defer func() { // also after a panic: others wait
		c.mu.Lock()
		e.model, e.err, e.held = model, err, held
		if err != nil {
			held.Release()
			delete(c.byID, f.Blob)
		} else {
			e.bytes = model.Bytes()
			c.bytes += e.bytes
		}
		c.mu.Unlock()
		close(e.ready)
	}()
	if held, err = c.room(f.Size); err != nil {
		return
	}
	var b []byte
	if b, err = readModel(ctx, tx, db, f); err != nil {
		return
	}
	if model, err = ml.LoadONNX(b, c.limits); err != nil {
		err = errs.Internal("Failed to load model: %s", err)
		return
	}
	held.Release()
	held, err = c.room(model.Bytes())
}

// room takes memory for n bytes; models that were not used lately make place.
func (c *Cache) room(n int64) (budget.Held, error) {
	if n > c.most {
		return budget.Held{}, errs.Internal("Failed to load model: it takes %d MiB and models may take %d MiB together",
			n>>20, c.most>>20)
	}
	c.mu.Lock()
	for c.bytes+n > c.most && c.evict() {
	}
	c.mu.Unlock()
	for {
		held, err := c.pool.Take(int(n), false)
		if err == nil {
			return held, nil
		}
		c.mu.Lock()
		more := c.evict()
		c.mu.Unlock()
		if !more {
			return held, err
		}
	}
}

// Forget drops a model whose blob is removed.
func (c *Cache) Forget(id [16]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.byID[id]; e != nil && e.bytes > 0 {
		c.drop(id, e)
	}
}

// drop takes a loaded model out. c.mu is held.
func (c *Cache) drop(id [16]byte, e *cachedModel) {
	delete(c.byID, id)
	c.bytes -= e.bytes
	e.held.Release()
}

// evict forgets the model that was not asked for the longest time. c.mu is held.
func (c *Cache) evict() bool {
	var id [16]byte
	var oldest *cachedModel
	for k, e := range c.byID {
		if e.bytes > 0 && (oldest == nil || e.used < oldest.used) {
			id, oldest = k, e
		}
	}
	if oldest == nil {
		return false
	}
	c.drop(id, oldest)
	return true
}

// readModel reads the ONNX model of a file.
func readModel(ctx context.Context, tx *txn.Tx, db catalog.Scope, f *catalog.ModelFile) ([]byte, error) {
	b := make([]byte, 0, f.Size)
	err := catalog.ReadBlob(tx, db, f.Blob, func(part []byte) error {
		if len(b)+len(part) > cap(b) {
			return errs.Internal("Failed to load model: its file is damaged")
		}
		b = append(b, part...)
		return ctx.Err()
	})
	if err == nil && int64(len(b)) != f.Size {
		err = errs.Internal("Failed to load model: its file is damaged")
	}
	return b, err
}
