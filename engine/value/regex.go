package value

import (
	"regexp"
	"strings"
)

// CompileRegex compiles the source between the slashes of a regex literal: RE2 syntax, in which \d, \w and
// \s stand for Unicode's digits, letters and blanks.
func CompileRegex(source string) (*Regex, error) {
	re, err := regexp.Compile(unicodeClasses(strings.ReplaceAll(source, `\/`, `/`)))
	if err != nil {
		return nil, err
	}
	find := func(s string) [][]int { return re.FindAllStringIndex(s, -1) }
	return &Regex{Source: source, Match: re.MatchString, FindAll: find}, nil
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
