package vector

import (
	"encoding/binary"
	"math"
	"runtime"
	"unsafe"
)

// arena holds vectors by their places. Each is a piece of memory of its own: in most cases the very bytes that were
// made to be committed.
type arena interface {
	// set puts a vector, in its stored form, at a place, which may be the next one behind all others. It takes raw
	// over.
	set(place uint32, raw []byte)
	// drop lets go of the vector at a place.
	drop(place uint32)
	// to measures the distance from a vector in its stored form to places.
	to(raw []byte) measure
	// from is to for a vector in the arena. Both give functions that hold as long as no place is set.
	from(place uint32) measure
	// apart is the distance between two places; one that is not below bound may be any that is not.
	apart(p, q uint32, bound float64) float64
	// between measures the distance from a vector to others, all in their stored form. It keeps none of the others.
	between(raw []byte) func(other []byte) float64
}

// measure tells how far places are. A distance that is not below bound may be any that is not: most of those that a
// search measures are too far, and half of their elements tell.
type measure struct {
	one  func(place uint32, bound float64) float64
	each func(far []float64, places []uint32, bound float64) // one of each place
}

// unbounded is the bound of a distance that must be known.
var unbounded = math.Inf(1)

// vectors is an arena of one type of elements.
type vectors[T number] struct {
	spec     *Spec
	list     []*T // the first elements; nil: nothing is there
	distance func(a, b []T) float64
	read     func([]byte) T
	direct   bool      // the stored form is that in memory
	lengths  []float64 // of the vectors, for COSINE
}

func newArena(s *Spec) arena {
	le := binary.LittleEndian
	switch s.Type {
	case "F64":
		return arenaOf(s, true, func(b []byte) float64 { return math.Float64frombits(le.Uint64(b)) })
	case "I64":
		return arenaOf(s, true, func(b []byte) int64 { return int64(le.Uint64(b)) })
	case "I32":
		return arenaOf(s, true, func(b []byte) int32 { return int32(le.Uint32(b)) })
	case "I16":
		return arenaOf(s, true, func(b []byte) int16 { return int16(le.Uint16(b)) })
	case "I8":
		return arenaOf(s, false, func(b []byte) int16 { return int16(int8(b[0])) })
	case "U8":
		return arenaOf(s, false, func(b []byte) int16 { return int16(b[0]) })
	case "F16":
		return arenaOf(s, false, func(b []byte) float32 { return halfFloat(le.Uint16(b)) })
	}
	return arenaOf(s, true, func(b []byte) float32 { return math.Float32frombits(le.Uint32(b)) })
}

// arenaOf makes an arena whose elements are stored as they are in little-endian memory, where alike says so.
func arenaOf[T number](s *Spec, alike bool, read func([]byte) T) *vectors[T] {
	little := binary.NativeEndian.Uint16([]byte{1, 0}) == 1
	return &vectors[T]{spec: s, distance: distance[T](s.Metric), read: read, direct: alike && little}
}

func (a *vectors[T]) at(place uint32) []T { return unsafe.Slice(a.list[place], a.spec.Dimension) }

func (a *vectors[T]) set(place uint32, raw []byte) {
	for int(place) >= len(a.list) {
		a.list = append(a.list, nil)
	}
	v, ok := a.view(raw)
	if !ok {
		v = make([]T, a.spec.Dimension)
		a.decode(v, raw)
	}
	a.list[place] = unsafe.SliceData(v)
	if a.cosine() {
		for int(place) >= len(a.lengths) {
			a.lengths = append(a.lengths, 0)
		}
		a.lengths[place] = math.Sqrt(dot(v, v))
	}
}

func (a *vectors[T]) drop(place uint32) { a.list[place] = nil }

func (a *vectors[T]) cosine() bool { return a.spec.Metric.name == "COSINE" }

// view is a vector in the memory of its stored form, where that is possible.
func (a *vectors[T]) view(raw []byte) ([]T, bool) {
	p := unsafe.Pointer(unsafe.SliceData(raw))
	if !a.direct || uintptr(p)%unsafe.Alignof(*new(T)) != 0 {
		return nil, false
	}
	return unsafe.Slice((*T)(p), a.spec.Dimension), true
}

func (a *vectors[T]) decode(dst []T, raw []byte) {
	size := a.spec.size()
	for i := range dst {
		dst[i] = a.read(raw[i*size:])
	}
}

func (a *vectors[T]) between(raw []byte) func(other []byte) float64 {
	v, room := make([]T, a.spec.Dimension), make([]T, a.spec.Dimension)
	a.decode(v, raw)
	return func(other []byte) float64 {
		if w, ok := a.view(other); ok {
			return a.distance(v, w)
		}
		a.decode(room, other)
		return a.distance(v, room)
	}
}

func (a *vectors[T]) to(raw []byte) measure {
	v := make([]T, a.spec.Dimension)
	a.decode(v, raw)
	return a.measure(v)
}

func (a *vectors[T]) from(place uint32) measure { return a.measure(a.at(place)) }

func (a *vectors[T]) apart(p, q uint32, bound float64) float64 {
	switch a.spec.Metric.name {
	case "COSINE":
		return 1 - dot(a.at(p), a.at(q))/(a.lengths[p]*a.lengths[q])
	case "EUCLIDEAN":
		return euclideanBelow(a.at(p), a.at(q), bound)
	}
	return a.distance(a.at(p), a.at(q))
}

// measure gives the distances from v.
func (a *vectors[T]) measure(v []T) measure {
	one := a.measureOne(v)
	if four := a.fourOf(v); four != nil {
		return measure{one, four.each}
	}
	return measure{one, func(far []float64, places []uint32, bound float64) {
		touched := a.touch(places)
		for i, p := range places {
			far[i] = one(p, bound)
		}
		runtime.KeepAlive(touched)
	}}
}

func (a *vectors[T]) measureOne(v []T) func(place uint32, bound float64) float64 {
	f, list, d := a.distance, a.list, a.spec.Dimension
	switch a.spec.Metric.name {
	case "COSINE":
		length, lengths := math.Sqrt(dot(v, v)), a.lengths
		return func(place uint32, _ float64) float64 {
			return 1 - dot(v, unsafe.Slice(list[place], d))/(length*lengths[place])
		}
	case "EUCLIDEAN":
		if dot(v, v) == dot(v, v) { // NaN is below no bound, and above none
			return func(place uint32, bound float64) float64 {
				return euclideanBelow(v, unsafe.Slice(list[place], d), bound)
			}
		}
	}
	return func(place uint32, _ float64) float64 { return f(v, unsafe.Slice(list[place], d)) }
}

// The bytes of a line of the cache, and how many of a vector are touched: behind them the processor goes on by itself.
const (
	cacheLine = 64
	mostTouch = 16 * cacheLine
)

// touch reads a little of the vectors at places, so that they are in the cache when they are measured: they are
// fetched side by side. What it gives means nothing.
func (a *vectors[T]) touch(places []uint32) (sum byte) {
	size := min(a.spec.Dimension*int(unsafe.Sizeof(*new(T))), mostTouch)
	for _, p := range places {
		v := unsafe.Slice((*byte)(unsafe.Pointer(a.list[p])), size)
		for i := 0; i < len(v); i += cacheLine {
			sum ^= v[i]
		}
	}
	return sum
}
