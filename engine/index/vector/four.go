package vector

import (
	"math"
	"unsafe"
)

// four measures vectors of 32-bit floats from one that stays the same, four at once.
type four struct {
	v       []float32
	list    []*float32
	cosine  bool
	length  float64   // of v, for COSINE
	lengths []float64 // of the others
}

// fourOf is nil where vectors are measured one by one.
func (a *vectors[T]) fourOf(v []T) *four {
	own, ok := any(v).([]float32)
	list, _ := any(a.list).([]*float32)
	if !ok || !hasFour || len(v) < 4 {
		return nil
	}
	switch a.spec.Metric.name {
	case "EUCLIDEAN":
		return &four{v: own, list: list}
	case "COSINE":
		return &four{v: own, list: list, cosine: true, length: math.Sqrt(dot(own, own)), lengths: a.lengths}
	}
	return nil
}

// each is measure.each. The distances are those of euclidean and dot, to the bit. A search waits for memory more than
// it counts: all vectors are on their way before the first one is measured.
func (f *four) each(far []float64, places []uint32, bound float64) {
	lines := min((len(f.v)*4+cacheLine-1)/cacheLine, mostTouch/cacheLine)
	for _, p := range places {
		fetch(f.list[p], lines)
	}
	var at [4]*float32
	for len(places) > 0 {
		n := min(len(places), 4)
		for i := range at {
			at[i] = f.list[places[min(i, n-1)]]
		}
		var sums [4]float64
		if f.cosine {
			f.products(&sums, &at)
			for i, p := range places[:n] {
				far[i] = 1 - sums[i]/(f.length*f.lengths[p])
			}
		} else {
			f.squares(&sums, &at, bound)
			for i := range far[:n] {
				far[i] = math.Sqrt(sums[i])
			}
		}
		far, places = far[n:], places[n:]
	}
}

// fourStep is how many elements squares adds before it looks at the sums.
const fourStep = 64

// squares gives the sums of squares of four vectors, or infinities where all are clearly above bound.
func (f *four) squares(out *[4]float64, at *[4]*float32, bound float64) {
	limit := bound * bound * (1 + 1e-9) // see euclideanBelow
	var sums [4][4]float32
	whole := len(f.v) &^ 3
	for from := 0; from < whole; from += fourStep {
		squaresAVX(&sums, &f.v[0], at, from, min(whole-from, fourStep)/4)
		if from+fourStep < whole && beyond(&sums, limit) {
			for i := range out {
				out[i] = math.Inf(1)
			}
			return
		}
	}
	for i, p := range at {
		s := &sums[i]
		for j, y := range unsafe.Slice(p, len(f.v))[whole:] {
			d := f.v[whole+j] - y
			s[0] += d * d
		}
		out[i] = float64(s[0] + s[1] + s[2] + s[3])
	}
}

// beyond reports whether all sums are above a limit.
func beyond(sums *[4][4]float32, limit float64) bool {
	for i := range sums {
		if s := &sums[i]; !(float64(s[0]+s[1]+s[2]+s[3]) > limit) {
			return false
		}
	}
	return true
}

// products gives the products of four vectors with v.
func (f *four) products(out *[4]float64, at *[4]*float32) {
	var sums [4][4]float32
	whole := len(f.v) &^ 3
	productsAVX(&sums, &f.v[0], at, 0, whole/4)
	for i, p := range at {
		s := &sums[i]
		for j, y := range unsafe.Slice(p, len(f.v))[whole:] {
			s[0] += f.v[whole+j] * y
		}
		out[i] = float64(s[0] + s[1] + s[2] + s[3])
	}
}
