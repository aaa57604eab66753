package retrieve

import (
	"math"
)

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
