package vector

import (
	"context"
	"math"
	"unsafe"
)

// Rough is vectors of one dimension, in 32-bit floats and in the order in which they came. It tells which of them may
// be among the nearest: a few more than are. It is made by one goroutine, and read by any afterwards.
//
// What it measures is off by no more than two parts. One is how far a vector and the question are from what they are
// rounded to: by the triangle inequality their distance changes by no more than the sum of both. A cosine is the
// product of two vectors of length 1, and each of these moves by twice that distance in parts of the length at most.
// The other part is the arithmetic in 32 bits, see slack.
type Rough struct {
	metric    Metric
	dimension int
	blocks    [][]float32 // of roughBlock vectors each, but for the last one
	lengths   []float64   // of the vectors, for COSINE
	odd       []uint32    // places of those that always may be
	n         int
	off       float64 // of all vectors, the most that one is away from what it is rounded to
}

// roughBlock is how many vectors lie in one piece of memory.
const roughBlock = 2048

// Elements and lengths beyond these are left to the exact measure. Sums of squares in 32 bits are then finite, and
// what they lose below the least number of 32 bits is nothing beside a length.
const (
	mostRough  = 1e14
	leastRough = 1e-12
	mostWide   = 1 << 14 // elements
)

// Rounds reports whether there can be a Rough of a metric and a dimension.
func Rounds(m Metric, dimension int) bool {
	return (m.name == "EUCLIDEAN" || m.name == "COSINE") && dimension >= 1 && dimension <= mostWide
}

// NewRough begins a Rough, which Rounds has said there can be.
func NewRough(m Metric, dimension int) *Rough { return &Rough{metric: m, dimension: dimension} }

// Len is how many vectors there are.
func (r *Rough) Len() int { return r.n }

// Odd is how many of them always may be among the nearest.
func (r *Rough) Odd() int { return len(r.odd) }

// Size is about how many bytes a vector takes.
func (r *Rough) Size() int { return 4*r.dimension + 8 }

// Add puts a vector of the dimension at the next place.
func (r *Rough) Add(v []float64) {
	dst := r.next()
	off, length, ok := r.round(dst, v)
	if !ok {
		r.leave(dst)
		return
	}
	r.off = max(r.off, off)
	if r.metric.name == "COSINE" {
		r.lengths = append(r.lengths, length)
	}
}

// AddOdd leaves the next place to one that always may be among the nearest.
func (r *Rough) AddOdd() { r.leave(r.next()) }

// next is room for the next vector.
func (r *Rough) next() []float32 {
	at := r.n % roughBlock * r.dimension
	if at == 0 {
		r.blocks = append(r.blocks, nil)
	}
	b := &r.blocks[len(r.blocks)-1]
	if cap(*b)-at < r.dimension { // the first ones of a block may be all that there are
		grown := make([]float32, at, min(max(2*at, 16*r.dimension), roughBlock*r.dimension))
		copy(grown, *b)
		*b = grown
	}
	*b = (*b)[:at+r.dimension]
	r.n++
	return (*b)[at:]
}

// leave makes a place one that is measured as NaN: it is below no bound.
func (r *Rough) leave(dst []float32) {
	r.odd = append(r.odd, uint32(r.n-1))
	dst[0] = float32(math.NaN())
	if r.metric.name == "COSINE" {
		r.lengths = append(r.lengths, 1)
	}
}

// round rounds v. off is how far it is from that, for COSINE in parts of its length; length is that of dst. ok is false
// for a vector that cannot be measured well.
func (r *Rough) round(dst []float32, v []float64) (off, length float64, ok bool) {
	var apart, square float64
	for i, x := range v {
		if !(math.Abs(x) <= mostRough) { // NaN too
			return 0, 0, false
		}
		y := float32(x)
		dst[i] = y
		d := x - float64(y)
		apart += d * d
		square += float64(y) * float64(y)
	}
	// Both sums have rounded up to mostWide times in 53 bits, and squares below the least float are lost.
	off = math.Sqrt(apart)*(1+1e-9) + 1e-150
	if r.metric.name != "COSINE" {
		return off, 0, true
	}
	length = math.Sqrt(square)
	return off / length * (1 + 1e-9), length, length >= leastRough && length <= mostRough
}

// slack is how much sums of 32-bit floats are off at most, in parts of the sum of what they add. Each of four sums has
// rounded once for each of its elements, thrice where they come together, and each product or square has rounded up to
// three times. What a sum of squares loses below the least number of 32 bits is in least.
func (r *Rough) slack() float64 {
	return float64(r.dimension/4+12) * 0x1p-24 * (1 + 1e-3)
}

// least is the most that a distance is off by squares too small for 32 bits.
func (r *Rough) least() float64 { return math.Sqrt(float64(r.dimension)) * 0x1p-72 }

// error is how far a distance may be off: a part of it, and so much besides.
func (r *Rough) error(off float64) (part, besides float64) {
	if r.metric.name == "COSINE" {
		// The product of the vectors is off by slack in parts of the product of their lengths.
		return 0, 2*(r.off+off) + 2*r.slack()
	}
	return r.slack(), r.off + off + r.least()
}

// Near gives the places, ascending, of all vectors that may be among the k nearest to a query. The others are farther
// than the k-th. ok is false where they are more than most, where the query cannot be rounded, and where ctx has ended.
func (r *Rough) Near(ctx context.Context, query []float64, k, most int) (places []uint32, ok bool) {
	q := make([]float32, r.dimension)
	off, length, ok := r.round(q, query)
	if !ok || k < 1 || len(r.odd) > most {
		return nil, false
	}
	part, besides := r.error(off)
	s := roughSearch{r: r, k: k, most: most, less: 1 - part, more: 1 + part, besides: besides, bound: unbounded}
	s.worst.max = true
	f := four{v: q, cosine: r.metric.name == "COSINE", length: length}
	for i, b := range r.blocks {
		if ctx.Err() != nil || !s.block(&f, b, i*roughBlock) {
			return nil, false
		}
	}
	return s.places()
}

// roughSearch is a search under way.
type roughSearch struct {
	r          *Rough
	k, most    int
	less, more float64 // what a distance is multiplied with for the least and the most that it may be
	besides    float64
	worst      nearHeap // of the most that distances may be, the k least
	bound      float64  // what is measured as farther is not among the nearest
	found      []near
	distances  [4]float64
	first      [4]*float32 // elements
}

// block looks at the vectors of a block, the first one being at a place; false where too many may be near.
func (s *roughSearch) block(f *four, b []float32, place int) bool {
	n := s.r.dimension
	for ; len(b) > 0; place += 4 {
		got := min(len(b)/n, 4)
		s.measure(f, b[:got*n], place)
		for i, far := range s.distances[:got] {
			if far <= s.bound && !s.take(far, uint32(place+i)) {
				return false
			}
		}
		b = b[got*n:]
	}
	return true
}

// measure measures up to four vectors that lie one behind the other. Those that are beyond the bound may be anywhere
// beyond it.
func (s *roughSearch) measure(f *four, b []float32, place int) {
	n := s.r.dimension
	got := len(b) / n
	if !hasFour || n < 4 {
		for i := range got {
			if v := b[i*n:][:n]; f.cosine {
				s.distances[i] = dot(f.v, v)
			} else {
				s.distances[i] = euclidean(f.v, v)
			}
		}
	} else {
		for i := range s.first {
			s.first[i] = unsafe.SliceData(b[min(i, got-1)*n:])
		}
		if f.cosine {
			f.products(&s.distances, &s.first)
		} else {
			f.squares(&s.distances, &s.first, s.bound)
			for i, sum := range s.distances {
				s.distances[i] = math.Sqrt(sum)
			}
		}
	}
	if f.cosine {
		for i := range got {
			s.distances[i] = 1 - s.distances[i]/(f.length*s.r.lengths[place+i])
		}
	}
}

// take notes a place that may be near; false where they are too many.
func (s *roughSearch) take(far float64, place uint32) bool {
	if s.found = append(s.found, near{far, place}); len(s.found) > 2*s.most {
		if s.drop(); len(s.found) > s.most {
			return false
		}
	}
	upper := far*s.more + s.besides
	if s.worst.len() == s.k {
		if upper >= s.worst.top().far {
			return true
		}
		s.worst.pop()
	}
	if s.worst.push(near{far: upper}); s.worst.len() == s.k {
		// The least that a distance beyond it may be is above the most that the k-th may be, also as both are rounded
		// when they are measured exactly.
		s.bound = (s.worst.top().far + s.besides) / s.less
		s.bound += math.Abs(s.bound) * 1e-9
	}
	return true
}

// drop takes out what has turned out to be too far.
func (s *roughSearch) drop() {
	kept := s.found[:0]
	for _, n := range s.found {
		if n.far <= s.bound {
			kept = append(kept, n)
		}
	}
	s.found = kept
}

// places are those that may be among the nearest, the odd ones too.
func (s *roughSearch) places() ([]uint32, bool) {
	s.drop()
	odd := s.r.odd
	if len(s.found)+len(odd) > s.most {
		return nil, false
	}
	out := make([]uint32, 0, len(s.found)+len(odd))
	for _, n := range s.found {
		for len(odd) > 0 && odd[0] < n.place {
			out, odd = append(out, odd[0]), odd[1:]
		}
		out = append(out, n.place)
	}
	return append(out, odd...), true
}
