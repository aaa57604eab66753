package decimal

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/nacredb/nacre/internal/wide"
)

// SyntaxError is the error of a text that is no decimal, in the words of the reference.
type SyntaxError string

func (e SyntaxError) Error() string { return string(e) }

// Texts of decimals that do not read, as the parser reports them.
var (
	errDecimal         = error(SyntaxError("Failed to parse"))
	errDecimalDigits   = error(SyntaxError("Invalid decimal: overflow from too many digits"))
	errDecimalRounding = error(SyntaxError("Invalid decimal: overflow from mantissa after rounding"))
	errDecimalRange    = error(SyntaxError("Number exceeds maximum value that can be represented."))
)

// Parse reads what <decimal> accepts: digits with optional sign and point, underscores after
// the first digit, no exponent. Digits beyond the 28th after the point, or beyond 96 bits, are
// rounded half up; trailing zeros are dropped.
func Parse(s string) (Decimal, error) {
	d, err := read(s)
	if err != nil {
		return Decimal{}, err
	}
	d = d.Normalize()
	d.Neg = d.Neg && !d.IsZero()
	return d, nil
}

// ParseLiteral reads the number of a decimal literal (without the "dec"): as Parse, and
// with an exponent, which may move the point by at most 28 places. The text of the error is the
// user's.
func ParseLiteral(s string) (Decimal, error) {
	e := strings.IndexAny(s, "eE")
	if e < 0 {
		return Parse(s)
	}
	d, err := read(s[:e])
	if err != nil {
		return Decimal{}, err
	}
	exp, err := strconv.ParseInt(strings.ReplaceAll(s[e+1:], "_", ""), 10, 32)
	if err != nil {
		return Decimal{}, errDecimal
	}
	return d.shiftPoint(int(exp))
}

// Decode reads the text that String gives of a decimal, with its sign and all digits of its scale, so that
// what was stored comes back as it was (5.0, -0); clients may use an exponent.
func Decode(s string) (Decimal, error) {
	if strings.ContainsAny(s, "eE") {
		return ParseLiteral(s)
	}
	return read(s)
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
	p := wide.Mul(wide.From10(exp-int(d.Scale)), d.coef())
	if !fits(p) {
		return Decimal{}, errDecimalRange
	}
	return compose(p.Low(), d.Neg, 0), nil
}

func errScale(scale int) error {
	return SyntaxError(fmt.Sprintf("Scale exceeds the maximum precision allowed: %d > %d", scale, maxScale))
}

// reader collects digits until the coefficient is full.
type reader struct {
	coef  wide.U128
	scale int
	point bool
	full  bool // digits are skipped from here on
	any   bool
}

func read(s string) (Decimal, error) {
	neg := false
	if s != "" && (s[0] == '-' || s[0] == '+') {
		neg = s[0] == '-'
		s = s[1:]
	}
	var r reader
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= '0' && c <= '9':
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
	return compose(r.coef, neg, r.scale), nil
}

func (r *reader) digit(d byte) error {
	r.any = true
	if r.full {
		if !r.point {
			return errDecimalDigits
		}
		return nil
	}
	next := r.coef
	fits := next.Cmp(wide.U128{Hi: math.MaxUint32 / 10, Lo: math.MaxUint64}) <= 0
	if fits {
		next = next.MulWord(10).Add(wide.From(uint64(d)))
		fits = next.Hi>>32 == 0
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

func (r *reader) roundUp() error {
	r.coef = r.coef.Add(wide.From(1))
	if r.coef.Hi>>32 == 0 {
		return nil
	}
	if r.scale == 0 {
		return errDecimalRounding
	}
	r.coef = roundTen(r.coef)
	r.scale--
	return nil
}
