package parse

import (
	"slices"
	"strings"
)

// Next reports what may follow text, for completion: the keywords that begin with prefix, in order, and whether a name
// may stand there. The parser itself answers: it reads text with each keyword behind it. A keyword that it would take
// for a name is no answer.
func Next(text, prefix string) (words []string, name bool) {
	text += " "
	for _, w := range keywordNames {
		if !strings.HasPrefix(w, strings.ToUpper(prefix)) {
			continue
		}
		if taken, asName := follows(text, w); taken && !asName {
			words = append(words, w)
		}
	}
	name, _ = follows(text, "a_name_that_is_no_keyword")
	slices.Sort(words)
	return slices.Compact(words), name
}

// follows reports whether word may follow text, and whether it is a name there.
func follows(text, word string) (taken, asName bool) {
	p := newParser(text+word, Options{})
	p.probe = len(text)
	if p.err == nil {
		p.statements()
	}
	return p.err == nil || p.err.Blocks[0].Start > p.probe, p.asName
}

// The bounds of Meant: texts and edits.
const (
	maxMeantText  = 16 << 10
	maxMeantWords = 32
	maxMeantEdits = 2
)

// Meant finds the word of a text that does not parse which, written as a keyword that is spelled nearly so, lets the
// parser read on. It gives the offset of the word, and the keyword; "" where there is none.
func Meant(text string) (offset int, meant string) {
	before, failed := readTo(text)
	if !failed || len(text) > maxMeantText {
		return 0, ""
	}
	best := before
	for _, t := range misspelt(text, before) {
		for _, w := range near(strings.ToUpper(text[t.start:t.end])) {
			to, failed := readTo(text[:t.start] + w + text[t.end:])
			if !failed {
				return t.start, w
			}
			if to -= len(w) - (t.end - t.start); to > best {
				best, offset, meant = to, t.start, w
			}
		}
	}
	return offset, meant
}

// readTo is the offset at which the parser fails, and whether it does.
func readTo(text string) (offset int, failed bool) {
	p := newParser(text, Options{})
	if p.err == nil {
		p.statements()
	}
	if p.err == nil {
		return len(text), false
	}
	return p.err.Blocks[0].Start, true
}

// misspelt are the last bare words up to offset that are no keywords.
func misspelt(text string, offset int) []token {
	var words []token
	lex := lexer{src: text}
	for {
		t, err := lex.next()
		if err != nil || t.kind == tEOF || t.start > offset {
			break
		}
		if t.kind == tIdent && text[t.start] < 0x80 && text[t.start] != '`' && t.end-t.start > 2 {
			words = append(words, t)
		}
	}
	return words[max(0, len(words)-maxMeantWords):]
}

// near are the keywords within maxMeantEdits of a word in upper case.
func near(word string) []string {
	most := maxMeantEdits
	if len(word) < 4 {
		most = 1
	}
	var list []string
	for _, w := range keywordNames {
		if editDistance(word, w, most+1) <= most {
			list = append(list, w)
		}
	}
	return list
}

// Nearest is the name nearest to what was written, without regard to case; "" when none is near.
func Nearest(written string, names []string) string {
	most := min(maxMeantEdits, len(written)/2)
	best, bestDist := "", most+1
	for _, n := range names {
		if d := editDistance(strings.ToLower(written), strings.ToLower(n), bestDist); d < bestDist {
			best, bestDist = n, d
		}
	}
	return best
}

// Keywords are all keywords, in order.
func Keywords() []string {
	list := slices.Clone(keywordNames[:])
	slices.Sort(list)
	return slices.Compact(list)
}
