package wide

import "math/bits"

// U192 is an unsigned integer of 192 bits, least significant word first. It holds the product of two coefficients of
// decimals, and 2^96·10^28.
type U192 [3]uint64

// Mul is a·b, where one is below 2^96 and the other below 2^128·2^-32.
func Mul(a, b U128) U192 {
	h00, l00 := bits.Mul64(a.Lo, b.Lo)
	h01, l01 := bits.Mul64(a.Lo, b.Hi)
	h10, l10 := bits.Mul64(a.Hi, b.Lo)
	_, l11 := bits.Mul64(a.Hi, b.Hi)
	mid, c1 := bits.Add64(h00, l01, 0)
	mid, c2 := bits.Add64(mid, l10, 0)
	return U192{l00, mid, l11 + h01 + h10 + c1 + c2}
}

// Low is the lower 128 bits of a.
func (a U192) Low() U128 { return U128{a[1], a[0]} }

// Cmp is -1, 0 or 1.
func (a U192) Cmp(b U192) int {
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

// Add is a + b modulo 2^192; ok is false where the sum is larger.
func (a U192) Add(b U192) (sum U192, ok bool) {
	var c uint64
	for i := range a {
		a[i], c = bits.Add64(a[i], b[i], c)
	}
	return a, c == 0
}

// Sub is a - b modulo 2^192.
func (a U192) Sub(b U192) U192 {
	var c uint64
	for i := range a {
		a[i], c = bits.Sub64(a[i], b[i], c)
	}
	return a
}

// MulWord is a·m modulo 2^192.
func (a U192) MulWord(m uint64) U192 {
	h0, l0 := bits.Mul64(a[0], m)
	h1, l1 := bits.Mul64(a[1], m)
	l1, c := bits.Add64(l1, h0, 0)
	return U192{l0, l1, a[2]*m + h1 + c}
}

// DivWord divides by one word, which is not zero.
func (a U192) DivWord(d uint64) (q U192, r uint64) {
	for i := 2; i >= 0; i-- {
		a[i], r = bits.Div64(r, a[i], d)
	}
	return a, r
}

// Mod is the remainder of a/b, for b not zero.
func (a U192) Mod(b U192) U192 {
	if a[2] == 0 && b[2] == 0 {
		_, r := a.Low().Div(b.Low())
		return U192{r.Lo, r.Hi}
	}
	if a.Cmp(b) < 0 {
		return a
	}
	shift := a.BitLen() - b.BitLen()
	for b = b.Shl(uint(shift)); shift >= 0; shift-- {
		if a.Cmp(b) >= 0 {
			a = a.Sub(b)
		}
		b = b.Shr(1)
	}
	return a
}

// Shl is a·2^n modulo 2^192.
func (a U192) Shl(n uint) U192 {
	for ; n >= 64; n -= 64 {
		a = U192{0, a[0], a[1]}
	}
	if n == 0 {
		return a
	}
	return U192{a[0] << n, a[1]<<n | a[0]>>(64-n), a[2]<<n | a[1]>>(64-n)}
}

// Shr is a/2^n without its remainder.
func (a U192) Shr(n uint) U192 {
	for ; n >= 64; n -= 64 {
		a = U192{a[1], a[2], 0}
	}
	if n == 0 {
		return a
	}
	return U192{a[0]>>n | a[1]<<(64-n), a[1]>>n | a[2]<<(64-n), a[2] >> n}
}

// BitLen is how many bits a needs.
func (a U192) BitLen() int {
	switch {
	case a[2] != 0:
		return 128 + bits.Len64(a[2])
	case a[1] != 0:
		return 64 + bits.Len64(a[1])
	}
	return bits.Len64(a[0])
}
