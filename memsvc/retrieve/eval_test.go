package retrieve

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/nacredb/nacre/memsvc/grant"
)

var sweep = flag.Bool("sweep", false, "try other weights on the half that is for tuning")

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
			hits, _ := e.x.Search(Query{Text: q.text, Mode: mode, Now: time.Date(2024, 6, 1, 0, 0, 0, 0, time.UTC),
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
	if hybrid["all"] < 0.76 || hybrid["multi"] < 0.54 || hybrid["single"] < 0.86 {
		t.Errorf("retrieval has become worse: %s", kinds(hybrid))
	}
}

func kinds(m map[string]float64) string {
	s := ""
	for _, k := range []string{"all", "single", "multi", "temporal", "open", "adversarial"} {
		s += fmt.Sprintf("%s %.3f ", k, m[k])
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

// TestSweep prints how recall on the tuning half moves with each weight.
func TestSweep(t *testing.T) {
	if !*sweep {
		t.Skip("it runs with -sweep only")
	}
	es := evaluations(0, 5)
	base := recall(es, Hybrid, 10, &Default)
	fmt.Printf("base   %s\n", kinds(base))
	fmt.Printf("bm25   %s\n", kinds(recall(es, BM25, 10, &Default)))
	for _, s := range []struct {
		name string
		at   func(*Tuning) *float32
		try  []float32
	}{
		{"K1", func(t *Tuning) *float32 { return &t.K1 }, []float32{0.8, 1.6}}, {"B",
			func(t *Tuning) *float32 { return &t.B }, []float32{0.2, 0.6}},
		{"Before2", func(t *Tuning) *float32 { return &t.Before2 }, []float32{0, 0.3}}, {"Before1",
			func(t *Tuning) *float32 { return &t.Before1 }, []float32{0.3, 0.7}},
		{"Next1", func(t *Tuning) *float32 { return &t.Next1 }, []float32{0.1, 0.4}}, {"Next2",
			func(t *Tuning) *float32 { return &t.Next2 }, []float32{0, 0.2}},
		{"Own", func(t *Tuning) *float32 { return &t.Own }, []float32{0, 0.25, 1}}, {"Group",
			func(t *Tuning) *float32 { return &t.Group }, []float32{0, 0.1, 0.5}},
		{"Speaker", func(t *Tuning) *float32 { return &t.Speaker }, []float32{1, 1.5}}, {"NotSpeaker",
			func(t *Tuning) *float32 { return &t.NotSpeaker }, []float32{0.7, 1}},
		{"Asking", func(t *Tuning) *float32 { return &t.Asking }, []float32{0, 1}}, {"Near",
			func(t *Tuning) *float32 { return &t.Near }, []float32{0, 0.2, 0.6, 1}},
		{"NearLeast", func(t *Tuning) *float32 { return &t.NearLeast }, []float32{0.45, 0.6}}, {"Name",
			func(t *Tuning) *float32 { return &t.Name }, []float32{0.4, 1.2}},
		{"Dated", func(t *Tuning) *float32 { return &t.Dated }, []float32{0, 0.3}}, {"Numbered",
			func(t *Tuning) *float32 { return &t.Numbered }, []float32{0, 0.3}},
		{"Vector", func(t *Tuning) *float32 { return &t.Vector }, []float32{0, 0.15, 0.6}}, {"Feedback",
			func(t *Tuning) *float32 { return &t.Feedback }, []float32{0, 0.1, 0.4}},
		{"Hop", func(t *Tuning) *float32 { return &t.Hop }, []float32{0, 0.15}}, {"Crowd",
			func(t *Tuning) *float32 { return &t.Crowd }, []float32{0.8, 1}},
		{"Question", func(t *Tuning) *float32 { return &t.Question }, []float32{0.6, 1}},
		{"Answer", func(t *Tuning) *float32 { return &t.Answer }, []float32{0.5, 1}}, {"Brief",
			func(t *Tuning) *float32 { return &t.Brief }, []float32{0.7, 1}},
		{"Named", func(t *Tuning) *float32 { return &t.Named }, []float32{0, 0.3}},
	} {
		for _, v := range s.try {
			tuned := Default
			*s.at(&tuned) = v
			fmt.Printf("%-10s %.2f %s\n", s.name, v, kinds(recall(es, Hybrid, 10, &tuned)))
		}
	}
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
