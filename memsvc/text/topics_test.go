package text

import (
	"testing"
)

func TestTopical(t *testing.T) {
	near := func(of, to string) (most float32) {
		Topical(Stem(of), func(stem string, v float32) {
			if stem == Stem(to) {
				most = max(most, v)
			}
		})
		return most
	}
	for _, tc := range []struct{ of, to string }{{"job", "hired"}, {"injury", "sprained"}, {"injured", "wrist"},
		{"instrument", "violin"}, {"pet", "hamster"}, {"pregnancy", "due"}} {
		if there, back := near(tc.of, tc.to), near(tc.to, tc.of); there < 0.3 || back >= there {
			t.Errorf("%s to %s: %.2f, back %.2f", tc.of, tc.to, there, back)
		}
	}
	if v := near("hamster", "kitten"); v != 0 {
		t.Errorf("two words by which a topic shows are %.2f near", v)
	}
	Topical("qwertz", func(stem string, v float32) { t.Errorf("an unknown word has a topic: %s %.2f", stem, v) })
}

// TestTopicsAreWhole holds that every line of the list names a topic once and has words for it.
func TestTopicsAreWhole(t *testing.T) {
	for _, tp := range loadTopics().all {
		if tp.heads == 0 || tp.heads == len(tp.stems) {
			t.Errorf("a topic without a name or without words: %q", tp.stems)
		}
	}
}
