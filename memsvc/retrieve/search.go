package retrieve

import (
	"cmp"
	"math"
	"sync"
	"time"

	"github.com/nacredb/nacre/memsvc/grant"
	"github.com/nacredb/nacre/memsvc/place"
)

// Ways of retrieval.
const (
	Hybrid = "hybrid"
	Vector = "vector"
	BM25   = "bm25"
	Graph  = "graph"
)

// Query is one search.
type Query struct {
	Text     string
	Mode     string
	Now      time.Time // relative dates of the query count from here, and facts are those known then
	Pool     int
	Region   grant.Region
	Lens     grant.Clauses
	Labels   []string
	Kinds    map[string]bool // nil: all
	Group    string          // session or document
	Groups   map[string]bool
	Mime     string
	Twins    bool        // also near duplicates
	Past     bool        // also what holds no longer
	From, To time.Time   // valid or said in this interval
	Where    *place.Area // of memories that have a place in it; nil: all
	Held     time.Time   // what the database held then; zero: what it holds
	Skip     map[string]bool
	Vector   []int8 // of a provider's embedding
	Visual   []int8 // of the same for images
	// VectorShare multiplies the weight of meaning; 0 is 1, and below 0 meaning counts nothing.
	VectorShare float32
}

// Candidate is a unit with its score.
type Candidate struct {
	ID    string
	Score float64
	At    time.Time
	doc   int32
}

// scratch is memory of a search that is used again.
type scratch struct {
	score, tf     []float32
	touched, list []int32
	mark          []bool
	holds         []uint32 // which words of the query a unit or its neighbours hold, as bits
	sims, all     []int8   // see soft
	means         []float32
}

// floats are n values; they may hold what was there before.
func (s *scratch) floats(n int) []float32 {
	if cap(s.means) < n {
		s.means = make([]float32, n+n/4)
	}
	return s.means[:n]
}

// vocabulary and bytes are n zeros.
func (s *scratch) vocabulary(n int) []int8 { return zeros(&s.sims, n) }

func (s *scratch) bytes(n int) []int8 { return zeros(&s.all, n) }

func zeros(at *[]int8, n int) []int8 {
	if cap(*at) < n {
		*at = make([]int8, n+n/4)
	}
	out := (*at)[:n]
	clear(out)
	return out
}

var scratches = sync.Pool{New: func() any { return &scratch{} }}

func (s *scratch) size(n int) {
	if len(s.score) < n {
		s.score, s.tf, s.mark = make([]float32, n+n/4), make([]float32, n+n/4), make([]bool, n+n/4)
		s.holds = make([]uint32, n+n/4)
	}
	s.touched, s.list = s.touched[:0], s.list[:0]
}

// clear leaves the arrays zero.
func (s *scratch) clear() {
	for _, d := range s.touched {
		s.score[d], s.mark[d], s.holds[d] = 0, false, 0
	}
	s.touched = s.touched[:0]
}

// search is one search under way.
type search struct {
	x     *Index
	t     *Tuning
	q     Query
	asked question
	sees  []int8 // by clauses: 0 not known yet, 1 visible, -1 not
	want  []int32
	s     *scratch
	legs  map[string]int
}

// Search ranks the units that a query may see. The answer has at most q.Pool candidates, best first; the same index and
// query give the same answer.
func (x *Index) Search(q Query, t *Tuning) ([]Candidate, map[string]int) {
	sc := scratches.Get().(*scratch)
	sc.size(len(x.units))
	se := &search{x: x, t: t, q: q, s: sc, sees: make([]int8, len(x.clauses)), legs: map[string]int{}}
	defer scratches.Put(sc)
	for _, l := range q.Labels {
		id, ok := x.labels.find(l)
		if !ok {
			return nil, se.legs
		}
		se.want = append(se.want, id)
	}
	se.asked = x.read(q.Text, q.Now, t)
	return se.run(), se.legs
}

// allowed reports whether a unit may be found: alive, visible, and what the query's filters let through.
func (se *search) allowed(d int32) bool {
	u := &se.x.units[d]
	if u.dead || (u.twin >= 0 && !se.q.Twins) {
		return false
	}
	if v := se.sees[u.clauses]; v == 0 {
		c := se.x.clauses[u.clauses]
		se.sees[u.clauses] = -1
		if se.q.Region.Visible(grant.Read, c) && se.q.Lens.Lens(c) {
			se.sees[u.clauses] = 1
		}
	}
	if se.sees[u.clauses] < 0 {
		return false
	}
	for _, l := range se.want {
		if !has(u.labels, l) {
			return false
		}
	}
	return se.fits(u)
}

func (se *search) fits(u *unit) bool {
	q, until := &se.q, u.until
	if !q.Held.IsZero() {
		held := q.Held.UnixNano()
		if u.recorded > held {
			return false
		}
		if u.retired > held {
			until = 0
		}
	}
	switch {
	case q.Kinds != nil && !q.Kinds[kindNames[u.kind]]:
		return false
	case q.Group != "" && se.x.groups.text[u.group] != q.Group:
		return false
	case q.Groups != nil && !q.Groups[se.x.groups.text[u.group]]:
		return false
	case q.Where != nil && (!u.placed || !q.Where.Holds(place.Point{Lat: float64(u.lat), Lng: float64(u.lng)})):
		return false
	case q.Mime != "" && u.mime != q.Mime:
		return false
	case until != 0 && !q.Past && until <= q.Now.Unix():
		return false
	case u.known > q.Now.Unix() || u.kind == kindAttribute && u.at > q.Now.Unix():
		return false
	case !q.From.IsZero() && u.at != 0 && u.at < q.From.Unix() && (until == 0 || until < q.From.Unix()) &&
		u.kind != kindAttribute:
		return false
	case !q.To.IsZero() && u.at != 0 && u.at > q.To.Unix():
		return false
	}
	return !q.Skip[u.id]
}

// run scores: words with their neighbourhood, meaning, people, times, then what the best of them bring in.
func (se *search) run() []Candidate {
	t := se.t
	if se.q.Mode == Vector {
		se.vector(1)
		se.see()
		return se.top(se.q.Pool)
	}
	window := se.q.Mode != BM25
	for i, w := range se.asked.terms {
		se.term(w.stem, w.weight, window, 1<<min(i, 31))
	}
	se.legs[BM25] = len(se.s.touched)
	if window {
		for i, w := range se.asked.terms {
			se.kin(w, 1<<min(i, 31))
		}
		se.legs["similar"] = len(se.s.touched) - se.legs[BM25]
		se.prune()
		se.soft()
		se.whatTheySaid()
		se.people()
		se.groups()
		if se.q.Mode == Graph {
			se.hop(2 * t.Hop)
			return se.top(se.q.Pool)
		}
		se.cover()
		se.factors()
		se.vector(t.Vector * max(0, cmp.Or(se.q.VectorShare, 1)))
		se.feedback()
		se.hop(t.Hop)
		se.see()
	}
	return se.top(se.q.Pool)
}

func (se *search) add(d int32, v float32) {
	s := se.s
	if !s.mark[d] {
		s.mark[d] = true
		s.touched = append(s.touched, d)
	}
	s.score[d] += v
}

func (se *search) idf(docs int) float32 {
	n := float64(max(se.x.live, docs))
	return float32(math.Log(1 + (n-float64(docs)+0.5)/(float64(docs)+0.5)))
}
