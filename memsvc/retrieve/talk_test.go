package retrieve

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
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

// forTuning and heldOut are the two halves: weights are chosen on the first alone.
func forTuning(t *testing.T) []evaluation {
	return []evaluation{evaluationOf(talk(t, 7, "dana", "marco")), evaluationOf(talk(t, 11, "juno"))}
}

func heldOut(t *testing.T) []evaluation {
	return []evaluation{evaluationOf(talk(t, 8, "priya", "wren"))}
}

// fresh are conversations that were written after the ranking was divided, and before any of its weights was
// changed again.
func fresh(t *testing.T) []evaluation {
	return []evaluation{evaluationOf(talk(t, 9, "lena")), evaluationOf(talk(t, 10, "yusuf"))}
}

// last are conversations that were written before the ranking was touched again, and whose misses were not read.
func last(t *testing.T) []evaluation {
	return []evaluation{evaluationOf(talk(t, 12, "amara")), evaluationOf(talk(t, 13, "kaya"))}
}

// TestRecallOnTalk holds the quality of retrieval on conversations written by hand.
func TestRecallOnTalk(t *testing.T) {
	for _, tc := range []struct {
		name  string
		es    []evaluation
		least float64
	}{{"for tuning", forTuning(t), 0.74}, {"held out", heldOut(t), 0.77}, {"fresh", fresh(t), 0.65}} {
		hybrid, bm25 := recall(tc.es, Hybrid, 10, &Default), recall(tc.es, BM25, 10, &Default)
		t.Logf("%s: %.0f questions, %d turns: hybrid %s; bm25 %s", tc.name, hybrid["questions"], tc.es[0].x.Len(),
			kinds(hybrid), kinds(bm25))
		if hybrid["all"] < bm25["all"]+0.15 || hybrid["all"] < tc.least {
			t.Errorf("%s: hybrid finds %.3f of the evidence, BM25 alone %.3f", tc.name, hybrid["all"], bm25["all"])
		}
	}
}
