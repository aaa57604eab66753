package retrieve

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/nacredb/nacre/memsvc/grant"
)

var misses = flag.Bool("misses", false, "print what retrieval does not find in the half that is for tuning")

func TestMisses(t *testing.T) {
	if !*misses {
		t.Skip("it runs with -misses only")
	}
	for _, e := range forTuning(t) {
		texts := map[string]string{}
		for _, u := range e.c.turns {
			texts[u.id] = u.speaker + ": " + u.text
		}
		for _, q := range e.c.questions {
			hits, _ := e.x.Search(Query{Text: q.text, Mode: Hybrid, Now: time.Date(2024, 6, 1, 0, 0, 0, 0, time.UTC),
				Pool: 256, Region: grant.Intersect(grant.All())}, &Default)
			rank := map[string]int{}
			for i, h := range hits {
				rank[h.ID] = i + 1
			}
			bad := false
			for _, id := range q.evidence {
				bad = bad || rank[id] == 0 || rank[id] > 10
			}
			if !bad {
				continue
			}
			fmt.Printf("\n%s: %s\n", q.kind, q.text)
			for _, id := range q.evidence {
				fmt.Printf("   want %3d %s\n", rank[id], texts[id])
			}
			for i := range 3 {
				fmt.Printf("   got  %3d %s\n", i+1, texts[hits[i].ID])
			}
		}
	}
}
