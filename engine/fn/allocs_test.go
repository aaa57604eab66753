//go:build !race

// Under the race detector a stock of memory forgets at random.

package fn_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine/value"
)

// TestCallsAllocateNoMoreThanTheirResults holds, for the hot families, that a call whose result needs no memory of its
// own takes none, and one that makes a text or a list takes just that.
func TestCallsAllocateNoMoreThanTheirResults(t *testing.T) {
	l := newLibrary(t)
	text := value.Str("The quick brown Fox jumps over the lazy dog")
	accented := value.Str("Ünïcödé Straße")
	eight, other := ints(3, 1, 4, 1, 5, 9, 2, 6), ints(2, 7, 1, 8, 2, 8, 1, 8)
	x, y := numbers([]float64{1, 2.5, -3, 4, 0.5}), numbers([]float64{2, 0.5, 1, -4, 2})
	at := value.DatetimeOf(value.Datetime{Secs: 1714979289, Nanos: 123_000_000})
	set := value.Set(eight.Elems()...)
	strs := func(ss ...string) (out []value.Value) {
		for _, s := range ss {
			out = append(out, value.Str(s))
		}
		return out
	}
	const none, one = 0, 1
	for _, tc := range []struct {
		names string // functions of one family, without it
		args  []value.Value
		most  float64
	}{
		{"array: len is_empty first last pop max min all any", []value.Value{eight}, none},
		{"array: at", []value.Value{eight, value.Int(-2)}, none},
		{"array: find find_index all any", []value.Value{eight, value.Int(9)}, none},
		{"array: push append prepend add", []value.Value{eight, value.Int(70)}, one},
		{"array: reverse sort distinct boolean_not shuffle sort::asc sort::desc", []value.Value{eight}, one},
		{"array: concat boolean_and boolean_or logical_and logical_xor complement", []value.Value{eight, other}, one},
		{"array: remove clump windows insert slice matches filter filter_index", []value.Value{eight, value.Int(1)}, 2},
		{"array: join", []value.Value{value.ArrayOf(strs("a", "bc", "d")), value.Str(",")}, one},
		{"set: len is_empty first last max min all any", []value.Value{set}, none},
		{"set: contains find", []value.Value{set, value.Int(9)}, none},
		{"string: len is_alpha is_alphanum is_ascii is_hexadecimal is_numeric is_latitude is_longitude is_ip is_ipv4 is_ipv6 is_ulid is_uuid is_semver trim is_domain is_email", []value.Value{text}, none},
		{"string: len is_alpha trim", []value.Value{accented}, none},
		{"string: contains starts_with ends_with", []value.Value{text, value.Str("Fox")}, none},
		{"string: matches", []value.Value{text, value.Str(`F\w+ jumps`)}, none},
		{"string: slice", []value.Value{text, value.Int(4), value.Int(20)}, none},
		{"string: lowercase uppercase reverse capitalize", []value.Value{text}, one},
		{"string: reverse capitalize", []value.Value{accented}, 4},
		{"string: lowercase uppercase", []value.Value{accented}, 3},
		{"string: concat", append(strs("a", "bcd"), value.Int(7), at), one},
		{"string: join", append(strs(", ", "a", "bcd"), value.Int(7)), one},
		{"string: repeat", []value.Value{text, value.Int(3)}, one},
		{"string: replace", strs("a fox", "fox", "dog"), one},
		{"string: split", []value.Value{text, value.Str(" ")}, one},
		{"string: words", []value.Value{text}, one},
		{"string::distance: levenshtein damerau_levenshtein osa normalized_levenshtein normalized_damerau_levenshtein", strs("kitten sitting", "sitting kitten"), none},
		{"string::distance: hamming", strs("kitten", "sitten"), none},
		{"string::similarity: jaro jaro_winkler sorensen_dice fuzzy smithwaterman", strs("kitten sitting", "sitting"), none},
		{"string::semver: major minor patch", strs("1.22.333-a+b"), none},
		{"string::semver: compare", strs("1.22.333-a+b", "1.22.333-a+c"), none},
		{"math: abs acos acot asin atan ceil cos cot deg2rad floor ln log10 log2 rad2deg round sign sin sqrt tan", []value.Value{value.Float(0.75)}, none},
		{"math: abs ceil floor round sign", []value.Value{value.Int(7)}, none},
		{"math: fixed log pow", []value.Value{value.Float(3.14159), value.Int(2)}, none},
		{"math: clamp lerp lerpangle", []value.Value{value.Float(1.5), value.Float(2), value.Float(3)}, none},
		{"math: sum product mean min max spread stddev variance mode median midhinge interquartile trimean", []value.Value{eight}, none},
		{"math: percentile nearestrank", []value.Value{eight, value.Int(75)}, none},
		{"math: top bottom", []value.Value{eight, value.Int(3)}, 2},
		{"vector: dot angle distance::chebyshev distance::euclidean distance::hamming distance::manhattan distance::mahalanobis similarity::cosine similarity::pearson similarity::spearman similarity::jaccard",
			[]value.Value{x, y}, none},
		{"vector: magnitude", []value.Value{x}, none},
		{"vector: add subtract multiply divide project", []value.Value{x, y}, one},
		{"vector: normalize", []value.Value{x}, one},
		{"vector: scale", []value.Value{x, value.Int(2)}, one},
		{"vector::distance: minkowski", []value.Value{x, y, value.Int(3)}, none},
		{"time: year month day hour minute second wday yday week unix millis micros nano is_leap_year", []value.Value{at}, none},
		{"time: format", []value.Value{at, value.Str("%Y-%m-%dT%H:%M:%S%.3f")}, one},
		{"time: group", []value.Value{at, value.Str("hour")}, none},
		{"time: floor ceil round", []value.Value{at, value.DurationOf(value.Duration{Secs: 3600})}, none},
		{"crypto: blake3 md5 sha1 sha256 sha512", []value.Value{text}, one},
		{"crypto: joaat", []value.Value{text}, none},
		{"type: is_string is_array is_number of int float bool string", strs("7"), none},
	} {
		family, names, _ := strings.Cut(tc.names, ": ")
		for name := range strings.FieldsSeq(names) {
			f, ok := l.table.Function(family + "::" + name)
			if !ok {
				t.Errorf("no function %s::%s", family, name)
				continue
			}
			if _, err := f.Call(l.host, tc.args); err != nil && !slices.Contains([]string{"bool"}, name) {
				t.Errorf("%s: %v", f.Name, err)
				continue
			} else if err != nil {
				continue
			}
			if n := testing.AllocsPerRun(200, func() {
				if _, err := f.Call(l.host, tc.args); err != nil {
					t.Fatal(err)
				}
			}); n > tc.most {
				t.Errorf("%s allocates %v times a call, want at most %v", f.Name, n, tc.most)
			}
		}
	}
}
