package repl

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nacredb/nacre/cli/complete"
	"github.com/nacredb/nacre/cli/render"
	"github.com/nacredb/nacre/engine/gql"
	"github.com/nacredb/nacre/engine/parse"
)

// completer adapts names to readline: it answers the rest of each name after what is typed.
type completer struct {
	names *names
	vars  func() []string // the variables of the session
	say   func(string)    // prints a line above the prompt
}

// Do implements readline.AutoCompleter.
func (c completer) Do(line []rune, pos int) (rest [][]rune, length int) {
	c.names.mu.Lock()
	found, inGQL, begun := c.names.found, c.names.gql, c.names.begun
	c.names.mu.Unlock()
	before, after := fromLine.Replace(string(line[:pos])), fromLine.Replace(string(line[pos:]))
	var o complete.Offer
	switch {
	case begun == "" && strings.HasPrefix(strings.TrimLeft(before, " "), `\`):
		o = c.ofCommand(&found, strings.TrimLeft(before, " "))
	case inGQL:
		o = ofGQL(&found, begun+before)
	default:
		if c.vars != nil {
			found.Params = slices.Concat(found.Params, c.vars())
		}
		o = complete.At(&found, begun+before, after)
		word := string(line[pos-min(pos, o.Length) : pos])
		o.Words = inCaseOf(word, o.Words)
	}
	if o.Hint != "" && c.say != nil {
		c.say(render.Visible(o.Hint, false))
	}
	for _, w := range o.Words {
		rest = append(rest, []rune(toLine.Replace(w))[o.Length:])
	}
	return rest, o.Length
}

// inCaseOf writes keywords in lower case where the word that they go on is.
func inCaseOf(word string, words []string) []string {
	if word == "" || word != strings.ToLower(word) {
		return words
	}
	out := slices.Clone(words)
	for i, w := range out {
		if w == strings.ToUpper(w) && parse.Keyword(w) {
			out[i] = strings.ToLower(w)
		}
	}
	return out
}

// ofCommand completes a command of the shell, or its argument.
func (c completer) ofCommand(found *complete.Names, before string) complete.Offer {
	name, arg, hasArg := strings.Cut(before, " ")
	if !hasArg {
		var list []string
		for _, c := range commands() {
			list = append(list, c.name)
		}
		return starts(list, name)
	}
	arg = strings.TrimLeft(arg, " ")
	switch name {
	case `\c`:
		if ns, db, ok := strings.Cut(arg, "/"); ok {
			if ns != "" {
				return starts(found.Databases, db)
			}
			return complete.Offer{}
		}
		return starts(found.Namespaces, arg)
	case `\d`, `\di`, `\live`:
		return starts(found.Tables, arg)
	case `\i`, `\o`, `\e`:
		return files(arg)
	case `\format`:
		return starts(append(render.Formats(), "auto"), arg)
	case `\pset`:
		option, word, ok := strings.Cut(arg, " ")
		if !ok {
			return starts(slices.Sorted(maps.Keys(settings())), arg)
		}
		if s, ok := settings()[option]; ok {
			return starts(s.values, word)
		}
	case `\unset`:
		if c.vars != nil {
			return starts(c.vars(), arg)
		}
	case `\h`:
		return starts(topics(), arg)
	}
	return complete.Offer{}
}

// starts offers the names that begin with a word, without regard to case.
func starts(list []string, word string) complete.Offer {
	o := complete.Offer{Length: len([]rune(word))}
	for _, name := range list {
		if len(name) > len(word) && strings.EqualFold(name[:len(word)], word) {
			o.Words = append(o.Words, name)
		}
	}
	return o
}

// maxFiles is how many files are offered.
const maxFiles = 200

// files offers the files that a path may go on to; folders end with a slash.
func files(path string) complete.Offer {
	dir, word := filepath.Split(path)
	at := dir
	if at == "" {
		at = "."
	}
	entries, err := os.ReadDir(at)
	if err != nil {
		return complete.Offer{} // a path that cannot be read has nothing to offer
	}
	var list []string
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, ".") && !strings.HasPrefix(word, ".") || !strings.HasPrefix(name, word) {
			continue
		}
		if e.IsDir() {
			name += "/"
		}
		if len(list) < maxFiles && render.Visible(name, false) == name {
			list = append(list, name)
		}
	}
	return starts(list, word)
}

// ofGQL offers properties after a dot, labels after a colon, and else keywords.
func ofGQL(found *complete.Names, before string) complete.Offer {
	i := len(before)
	for i > 0 && (before[i-1] == '_' || before[i-1] >= '0' && before[i-1] <= '9' ||
		before[i-1]|0x20 >= 'a' && before[i-1]|0x20 <= 'z') {
		i--
	}
	word, mark := before[i:], byte(' ')
	if i > 0 {
		mark = before[i-1]
	}
	switch {
	case mark == '.':
		return starts(firstParts(found.Fields), word)
	case mark == ':':
		return starts(found.Tables, word)
	case word == "":
		return complete.Offer{}
	}
	o := starts(gql.Keywords(), word)
	if word == strings.ToLower(word) {
		for i, w := range o.Words {
			o.Words[i] = strings.ToLower(w)
		}
	}
	return o
}

// firstParts are the fields of all tables without what stands below them, each once, in order.
func firstParts(fields map[string][]string) []string {
	var list []string
	for _, of := range fields {
		for _, f := range of {
			if i := strings.IndexAny(f, ".["); i > 0 {
				f = f[:i]
			}
			list = append(list, f)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
