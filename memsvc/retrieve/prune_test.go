package retrieve

import (
	"fmt"
	"testing"
	"time"

	"github.com/nacredb/nacre/memsvc/grant"
)

// TestFewVisibleAmongVeryManyAreFound holds that the units which a search drops because there are very many are never
// those that the caller may see, nor the best ones.
func TestFewVisibleAmongVeryManyAreFound(t *testing.T) {
	x := NewIndex()
	n := pruneAbove + 10_000
	for i := range n {
		scope, words := "org/large", fmt.Sprintf("The harvest report number %d is here.", i)
		if i%(n/20) == 7 {
			scope = "org/small"
		}
		if i == n/2 {
			words = "The harvest report on barley is here."
		}
		x.Add(Unit{ID: fmt.Sprintf("turn/%d", i), Kind: KindTurn, Group: fmt.Sprint("s", i/30), Seq: i, Text: words,
			Clauses: grant.Clauses{{scope}}})
	}
	ask := func(pattern, query string) []Candidate {
		hits, _ := x.Search(Query{Text: query, Pool: 256, Now: time.Unix(1.7e9, 0), Twins: true,
			Region: grant.Intersect(grant.Grants{string(grant.Read): {pattern}})}, &Default)
		return hits
	}
	if got := len(ask("org/small", "harvest report")); got != 20 {
		t.Errorf("%d of the 20 that may be seen are found", got)
	}
	all := ask("*", "barley harvest report")
	if len(all) != 256 || all[0].ID != fmt.Sprintf("turn/%d", n/2) {
		t.Errorf("%d are found, the best is %v", len(all), all[:1])
	}
	for range 3 {
		if fmt.Sprint(ask("*", "barley harvest report")) != fmt.Sprint(all) {
			t.Error("the answers differ")
		}
	}
}
