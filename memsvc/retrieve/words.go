package retrieve

import (
	"math/bits"
)

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

// Terms that stand in more than commonDocs units, and in more than one of commonShare, are not worth a second look.
const (
	commonDocs  = 5000
	commonShare = 25
)

func (x *Index) common(p *post) bool {
	return len(p.docs) > commonDocs && len(p.docs) > x.live/commonShare
}
