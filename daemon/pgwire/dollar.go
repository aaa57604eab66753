package pgwire

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
)

// rewritten is a text of the language whose parameters $1, $2, … are $_1, $_2, ….
type rewritten struct {
	text string
	most int   // the highest number
	at   []int // bytes of text where a character was added
}

// rewrite makes the parameters of the wire those of the language. What is inside of strings, names in quotes, regular
// expressions and comments stays.
func rewrite(text string) (rewritten, error) {
	if !strings.Contains(text, "$") {
		return rewritten{text: text}, nil
	}
	r := rewritten{}
	var b strings.Builder
	from := 0
	operand := false // what comes next may divide what was before
	for i := 0; i < len(text); {
		if n := inert(text[i:], operand); n > 0 {
			operand = !isComment(text[i:]) || operand
			i += n
			continue
		}
		ch := text[i]
		if ch == '$' {
			end := i + 1
			for end < len(text) && text[end] >= '0' && text[end] <= '9' {
				end++
			}
			operand = true
			if end == i+1 || end < len(text) && nameByte(text[end]) {
				i = end
				for i < len(text) && nameByte(text[i]) {
					i++
				}
				continue
			}
			n, err := strconv.Atoi(text[i+1 : end])
			if err != nil || n < 1 || n > mostParams {
				return r, sqlstate.New(sqlstate.UndefinedParameter, "there is no parameter $%s",
					text[i+1:end]).At(characters(text, i) + 1)
			}
			r.most = max(r.most, n)
			b.WriteString(text[from : i+1])
			r.at = append(r.at, b.Len())
			b.WriteByte('_')
			from, i = i+1, end
			continue
		}
		switch {
		case nameByte(ch):
			start := i
			for i < len(text) && nameByte(text[i]) {
				i++
			}
			operand = !operatorWord[strings.ToLower(text[start:i])]
			continue
		case ch == ')' || ch == ']' || ch == '}':
			operand = true
		case strings.IndexByte(" \t\r\n", ch) < 0:
			operand = false
		}
		i++
	}
	b.WriteString(text[from:])
	r.text = b.String()
	return r, nil
}

// operatorWord are words after which a slash begins a regular expression.
var operatorWord = map[string]bool{"and": true, "or": true, "return": true, "in": true, "is": true, "not": true,
	"where": true, "then": true,
	"else": true, "contains": true, "inside": true, "select": true, "value": true, "if": true, "set": true, "let": true}

func nameByte(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '_' || c >= utf8.RuneSelf
}

func isComment(s string) bool {
	return strings.HasPrefix(s, "--") || strings.HasPrefix(s, "/*") || strings.HasPrefix(s, "//") || s[0] == '#'
}

// inert is the length of the string, quoted name, comment or regular expression at the start of s; 0 where there is
// none.
func inert(s string, operand bool) int {
	line := func() int {
		if i := strings.IndexByte(s, '\n'); i >= 0 {
			return i
		}
		return len(s)
	}
	switch {
	case s[0] == '\'' || s[0] == '"' || s[0] == '`':
		return closed(s, s[0])
	case strings.HasPrefix(s, "⟨"):
		for i := len("⟨"); i < len(s); i++ {
			if s[i] == '\\' {
				i++
			} else if strings.HasPrefix(s[i:], "⟩") {
				return i + len("⟩")
			}
		}
		return len(s)
	case strings.HasPrefix(s, "--") || s[0] == '#':
		return line()
	case strings.HasPrefix(s, "/*"):
		if i := strings.Index(s[2:], "*/"); i >= 0 {
			return i + 4
		}
		return len(s)
	case strings.HasPrefix(s, "//"):
		return line()
	case s[0] == '/' && !operand:
		if n := closed(s, '/'); n > 0 && strings.IndexByte(s[:n], '\n') < 0 {
			return n
		}
	}
	return 0
}

// closed is the length of s up to the next quote that no backslash is before.
func closed(s string, quote byte) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case quote:
			return i + 1
		}
	}
	return len(s)
}

// position is where a character of the rewritten text is in the source, both counted in characters from 1.
func (r *rewritten) position(p int) int {
	shift := 0
	for _, at := range r.at {
		if utf8.RuneCountInString(r.text[:at]) < p-1 {
			shift++
		}
	}
	return p - shift
}
