package fn_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/nacredb/nacre/engine/fn"
	"github.com/nacredb/nacre/engine/value"
)

func TestTextPiecesMakeTheWhole(t *testing.T) {
	l := newLibrary(t)
	rapid.Check(t, func(t *rapid.T) {
		s := value.Str(rapid.String().Draw(t, "s"))
		n := l.call("string::len", s)
		if int(n.Int()) != utf8.RuneCountInString(s.Str()) {
			t.Fatalf("len(%s) = %s", s, n)
		}
		k := value.Int(rapid.Int64Range(0, n.Int()).Draw(t, "k"))
		whole := l.call("string::concat", l.call("string::slice", s, value.Int(0), k), l.call("string::slice", s, k))
		if whole.Str() != s.Str() {
			t.Fatalf("slices at %s of %s make %s", k, s, whole)
		}
		if r := l.call("string::reverse", l.call("string::reverse", s)); r.Str() != s.Str() {
			t.Fatalf("twice reversed %s is %s", s, r)
		}
		sep := value.Str(rapid.StringN(1, 2, -1).Draw(t, "separator"))
		if r := l.call("array::join", l.call("string::split", s, sep), sep); r.Str() != s.Str() {
			t.Fatalf("split and joined by %s, %s is %s", sep, s, r)
		}
		upper := l.call("string::uppercase", s)
		if again := l.call("string::uppercase", upper); again.Str() != upper.Str() || !utf8.ValidString(upper.Str()) {
			t.Fatalf("upper case of %s: %s, then %s", s, upper, again)
		}
		slug := l.call("string::slug", s).Str()
		if strings.Trim(slug, "abcdefghijklmnopqrstuvwxyz0123456789_-") != "" || strings.HasPrefix(slug, "-") ||
			strings.HasSuffix(slug, "-") {
			t.Fatalf("slug of %s: %q", s, slug)
		}
	})
}

func TestDistances(t *testing.T) {
	l := newLibrary(t)
	word := rapid.StringOfN(rapid.RuneFrom([]rune("abcé")), 0, 7, -1)
	distance := func(name, a, b string) int64 {
		return l.call("string::distance::"+name, value.Str(a), value.Str(b)).Int()
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := word.Draw(t, "a"), word.Draw(t, "b"), word.Draw(t, "c")
		lev, osa, dl := distance("levenshtein", a, b), distance("osa", a, b), distance("damerau_levenshtein", a, b)
		if dl > osa || osa > lev || (a == b) != (lev == 0) || (a == b) != (dl == 0) {
			t.Fatalf("%q %q: levenshtein %d, osa %d, damerau %d", a, b, lev, osa, dl)
		}
		if lev != distance("levenshtein", b, a) || dl != distance("damerau_levenshtein", b, a) {
			t.Fatalf("%q %q: not symmetric", a, b)
		}
		if lev > distance("levenshtein", a, c)+distance("levenshtein", c, b) ||
			dl > distance("damerau_levenshtein", a, c)+distance("damerau_levenshtein", c, b) {
			t.Fatalf("%q %q %q: a detour is shorter", a, b, c)
		}
		for _, name := range []string{"jaro", "jaro_winkler", "sorensen_dice"} {
			s := l.call("string::similarity::"+name, value.Str(a), value.Str(b)).Float()
			if !(s >= 0 && s <= 1) || a == b && s != 1 {
				t.Fatalf("%s(%q, %q) = %v", name, a, b, s)
			}
		}
	})
}

func TestSemverOrder(t *testing.T) {
	l := newLibrary(t)
	ascending := []string{"0.9.9", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta.2", "1.0.0-beta.11",
		"1.0.0-rc.1",
		"1.0.0", "1.0.0+a", "1.0.0+b", "1.0.1", "1.1.0", "18446744073709551615.0.0"}
	for i, a := range ascending {
		for j, b := range ascending {
			want := int64(0)
			switch {
			case i < j:
				want = -1
			case i > j:
				want = 1
			}
			if got := l.call("string::semver::compare", value.Str(a), value.Str(b)).Int(); got != want {
				t.Errorf("%s against %s: got %d, want %d", a, b, got, want)
			}
		}
	}
}

func TestHTMLIsSafeAndStable(t *testing.T) {
	l := newLibrary(t)
	piece := rapid.SampledFrom([]string{"<b>", "</b>", "<script>", "</script>", "<a href='javascript:x'>",
		"<a href=\"http://x\">", "</a>", "<img src=x onerror=y>",
		"<svg onload=x>", "<p style='x'>", "text", " & ", "<", ">", "\"", "<!--", "-->", "<table><td>",
		"<iframe src=javascript:x>", "</p>", "<style>", "\u00a0", "<math><mi href=x>"})
	bad := regexp.MustCompile(`(?i)<(script|svg|iframe|style|math)|<[^>]* (on\w+|style)=|<[^>]*"javascript:`)
	rapid.Check(t, func(t *rapid.T) {
		in := strings.Join(rapid.SliceOfN(piece, 0, 8).Draw(t, "pieces"), "")
		out := l.call("string::html::sanitize", value.Str(in))
		if bad.MatchString(out.Str()) {
			t.Fatalf("%q leaves %q", in, out.Str())
		}
		if again := l.call("string::html::sanitize", out); again.Str() != out.Str() {
			t.Fatalf("%q: %q, again %q", in, out.Str(), again.Str())
		}
		if enc := l.call("string::html::encode", value.Str(in)).Str(); strings.ContainsAny(enc, "<>\"'` =/") {
			t.Fatalf("encoded %q: %q", in, enc)
		}
	})
}

func FuzzURL(f *testing.F) {
	for _, s := range []string{"http://a/b/../c?d#e", "foo://é:99/x", "file:///C:/x", "mailto:a@b", "http://[::1]:80",
		"http://0x7f.1", "http:\\\\a\\b", "a:"} {
		f.Add(s)
	}
	table := fn.Library()
	f.Fuzz(func(t *testing.T, s string) {
		l := &library{t, table, host{}}
		if !utf8.ValidString(s) {
			t.Skip("not text")
		}
		in := value.Str(s)
		ok := l.call("string::is_url", in).Bool()
		for _, part := range []string{"domain", "fragment", "host", "path", "query", "scheme"} {
			v := l.call("parse::url::"+part, in)
			if !ok && !v.IsNone() || v.Kind() == value.KindString && !utf8.ValidString(v.Str()) {
				t.Fatalf("%s of %q: %s", part, s, v)
			}
		}
		if p := l.call("parse::url::port", in); !p.IsNone() && (p.Int() < 0 || p.Int() > 65535) {
			t.Fatalf("port of %q: %s", s, p)
		}
	})
}
