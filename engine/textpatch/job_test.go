package textpatch

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// worst are texts, and patches for them, that make each step look at much. Those named short once did, and are done
// after a few looks at the text.
func worst() map[string][2]string {
	const n = 1 << 17
	a := strings.Repeat("a", n)
	return map[string][2]string{
		"hunks that stand nowhere": {a, strings.Repeat("@@ -1,3 +1,3 @@\n aaa\n+b\n", 20_000)},
		"hunks far away":           {a, strings.Repeat("@@ -100000,3 +100000,3 @@\n aab\n+b\n", 20_000)},
		"short: one long hunk":     {a, fmt.Sprintf("@@ -1,%d +1,%d @@\n ", n, n) + a + "\n+b\n"},
		"a hunk of many edits":     {a, fmt.Sprintf("@@ -1,%d +1,%d @@\n", n, n) + strings.Repeat("+b\n a\n", n/2)},
		"short: many insertions":   {a, "@@ -1,4 +1,4 @@\n aaab\n" + strings.Repeat("+b\n", n)},
	}
}

// TestAJobAsks holds that no patch keeps a job from asking whether to go on, and that a no ends it.
func TestAJobAsks(t *testing.T) {
	gone := errors.New("gone")
	for name, c := range worst() {
		asked := 0
		_, err := Apply(c[0], c[1], func() error {
			if asked++; asked == 3 {
				return gone
			}
			return nil
		})
		short := strings.HasPrefix(name, "short: ")
		if short && (asked != 0 || err != nil) || !short && (!errors.Is(err, gone) || asked != 3) {
			t.Errorf("%s: asked %d times, got %v", name, asked, err)
		}
	}
	x := strings.Repeat("abc", 1<<17)
	for name, c := range map[string][2]string{
		"a part of the other": {strings.Repeat("a", 1<<18) + "b", "b" + strings.Repeat("a", 1<<18)},
		"nothing in common":   {x, strings.Repeat("xyz", 1<<17)},
		"much in common":      {x, strings.Repeat("abd", 1<<17)},
		"lines":               {strings.Repeat("a\n", 1<<17), strings.Repeat("b\na\n", 1<<16)},
	} {
		asked := 0
		_, err := Diff(c[0], c[1], func() error {
			asked++
			return gone
		})
		if !errors.Is(err, gone) || asked != 1 {
			t.Errorf("%s: asked %d times, got %v", name, asked, err)
		}
	}
}

// TestSearchesAgree: the searches find what plain ones find.
func TestSearchesAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(rapid.SampledFrom([]rune("ab")), 0, 40)
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		from := rapid.IntRange(0, 5).Draw(t, "from")
		var j job
		want := -1
		for i := from; want < 0 && i+len(b) <= len(a); i++ {
			if slices.Equal(a[i:i+len(b)], b) {
				want = i
			}
		}
		if got := j.index(a, b, from); got != want {
			t.Fatalf("index: got %d, want %d", got, want)
		}
		want = 0
		for n := 1; n <= min(len(a), len(b)); n++ {
			if slices.Equal(a[len(a)-n:], b[:n]) {
				want = n
			}
		}
		if got := j.commonOverlap(a, b); got != want {
			t.Fatalf("overlap: got %d, want %d", got, want)
		}
	})
}
