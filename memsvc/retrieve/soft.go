package retrieve

import (
	"slices"

	"github.com/nacredb/nacre/memsvc/text"
)

// maxSoft is how many units are compared when no word of the query picked them, and maxWords how many words of a
// query are.
const (
	maxSoft  = 20_000
	maxWords = 8
)

// softWord is a word of the query that is compared.
type softWord struct {
	stem   string
	row    []int8 // its similarity to the words of the lexicon, times 127
	weight float32
}

// soft compares each word of the query with the most similar word of a unit, and of the turns beside it for a part, and
// adds what is similar enough: late interaction (Khattab and Zaharia, ColBERT, 2020) with vectors of words. It
// finds what no list of similar words names: a holiday in "four weeks on Naxos".
func (se *search) soft() {
	words := se.softWords()
	if se.t.Soft == 0 || len(words) == 0 {
		return
	}
	n := len(words)
	sims := se.softSims(words)
	if x := se.x; len(x.units) <= maxSoft {
		all := se.s.bytes(len(x.units) * n)
		for d := range x.units {
			most(sims, n, x.own[d], all[d*n:(d+1)*n])
		}
		of := func(o int32) []int8 { return all[int(o)*n : (int(o)+1)*n] }
		for d := range x.units {
			if u := &x.units[d]; !u.dead {
				if v := se.softScore(words, u, of(int32(d)), of); v > 0 {
					se.add(int32(d), v)
				}
			}
		}
		return
	}
	var own, near [maxWords]int8
	for _, d := range se.s.touched {
		clear(own[:])
		most(sims, n, se.x.own[d], own[:n])
		se.s.score[d] += se.softScore(words, &se.x.units[d], own[:n], func(o int32) []int8 {
			clear(near[:])
			most(sims, n, se.x.own[o], near[:n])
			return near[:n]
		})
	}
}

// softWords are the rarest words of the query that the lexicon knows.
func (se *search) softWords() []softWord {
	var out []softWord
	for _, w := range se.asked.terms {
		row := text.Similarities(w.stem)
		if row == nil || w.asks {
			continue
		}
		docs := se.t.SoftDocs
		if p := se.x.terms[w.stem]; p != nil {
			docs = max(docs, len(p.docs))
		}
		out = append(out, softWord{w.stem, row, text.Rarity(w.stem) * se.idf(docs)})
	}
	slices.SortStableFunc(out, func(a, b softWord) int {
		switch {
		case a.weight > b.weight:
			return -1
		case a.weight < b.weight:
			return 1
		}
		return 0
	})
	return out[:min(len(out), maxWords)]
}

// softSims is the similarity of every word of the index to every word of the query, beside each other.
func (se *search) softSims(words []softWord) []int8 {
	n := len(words)
	sims := se.s.vocabulary(len(se.x.places) * n)
	for i, w := range words {
		for num, p := range se.x.places {
			if p >= 0 {
				sims[num*n+i] = w.row[p]
			}
		}
		text.Topical(w.stem, func(stem string, v float32) {
			if p := se.x.terms[stem]; p != nil {
				at := &sims[int(p.num)*n+i]
				*at = max(*at, int8(min(127, 127*se.t.SoftTopic*v)))
			}
		})
	}
	return sims
}

// most raises out to the similarity of the most similar term.
func most(sims []int8, n int, terms []int32, out []int8) {
	for _, t := range terms {
		row := sims[int(t)*n : int(t)*n+n]
		for i, v := range row {
			if v > out[i] {
				out[i] = v
			}
		}
	}
}

// softScore is what similar words give a unit. of is the same of another unit; what it gives is read at once.
func (se *search) softScore(words []softWord, u *unit, own []int8, of func(int32) []int8) float32 {
	t := se.t
	least := 127 * t.SoftLeast
	var have [maxWords]float32
	raise := func(sims []int8, part float32) {
		for i, v := range sims {
			have[i] = max(have[i], part*(float32(v)-least))
		}
	}
	raise(own, 1)
	if u.kind == kindTurn && u.prev >= 0 {
		raise(of(u.prev), t.SoftBefore)
	}
	if u.kind == kindTurn && u.next >= 0 {
		raise(of(u.next), t.SoftNext)
	}
	var sum float32
	for i := range words {
		sum += words[i].weight * have[i]
	}
	return t.Soft * sum / (127 - least)
}
