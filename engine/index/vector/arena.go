package vector

import (
	"encoding/binary"
	"math"
)

// arena holds vectors by their places in large blocks.
type arena interface {
	// set puts a stored vector at a place, which may be the next one behind all others.
	set(place uint32, raw []byte)
	// to measures the distance from a stored vector to places.
	to(raw []byte) func(place uint32) float64
	// from is to for a vector in the arena. Both give functions that hold as long as no place is set.
	from(place uint32) func(place uint32) float64
}

// A block holds as many vectors as fit into maxBlock elements, but no more than maxBlockVectors.
const (
	maxBlock        = 1 << 16
	maxBlockVectors = 256
)

// perBlock is how many vectors of a dimension a block holds.
func perBlock(dimension int) uint32 {
	n := uint32(maxBlockVectors)
	for n > 1 && int(n)*dimension > maxBlock {
		n /= 2
	}
	return n
}

// blocks is an arena of one type of elements.
type blocks[T number] struct {
	spec     *Spec
	per      uint32 // vectors in a block
	list     [][]T
	distance func(a, b []T) float64
	read     func([]byte) T
	lengths  []float64 // of the vectors, for COSINE
}

func newArena(s *Spec) arena {
	le, per := binary.LittleEndian, perBlock(s.Dimension)
	switch s.Type {
	case "F64":
		return &blocks[float64]{spec: s, per: per, distance: distance[float64](s.Metric),
			read: func(b []byte) float64 { return math.Float64frombits(le.Uint64(b)) }}
	case "I64":
		return &blocks[int64]{spec: s, per: per, distance: distance[int64](s.Metric),
			read: func(b []byte) int64 { return int64(le.Uint64(b)) }}
	case "I32":
		return &blocks[int32]{spec: s, per: per, distance: distance[int32](s.Metric),
			read: func(b []byte) int32 { return int32(le.Uint32(b)) }}
	case "I16":
		return &blocks[int16]{spec: s, per: per, distance: distance[int16](s.Metric),
			read: func(b []byte) int16 { return int16(le.Uint16(b)) }}
	case "I8":
		return &blocks[int16]{spec: s, per: per, distance: distance[int16](s.Metric),
			read: func(b []byte) int16 { return int16(int8(b[0])) }}
	case "U8":
		return &blocks[int16]{spec: s, per: per, distance: distance[int16](s.Metric),
			read: func(b []byte) int16 { return int16(b[0]) }}
	case "F16":
		return &blocks[float32]{spec: s, per: per, distance: distance[float32](s.Metric),
			read: func(b []byte) float32 { return halfFloat(le.Uint16(b)) }}
	}
	return &blocks[float32]{spec: s, per: per, distance: distance[float32](s.Metric),
		read: func(b []byte) float32 { return math.Float32frombits(le.Uint32(b)) }}
}

func (a *blocks[T]) at(place uint32) []T {
	d := a.spec.Dimension
	i := int(place%a.per) * d
	return a.list[place/a.per][i : i+d : i+d]
}

func (a *blocks[T]) set(place uint32, raw []byte) {
	if int(place/a.per) == len(a.list) {
		a.list = append(a.list, make([]T, int(a.per)*a.spec.Dimension))
	}
	v := a.at(place)
	a.decode(v, raw)
	if a.cosine() {
		for int(place) >= len(a.lengths) {
			a.lengths = append(a.lengths, 0)
		}
		a.lengths[place] = math.Sqrt(dot(v, v))
	}
}

func (a *blocks[T]) cosine() bool { return a.spec.Metric.name == "COSINE" }

func (a *blocks[T]) decode(dst []T, raw []byte) {
	le := binary.LittleEndian
	switch d := any(dst).(type) {
	case []float32:
		if a.spec.Type == "F32" {
			for i := range d {
				d[i] = math.Float32frombits(le.Uint32(raw[4*i:]))
			}
			return
		}
	case []float64:
		for i := range d {
			d[i] = math.Float64frombits(le.Uint64(raw[8*i:]))
		}
		return
	}
	size := a.spec.size()
	for i := range dst {
		dst[i] = a.read(raw[i*size:])
	}
}

func (a *blocks[T]) to(raw []byte) func(uint32) float64 {
	v := make([]T, a.spec.Dimension)
	a.decode(v, raw)
	return a.measure(v)
}

func (a *blocks[T]) from(place uint32) func(uint32) float64 { return a.measure(a.at(place)) }

// measure gives the distances from v.
func (a *blocks[T]) measure(v []T) func(uint32) float64 {
	f, list, per, d := a.distance, a.list, a.per, uint32(a.spec.Dimension)
	if a.cosine() {
		length, lengths := math.Sqrt(dot(v, v)), a.lengths
		return func(place uint32) float64 {
			i := place % per * d
			return 1 - dot(v, list[place/per][i:i+d:i+d])/(length*lengths[place])
		}
	}
	return func(place uint32) float64 {
		i := place % per * d
		return f(v, list[place/per][i:i+d:i+d])
	}
}
