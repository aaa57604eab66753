// Package gql is the syntax of ISO GQL (ISO/IEC 39075): the lexer and parser, a syntax tree of its own, and the
// printer.
//
// It accepts the graph pattern language that nacre runs and evaluates nothing. Every failure is an *errs.Error of kind
// Validation whose text names line and column and shows the place. Size and depth of a text are limited by Options.
// Package engine/graph gives the trees their meaning.
package gql

import (
	"slices"
	"strings"
)

// Options limit what a text may be.
type Options struct {
	MaxText  int // bytes; 0: DefaultMaxText
	MaxDepth int // nested expressions, patterns and queries; 0: DefaultMaxDepth
}

// The limits where Options give none.
const (
	DefaultMaxText  = 1 << 20
	DefaultMaxDepth = 100
)

// Parse reads a program. The whole text must be one, but for a semicolon at its end.
func Parse(text string, opt Options) (*Program, error) {
	if opt.MaxText <= 0 {
		opt.MaxText = DefaultMaxText
	}
	if opt.MaxDepth <= 0 {
		opt.MaxDepth = DefaultMaxDepth
	}
	p := &parser{src: text, max: opt.MaxDepth}
	return p.program(opt.MaxText)
}

// Ended reports whether a text that is being typed ends with a semicolon: one outside of strings and comments.
func Ended(text string) bool {
	p := &parser{src: text}
	for last := (token{}); ; {
		t, err := p.scan()
		if err != nil {
			return false // of an open string or comment; other faults are found when the text has ended
		}
		if t.kind == tokEnd {
			return last.kind == tokPunct && last.text == ";"
		}
		last = t
	}
}

// Keywords are the reserved words, sorted, and those that begin a pattern or a statement.
func Keywords() []string {
	words := strings.Fields(reservedWords + " ACYCLIC EXPLAIN SHORTEST SIMPLE TRAIL WALK")
	slices.Sort(words)
	return words
}

// Columns are the names of the columns of a program in the order of its RETURN; nil where it has none, or returns all
// variables.
func (p *Program) Columns() []string {
	if p.Explain || len(p.Query.Parts) == 0 {
		return nil
	}
	l := p.Query.Parts[len(p.Query.Parts)-1].Arms[0]
	for l.Braced != nil && len(l.Braced.Parts) > 0 {
		l = l.Braced.Parts[len(l.Braced.Parts)-1].Arms[0]
	}
	if l.Result == nil {
		return nil
	}
	var names []string
	for _, it := range l.Result.Items {
		names = append(names, it.Alias)
	}
	return names
}
