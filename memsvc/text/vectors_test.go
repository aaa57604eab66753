package text

import (
	"math"
	"testing"
)

func TestNeighboursMeanSimilarThings(t *testing.T) {
	for word, want := range map[string]string{"kid": "child", "doctor": "hospit", "car": "vehicl",
		"piano": "violin", "job": "employ"} {
		found := false
		for _, n := range Neighbours(Stem(word), 20, 0.45) {
			found = found || n.Stem == Stem(want)
		}
		if !found {
			t.Errorf("%s is not near %s: %v", want, word, Neighbours(Stem(word), 20, 0.45))
		}
	}
	if n := Neighbours("no such stem", 5, 0); n != nil {
		t.Errorf("an unknown stem has neighbours: %v", n)
	}
}

func TestEmbeddingsAreUnitAndOrderMeaning(t *testing.T) {
	a, b, c := Embed("My daughter plays the piano"), Embed("Her child practises the violin"),
		Embed("The stock market fell on Tuesday")
	var n float64
	for _, x := range a {
		n += float64(x) * float64(x)
	}
	if len(a) != Width || math.Abs(n-1) > 1e-3 {
		t.Errorf("width %d, length %f", len(a), n)
	}
	if Cosine(a, b) <= Cosine(a, c) {
		t.Errorf("music %f is not nearer than the market %f", Cosine(a, b), Cosine(a, c))
	}
	if Cosine(Embed(""), a) != 0 {
		t.Error("an empty text has a direction")
	}
}
