package fn_test

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/engine/value/valuetest"
)

// plain generates values that JSON has.
func plain(depth int) *rapid.Generator[value.Value] {
	scalars := []*rapid.Generator[value.Value]{
		rapid.SampledFrom([]value.Value{value.Null, value.Bool(false), value.Bool(true), value.Int(math.MinInt64),
			value.Int(math.MaxInt64)}),
		rapid.Map(rapid.Int64(), value.Int), rapid.Map(rapid.Float64(), value.Float), rapid.Map(anyText(), value.Str),
	}
	if depth == 0 {
		return rapid.OneOf(scalars...)
	}
	inner := rapid.Deferred(func() *rapid.Generator[value.Value] { return plain(depth - 1) })
	return rapid.OneOf(append(scalars, rapid.Map(rapid.SliceOfN(inner, 0, 4), value.ArrayOf),
		rapid.Custom(func(t *rapid.T) value.Value {
			var fields []value.Field
			for range rapid.IntRange(0, 4).Draw(t, "fields") {
				fields = append(fields, value.Field{Name: anyText().Draw(t, "name"), Value: inner.Draw(t, "value")})
			}
			return value.ObjectOf(value.NewObject(fields...))
		}))...)
}

func TestJSONIsInverse(t *testing.T) {
	l := newLibrary(t)
	rapid.Check(t, func(t *rapid.T) {
		v := plain(3).Draw(t, "value")
		text := l.call("encoding::json::encode", v)
		if back := l.call("encoding::json::decode", text); back.Text() != v.Text() {
			t.Fatalf("%s as %s is %s", v, text, back)
		}
		// Every value gives JSON text, and decoding gives an equal value back.
		w := valuetest.Value(3).Draw(t, "any value")
		text = l.call("encoding::json::encode", w)
		if !json.Valid([]byte(text.Str())) {
			t.Fatalf("%s as %s is no JSON", w, text)
		}
		back := l.call("encoding::json::decode", text)
		if again := l.call("encoding::json::decode",
			l.call("encoding::json::encode", back)); again.Text() != back.Text() {
			t.Fatalf("%s is %s, then %s", text, back, again)
		}
	})
}

func TestJSONTexts(t *testing.T) {
	l := newLibrary(t)
	for text, want := range map[string]string{
		`{"b":[1,2.5,-0.0,1e3],"a":null}`: "{ a: NULL, b: [1, 2.5f, -0f, 1000f] }", ` "\u00e9\ud83d\ude00\/" `: "'é😀/'",
		"9223372036854775807": "9223372036854775807", "9223372036854775808": "9223372036854776000f",
		`{"a":1,"a":2}`: "{ a: 2 }",
	} {
		if got := l.call("encoding::json::decode", value.Str(text)).Text(); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	deep := make([]byte, 0, 20000)
	for range 10000 {
		deep = append(deep, '[')
	}
	for _, bad := range []string{"", "{", "[1,]", "01", "nul", "{'a':1}", "1 2", "\"\n\"", `"\ud800`, "NaN", "1e999",
		string(deep)} {
		if v, err := l.try("encoding::json::decode", value.Str(bad)); err == nil ||
			err.Error() != "Incorrect arguments for function encoding::json::decode(). Invalid JSON" {
			t.Errorf("%.20q: %v, %v", bad, v, err)
		}
	}
	for _, tc := range []struct {
		v    value.Value
		want string
	}{
		{value.None, "null"}, {value.Float(1), "1.0"}, {value.Float(math.NaN()), "null"},
		{value.BytesOf([]byte{0, 255}), "[0,255]"},
		{value.Record("person", value.Str("a b")), "\"person:`a b`\""},
		{value.Set(value.Int(2), value.Int(1), value.Int(2)), "[1,2]"},
		{value.DurationOf(value.Duration{Secs: 90}), `"1m30s"`},
		{value.DatetimeOf(value.Datetime{}), `"1970-01-01T00:00:00Z"`},
	} {
		if got := l.call("encoding::json::encode", tc.v).Str(); got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.v, got, tc.want)
		}
	}
}

func TestExpectations(t *testing.T) {
	l := newLibrary(t)
	even := value.ClosureOf(closure(func(args []value.Value) (value.Value, error) {
		return value.Bool(args[0].Int()%2 == 0), nil
	}))
	if v := l.call("value::expect", value.Int(2), even, value.Str("odd")); v.Int() != 2 {
		t.Errorf("what is expected: %s", v)
	}
	for want, args := range map[string][]value.Value{
		"An error occurred: odd": {value.Int(3), even, value.Str("odd")},
		"An error occurred: { code: 7 }": {value.Int(3), even,
			value.ObjectOf(value.NewObject(value.Field{Name: "code", Value: value.Int(7)}))},
		"An error occurred: The value is not as expected": {value.Int(3), even},
	} {
		if v, err := l.try("value::expect", args...); err == nil || err.Error() != want {
			t.Errorf("got %s, %v, want %s", v, err, want)
		}
	}
	if m, ok := l.table.Method("expect"); !ok {
		t.Error("no method")
	} else if _, err := m.Call(l.host, []value.Value{value.Int(1)}); err == nil ||
		err.Error() != "Incorrect arguments for method expect(). Expected 2 to 3 arguments" {
		t.Errorf("without a closure: %v", err)
	}
}

func TestSetsHaveTests(t *testing.T) {
	l := newLibrary(t)
	rapid.Check(t, func(t *rapid.T) {
		items := someItems().Draw(t, "items")
		set := value.Set(items.Elems()...)
		v := value.Int(rapid.Int64Range(0, 9).Draw(t, "v"))
		for _, args := range [][]value.Value{nil, {v}} {
			for _, name := range []string{"all", "any"} {
				a := l.call("array::"+name, append([]value.Value{value.ArrayOf(set.Elems())}, args...)...)
				b := l.call("set::"+name, append([]value.Value{set}, args...)...)
				if a.Bool() != b.Bool() {
					t.Fatalf("%s of %s with %v: %s", name, set, args, b)
				}
			}
		}
		if has := l.call("set::any", set, v).Bool(); has != l.call("set::contains", set, v).Bool() {
			t.Fatalf("any %s in %s: %v", v, set, has)
		}
	})
}

// naiveRanks gives each item one more than the number of lesser ones, and half for each other equal one.
func naiveRanks(items []float64) []float64 {
	out := make([]float64, len(items))
	for i, x := range items {
		out[i] = 1
		for j, y := range items {
			if y < x {
				out[i]++
			} else if y == x && i != j {
				out[i] += 0.5
			}
		}
	}
	return out
}

func isConstant(a []float64) bool { return len(a) == 0 || slices.Min(a) == slices.Max(a) }

func TestSpearmanIsPearsonOfRanks(t *testing.T) {
	l := newLibrary(t)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 20).Draw(t, "n")
		item := rapid.Map(rapid.IntRange(-4, 4), func(i int) float64 { return float64(i) / 2 })
		vector := rapid.SliceOfN(item, n, n).Filter(func(a []float64) bool { return !isConstant(a) })
		a, b := vector.Draw(t, "a"), vector.Draw(t, "b")
		got := l.call("vector::similarity::spearman", numbers(a), numbers(b)).Float()
		want := l.call("vector::similarity::pearson", numbers(naiveRanks(a)), numbers(naiveRanks(b))).Float()
		if !closeTo(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		// Only the order counts.
		cubes := slices.Clone(a)
		for i, x := range cubes {
			cubes[i] = x*x*x + x
		}
		if again := l.call("vector::similarity::spearman", numbers(cubes), numbers(b)).Float(); !closeTo(got, again) {
			t.Fatalf("%v, after a monotone change %v", got, again)
		}
	})
	// Without ties the textbook form: 1 - 6·Σd²/(n·(n²-1)).
	if got := l.call("vector::similarity::spearman", ints(1, 2, 3, 4, 5), ints(5, 6, 7, 8, 7)).Float(); !closeTo(got,
		0.8207826816681233) {
		t.Errorf("with a tie: %v", got)
	}
	if got := l.call("vector::similarity::spearman", ints(86, 97, 99, 100, 101, 103, 106, 110, 112, 113),
		ints(2, 20, 28, 27, 50, 29, 7, 17, 6, 12)).Float(); !closeTo(got, -29.0/165) {
		t.Errorf("hours and IQ: %v, want -29/165", got)
	}
	if got := l.call("vector::similarity::spearman", numbers([]float64{1, math.NaN()}),
		ints(1, 2)).Float(); !math.IsNaN(got) {
		t.Errorf("with NaN: %v", got)
	}
}

// TestMahalanobis holds the distance to the definition: with S = M·Mᵀ it is the length of M⁻¹·(a−b), so vectors moved
// apart by M·y are at the distance |y|.
func TestMahalanobis(t *testing.T) {
	l := newLibrary(t)
	const name = "vector::distance::mahalanobis"
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "n")
		item := rapid.Float64Range(-3, 3)
		m := make([][]float64, n) // lower triangular with a positive diagonal: regular
		for i := range m {
			m[i] = append(rapid.SliceOfN(item, i, i).Draw(t, "row"), make([]float64, n-i)...)
			m[i][i] = rapid.Float64Range(0.5, 3).Draw(t, "diagonal")
		}
		s := make([]value.Value, n)
		for i := range s {
			row := make([]float64, n)
			for j := range row {
				for k := range n {
					row[j] += m[min(i, j)][k] * m[max(i, j)][k]
				}
			}
			s[i] = numbers(row)
		}
		a, y := rapid.SliceOfN(item, n, n).Draw(t, "a"), rapid.SliceOfN(item, n, n).Draw(t, "y")
		b, length := slices.Clone(a), 0.0
		for i := range b {
			length += y[i] * y[i]
			for k := range n {
				b[i] += m[i][k] * y[k]
			}
		}
		length = math.Sqrt(length)
		got := l.call(name, numbers(a), numbers(b), value.ArrayOf(s)).Float()
		if math.Abs(got-length) > 1e-5*(1+length) {
			t.Fatalf("got %v, want %v", got, length)
		}
		if plain, want := l.call(name, numbers(a), numbers(b)).Float(),
			l.call("vector::distance::euclidean", numbers(a), numbers(b)).Float(); plain != want {
			t.Fatalf("without a matrix: %v, want %v", plain, want)
		}
	})
	matrix := func(rows ...value.Value) value.Value { return value.ArrayOf(rows) }
	if got := l.call(name, ints(0, 0), ints(2, 3), matrix(ints(4, 0), ints(0, 9))).Float(); !closeTo(got, math.Sqrt2) {
		t.Errorf("in units of 2 and 3: %v", got)
	}
	const shape, definite = "The covariance matrix must have the dimension of the vectors.", "The covariance matrix must be symmetric and positive definite."
	for _, tc := range []struct {
		m    value.Value
		want string
	}{
		{matrix(ints(1, 0)), shape}, {matrix(ints(1, 0), ints(0)), shape}, {matrix(), shape},
		{matrix(ints(1, 2), ints(3, 4)), definite},
		{matrix(ints(1, 1), ints(1, 1)), definite}, {matrix(ints(0, 0), ints(0, 1)), definite},
		{matrix(ints(-1, 0), ints(0, 1)), definite},
		{matrix(numbers([]float64{math.NaN(), 0}), ints(0, 1)), definite},
		{matrix(numbers([]float64{math.Inf(1), 0}), ints(0, 1)), definite},
	} {
		if v, err := l.try(name, ints(0, 0), ints(2, 3), tc.m); err == nil ||
			err.Error() != "Incorrect arguments for function "+name+"(). "+tc.want {
			t.Errorf("%s: %s, %v", tc.m, v, err)
		}
	}
	if _, err := l.try(name, ints(0), ints(2, 3)); err == nil {
		t.Error("vectors of two dimensions have a distance")
	}
	if _, err := l.try(name, ints(0), ints(2), matrix(value.Str("a"))); err == nil ||
		err.Error() != "Incorrect arguments for function "+name+
			"(). Argument 3 was the wrong type. Expected `array<number>` but found `'a'` when coercing an element of `array<array<number>>`" {
		t.Errorf("a matrix of texts: %v", err)
	}
}

func TestVectorSum(t *testing.T) {
	l := newLibrary(t)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 6).Draw(t, "n")
		vectors := rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(-99, 99), n, n), 0, 6).Draw(t, "vectors")
		want := make([]int, n)
		var in []value.Value
		for _, v := range vectors {
			in = append(in, ints(v...))
			for i, x := range v {
				want[i] += x
			}
		}
		wantText := ints(want...).Text()
		if len(vectors) == 0 {
			wantText = "NONE"
		}
		if got := l.call("vector::sum", value.ArrayOf(in)); got.Text() != wantText {
			t.Fatalf("got %s, want %s", got, wantText)
		}
	})
	if v, err := l.try("vector::sum", value.Array(ints(1, 2), ints(1))); err == nil {
		t.Errorf("of two dimensions: %s", v)
	}
	first := ints(1, 2)
	if l.call("vector::sum", value.Array(first, first)); first.Text() != "[1, 2]" {
		t.Errorf("the first vector became %s", first)
	}
}
