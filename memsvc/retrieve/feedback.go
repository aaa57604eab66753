package retrieve

import (
	"sort"
)

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
