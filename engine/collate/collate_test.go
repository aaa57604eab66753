package collate

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestOrder holds lists that the reference has sorted.
func TestOrder(t *testing.T) {
	for _, tc := range []struct {
		name  string
		rules Rules
		want  string
	}{
		{"scripts", Rules{Lexical: true}, "æon afar さ 山 ß su ธ жук zoo"},
		{"readings", Rules{Lexical: true}, "~ ¢ 🍕 0 c0 ך kb ko ち tim to"},
		{"marks", Rules{Lexical: true}, "ا ! \" ' ъ ь א ء أ , - . _ ` ע ع อ ~ ى 0"},
		{"symbols", Rules{Lexical: true}, "~ ¢ £ ¤ « ¬ ® ¶ ¿ € 🍕 0 ① ½ ¼ ² a ª º µ Ⅷ"},
		{"kana", Rules{Lexical: true}, "ch ci fu hu フ hv sh si シ sj ta チm tj ts tu ツ tv"},
		{"leading zeros count", Rules{Natural: true}, "f1 f2 f3 f02 f10 f002"},
	} {
		want := strings.Fields(tc.want)
		got := slices.Clone(want)
		slices.Sort(got)
		slices.SortStableFunc(got, tc.rules.Compare)
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n got %q\nwant %q", tc.name, got, want)
		}
	}
}

// TestCompareIsATotalOrder checks antisymmetry and transitivity on random texts.
func TestCompareIsATotalOrder(t *testing.T) {
	text := rapid.StringOfN(rapid.SampledFrom([]rune("aAbzß½ち山 ~¢019🍕")), 0, 6, -1)
	rapid.Check(t, func(t *rapid.T) {
		c := Rules{Lexical: rapid.Bool().Draw(t, "lexical"), Natural: rapid.Bool().Draw(t, "natural")}
		x, y, z := text.Draw(t, "x"), text.Draw(t, "y"), text.Draw(t, "z")
		xy, yx := c.Compare(x, y), c.Compare(y, x)
		if (xy < 0) != (yx > 0) || (xy == 0) != (x == y) {
			t.Fatalf("%q against %q: %d and %d", x, y, xy, yx)
		}
		if xy <= 0 && c.Compare(y, z) <= 0 && c.Compare(x, z) > 0 {
			t.Fatalf("%q <= %q <= %q, but not %q <= %q", x, y, z, x, z)
		}
	})
}

func BenchmarkCompare(b *testing.B) {
	c := Rules{Lexical: true, Natural: true}
	b.ReportAllocs()
	for b.Loop() {
		c.Compare("Straße 1002 Größe", "straße 1002 große")
	}
}
