package fulltext

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"

	"github.com/nacredb/nacre/engine/ast"
)

func newFilter(f ast.AnalyzerFilter, files Files) (filter, error) {
	switch f.Name {
	case "LOWERCASE":
		return each(lower), nil
	case "UPPERCASE":
		return each(upper), nil
	case "ASCII":
		return memoized(fold), nil
	case "NGRAM":
		return grams{f.Min, f.Max, false}, nil
	case "EDGENGRAM":
		return grams{f.Min, f.Max, true}, nil
	case "SNOWBALL":
		stem, err := stemmer(f.Language)
		if err != nil {
			return nil, err
		}
		return memoized(stem), nil
	case "MAPPER":
		words, err := readMapper(files, f.Path)
		if err != nil {
			return nil, err
		}
		return each(words.base), nil
	}
	return nil, fmt.Errorf("analyzer filter %s is unknown", f.Name)
}

// eachTerm changes every term. Terms that are empty then go.
type eachTerm struct {
	change func(string) string
	slow   bool // its results are worth remembering
}

func each(change func(string) string) filter     { return &eachTerm{change: change} }
func memoized(change func(string) string) filter { return &eachTerm{change: change, slow: true} }

func (f *eachTerm) apply(s *Scratch, tokens []Token) []Token {
	change := f.change
	if f.slow {
		change = f.remember(s)
	}
	out := tokens[:0]
	for _, t := range tokens {
		term := change(t.Term)
		if term == "" {
			continue
		}
		if term != t.Term {
			t.Term = term
			t.PartEnd = min(t.PartStart+utf8.RuneCountInString(term), t.End)
		}
		out = append(out, t)
	}
	return out
}

// remember is change with the results that the scratch knows.
func (f *eachTerm) remember(s *Scratch) func(string) string {
	if s.memo == nil {
		s.memo = map[*eachTerm]map[string]string{}
	}
	known := s.memo[f]
	if known == nil || len(known) >= maxMemo {
		known = map[string]string{}
		s.memo[f] = known
	}
	return func(word string) string {
		if term, ok := known[word]; ok {
			return term
		}
		term := f.change(word)
		known[word] = term
		return term
	}
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func lower(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	return cases.Lower(language.Und).String(s)
}

func upper(s string) string {
	if isASCII(s) {
		return strings.ToUpper(s)
	}
	return cases.Upper(language.Und).String(s)
}

// grams gives the parts of each term that have from least to most characters: all of them, or only those at its
// beginning.
type grams struct {
	least, most int64
	edge        bool
}

func (f grams) apply(s *Scratch, tokens []Token) []Token {
	// Two filters of this kind take turns with the room.
	out, ends := s.more[:0], s.ends
	for _, t := range tokens {
		if t.Term == "" { // made by another filter of this kind
			continue
		}
		ends = ends[:0]
		for i := range t.Term {
			ends = append(ends, i)
		}
		n := len(ends)
		ends = append(ends, len(t.Term))
		last := n
		if f.edge {
			last = 0
		}
		for start := 0; start <= last; start++ {
			for size := int(min(f.least, int64(n)+1)); int64(size) <= f.most && start+size <= n; size++ {
				g := t
				g.Term = t.Term[ends[start]:ends[start+size]]
				g.PartStart = min(t.PartStart+start, t.End)
				g.PartEnd = min(t.PartStart+start+size, t.End)
				out = append(out, g)
			}
		}
	}
	s.more, s.tokens, s.ends = tokens, out, ends
	return out
}
