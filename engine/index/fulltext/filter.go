package fulltext

import (
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"

	"github.com/nacredb/nacre/engine/ast"
)

func newFilter(f ast.AnalyzerFilter, files fs.FS) (filter, error) {
	switch f.Name {
	case "LOWERCASE":
		return each(lower), nil
	case "UPPERCASE":
		return each(upper), nil
	case "ASCII":
		return each(fold), nil
	case "NGRAM":
		return grams(f.Min, f.Max, false), nil
	case "EDGENGRAM":
		return grams(f.Min, f.Max, true), nil
	case "SNOWBALL":
		stem, err := stemmer(f.Language)
		if err != nil {
			return nil, err
		}
		return each(stem), nil
	case "MAPPER":
		words, err := readMapper(files, f.Path)
		if err != nil {
			return nil, err
		}
		return each(words.base), nil
	}
	return nil, fmt.Errorf("analyzer filter %s is unknown", f.Name)
}

// each makes a filter that changes every term. Terms that become empty go.
func each(f func(string) string) filter {
	return func(tokens []Token) []Token {
		out := tokens[:0]
		for _, t := range tokens {
			term := f(t.Term)
			if term == "" && t.Term != "" {
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

// grams makes a filter that gives the parts of each term that have from least to most characters: all of them, or only
// those at its beginning.
func grams(least, most int64, edge bool) filter {
	return func(tokens []Token) []Token {
		var out []Token
		var ends []int // byte offsets of the characters of a term, and its length
		for _, t := range tokens {
			ends = ends[:0]
			for i := range t.Term {
				ends = append(ends, i)
			}
			n := len(ends)
			ends = append(ends, len(t.Term))
			last := n
			if edge {
				last = 0
			}
			for start := 0; start <= last; start++ {
				for size := int(min(least, int64(n)+1)); int64(size) <= most && start+size <= n; size++ {
					g := t
					g.Term = t.Term[ends[start]:ends[start+size]]
					g.PartStart = min(t.PartStart+start, t.End)
					g.PartEnd = min(t.PartStart+start+size, t.End)
					out = append(out, g)
				}
			}
		}
		return out
	}
}
