package value

import (
	"errors"
	"io"
	"slices"
	"unicode/utf8"
)

// Searches are those of an operator or a call with regular expressions. They ask poll from time to time whether to go
// on. When it says no, or a search is too much, what they find means nothing, and Err is set.
type Searches struct {
	poll func() error
	work int // effort since poll was asked
	err  error
}

// ErrSearchTooLarge is a search that is not begun: it would take more than MaxEffort.
var ErrSearchTooLarge = errors.New("the pattern is too large for a text of this length")

// NewSearches makes Searches that ask poll.
func NewSearches(poll func() error) *Searches { return &Searches{poll: poll} }

// Err is why the searches have ended before they found an answer.
func (s *Searches) Err() error { return s.err }

// Match reports whether text holds a match of r.
func (s *Searches) Match(r *Regex, text string) bool { return s.match(r, text) }

// Bind is v with the regular expressions that it is, or has as elements, searching by s. It reports whether there are
// any.
func (s *Searches) Bind(v Value) (Value, bool) {
	switch v.Kind() {
	case KindRegex:
		return RegexOf(s.bind(v.Regex())), true
	case KindArray, KindSet:
		if !HasRegex(v) {
			return v, false
		}
		elems := slices.Clone(v.Elems())
		for i, e := range elems {
			if e.Kind() == KindRegex {
				elems[i] = RegexOf(s.bind(e.Regex()))
			}
		}
		if v.Kind() == KindSet {
			return SetOf(elems), true
		}
		return ArrayOf(elems), true
	}
	return v, false
}

// HasRegex reports whether v is an array or set with a regular expression among its elements.
func HasRegex(v Value) bool {
	return (v.Kind() == KindArray || v.Kind() == KindSet) &&
		slices.ContainsFunc(v.Elems(), func(e Value) bool { return e.Kind() == KindRegex })
}

func (s *Searches) bind(r *Regex) *Regex {
	return &Regex{Source: r.Source, Steps: r.Steps, Cost: r.Cost, pattern: r.pattern, of: r, asks: s}
}

// aSearch is the fixed cost of a search, besides its effort.
const aSearch = 1 << 10

func (s *Searches) match(r *Regex, text string) bool {
	effort := r.Effort(text)
	if effort > MaxEffort && s.err == nil {
		s.err = ErrSearchTooLarge
	}
	if s.did(effort + aSearch) {
		return false
	}
	if effort <= QuickEffort {
		return r.compiled().MatchString(text)
	}
	found := r.compiled().MatchReader(&askingReader{text: text, asks: s, each: max(1, QuickEffort/max(1, r.Steps))})
	return found && s.err == nil
}

// did counts the effort of a search that is about to begin, and reports whether it must not.
func (s *Searches) did(effort int) bool {
	if s.work += effort; s.work >= QuickEffort {
		s.work = 0
		s.ask()
	}
	return s.err != nil
}

func (s *Searches) ask() {
	if s.err == nil && s.poll != nil {
		s.err = s.poll()
	}
}

// askingReader gives the characters of a text, and asks after each so many bytes. When the search must end the text
// does.
type askingReader struct {
	text  string
	at    int
	asked int
	each  int
	asks  *Searches
}

// ReadRune implements io.RuneReader.
func (a *askingReader) ReadRune() (rune, int, error) {
	if a.at-a.asked >= a.each {
		a.asked = a.at
		a.asks.ask()
	}
	if a.at >= len(a.text) || a.asks.err != nil {
		return 0, 0, io.EOF
	}
	r, n := utf8.DecodeRuneInString(a.text[a.at:])
	a.at += n
	return r, n, nil
}
