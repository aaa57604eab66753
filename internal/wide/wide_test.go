package wide

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

func (a U128) big() *big.Int { return U192{a.Lo, a.Hi}.big() }

func (a U192) big() *big.Int {
	n := new(big.Int)
	for i := 2; i >= 0; i-- {
		n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(a[i]))
	}
	return n
}

// word draws words of all lengths, and those at the borders of a carry.
func word(r *rand.Rand) uint64 {
	switch r.IntN(6) {
	case 0:
		return 0
	case 1:
		return math.MaxUint64
	}
	return r.Uint64() >> r.IntN(64)
}

// Every operation agrees with math/big.
func TestOperations(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	two128, two192 := new(big.Int).Lsh(big.NewInt(1), 128), new(big.Int).Lsh(big.NewInt(1), 192)
	check := func(op string, got, want *big.Int, operands ...any) {
		t.Helper()
		if got.Cmp(want) != 0 {
			t.Fatalf("%s of %v: %s, not %s", op, operands, got, want)
		}
	}
	is := func(op string, ok bool, operands ...any) {
		t.Helper()
		if !ok {
			t.Fatalf("%s of %v is wrong", op, operands)
		}
	}
	for range 50_000 {
		a, b, m := U128{word(r), word(r)}, U128{word(r), word(r)}, word(r)
		check("Add", a.Add(b).big(), new(big.Int).Mod(new(big.Int).Add(a.big(), b.big()), two128), a, b)
		check("Sub", a.Sub(b).big(), new(big.Int).Mod(new(big.Int).Sub(a.big(), b.big()), two128), a, b)
		check("Double", a.Double().big(), new(big.Int).Mod(new(big.Int).Lsh(a.big(), 1), two128), a)
		check("Half", a.Half().big(), new(big.Int).Rsh(a.big(), 1), a)
		is("Cmp", a.Cmp(b) == a.big().Cmp(b.big()), a, b)
		is("Append", string(a.Append(nil)) == a.big().String(), a)
		f, _ := new(big.Float).SetInt(a.big()).Float64()
		is("Float", a.Float() == f, a)
		if f < 1<<127 {
			check("FromFloat", FromFloat(f).big(), intOf(f), f)
		}
		if m != 0 {
			q, rem := a.DivWord(m)
			check("DivWord", q.big(), new(big.Int).Div(a.big(), From(m).big()), a, m)
			check("DivWord's remainder", From(rem).big(), new(big.Int).Mod(a.big(), From(m).big()), a, m)
		}
		if !b.IsZero() {
			q, rem := a.Div(b)
			check("Div", q.big(), new(big.Int).Div(a.big(), b.big()), a, b)
			check("Div's remainder", rem.big(), new(big.Int).Mod(a.big(), b.big()), a, b)
		}
		x, y := U128{a.Hi >> 32, a.Lo}, U128{b.Hi >> 32, b.Lo}
		check("Mul", Mul(x, y).big(), new(big.Int).Mul(x.big(), y.big()), x, y)

		c, d, n := U192{word(r), word(r), word(r)}, U192{word(r), word(r), word(r)}, uint(r.IntN(200))
		sum, ok := c.Add(d)
		whole := new(big.Int).Add(c.big(), d.big())
		check("Add", sum.big(), new(big.Int).Mod(whole, two192), c, d)
		is("Add's carry", ok == (whole.Cmp(two192) < 0), c, d)
		check("Sub", c.Sub(d).big(), new(big.Int).Mod(new(big.Int).Sub(c.big(), d.big()), two192), c, d)
		is("Cmp", c.Cmp(d) == c.big().Cmp(d.big()), c, d)
		check("MulWord", c.MulWord(m).big(), new(big.Int).Mod(new(big.Int).Mul(c.big(), From(m).big()), two192), c, m)
		check("Shl", c.Shl(n).big(), new(big.Int).Mod(new(big.Int).Lsh(c.big(), n), two192), c, n)
		check("Shr", c.Shr(n).big(), new(big.Int).Rsh(c.big(), n), c, n)
		is("BitLen", c.BitLen() == c.big().BitLen(), c)
		if m != 0 {
			q, rem := c.DivWord(m)
			check("DivWord", q.big(), new(big.Int).Div(c.big(), From(m).big()), c, m)
			check("DivWord's remainder", From(rem).big(), new(big.Int).Mod(c.big(), From(m).big()), c, m)
		}
		if d != (U192{}) {
			check("Mod", c.Mod(d).big(), new(big.Int).Mod(c.big(), d.big()), c, d)
		}
	}
}

func intOf(f float64) *big.Int {
	n, _ := big.NewFloat(f).Int(nil)
	return n
}

func TestPowersOfTen(t *testing.T) {
	for n := range 39 {
		want := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
		if From10(n).big().Cmp(want) != 0 {
			t.Errorf("10^%d is %s", n, From10(n).big())
		}
		if n < 20 && From(Pow10(n)).big().Cmp(want) != 0 {
			t.Errorf("10^%d is %d", n, Pow10(n))
		}
	}
}
