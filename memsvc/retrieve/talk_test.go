package retrieve

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/memsvc/grant"
)

// The files of testdata/talk are conversations written by hand: two people, dates, casual talk, and questions in other
// words with the turns that answer them. Conversations of the same two people are put into one index, between sessions
// of a generated one, so that every question has much beside its answer.

// talk reads conversations; what they say goes into one conversation.
func talk(t *testing.T, noise uint64, names ...string) conversation {
	t.Helper()
	var c conversation
	for _, name := range names {
		readTalk(t, &c, name)
	}
	people := map[string]int{}
	var two []string
	for _, turn := range c.turns {
		if people[turn.speaker]++; people[turn.speaker] == 1 {
			two = append(two, turn.speaker)
		}
	}
	other := converse(noise)
	as := map[string]string{}
	for _, turn := range other.turns {
		if as[turn.speaker] == "" {
			as[turn.speaker] = two[len(as)]
		}
		if turn.session < "s12" {
			turn.speaker, turn.session, turn.id = as[turn.speaker], "noise-"+turn.session, "noise-"+turn.id
			c.turns = append(c.turns, turn)
		}
	}
	return c
}

func readTalk(t *testing.T, c *conversation, name string) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "talk", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	who := map[string]string{}
	var session string
	var at time.Time
	seq, asks := 0, false
	for in := bufio.NewScanner(f); in.Scan(); {
		line := in.Text()
		switch {
		case strings.HasPrefix(line, "people: "):
			for _, p := range strings.Split(line[len("people: "):], " ") {
				initial, full, _ := strings.Cut(p, "=")
				who[initial] = full
			}
		case strings.HasPrefix(line, "--- "):
			if at, err = time.Parse("2006-01-02 15:04", line[4:]); err != nil {
				t.Fatal(err)
			}
			session, seq = name+line[4:14], 0
		case line == "???":
			asks = true
		case asks:
			p := strings.Split(line, " | ")
			if len(p) != 3 {
				t.Fatalf("%s: %q", name, line)
			}
			q := evalQuestion{kind: p[0], text: p[1]}
			for _, ref := range strings.Fields(p[2]) {
				q.evidence = append(q.evidence, name+"/"+ref)
			}
			c.questions = append(c.questions, q)
		default:
			head, text, _ := strings.Cut(line, ": ")
			initial, ref, _ := strings.Cut(head, " ")
			if who[initial] == "" {
				t.Fatalf("%s: nobody says %q", name, line)
			}
			if ref == "" {
				ref = fmt.Sprintf("%s-%03d", session, seq)
			}
			c.turns = append(c.turns, evalTurn{name + "/" + ref, session, who[initial], text, seq,
				at.Add(time.Duration(seq) * time.Minute)})
			seq++
		}
	}
}

func evaluationOf(c conversation) evaluation {
	x := NewIndex()
	for _, t := range c.turns {
		x.Add(Unit{ID: t.id, Kind: KindTurn, Group: t.session, Seq: t.seq, Speaker: t.speaker, Text: t.text,
			At: t.at, Clauses: grant.Clauses{{grant.Root}}})
	}
	return evaluation{x, c}
}

// forTuning and heldOut are the two parts: weights are chosen on the first alone.
func forTuning(t *testing.T) []evaluation {
	return []evaluation{evaluationOf(talk(t, 7, "dana", "marco")), evaluationOf(talk(t, 11, "juno")),
		evaluationOf(talk(t, 9, "lena")), evaluationOf(talk(t, 10, "yusuf"))}
}

func heldOut(t *testing.T) []evaluation {
	return []evaluation{evaluationOf(talk(t, 8, "priya", "wren"))}
}

// fresh are conversations that were written before topics were, and whose misses were not read.
func fresh(t *testing.T) []evaluation {
	return []evaluation{evaluationOf(talk(t, 12, "amara")), evaluationOf(talk(t, 13, "kaya"))}
}

// exchanged are questions about one of the two people, asked about the other one: an agent that mistakes who said
// something still has to find it.
func exchanged(es []evaluation) []evaluation {
	out := make([]evaluation, len(es))
	for i, e := range es {
		var two []string
		for _, u := range e.c.turns {
			if !slices.Contains(two, u.speaker) {
				two = append(two, u.speaker)
			}
		}
		out[i].x = e.x
		for _, q := range e.c.questions {
			one := strings.Contains(q.text, two[0])
			if q.kind == "single" && one != strings.Contains(q.text, two[1]) {
				q.kind = "exchanged"
				if one {
					q.text = strings.ReplaceAll(q.text, two[0], two[1])
				} else {
					q.text = strings.ReplaceAll(q.text, two[1], two[0])
				}
				out[i].c.questions = append(out[i].c.questions, q)
			}
		}
	}
	return out
}

// mix is recall by kind, and "mix" over all kinds as they are usual in a set of questions over a long conversation.
func mix(es []evaluation, k int, t *Tuning) map[string]float64 {
	m := recall(es, Hybrid, k, t)
	m["exchanged"] = recall(exchanged(es), Hybrid, k, t)["all"]
	m["mix"] = 0.42*m["single"] + 0.16*m["temporal"] + 0.14*m["multi"] + 0.05*m["open"] + 0.23*m["exchanged"]
	return m
}

// TestRecallOnTalk holds the quality of retrieval on conversations written by hand.
func TestRecallOnTalk(t *testing.T) {
	for _, tc := range []struct {
		name  string
		es    []evaluation
		least float64
	}{{"for tuning", forTuning(t), 0.80}, {"held out", heldOut(t), 0.81}, {"fresh", fresh(t), 0.82}} {
		hybrid, bm25 := mix(tc.es, 10, &Default), recall(tc.es, BM25, 10, &Default)
		t.Logf("%s: %.0f questions, %d turns: hybrid %s; bm25 %s", tc.name, hybrid["questions"], tc.es[0].x.Len(),
			kinds(hybrid), kinds(bm25))
		if hybrid["all"] < bm25["all"]+0.15 || hybrid["all"] < tc.least {
			t.Errorf("%s: hybrid finds %.3f of the evidence, BM25 alone %.3f", tc.name, hybrid["all"], bm25["all"])
		}
	}
}
