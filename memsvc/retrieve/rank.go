package retrieve

import (
	"math"
	"math/bits"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/nacredb/nacre/memsvc/grant"
	"github.com/nacredb/nacre/memsvc/text"
)

// Tuning is the weights of the ranking. They were chosen on one half of a generated set of conversations.
type Tuning struct {
	K1, B                       float32
	Before2, Before1, Next1     float32 // how much of a neighbour's words count as own
	Next2                       float32
	Own                         float32 // BM25 of the unit alone, beside that of its window
	Group                       float32 // BM25 of the whole session
	Speaker, NotSpeaker         float32 // factor for units of a speaker that the query names, and of others
	Asking                      float32
	Near, NearLeast             float32
	NearMost, KinMost           int
	Meaning                     float32 // how near a word is that a thesaurus names
	Name                        float32 // a name of the query in the text
	Time, Dated, Numbered       float32
	Vector                      float32
	Provided                    float32 // the same for the vectors of a provider
	Feedback                    float32 // weight of words of the best units
	FeedbackDocs, FeedbackTerms int
	Hop                         float32 // names that the best units bring in
	Question                    float32 // factor for a turn that asks
	Answer                      float32 // how much of a question counts as said in the answer
	Brief                       float32 // factor for a turn without a word that says something
	Person, PersonShare         float32 // for a unit of or about somebody that the query names; of the best score
	Absent                      float32 // factor for a passage that does not name whom the query names
	Named                       float32 // for a unit with names, when the question asks for one
	Crowd                       float32 // factor for a unit next to one that ranks before it
	Assistant                   float32
	Cover                       float32 // how much a unit loses that holds few of the words of a query
	VectorBefore, VectorNext    float32 // the part that neighbours have in the meaning of a unit
	Recent                      float32 // for the newest of the units, the oldest gets nothing
	Latest                      float32 // loss by days of age, when the question asks for the present
	Fact                        float32 // factor for a fact about somebody that the query names
	Direct                      float32 // factor for the fact that the query asks for by its key
	Stale                       float32 // factor for a turn that states what is so no longer
	Later                       float32 // factor for what was said after the time that a query looks from
}

// Default is the tuning in use.
var Default = Tuning{
	K1: 0.5, B: 0.12, Before2: 0.45, Before1: 0.2, Next1: 0.25, Next2: 0.1, Own: 0.1, Group: 0.22,
	Speaker: 1.4, NotSpeaker: 0.8, Asking: 0.2, Near: 0.8, NearLeast: 0.5, NearMost: 16, KinMost: 64, Meaning: 1.2,
	Name: 0.8, Time: 0.6, Dated: 0.12, Numbered: 0.1, Vector: 0.25, Provided: 1, VectorBefore: 0.2, VectorNext: 0.1,
	Feedback: 0.03, FeedbackDocs: 6, FeedbackTerms: 8, Hop: 0.15, Question: 0.7, Answer: 1, Brief: 0.3, Named: 0.2,
	Person: 0.1, PersonShare: 0.12, Absent: 0.6, Crowd: 0.9, Assistant: 0.9, Recent: 0.02,
	Latest: 0.02, Later: 0.3, Fact: 1.5, Direct: 2, Stale: 0.5,
	Cover: 0.2,
}

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
	Twins    bool      // also near duplicates
	Past     bool      // also what holds no longer
	From, To time.Time // valid or said in this interval
	Skip     map[string]bool
	Vector   []int8 // of a provider's embedding
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
	q := &se.q
	switch {
	case q.Kinds != nil && !q.Kinds[kindNames[u.kind]]:
		return false
	case q.Group != "" && se.x.groups.text[u.group] != q.Group:
		return false
	case q.Groups != nil && !q.Groups[se.x.groups.text[u.group]]:
		return false
	case q.Mime != "" && u.mime != q.Mime:
		return false
	case u.until != 0 && !q.Past && u.until <= q.Now.Unix():
		return false
	case u.known > q.Now.Unix() || u.kind == kindAttribute && u.at > q.Now.Unix():
		return false
	case !q.From.IsZero() && u.at != 0 && u.at < q.From.Unix() && (u.until == 0 || u.until < q.From.Unix()) &&
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
		se.whatTheySaid()
		se.people()
		se.groups()
		if se.q.Mode == Graph {
			se.hop(2 * t.Hop)
			return se.top(se.q.Pool)
		}
		se.cover()
		se.factors()
		se.vector(t.Vector)
		se.feedback()
		se.hop(t.Hop)
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

// term adds BM25 of one term. With a window, a unit also has what its neighbours say, for a part.
func (se *search) term(stem string, weight float32, window bool, bit uint32) {
	p := se.x.terms[stem]
	if p == nil {
		return
	}
	x, t := se.x, se.t
	idf := weight * se.idf(len(p.docs))
	avg := float32(x.words/float64(max(x.live, 1))) + 0.1
	own := float32(1)
	if window = window && !x.common(p); window {
		own = t.Own
	}
	list := se.s.list[:0]
	spread := func(d int32, v float32) {
		if d < 0 || v == 0 {
			return
		}
		if se.s.tf[d] == 0 {
			list = append(list, d)
		}
		se.s.tf[d] += v
	}
	for i, d := range p.docs {
		u := &x.units[d]
		if u.dead {
			continue
		}
		tf := float32(p.tf[i])
		se.add(d, own*idf*t.saturate(tf, u.words/avg))
		se.s.holds[d] |= bit
		if !window {
			continue
		}
		spread(d, tf)
		if u.kind == kindTurn {
			se.around(d, tf, spread)
		}
	}
	for _, d := range list {
		// A window is about twice as long as its unit: lengths are compared as if all were.
		se.add(d, idf*t.saturate(se.s.tf[d], 0.5+0.5*x.units[d].words/avg))
		se.s.tf[d], se.s.holds[d] = 0, se.s.holds[d]|bit
	}
	se.s.list = list[:0]
}

// kinDocs is about how many units the words of similar meaning of one term may bring in; the nearest come first.
const kinDocs = 6000

// kin adds BM25 of the words that mean something similar to a term of the query, as if they were one word.
func (se *search) kin(w term, bit uint32) {
	if len(w.kin) == 0 {
		return
	}
	x, t := se.x, se.t
	avg := float32(x.words/float64(max(x.live, 1))) + 0.1
	list := se.s.list[:0]
	spread := func(d int32, v float32) {
		if d < 0 || v == 0 {
			return
		}
		if se.s.tf[d] == 0 {
			list = append(list, d)
		}
		se.s.tf[d] += v
	}
	docs := float32(0)
	for _, k := range w.kin {
		if x.common(k.post) || int(docs) > kinDocs {
			continue
		}
		docs += k.near * float32(len(k.post.docs))
		for i, d := range k.post.docs {
			if !x.units[d].dead {
				tf := k.near * float32(k.post.tf[i])
				spread(d, tf)
				if x.units[d].kind == kindTurn {
					se.around(d, tf, spread)
				}
			}
		}
	}
	idf := t.Near * w.weight * se.idf(int(docs))
	for _, d := range list {
		se.add(d, idf*t.saturate(se.s.tf[d], 0.5+0.5*x.units[d].words/avg))
		se.s.tf[d], se.s.holds[d] = 0, se.s.holds[d]|bit
	}
	se.s.list = list[:0]
}

// around gives the neighbours of a turn their part of its words.
func (se *search) around(d int32, tf float32, spread func(int32, float32)) {
	x, t := se.x, se.t
	if n := x.units[d].next; n >= 0 {
		share := t.Before1
		if x.units[d].asks && x.units[n].speaker != x.units[d].speaker {
			share = t.Answer
		}
		spread(n, tf*share)
		spread(x.units[n].next, tf*t.Before2)
	}
	if p := x.units[d].prev; p >= 0 {
		spread(p, tf*t.Next1)
		spread(x.units[p].prev, tf*t.Next2)
	}
}

func (t *Tuning) saturate(tf, length float32) float32 {
	return tf * (t.K1 + 1) / (tf + t.K1*(1-t.B+t.B*length))
}

// whatTheySaid lets units of and about the people that the query names in where its words find less than a pool: a
// question may share no word with its answer.
func (se *search) whatTheySaid() {
	if len(se.s.touched) >= se.q.Pool {
		return
	}
	best := float32(0)
	for _, d := range se.s.touched {
		best = max(best, se.s.score[d])
	}
	for _, n := range se.asked.speakers {
		for _, docs := range [][]int32{se.x.byName[n], se.x.saidBy[n]} {
			from := max(0, len(docs)-4*se.q.Pool) // the later ones
			for _, d := range docs[from:] {
				if !se.x.units[d].dead {
					se.add(d, max(se.t.Person, se.t.PersonShare*best))
				}
			}
		}
	}
}

// people raises units of speakers that the query names, and units that hold its other names.
func (se *search) people() {
	for _, n := range se.asked.names {
		docs := se.x.byName[n]
		v := se.t.Name * se.idf(len(docs))
		for _, d := range docs {
			if !se.x.units[d].dead {
				se.add(d, v)
			}
		}
	}
	if len(se.asked.speakers) == 0 {
		return
	}
	for _, d := range se.s.touched {
		switch u := &se.x.units[d]; {
		case u.speaker < 0 && u.kind == kindChunk && !shares(u.names, se.asked.speakers):
			se.s.score[d] *= se.t.Absent
		case u.speaker < 0:
		case has(se.asked.speakers, u.speaker):
			se.s.score[d] *= se.t.Speaker
		case len(se.asked.speakers) == 1:
			se.s.score[d] *= se.t.NotSpeaker
		}
	}
}

func shares(a, b []int32) bool {
	for _, v := range a {
		if has(b, v) {
			return true
		}
	}
	return false
}

// groups adds the score of the session or document that a unit is in, without its own part.
func (se *search) groups() {
	if se.t.Group == 0 {
		return
	}
	type sum struct{ best, second, third float32 }
	all := map[int32]*sum{}
	last, a := int32(-1), (*sum)(nil) // units of a group stand together
	for _, d := range se.s.touched {
		if g := se.x.units[d].group; g != last {
			if last, a = g, all[g]; a == nil {
				a = &sum{}
				all[g] = a
			}
		}
		switch v := se.s.score[d]; {
		case v > a.best:
			a.best, a.second, a.third = v, a.best, a.second
		case v > a.second:
			a.second, a.third = v, a.second
		case v > a.third:
			a.third = v
		}
	}
	for _, d := range se.s.touched {
		a := all[se.x.units[d].group]
		se.s.score[d] += se.t.Group * (a.best + a.second + a.third) / 3
	}
}

// briefWords is how many words that say something a turn has that is not brief.
const briefWords = 5

// factors raises or lowers units by what the question asks for.
func (se *search) factors() {
	t, q := se.t, &se.asked
	newest, oldest := se.ages()
	now := se.q.Now.Unix()
	for _, d := range se.s.touched {
		u, f := &se.x.units[d], float32(1)
		if len(q.moments) > 0 && (touches(q.moments, u.at) || meets(q.moments, u.moments)) {
			f += t.Time
		}
		if q.when && u.dated {
			f += t.Dated
		}
		if q.count && u.numbered {
			f += t.Numbered
		}
		if q.who && len(u.names) > 0 {
			f += t.Named
		}
		if u.kind == kindTurn && u.asks {
			f *= t.Question
		}
		if u.kind == kindTurn && u.words < briefWords {
			f *= 1 - (1-t.Brief)*(1-u.words/briefWords)
		}
		if u.role == roleAssistant && u.kind == kindTurn && u.speaker < 0 {
			f *= t.Assistant
		}
		if q.latest && newest > u.at && u.at != 0 {
			f -= t.Latest * float32(math.Log1p(float64(newest-u.at)/86400))
		}
		if newest > oldest && u.at != 0 {
			f += t.Recent * float32(u.at-oldest) / float32(newest-oldest)
		}
		if u.at > now {
			f *= t.Later
		}
		if u.stale != 0 && u.stale <= now {
			f *= t.Stale
		}
		if u.kind == kindAttribute && has(q.speakers, u.speaker) {
			f *= t.Fact
			if q.asksFor(u.key) {
				f *= t.Direct
				se.legs[TierDirect]++
			}
		}
		se.s.score[d] *= f
	}
}

// cover lowers units that hold few of the words of the query.
func (se *search) cover() {
	var all float32
	var weights [32]float32
	for i, w := range se.asked.terms {
		n := 0
		if p := se.x.terms[w.stem]; p != nil {
			n = len(p.docs)
		} else if len(w.kin) == 0 {
			continue // nothing can hold it
		}
		v := w.weight * se.idf(n)
		weights[min(i, 31)] += v
		all += v
	}
	if all == 0 || se.t.Cover == 0 {
		return
	}
	for _, d := range se.s.touched {
		var have float32
		for m := se.s.holds[d]; m != 0; m &= m - 1 {
			have += weights[bits.TrailingZeros32(m)]
		}
		se.s.score[d] *= 1 - se.t.Cover*(1-have/all)
	}
}

// asksFor reports whether a question names every word of a key, or one of similar meaning.
func (q *question) asksFor(key []string) bool {
	for _, stem := range key {
		if !q.means[stem] {
			return false
		}
	}
	return len(key) > 0
}

// ages are the times of the newest and the oldest unit that were found and that were said by the time of the query.
func (se *search) ages() (newest, oldest int64) {
	now := se.q.Now.Unix()
	for _, d := range se.s.touched {
		at := se.x.units[d].at
		if at == 0 || at > now {
			continue
		}
		newest = max(newest, at)
		if oldest == 0 || at < oldest {
			oldest = at
		}
	}
	return newest, oldest
}

func touches(ms []interval, at int64) bool {
	for _, m := range ms {
		if at >= m.from && at < m.to {
			return true
		}
	}
	return false
}

func meets(a, b []interval) bool {
	for _, m := range a {
		for _, n := range b {
			if m.from < n.to && n.from < m.to {
				return true
			}
		}
	}
	return false
}

// How similar the meaning of a unit has to be: by word vectors, and by the vectors of a provider.
const (
	leastSimilar  = 0.3
	leastProvided = 0.1
)

// maxScan is how many units the meaning of a query is compared with when no word of it picked them.
const maxScan = 50_000

// vector adds the similarity of meaning, as a share of the best score so far.
func (se *search) vector(weight float32) {
	x := se.x
	provider := x.width > 0 && len(se.q.Vector) == x.width
	if weight == 0 || (!provider && se.asked.mean == nil) {
		return
	}
	best := float32(1)
	for _, d := range se.s.touched {
		best = max(best, se.s.score[d])
	}
	if provider && weight < 1 {
		weight = se.t.Provided
	}
	w, least := weight*best, float32(leastSimilar)
	if provider {
		least = leastProvided
	}
	sim := func(d int32) float32 {
		if provider {
			v := text.Similarity(se.q.Vector, x.vectors[int(d)*x.width:(int(d)+1)*x.width])
			return v * 127 * 127 / (fine * fine)
		}
		return text.Similarity(se.asked.mean, x.means[int(d)*text.Dimensions:(int(d)+1)*text.Dimensions])
	}
	whole := func(d int32) float32 {
		v, u := sim(d), &x.units[d]
		if u.kind == kindTurn && u.prev >= 0 {
			v += se.t.VectorBefore * sim(u.prev)
		}
		if u.kind == kindTurn && u.next >= 0 {
			v += se.t.VectorNext * sim(u.next)
		}
		return v
	}
	if provider || len(x.units) <= maxScan {
		for d := range x.units {
			if v := whole(int32(d)); v > least && !x.units[d].dead {
				se.add(int32(d), w*v)
				se.legs[Vector]++
			}
		}
		return
	}
	for _, d := range se.s.touched {
		if v := whole(d); v > least {
			se.s.score[d] += w * v
			se.legs[Vector]++
		}
	}
}

// Terms that stand in more than commonDocs units, and in more than one of commonShare, are not worth a second look.
const (
	commonDocs  = 5000
	commonShare = 25
)

func (x *Index) common(p *post) bool {
	return len(p.docs) > commonDocs && len(p.docs) > x.live/commonShare
}

// Where words pick more than pruneAbove units, about the pruneTo best of them that the query may see go on.
const (
	pruneAbove = 20_000
	pruneTo    = 4_096
)

// prune leaves the best units of very many. It finds the score that about pruneTo of them reach by counting scores in
// steps.
func (se *search) prune() {
	s := se.s
	if len(s.touched) <= pruneAbove {
		return
	}
	most := float32(0)
	for _, d := range s.touched {
		most = max(most, s.score[d])
	}
	if most <= 0 {
		return
	}
	var steps [2048]int
	step := func(d int32) int { return int(max(0, s.score[d]) / most * float32(len(steps)-1)) }
	for _, d := range s.touched {
		steps[step(d)]++
	}
	// The steps from the highest one down until enough are allowed. Whether a unit is costs more than its step.
	kept, least := 0, len(steps)
	for kept < pruneTo && least > 0 {
		from := least
		for n := 0; least > 0 && n < pruneTo-kept; n += steps[least] {
			least--
		}
		for _, d := range s.touched {
			if at := step(d); at >= least && at < from && se.allowed(d) {
				s.list = append(s.list, d)
				kept++
			}
		}
	}
	for _, d := range s.list {
		s.mark[d] = false
	}
	for _, d := range s.touched {
		if s.mark[d] {
			s.score[d], s.mark[d], s.holds[d] = 0, false, 0
		}
	}
	for _, d := range s.list {
		s.mark[d] = true
	}
	s.touched = append(s.touched[:0], s.list...)
	slices.Sort(s.touched)
	s.list = s.list[:0]
}

// feedbackDocs is in how many units a word that the best ones share may stand.
const feedbackDocs = 2000

// feedback looks for words that the best units share.
func (se *search) feedback() {
	t := se.t
	if t.Feedback == 0 {
		return
	}
	own := map[string]bool{}
	for _, w := range se.asked.terms {
		own[w.stem] = true
	}
	picked := se.best(t.FeedbackDocs)
	if len(picked) == 0 {
		return
	}
	in := map[int32]float32{}
	for _, c := range picked {
		in[c] = se.s.score[c] / se.s.score[picked[0]]
	}
	type gain struct {
		stem string
		v    float32
	}
	var gains []gain
	for _, stem := range se.x.termsOf(picked) {
		if own[stem] {
			continue
		}
		p := se.x.terms[stem]
		if se.x.common(p) || len(p.docs) > feedbackDocs {
			continue // it tells nothing apart and costs the most
		}
		var v float32
		n := 0
		for _, d := range picked {
			if se.x.holds(p, d) {
				v += in[d]
				n++
			}
		}
		if n > 1 {
			gains = append(gains, gain{stem, v * se.idf(len(p.docs))})
		}
	}
	sort.Slice(gains, func(i, j int) bool {
		if gains[i].v != gains[j].v {
			return gains[i].v > gains[j].v
		}
		return gains[i].stem < gains[j].stem
	})
	for i, g := range gains {
		if i == t.FeedbackTerms {
			break
		}
		se.term(g.stem, t.Feedback*g.v/gains[0].v, true, 0)
	}
	se.legs["feedback"] = min(len(gains), t.FeedbackTerms)
}

func (x *Index) holds(p *post, d int32) bool {
	i := sort.Search(len(p.docs), func(i int) bool { return p.docs[i] >= d })
	return i < len(p.docs) && p.docs[i] == d
}

// termsOf are the terms of some units, sorted. Units keep no list of them, so their count bounds the work.
func (x *Index) termsOf(docs []int32) []string {
	seen := map[string]bool{}
	var out []string
	for _, d := range docs {
		for _, t := range x.own[d] {
			s := x.stems[t]
			if !seen[s] {
				seen[s] = true
				out = append(out, s)
			}
		}
	}
	sort.Strings(out)
	return out
}

// hop follows the names in the best units to other units that hold them.
func (se *search) hop(weight float32) {
	if weight == 0 {
		return
	}
	best := se.best(3)
	if len(best) == 0 {
		return
	}
	scale := se.s.score[best[0]] * weight
	seen := map[int32]bool{}
	for i, d := range best {
		for _, n := range se.x.units[d].names {
			docs := se.x.byName[n]
			if seen[n] || has(se.asked.speakers, n) || se.x.isSpeaker(n) || len(docs) > 50 || len(docs) < 2 {
				continue
			}
			seen[n] = true
			for _, o := range docs {
				if !se.x.units[o].dead && o != d {
					se.add(o, scale/float32(i+1)/float32(math.Sqrt(float64(len(docs)))))
					se.legs[Graph]++
				}
			}
		}
	}
}

// best are the highest allowed units so far.
func (se *search) best(n int) []int32 {
	var out []int32
	for _, d := range se.s.touched {
		if len(out) == n && !se.before(d, out[n-1]) {
			continue
		}
		if !se.allowed(d) {
			continue
		}
		i := sort.Search(len(out), func(i int) bool { return se.before(d, out[i]) })
		if len(out) < n {
			out = append(out, 0)
		}
		copy(out[i+1:], out[i:])
		out[i] = d
	}
	return out
}

// before is the order of the answer: by score, then the earlier unit.
func (se *search) before(a, b int32) bool {
	if se.s.score[a] != se.s.score[b] {
		return se.s.score[a] > se.s.score[b]
	}
	return se.x.units[a].id < se.x.units[b].id
}

// top makes the answer: the best units, those beside a better one a little later. Scores are 0 to 1.
func (se *search) top(n int) []Candidate {
	defer se.s.clear()
	picked := se.best(n)
	if len(picked) == 0 {
		return nil
	}
	ranked := se.spreadOut(picked)
	most := se.ceiling()
	out := make([]Candidate, len(ranked))
	for i, r := range ranked {
		u := &se.x.units[r.doc]
		out[i] = Candidate{ID: u.id, Score: float64(min(1, r.score/most)), doc: r.doc}
		if u.at != 0 {
			out[i].At = time.Unix(u.at, 0).UTC()
		}
	}
	return out
}

type ranked struct {
	doc   int32
	score float32
}

// spreadOut lowers units beside one that ranks before them, so that one spot does not fill the answer.
func (se *search) spreadOut(picked []int32) []ranked {
	out := make([]ranked, len(picked))
	rank := make(map[int32]int, len(picked))
	for i, d := range picked {
		rank[d] = i
		out[i] = ranked{d, se.s.score[d]}
	}
	if se.q.Mode == Hybrid || se.q.Mode == "" {
		for i, d := range picked {
			u := &se.x.units[d]
			for _, o := range [2]int32{u.prev, u.next} {
				if r, ok := rank[o]; ok && o >= 0 && r < i {
					out[i].score *= se.t.Crowd
				}
			}
		}
		sort.SliceStable(out, func(i, j int) bool { return out[i].score > out[j].score })
	}
	return out
}

// ceiling is about the score of a unit that holds every word of the query.
func (se *search) ceiling() float32 {
	var sum float32
	for _, w := range se.asked.terms {
		n := 0
		if p := se.x.terms[w.stem]; p != nil {
			n = len(p.docs)
		}
		sum += w.weight * se.idf(n) * (1 + se.t.Own)
	}
	if se.q.Mode == Vector {
		return 1
	}
	if sum == 0 {
		sum = se.idf(0)
	}
	return sum * 1.3
}
