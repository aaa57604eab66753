// Package gql is the syntax of ISO GQL (ISO/IEC 39075): the lexer and parser, a syntax tree of its own, and the
// printer.
//
// It accepts the graph pattern language that nacre runs and evaluates nothing. Every failure is an *errs.Error of kind
// Validation whose text names line and column and shows the place. Size and depth of a text are limited by Options.
// Package engine/graph gives the trees their meaning.
package gql

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
