package real

import (
	"math"
	"testing"
)

// The wanted values were computed with 90 decimal digits.
func TestFunctionsAreCorrectlyRounded(t *testing.T) {
	for _, c := range []struct {
		name    string
		f       func(float64) float64
		x, want float64
	}{
		{"Sin", Sin, 0.7, 0.644217687237691},
		{"Sin", Sin, 1.0, 0.8414709848078965},
		{"Sin", Sin, 3.0, 0.1411200080598672},
		{"Sin", Sin, -0.10846522497035593, -0.10825267314310641},
		{"Sin", Sin, 710.0, 6.0288706691585265e-05},
		{"Sin", Sin, 1000000000.0, 0.5458434494486996},
		{"Sin", Sin, 123456789.123, 0.9998429395520451},
		{"Cos", Cos, 0.7, 0.7648421872844885},
		{"Cos", Cos, 1.5707963267948966, 6.123233995736766e-17},
		{"Cos", Cos, -988.23, -0.19779743017115894},
		{"Cos", Cos, 10.0, -0.8390715290764524},
		{"Cos", Cos, 600000.0, 0.9770747499486838},
		{"Cos", Cos, 1000000000000.0, 0.7914463018528902},
		{"Tan", Tan, 0.3, 0.30933624960962325},
		{"Tan", Tan, -7.5346121354230355, -3.0239819105782773},
		{"Tan", Tan, 10.0, 0.6483608274590866},
		{"Tan", Tan, 1.5707, 10381.327417569786},
		{"Atan", Atan, -0.10846522497035593, -0.10804284867258306},
		{"Atan", Atan, 0.5, 0.4636476090008061},
		{"Atan", Atan, 3.0, 1.2490457723982544},
		{"Atan", Atan, -1000000.0, -1.5707953267948966},
		{"Atan", Atan, 1e+30, 1.5707963267948966},
		{"Asin", Asin, 0.0700689250822748, 0.07012638782746458},
		{"Asin", Asin, 0.5, 0.5235987755982989},
		{"Asin", Asin, -0.999999999, -1.5707516054359754},
		{"Asin", Asin, 1e-05, 1.0000000000166668e-05},
		{"Acos", Acos, 0.9862247128343338, 0.16617478919599962},
		{"Acos", Acos, -0.5, 2.0943951023931957},
		{"Acos", Acos, 0.999999999999, 1.4141979198683931e-06},
		{"Acos", Acos, 0.1, 1.4706289056333368},
		{"Log", Log, 3.0, 1.0986122886681098},
		{"Log", Log, 0.8993110885185025, -0.10612626597143997},
		{"Log", Log, 1.0000000001, 1.000000082690371e-10},
		{"Log", Log, 1e-300, -690.7755278982137},
		{"Log", Log, 5e-324, -744.4400719213812},
		{"Log", Log, 1e+300, 690.7755278982137},
		{"Log2", Log2, 5.006994656863791, 2.323944915872991},
		{"Log2", Log2, 3.0, 1.584962500721156},
		{"Log2", Log2, 1e-09, -29.897352853986263},
		{"Log2", Log2, 8.0, 3.0},
		{"Exp", Exp, 662.1800797348601, 3.812015475901467e+287},
		{"Exp", Exp, 1.0, 2.718281828459045},
		{"Exp", Exp, -3.25, 0.03877420783172201},
		{"Exp", Exp, 1e-09, 1.000000001},
		{"Exp", Exp, -700.0, 9.85967654375977e-305},
	} {
		if got := c.f(c.x); got != c.want {
			t.Errorf("%s(%v) = %v, want %v", c.name, c.x, got, c.want)
		}
	}
	for _, c := range []struct{ x, y, want float64 }{
		{2.5, 1.5, 3.952847075210474},
		{8.599890349158663, 15.692793575135411, 462172813655543.0},
		{1.0000001, 10000000.0, 2.7182816941320818},
		{3.0, -7.0, 0.0004572473708276177},
		{10.0, -20.0, 1e-20},
		{0.1, 0.1, 0.7943282347242815},
	} {
		if got := Pow(c.x, c.y); got != c.want {
			t.Errorf("Pow(%v, %v) = %v, want %v", c.x, c.y, got, c.want)
		}
	}
}

// Powers of ten are whole.
func TestLog10OfPowers(t *testing.T) {
	for k := -300; k <= 308; k++ {
		if got := Log10(math.Pow10(k)); got != float64(k) {
			t.Errorf("Log10(1e%d) = %v", k, got)
		}
	}
}

// What has no finite answer, and results at the ends of the floats, are those of the standard library.
func TestSpecialCases(t *testing.T) {
	special := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, 2, 3, -3, math.Inf(1), math.Inf(-1), math.NaN(),
		math.MaxFloat64, math.SmallestNonzeroFloat64, -math.MaxFloat64, 1e-310}
	same := func(a, b float64) bool {
		return math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b) ||
			math.Abs(a-b) <= 1e-13*math.Max(math.Abs(a), 1e-300)
	}
	log := func(x float64) float64 { // math.Log of the smallest floats is wrong on some processors
		if x > 0 && x < 1e-300 {
			return math.Log(math.Ldexp(x, 100)) - 100*math.Ln2
		}
		return math.Log(x)
	}
	for _, x := range special {
		for _, c := range []struct {
			name      string
			got, want float64
		}{
			{"Sin", Sin(x), math.Sin(x)}, {"Cos", Cos(x), math.Cos(x)}, {"Tan", Tan(x), math.Tan(x)},
			{"Asin", Asin(x), math.Asin(x)}, {"Acos", Acos(x), math.Acos(x)}, {"Atan", Atan(x), math.Atan(x)},
			{"Log", Log(x), log(x)}, {"Log2", Log2(x), math.Log2(x)}, {"Log10", Log10(x), log(x) / math.Ln10},
			{"Exp", Exp(x), math.Exp(x)},
		} {
			if !same(c.got, c.want) {
				t.Errorf("%s(%v) = %v, want %v", c.name, x, c.got, c.want)
			}
		}
		for _, y := range special {
			if got, want := Pow(x, y), math.Pow(x, y); !same(got, want) {
				t.Errorf("Pow(%v, %v) = %v, want %v", x, y, got, want)
			}
			if got, want := Atan2(x, y), math.Atan2(x, y); !same(got, want) {
				t.Errorf("Atan2(%v, %v) = %v, want %v", x, y, got, want)
			}
		}
	}
}

func BenchmarkSin(b *testing.B) { bench(b, Sin) }
func BenchmarkLog(b *testing.B) { bench(b, Log) }
func BenchmarkPow(b *testing.B) { bench(b, func(x float64) float64 { return Pow(x, 1.5) }) }
func BenchmarkTan(b *testing.B) { bench(b, Tan) }

func bench(b *testing.B, f func(float64) float64) {
	x, total := 0.5, 0.0
	for b.Loop() {
		total += f(x)
		x += 0.37
		if x > 100 {
			x = 0.5
		}
	}
	if math.IsNaN(total) {
		b.Fatal("not a number")
	}
}
func BenchmarkSinOfMath(b *testing.B) { bench(b, math.Sin) }
