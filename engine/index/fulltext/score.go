package fulltext

import (
	"fmt"
	"math"

	"github.com/nacredb/nacre/engine/kv"
)

// The parameters of BM25 where a definition gives none.
const (
	DefaultK1 = float64(float32(1.2))
	DefaultB  = float64(float32(0.75))
)

// collection holds the figures of the whole index that scores need.
type collection struct{ docs, length float64 }

// aloneLength is the length that documents are measured by where nothing may be known of the others.
const aloneLength = 100

// collection reads the statistics. The reads are not tracked: a score is a figure of the moment, and every writer moves
// them.
func (x *Index) collection() (collection, error) {
	if x.Alone {
		return collection{}, nil
	}
	docs, err := x.stat(statDocs)
	if err != nil {
		return collection{}, err
	}
	length, err := x.stat(statLength)
	return collection{float64(docs), float64(length)}, err
}

func (x *Index) stat(which byte) (int64, error) {
	raw, err := x.Tx.GetUntracked(x.statKey(which))
	if err != nil {
		return 0, fmt.Errorf("read the statistics of index %s: %w", x.Name, err)
	}
	n, ok := kv.Counter(raw)
	if !ok {
		return 0, x.corrupt("statistics")
	}
	return n, nil
}

// ranker scores postings of one term by BM25, with the logarithm of the term's frequency, as the language has it.
type ranker struct {
	idf, k1, b float64
	average    float64 // length of documents
}

// ranker is that of a term which count documents have. A term that most documents have says nothing: it scores 0.
func (x *Index) ranker(c collection, count int) ranker {
	if x.Alone {
		return ranker{idf: 1, k1: x.k1, b: x.b, average: aloneLength}
	}
	r := ranker{k1: x.k1, b: x.b, average: 1}
	if n := float64(count); n > 0 {
		r.idf = max(0, math.Log((c.docs-n+0.5)/(n+0.5)))
	}
	if math.IsNaN(r.idf) {
		r.idf = 0
	}
	if c.docs > 0 && c.length > 0 {
		r.average = c.length / c.docs
	}
	return r
}

// The postings whose scores a memory keeps: documents are seldom longer, and terms seldom occur more often in one.
const (
	memoryTerms  = 8
	memoryLength = 256
)

// memory keeps the scores of postings that are alike; NaN where none was asked for yet.
type memory [memoryTerms * memoryLength]float64

// memoryFrom is how many postings a list must have for a memory to be worth its room.
const memoryFrom = 4096

func newMemory() *memory {
	m := new(memory)
	for i := range m {
		m[i] = math.NaN()
	}
	return m
}

// of is the score of a posting by r.
func (m *memory) of(r *ranker, tf, length uint32) float64 {
	if m == nil || tf >= memoryTerms || length >= memoryLength {
		return r.score(tf, length)
	}
	at := &m[tf*memoryLength+length]
	if math.IsNaN(*at) {
		*at = r.score(tf, length)
	}
	return *at
}

func (r *ranker) score(tf, length uint32) float64 {
	if r.idf == 0 || tf == 0 {
		return 0
	}
	f := 1.0
	if tf > 1 {
		f += math.Log(float64(tf))
	}
	return r.idf * f * (r.k1 + 1) / (f + r.k1*(1-r.b+r.b*float64(length)/r.average))
}

// bounds reports whether an impact bounds scores: with odd parameters it does not.
func (r *ranker) bounds() bool { return r.k1 >= 0 && r.b >= 0 && r.b <= 1 }
