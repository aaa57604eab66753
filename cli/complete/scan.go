package complete

import (
	"strings"
	"unicode"
)

// token is a word or a mark of a text: enough of the language to know the place of the cursor.
type token struct {
	text string
	word bool
}

// scan divides a text into tokens, and reports whether it ends inside of a string, a quoted name or a comment.
// Strings and comments are no tokens.
func scan(text string) (tokens []token, inside bool) {
	r := []rune(text)
	for i := 0; i < len(r); {
		switch c := r[i]; {
		case unicode.IsSpace(c):
			i++
		case c == '\'' || c == '"' || c == '`' || c == '⟨':
			end, closed := quoted(r, i)
			if !closed {
				return tokens, true
			}
			tokens = append(tokens, token{string(r[i:end]), c == '`' || c == '⟨'})
			i = end
		case comment(r, i):
			for i < len(r) && r[i] != '\n' {
				i++
			}
			if i == len(r) {
				return tokens, true
			}
		case c == '/' && i+1 < len(r) && r[i+1] == '*':
			end := strings.Index(string(r[i:]), "*/")
			if end < 0 {
				return tokens, true
			}
			i += len([]rune(string(r[i:])[:end])) + len("*/")
		case wordRune(c):
			end := i
			for end < len(r) && (wordRune(r[end]) || r[end] == ':' && pathAt(r, end)) {
				if r[end] == ':' {
					end++
				}
				end++
			}
			tokens = append(tokens, token{string(r[i:min(end, len(r))]), true})
			i = end
		default:
			n := mark(r[i:])
			tokens = append(tokens, token{string(r[i : i+n]), false})
			i += n
		}
	}
	return tokens, false
}

func comment(r []rune, i int) bool {
	return r[i] == '#' || i+1 < len(r) && (r[i] == '-' && r[i+1] == '-' || r[i] == '/' && r[i+1] == '/')
}

// quoted is the end of what the mark at i opens, and whether it is closed.
func quoted(r []rune, i int) (end int, closed bool) {
	last := r[i]
	if last == '⟨' {
		last = '⟩'
	}
	for end = i + 1; end < len(r); end++ {
		switch r[end] {
		case '\\':
			end++
		case last:
			return end + 1, true
		}
	}
	return len(r), false
}

// pathAt reports whether the two colons of a path stand at i.
func pathAt(r []rune, i int) bool { return i+1 < len(r) && r[i+1] == ':' }

// mark is the length of the mark at the beginning of r.
func mark(r []rune) int {
	for _, m := range []string{"<->", "->", "<-", "..", "&&", "||"} {
		if strings.HasPrefix(string(r[:min(len(r), 3)]), m) {
			return len([]rune(m))
		}
	}
	return 1
}

func wordRune(c rune) bool { return c == '_' || c == '$' || unicode.IsLetter(c) || unicode.IsDigit(c) }
