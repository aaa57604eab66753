package retrieve

import (
	"sort"
	"time"
)

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
