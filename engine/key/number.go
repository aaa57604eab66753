package key

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"

	"github.com/nacredb/nacre/engine/decimal"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/wide"
)

// A number is encoded by its value, independent of its kind:
//
//	double8  the largest double f that is not above |x|, sign bit set
//	n1       how many bytes follow
//	rest[n]  D, big endian without leading zeros: floor(|x|·10^28) - floor(f·10^28)
//
// and for negative x all of these bytes are inverted. Here the value of a double is the one that
// value.Compare gives it beside decimals: its whole part plus the shortest decimal for its fraction
// (0.1 = 0.1dec). Doubles have D = 0, as have ints within ±2^53; every int and decimal is a whole
// number of 10^-28, so D is zero only where x equals that double, and tells apart all that share
// one. NaN is drawn as a double above infinity. In record keys a byte follows for the kind: 1 int,
// 2 float, 3+scale decimal.
const (
	kindInt     = 1
	kindFloat   = 2
	kindDecimal = 3
	maxScale    = 28
	nanBits     = 0x7ff8000000000001
	signBit     = 1 << 63
)

// appendNumber appends v, which is an int, float or decimal, without its kind.
func appendNumber(dst []byte, v value.Value) []byte {
	switch v.Kind() {
	case value.KindInt:
		i := v.Int()
		if i < 0 {
			return appendInverted(dst, -uint64(i))
		}
		f, d := splitInt(uint64(i))
		return appendMagnitude(dst, f, d)
	case value.KindFloat:
		return appendDouble(dst, v.Float())
	default:
		x := v.Decimal()
		f, d := splitDecimal(x)
		start := len(dst)
		dst = appendMagnitude(dst, f, d)
		if x.Neg && (f != 0 || d != wide.U192{}) {
			invert(dst[start:])
		}
		return dst
	}
}

func appendInverted(dst []byte, mag uint64) []byte {
	start := len(dst)
	f, d := splitInt(mag)
	dst = appendMagnitude(dst, f, d)
	invert(dst[start:])
	return dst
}

func appendDouble(dst []byte, f float64) []byte {
	dst = binary.BigEndian.AppendUint64(dst, orderedBits(f))
	if f < 0 {
		return append(dst, 0xff)
	}
	return append(dst, 0)
}

// orderedBits are the bits of a float such that they order as the floats do: NaN last, both zeros the same.
func orderedBits(f float64) uint64 {
	switch b := math.Float64bits(f); {
	case f != f:
		return nanBits | signBit
	case f == 0:
		return signBit
	case b&signBit != 0:
		return ^b
	default:
		return b | signBit
	}
}

func invert(b []byte) {
	for i := range b {
		b[i] = ^b[i]
	}
}

// appendMagnitude appends the drawn form of f plus D.
func appendMagnitude(dst []byte, f float64, d wide.U192) []byte {
	dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(f)|signBit)
	n := (d.BitLen() + 7) / 8
	dst = append(dst, byte(n))
	for i := n - 1; i >= 0; i-- {
		dst = append(dst, byte(d[i/8]>>(i%8*8)))
	}
	return dst
}

// splitInt takes n apart into the double below it and D.
func splitInt(n uint64) (float64, wide.U192) {
	if n <= 1<<53 {
		return float64(n), wide.U192{}
	}
	drop := bits.Len64(n) - 53
	low := n & (1<<drop - 1)
	return float64(n - low), wide.U192{low}.MulWord(1e14).MulWord(1e14)
}

// splitDecimal takes |x| apart into the double below it and D.
func splitDecimal(x decimal.Decimal) (float64, wide.U192) {
	if x.Hi == 0 && (x.Scale == 0 || x.Lo == 0) {
		return splitInt(x.Lo)
	}
	whole := scaleUp(wide.U192{x.Lo, uint64(x.Hi)}, x.Scale)
	f := (float64(x.Hi)*(1<<64) + float64(x.Lo)) / math.Pow10(int(x.Scale))
	// f is within a few steps of the quotient; walk to the largest double not above it.
	floor, exact := fixed(f)
	for above(floor, exact, whole) {
		f = math.Nextafter(f, 0)
		floor, exact = fixed(f)
	}
	for {
		next := math.Nextafter(f, math.Inf(1))
		up, exact := fixed(next)
		if above(up, exact, whole) {
			return f, whole.Sub(floor)
		}
		f, floor = next, up
	}
}

// scaleUp is c·10^(28-scale).
func scaleUp(c wide.U192, scale uint8) wide.U192 {
	return mulPow10(c, maxScale-int(scale))
}

func mulPow10(c wide.U192, n int) wide.U192 {
	for n > 0 {
		step := min(n, 19)
		c = c.MulWord(wide.Pow10(step))
		n -= step
	}
	return c
}

// above reports whether a double is above whole·10^-28, by what fixed says of it.
func above(floor wide.U192, exact bool, whole wide.U192) bool {
	c := floor.Cmp(whole)
	return c > 0 || c == 0 && !exact
}

// fixed is floor(f·10^28) for 0 ≤ f < 2^98, and whether nothing was cut off.
func fixed(f float64) (floor wide.U192, exact bool) {
	whole := math.Trunc(f)
	floor = fixedWhole(whole)
	if whole == f {
		return floor, true
	}
	frac, exact := fixedFraction(f - whole)
	floor, _ = floor.Add(frac)
	return floor, exact
}

func fixedWhole(f float64) wide.U192 {
	b := math.Float64bits(f)
	if b == 0 {
		return wide.U192{}
	}
	mant, shift := wide.U192{b&(1<<52-1) | 1<<52}, int(b>>52)-1075
	if shift < 0 {
		mant, shift = mant.Shr(uint(-shift)), 0
	}
	return mulPow10(mant, maxScale).Shl(uint(shift))
}

// fixedFraction is floor(d·10^28) for the shortest decimal d of 0 < f < 1.
func fixedFraction(f float64) (floor wide.U192, exact bool) {
	var buf [32]byte
	text := strconv.AppendFloat(buf[:0], f, 'e', -1, 64) // d.ddde-xx
	var digits uint64
	power, i := maxScale, 0
	for ; text[i] != 'e'; i++ {
		if text[i] == '.' {
			continue
		}
		digits = digits*10 + uint64(text[i]-'0')
		if i > 0 {
			power--
		}
	}
	exp := 0
	for _, c := range text[i+2:] {
		exp = exp*10 + int(c-'0')
	}
	if power -= exp; power >= 0 {
		return mulPow10(wide.U192{digits}, power), true
	}
	if power < -19 {
		return wide.U192{}, false
	}
	cut := wide.Pow10(-power)
	return wide.U192{digits / cut}, digits%cut == 0
}

// readNumber reads a number with its kind byte from the front of k.
func readNumber(k []byte) (value.Value, []byte, error) {
	neg, f, d, k, err := readMagnitude(k)
	if err != nil || len(k) == 0 {
		return value.None, nil, ErrMalformed
	}
	kind := k[0]
	k = k[1:]
	switch {
	case kind == kindFloat && d == wide.U192{}:
		if f != f {
			return value.Float(math.NaN()), k, nil
		}
		if neg {
			f = -f
		}
		return value.Float(f), k, nil
	case kind == kindInt && f <= 1<<63:
		v, ok := joinInt(neg, f, d)
		if ok {
			return v, k, nil
		}
	case kind >= kindDecimal && kind <= kindDecimal+maxScale && f < 1<<97:
		v, ok := joinDecimal(neg, f, d, kind-kindDecimal)
		if ok {
			return v, k, nil
		}
	}
	return value.None, nil, ErrMalformed
}

// readMagnitude reads the bytes that appendNumber wrote.
func readMagnitude(k []byte) (neg bool, f float64, d wide.U192, rest []byte, err error) {
	if len(k) < 9 {
		return false, 0, d, nil, ErrMalformed
	}
	var flip byte
	bits := binary.BigEndian.Uint64(k)
	if neg = bits&signBit == 0; neg {
		flip, bits = 0xff, ^bits
	}
	n := int(k[8] ^ flip)
	k = k[9:]
	if n > 24 || len(k) < n {
		return false, 0, d, nil, ErrMalformed
	}
	for i := range n {
		at := n - 1 - i
		d[at/8] |= uint64(k[i]^flip) << (at % 8 * 8)
	}
	return neg, math.Float64frombits(bits &^ signBit), d, k[n:], nil
}

func joinInt(neg bool, f float64, d wide.U192) (value.Value, bool) {
	whole := uint64(f)
	low, r1 := d.DivWord(1e14)
	low, r2 := low.DivWord(1e14)
	sum := whole + low[0]
	if float64(whole) != f || r1 != 0 || r2 != 0 || low[1]|low[2] != 0 || sum < whole {
		return value.None, false
	}
	if neg {
		return value.Int(-int64(sum)), sum <= 1<<63
	}
	return value.Int(int64(sum)), sum < 1<<63
}

func joinDecimal(neg bool, f float64, d wide.U192, scale byte) (value.Value, bool) {
	floor, _ := fixed(f)
	c, ok := floor.Add(d)
	for n := maxScale - int(scale); n > 0 && ok; {
		step := min(n, 19)
		var r uint64
		c, r = c.DivWord(wide.Pow10(step))
		ok = r == 0
		n -= step
	}
	if !ok || c[2] != 0 || c[1] > math.MaxUint32 {
		return value.None, false
	}
	return value.DecimalOf(decimal.Decimal{Hi: uint32(c[1]), Lo: c[0], Neg: neg, Scale: scale}), true
}
