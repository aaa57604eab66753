package fn_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nacredb/nacre/engine/fn"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/engine/value/valuetest"
)

// TestTextsOfValuesReadBack: type::string and the cast of each kind are inverse.
func TestTextsOfValuesReadBack(t *testing.T) {
	l := newLibrary(t)
	names := map[value.Kind]string{value.KindInt: "int", value.KindDecimal: "decimal", value.KindDatetime: "datetime",
		value.KindDuration: "duration",
		value.KindUUID:     "uuid", value.KindBool: "bool", value.KindString: "string"}
	rapid.Check(t, func(t *rapid.T) {
		v := valuetest.Value(0).Draw(t, "value")
		name, ok := names[v.Kind()]
		if !ok {
			t.Skip("no text form")
		}
		text := l.call("type::string", v)
		back, err := l.try("type::"+name, text)
		if v.Kind() == value.KindDatetime && err != nil {
			t.Skip("a year of five digits has no text that is read")
		}
		if err != nil || value.Compare(back, v) != 0 {
			t.Fatalf("%s as %s is %s, %v", v, text, back, err)
		}
		if b := l.call("type::bytes", text); l.call("type::string", b).Str() != text.Str() ||
			l.call("bytes::len", b).Int() != int64(len(text.Str())) {
			t.Fatalf("the bytes of %s are %s", text, b)
		}
	})
}

func TestVersionsAreMadeOfTheirParts(t *testing.T) {
	l := newLibrary(t)
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.Int64Range(0, 1<<40)
		a, b, c := part.Draw(t, "major"), part.Draw(t, "minor"), part.Draw(t, "patch")
		v := value.Str("0.0.0" + rapid.SampledFrom([]string{"", "-rc.1", "+b", "-a+b"}).Draw(t, "suffix"))
		for name, n := range map[string]int64{"major": a, "minor": b, "patch": c} {
			v = l.call("string::semver::set::"+name, v, value.Int(n))
		}
		for name, n := range map[string]int64{"major": a, "minor": b, "patch": c} {
			if got := l.call("string::semver::"+name, v).Int(); got != n {
				t.Fatalf("%s of %s: %d", name, v, got)
			}
			if got := l.call("string::semver::"+name, l.call("string::semver::inc::"+name, v)).Int(); got != n+1 {
				t.Fatalf("%s after %s: %d", name, v, got)
			}
		}
	})
}

func TestFunctionsOfNumbersAndTheirInverse(t *testing.T) {
	l := newLibrary(t)
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(1e-6, 1e6).Draw(t, "x")
		of := func(name string, args ...float64) float64 {
			vs := make([]value.Value, len(args))
			for i, a := range args {
				vs[i] = value.Float(a)
			}
			return l.call("math::"+name, vs...).Float()
		}
		u := rapid.Float64Range(-1, 1).Draw(t, "u")
		for what, pair := range map[string][2]float64{
			"radians": {of("rad2deg", of("deg2rad", x)), x}, "root": {of("pow", of("sqrt", x), 2), x},
			"ln": {math.Exp(of("ln", x)), x}, "log2": {math.Exp2(of("log2", x)), x},
			"log10": {math.Pow(10, of("log10", x)), x}, "log": {math.Pow(7, of("log", x, 7)), x},
			"sine": {of("sin", of("asin", u)), u}, "cosine": {of("cos", of("acos", u)), u},
			"tangent":   {of("tan", of("atan", u)), u},
			"cotangent": {of("cot", x), 1 / math.Tan(x)}, "lerp": {of("lerp", u, x, 1), x},
		} {
			if !closeTo(pair[0], pair[1]) && math.Abs(pair[0]-pair[1]) > 1e-7*math.Abs(pair[1]) {
				t.Fatalf("%s: got %v, want %v", what, pair[0], pair[1])
			}
		}
	})
}

// TestVectorsAgainstPlainFloats holds the functions of vectors that have no test of their own.
func TestVectorsAgainstPlainFloats(t *testing.T) {
	l := newLibrary(t)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "n")
		item := rapid.Float64Range(-100, 100)
		a, b := rapid.SliceOfN(item, n, n).Draw(t, "a"), rapid.SliceOfN(item, n, n).Draw(t, "b")
		f := item.Draw(t, "factor")
		va, vb := numbers(a), numbers(b)
		var dot, aa, bb, sumA, sumB, cubes float64
		differ := 0
		for i := range a {
			dot, aa, bb, sumA, sumB = dot+a[i]*b[i], aa+a[i]*a[i], bb+b[i]*b[i], sumA+a[i], sumB+b[i]
			cubes += math.Pow(math.Abs(a[i]-b[i]), 3)
			if a[i] != b[i] {
				differ++
			}
		}
		var cov, varA, varB float64
		for i := range a {
			da, db := a[i]-sumA/float64(n), b[i]-sumB/float64(n)
			cov, varA, varB = cov+da*db, varA+da*da, varB+db*db
		}
		for name, want := range map[string]float64{"distance::hamming": float64(differ),
			"similarity::pearson": cov / math.Sqrt(varA*varB),
			"angle":               math.Acos(max(-1, min(1, dot/math.Sqrt(aa*bb))))} {
			if name != "distance::hamming" && (n < 2 || isConstant(a) || isConstant(b) || aa*bb == 0) {
				continue // these are errors, or nearly: the squares of very small numbers are 0
			}
			got := l.call("vector::"+name, va, vb)
			x := float64(0)
			if x = got.Float(); got.Kind() == value.KindInt {
				x = float64(got.Int())
			}
			if !closeTo(x, want) && math.Abs(x-want) > 1e-5 && !(varA < 1e-9 || varB < 1e-9) {
				t.Fatalf("%s: got %v, want %v", name, x, want)
			}
		}
		if got := l.call("vector::distance::minkowski", va, vb, value.Int(3)).Float(); !closeTo(got, math.Cbrt(cubes)) {
			t.Fatalf("minkowski of order 3: %v, want %v", got, math.Cbrt(cubes))
		}
		if got := l.call("vector::magnitude", va).Float(); !closeTo(got, math.Sqrt(aa)) {
			t.Fatalf("magnitude: %v, want %v", got, math.Sqrt(aa))
		}
		for name, want := range map[string]func(i int) float64{
			"multiply": func(i int) float64 { return a[i] * b[i] },
			"divide":   func(i int) float64 { return a[i] / b[i] }, "add": func(i int) float64 { return a[i] + b[i] },
			"subtract": func(i int) float64 { return a[i] - b[i] },
			"project":  func(i int) float64 { return b[i] * dot / bb },
		} {
			if name == "divide" && slices.Contains(b, 0) || name == "project" && bb == 0 {
				continue // these are errors
			}
			for i, got := range l.call("vector::"+name, va, vb).Elems() {
				if w := want(i); !closeTo(got.Float(), w) && !(bb < 1e-9 && name == "project") {
					t.Fatalf("%s at %d: got %s, want %v", name, i, got, w)
				}
			}
		}
		for i, got := range l.call("vector::scale", va, value.Float(f)).Elems() {
			if !closeTo(got.Float(), a[i]*f) {
				t.Fatalf("scale at %d: %s", i, got)
			}
		}
		c, d := numbers(append(a, 0, 0)[:3]), numbers(append(b, 0, 0)[:3])
		cross := l.call("vector::cross", c, d)
		for _, v := range []value.Value{c, d} {
			if x := l.call("vector::dot", cross, v); math.Abs(x.Float()) > 1e-6 {
				t.Fatalf("the cross product of %s and %s is not at a right angle: %s", c, d, x)
			}
		}
		sa, sb := value.Set(va.Elems()...), value.Set(vb.Elems()...)
		both := float64(l.call("set::intersect", sa, sb).Len())
		if got := l.call("vector::similarity::jaccard", va,
			vb).Float(); got != both/float64(l.call("set::union", sa, sb).Len()) {
			t.Fatalf("jaccard: %v", got)
		}
	})
}

// TestKnownDistances holds the globe to lengths that are known: of its degrees, and between cities (great circles, km).
func TestKnownDistances(t *testing.T) {
	l := newLibrary(t)
	point := func(x, y float64) value.Value {
		return value.GeometryOf(&value.Geometry{Point: value.Point{X: x, Y: y}})
	}
	const degree = 111195.0802335329
	for _, tc := range []struct{ x1, y1, x2, y2, want float64 }{
		{0, 0, 1, 0, degree}, {0, 0, 0, 1, degree}, {0, 89, 0, 90, degree}, {179.5, 0, -179.5, 0, degree},
		{0, 0, 180, 0, 180 * degree}, {0, -90, 77, 90, 180 * degree}, {0, 60, 180, 60, 60 * degree}, {5, 5, 5, 5, 0},
	} {
		if got := l.call("geo::distance", point(tc.x1, tc.y1),
			point(tc.x2, tc.y2)).Float(); math.Abs(got-tc.want) > 1e-6*(1+tc.want) {
			t.Errorf("%v: got %v, want %v", tc, got, tc.want)
		}
	}
	london, paris, york, sydney, santiago := point(-0.1278, 51.5074), point(2.3522, 48.8566), point(-74.0060, 40.7128),
		point(151.2093, -33.8688), point(-70.6693, -33.4489)
	for _, tc := range []struct {
		from, to value.Value
		km       float64
		bearing  float64
	}{{london, paris, 343.6, 148.1}, {york, london, 5570.2, 51.2}, {sydney, santiago, 11345, 146.9}} {
		if got := l.call("geo::distance", tc.from, tc.to).Float() / 1000; math.Abs(got-tc.km) > 0.003*tc.km {
			t.Errorf("%s to %s: got %v km, want %v", tc.from, tc.to, got, tc.km)
		}
		if got := l.call("geo::bearing", tc.from, tc.to).Float(); tc.bearing != 146.9 &&
			math.Abs(got-tc.bearing) > 0.5 {
			t.Errorf("%s to %s: bearing %v, want %v", tc.from, tc.to, got, tc.bearing)
		}
	}
	ring := func(x1, y1, x2, y2 float64) value.Value {
		return value.GeometryOf(&value.Geometry{Kind: value.GeometryPolygon,
			Rings: [][]value.Point{{{X: x1, Y: y1}, {X: x2, Y: y1}, {X: x2, Y: y2}, {X: x1, Y: y2}, {X: x1, Y: y1}}}})
	}
	// One square degree at the equator is 12,309 km², at 60° north half as much.
	for _, tc := range []struct{ y, km2 float64 }{{0, 12309}, {60, 6092}} {
		if got := l.call("geo::area", ring(0, tc.y, 1, tc.y+1)).Float() / 1e6; math.Abs(got-tc.km2) > 0.01*tc.km2 {
			t.Errorf("a square degree at %v°: got %v km², want %v", tc.y, got, tc.km2)
		}
	}
	for hash, want := range map[string][2]float64{"u4pruydqqvj": {10.40744, 57.64911}, "gbsuv": {-4.3286, 48.6693},
		"ezs42": {-5.603, 42.605}, "9q8yyk8ytpxr": {-122.41942, 37.77493}} {
		p := l.call("geo::hash::decode", value.Str(hash)).Geometry().Point
		if math.Abs(p.X-want[0]) > 0.03 || math.Abs(p.Y-want[1]) > 0.03 {
			t.Errorf("%s: %v", hash, p)
		}
		if again := l.call("geo::hash::encode", point(p.X, p.Y), value.Int(int64(len(hash)))); again.Str() != hash {
			t.Errorf("%s: again %s", hash, again)
		}
	}
}

// TestTimesOverTheWholeRange: counts since 1970 and rounding from the first to the last second there is.
func TestTimesOverTheWholeRange(t *testing.T) {
	l := newLibrary(t)
	rapid.Check(t, func(t *rapid.T) {
		d := someTime().Draw(t, "time")
		at := value.DatetimeOf(d)
		for _, tc := range []struct {
			name, from string
			each       uint32 // nanoseconds
		}{{"unix", "from_unix", 1e9}, {"millis", "from_millis", 1e6}, {"micros", "from_micros", 1e3}} {
			back := l.call("time::"+tc.from, l.call("time::"+tc.name, at)).Datetime()
			if want := (value.Datetime{Secs: d.Secs, Nanos: d.Nanos / tc.each * tc.each}); back != want {
				t.Fatalf("%s of %s and back: %s", tc.name, at, value.DatetimeOf(back))
			}
		}
		std := time.Unix(d.Secs, int64(d.Nanos)).UTC()
		leap := std.Year()%4 == 0 && (std.Year()%100 != 0 || std.Year()%400 == 0)
		if got := l.call("time::is_leap_year", at).Bool(); got != leap {
			t.Fatalf("leap year %s: %v", at, got)
		}
		step := value.DurationOf(value.Duration{
			Secs: rapid.SampledFrom([]uint64{1, 60, 3600, 86400, 604800, 31536000}).Draw(t, "step")})
		// Rounding counts nanoseconds from 1970 in 64 bits, so it ends 292 years from there.
		floor, err := l.try("time::floor", at, step)
		near := d.Secs > -9e9 && d.Secs < 9e9
		if near != (err == nil) && (d.Secs < -9223372037 || d.Secs > 9223372036 || near) ||
			err == nil && (value.Compare(floor, at) > 0 || d.Secs-floor.Datetime().Secs > int64(step.Duration().Secs)) {
			t.Fatalf("floor of %s to %s: %s, %v", at, step, floor, err)
		}
		if year := l.call("time::format", at, value.Str("%Y")).Str(); strings.TrimLeft(year,
			"+-0") != strings.TrimLeft(strings.TrimLeft(std.Format("2006"), "-"), "0") && std.Year() >= 0 &&
			std.Year() <= 9999 {
			t.Fatalf("year of %s: %s", at, year)
		}
		if d.Secs < lastSecond {
			next := value.DatetimeOf(value.Datetime{Secs: d.Secs + 1, Nanos: d.Nanos})
			if l.call("time::max", value.Array(at, next, at)).Datetime() != next.Datetime() ||
				l.call("time::min", value.Array(next, at)).Datetime() != d {
				t.Fatalf("extremes of %s and the second after", at)
			}
		}
	})
}

// TestComparisonsOfTextsEndWithTheStatement: what takes a hundred million steps looks at the time.
func TestComparisonsOfTextsEndWithTheStatement(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	l := &library{t, fn.Library(), timed{host{}, ctx}}
	a, b := value.Str(strings.Repeat("ab", 1000)), value.Str(strings.Repeat("ba", 1000))
	for _, name := range []string{"distance::levenshtein", "distance::damerau_levenshtein", "distance::osa",
		"distance::normalized_levenshtein", "distance::normalized_damerau_levenshtein",
		"similarity::jaro", "similarity::jaro_winkler", "similarity::fuzzy", "similarity::smithwaterman"} {
		if v, err := l.try("string::"+name, a, b); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %s, %v", name, v, err)
		}
	}
}
