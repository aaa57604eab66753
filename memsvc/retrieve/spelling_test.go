package retrieve

import (
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/memsvc/grant"
)

func TestEdits(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{{"profesion", "profession", 1}, {"recieve", "receive", 1}, {"abcd", "abcd", 0}, {"kitten", "sitting", 3},
		{"beehvie", "beehive", 1}} {
		if got := edits(tc.a, tc.b, 5); got != tc.want {
			t.Errorf("%s, %s: got %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
	if got := edits("abcdefgh", "zzzzzzzz", 1); got <= 1 {
		t.Errorf("got %d, want more than 1", got)
	}
}

// TestMisspeltAndDividedWordsAreFound holds that a question with a wrong letter, or with a compound written as one
// word or two, finds what it means, and that a word of the language is not corrected into another one.
func TestMisspeltAndDividedWordsAreFound(t *testing.T) {
	x := NewIndex()
	add := func(id, text string) {
		x.Add(Unit{ID: id, Kind: KindTurn, Group: id, Text: text, Clauses: grant.Clauses{{grant.Root}}})
	}
	add("turn/1", "The upholsterer mended our armchair.")
	add("turn/2", "She sails from the boatyard every morning.")
	add("turn/3", "We sold the boat, and the yard is empty.")
	add("turn/4", "The form was signed by all.")
	for question, want := range map[string]string{"Who is the uphlosterer?": "turn/1", "upholsterrer": "turn/1",
		"the boat yard of the morning": "turn/2", "boatyards": "turn/2"} {
		hits, _ := x.Search(Query{Text: question, Pool: 10, Mode: BM25, Region: grant.Intersect(grant.All()),
			Now: time.Unix(1.7e9, 0)}, &Default)
		if len(hits) == 0 || hits[0].ID != want {
			t.Errorf("%s: got %v, want %s", question, hits, want)
		}
	}
	// Only so many unknown words are compared with the vocabulary: a misspelt one behind them is not.
	corrects := func(unknown int) bool {
		var many strings.Builder
		for i := range unknown {
			many.WriteString("qxq" + strings.Repeat("z", i+1) + " ")
		}
		q := x.read(many.String()+"uphlosterer", time.Unix(1.7e9, 0), &Default)
		return x.terms[q.terms[len(q.terms)-1].stem] != nil
	}
	if !corrects(maxCorrected - 1) {
		t.Error("the last word that may be corrected is not")
	}
	if corrects(maxCorrected) {
		t.Error("one word too many is corrected")
	}
	if got := x.spelled("farm"); got != "" {
		t.Errorf("farm is taken for %s", got)
	}
}
