package retrieve

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/nacredb/nacre/memsvc/grant"
	"github.com/nacredb/nacre/memsvc/text"
)

var misses = flag.String("misses", "", "print what retrieval does not find: tuning or held")

// TestMisses prints the evidence that is not among the first ten, with the cause that its words suggest.
func TestMisses(t *testing.T) {
	sets := map[string]func(*testing.T) []evaluation{"tuning": forTuning, "held": heldOut}
	if sets[*misses] == nil {
		t.Skip("it runs with -misses SET only")
	}
	causes := map[string]int{}
	for _, e := range sets[*misses](t) {
		turns := map[string]evalTurn{}
		for _, u := range e.c.turns {
			turns[u.id] = u
		}
		for _, q := range e.c.questions {
			hits, _ := e.x.Search(Query{Text: q.text, Mode: Hybrid, Now: evalNow,
				Pool: 256, Region: grant.Intersect(grant.All())}, &Default)
			rank := map[string]int{}
			for i, h := range hits {
				rank[h.ID] = i + 1
			}
			for _, id := range q.evidence {
				if r := rank[id]; r > 0 && r <= 10 {
					continue
				}
				why := e.cause(q.text, id, rank[id])
				causes[why]++
				causes["all"]++
				fmt.Printf("\n%s: %s\n   want %3d %s %s: %s\n", q.kind, q.text, rank[id], why, turns[id].speaker,
					turns[id].text)
				for i := range 3 {
					fmt.Printf("   got  %3d %s: %s\n", i+1, turns[hits[i].ID].speaker, turns[hits[i].ID].text)
				}
			}
		}
	}
	fmt.Println(causes)
}

// cause is the first reason why evidence may not be found.
func (e *evaluation) cause(question, id string, rank int) string {
	d := e.x.byID[id]
	u := &e.x.units[d]
	asked := e.x.read(question, time.Now(), &Default)
	shares := func(d int32) (n int) {
		for _, w := range asked.terms {
			if p := e.x.terms[w.stem]; d >= 0 && p != nil && e.x.holds(p, d) {
				n++
			}
		}
		return n
	}
	kin := func(d int32) bool {
		for _, w := range asked.terms {
			for _, k := range w.kin {
				if e.x.holds(k.post, d) {
					return true
				}
			}
		}
		return false
	}
	for _, w := range text.Words(question) {
		n, ok := e.x.names.find(w.Lower)
		if ok && len(asked.speakers) == 1 && n == asked.speakers[0] && u.speaker != n {
			return "other speaker"
		}
	}
	switch {
	case rank == 0:
		return "not in the pool"
	case shares(d) > 0 && rank <= 20:
		return "shared word, near"
	case shares(d) > 0:
		return "shared word, far"
	case shares(u.prev)+shares(u.next) > 0:
		return "word of a neighbour"
	case kin(d):
		return "similar word"
	}
	return "no shared or similar word"
}
