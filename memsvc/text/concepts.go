package text

import (
	"bytes"
	"compress/flate"
	_ "embed"
	"encoding/binary"
	"io"
	"math"
	"slices"
	"sort"
	"strings"
	"sync"
)

// conceptFile is meanings of words, what they are kinds of and what they are related to, made from WordNet 3.0
// (Copyright 2006 by Princeton University; see LICENSE-WORDNET in this directory).
//
//go:embed concepts.bin
var conceptFile []byte

// thesaurus is the meanings. Lists of lists are one slice with the place where each list begins.
type thesaurus struct {
	stems    []byte // all stems in order
	stemAt   []int32
	senses   []int32 // of each stem
	shares   []uint8 // of the same
	senseAt  []int32
	up       lists // what a meaning is a kind of
	down     lists // its kinds
	related  lists
	holders  lists // stems of a meaning
	holdings []uint8
}

type lists struct {
	at  []int32
	all []int32
}

func (l *lists) of(i int32) []int32 { return l.all[l.at[i]:l.at[i+1]] }

var loadThesaurus = sync.OnceValue(func() *thesaurus {
	b, err := io.ReadAll(flate.NewReader(bytes.NewReader(conceptFile)))
	if err != nil {
		panic("text: concepts.bin is damaged: " + err.Error()) // it is a part of the program
	}
	num := func() int {
		n, k := binary.Uvarint(b)
		b = b[k:]
		return int(n)
	}
	th := &thesaurus{}
	n := num()
	th.size(n)
	for i := range n {
		for _, l := range []*lists{&th.up, &th.related} {
			l.at = append(l.at, int32(len(l.all)))
			for range num() {
				d, k := binary.Varint(b)
				b = b[k:]
				l.all = append(l.all, int32(i+int(d)))
			}
		}
	}
	th.up.at, th.related.at = append(th.up.at, int32(len(th.up.all))), append(th.related.at, int32(len(th.related.all)))
	for range num() {
		th.stemAt, th.senseAt = append(th.stemAt, int32(len(th.stems))), append(th.senseAt, int32(len(th.senses)))
		k := num()
		th.stems, b = append(th.stems, b[:k]...), b[k:]
		for range num() {
			th.senses = append(th.senses, int32(num()))
			th.shares, b = append(th.shares, b[0]), b[1:]
		}
	}
	th.stemAt, th.senseAt = append(th.stemAt, int32(len(th.stems))), append(th.senseAt, int32(len(th.senses)))
	th.invert(n)
	return th
})

// size makes room for about as much as n meanings need, so that reading them leaves no waste behind.
func (th *thesaurus) size(n int) {
	for _, l := range []*lists{&th.up, &th.related} {
		l.at, l.all = make([]int32, 0, n+1), make([]int32, 0, n)
	}
	th.stems, th.stemAt, th.senseAt = make([]byte, 0, 4*n), make([]int32, 0, n/2), make([]int32, 0, n/2)
	th.senses, th.shares = make([]int32, 0, n), make([]uint8, 0, n)
}

// invert makes the lists that lead down: kinds of a meaning, and its stems.
func (th *thesaurus) invert(n int) {
	th.down.at, th.holders.at = make([]int32, n+1), make([]int32, n+1)
	for _, p := range th.up.all {
		th.down.at[p+1]++
	}
	for _, s := range th.senses {
		th.holders.at[s+1]++
	}
	for i := range n {
		th.down.at[i+1] += th.down.at[i]
		th.holders.at[i+1] += th.holders.at[i]
	}
	th.down.all, th.holders.all = make([]int32, len(th.up.all)), make([]int32, len(th.senses))
	th.holdings = make([]uint8, len(th.senses))
	next := append([]int32(nil), th.down.at...)
	for i := range n {
		for _, p := range th.up.of(int32(i)) {
			th.down.all[next[p]] = int32(i)
			next[p]++
		}
	}
	next = append(next[:0], th.holders.at...)
	for w := range len(th.senseAt) - 1 {
		for k := th.senseAt[w]; k < th.senseAt[w+1]; k++ {
			s := th.senses[k]
			th.holders.all[next[s]], th.holdings[next[s]] = int32(w), th.shares[k]
			next[s]++
		}
	}
}

func (th *thesaurus) stem(w int32) string { return string(th.stems[th.stemAt[w]:th.stemAt[w+1]]) }

func (th *thesaurus) find(stem string) (int32, bool) {
	n := len(th.stemAt) - 1
	i := sort.Search(n, func(i int) bool { return string(th.stems[th.stemAt[i]:th.stemAt[i+1]]) >= stem })
	return int32(i), i < n && th.stem(int32(i)) == stem
}

// How much a word counts that is reached from a meaning in one step of each sort.
const (
	sameMeaning = 1.0
	kindOf      = 0.8  // a violin is an instrument
	widerThan   = 0.55 // the question says violin, the text instrument
	relatedTo   = 0.7
	leastShare  = 0.06 // of a meaning among those of a word
	mostKinds   = 2500 // a meaning with more kinds, such as thing, says nothing
	kindDepth   = 5
)

// relation holds the stems related to a stem: stems by number, and how much each counts in 255ths.
type relation struct {
	words  []int32
	weight []uint8
}

// maxRelations bounds the cache: an entry has at most some thousand words of five bytes.
const maxRelations = 512

var relationCache struct {
	sync.Mutex // guards m
	m          map[string]relation
}

// Related calls f for the stems of words that mean the same as a stem, are kinds of it, name what it is a kind of, or
// come from it, with how near they are (0 to 1). The bytes of a stem are only lent.
func Related(stem string, f func(stem []byte, near float32)) {
	th := loadThesaurus()
	relationCache.Lock()
	r, ok := relationCache.m[stem]
	relationCache.Unlock()
	if !ok {
		r = th.relations(stem)
		relationCache.Lock()
		if relationCache.m == nil || len(relationCache.m) >= maxRelations {
			relationCache.m = map[string]relation{}
		}
		relationCache.m[strings.Clone(stem)] = r
		relationCache.Unlock()
	}
	for i, w := range r.words {
		f(th.stems[th.stemAt[w]:th.stemAt[w+1]], float32(r.weight[i])/255)
	}
}

// leastRelated is how near a word has to be.
const leastRelated = 0.12

func (th *thesaurus) relations(stem string) (out relation) {
	w, ok := th.find(stem)
	if !ok {
		return out
	}
	best := map[int32]float32{}
	reach := func(meaning int32, weight float64) {
		from := th.holders.at[meaning]
		for k, o := range th.holders.of(meaning) {
			v := float32(weight * math.Sqrt(float64(th.holdings[int(from)+k])/255))
			if o != w && v > best[o] {
				best[o] = v
			}
		}
	}
	for k := th.senseAt[w]; k < th.senseAt[w+1]; k++ {
		share := float64(th.shares[k]) / 255
		if share < leastShare {
			continue
		}
		weight, m := math.Sqrt(share), th.senses[k]
		reach(m, weight*sameMeaning)
		th.kinds(m, weight*kindOf, reach)
		for _, o := range th.related.of(m) {
			reach(o, weight*relatedTo)
		}
		for _, o := range th.up.of(m) {
			reach(o, weight*widerThan)
		}
	}
	for o, v := range best {
		if v >= leastRelated {
			out.words = append(out.words, o)
		}
	}
	slices.Sort(out.words)
	for _, o := range out.words {
		out.weight = append(out.weight, uint8(min(1, best[o])*255))
	}
	return out
}

// kinds reaches the kinds of a meaning, the near ones more.
func (th *thesaurus) kinds(m int32, weight float64, reach func(int32, float64)) {
	level, seen := []int32{m}, map[int32]bool{m: true}
	type found struct {
		m int32
		w float64
	}
	var all []found
	for range kindDepth {
		var next []int32
		for _, o := range level {
			for _, d := range th.down.of(o) {
				if !seen[d] {
					seen[d] = true
					next = append(next, d)
					all = append(all, found{d, weight})
				}
			}
		}
		if len(seen) > mostKinds {
			return
		}
		level, weight = next, weight*0.9
	}
	for _, f := range all {
		reach(f.m, f.w)
	}
}
