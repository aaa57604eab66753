package fulltext

import (
	"encoding/binary"
	"slices"
	"strings"
)

// maxWords is how many words, and terms, are remembered at a time: as many as most languages have in use.
const maxWords = 1 << 16

// counts counts the terms of one document after the other. It remembers which term an analyzer makes of a word, so that
// most words are looked up once, and how terms are in order, so that most of them are compared as numbers.
type counts struct {
	of    *Analyzer
	age   int                 // how often it has begun to remember
	terms map[string]*counted // by term
	words wordTable           // where the filters make one term of a word
	met   []*counted          // of the document, in the end by term
	doc   uint64

	ranked int // how many terms have a rank
	order  []uint64
	room   []*counted

	built builderRoom
}

// counted is a term and how often the document has it.
type counted struct {
	term string
	n    uint32
	rank uint32 // ascends with the terms that have one, from 1 on; 0: none yet
	doc  uint64 // that n is for

	in *Builder // that knows the term as id
	id uint32
}

// document counts the terms of a document, which met has then, and reports how many it has, repeated ones too.
func (c *counts) document(s *Scratch, a *Analyzer, texts []string) (length uint32) {
	c.begin(a)
	for _, text := range texts {
		length += uint32(c.add(s, a, text))
	}
	c.sort()
	return length
}

// begin begins a document.
func (c *counts) begin(a *Analyzer) {
	if c.of != a || c.words.used >= maxWords || len(c.terms) >= maxWords {
		c.of, c.terms, c.words, c.ranked = a, map[string]*counted{}, wordTable{}, 0
		c.age++
	}
	if len(c.terms)-c.ranked > max(leastRanked, c.ranked/4) {
		c.rank()
	}
	c.met = c.met[:0]
	c.doc++
}

// leastRanked is how many terms are ranked at least: a few documents are not worth it.
const leastRanked = 512

// rank gives all terms a rank.
func (c *counts) rank() {
	all := make([]*counted, 0, len(c.terms))
	for _, t := range c.terms {
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b *counted) int { return strings.Compare(a.term, b.term) })
	for i, t := range all {
		t.rank = uint32(i) + 1
	}
	c.ranked = len(all)
}

// sort sorts the terms of the document: those that have a rank by it, then the others into them.
func (c *counts) sort() {
	c.order, c.room = c.order[:0], c.room[:0]
	for i, t := range c.met {
		if t.rank != 0 {
			c.order = append(c.order, uint64(t.rank)<<32|uint64(i))
		}
	}
	byTerm := func(a, b *counted) int { return strings.Compare(a.term, b.term) }
	if len(c.met)-len(c.order) > mostInserted {
		slices.SortFunc(c.met, byTerm)
		return
	}
	slices.Sort(c.order)
	for _, o := range c.order {
		c.room = append(c.room, c.met[uint32(o)])
	}
	for _, t := range c.met {
		if t.rank == 0 {
			at, _ := slices.BinarySearchFunc(c.room, t, byTerm)
			c.room = slices.Insert(c.room, at, t)
		}
	}
	c.met, c.room = c.room, c.met
}

// mostInserted is how many terms of a document may have no rank for the others to be sorted by it.
const mostInserted = 8

// size is how many bytes the terms of the document take in its stored form at most.
func (c *counts) size() (n int) {
	for _, t := range c.met {
		n += len(t.term) + 2*binary.MaxVarintLen32
	}
	return n
}

// add counts the terms of a text and reports how many it has, repeated ones too.
func (c *counts) add(s *Scratch, a *Analyzer, text string) (length int) {
	if a.cuts {
		tokens := a.Analyze(s, text)
		for i := range tokens {
			c.count(c.term(tokens[i].Term))
		}
		return len(tokens)
	}
	a.split.each(text, func(from, to, _, _ int) {
		t, known := c.words.find(text, from, to)
		if !known {
			t = c.make(s, a, text[from:to])
		}
		if t != nil {
			c.count(t)
			length++
		}
	})
	return length
}

// make finds the term of a word that was not met before; nil where the filters drop it.
func (c *counts) make(s *Scratch, a *Analyzer, word string) *counted {
	word = strings.Clone(word) // the text goes
	s.tokens = append(s.tokens[:0], Token{Term: word})
	tokens := s.tokens
	for _, f := range a.filters {
		tokens = f.apply(s, tokens)
	}
	var t *counted
	if len(tokens) > 0 {
		t = c.term(tokens[0].Term)
	}
	c.words.put(word, t)
	return t
}

func (c *counts) term(term string) *counted {
	t := c.terms[term]
	if t == nil {
		term = strings.Clone(term)
		t = &counted{term: term}
		c.terms[term] = t
	}
	return t
}

func (c *counts) count(t *counted) {
	if t.doc != c.doc {
		t.doc, t.n = c.doc, 0
		if len(t.term) <= maxTerm {
			c.met = append(c.met, t)
		}
	}
	t.n++
}
