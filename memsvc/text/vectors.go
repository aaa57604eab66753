package text

import (
	"bytes"
	"compress/flate"
	_ "embed"
	"hash/fnv"
	"io"
	"math"
	"sort"
	"strings"
	"sync"
)

// Dimensions of a word vector. One byte each, so that a unit vector times 254 fits for all but extreme directions.
const Dimensions = 100

//go:embed vectors.bin
var vectorFile []byte

// lexicon is the word vectors by stem.
type lexicon struct {
	index map[string]int32
	stems []string
	data  []int8 // Dimensions for each stem
	norms []float32
}

var loadLexicon = sync.OnceValue(func() *lexicon {
	l := &lexicon{}
	b, err := io.ReadAll(flate.NewReader(bytes.NewReader(vectorFile)))
	if err != nil {
		panic("text: vectors.bin is damaged: " + err.Error()) // it is a part of the program
	}
	count := len(b) / (Dimensions + 6) // a stem has about five letters
	l.index, l.data = make(map[string]int32, count), make([]int8, 0, count*Dimensions*11/10)
	l.stems, l.norms = make([]string, 0, count*11/10), make([]float32, 0, count*11/10)
	for len(b) > 0 {
		n := int(b[0])
		stem := string(b[1 : 1+n])
		l.index[stem] = int32(len(l.stems))
		l.stems = append(l.stems, stem)
		var sum float64
		for _, x := range b[1+n : 1+n+Dimensions] {
			l.data = append(l.data, int8(x))
			sum += float64(int8(x)) * float64(int8(x))
		}
		l.norms = append(l.norms, float32(math.Sqrt(sum)))
		b = b[1+n+Dimensions:]
	}
	return l
})

// Near is a stem with a similar meaning.
type Near struct {
	Stem string
	Sim  float32
}

// maxRows is how many rows of similarities are kept: about ten megabytes.
const maxRows = 384

var nearCache struct {
	sync.Mutex // guards m
	m          map[string]*similarity
}

// similarity is how similar every stem of the lexicon is to one of them.
type similarity struct {
	row  []int8 // times 127
	near []Near // the most similar ones, best first
}

// similarTo is the similarities of a stem; nil when the lexicon does not hold it.
func similarTo(stem string) *similarity {
	nearCache.Lock()
	s, ok := nearCache.m[stem]
	nearCache.Unlock()
	if ok {
		return s
	}
	s = loadLexicon().similarity(stem)
	nearCache.Lock()
	defer nearCache.Unlock()
	if nearCache.m == nil || len(nearCache.m) >= maxRows {
		nearCache.m = map[string]*similarity{}
	}
	nearCache.m[strings.Clone(stem)] = s
	return s
}

// Neighbours are the stems whose meaning is most similar to that of a stem, best first, none below least.
func Neighbours(stem string, most int, least float32) []Near {
	s := similarTo(stem)
	if s == nil {
		return nil
	}
	for i, n := range s.near {
		if i == most || n.Sim < least {
			return s.near[:i]
		}
	}
	return s.near
}

// Similarities are the similarities of a stem to every stem of the lexicon, times 127, by Place; nil when the
// lexicon does not hold it. The caller does not change them.
func Similarities(stem string) []int8 {
	if s := similarTo(stem); s != nil {
		return s.row
	}
	return nil
}

// Place is where the lexicon holds a stem; -1 when it does not.
func Place(stem string) int32 {
	if i, ok := loadLexicon().index[stem]; ok {
		return i
	}
	return -1
}

const (
	maxNear   = 24
	leastNear = 0.45
)

func (l *lexicon) similarity(stem string) *similarity {
	i, ok := l.index[stem]
	if !ok {
		return nil
	}
	v := l.data[int(i)*Dimensions : (int(i)+1)*Dimensions]
	s := &similarity{row: make([]int8, len(l.stems))}
	var out []Near
	for j := range l.stems {
		sim := float32(dot8(v, l.data[j*Dimensions:(j+1)*Dimensions])) / (l.norms[i] * l.norms[j])
		s.row[j] = int8(max(-127, min(127, sim*127)))
		if sim >= leastNear && int32(j) != i {
			out = append(out, Near{l.stems[j], sim})
		}
	}
	sort.SliceStable(out, func(a, b int) bool { return out[a].Sim > out[b].Sim })
	s.near = append([]Near(nil), out[:min(len(out), maxNear)]...)
	return s
}

func dot8(a, b []int8) int32 {
	var s0, s1, s2, s3 int32
	for len(a) >= 4 && len(b) >= 4 {
		s0 += int32(a[0]) * int32(b[0])
		s1 += int32(a[1]) * int32(b[1])
		s2 += int32(a[2]) * int32(b[2])
		s3 += int32(a[3]) * int32(b[3])
		a, b = a[4:], b[4:]
	}
	for i := range min(len(a), len(b)) {
		s0 += int32(a[i]) * int32(b[i])
	}
	return s0 + s1 + s2 + s3
}

// Similarity of two vectors from Mean.
func Similarity(a, b []int8) float32 {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	return float32(dot8(a, b)) / (127 * 127)
}

// Mean is the direction of the words of a text, rare ones heavier: Dimensions bytes with the length 127, or nil when no
// word is known.
func Mean(terms []string, weight func(string) float32) []int8 {
	l := loadLexicon()
	var sum [Dimensions]float32
	found := false
	for _, t := range terms {
		i, ok := l.index[t]
		if !ok {
			continue
		}
		w := weight(t) / l.norms[i]
		if w == 0 {
			continue
		}
		found = true
		for d, x := range l.data[int(i)*Dimensions : (int(i)+1)*Dimensions] {
			sum[d] += w * float32(x)
		}
	}
	if !found {
		return nil
	}
	var n float64
	for _, x := range sum {
		n += float64(x) * float64(x)
	}
	if n == 0 {
		return nil
	}
	scale := 127 / float32(math.Sqrt(n))
	out := make([]int8, Dimensions)
	for d, x := range sum {
		out[d] = int8(math.Round(float64(max(-127, min(127, x*scale)))))
	}
	return out
}

// Rarity is a weight for a stem that needs no collection: frequent words of the language weigh little.
func Rarity(stem string) float32 {
	i, ok := loadLexicon().index[stem]
	if !ok {
		return 1
	}
	return float32(math.Min(1, 0.15+0.085*math.Log(float64(i)+1)))
}

// Width of an embedding of the service.
const Width = 3072

// Embed is the embedding that needs no model: 100 dimensions of word meaning and hashed stems and letters behind them,
// each half normalised, the whole of length 1.
func Embed(s string) []float32 {
	out := make([]float32, Width)
	terms := Terms(s)
	for d, x := range Mean(terms, Rarity) {
		out[d] = float32(x) / 127 * 0.6
	}
	hashed := out[Dimensions:]
	for _, t := range terms {
		hashed[bucketOf(t)] += Rarity(t)
		padded := "^" + t + "$"
		for i := 0; i+4 <= len(padded); i++ {
			hashed[bucketOf("#"+padded[i:i+4])] += 0.25 * Rarity(t)
		}
	}
	normalise(hashed, 0.8)
	normalise(out, 1)
	return out
}

func bucketOf(s string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(s)) // never fails
	return int(h.Sum32() % (Width - Dimensions))
}

func normalise(v []float32, length float32) {
	var n float64
	for _, x := range v {
		n += float64(x) * float64(x)
	}
	if n == 0 {
		return
	}
	scale := length / float32(math.Sqrt(n))
	for i := range v {
		v[i] *= scale
	}
}

// Cosine of two vectors of any length; 0 when one of them is zero.
func Cosine(a, b []float32) float64 {
	var d, x, y float64
	for i := range min(len(a), len(b)) {
		d += float64(a[i]) * float64(b[i])
		x += float64(a[i]) * float64(a[i])
		y += float64(b[i]) * float64(b[i])
	}
	if x == 0 || y == 0 {
		return 0
	}
	return d / math.Sqrt(x*y)
}
