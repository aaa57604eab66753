package fulltext

import (
	"context"
	"slices"
	"strings"

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
	// their lists, those with the fewest documents first: where all terms are asked for, those lead
	rarest []*list
	doc    uint64
	begun  bool
	none   bool
	err    error
}

// term is one term of a search.
type term struct {
	*list
	ranker
	weight float64
	known  *memory // of scores; nil: none was asked for yet, or it is not worth its room
	// of the changes: what bounds their scores
	loose impact
}

// worth is the score of the current document by the term.
func (t *term) worth() float64 {
	if t.known == nil && t.count >= memoryFrom {
		t.known = newMemory()
	}
	return t.weight * t.known.of(&t.ranker, &t.cur)
}

// Search begins to walk the matches of a query.
func (x *Index) Search(q *Query) (*Search, error) {
	s := &Search{x: x, any: q.Any, none: len(q.Terms) == 0}
	c, err := x.collection()
	if err != nil {
		return nil, err
	}
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
	s.rarest = make([]*list, len(s.terms))
	for i := range s.terms {
		s.rarest[i] = s.terms[i].list
	}
	slices.SortStableFunc(s.rarest, func(a, b *list) int { return a.count - b.count })
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
func (s *Search) Next() bool {
	if s.none || s.err != nil {
		return false
	}
	target := s.doc + 1
	if !s.begun {
		s.begun, target = true, 0
	}
	return s.seek(target)
}

// Count is how many documents are left. It takes the place of walking the search.
func (s *Search) Count(ctx context.Context) (int64, error) {
	if !s.none && !s.begun && len(s.terms) == 1 {
		s.none = true
		return int64(s.terms[0].count), nil
	}
	n := int64(0)
	for ; s.Next(); n++ {
		if n&255 == 255 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
	}
	return n, s.Err()
}

// seek moves to the first match that is not before target.
func (s *Search) seek(target uint64) bool {
	if s.any {
		s.doc = s.seekAny(target)
	} else {
		s.doc = s.seekAll(target)
	}
	if s.err != nil || s.doc == end {
		s.none = true
		return false
	}
	return true
}

func (s *Search) seekAny(target uint64) uint64 {
	least := uint64(end)
	for i := range s.terms {
		l := s.terms[i].list
		if !l.ended && (l.cur.doc < target || target == 0) && !s.move(l, target) {
			return end
		}
		least = min(least, l.doc())
	}
	return least
}

func (s *Search) seekAll(target uint64) uint64 {
	lead, others := s.rarest[0], s.rarest[1:]
search:
	for {
		doc, ok := lead.find(target)
		for i := 0; ok && doc != end && i < len(others); i++ {
			var found uint64
			if found, ok = others[i].find(doc); ok && found != doc {
				target = found
				continue search
			}
		}
		if !ok {
			s.err = s.x.corrupt("block")
			return end
		}
		return doc
	}
}

func (s *Search) move(l *list, target uint64) bool {
	if !l.seek(target) {
		s.err = s.x.corrupt("block")
	}
	return s.err == nil
}

// Doc is the number of the current document.
func (s *Search) Doc() uint64 { return s.doc }

// Score is how well the current document fits, as a float32 that the language shows as a float.
func (s *Search) Score() float64 { return float64(float32(s.exact())) }

func (s *Search) exact() float64 { return s.exactAt(s.doc) }

// exactAt adds up the score of a document that the terms are at, in the order of the query: sums of floats depend on
// it.
func (s *Search) exactAt(doc uint64) float64 {
	sum := 0.0
	for i := range s.terms {
		t := &s.terms[i]
		if t.doc() == doc {
			sum += t.worth()
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
