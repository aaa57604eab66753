package fn_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine/value"
)

func BenchmarkFunctions(b *testing.B) {
	l := newLibrary(b)
	r := rand.New(rand.NewPCG(1, 2))
	many, few := make([]value.Value, 1000), make([]value.Value, 8)
	for i := range many {
		many[i] = value.Int(r.Int64N(800))
	}
	for i := range few {
		few[i] = value.Int(int64(i))
	}
	va, vb := make([]value.Value, 384), make([]value.Value, 384)
	for i := range va {
		va[i], vb[i] = value.Float(r.NormFloat64()), value.Float(r.NormFloat64())
	}
	thousand, eight := value.ArrayOf(many), value.ArrayOf(few)
	x, y := value.ArrayOf(va), value.ArrayOf(vb)
	text := value.Str(strings.Repeat("The quick brown Fox jumps. ", 8))
	accented := value.Str(strings.Repeat("Ünïcödé Straße ", 8))
	at := value.DatetimeOf(value.Datetime{Secs: 1714979289, Nanos: 123_000_000})
	twice := value.ClosureOf(closure(func(args []value.Value) (value.Value, error) {
		return value.Int(2 * args[0].Int()), nil
	}))
	for _, bm := range []struct {
		label, name string
		args        []value.Value
	}{
		{"array::len", "array::len", []value.Value{eight}},
		{"array::at", "array::at", []value.Value{eight, value.Int(-1)}},
		{"array::push", "array::push", []value.Value{eight, value.Int(9)}},
		{"array::distinct/8", "array::distinct", []value.Value{eight}},
		{"array::distinct/1000", "array::distinct", []value.Value{thousand}},
		{"array::sort/1000", "array::sort", []value.Value{thousand}},
		{"array::union/1000", "array::union", []value.Value{thousand, thousand}},
		{"array::map/1000", "array::map", []value.Value{thousand, twice}},
		{"array::join/8", "array::join", []value.Value{eight, value.Str(",")}},
		{"string::len", "string::len", []value.Value{text}},
		{"string::lowercase", "string::lowercase", []value.Value{text}},
		{"string::lowercase/unicode", "string::lowercase", []value.Value{accented}},
		{"string::concat", "string::concat", []value.Value{text, value.Int(1), at}},
		{"string::split", "string::split", []value.Value{text, value.Str(" ")}},
		{"string::slice", "string::slice", []value.Value{text, value.Int(4), value.Int(20)}},
		{"string::matches", "string::matches", []value.Value{text, value.Str(`F\w+ jumps`)}},
		{"string::slug", "string::slug", []value.Value{accented}},
		{"string::distance::levenshtein", "string::distance::levenshtein",
			[]value.Value{value.Str("kitten sitting"), value.Str("sitting kitten")}},
		{"string::similarity::fuzzy", "string::similarity::fuzzy", []value.Value{text, value.Str("qbf")}},
		{"math::sum/1000", "math::sum", []value.Value{thousand}},
		{"math::mean/1000", "math::mean", []value.Value{thousand}},
		{"math::round", "math::round", []value.Value{value.Float(1.5)}},
		{"math::fixed", "math::fixed", []value.Value{value.Float(3.14159), value.Int(2)}},
		{"vector::dot/384", "vector::dot", []value.Value{x, y}},
		{"vector::similarity::cosine/384", "vector::similarity::cosine", []value.Value{x, y}},
		{"vector::distance::euclidean/384", "vector::distance::euclidean", []value.Value{x, y}},
		{"vector::add/384", "vector::add", []value.Value{x, y}},
		{"time::format", "time::format", []value.Value{at, value.Str("%Y-%m-%dT%H:%M:%S%.3f")}},
		{"time::group", "time::group", []value.Value{at, value.Str("hour")}},
		{"crypto::sha256", "crypto::sha256", []value.Value{text}},
		{"crypto::blake3", "crypto::blake3", []value.Value{text}},
		{"crypto::md5", "crypto::md5", []value.Value{text}},
		{"rand::id", "rand::id", nil},
		{"rand::uuid", "rand::uuid", nil},
		{"type::is_string", "type::is_string", []value.Value{text}},
		{"type::int", "type::int", []value.Value{value.Str("42")}},
		{"parse::url::host", "parse::url::host", []value.Value{value.Str("https://example.com:8080/a/b?c=d#e")}},
	} {
		b.Run(bm.label, func(b *testing.B) {
			f, _ := l.table.Function(bm.name)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f.Call(l.host, bm.args); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkLibrary(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		newLibrary(b)
	}
}
