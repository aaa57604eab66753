package sql

import (
	"math"
	"math/big"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/decimal"
	"github.com/nacredb/nacre/engine/value"
)

// accumulator is an aggregate of one group whose state is more than one value.
type accumulator interface {
	// add takes the arguments of a row; none of them is NULL.
	add(args []value.Value) error
	// result is the aggregate over the rows so far. More may be added after it.
	result() (value.Value, error)
}

// accumulatorWeight is about what an accumulator takes.
const accumulatorWeight = 256

// statistics are the aggregates that tell how numbers spread, and how pairs of them depend on each other.
func statistics() map[string]*aggregateFunc {
	deviation := func(sample, root bool) *aggregateFunc {
		return &aggregateFunc{min: 1, max: 1, typ: deviationType, begin: func(oid pgtype.OID) accumulator {
			if oid == pgtype.Float4 || oid == pgtype.Float8 {
				return &floatDeviation{sample: sample, root: root}
			}
			return &exactDeviation{sample: sample, root: root}
		}}
	}
	pairs := func(oid pgtype.OID, of func(p *pairStatistic) value.Value) *aggregateFunc {
		return &aggregateFunc{min: 2, max: 2, typ: always(oid), pairs: true,
			begin: func(pgtype.OID) accumulator { return &pairStatistic{of: of} }}
	}
	pair := func(least float64, of func(p *pairStatistic) value.Value) *aggregateFunc {
		return pairs(pgtype.Float8, func(p *pairStatistic) value.Value {
			if p.n < least {
				return value.None
			}
			return of(p)
		})
	}
	return map[string]*aggregateFunc{
		"stddev": deviation(true, true), "stddev_samp": deviation(true, true), "stddev_pop": deviation(false, true),
		"variance": deviation(true, false), "var_samp": deviation(true, false), "var_pop": deviation(false, false),
		"regr_count": pairs(pgtype.Int8, func(p *pairStatistic) value.Value { return value.Int(int64(p.n)) }),
		"regr_sxx":   pair(1, func(p *pairStatistic) value.Value { return value.Float(p.sxx) }),
		"regr_syy":   pair(1, func(p *pairStatistic) value.Value { return value.Float(p.syy) }),
		"regr_sxy":   pair(1, func(p *pairStatistic) value.Value { return value.Float(p.sxy) }),
		"regr_avgx":  pair(1, func(p *pairStatistic) value.Value { return value.Float(p.sx / p.n) }),
		"regr_avgy":  pair(1, func(p *pairStatistic) value.Value { return value.Float(p.sy / p.n) }),
		"covar_pop":  pair(1, func(p *pairStatistic) value.Value { return value.Float(p.sxy / p.n) }),
		"covar_samp": pair(2, func(p *pairStatistic) value.Value { return value.Float(p.sxy / (p.n - 1)) }),
		"corr":       pair(1, (*pairStatistic).correlation), "regr_r2": pair(1, (*pairStatistic).determination),
		"regr_slope": pair(1, (*pairStatistic).slope), "regr_intercept": pair(1, (*pairStatistic).intercept),
	}
}

func deviationType(oid pgtype.OID) pgtype.OID {
	if oid == pgtype.Float4 || oid == pgtype.Float8 {
		return pgtype.Float8
	}
	return pgtype.Numeric
}

// floatDeviation is the variance of floats, or its root. It adds them up as PostgreSQL does, by the algorithm of Youngs
// and Cramer, so that the digits are the same.
type floatDeviation struct {
	sample, root bool
	n            float64
	sum          float64
	squares      float64 // of the differences from the mean
}

func (d *floatDeviation) add(args []value.Value) error {
	x, before := args[0].AsFloat(), d.sum
	d.n++
	d.sum += x
	if d.n == 1 {
		d.squares = unlessInfinite(x, 0)
		return nil
	}
	off := float64(x*d.n) - d.sum
	d.squares += off * off / (d.n * (d.n - 1))
	if !math.IsInf(d.sum, 0) && !math.IsInf(d.squares, 0) {
		return nil
	}
	if !math.IsInf(before, 0) && !math.IsInf(x, 0) {
		return overflow()
	}
	d.squares = math.NaN()
	return nil
}

func (d *floatDeviation) result() (value.Value, error) {
	over := d.n
	if d.sample {
		over--
	}
	if over <= 0 {
		return value.None, nil
	}
	f := d.squares / over
	if d.root {
		f = math.Sqrt(f)
	}
	return value.Float(f), nil
}

// unlessInfinite is f, or NaN where x is no finite number.
func unlessInfinite(x, f float64) float64 {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return math.NaN()
	}
	return f
}

func overflow() error { return sqlstate.New(sqlstate.OutOfRange, "value out of range: overflow") }

// exactDeviation is the variance of whole numbers and decimals, or its root, made of sums that are exact.
type exactDeviation struct {
	sample, root bool
	n            int64
	nan          bool    // one of the numbers is none
	scale        int     // the most places that a number has
	sum          big.Int // in units of the last of them
	squares      big.Int // the sum of the squares, in units of twice as many places
	number, word big.Int
}

func (d *exactDeviation) add(args []value.Value) error {
	d.n++
	v := args[0]
	if f := v.AsFloat(); v.Kind() == value.KindFloat && (math.IsNaN(f) || math.IsInf(f, 0)) {
		d.nan = true
		return nil
	}
	x := decimalOf(v)
	places := int(x.Scale)
	if places > d.scale {
		by := powerOfTen(places - d.scale)
		d.sum.Mul(&d.sum, by)
		d.squares.Mul(&d.squares, by).Mul(&d.squares, by)
		d.scale = places
	}
	m := d.number.SetUint64(uint64(x.Hi))
	m.Lsh(m, 64).Add(m, d.word.SetUint64(x.Lo))
	if places < d.scale {
		m.Mul(m, powerOfTen(d.scale-places))
	}
	if x.Neg {
		m.Neg(m)
	}
	d.sum.Add(&d.sum, m)
	d.squares.Add(&d.squares, d.word.Mul(m, m))
	return nil
}

// powerOfTen is 10^n.
func powerOfTen(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// mostPlaces is how many places a decimal can have.
const mostPlaces = 28

func (d *exactDeviation) result() (value.Value, error) {
	n, over := big.NewInt(d.n), big.NewInt(d.n)
	if d.sample {
		over.SetInt64(d.n - 1)
	}
	if over.Sign() <= 0 {
		return value.None, nil
	}
	if d.nan {
		return value.Float(math.NaN()), nil
	}
	top := new(big.Int).Mul(n, &d.squares)
	top.Sub(top, new(big.Int).Mul(&d.sum, &d.sum))
	if top.Sign() <= 0 {
		return value.DecimalOf(decimal.Decimal{}), nil
	}
	over.Mul(over, n)
	places := quotientPlaces(top, 2*d.scale, over)
	// top has twice the places of the numbers, the quotient is to have other ones.
	q := roundedQuotient(new(big.Int).Mul(top, powerOfTen(places)), new(big.Int).Mul(over, powerOfTen(2*d.scale)))
	if d.root {
		q = roundedRoot(q.Mul(q, powerOfTen(places)))
	}
	return fitted(q, places)
}

// quotientPlaces is how many places PostgreSQL gives to the quotient of top, which has scale places, and a whole
// number: at least 16 digits, counted in groups of four, and no fewer places than top.
func quotientPlaces(top *big.Int, scale int, bottom *big.Int) int {
	weight, first := leadingGroup(top, scale)
	otherWeight, otherFirst := leadingGroup(bottom, 0)
	groups := weight - otherWeight
	if first <= otherFirst {
		groups--
	}
	return max(16-4*groups, scale)
}

// leadingGroup is the first group of four digits of a number that has scale places, and how many groups stand between
// it and the point.
func leadingGroup(n *big.Int, scale int) (weight, first int) {
	digits := n.String()
	exponent := len(digits) - 1 - scale
	weight = int(math.Floor(float64(exponent) / 4))
	for i := range exponent - 4*weight + 1 {
		first *= 10
		if i < len(digits) {
			first += int(digits[i] - '0')
		}
	}
	return weight, first
}

// roundedQuotient is a/b of two numbers above zero, halves rounded up.
func roundedQuotient(a, b *big.Int) *big.Int {
	q, rest := new(big.Int).QuoRem(a, b, new(big.Int))
	if rest.Lsh(rest, 1).Cmp(b) >= 0 {
		q.Add(q, big.NewInt(1))
	}
	return q
}

// roundedRoot is the square root of a number.
func roundedRoot(n *big.Int) *big.Int {
	root := new(big.Int).Sqrt(n)
	if rest := n.Sub(n, new(big.Int).Mul(root, root)); rest.Cmp(root) > 0 {
		root.Add(root, big.NewInt(1))
	}
	return root
}

// fitted is a number with so many places as a decimal, with fewer places where a decimal cannot hold them.
func fitted(n *big.Int, places int) (value.Value, error) {
	for drop := max(0, places-mostPlaces); drop <= places; drop++ {
		m := roundedQuotient(n, powerOfTen(drop))
		if m.BitLen() > 96 {
			continue
		}
		lo := new(big.Int).And(m, new(big.Int).SetUint64(math.MaxUint64)).Uint64()
		hi := new(big.Int).Rsh(m, 64).Uint64()
		return value.DecimalOf(decimal.Decimal{Hi: uint32(hi), Lo: lo, Scale: uint8(places - drop)}), nil
	}
	return value.None, sqlstate.New(sqlstate.OutOfRange, "value overflows numeric format")
}

// pairStatistic is what is known of pairs of numbers: the second argument of a row is x, the first one y. It adds them
// up as floatDeviation does.
type pairStatistic struct {
	of      func(p *pairStatistic) value.Value
	n       float64
	sx, sxx float64 // the sum of x, and that of the squares of its differences from the mean
	sy, syy float64
	sxy     float64 // the sum of the products of the differences
}

func (p *pairStatistic) add(args []value.Value) error {
	y, x := args[0].AsFloat(), args[1].AsFloat()
	before := *p
	p.n++
	p.sx += x
	p.sy += y
	if p.n == 1 {
		p.sxx, p.syy = unlessInfinite(x, 0), unlessInfinite(y, 0)
		p.sxy = p.sxx + p.syy
		return nil
	}
	offX, offY := float64(x*p.n)-p.sx, float64(y*p.n)-p.sy
	scale := 1 / (p.n * before.n)
	p.sxx += float64(offX * offX * scale)
	p.syy += float64(offY * offY * scale)
	p.sxy += float64(offX * offY * scale)
	infX := math.IsInf(before.sx, 0) || math.IsInf(x, 0)
	infY := math.IsInf(before.sy, 0) || math.IsInf(y, 0)
	if infinite(p.sx, p.sxx) && !infX || infinite(p.sy, p.syy) && !infY || infinite(p.sxy) && !infX && !infY {
		return overflow()
	}
	if infinite(p.sx, p.sxx, p.sy, p.syy, p.sxy) {
		p.sxx, p.syy, p.sxy = unlessInfinite(p.sxx, p.sxx), unlessInfinite(p.syy, p.syy), unlessInfinite(p.sxy, p.sxy)
	}
	return nil
}

// infinite reports whether one of some numbers is infinite.
func infinite(list ...float64) bool {
	for _, f := range list {
		if math.IsInf(f, 0) {
			return true
		}
	}
	return false
}

func (p *pairStatistic) result() (value.Value, error) { return p.of(p), nil }

func (p *pairStatistic) correlation() value.Value {
	if p.sxx == 0 || p.syy == 0 {
		return value.None
	}
	return value.Float(p.sxy / math.Sqrt(p.sxx*p.syy))
}

func (p *pairStatistic) determination() value.Value {
	switch {
	case p.sxx == 0:
		return value.None
	case p.syy == 0:
		return value.Float(1)
	}
	return value.Float(float64(p.sxy*p.sxy) / float64(p.sxx*p.syy))
}

func (p *pairStatistic) slope() value.Value {
	if p.sxx == 0 {
		return value.None
	}
	return value.Float(p.sxy / p.sxx)
}

func (p *pairStatistic) intercept() value.Value {
	if p.sxx == 0 {
		return value.None
	}
	return value.Float((p.sy - float64(p.sx*p.sxy)/p.sxx) / p.n)
}
