package decimal

import (
	"bytes"
	"cmp"
	"math"
	"strconv"

	"github.com/nacredb/nacre/internal/wide"
)

// CmpFloat orders d and a float by value; NaN is above all numbers. Whole parts are compared exactly. The fractional
// part of the float counts as the shortest decimal that reads back as it, so 0.1 = 0.1dec; the reference does much the
// same, and it keeps the order total across the kinds of numbers.
func (d Decimal) CmpFloat(f float64) int { return -compareFloat(f, d) }

func compareFloat(f float64, d Decimal) int {
	if f != f {
		return 1
	}
	if f == 0 || d.IsZero() || (f < 0) != d.Neg {
		return cmp.Compare(floatSign(f), d.Sign())
	}
	c := compareFloatMagnitude(math.Abs(f), d)
	if d.Neg {
		return -c
	}
	return c
}

func floatSign(f float64) int {
	switch {
	case f < 0:
		return -1
	case f > 0:
		return 1
	}
	return 0
}

func compareFloatMagnitude(f float64, d Decimal) int {
	if f >= 1<<96 {
		return 1
	}
	whole := math.Trunc(f)
	di, df := d.parts()
	if c := wide.FromFloat(whole).Cmp(di); c != 0 {
		return c
	}
	return compareFraction(f-whole, df, int(d.Scale))
}

// compareFraction compares the shortest decimal of 0 ≤ f < 1 with frac·10^-scale.
func compareFraction(f float64, frac wide.U128, scale int) int {
	if f == 0 || frac.IsZero() {
		return cmp.Compare(floatSign(f), boolInt(!frac.IsZero()))
	}
	var fbuf [32]byte
	digits, exp := shortestDigits(fbuf[:0], f)
	// 0.d1d2… · 10^exp against frac = 0.e1e2… · 10^(n-scale) where n is its number of digits.
	var dbuf [40]byte
	other := frac.Append(dbuf[:0])
	if c := cmp.Compare(exp, len(other)-scale); c != 0 {
		return c
	}
	return bytes.Compare(bytes.TrimRight(digits, "0"), bytes.TrimRight(other, "0"))
}

// shortestDigits gives the significant digits of f > 0 and the exponent of 0.digits.
func shortestDigits(buf []byte, f float64) ([]byte, int) {
	buf = strconv.AppendFloat(buf, f, 'e', -1, 64)
	e := bytes.IndexByte(buf, 'e')
	exp := 0
	for _, c := range buf[e+2:] {
		exp = exp*10 + int(c-'0')
	}
	if buf[e+1] == '-' {
		exp = -exp
	}
	if e > 1 { // d.ddd: close the gap of the point
		copy(buf[1:], buf[2:e])
		e--
	}
	return buf[:e], exp + 1
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
