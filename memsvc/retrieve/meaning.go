package retrieve

import (
	"github.com/nacredb/nacre/memsvc/text"
)

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
		all := se.s.floats(len(x.units))
		for d := range x.units {
			all[d] = sim(int32(d))
		}
		sim = func(d int32) float32 { return all[d] } // each is asked for as a neighbour, too
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
