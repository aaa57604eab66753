package fulltext

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/value"
)

// Query is an analyzed query.
type Query struct {
	Terms  []string // without repetitions, in the order of the text
	Weight []int    // how often each occurs
	Any    bool     // one term is enough (OR)
}

// NewQuery analyzes the text of a query.
func NewQuery(a *Analyzer, text string, any bool) *Query {
	q := &Query{Any: any}
	for _, t := range a.AnalyzeQuery(&Scratch{}, text) {
		if i := slices.Index(q.Terms, t.Term); i >= 0 {
			q.Weight[i]++
			continue
		}
		q.Terms = append(q.Terms, t.Term)
		q.Weight = append(q.Weight, 1)
	}
	return q
}

// Matches reports whether a text that is not indexed matches.
func (q *Query) Matches(a *Analyzer, texts []string) bool {
	if len(q.Terms) == 0 {
		return false
	}
	found := make([]bool, len(q.Terms))
	left := len(q.Terms)
	var s Scratch
	for _, text := range texts {
		for _, t := range a.Analyze(&s, text) {
			i := slices.Index(q.Terms, t.Term)
			if i < 0 || found[i] {
				continue
			}
			found[i] = true
			if left--; left == 0 || q.Any {
				return true
			}
		}
	}
	return false
}

// Search walks the documents that match a query, in the order in which they were first indexed.
type Search struct {
	x     *Index
	any   bool
	terms []term
	also  []*Search // the documents match these, too; only the terms above score
	// rarest are the terms, those with the fewest documents first: where all terms are asked for, those lead
	rarest []*term
	doc    uint64
	begun  bool
	none   bool
	err    error

	span  uint64 // of windows
	base  uint64 // the first number of the window under way
	found docSet // its matches
	open  bool   // there is one
}

// term is one term of a search.
type term struct {
	*list
	page
	ranker
	weight float64
	known  *memory // of scores; nil: none was asked for yet, or it is not worth its room
	// of the changes: what bounds their scores
	loose impact
}

// worth is the score of a document by the term, which it has so often; length is that of the document.
func (t *term) worth(tf, length uint32) float64 {
	if t.known == nil && t.count >= memoryFrom {
		t.known = newMemory()
	}
	return t.weight * t.known.of(&t.ranker, tf, length)
}

// Search begins to walk the matches of a query that match some others, too. Scores are those of the first.
func (x *Index) Search(q *Query, also ...*Query) (*Search, error) {
	c, err := x.collection()
	if err != nil {
		return nil, err
	}
	if err := x.ahead(append(also[:len(also):len(also)], q)); err != nil {
		return nil, err
	}
	s, err := x.search(c, q)
	if err != nil {
		return nil, err
	}
	terms := len(s.terms)
	for _, q := range also {
		other, err := x.search(c, q)
		if err != nil {
			return nil, err
		}
		s.also, s.none = append(s.also, other), s.none || other.none
		terms += len(other.terms)
	}
	s.span = windowSpan(terms)
	for _, other := range s.also {
		other.span = s.span
	}
	return s, nil
}

// ahead begins to read the postings of queries together, where the store is elsewhere.
func (x *Index) ahead(queries []*Query) error {
	if !x.Tx.Prefetches() {
		return nil
	}
	var ranges []kv.Range
	for _, q := range queries {
		for _, term := range q.Terms[:min(len(q.Terms), termsAhead)] {
			for _, part := range [2]byte{partBlock, partChange} {
				ranges = append(ranges, kv.Prefix(bytes.Clone(x.termKey(part, term))))
			}
		}
	}
	if _, _, err := x.Tx.PrefetchRanges(ranges[:min(len(ranges), 2*termsAhead)]); err != nil {
		return fmt.Errorf("read index %s: %w", x.Name, err)
	}
	return nil
}

// termsAhead bounds the terms whose postings are read together.
const termsAhead = 64

// search is Search of one query, without the span of its windows.
func (x *Index) search(c collection, q *Query) (*Search, error) {
	s := &Search{x: x, any: q.Any, none: len(q.Terms) == 0}
	for i, text := range q.Terms {
		l, err := x.list(text)
		if err != nil {
			return nil, err
		}
		if l.count <= 0 {
			s.none = s.none || !q.Any
			continue
		}
		s.terms = append(s.terms,
			term{list: l, ranker: x.ranker(c, l.count), weight: float64(q.Weight[i]), loose: l.changeImpact()})
	}
	if !q.Any {
		s.leaveOut(int(c.docs))
	}
	s.rarest = make([]*term, len(s.terms))
	for i := range s.terms {
		s.rarest[i] = &s.terms[i]
	}
	slices.SortStableFunc(s.rarest, func(a, b *term) int { return a.list.count - b.list.count })
	s.none = s.none || len(s.terms) == 0
	return s, nil
}

// leaveOut takes out the terms that all documents of the index have, but for one: where all terms are asked for, they
// neither tell documents apart nor add to a score.
func (s *Search) leaveOut(docs int) {
	kept := s.terms[:0]
	for i, t := range s.terms {
		if t.count != docs || t.idf != 0 || len(kept) == 0 && i == len(s.terms)-1 {
			kept = append(kept, t)
		}
	}
	s.terms = kept
}

// Next moves to the next document.
func (s *Search) Next() bool { return s.seek(s.behind()) }

// behind is the first number that the walk has not come to.
func (s *Search) behind() uint64 {
	if !s.begun {
		return 0
	}
	return s.doc + 1
}

// Count is how many documents are left. It takes the place of walking the search.
func (s *Search) Count(ctx context.Context) (int64, error) {
	if !s.none && !s.begun && len(s.terms) == 1 && s.also == nil {
		s.none = true
		return int64(s.terms[0].list.count), nil
	}
	n := int64(0)
	if s.alone() {
		for s.Next() {
			n++
		}
		return n, s.Err()
	}
	for target := s.behind(); s.seek(target); target = s.windowEnd() {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		n += int64(s.found.count(s.doc - s.base))
	}
	return n, s.Err()
}

// alone reports whether one term is all that is asked: its postings are the matches, so it needs no windows.
func (s *Search) alone() bool { return len(s.terms) == 1 && s.also == nil }

// seek moves to the first match that is not before target.
func (s *Search) seek(target uint64) bool {
	if s.alone() && !s.none && s.err == nil {
		l := s.terms[0].list
		s.none = !s.move(l, target) || l.ended
		s.doc, s.begun = l.doc(), true
		return !s.none
	}
	for !s.none && s.err == nil {
		if s.inWindow(target) {
			if at := s.found.from(target - s.base); at < s.span {
				s.doc, s.begun = s.base+at, true
				return true
			}
			target = s.windowEnd()
		}
		if target = s.from(target); target == end {
			s.none = true
			break
		}
		s.look(target)
	}
	return false
}

// inWindow reports whether a number is in the window under way.
func (s *Search) inWindow(doc uint64) bool { return s.open && doc-s.base < s.span }

// windowEnd is the number behind the window under way.
func (s *Search) windowEnd() uint64 {
	if s.base > end-s.span {
		return end
	}
	return s.base + s.span
}

// from is a number up to which there is no match from target on, end where there is none at all. It reads no block.
func (s *Search) from(target uint64) uint64 {
	for _, other := range s.also {
		target = max(target, other.from(target))
	}
	if !s.any {
		for _, t := range s.rarest {
			target = max(target, t.from(target))
		}
		return target
	}
	least := uint64(end)
	for _, t := range s.rarest {
		least = min(least, t.from(target))
	}
	return least
}

// look finds the matches of the window from base on.
func (s *Search) look(base uint64) {
	s.base, s.open, s.found = base, true, docSet{}
	s.err = s.within(base, nil, &s.found)
	for _, other := range s.also {
		if s.err != nil {
			return
		}
		other.found = docSet{}
		s.err = other.within(base, &s.found, &other.found)
		s.found.and(&other.found)
	}
}

// within finds the matches of the window from base on by the terms. only is the set of those that are asked for, nil
// for all: others may be found, too.
func (s *Search) within(base uint64, only, found *docSet) error {
	for i, t := range s.rarest {
		if t.of == nil {
			t.of = make([]entry, s.span)
		}
		if i > 0 && !s.any {
			only = found
		}
		if !t.fill(&t.page, base, only) {
			return s.x.corrupt("block")
		}
		if i == 0 || s.any {
			found.or(&t.docs)
			continue
		}
		found.and(&t.docs)
	}
	return nil
}

// Doc is the number of the current document.
func (s *Search) Doc() uint64 { return s.doc }

// Score is how well the current document fits, as a float32 that the language shows as a float.
func (s *Search) Score() float64 { return float64(float32(s.exact())) }

// exact adds up the score of the current document, in the order of the query: sums of floats depend on it.
func (s *Search) exact() float64 {
	if s.alone() {
		return s.terms[0].current()
	}
	sum, at := 0.0, s.doc-s.base
	for i := range s.terms {
		t := &s.terms[i]
		if t.docs.has(at) {
			sum += t.worth(t.of[at].tf, t.of[at].length)
		}
	}
	return sum
}

// Err returns the error that ended the walk early, if any.
func (s *Search) Err() error { return s.err }

// Scorer scores records for one query, wherever they were found. It keeps the statistics that it began with.
type Scorer struct {
	x       *Index
	q       *Query
	rankers []ranker
}

// Scorer makes the scorer of a query.
func (x *Index) Scorer(q *Query) (*Scorer, error) {
	s := &Scorer{x: x, q: q, rankers: make([]ranker, len(q.Terms))}
	c, err := x.collection()
	if err != nil {
		return nil, err
	}
	for i, text := range q.Terms {
		l, err := x.list(text)
		if err != nil {
			return nil, err
		}
		s.rankers[i] = x.ranker(c, l.count)
	}
	return s, nil
}

// Score is how well a record fits; 0 for what is not in the index.
func (s *Scorer) Score(record value.Value) (float64, error) {
	d, err := s.x.load(record)
	if d == nil || err != nil {
		return 0, err
	}
	sum := 0.0
	for i, text := range s.q.Terms {
		at, ok := slices.BinarySearchFunc(d.Terms, text,
			func(t TermCount, text string) int { return strings.Compare(t.Term, text) })
		if ok {
			sum += float64(s.q.Weight[i]) * s.rankers[i].score(d.Terms[at].Count, d.Length)
		}
	}
	return float64(float32(sum)), nil
}
