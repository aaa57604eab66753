package value

import (
	"regexp"
	"strings"
)

// CompileRegex compiles the source between the slashes of a regex literal. \d, \w, \s and \b follow
// Unicode's letters and digits where RE2 syntax has them.
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
	bracket := false
	for i := 0; i < len(source); i++ {
		c := source[i]
		switch {
		case c == '\\' && i+1 < len(source):
			i++
			if class := perlClass(source[i]); class != "" && !bracket {
				b.WriteByte('[')
				if source[i] < 'a' {
					b.WriteByte('^')
				}
				b.WriteString(class + "]")
			} else if class != "" && source[i] >= 'a' {
				b.WriteString(class)
			} else {
				b.WriteByte('\\')
				b.WriteByte(source[i])
			}
			continue
		case c == '[':
			bracket = true
		case c == ']':
			bracket = false
		}
		b.WriteByte(c)
	}
	return b.String()
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
