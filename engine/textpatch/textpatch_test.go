package textpatch

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func diffOf(t interface{ Fatal(...any) }, a, b string) string {
	patch, err := Diff(a, b, nil)
	if err != nil {
		t.Fatal(err)
	}
	return patch
}

// The patches are the reference's own.
func TestDiff(t *testing.T) {
	for _, c := range [][3]string{
		{"tobie", "tobias", "@@ -1,5 +1,6 @@\n tobi\n-e\n+as\n"},
		{"a b%c\nd", "a b%c\nde é\"~!@#$^&*()[]{}", "@@ -1,7 +1,25 @@\n a b%25c%0Ad\n+e %C3%A9%22~!@#$%5E&*()%5B%5D%7B%7D\n"},
		{"", "abc", "@@ -0,0 +1,3 @@\n+abc\n"}, {"abc", "", "@@ -1,3 +0,0 @@\n-abc\n"},
		{"abc", "xyz", "@@ -1,3 +1,3 @@\n-abc\n+xyz\n"},
		{"The quick brown fox jumps over the lazy dog.", "The quick red fox jumped over the lazy cat.",
			"@@ -7,13 +7,11 @@\n ick \n-brown\n+red\n  fox\n@@ -19,9 +19,10 @@\n jump\n-s\n+ed\n  ove\n@@ -36,8 +36,8 @@\n azy \n-dog\n+cat\n .\n"},
		{strings.Repeat("a", 65), strings.Repeat("a", 33) + "b" + strings.Repeat("a", 32),
			"@@ -18,32 +18,33 @@\n aaaaaaaaaaaaaaaa\n+b\n aaaaaaaaaaaaaaaa\n"},
		{"Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore et dolore magna aliqua. Ut enim ad minim veniam",
			"Lorem ipsam dolor sit amet, consectetur elit, sed do eiusmod tempor incididunt ut labore et dolore magna aliqua. Ut enim ad minim veniam quis",
			"@@ -2,17 +2,17 @@\n orem ips\n-u\n+a\n m dolor \n@@ -37,19 +37,8 @@\n tur \n-adipiscing \n elit\n@@ -129,8 +129,13 @@\n m veniam\n+ quis\n"},
		{"mouse", "sofas", "@@ -1,5 +1,5 @@\n-mouse\n+sofas\n"},
		{"abcdef", "abXcdYef", "@@ -1,6 +1,8 @@\n ab\n+X\n cd\n+Y\n ef\n"},
		{"world", "hello world", "@@ -1,5 +1,11 @@\n+hello \n world\n"},
		{"1ayb2", "abxab", "@@ -1,5 +1,5 @@\n-1ayb2\n+abxab\n"},
		{"éa😀b", "éa😁b", "@@ -1,4 +1,4 @@\n %C3%A9a\n-%F0%9F%98%80\n+%F0%9F%98%81\n b\n"},
		{"line1\nline2\nline3\n", "line1\nlineX\nline3\n", "@@ -7,9 +7,9 @@\n line\n-2\n+X\n %0Alin\n"},
		{"same", "same", ""},
	} {
		if got := diffOf(t, c[0], c[1]); got != c[2] {
			t.Errorf("%q → %q\n got %q\nwant %q", c[0], c[1], got, c[2])
		}
	}
}

// The answers are the reference's own.
func TestApply(t *testing.T) {
	const p = "@@ -1,5 +1,11 @@\n hello\n+ world\n"
	for _, c := range [][3]string{
		{"hello", p, "hello world"}, {"hullo", p, "hullo world"}, {"xxxhello", p, "xxxhello world"}, {"zzz", p, "zzz"},
		{"zzz", "", "zzz"},
	} {
		got, err := Apply(c[0], c[1], nil)
		if err != nil || got != c[2] {
			t.Errorf("%q + %q = %q, %v; want %q", c[0], c[1], got, err, c[2])
		}
	}
	for _, bad := range []string{"junk", "@@ -1 @@", "@@ -x,1 +1,1 @@\n a", "@@ -1,1 +1,1 @@\n %zz",
		"@@ -1,1 +1,1 @@\n*a"} {
		if _, err := Apply("zzz", bad, nil); err != ErrInput {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// A patch leads from the first text to the second, for any two texts.
func TestRoundTrip(t *testing.T) {
	text := rapid.Custom(func(t *rapid.T) string {
		n := rapid.IntRange(0, 40).Draw(t, "n")
		words := rapid.SampledFrom([]string{"a", "b", "ab", "the ", "\n", "line one\n", "another line\n", "é", "😀", "%",
			"+", " ", strings.Repeat("xyz", 20)})
		var b strings.Builder
		for range n {
			b.WriteString(words.Draw(t, "word"))
		}
		return b.String()
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		p := diffOf(t, a, b)
		got, err := Apply(a, p, nil)
		if err != nil || got != b {
			t.Fatalf("%q with %q: %q, %v; want %q", a, p, got, err, b)
		}
	})
}

func FuzzApply(f *testing.F) {
	f.Add("hello", "@@ -1,5 +1,11 @@\n hello\n+ world\n")
	f.Add("", "@@ -0,0 +1,3 @@\n+abc\n")
	f.Fuzz(func(t *testing.T, text, patch string) {
		if len(text) > 1000 || len(patch) > 1000 {
			return
		}
		_, _ = Apply(text, patch, nil) // must not panic
	})
}

func BenchmarkDiff(b *testing.B) {
	x := strings.Repeat("The quick brown fox jumps over the lazy dog.\n", 20)
	y := strings.Replace(x, "brown", "red", 3)
	b.ReportAllocs()
	for b.Loop() {
		diffOf(b, x, y)
	}
}
