// Package collate compares texts as people order them: without regard to case and script, and with runs of digits as
// numbers. ORDER BY … COLLATE NUMERIC and the array::sort_lexical family share it. It knows no locales.
package collate

import (
	_ "embed"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/mozillazg/go-unidecode"
)

// Rules says how texts are compared.
//
// Lexical compares by ASCII readings in lower case: "ß" as "ss", "ж" as "zh". Marks come before digits and letters.
// Characters that are neither letters nor digits stand for themselves, behind the marks of ASCII.
//
// Natural compares runs of ASCII digits as a whole: a longer run is greater, runs of one length compare as texts.
//
// Texts that come out equal compare by their bytes.
type Rules struct{ Lexical, Natural bool }

// Compare is negative, zero or positive as a is before, at or behind b.
func (c Rules) Compare(a, b string) int {
	x, y := reader{s: a, lexical: c.Lexical}, reader{s: b, lexical: c.Lexical}
	p, okP := x.next()
	q, okQ := y.next()
	for okP && okQ {
		if c.Natural && isDigit(p) && isDigit(q) {
			var order int
			if order, p, okP, q, okQ = compareRuns(&x, p, &y, q); order != 0 {
				return order
			}
			continue
		}
		if order := c.compareRunes(p, q); order != 0 {
			return order
		}
		p, okP = x.next()
		q, okQ = y.next()
	}
	switch {
	case okQ:
		return -1
	case okP:
		return 1
	}
	return strings.Compare(a, b)
}

func (c Rules) compareRunes(p, q rune) int {
	if c.Lexical {
		if wordP, wordQ := isAlnum(p), isAlnum(q); wordP != wordQ {
			if wordP {
				return 1
			}
			return -1
		}
	}
	return int(p) - int(q)
}

// compareRuns compares two runs of digits that begin with p and q: the first difference decides among runs of one
// length. It also gives the characters behind them.
func compareRuns(x *reader, p rune, y *reader, q rune) (order int, nextP rune, okP bool, nextQ rune, okQ bool) {
	okP, okQ = true, true
	for okP && okQ && isDigit(p) && isDigit(q) {
		if order == 0 {
			order = int(p) - int(q)
		}
		p, okP = x.next()
		q, okQ = y.next()
	}
	switch moreP, moreQ := okP && isDigit(p), okQ && isDigit(q); {
	case moreP:
		order = 1
	case moreQ:
		order = -1
	}
	return order, p, okP, q, okQ
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

func isAlnum(r rune) bool { return isDigit(r) || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

// reader gives the characters of a text one by one as Rules see them.
type reader struct {
	s       string
	lexical bool
	pending string // the rest of a reading, in lower case
}

func (r *reader) next() (rune, bool) {
	for {
		if r.pending != "" {
			c := r.pending[0]
			r.pending = r.pending[1:]
			return rune(c), true
		}
		if r.s == "" {
			return 0, false
		}
		c, n := utf8.DecodeRuneInString(r.s)
		r.s = r.s[n:]
		switch {
		case !r.lexical:
			return c, true
		case c < utf8.RuneSelf:
			return unicode.ToLower(c), true
		case !unicode.IsLetter(c) && !unicode.IsNumber(c) && !unicode.Is(unicode.Other_Alphabetic, c):
			return c, true
		}
		r.pending = reading(c)
	}
}

// reading is the ASCII reading of a letter or digit, in lower case; "" where there is none.
func reading(c rune) string {
	if s, ok := measured()[c]; ok {
		return s
	}
	return strings.ToLower(strings.TrimSpace(unidecode.Unidecode(string(c))))
}

// readings has a line for each character whose reading is not that of the unidecode tables: the character and its
// reading. The rows were measured by sorting each character between probes on SurrealDB 3.0.2; the candidates were
// the tables of AnyAscii (anyascii.com, ISC licence).
//
//go:embed readings.txt
var readings string

var measured = sync.OnceValue(func() map[rune]string {
	m := make(map[rune]string, strings.Count(readings, "\n"))
	for line := range strings.Lines(readings) {
		c, n := utf8.DecodeRuneInString(line)
		m[c] = strings.TrimSuffix(line[n:], "\n")
	}
	return m
})
