package retrieve

import (
	"flag"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/memsvc/grant"
)

var sweep = flag.String("sweep", "", "try other weights on the half that is for tuning: all, or names by commas")

// evalNow is when the questions are asked: after the last turn.
var evalNow = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

// evaluation is an index of one conversation with its questions.
type evaluation struct {
	x *Index
	c conversation
}

func evaluations(from, to uint64) []evaluation {
	var out []evaluation
	for seed := from; seed < to; seed++ {
		c := converse(seed)
		x := NewIndex()
		for _, t := range c.turns {
			x.Add(Unit{ID: t.id, Kind: KindTurn, Group: t.session, Seq: t.seq, Speaker: t.speaker, Text: t.text,
				At: t.at, Clauses: grant.Clauses{{grant.Root}}})
		}
		out = append(out, evaluation{x, c})
	}
	return out
}

// recall is the share of the evidence among the first k hits, by kind and in all.
func recall(es []evaluation, mode string, k int, t *Tuning) map[string]float64 {
	sum, n := map[string]float64{}, map[string]float64{}
	region := grant.Intersect(grant.All())
	for _, e := range es {
		for _, q := range e.c.questions {
			hits, _ := e.x.Search(Query{Text: q.text, Mode: mode, Now: evalNow,
				Pool: 256, Region: region}, t)
			got := map[string]bool{}
			for _, h := range hits[:min(k, len(hits))] {
				got[h.ID] = true
			}
			found := 0.0
			for _, id := range q.evidence {
				if got[id] {
					found++
				}
			}
			for _, kind := range []string{q.kind, "all"} {
				sum[kind] += found / float64(min(len(q.evidence), k))
				n[kind]++
			}
		}
	}
	for kind := range sum {
		sum[kind] /= n[kind]
	}
	sum["questions"] = n["all"]
	return sum
}

// TestRecallOnHeldOutConversations holds the quality of retrieval on conversations that no weight was chosen on.
func TestRecallOnHeldOutConversations(t *testing.T) {
	es := evaluations(100, 105)
	hybrid, bm25 := recall(es, Hybrid, 10, &Default), recall(es, BM25, 10, &Default)
	t.Logf("%.0f questions: hybrid %s; bm25 %s", hybrid["questions"], kinds(hybrid), kinds(bm25))
	if hybrid["all"] < bm25["all"]+0.05 {
		t.Errorf("hybrid finds %.3f of the evidence, BM25 alone %.3f", hybrid["all"], bm25["all"])
	}
	if hybrid["all"] < 0.86 || hybrid["multi"] < 0.77 || hybrid["single"] < 0.92 {
		t.Errorf("retrieval has become worse: %s", kinds(hybrid))
	}
}

// TestContextHoldsTheEvidence holds how much of the evidence stands in a context of 2,000 tokens.
func TestContextHoldsTheEvidence(t *testing.T) {
	region := grant.Intersect(grant.All())
	for name, es := range map[string][]evaluation{"generated": evaluations(100, 105), "talk": heldOut(t)} {
		sum, n := 0.0, 0.0
		for _, e := range es {
			turns, at := map[string]evalTurn{}, map[string]string{}
			for _, u := range e.c.turns {
				turns[u.id], at[fmt.Sprint(u.session, u.seq)] = u, u.id
			}
			hit := func(id string) Hit {
				u := turns[id]
				return Hit{ID: id, Source: KindTurn, Text: u.text, Session: u.session, Seq: &u.seq, Speaker: u.speaker,
					Occurred: &u.at}
			}
			for _, q := range e.c.questions {
				found, _ := e.x.Search(Query{Text: q.text, Mode: Hybrid, Pool: 256, Region: region,
					Now: evalNow}, &Default)
				var hits, near []Hit
				seen := map[string]bool{}
				for _, c := range found[:min(50, len(found))] {
					hits, seen[c.ID] = append(hits, hit(c.ID)), true
				}
				for _, h := range hits {
					for _, seq := range []int{*h.Seq - 1, *h.Seq + 1} {
						if id := at[fmt.Sprint(h.Session, seq)]; id != "" && !seen[id] {
							near, seen[id] = append(near, hit(id)), true
						}
					}
				}
				_, in := Pack(hits, near, 2000)
				held := map[string]bool{}
				for _, h := range in {
					held[h.ID] = true
				}
				have := 0.0
				for _, id := range q.evidence {
					if held[id] {
						have++
					}
				}
				sum, n = sum+have/float64(len(q.evidence)), n+1
			}
		}
		t.Logf("%s: %.0f questions, %.3f of the evidence", name, n, sum/n)
		if sum/n < 0.8 {
			t.Errorf("%s: a context of 2,000 tokens holds %.3f of the evidence", name, sum/n)
		}
	}
}

func kinds(m map[string]float64) string {
	s := ""
	for _, k := range []string{"all", "single", "multi", "temporal", "open", "adversarial", "exchanged", "mix"} {
		if v, ok := m[k]; ok {
			s += fmt.Sprintf("%s %.3f ", k, v)
		}
	}
	return s
}

func TestSearchIsDeterministic(t *testing.T) {
	a, b := evaluations(3, 4)[0], evaluations(3, 4)[0]
	region := grant.Intersect(grant.All())
	for _, q := range a.c.questions {
		query := Query{Text: q.text, Pool: 50, Region: region, Now: time.Unix(1.7e9, 0)}
		one, _ := a.x.Search(query, &Default)
		two, _ := b.x.Search(query, &Default)
		again, _ := a.x.Search(query, &Default)
		if fmt.Sprint(one) != fmt.Sprint(two) || fmt.Sprint(one) != fmt.Sprint(again) {
			t.Fatalf("%s: the answers differ", q.text)
		}
	}
}

// goal is what weights are chosen by: recall at several depths over the talk for tuning, and for a quarter over
// generated conversations.
func goal(talks, generated []evaluation, t *Tuning) float64 {
	sum := 0.0
	for _, k := range []int{5, 10, 20} {
		sum += 0.8*mix(talks, k, t)["mix"]/3 + 0.2*recall(generated, Hybrid, k, t)["all"]/3
	}
	return sum
}

// TestSweep moves one weight after the other to where the goal is best, and prints what each step gains.
func TestSweep(t *testing.T) {
	if *sweep == "" {
		t.Skip("it runs with -sweep only")
	}
	talks, generated := forTuning(t), evaluations(0, 1)
	best := Default
	at := goal(talks, generated, &best)
	fmt.Printf("base %.4f %s\n", at, kinds(recall(talks, Hybrid, 10, &best)))
	for range 2 {
		v := reflect.ValueOf(&best).Elem()
		for i := range v.NumField() {
			if v.Field(i).Kind() != reflect.Float32 {
				continue
			}
			was, name := v.Field(i).Float(), v.Type().Field(i).Name
			if *sweep != "all" && !slices.Contains(strings.Split(*sweep, ","), name) {
				continue
			}
			pick, line := was, ""
			for _, f := range []float64{0, 0.6, 0.8, 1.25, 1.6} {
				v.Field(i).SetFloat(was * f)
				g := goal(talks, generated, &best)
				line += fmt.Sprintf(" %.3g:%+.4f", was*f, g-at)
				if g > at+0.002 {
					at, pick = g, was*f
				}
			}
			v.Field(i).SetFloat(pick)
			fmt.Printf("%-10s %.3g →%.3g%s\n", name, was, pick, line)
		}
	}
	fmt.Printf("best %.4f %s\n%+v\n", at, kinds(recall(talks, Hybrid, 10, &best)), best)
}

// TestPersonIsFoundWithoutASharedWord holds that a question which shares no word with its answer finds what the
// person said.
func TestPersonIsFoundWithoutASharedWord(t *testing.T) {
	x := NewIndex()
	add := func(id, who, text string) {
		x.Add(Unit{ID: id, Kind: KindTurn, Group: "s", Speaker: who, Text: text, Clauses: grant.Clauses{{grant.Root}}})
	}
	add("turn/1", "Ada", "I moved to Lisbon.")
	add("turn/2", "Ben", "Good for you!")
	for _, q := range []string{"Where does Ada live?", "Ada"} {
		query := Query{Text: q, Pool: 10, Region: grant.Intersect(grant.All()), Now: time.Unix(1.7e9, 0)}
		hits, _ := x.Search(query, &Default)
		if len(hits) == 0 || hits[0].ID != "turn/1" {
			t.Errorf("%s: got %v", q, hits)
		}
	}
}
