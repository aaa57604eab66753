package fulltext

import (
	"context"

	"github.com/nacredb/nacre/engine/value"
)

// Walk gives the records that a query finds: in the order in which they were indexed or, where Best says how many are
// wanted, by their scores.
type Walk struct {
	X      *Index
	Query  *Query
	Also   []*Query // queries of the same index that its records match, too
	Beside []Beside // what other indexes must have of its records
	Best   int64
	Sifted bool // some of the records may be turned away, so more than Best are asked for
	Bare   bool // the records themselves are not read

	near  Records
	found *Search
	hits  []Hit // with Best, or where the store is elsewhere: what was asked for
	hit   int   // the next of them
	asked int64
	far   bool        // the store is elsewhere: what the search finds is read ahead
	key   value.Value // of the current record
}

// Beside is a query of another index of the same table.
type Beside struct {
	X     *Index
	Query *Query
}

// Next moves to the next record; ok is false where there is none.
func (w *Walk) Next(ctx context.Context) (k value.Value, ok bool, err error) {
	for n := 1; ; n++ {
		if n%256 == 0 && ctx.Err() != nil {
			return value.None, false, ctx.Err()
		}
		doc, ok, err := w.step()
		if !ok || err != nil {
			w.key = value.None // the walk stands at no record any more
			return value.None, false, err
		}
		if w.key, err = w.near.Record(w.X, doc); err != nil {
			return value.None, false, err
		}
		if ok, err = w.beside(); ok || err != nil {
			return w.key, ok, err
		}
	}
}

// beside reports whether the other indexes have the current record.
func (w *Walk) beside() (bool, error) {
	for _, b := range w.Beside {
		if ok, err := b.X.matches(w.key, b.Query); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// search begins a search.
func (w *Walk) search() (*Search, error) { return w.X.Search(w.Query, w.Also...) }

// step moves to the next document.
func (w *Walk) step() (uint64, bool, error) {
	var err error
	if w.Best == 0 {
		if w.found == nil {
			if w.found, err = w.search(); err != nil {
				return 0, false, err
			}
			w.far = w.X.Tx.Prefetches()
		}
		if w.far {
			return w.stepFar()
		}
		if !w.found.Next() {
			return 0, false, w.found.Err()
		}
		return w.found.Doc(), true, nil
	}
	if w.hit == len(w.hits) {
		if int64(len(w.hits)) < w.asked {
			return 0, false, nil
		}
		// Some of the hits were turned away: ask for more of them. Where some may be, as with a phrase behind a search
		// for its words, many more cost less at once than another search. They are not read ahead.
		if w.asked *= askMore; w.asked == 0 {
			w.asked = w.Best
			if w.Sifted || len(w.Beside) > 0 {
				w.asked *= askMore
				if !w.X.Tx.Prefetches() {
					w.asked *= askMore
				}
			}
		}
		search, err := w.search()
		if err != nil {
			return 0, false, err
		}
		if w.hits, err = search.Top(int(w.asked)); err != nil || w.hit >= len(w.hits) {
			return 0, false, err
		}
		if err = w.near.Ahead(w.X, w.hits[w.hit:], !w.Bare, w.Beside...); err != nil {
			return 0, false, err
		}
	}
	w.hit++
	return w.hits[w.hit-1].Doc, true, nil
}

// firstAhead is how many hits are read ahead first; it grows fourfold, for most who look for a few stop early.
const firstAhead = 32

// stepFar is step of a search without Best, where each read is a request over the network.
func (w *Walk) stepFar() (uint64, bool, error) {
	if w.hit == len(w.hits) {
		n := min(max(firstAhead, 4*len(w.hits)), mostAhead)
		w.hits, w.hit = w.hits[:0], 0
		for len(w.hits) < n && w.found.Next() {
			w.hits = append(w.hits, Hit{Doc: w.found.Doc(), Score: w.found.Score()})
		}
		if err := w.found.Err(); err != nil || len(w.hits) == 0 {
			return 0, false, err
		}
		if err := w.near.Ahead(w.X, w.hits, !w.Bare, w.Beside...); err != nil {
			return 0, false, err
		}
	}
	w.hit++
	return w.hits[w.hit-1].Doc, true, nil
}

// askMore is how many times as many hits are asked for where those before were not enough.
const askMore = 8

// At reports whether the walk stands at a record.
func (w *Walk) At(record value.Value) bool {
	return (w.found != nil || w.hit > 0) && value.Equal(record, w.key)
}

// Score is how well the current record fits the query.
func (w *Walk) Score() float64 {
	if w.Best > 0 || w.far {
		return w.hits[w.hit-1].Score
	}
	return w.found.Score()
}

// Count is how many records are left. It takes the place of walking.
func (w *Walk) Count(ctx context.Context) (int64, error) {
	if len(w.Beside) == 0 {
		found, err := w.search()
		if err != nil {
			return 0, err
		}
		return found.Count(ctx)
	}
	w.Bare = true
	for n := int64(0); ; n++ {
		if _, ok, err := w.Next(ctx); !ok || err != nil {
			return n, err
		}
	}
}

// Close ends the walk.
func (w *Walk) Close() { w.near.Close() }

// matches reports whether a record matches a query, by the list of its terms.
func (x *Index) matches(record value.Value, q *Query) (bool, error) {
	raw, err := x.Tx.Get(x.recordKey(record))
	if err != nil {
		return false, err
	}
	return x.has(raw, q)
}

// has is matches by the stored list of a record; nil: it has none.
func (x *Index) has(raw []byte, q *Query) (bool, error) {
	if raw == nil || len(q.Terms) == 0 {
		return false, nil
	}
	found, wanted := 0, len(q.Terms)
	if q.Any {
		wanted = 1
	}
	var d stored
	ok := d.read(raw, func(term []byte, _ uint32) bool {
		for _, t := range q.Terms {
			if t == string(term) {
				found++
				break
			}
		}
		return found < wanted
	})
	if !ok {
		return false, x.corrupt("document")
	}
	return found >= wanted, nil
}
