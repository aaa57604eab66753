package vector

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strings"
	"unsafe"

	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// Index is one index as a transaction sees it. It belongs to one goroutine.
type Index struct {
	Tx    *txn.Tx
	Spec  Spec
	Cache *Cache
	Name  string

	// Filling says that the index is made: what is put is not kept for searches of the transaction, which look at what
	// is stored, and a graph that is there is dropped when it commits. What the index has already is left alone. Beside
	// writers the transaction must be one of txn.Tx.FirstWins.
	Filling bool

	Bare bool // searches are for ids alone: who walks reads no records

	building bool // see Remove

	place
	path []catalog.Step // of the field that the vectors are in; nil for an expression
	buf  []byte

	filled *change // the note of Filling
	room   []byte
	floats []float64
}

// place is where an index is: its own id counts within its table only.
type place struct{ ns, db, tb, ix uint32 }

// Open gives an index in a transaction.
func Open(c *Cache, tx *txn.Tx, tb *catalog.Table, ix *catalog.Index) (*Index, error) {
	s := tb.Scope
	x := &Index{Tx: tx, Cache: c, Name: ix.Called(), place: place{s.NS, s.DB, tb.ID, ix.ID}}
	x.building = ix.Build.State == catalog.Building
	if len(ix.Paths) == 1 && catalog.Plain(ix.Paths[0]) {
		x.path = ix.Paths[0]
	}
	var ok bool
	if x.Spec, ok = NewSpec(ix.Define); !ok {
		return nil, fmt.Errorf("vector index %s: its definition is not known", ix.Name)
	}
	return x, nil
}

func (x *Index) part(p byte) []byte {
	x.buf = key.IndexData(x.buf[:0], x.ns, x.db, x.tb, x.ix, p)
	return x.buf
}

func (x *Index) vectorKey(record value.Value) []byte {
	x.buf = key.AppendRecordKey(x.part(partVector), record)
	return x.buf
}

func (x *Index) corrupt(what string) error {
	return fmt.Errorf("vector index %s: malformed %s", x.Name, what)
}

// change is a vector that a record got, or lost where raw is nil. It is what a transaction notes about itself.
type change struct {
	index   place
	record  string // RK
	number  uint64
	raw     []byte
	many    int64      // it stands for so many changes, and does not say which
	version kv.Version // of the commit, once it is known
}

// cleared is noted where all of an index was taken out.
type cleared struct{ index place }

// Put stores the vector of a record; inField says that it is found again in the record, see InField. Errors: those of
// Spec.Encode.
func (x *Index) Put(record, v value.Value, inField bool) error {
	var raw []byte
	if x.Filling {
		raw = x.room[:0]
	} else {
		raw = make([]byte, 0, x.Spec.width())
	}
	raw, err := x.Spec.Encode(raw, v)
	if err != nil {
		return err
	}
	return x.put(record, raw, inField)
}

// Fill is Put for an index that is Filling, of the vector in a field of a record, whose image is doc: it makes no list
// of its elements. False: the vector is not one of floats at the top of the record, and Put takes it.
func (x *Index) Fill(record, doc value.Value) (bool, error) {
	s := &x.Spec
	if len(x.path) != 1 || !s.floats() || doc.Kind() != value.KindObject {
		return false, nil
	}
	var ok bool
	if x.floats, ok = doc.Object().FloatsAt(x.floats[:0], x.path[0].Name); !ok || len(x.floats) != s.Dimension {
		return false, nil
	}
	return true, x.put(record, s.appendFloats(x.room[:0], x.floats), true)
}

func (x *Index) put(record value.Value, raw []byte, inField bool) error {
	inField = inField && x.Spec.pointing()
	k := x.vectorKey(record)
	get := x.Tx.Get
	if x.Filling {
		get = x.Tx.GetUntracked
	}
	old, err := get(k)
	if err != nil {
		return fmt.Errorf("read index %s: %w", x.Name, err)
	}
	if old != nil && x.Filling {
		return nil
	}
	if old != nil && !inField && !x.points(old) && x.agrees(old, raw) {
		return nil
	}
	size := numberSize + len(raw)
	if inField {
		size = pointerSize
	}
	number := x.Cache.numbers.Next()
	if err := x.Tx.Set(k, x.appendEntry(make([]byte, 0, size), number, raw, inField)); err != nil {
		return fmt.Errorf("write index %s: %w", x.Name, err)
	}
	if x.Filling {
		x.room = raw
		return x.noteFilled()
	}
	return x.note(&change{index: x.place, record: string(key.AppendRecordKey(nil, record)), number: number, raw: raw})
}

// Key is where the vector of a record is.
func (x *Index) Key(record value.Value) []byte { return bytes.Clone(x.vectorKey(record)) }

// Remove takes the vector of a record out, if it has one. While the index is built, one that it does not have is
// deleted all the same: a builder that is about to put it meets that.
func (x *Index) Remove(record value.Value) error {
	k := x.vectorKey(record)
	old, err := x.Tx.Get(k)
	if err != nil || old == nil && !x.building {
		return err
	}
	if old == nil {
		return x.Tx.Delete(k)
	}
	if err := x.Tx.Delete(k); err != nil {
		return fmt.Errorf("write index %s: %w", x.Name, err)
	}
	return x.note(&change{index: x.place, record: string(key.AppendRecordKey(nil, record))})
}

// note counts a change and hands it on when it is committed.
func (x *Index) note(c *change) error {
	if err := x.Tx.Add(x.part(partChanges), 1); err != nil {
		return fmt.Errorf("count changes of index %s: %w", x.Name, err)
	}
	cache := x.Cache
	x.Tx.Note(c, func(v kv.Version) { cache.committed(*c, v) })
	return nil
}

// noteFilled is note for what is put while Filling: one note for all.
func (x *Index) noteFilled() error {
	if x.filled != nil {
		if err := x.Tx.Add(x.part(partChanges), 1); err != nil {
			return fmt.Errorf("count changes of index %s: %w", x.Name, err)
		}
		x.filled.many++
		return nil
	}
	x.filled = &change{index: x.place, many: 1}
	return x.note(x.filled)
}

// Warm begins to load the graph of an index once the transaction is committed, rather than at the first search.
func (x *Index) Warm() {
	x.Tx.OnCommit(func(kv.Version) { x.Cache.shared(x) })
}

// Clear says that the transaction has taken out everything that is stored of an index of a table.
func (c *Cache) Clear(tx *txn.Tx, table catalog.Scope, ix uint32) {
	at := place{table.NS, table.DB, table.TB, ix}
	tx.Note(cleared{at}, func(kv.Version) { c.drop(at) })
}

// own holds the changes of a transaction to an index.
type own struct {
	changes map[string]*change // by RK, the last of each
	count   int64
	all     bool // the index was cleared, or being filled: what is stored tells
}

func (x *Index) own() own {
	var o own
	x.Tx.Notes(func(note any) {
		switch n := note.(type) {
		case *change:
			if n.index != x.place {
				return
			}
			if n.many > 0 {
				o.all = true
				o.count += n.many
				return
			}
			if o.changes == nil {
				o.changes = map[string]*change{}
			}
			o.changes[n.record] = n
			o.count++
		case cleared:
			o.all = o.all || n.index == x.place
		}
	})
	return o
}

// changes is how many changes the snapshot knows of. In a transaction that writes the read is tracked: its answer to a
// search is void if others change the index.
func (x *Index) changes(o own) (int64, error) {
	get := x.Tx.GetUntracked
	if x.Tx.Writable() {
		get = x.Tx.Get
	}
	raw, err := get(x.part(partChanges))
	if err != nil {
		return 0, fmt.Errorf("read index %s: %w", x.Name, err)
	}
	n, ok := kv.Counter(raw)
	if !ok {
		return 0, x.corrupt("counter")
	}
	return n - o.count, nil
}

// Hit is a record and how far its vector is.
type Hit struct {
	Record   value.Value
	Distance float64
}

// found is a hit whose record is not decoded.
type found struct {
	record string // RK
	far    float64
}

// compare orders hits by distance, NaN first, and those of equal distance by record.
func compare(a, b found) int {
	switch {
	case a.far < b.far:
		return -1
	case a.far > b.far:
		return 1
	case a.far == b.far:
		return strings.Compare(a.record, b.record)
	case math.IsNaN(a.far) && math.IsNaN(b.far):
		return strings.Compare(a.record, b.record)
	case math.IsNaN(a.far):
		return -1
	}
	return 1
}

// Walk gives records by their distance from a query, the nearest first. Of an index with a graph they are only about
// the nearest; the longer the walk, the wider it looks.
type Walk struct {
	x     *Index
	ctx   context.Context
	query []byte
	ef    int
	hits  foundHeap       // what is left of the last look
	given map[string]bool // by RK, once it is to look again
	all   []string        // what was given since the last look
	whole bool            // the last look saw everything
	begun bool

	search paused
}

// Search begins a walk from a query vector; ef is how many candidates the first look keeps. Errors: those of
// Spec.Encode.
func (x *Index) Search(ctx context.Context, query value.Value, ef int) (*Walk, error) {
	raw, err := x.Spec.Encode(nil, query)
	if err != nil {
		return nil, err
	}
	return &Walk{x: x, ctx: ctx, query: raw, ef: min(max(ef, 1), maxCandidates)}, nil
}

// Next moves to the next record; it is false after the last.
func (w *Walk) Next() (Hit, bool, error) {
	for {
		for len(w.hits) > 0 {
			f := w.hits.pop()
			if w.given[f.record] {
				continue
			}
			if !w.whole {
				w.all = append(w.all, f.record)
			}
			record, err := key.DecodeIndex(nil, []byte(f.record), 0)
			return Hit{record, f.far}, err == nil, err
		}
		if w.begun && w.whole {
			return Hit{}, false, nil
		}
		if err := w.look(); err != nil {
			return Hit{}, false, err
		}
	}
}

// Close lets go of the memory of the search. Next must not be called afterwards.
func (w *Walk) Close() { w.search.end() }

// look asks for more than was given.
func (w *Walk) look() error {
	if w.begun {
		if w.given == nil {
			w.given = map[string]bool{}
		}
		for _, r := range w.all {
			w.given[r] = true
		}
		w.all = w.all[:0]
		w.ef *= 4
	}
	w.begun = true
	hits, whole, err := w.x.nearest(w.ctx, &w.search, w.query, w.ef)
	w.hits, w.whole = hits, whole
	w.hits.make()
	if err != nil {
		return err
	}
	return w.x.ahead(hits)
}

// mostAhead is how many records of hits are read together.
const mostAhead = 256

// ahead reads the records of hits together, where the store is elsewhere: who walks reads them one by one.
func (x *Index) ahead(hits foundHeap) error {
	if x.Bare || !x.Tx.Prefetches() || len(hits) < 2 {
		return nil
	}
	hits = hits[:min(len(hits), mostAhead)] // the first hits stand in front
	keys := make([][]byte, len(hits))
	for i := range hits {
		keys[i] = append(key.RecordPrefix(nil, x.ns, x.db, x.tb), hits[i].record...)
	}
	_, err := x.Tx.Prefetch(keys)
	return err
}

// foundHeap has the first hit on top: of many hits few are asked for.
type foundHeap []found

func (h foundHeap) make() {
	for i := len(h)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}

func (h *foundHeap) pop() found {
	old := *h
	top := old[0]
	last := len(old) - 1
	old[0] = old[last]
	*h = old[:last]
	h.down(0)
	return top
}

func (h foundHeap) down(i int) {
	for {
		c := 2*i + 1
		if c >= len(h) {
			return
		}
		if c+1 < len(h) && compare(h[c+1], h[c]) < 0 {
			c++
		}
		if compare(h[i], h[c]) <= 0 {
			return
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
}

// nearest finds about ef nearest records, in no order; whole says that these are all. A search of the graph goes on
// where before has paused.
func (x *Index) nearest(ctx context.Context, before *paused, query []byte,
	ef int) (hits []found, whole bool, err error) {
	o := x.own()
	count, err := x.changes(o)
	if err != nil {
		return nil, false, err
	}
	if !o.all {
		if s := x.Cache.shared(x); s != nil {
			hits, whole, ok := s.nearest(before, query, ef, x.Tx.Version(), count, o.changes)
			if ok {
				return hits, whole, nil
			}
		}
	}
	hits, err = x.scan(ctx, query, o.changes, count+o.count)
	return hits, true, err
}

// scan compares a query with every stored vector; mine are the changes that the transaction has made itself, whose
// records may not be written yet, and count is about how many vectors there are.
func (x *Index) scan(ctx context.Context, query []byte, mine map[string]*change, count int64) ([]found, error) {
	to := newArena(&x.Spec).between(query)
	out := make([]found, 0, min(max(count, 0), maxReserved))
	err := x.eachEntry(true, func(record, entry []byte, f *fields, room []byte) ([]byte, error) {
		if len(out)&255 == 255 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		raw := room[:0]
		if c := mine[string(record)]; c != nil && c.raw != nil {
			raw = append(raw, c.raw...)
		} else {
			var err error
			if raw, err = f.append(raw, record, entry); err != nil {
				return nil, err
			}
		}
		// The key is valid as long as the transaction, and so is the walk.
		out = append(out, found{unsafe.String(unsafe.SliceData(record), len(record)), to(raw)})
		return raw, nil
	})
	return out, err
}

// maxReserved is the most hits that room is made for before they are found.
const maxReserved = 1 << 16

// eachEntry calls f with every entry, what reads the vectors in records, and the bytes that the last call of f gave.
func (x *Index) eachEntry(untracked bool, f func(record, entry []byte, in *fields, room []byte) ([]byte, error)) error {
	prefix := bytes.Clone(x.part(partVector))
	cur := x.Tx.Scan(kv.Prefix(prefix), txn.ScanOptions{Untracked: untracked}) // changes are noticed by their count
	defer cur.Close()
	in := x.fields()
	defer in.close()
	var room []byte
	var err error
	for cur.Next() {
		if room, err = f(cur.Key()[len(prefix):], cur.Value(), in, room); err != nil {
			return err
		}
	}
	return cur.Err()
}
