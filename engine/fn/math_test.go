package fn_test

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/nacredb/nacre/engine/decimal"
	"github.com/nacredb/nacre/engine/value"
)

func numbers(fs []float64) value.Value {
	out := make([]value.Value, len(fs))
	for i, f := range fs {
		out[i] = value.Float(f)
	}
	return value.ArrayOf(out)
}

// close allows for another order of rounding.
func closeTo(a, b float64) bool {
	return a == b || math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b))
}

func TestVectorsAgainstPlainLoops(t *testing.T) {
	l := newLibrary(t)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "n")
		item := rapid.Float64Range(-100, 100)
		a, b := rapid.SliceOfN(item, n, n).Draw(t, "a"), rapid.SliceOfN(item, n, n).Draw(t, "b")
		var dot, aa, bb, manhattan, chebyshev, euclid float64
		for i := range a {
			dot += a[i] * b[i]
			aa += a[i] * a[i]
			bb += b[i] * b[i]
			d := math.Abs(a[i] - b[i])
			manhattan += d
			chebyshev = max(chebyshev, d)
			euclid += d * d
		}
		va, vb := numbers(a), numbers(b)
		for name, want := range map[string]float64{
			"dot": dot, "distance::manhattan": manhattan, "distance::chebyshev": chebyshev,
			"distance::euclidean": math.Sqrt(euclid),
			"similarity::cosine":  dot / (math.Sqrt(aa) * math.Sqrt(bb)),
		} {
			if got := l.call("vector::"+name, va, vb).Float(); !closeTo(got, want) {
				t.Fatalf("%s: got %v, want %v", name, got, want)
			}
		}
		if m := l.call("vector::distance::minkowski", va, vb, value.Int(2)).Float(); !closeTo(m, math.Sqrt(euclid)) {
			t.Fatalf("minkowski of order 2: %v", m)
		}
		sum := l.call("vector::add", l.call("vector::subtract", va, vb), vb).Elems()
		for i, v := range sum {
			if !closeTo(v.Float(), a[i]) {
				t.Fatalf("a - b + b: %s", value.ArrayOf(sum))
			}
		}
		if aa <= 1e-290 { // smaller squares have lost digits
			return
		}
		if norm := l.call("vector::magnitude", l.call("vector::normalize", va)).Float(); !closeTo(norm, 1) {
			t.Fatalf("length of a unit vector: %v", norm)
		}
	})
}

func TestStatisticsAgainstSorting(t *testing.T) {
	l := newLibrary(t)
	rapid.Check(t, func(t *rapid.T) {
		fs := rapid.SliceOfN(rapid.Float64Range(-1000, 1000), 1, 30).Draw(t, "numbers")
		for i := range fs {
			fs[i] += 0 // no -0: it is equal to 0, and either may come first
		}
		k := rapid.IntRange(1, 35).Draw(t, "k")
		v := numbers(fs)
		sorted := slices.Clone(fs)
		slices.Sort(sorted)
		n := min(k, len(fs))
		for name, want := range map[string][]float64{"math::bottom": sorted[:n], "math::top": sorted[len(fs)-n:]} {
			got := l.call("array::sort", l.call(name, v, value.Int(int64(k))))
			if got.Text() != numbers(want).Text() {
				t.Fatalf("%s %d of %s: %s", name, k, v, got)
			}
		}
		if got := l.call("math::percentile", v, value.Int(100)).Float(); got != sorted[len(fs)-1] {
			t.Fatalf("percentile 100: %v", got)
		}
		if got := l.call("math::median", v).Float(); !closeTo(got, (sorted[(len(fs)-1)/2]+sorted[len(fs)/2])/2) {
			t.Fatalf("median of %s: %v", v, got)
		}
		mean, variance := l.call("math::mean", v).Float(), l.call("math::variance", v).Float()
		if mean < sorted[0]-1e-9 || mean > sorted[len(fs)-1]+1e-9 || variance < 0 {
			t.Fatalf("mean %v, variance %v", mean, variance)
		}
	})
}

func TestAnglesNearMultiplesOfARightAngle(t *testing.T) {
	l := newLibrary(t)
	for _, tc := range []struct {
		name    string
		x, want float64
	}{
		{"sin", math.Pi, 1.2246467991473532e-16}, {"tan", math.Pi, -1.2246467991473532e-16},
		{"cot", math.Pi, -8165619676597685},
		{"cos", math.Pi / 2, 6.123233995736766e-17}, {"sin", 2 * math.Pi, -2.4492935982947064e-16}, {"sin", 0, 0},
		{"tan", math.Copysign(0, -1), math.Copysign(0, -1)}, {"cos", math.Pi, -1},
		{"acot", 180, 0.005555498400692471}, {"atan", math.Inf(-1), -math.Pi / 2}, {"log10", 1000, 3},
		{"log2", 1024, 10},
	} {
		if got := l.call("math::"+tc.name, value.Float(tc.x)).Float(); got != tc.want ||
			math.Signbit(got) != math.Signbit(tc.want) {
			t.Errorf("%s(%v): got %v, want %v", tc.name, tc.x, got, tc.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(-1e9, 1e9).Draw(t, "x")
		for name, want := range map[string]float64{"sin": math.Sin(x), "cos": math.Cos(x), "atan": math.Atan(x)} {
			if got := l.call("math::"+name, value.Float(x)).Float(); !closeTo(got, want) {
				t.Fatalf("%s(%v): got %v, want %v", name, x, got, want)
			}
		}
	})
}

// rat is a decimal as an exact fraction.
func rat(d decimal.Decimal) *big.Rat {
	r, _ := new(big.Rat).SetString(d.String())
	return r
}

func TestDecimalsRoundExactly(t *testing.T) {
	l := newLibrary(t)
	rapid.Check(t, func(t *rapid.T) {
		d := decimal.Decimal{Hi: rapid.Uint32().Draw(t, "hi"), Lo: rapid.Uint64().Draw(t, "lo"),
			Neg: rapid.Bool().Draw(t, "neg"), Scale: uint8(rapid.IntRange(0, 28).Draw(t, "scale"))}
		v := value.DecimalOf(d)
		low, high, near := l.call("math::floor", v).Decimal(), l.call("math::ceil", v).Decimal(),
			l.call("math::round", v).Decimal()
		exact, half := rat(d), big.NewRat(1, 2)
		if rat(low).Cmp(exact) > 0 || rat(high).Cmp(exact) < 0 ||
			new(big.Rat).Sub(rat(high), rat(low)).Cmp(big.NewRat(1, 1)) > 0 || !rat(low).IsInt() || !rat(high).IsInt() {
			t.Fatalf("%s: floor %s, ceil %s", d, low, high)
		}
		gap := new(big.Rat).Sub(rat(near), exact)
		if gap.Abs(gap).Cmp(half) > 0 || !rat(near).IsInt() {
			t.Fatalf("%s: round %s", d, near)
		}
		if gap.Cmp(half) == 0 && new(big.Int).And(rat(near).Num(), big.NewInt(1)).Sign() != 0 {
			t.Fatalf("%s: the half rounds to odd %s", d, near)
		}
		if d.Neg && (d.Hi != 0 || d.Lo != 0) {
			return
		}
		if root := l.call("math::sqrt", v); root.Kind() == value.KindDecimal {
			square := new(big.Rat).Mul(rat(root.Decimal()), rat(root.Decimal()))
			off := new(big.Rat).Sub(square, exact)
			limit := new(big.Rat).Mul(exact, big.NewRat(1, 1e15))
			if off.Abs(off).Cmp(limit.Add(limit, big.NewRat(1, 1e13))) > 0 {
				t.Fatalf("root of %s: %s", d, root)
			}
		}
	})
}

func TestGlobe(t *testing.T) {
	l := newLibrary(t)
	rapid.Check(t, func(t *rapid.T) {
		point := func(name string) value.Value {
			return value.GeometryOf(&value.Geometry{
				Point: value.Point{X: rapid.Float64Range(-180, 180).Draw(t, name+"x"),
					Y: rapid.Float64Range(-90, 90).Draw(t, name+"y")}})
		}
		a, b, c := point("a"), point("b"), point("c")
		ab, ba := l.call("geo::distance", a, b).Float(), l.call("geo::distance", b, a).Float()
		if !closeTo(ab, ba) || ab < 0 || ab > 20015115 ||
			ab > l.call("geo::distance", a, c).Float()+l.call("geo::distance", c, b).Float()+1e-3 {
			t.Fatalf("distance of %s and %s: %v, %v back", a, b, ab, ba)
		}
		if deg := l.call("geo::bearing", a, b).Float(); deg < -180 || deg > 180 {
			t.Fatalf("bearing from %s to %s: %v", a, b, deg)
		}
		size := rapid.Int64Range(1, 12).Draw(t, "precision")
		hash := l.call("geo::hash::encode", a, value.Int(size))
		back := l.call("geo::hash::decode", hash)
		bits := float64(5 * size)
		p, q := a.Geometry().Point, back.Geometry().Point
		if hash.Len() != int(size) || math.Abs(p.X-q.X) > 360/math.Exp2(math.Ceil(bits/2)) ||
			math.Abs(p.Y-q.Y) > 180/math.Exp2(math.Floor(bits/2)) {
			t.Fatalf("%s as %s is %s", a, hash, back)
		}
		if again := l.call("geo::hash::encode", back, value.Int(size)); again.Str() != hash.Str() {
			t.Fatalf("%s: the middle of its cell is in %s", hash, again)
		}
	})
}
