package value

import "math/bits"

// u128 is an unsigned 128-bit integer, the working register of decimals.
type u128 struct{ hi, lo uint64 }

// pow10 are the powers of ten that fit one word.
var pow10 = [20]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
	1e18, 1e19}

// pow10u is 10^n for n ≤ 38.
func pow10u(n int) u128 {
	if n < 20 {
		return u128{0, pow10[n]}
	}
	hi, lo := bits.Mul64(pow10[19], pow10[n-19])
	return u128{hi, lo}
}

func (a u128) isZero() bool { return a.hi|a.lo == 0 }

func (a u128) cmp(b u128) int {
	switch {
	case a.hi < b.hi || a.hi == b.hi && a.lo < b.lo:
		return -1
	case a == b:
		return 0
	}
	return 1
}

func (a u128) add(b u128) u128 {
	lo, c := bits.Add64(a.lo, b.lo, 0)
	hi, _ := bits.Add64(a.hi, b.hi, c)
	return u128{hi, lo}
}

func (a u128) sub(b u128) u128 {
	lo, c := bits.Sub64(a.lo, b.lo, 0)
	hi, _ := bits.Sub64(a.hi, b.hi, c)
	return u128{hi, lo}
}

// mul64 is a·m; the caller knows that it fits.
func (a u128) mul64(m uint64) u128 {
	hi, lo := bits.Mul64(a.lo, m)
	return u128{hi + a.hi*m, lo}
}

func (a u128) shl1() u128 { return u128{a.hi<<1 | a.lo>>63, a.lo << 1} }
func (a u128) shr1() u128 { return u128{a.hi >> 1, a.hi<<63 | a.lo>>1} }

// divmod64 divides by one word.
func (a u128) divmod64(d uint64) (q u128, r uint64) {
	q.hi, r = a.hi/d, a.hi%d
	q.lo, r = bits.Div64(r, a.lo, d)
	return q, r
}

// divmod divides by b, which is not zero.
func (a u128) divmod(b u128) (q, r u128) {
	if b.hi == 0 {
		q, rem := a.divmod64(b.lo)
		return q, u128{0, rem}
	}
	// The quotient fits one word: estimate it with normalised high words, then mend.
	s := uint(bits.LeadingZeros64(b.hi))
	norm := b.hi<<s | b.lo>>(64-s) // s may be 0: a shift by 64 gives 0
	half := a.shr1()
	est, _ := bits.Div64(half.hi, half.lo, norm)
	est >>= 63 - s
	if est > 0 {
		est--
	}
	r = a.sub(b.mul64(est))
	if r.cmp(b) >= 0 {
		est++
		r = r.sub(b)
	}
	return u128{0, est}, r
}

// append writes a in decimal.
func (a u128) append(dst []byte) []byte {
	var buf [40]byte
	i := len(buf)
	for a.hi != 0 {
		var r uint64
		a, r = a.divmod64(1e18)
		for range 18 {
			i--
			buf[i] = byte('0' + r%10)
			r /= 10
		}
	}
	n := a.lo
	for n != 0 || i == len(buf) {
		i--
		buf[i] = byte('0' + n%10)
		n /= 10
	}
	return append(dst, buf[i:]...)
}

// u192 holds a product of two decimal coefficients, least significant word first.
type u192 [3]uint64

func mul128(a, b u128) u192 {
	// Both are below 2^96 · 2^32, so the third word is enough for 96 × 96 bits.
	h00, l00 := bits.Mul64(a.lo, b.lo)
	h01, l01 := bits.Mul64(a.lo, b.hi)
	h10, l10 := bits.Mul64(a.hi, b.lo)
	_, l11 := bits.Mul64(a.hi, b.hi)
	mid, c1 := bits.Add64(h00, l01, 0)
	mid, c2 := bits.Add64(mid, l10, 0)
	return u192{l00, mid, l11 + h01 + h10 + c1 + c2}
}

func (a u192) cmp(b u192) int {
	for i := 2; i >= 0; i-- {
		if a[i] != b[i] {
			if a[i] < b[i] {
				return -1
			}
			return 1
		}
	}
	return 0
}

func (a u192) add(b u192) u192 {
	var c uint64
	for i := range a {
		a[i], c = bits.Add64(a[i], b[i], c)
	}
	return a
}

func (a u192) sub(b u192) u192 {
	var c uint64
	for i := range a {
		a[i], c = bits.Sub64(a[i], b[i], c)
	}
	return a
}

// divmod64 divides by one word.
func (a u192) divmod64(d uint64) (u192, uint64) {
	var r uint64
	for i := 2; i >= 0; i-- {
		a[i], r = bits.Div64(r, a[i], d)
	}
	return a, r
}

// fits96 reports whether a is a valid coefficient.
func (a u192) fits96() bool { return a[2] == 0 && a[1]>>32 == 0 }
