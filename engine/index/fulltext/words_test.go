package fulltext

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestWordsAreFoundAgain: words of all lengths, with zeros in them, at the end of a text and before its end.
func TestWordsAreFoundAgain(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	var w wordTable
	truth := map[string]*counted{}
	for i := range 20_000 {
		word := make([]byte, 1+rnd.IntN(20))
		for j := range word {
			word[j] = []byte{0, 'a', 'b', 0xff}[rnd.IntN(4)]
		}
		if i%3 == 0 {
			word = fmt.Append(word[:1], i)
		}
		text := strings.Repeat("x", rnd.IntN(3)) + string(word) + strings.Repeat("y", rnd.IntN(30))
		from := strings.Index(text, string(word))
		got, known := w.find(text, from, from+len(word))
		want, there := truth[string(word)]
		if got != want || known != there {
			t.Fatalf("%q in %q: got %v %v, want %v %v", word, text, got, known, want, there)
		}
		if there {
			continue
		}
		var term *counted
		if rnd.IntN(5) > 0 {
			term = &counted{term: string(word)}
		}
		truth[string(word)] = term
		w.put(string(word), term)
	}
	if w.used != len(truth) {
		t.Errorf("%d words are in use, want %d", w.used, len(truth))
	}
	for word, want := range truth {
		if got, known := w.find(word, 0, len(word)); got != want || !known {
			t.Fatalf("%q: got %v %v, want %v", word, got, known, want)
		}
	}
}
