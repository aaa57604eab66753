package bolt

import (
	"bytes"
	"context"
	"fmt"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/wal"
)

// PageReport sums up a walk over all pages.
type PageReport struct {
	Pages  uint64 `json:"used"` // in use
	Free   uint64 `json:"free"`
	Leaked uint64 `json:"leaked"` // neither: lost room, no lost data
	Keys   uint64 `json:"keys"`   // in data.db, whose values are sound
}

// CheckPages walks everything that data.db holds and tells report about each thing that is wrong:
// meta pages, page heads, elements, key order, pages used twice or both used and free, checksums
// of values, and the log. Errors: those of ctx.
func (in *Inspection) CheckPages(ctx context.Context, report func(error)) (PageReport, error) {
	w := &walk{in: in, ctx: ctx, report: report, state: make([]byte, in.pf.meta.pages)}
	for _, i := range in.bad {
		report(fmt.Errorf("meta page %d is damaged: %w", i, kv.ErrCorrupt))
	}
	if want := int64(in.pf.meta.pages) * int64(in.pf.meta.pageSize); in.FileSize < want {
		report(fmt.Errorf("%s has %d bytes of %d: %w", dataFile, in.FileSize, want, kv.ErrCorrupt))
	}
	w.freeList()
	w.buckets()
	if in.LogError != nil {
		report(in.LogError)
	}
	w.sum.Leaked = in.pf.meta.pages - min(in.pf.meta.pages, w.sum.Pages+w.sum.Free+2)
	return w.sum, w.err
}

// The states of pages.
const (
	pageUnknown = iota
	pageIsFree
	pageIsUsed
)

type walk struct {
	in     *Inspection
	ctx    context.Context
	report func(error)
	state  []byte
	last   []byte // the greatest key of the tree so far
	any    bool   // there is one
	sum    PageReport
	err    error
}

// freeList notes the pages that are free.
func (w *walk) freeList() {
	id := w.in.pf.meta.freeList
	if id == noFreeList {
		return
	}
	pg, err := w.in.pf.page(id)
	if err != nil {
		w.report(fmt.Errorf("free list: %w", err))
		return
	}
	w.use(pg)
	if pg.kind != pageFree {
		w.report(fmt.Errorf("free list: %w", damagedPage(id, "is of another kind")))
		return
	}
	ids, err := pg.freeIDs()
	if err != nil {
		w.report(fmt.Errorf("free list: %w", err))
		return
	}
	for _, id := range ids {
		switch {
		case id < 2 || id >= uint64(len(w.state)):
			w.report(fmt.Errorf("free list: %w", damagedPage(id, "is outside of the %d pages", len(w.state))))
		case w.state[id] != pageUnknown:
			w.report(fmt.Errorf("free list: %w", damagedPage(id, "is listed twice or holds the list")))
		default:
			w.state[id] = pageIsFree
			w.sum.Free++
		}
	}
}

// use notes that pg is in use; it is false for one that was seen before.
func (w *walk) use(pg page) bool {
	fresh := true
	for id := pg.id; id <= pg.id+pg.over && id < uint64(len(w.state)); id++ {
		switch w.state[id] {
		case pageIsFree:
			w.report(damagedPage(id, "is in use and in the free list"))
		case pageIsUsed:
			w.report(damagedPage(id, "is used twice"))
			fresh = false
		}
		w.state[id] = pageIsUsed
		w.sum.Pages++
	}
	return fresh
}

// buckets walks the root tree and the trees in it.
func (w *walk) buckets() {
	pg, err := w.in.pf.page(w.in.pf.meta.root)
	if err != nil {
		w.report(fmt.Errorf("root: %w", err))
		return
	}
	w.begin()
	w.page(pg, nil, nil, 0, func(_ page, bucket bool, key, value []byte) {
		if !bucket {
			w.report(fmt.Errorf("%q beside the buckets of %s: %w", key, dataFile, kv.ErrCorrupt))
			return
		}
		last, anyKey := w.last, w.any
		w.bucket(key, value)
		w.last, w.any = last, anyKey
	})
}

func (w *walk) begin() { w.last, w.any = nil, false }

func (w *walk) bucket(name, value []byte) {
	t, err := parseBucket(value)
	if err == nil {
		var pg page
		if pg, err = w.in.pf.rootOf(t); err == nil {
			w.begin()
			isData := bytes.Equal(name, dataBucket())
			w.page(pg, nil, nil, 0, func(_ page, bucket bool, key, value []byte) {
				if isData && (bucket || !wal.Verify(key, value)) {
					w.report(&KeyError{Key: bytes.Clone(key)})
					return
				}
				if isData {
					w.sum.Keys++
				}
			})
		}
	}
	if err != nil {
		w.report(fmt.Errorf("bucket %q: %w", name, err))
	}
}

// page checks a page and all below it; its keys must be in [low, high), nil = no bound.
func (w *walk) page(pg page, low, high []byte, depth int, leaf func(pg page, bucket bool, key, value []byte)) {
	if w.err = w.ctx.Err(); w.err != nil {
		return
	}
	if w.in.Walked != nil && w.sum.Pages&1023 == 0 {
		w.in.Walked(w.sum.Pages * uint64(w.in.pf.meta.pageSize))
	}
	inline := pg.id == 0
	if depth > maxPageDepth || !inline && !w.use(pg) {
		return
	}
	if pg.kind == pageFree {
		w.report(damagedPage(pg.id, "is a free list inside a tree"))
		return
	}
	if pg.kind == pageBranch && pg.n == 0 {
		w.report(damagedPage(pg.id, "is a branch without children"))
		return
	}
	for i := 0; i < pg.n && w.err == nil; i++ {
		key, err := pg.key(i)
		if err != nil {
			w.report(err)
			continue
		}
		if low != nil && bytes.Compare(key, low) < 0 || high != nil && bytes.Compare(key, high) >= 0 {
			w.report(damagedPage(pg.id, "has key %x, which belongs elsewhere", key))
		}
		if pg.kind == pageLeaf {
			w.leafElement(&pg, i, leaf)
		} else {
			w.child(&pg, i, key, high, depth, leaf)
		}
	}
}

func (w *walk) leafElement(pg *page, i int, leaf func(pg page, bucket bool, key, value []byte)) {
	bucket, key, value, err := pg.leaf(i)
	if err != nil {
		w.report(err)
		return
	}
	if w.any && bytes.Compare(key, w.last) <= 0 {
		w.report(damagedPage(pg.id, "has key %x, which does not follow %x", key, w.last))
	}
	w.last, w.any = key, true
	leaf(*pg, bucket, key, value)
}

// child checks the page under element i of a branch.
func (w *walk) child(pg *page, i int, key, high []byte, depth int, leaf func(pg page, bucket bool, key, value []byte)) {
	_, id, err := pg.branch(i)
	if err == nil {
		if i+1 < pg.n {
			if next, err := pg.key(i + 1); err == nil {
				if bytes.Compare(next, key) <= 0 {
					w.report(damagedPage(pg.id, "has key %x, which does not follow %x", next, key))
				}
				high = next
			}
		}
		var below page
		if below, err = w.in.pf.page(id); err == nil {
			w.page(below, key, high, depth+1, leaf)
			return
		}
	}
	w.report(err)
}
