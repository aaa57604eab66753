package fn

import "testing"

// The scores are those of the reference.
func TestFuzzyScore(t *testing.T) {
	for _, tc := range []struct {
		text, pattern string
		want          int
	}{
		{"test", "test", 91}, {"test", "TEXT", 0}, {"hello world", "hw", 47}, {"hello_world", "hw", 46},
		{"hello world", "world", 103}, {"HelloWorld", "HW", 46}, {"HelloWorld", "hw", 42}, {"hello-world", "ow", 34},
		{"foo/bar/baz", "fbb", 67}, {"foo/bar/baz", "baz", 63}, {"abcdef", "ace", 55}, {"abcdef", "f", 15},
		{"Test", "test", 89}, {"TEST", "test", 83}, {"xaxbxc", "abc", 39}, {"aab", "ab", 43}, {"a-ab", "ab", 42},
		{"aBC", "abc", 69}, {"xyO", "xo", 47}, {"a", "ab", 0}, {"", "a", 0}, {"a", "", 0}, {"日本語", "日語", 43},
		{"xé", "É", 0}, {"\to", "o", 15}, {"1O", "O", 21}, {"(o", "o", 23}, {"+o", "o", 22}, {"ab ", "b ", 35},
		{"fooBarbaz1", "oBZ", 44}, {"fooBarbaz", "foobb", 102}, {"/man1/zshcompctl.1", "zshc", 83},
		{"xFoo-Bar Baz", "foo-b", 100},
	} {
		if got, err := fuzzyScore(Call{}, new(scratch), []rune(tc.text), []rune(tc.pattern)); err != nil ||
			got != tc.want {
			t.Errorf("%q in %q: got %d, want %d", tc.pattern, tc.text, got, tc.want)
		}
	}
}
