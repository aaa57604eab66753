package fn

import (
	"encoding/binary"
	"math"
)

// shortenFloats rewrites well-formed CBOR so that each float has the shortest form that holds it exactly. Lengths
// inside CBOR count items or the bytes of one text, so nothing else changes.
func shortenFloats(b []byte) []byte {
	out := b[:0]
	for i := 0; i < len(b); {
		major, info := b[i]>>5, b[i]&31
		size := 1
		if info >= 24 && info <= 27 {
			size += 1 << (info - 24)
		}
		head := b[i : i+size]
		i += size
		switch {
		case major == 7 && info == 27:
			out = appendShortFloat(out, math.Float64frombits(binary.BigEndian.Uint64(head[1:])))
		case (major == 2 || major == 3) && info != 31:
			n := int(headValue(head))
			out = append(append(out, head...), b[i:i+n]...)
			i += n
		default:
			out = append(out, head...)
		}
	}
	return out
}

func headValue(head []byte) uint64 {
	n := uint64(head[0] & 31)
	if len(head) > 1 {
		n = 0
	}
	for _, c := range head[1:] {
		n = n<<8 | uint64(c)
	}
	return n
}

func appendShortFloat(dst []byte, f float64) []byte {
	if half, ok := halfFloat(f); ok {
		return append(dst, 0xf9, byte(half>>8), byte(half))
	}
	if single := float32(f); float64(single) == f {
		return binary.BigEndian.AppendUint32(append(dst, 0xfa), math.Float32bits(single))
	}
	return binary.BigEndian.AppendUint64(append(dst, 0xfb), math.Float64bits(f))
}

// halfFloat is the 16-bit form of f, if it is exact.
func halfFloat(f float64) (uint16, bool) {
	if math.IsNaN(f) {
		return 0x7e00, true
	}
	sign := uint16(math.Float64bits(f) >> 48 & 0x8000)
	f = math.Abs(f)
	switch {
	case f == 0:
		return sign, true
	case math.IsInf(f, 0):
		return sign | 0x7c00, true
	case f < 1.0/(1<<24) || f > 65504:
		return 0, false
	}
	frac, exp := math.Frexp(f) // f = frac · 2^exp, frac in [0.5, 1)
	bits := 11
	if exp < -13 {
		bits += exp + 13 // subnormal
	}
	m := math.Ldexp(frac, bits)
	if m != math.Trunc(m) {
		return 0, false
	}
	if exp < -13 {
		return sign | uint16(m), true
	}
	return sign | uint16(exp+14)<<10 | uint16(m)&0x3ff, true
}
