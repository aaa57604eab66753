package value

import (
	"math"
	"strconv"
	"strings"
)

// Texts of decimals that do not read, as the parser reports them.
var (
	errDecimal         = error(&SyntaxError{Msg: "Failed to parse"})
	errDecimalDigits   = error(&SyntaxError{Msg: "Invalid decimal: overflow from too many digits"})
	errDecimalRounding = error(&SyntaxError{Msg: "Invalid decimal: overflow from mantissa after rounding"})
	errDecimalRange    = error(&SyntaxError{Msg: "Number exceeds maximum value that can be represented."})
)

// ParseDecimal reads what <decimal> accepts: digits with optional sign and point, underscores after
// the first digit, no exponent. Digits beyond the 28th after the point, or beyond 96 bits, are
// rounded half up; trailing zeros are dropped.
func ParseDecimal(s string) (Decimal, error) {
	d, err := readDecimal(s)
	if err != nil {
		return Decimal{}, err
	}
	d = d.Normalize()
	d.Neg = d.Neg && !d.IsZero()
	return d, nil
}

// ParseDecimalLiteral reads the number of a decimal literal (without the "dec"): as ParseDecimal, and
// with an exponent, which may move the point by at most 28 places. The text of the error is the
// user's.
func ParseDecimalLiteral(s string) (Decimal, error) {
	e := strings.IndexAny(s, "eE")
	if e < 0 {
		return ParseDecimal(s)
	}
	d, err := readDecimal(s[:e])
	if err != nil {
		return Decimal{}, err
	}
	exp, err := strconv.ParseInt(strings.ReplaceAll(s[e+1:], "_", ""), 10, 32)
	if err != nil {
		return Decimal{}, errDecimal
	}
	return d.shiftPoint(int(exp))
}

// shiftPoint is d·10^exp.
func (d Decimal) shiftPoint(exp int) (Decimal, error) {
	if exp <= 0 {
		scale := int(d.Scale) - exp
		if scale > maxScale {
			return Decimal{}, errScale(scale)
		}
		d.Scale = uint8(scale)
		return d, nil
	}
	if exp > maxScale {
		return Decimal{}, errScale(exp)
	}
	if exp <= int(d.Scale) {
		d.Scale -= uint8(exp)
		return d, nil
	}
	p := mul128(pow10u(exp-int(d.Scale)), d.coef())
	if !p.fits96() {
		return Decimal{}, errDecimalRange
	}
	return newDecimal(u128{p[1], p[0]}, d.Neg, 0), nil
}

func errScale(scale int) error {
	return &SyntaxError{Msg: "Scale exceeds the maximum precision allowed: " + strconv.Itoa(scale) + " > 28"}
}

// decimalReader collects digits until the coefficient is full.
type decimalReader struct {
	coef  u128
	scale int
	point bool
	full  bool // digits are skipped from here on
	any   bool
}

func readDecimal(s string) (Decimal, error) {
	neg := false
	if s != "" && (s[0] == '-' || s[0] == '+') {
		neg = s[0] == '-'
		s = s[1:]
	}
	var r decimalReader
	for i := range len(s) {
		c := s[i]
		switch {
		case isDigit(c):
			if err := r.digit(c - '0'); err != nil {
				return Decimal{}, err
			}
		case c == '.' && !r.point:
			r.point = true
		case c == '_' && r.any:
		default:
			return Decimal{}, errDecimal
		}
	}
	if !r.any {
		return Decimal{}, errDecimal
	}
	return newDecimal(r.coef, neg, r.scale), nil
}

func (r *decimalReader) digit(d byte) error {
	r.any = true
	if r.full {
		if !r.point {
			return errDecimalDigits
		}
		return nil
	}
	next := u128{r.coef.hi, r.coef.lo}
	fits := next.cmp(u128{math.MaxUint32 / 10, math.MaxUint64}) <= 0
	if fits {
		next = next.mul64(10).add(u128{0, uint64(d)})
		fits = next.hi>>32 == 0
	}
	if fits && (!r.point || r.scale < maxScale) {
		r.coef = next
		if r.point {
			r.scale++
		}
		return nil
	}
	if !r.point {
		return errDecimalDigits
	}
	r.full = true
	if d < 5 {
		return nil
	}
	return r.roundUp()
}

func (r *decimalReader) roundUp() error {
	r.coef = r.coef.add(u128{0, 1})
	if r.coef.hi>>32 == 0 {
		return nil
	}
	if r.scale == 0 {
		return errDecimalRounding
	}
	r.coef = roundTen(r.coef)
	r.scale--
	return nil
}
