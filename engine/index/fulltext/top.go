package fulltext

import (
	"container/heap"
	"slices"
)

// Hit is a document and its score.
type Hit struct {
	Doc   uint64
	Score float64
}

// Top gives the k matches with the greatest scores, the best first; of equal ones those that were indexed first. It
// takes the place of walking the search. Parts of the index that cannot hold any of them are not looked into.
func (s *Search) Top(k int) ([]Hit, error) {
	if k <= 0 || s.none {
		return nil, nil
	}
	t := &top{s: s, k: k, prune: true}
	for i := range s.terms {
		t.prune = t.prune && s.terms[i].bounds()
	}
	if (s.any || s.alone()) && t.prune && s.also == nil {
		t.anyOf()
	} else {
		t.walk()
	}
	if s.err != nil {
		return nil, s.err
	}
	hits := []Hit(t.hits)
	slices.SortFunc(hits, func(a, b Hit) int {
		if a.worse(&b) {
			return 1
		}
		return -1
	})
	return hits, nil
}

// worse reports whether a hit stands behind another.
func (h *Hit) worse(than *Hit) bool {
	return h.Score < than.Score || h.Score == than.Score && h.Doc > than.Doc
}

// hitHeap has the worst hit first.
type hitHeap []Hit

func (h hitHeap) Len() int           { return len(h) }
func (h hitHeap) Less(i, j int) bool { return h[i].worse(&h[j]) }
func (h hitHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *hitHeap) Push(x any)        { *h = append(*h, x.(Hit)) }
func (h *hitHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// top gathers the best hits of a search.
type top struct {
	s     *Search
	k     int
	prune bool
	hits  hitHeap

	bounds []float64 // of the terms, in the region under way
	order  []int     // the terms by their bounds
}

// offer takes a document, unless k better ones are there. Documents come in order, so of equals the first stays.
func (t *top) offer(doc uint64, sum float64) {
	score := float64(float32(sum))
	if len(t.hits) < t.k {
		if cap(t.hits) == 0 {
			t.hits = make(hitHeap, 0, min(t.k, 1024))
		}
		t.hits = append(t.hits, Hit{doc, score})
		if len(t.hits) == t.k {
			heap.Init(&t.hits)
		}
		return
	}
	if score > t.hits[0].Score {
		t.hits[0] = Hit{doc, score}
		heap.Fix(&t.hits, 0)
	}
}

// beaten reports whether no document with at most this score can be taken any more.
func (t *top) beaten(bound float64) bool {
	return len(t.hits) == t.k && float64(float32(bound)) <= t.hits[0].Score
}

// walk looks at all matches, leaving out the regions whose bounds are beaten.
func (t *top) walk() {
	s := t.s
	for target := uint64(0); ; target = s.doc + 1 {
		if t.prune && len(t.hits) == t.k && !s.inWindow(target) {
			target = t.unbeaten(target)
		}
		if target == end || !s.seek(target) {
			return
		}
		t.offer(s.doc, s.exact())
	}
}

// unbeaten is the first number from target on that may be of a match whose score is not beaten, end where there is
// none. target must be behind the window under way.
func (t *top) unbeaten(target uint64) uint64 {
	for {
		if target = t.s.from(target); target == end {
			return end
		}
		sum, last := t.region(max(target, 1))
		if !t.beaten(sum) {
			return target
		}
		if last >= end-1 {
			return end
		}
		target = last + 1
	}
}

// region bounds the scores of the documents from target to last.
func (t *top) region(target uint64) (sum float64, last uint64) {
	last = end - 1
	t.bounds = t.bounds[:0]
	for i := range t.s.terms {
		term := &t.s.terms[i]
		m, to := term.bound(target, term.loose)
		b := 0.0
		if m.tf > 0 {
			b = term.weight * term.score(m.tf, m.length)
		}
		t.bounds = append(t.bounds, b)
		sum += b
		last = min(last, to)
	}
	return sum, last
}

// anyOf is walk for searches that ask for any term: of the terms with the least bounds, as many as cannot make a hit
// together do not have to be looked for, only looked at.
func (t *top) anyOf() {
	target := uint64(1)
	for {
		sum, last := t.region(target)
		if !t.beaten(sum) && !t.scan(target, last) {
			return
		}
		if last >= end-1 {
			return
		}
		target = last + 1
	}
}

// scan looks at the documents of a region, whose bounds are in t.bounds.
func (t *top) scan(target, last uint64) bool {
	s := t.s
	t.order = t.order[:0]
	for i := range s.terms {
		t.order = append(t.order, i)
	}
	slices.SortFunc(t.order, func(a, b int) int {
		if t.bounds[a] < t.bounds[b] {
			return -1
		} else if t.bounds[a] > t.bounds[b] {
			return 1
		}
		return a - b
	})
	for {
		idle, idleSum := 0, 0.0 // the terms of order that are not looked for
		for idle < len(t.order) && t.beaten(idleSum+t.bounds[t.order[idle]]) {
			idleSum += t.bounds[t.order[idle]]
			idle++
		}
		doc := uint64(end)
		for _, i := range t.order[idle:] {
			l := s.terms[i].list
			if (l.cur.doc < target && !l.ended) && !s.move(l, target) {
				return false
			}
			doc = min(doc, l.doc())
		}
		if doc > last {
			return true
		}
		if !t.score(doc, idle, idleSum) {
			return false
		}
		target = doc + 1
	}
}

// score adds up the score of a document and offers it. The terms after the first idle ones are at it or behind it.
func (t *top) score(doc uint64, idle int, idleSum float64) bool {
	s := t.s
	sum := 0.0
	for _, i := range t.order[idle:] {
		if term := &s.terms[i]; term.doc() == doc {
			sum += term.current()
		}
	}
	for n := idle - 1; n >= 0; n-- {
		if t.beaten(sum + idleSum) {
			return true
		}
		i := t.order[n]
		term := &s.terms[i]
		if !term.ended && term.cur.doc < doc && !s.move(term.list, doc) {
			return false
		}
		if term.doc() == doc {
			sum += term.current()
		}
		idleSum -= t.bounds[i]
	}
	t.offer(doc, t.exact(doc))
	return true
}

// exact is Search.exact for a document that the lists of the terms are at.
func (t *top) exact(doc uint64) float64 {
	sum := 0.0
	for i := range t.s.terms {
		if term := &t.s.terms[i]; term.doc() == doc {
			sum += term.current()
		}
	}
	return sum
}

// current is the score of the document that the list of the term is at.
func (t *term) current() float64 { return t.worth(t.cur.tf, t.cur.length) }

func (s *Search) move(l *list, target uint64) bool {
	if !l.seek(target) {
		s.err = s.x.corrupt("block")
	}
	return s.err == nil
}
