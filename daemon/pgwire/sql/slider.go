package sql

import (
	"math/bits"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/engine/decimal"
	"github.com/nacredb/nacre/engine/value"
)

// int128 is a whole number of 128 bits, negative as the two's complement.
type int128 struct{ hi, lo uint64 }

func (a int128) add(b int128) int128 {
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	hi, _ := bits.Add64(a.hi, b.hi, carry)
	return int128{hi, lo}
}

func (a int128) negate() int128 {
	lo, borrow := bits.Sub64(0, a.lo, 0)
	hi, _ := bits.Sub64(0, a.hi, borrow)
	return int128{hi, lo}
}

// magnitude is a without its sign.
func (a int128) magnitude() (hi, lo uint64, negative bool) {
	if int64(a.hi) < 0 {
		a, negative = a.negate(), true
	}
	return a.hi, a.lo, negative
}

// mostScaledBits is how large a number may be that is added: a partition has less than 2^31 rows.
const mostScaledBits = 96

// timesTen is a·10^n of a magnitude; ok is false where that has more than mostScaledBits.
func timesTen(hi, lo uint64, n int) (_, _ uint64, ok bool) {
	for ; n > 0 && hi>>(mostScaledBits-64) == 0; n-- {
		carry, low := bits.Mul64(lo, 10)
		hi, lo = hi*10+carry, low
	}
	return hi, lo, n == 0 && hi>>(mostScaledBits-64) == 0
}

// overTen is a/10^n of a magnitude that has n zeros.
func overTen(hi, lo uint64, n int) (_, _ uint64) {
	for ; n > 0; n-- {
		q, r := bits.Div64(0, hi, 10)
		lo, _ = bits.Div64(r, lo, 10)
		hi = q
	}
	return hi, lo
}

// sums is what a slider knows of some rows that follow one another. Rows come in at its end and leave at its start.
type sums struct {
	span
	n      int64     // how many of them count
	no     int64     // how many are false, of booleans
	total  int128    // in units of the last place of the slider
	scales [29]int32 // how many have so many places
}

// slider is an aggregate whose frames lose rows as exactly as they gain them: count, bool_and, bool_or, and the sums
// and averages of whole numbers and decimals that 128 bits hold.
type slider struct {
	f       *framed
	numbers []int128 // of each row, for sums
	places  int      // the scale of numbers
	frame   sums     // the frame
	without sums     // the rows of it that are excluded
}

// slider is that of the aggregate; nil: it does not slide.
func (f *framed) slider() *slider {
	s := &slider{f: f}
	if !f.a.slides() {
		return nil
	}
	if !f.a.fn.adds {
		return s
	}
	for i, v := range f.args {
		if f.counts[i] && v.Kind() == value.KindDecimal {
			s.places = max(s.places, int(v.Decimal().Scale))
		}
	}
	s.numbers = make([]int128, len(f.args))
	for i, v := range f.args {
		if !f.counts[i] {
			continue
		}
		d := decimal.Decimal{}
		switch v.Kind() {
		case value.KindInt:
			d = decimal.FromInt(v.Int())
		case value.KindDecimal:
			d = v.Decimal()
		default:
			return nil
		}
		hi, lo, ok := timesTen(uint64(d.Hi), d.Lo, s.places-int(d.Scale))
		if !ok {
			return nil
		}
		if s.numbers[i] = (int128{hi, lo}); d.Neg {
			s.numbers[i] = s.numbers[i].negate()
		}
	}
	return s
}

// count adds row i to h, or takes it away where by is -1.
func (s *slider) count(h *sums, i int, by int64) {
	if !s.f.counts[i] {
		return
	}
	h.n += by
	switch {
	case s.numbers != nil:
		n := s.numbers[i]
		if by < 0 {
			n = n.negate()
		}
		h.total = h.total.add(n)
		if v := s.f.args[i]; v.Kind() == value.KindDecimal {
			h.scales[v.Decimal().Scale] += int32(by)
		}
	case len(s.f.a.args) > 0 && s.f.args[i].Kind() == value.KindBool && !s.f.args[i].Bool():
		h.no += by
	}
}

// move makes h that of the rows of to, whose ends do not lie before those of the rows it has.
func (s *slider) move(h *sums, to span) error {
	if to.start >= h.end { // nothing stays
		*h = sums{span: span{to.start, to.start}}
	}
	for ; h.end < to.end; h.end++ {
		if err := s.f.rt.poll(); err != nil {
			return err
		}
		s.count(h, h.end, 1)
	}
	for ; h.start < to.start; h.start++ {
		s.count(h, h.start, -1)
	}
	return nil
}

// value is the aggregate over the frame of row j, or over spans of it where it excludes some.
func (s *slider) value(j int, frame span, spans [3]span) (value.Value, error) {
	if err := s.move(&s.frame, frame); err != nil {
		return value.None, err
	}
	h := s.frame
	if x := s.f.fr.f.exclude; x != excludeNothing {
		out := span{j, j + 1}
		if x != excludeRow {
			out.start, out.end = s.f.p.peers(j)
		}
		if err := s.move(&s.without, out.within(frame)); err != nil {
			return value.None, err
		}
		h.n, h.no = h.n-s.without.n, h.no-s.without.no
		h.total = h.total.add(s.without.total.negate())
		for i, n := range s.without.scales {
			h.scales[i] -= n
		}
		if x == excludeTies && frame.start <= j && j < frame.end {
			s.count(&h, j, 1)
		}
	}
	v, ok := s.result(&h)
	if !ok {
		return s.f.again(j, frame, spans)
	}
	return v, nil
}

// result is the aggregate over the rows of h; ok is false where its number is too large for what holds it.
func (s *slider) result(h *sums) (v value.Value, ok bool) {
	a := s.f.a
	sofar := value.None
	switch {
	case h.n == 0:
	case s.numbers != nil:
		if sofar, ok = s.number(h); !ok {
			return value.None, false
		}
	case a.oid == pgtype.Bool && a.fn.typ(a.oid) == pgtype.Bool:
		for _, seen := range []struct {
			v bool
			n int64
		}{{true, h.n - h.no}, {false, h.no}} {
			if seen.n > 0 {
				// A step more with the same value changes nothing.
				var err error
				if sofar, err = a.fn.step(a.oid, sofar, value.Bool(seen.v)); err != nil {
					return value.None, false
				}
			}
		}
	}
	v, err := a.fn.last(a.oid, sofar, h.n)
	return v, err == nil
}

// number is the sum of h.
func (s *slider) number(h *sums) (value.Value, bool) {
	hi, lo, negative := h.total.magnitude()
	scale, decimals := 0, false
	for i, n := range h.scales {
		if n > 0 {
			scale, decimals = i, true
		}
	}
	hi, lo = overTen(hi, lo, s.places-scale)
	if !decimals && hi == 0 && lo < 1<<63 {
		n := int64(lo)
		if negative {
			n = -n
		}
		return value.Int(n), true
	}
	if hi>>32 != 0 || sumType(s.f.a.oid) == pgtype.Int8 {
		return value.None, false
	}
	return value.DecimalOf(decimal.Decimal{Hi: uint32(hi), Lo: lo, Neg: negative, Scale: uint8(scale)}), true
}
