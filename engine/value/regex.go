package value

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
)

// Bounds of patterns: compiled ones are kept. (The reference refuses programs beyond 10 MB.)
const (
	maxPattern = 64 << 10 // bytes of the source
	maxClasses = 2000     // classes such as \w, a few kilobytes each
	maxSteps   = 20_000   // of the program
)

// Efforts of a search: steps of the program times bytes of the text.
const (
	MaxEffort   = 1 << 30 // of a search that is begun
	MostReplace = 1 << 27 // of a replacement that is begun: nothing can interrupt it
	QuickEffort = 1 << 22 // of one that takes no longer than a moment: it need not be interrupted
)

// What the compiled form of a pattern takes, in bytes.
const (
	stepCost  = 128
	classCost = 2 << 10
)

// ErrRegexTooLarge is a pattern that would take too much memory or time.
var ErrRegexTooLarge = errors.New("regular expression too large")

// Regex is a regular expression with its source. It is compiled when it is used for the first time. It is safe for
// concurrent use.
type Regex struct {
	Source string
	Steps  int // about the length of the compiled program
	Cost   int // about the bytes that the compiled program takes

	pattern string
	once    sync.Once // compiles re
	re      *regexp.Regexp

	of   *Regex    // the same, without asks
	asks *Searches // what is asked before and during a search; nil: nothing
}

// CompileRegex reads the source between the slashes of a regex literal: RE2 syntax, in which \d, \w and
// \s stand for Unicode's digits, letters and blanks. The error is ErrRegexTooLarge, or one of regexp/syntax.
func CompileRegex(source string) (*Regex, error) {
	if len(source) > maxPattern {
		return nil, ErrRegexTooLarge
	}
	pattern := unicodeClasses(strings.ReplaceAll(source, `\/`, `/`))
	sets := classes(pattern)
	if sets > maxClasses {
		return nil, ErrRegexTooLarge
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, err
	}
	n := steps(tree)
	if n > maxSteps {
		return nil, ErrRegexTooLarge
	}
	return &Regex{Source: source, Steps: n, Cost: n*stepCost + sets*classCost, pattern: pattern}, nil
}

// compiled is the program. The pattern has been parsed before, and what parses compiles.
func (r *Regex) compiled() *regexp.Regexp {
	r.once.Do(func() { r.re = regexp.MustCompile(r.pattern) })
	return r.re
}

// Match reports whether s holds a match.
func (r *Regex) Match(s string) bool {
	if r.asks != nil {
		return r.asks.match(r.of, s)
	}
	return r.compiled().MatchString(s)
}

// Replace puts what f makes of each match in its place; matches are found in order and without overlap. Nothing
// interrupts it.
func (r *Regex) Replace(s string, f func(match string) string) string {
	return r.compiled().ReplaceAllStringFunc(s, f)
}

// Effort bounds the steps of a search of s.
func (r *Regex) Effort(s string) int { return r.Steps * len(s) }

// Bears reports whether a search of s ends soon enough to be begun.
func (r *Regex) Bears(s string) bool { return r.Effort(s) <= MaxEffort }

// classes counts what may stand for a class of characters; too many rather than too few.
func classes(pattern string) int {
	n := strings.Count(pattern, "[")
	for _, c := range "pPdDwWsS" {
		n += strings.Count(pattern, `\`+string(c))
	}
	return n
}

// steps is about how many instructions a pattern compiles to; beyond maxSteps it is any number above.
func steps(re *syntax.Regexp) int {
	n := 1
	switch re.Op {
	case syntax.OpLiteral:
		n = len(re.Rune)
	case syntax.OpCapture:
		n = 2
	}
	for _, sub := range re.Sub {
		if n += steps(sub); n > maxSteps {
			return n
		}
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max) + 1
	}
	return n
}

// Contents of character classes: what the Perl escapes mean over Unicode.
const (
	digitClass = `\p{Nd}`
	wordClass  = `\p{L}\p{M}\p{Nd}\p{Pc}\x{200c}\x{200d}`
	spaceClass = `\t-\r \x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}`
)

// unicodeClasses rewrites \d, \w and \s, in and outside of brackets. The negated forms inside brackets
// stay ASCII: they cannot be spelled as a part of a class.
func unicodeClasses(source string) string {
	if !strings.Contains(source, `\d`) && !strings.Contains(source, `\w`) && !strings.Contains(source, `\s`) &&
		!strings.Contains(source, `\D`) && !strings.Contains(source, `\W`) && !strings.Contains(source, `\S`) {
		return source
	}
	var b strings.Builder
	bracket := -1 // where the contents of the open bracket start; -1 outside
	for i := 0; i < len(source); i++ {
		c := source[i]
		switch {
		case c == '\\' && i+1 < len(source):
			i++
			writeEscape(&b, source[i], bracket >= 0)
			continue
		case bracket < 0 && c == '[':
			bracket = i + 1
			if strings.HasPrefix(source[bracket:], "^") {
				bracket++
			}
		case bracket >= 0 && strings.HasPrefix(source[i:], "[:"):
			if end := strings.Index(source[i:], ":]"); end > 0 { // [:alpha:]
				b.WriteString(source[i : i+end+2])
				i += end + 1
				continue
			}
		case c == ']' && i > bracket: // first in a bracket it is a literal
			bracket = -1
		}
		b.WriteByte(c)
	}
	return b.String()
}

// writeEscape writes \c, or what it means over Unicode.
func writeEscape(b *strings.Builder, c byte, bracket bool) {
	class := perlClass(c)
	negated := c < 'a'
	switch {
	case class == "", bracket && negated:
		b.WriteByte('\\')
		b.WriteByte(c)
	case bracket:
		b.WriteString(class)
	case negated:
		b.WriteString("[^" + class + "]")
	default:
		b.WriteString("[" + class + "]")
	}
}

func perlClass(c byte) string {
	switch c {
	case 'd', 'D':
		return digitClass
	case 'w', 'W':
		return wordClass
	case 's', 'S':
		return spaceClass
	}
	return ""
}
