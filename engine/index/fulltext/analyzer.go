package fulltext

import (
	"github.com/nacredb/nacre/engine/ast"
)

// Token is a term and the part of the text that it came from. Positions count characters.
type Token struct {
	Term       string
	Start, End int // the word in the text
	// PartStart and PartEnd are the part of the word that the term itself stands for: of an ngram its letters, of a
	// stem as many as it has.
	PartStart, PartEnd int
}

// Analyzer turns texts into tokens. It holds no state of a text and may be used by any number of goroutines.
type Analyzer struct {
	// Function is the custom function that texts go through first, without fn::; "" for none. The caller runs it.
	Function string
	split    splitter
	filters  []filter
	cuts     bool // a filter makes several terms of a word
}

// filter changes the tokens of a text in place, or gives others.
type filter interface {
	apply(s *Scratch, tokens []Token) []Token
}

// Scratch is room for analyzing one text after the other, and remembers the stems of words. It belongs to one
// goroutine. What it remembers may be parts of the texts: it must not outlive them.
type Scratch struct {
	tokens []Token
	more   []Token // for filters that give others
	ends   []int
	memo   map[*eachTerm]map[string]string
	counts counts
}

// maxMemo is how many words a filter remembers.
const maxMemo = 1 << 14

// Compile makes the analyzer of a definition. files is where mapper filters read their files: it must only open what
// definitions may read. nil opens nothing.
func Compile(def *ast.DefineAnalyzer, files Files) (*Analyzer, error) {
	a := &Analyzer{Function: def.Function, split: newSplitter(def.Tokenizers)}
	for _, f := range def.Filters {
		compiled, err := newFilter(f, files)
		if err != nil {
			return nil, err
		}
		_, cuts := compiled.(grams)
		a.filters, a.cuts = append(a.filters, compiled), a.cuts || cuts
	}
	return a, nil
}

// Analyze gives the tokens of a text in the order of their places. They are the scratch's: the next call overwrites
// them.
func (a *Analyzer) Analyze(s *Scratch, text string) []Token { return a.analyze(s, text, true) }

// AnalyzeQuery is Analyze for what is looked for: words are not cut into ngrams, they are looked for among those of the
// texts.
func (a *Analyzer) AnalyzeQuery(s *Scratch, text string) []Token { return a.analyze(s, text, false) }

func (a *Analyzer) analyze(s *Scratch, text string, cut bool) []Token {
	tokens := a.split.tokens(s.tokens[:0], text)
	s.tokens = tokens
	for _, f := range a.filters {
		if _, cuts := f.(grams); cuts && !cut {
			continue
		}
		tokens = f.apply(s, tokens)
	}
	return tokens
}
