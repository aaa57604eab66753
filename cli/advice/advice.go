// Package advice says more about a failure than the server does: the name that was meant, and the place in the text
// that the error is about.
package advice

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/parse"
)

// Names lists the names in the database, where they are known.
type Names struct{ Tables, Functions, Namespaces, Databases, Params []string }

// On is the advice on an error about a text: lines to print behind the error, or "". Line is where the text begins.
func On(err error, text string, line int, names Names) string {
	var failed *parse.Error
	if errors.As(err, &failed) {
		if _, meant := parse.Meant(text); meant != "" {
			return "Did you mean " + meant + "?"
		}
		return ""
	}
	var refused *errs.Error
	if !errors.As(err, &refused) {
		return ""
	}
	var lines []string
	if s := excerpt(refused.Msg, text, line); s != "" {
		lines = append(lines, s)
	}
	if s := meant(refused.Msg, names); s != "" {
		lines = append(lines, "Did you mean "+s+"?")
	}
	return strings.Join(lines, "\n")
}

// OnAnswer is the advice on an error of a server about a statement of a long text, which begins at a line: by the
// excerpt in the error, where that is of this line. Later lines of a statement mean nothing by themselves.
func OnAnswer(err error, line int) string {
	_, rest, found := strings.Cut(err.Error(), fmt.Sprintf("\n%d | ", line))
	if !found || !strings.HasPrefix(err.Error(), "Parse error: ") {
		return ""
	}
	text, _, _ := strings.Cut(rest, "\n")
	if _, meant := parse.Meant(text); meant != "" {
		return "Did you mean " + meant + "?"
	}
	return ""
}

// missing are the errors about a name that does not exist.
var missing = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:The (\w+) |(Function) )['` + "`" + `]([^'` + "`" + `]+)['` + "`" +
		`] (?:does not exist|not found)`)
})

// meant is the name nearest to the one that does not exist.
func meant(msg string, names Names) string {
	m := missing().FindStringSubmatch(msg)
	if m == nil {
		return ""
	}
	switch strings.ToLower(m[1] + m[2]) {
	case "table":
		return parse.Nearest(m[3], names.Tables)
	case "function":
		return parse.Nearest(m[3], names.Functions)
	case "namespace":
		return parse.Nearest(m[3], names.Namespaces)
	case "database":
		return parse.Nearest(m[3], names.Databases)
	case "param", "parameter":
		return parse.Nearest(m[3], names.Params)
	}
	return ""
}

// named are the parts of an error that may stand in the text as they are: names, functions with their brackets, and
// literals.
var named = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("`([^`]+)`|'([^']+)'|(\\w+(?:::\\w+)*\\(\\))")
})

// maxExcerpt is the longest line, in characters, that an excerpt shows.
const maxExcerpt = 120

// excerpt shows the one place of the text that an error names; "" where it names none, or one that is there twice.
func excerpt(msg, text string, line int) string {
	for _, m := range named().FindAllStringSubmatch(msg, 8) {
		for _, part := range m[1:] {
			part = strings.Trim(strings.TrimSuffix(part, "()"), `'"`)
			if at := only(text, part); at >= 0 {
				return show(text, at, len(part), line)
			}
		}
	}
	return ""
}

// only is where part stands in the text as a whole word, if it does so once; else -1.
func only(text, part string) int {
	if part == "" {
		return -1
	}
	found := -1
	for from := 0; ; {
		i := strings.Index(text[from:], part)
		if i < 0 {
			return found
		}
		at := from + i
		from = at + len(part)
		if inWord(text, at, true) || inWord(text, from, false) {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = at
	}
}

// inWord reports whether the character before (or at) an offset would make a word longer.
func inWord(text string, at int, before bool) bool {
	var r rune
	if before {
		r, _ = utf8.DecodeLastRuneInString(text[:at])
	} else {
		r, _ = utf8.DecodeRuneInString(text[at:])
	}
	return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// show is the line of an offset with marks below it, as errors of the parser have them.
func show(text string, at, length, line int) string {
	start := strings.LastIndexByte(text[:at], '\n') + 1
	end := len(text)
	if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
		end = at + i
	}
	source := strings.ReplaceAll(text[start:end], "\t", " ")
	if utf8.RuneCountInString(source) > maxExcerpt {
		return ""
	}
	number := line + strings.Count(text[:start], "\n")
	column := utf8.RuneCountInString(text[start:at])
	marks := strings.Repeat("^", max(1, utf8.RuneCountInString(text[at:min(at+length, end)])))
	pad := strings.Repeat(" ", len(fmt.Sprint(number)))
	return fmt.Sprintf("%s--> [%d:%d]\n%s |\n%d | %s\n%s | %s%s", pad, number, column+1, pad, number, source, pad,
		strings.Repeat(" ", column), marks)
}
