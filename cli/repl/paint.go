package repl

import (
	"strings"
	"unicode"

	"github.com/nacredb/nacre/engine/parse"
)

// Colours of the line that is typed (ECMA-48).
const (
	plain   = "\x1b[0m"
	keyword = "\x1b[1;34m"
	quoted  = "\x1b[32m"
	numeral = "\x1b[36m"
	param   = "\x1b[35m"
	comment = "\x1b[2m"
	bracket = "\x1b[7m"
	alarm   = "\x1b[31m"
)

// painter shows what stands for line feeds and tabs, and in colour the words, strings, numbers, parameters and
// comments of a line, and the bracket that belongs to the one at the cursor. It adds no width.
type painter struct{ colour bool }

// Paint implements readline.Painter.
func (p *painter) Paint(line []rune, pos int) []rune {
	out := make([]rune, 0, len(line)+32)
	if !p.colour {
		for _, r := range line {
			out = append(out, visible(r))
		}
		return out
	}
	style := styles(line)
	if at, with := pair(line, style, pos); with >= 0 {
		style[at], style[with] = bracket, bracket
	}
	last := ""
	for i, r := range line {
		if style[i] != last {
			if last != "" {
				out = append(out, []rune(plain)...)
			}
			out = append(out, []rune(style[i])...)
			last = style[i]
		}
		out = append(out, visible(r))
	}
	if last != "" {
		out = append(out, []rune(plain)...)
	}
	return out
}

func visible(r rune) rune {
	switch r {
	case lineFeed:
		return '↵'
	case tab:
		return ' '
	}
	return r
}

// styles is the colour of each character; "" is none.
func styles(line []rune) []string {
	out := make([]string, len(line))
	fill := func(from, to int, style string) {
		for ; from < to; from++ {
			out[from] = style
		}
	}
	for i := 0; i < len(line); {
		end, style := token(line, i)
		fill(i, end, style)
		i = end
	}
	return out
}

// token is the end and the colour of what begins at i.
func token(line []rune, i int) (int, string) {
	r := line[i]
	switch {
	case r == '\'' || r == '"':
		return stringEnd(line, i), quoted
	case r == '#' || r == '-' && i+1 < len(line) && line[i+1] == '-' || r == '/' && i+1 < len(line) && line[i+1] == '/':
		end := i
		for end < len(line) && line[end] != lineFeed {
			end++
		}
		return end, comment
	case r == '$':
		return wordEnd(line, i+1), param
	case unicode.IsDigit(r):
		return wordEnd(line, i), numeral
	case r == '_' || unicode.IsLetter(r):
		end := wordEnd(line, i)
		if parse.Keyword(string(line[i:end])) && (i == 0 || line[i-1] != '.' && line[i-1] != ':') {
			return end, keyword
		}
		return end, ""
	}
	return i + 1, ""
}

// stringEnd is the end of the string that begins at i, or of the line.
func stringEnd(line []rune, i int) int {
	for end := i + 1; end < len(line); end++ {
		switch line[end] {
		case '\\':
			end++
		case line[i]:
			return end + 1
		}
	}
	return len(line)
}

func wordEnd(line []rune, i int) int {
	for i < len(line) && (line[i] == '_' || unicode.IsLetter(line[i]) || unicode.IsDigit(line[i])) {
		i++
	}
	return i
}

const (
	openers = "([{"
	closers = ")]}"
)

// pair gives the bracket at or before the cursor and the one that belongs to it; -1 where there is none. Brackets of
// strings and comments do not count.
func pair(line []rune, style []string, pos int) (at, with int) {
	for _, at := range []int{pos, pos - 1} {
		if at < 0 || at >= len(line) || style[at] != "" {
			continue
		}
		if strings.ContainsRune(openers, line[at]) {
			return at, match(line, style, at, 1)
		}
		if strings.ContainsRune(closers, line[at]) {
			return at, match(line, style, at, -1)
		}
	}
	return -1, -1
}

func match(line []rune, style []string, at, step int) int {
	depth := 0
	for i := at; i >= 0 && i < len(line); i += step {
		if style[i] != "" {
			continue
		}
		switch {
		case strings.ContainsRune(openers, line[i]):
			depth += step
		case strings.ContainsRune(closers, line[i]):
			depth -= step
		}
		if depth == 0 {
			return i
		}
	}
	return -1
}
