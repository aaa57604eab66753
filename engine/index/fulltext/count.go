package fulltext

// maxWords is how many words, and terms, are remembered at a time: as many as most languages have in use.
const maxWords = 1 << 16

// counts counts the terms of one document after the other. It remembers which term an analyzer makes of a word, so that
// most words are looked up once.
type counts struct {
	of    *Analyzer
	terms map[string]*counted // by term
	words map[string]*counted // by word, where the filters make one term of it; nil for those that they drop
	met   []*counted          // of the document
	doc   uint64
}

// counted is a term and how often the document has it.
type counted struct {
	term string
	n    uint32
	doc  uint64 // that n is for

	in   *lists // a builder's, where list is that of the term
	list *[]posting
}

// begin begins a document.
func (c *counts) begin(a *Analyzer) {
	if c.of != a || len(c.words) >= maxWords || len(c.terms) >= maxWords {
		c.of, c.terms, c.words = a, map[string]*counted{}, map[string]*counted{}
	}
	c.met = c.met[:0]
	c.doc++
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
		t, known := c.words[text[from:to]]
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
	s.tokens = append(s.tokens[:0], Token{Term: word})
	tokens := s.tokens
	for _, f := range a.filters {
		tokens = f.apply(s, tokens)
	}
	var t *counted
	if len(tokens) > 0 {
		t = c.term(tokens[0].Term)
	}
	c.words[word] = t
	return t
}

func (c *counts) term(term string) *counted {
	t := c.terms[term]
	if t == nil {
		t = &counted{term: term}
		c.terms[term] = t
	}
	return t
}

func (c *counts) count(t *counted) {
	if t.doc != c.doc {
		t.doc, t.n = c.doc, 0
		c.met = append(c.met, t)
	}
	t.n++
}
