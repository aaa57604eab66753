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
		se.spread(d, tf)
	}
	se.gather(idf, avg, bit)
}

// kinDocs is about how many units the words of similar meaning of one term may bring in; the nearest come first.
const kinDocs = 3000

// kin adds BM25 of the words that mean something similar to a term of the query, as if they were one word.
func (se *search) kin(w term, bit uint32) {
	if len(w.kin) == 0 {
		return
	}
	x, t := se.x, se.t
	avg := float32(x.words/float64(max(x.live, 1))) + 0.1
	docs := float32(0)
	for _, k := range w.kin {
		if x.common(k.post) || int(docs) > kinDocs {
			continue
		}
		docs += k.near * float32(len(k.post.docs))
		for i, d := range k.post.docs {
			if !x.units[d].dead {
				tf := k.near * float32(k.post.tf[i])
				se.spread(d, tf)
			}
		}
	}
	idf := t.Near * w.weight * se.idf(int(docs))
	se.gather(idf, avg, bit)
}

// spread gives a unit the count of a word, and the neighbours of a turn their part of it.
func (se *search) spread(d int32, tf float32) {
	x, t := se.x, se.t
	se.give(d, tf)
	if x.units[d].kind != kindTurn {
		return
	}
	if n := x.units[d].next; n >= 0 {
		share := t.Before1
		if x.units[d].asks && x.units[n].speaker != x.units[d].speaker {
			share = t.Answer
		}
		se.give(n, tf*share)
		se.give(x.units[n].next, tf*t.Before2)
	}
	if p := x.units[d].prev; p >= 0 {
		se.give(p, tf*t.Next1)
		se.give(x.units[p].prev, tf*t.Next2)
	}
}

// give adds to the count of a word in the window of a unit; there is no unit below 0.
func (se *search) give(d int32, v float32) {
	if d < 0 || v == 0 {
		return
	}
	if se.s.tf[d] == 0 {
		se.s.list = append(se.s.list, d)
	}
	se.s.tf[d] += v
}

// gather adds BM25 of what give has counted, and forgets it.
func (se *search) gather(idf, avg float32, bit uint32) {
	for _, d := range se.s.list {
		// A window is about twice as long as its unit: lengths are compared as if all were.
		se.add(d, idf*se.t.saturate(se.s.tf[d], 0.5+0.5*se.x.units[d].words/avg))
		se.s.tf[d], se.s.holds[d] = 0, se.s.holds[d]|bit
	}
	se.s.list = se.s.list[:0]
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
