package fn_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/nacredb/nacre/engine/value"
)

// anyRune generates characters of all 17 planes, each as often as the first.
func anyRune() *rapid.Generator[rune] {
	return rapid.Custom(func(t *rapid.T) rune {
		plane := rapid.IntRange(0, 16).Draw(t, "plane")
		r := rune(plane<<16 | rapid.IntRange(0, 0xffff).Draw(t, "place"))
		if !utf8.ValidRune(r) {
			r -= 0x800 // a surrogate: the character before that block
		}
		return r
	})
}

// anyText generates texts of characters of all planes, with those that are more than one or change their size with the
// case.
func anyText() *rapid.Generator[string] {
	odd := rapid.SampledFrom([]rune("ßİıŉǰΐΰﬁſKÅẞ\u0301\u200d\u00ad\ufeff\u2028\x00\x7f\u0085\U0001f469\U0001f3fd𐐀𐐨"))
	return rapid.OneOf(rapid.StringOfN(anyRune(), 0, 8, -1),
		rapid.StringOfN(rapid.OneOf(anyRune(), odd, odd), 0, 8, -1), rapid.String())
}

// TestTextsOfEveryPlane holds the string functions to their definitions over the scalars of a text.
func TestTextsOfEveryPlane(t *testing.T) {
	l := newLibrary(t)
	rapid.Check(t, func(t *rapid.T) {
		text := anyText().Draw(t, "text")
		rs := []rune(text)
		s := value.Str(text)
		same := func(what string, got value.Value, want string) {
			if got.Str() != want || !utf8.ValidString(got.Str()) {
				t.Fatalf("%s of %+q: got %+q, want %+q", what, text, got.Str(), want)
			}
		}
		if n := l.call("string::len", s).Int(); n != int64(len(rs)) {
			t.Fatalf("len(%+q) = %d", text, n)
		}
		backwards := make([]rune, len(rs))
		for i, r := range rs {
			backwards[len(rs)-1-i] = r
		}
		same("reverse", l.call("string::reverse", s), string(backwards))
		from := rapid.IntRange(0, len(rs)).Draw(t, "from")
		to := rapid.IntRange(from, len(rs)).Draw(t, "to")
		part := string(rs[from:to])
		same("slice", l.call("string::slice", s, value.Int(int64(from)), value.Int(int64(to))), part)
		if from < to && to < len(rs) {
			same("slice from the end",
				l.call("string::slice", s, value.Int(int64(from-len(rs))), value.Int(int64(to-len(rs)))), part)
		}
		same("lowercase", l.call("string::lowercase", s),
			l.call("string::lowercase", l.call("string::lowercase", s)).Str())
		same("repeat", l.call("string::repeat", s, value.Int(3)), text+text+text)
		same("trim", l.call("string::trim", s), strings.TrimFunc(text, unicode.IsSpace))
		pieces := l.call("string::split", s, value.Str("")).Elems()
		if len(pieces) != len(rs)+2 || pieces[0].Str() != "" || pieces[len(rs)+1].Str() != "" {
			t.Fatalf("split(%+q, '') has %d pieces", text, len(pieces))
		}
		for i, r := range rs {
			if pieces[i+1].Str() != string(r) {
				t.Fatalf("piece %d of %+q: %+q", i, text, pieces[i+1].Str())
			}
		}
		for name, want := range map[string]bool{
			"contains": strings.Contains(text, part), "starts_with": strings.HasPrefix(text, part),
			"ends_with": strings.HasSuffix(text, part),
		} {
			if got := l.call("string::"+name, s, value.Str(part)).Bool(); got != want {
				t.Fatalf("%s(%+q, %+q) = %v", name, text, part, got)
			}
		}
		if part != "" {
			same("replace", l.call("string::replace", s, value.Str(part), value.Str("𐍈")),
				strings.ReplaceAll(text, part, "𐍈"))
		}
		words := l.call("string::words", s).Elems()
		want := strings.FieldsFunc(text, unicode.IsSpace)
		if len(words) != len(want) {
			t.Fatalf("words(%+q): %s", text, value.ArrayOf(words))
		}
		for i := range words {
			same("word", words[i], want[i])
		}
		for name, is := range map[string]func(rune) bool{"is_alpha": unicode.IsLetter,
			"is_ascii": func(r rune) bool { return r < 0x80 }} {
			all := len(rs) > 0
			for _, r := range rs {
				all = all && is(r)
			}
			if got := l.call("string::"+name, s).Bool(); got != all &&
				!(name == "is_alpha" && got && !all && alphabetic(rs)) {
				t.Fatalf("%s(%+q) = %v", name, text, got)
			}
		}
		if utf8.ValidString(text) {
			if b := l.call("type::string", l.call("type::bytes", s)); b.Str() != text {
				t.Fatalf("bytes of %+q are the text %+q", text, b.Str())
			}
		}
	})
}

// alphabetic: marks and numbers of letters count as alphabetic in Unicode although they are no letters.
func alphabetic(rs []rune) bool {
	for _, r := range rs {
		if !unicode.In(r, unicode.L, unicode.Nl, unicode.Other_Alphabetic) {
			return false
		}
	}
	return true
}

// TestEditDistancesOfEveryPlane counts scalars, not bytes.
func TestEditDistancesOfEveryPlane(t *testing.T) {
	l := newLibrary(t)
	rapid.Check(t, func(t *rapid.T) {
		a, r := []rune(anyText().Draw(t, "a")), anyRune().Draw(t, "r")
		at := rapid.IntRange(0, len(a)).Draw(t, "at")
		b := append(append(append([]rune(nil), a[:at]...), r), a[at:]...)
		for _, name := range []string{"levenshtein", "damerau_levenshtein", "osa"} {
			if d := l.call("string::distance::"+name, value.Str(string(a)), value.Str(string(b))).Int(); d != 1 {
				t.Fatalf("%s(%+q, %+q) = %d", name, string(a), string(b), d)
			}
		}
		if len(a) > 0 {
			c := append([]rune(nil), a...)
			c[at%len(a)] = r
			want := int64(1)
			if a[at%len(a)] == r {
				want = 0
			}
			if d := l.call("string::distance::hamming", value.Str(string(a)), value.Str(string(c))).Int(); d != want {
				t.Fatalf("hamming(%+q, %+q) = %d", string(a), string(c), d)
			}
		}
	})
}
