// Package wide has unsigned integers of 128 and 192 bits, the working registers of decimals and of number keys.
package wide

import (
	"math"
	"math/bits"
)

// U128 is an unsigned integer of 128 bits.
type U128 struct{ Hi, Lo uint64 }

// pow10 are the powers of ten that fit one word.
var pow10 = [20]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
	1e18, 1e19}

// Pow10 is 10^n for n ≤ 19.
func Pow10(n int) uint64 { return pow10[n] }

// From is n.
func From(n uint64) U128 { return U128{Lo: n} }

// From10 is 10^n for n ≤ 38.
func From10(n int) U128 {
	if n < 20 {
		return U128{0, pow10[n]}
	}
	hi, lo := bits.Mul64(pow10[19], pow10[n-19])
	return U128{hi, lo}
}

// FromFloat is a whole float, 0 ≤ f < 2^128.
func FromFloat(f float64) U128 {
	if f < 1<<64 {
		return U128{0, uint64(f)}
	}
	hi := math.Floor(f / (1 << 64))
	return U128{uint64(hi), uint64(f - hi*(1<<64))}
}

// IsZero reports whether a is zero.
func (a U128) IsZero() bool { return a.Hi|a.Lo == 0 }

// Cmp is -1, 0 or 1.
func (a U128) Cmp(b U128) int {
	switch {
	case a.Hi < b.Hi || a.Hi == b.Hi && a.Lo < b.Lo:
		return -1
	case a == b:
		return 0
	}
	return 1
}

// Add is a + b modulo 2^128.
func (a U128) Add(b U128) U128 {
	lo, c := bits.Add64(a.Lo, b.Lo, 0)
	hi, _ := bits.Add64(a.Hi, b.Hi, c)
	return U128{hi, lo}
}

// Sub is a - b modulo 2^128.
func (a U128) Sub(b U128) U128 {
	lo, c := bits.Sub64(a.Lo, b.Lo, 0)
	hi, _ := bits.Sub64(a.Hi, b.Hi, c)
	return U128{hi, lo}
}

// MulWord is a·m; the caller knows that it fits.
func (a U128) MulWord(m uint64) U128 {
	hi, lo := bits.Mul64(a.Lo, m)
	return U128{hi + a.Hi*m, lo}
}

// Double is 2a modulo 2^128.
func (a U128) Double() U128 { return U128{a.Hi<<1 | a.Lo>>63, a.Lo << 1} }

// Half is a/2 without its remainder.
func (a U128) Half() U128 { return U128{a.Hi >> 1, a.Hi<<63 | a.Lo>>1} }

// DivWord divides by one word, which is not zero.
func (a U128) DivWord(d uint64) (q U128, r uint64) {
	q.Hi, r = a.Hi/d, a.Hi%d
	q.Lo, r = bits.Div64(r, a.Lo, d)
	return q, r
}

// Div divides by b, which is not zero.
func (a U128) Div(b U128) (q, r U128) {
	if b.Hi == 0 {
		q, rem := a.DivWord(b.Lo)
		return q, U128{0, rem}
	}
	// The quotient fits one word: estimate it with normalised high words, then mend.
	s := uint(bits.LeadingZeros64(b.Hi))
	norm := b.Hi<<s | b.Lo>>(64-s) // s may be 0: a shift by 64 gives 0
	half := a.Half()
	est, _ := bits.Div64(half.Hi, half.Lo, norm)
	est >>= 63 - s
	if est > 0 {
		est--
	}
	r = a.Sub(b.MulWord(est))
	if r.Cmp(b) >= 0 {
		est++
		r = r.Sub(b)
	}
	return U128{0, est}, r
}

// Float is the nearest float.
func (a U128) Float() float64 {
	if a.Hi == 0 {
		return float64(a.Lo)
	}
	// Keep 64 leading bits and a sticky one; the conversion then rounds correctly.
	s := uint(bits.LeadingZeros64(a.Hi))
	top := a.Hi<<s | a.Lo>>(64-s)
	if a.Lo<<s != 0 {
		top |= 1
	}
	return math.Ldexp(float64(top), 64-int(s))
}

// Append writes a in decimal digits.
func (a U128) Append(dst []byte) []byte {
	var buf [40]byte
	i := len(buf)
	for a.Hi != 0 {
		var r uint64
		a, r = a.DivWord(1e18)
		for range 18 {
			i--
			buf[i] = byte('0' + r%10)
			r /= 10
		}
	}
	n := a.Lo
	for n != 0 || i == len(buf) {
		i--
		buf[i] = byte('0' + n%10)
		n /= 10
	}
	return append(dst, buf[i:]...)
}
