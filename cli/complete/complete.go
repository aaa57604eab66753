// Package complete tells what may be typed next in a text of ServiceQL: keywords by the state of the parser, and names
// by their place. It is pure: the names are handed in, and nothing is asked of a server.
package complete

import (
	"slices"
	"strings"
	"sync"

	"github.com/nacredb/nacre/engine/fn"
	"github.com/nacredb/nacre/engine/parse"
	"github.com/nacredb/nacre/engine/value"
)

// Names lists the definitions of a database.
type Names struct {
	Namespaces, Databases []string
	Tables                []string
	Fields                map[string][]string // of each table, whole paths
	Functions             []Function          // of the database, with fn:: before the name
	Params                []string            // of the database and of the session, with the dollar sign
}

// Function is a function with its signature.
type Function struct{ Name, Signature string }

// Offer is a completion at the cursor.
type Offer struct {
	Words  []string // whole words, keywords first
	Length int      // how many characters before the cursor the words replace
	Hint   string   // the signature of the function whose arguments are typed
}

// maxText is how long a text may be, in bytes, for the parser to be asked about it.
const maxText = 16 << 10

// At tells what may stand between before and after.
func At(names *Names, before, after string) Offer {
	word := lastWord(before)
	head := before[:len(before)-len(word)]
	tokens, inside := scan(head)
	if inside {
		return Offer{}
	}
	o := Offer{Length: len([]rune(word))}
	prev := back(tokens, 0)
	switch {
	case prev == "(" && word == "" && len(tokens) > 1:
		if o.Hint = signature(names, back(tokens, 1)); o.Hint != "" {
			return o
		}
	case prev == "." && strings.HasSuffix(head, "."):
		o.Words = behindDot(names, tokens, after, word)
		return o
	case prev == ":" && strings.HasSuffix(head, ":"):
		return o // the key of a record
	case strings.HasPrefix(word, "$"):
		o.Words = starting(slices.Concat(names.Params, ownParams), word)
		return o
	}
	keywords, name := expected(head, word)
	o.Words = keywords
	switch list, ok := place(names, tokens); {
	case ok:
		o.Words = append(starting(list, word), keywords...)
	case name && !naming(prev):
		o.Words = append(starting(fieldsInScope(names, tokens, after), word), keywords...)
		if word != "" {
			o.Words = append(o.Words, starting(callable(names), word)...)
			o.Words = append(o.Words, starting(names.Tables, word)...)
		}
	}
	o.Words = unique(o.Words)
	return o
}

// expected asks the parser, or gives all keywords where the text is too long to ask again and again.
func expected(head, word string) (keywords []string, name bool) {
	if strings.Contains(word, "::") {
		return nil, true
	}
	if len(head) > maxText {
		return starting(parse.Keywords(), word), true
	}
	return parse.Next(head, word)
}

// ownParams are the parameters that the language itself gives.
var ownParams = []string{"$access", "$after", "$auth", "$before", "$event", "$input", "$parent", "$reference",
	"$request", "$session", "$this", "$token", "$value"}

// lastWord is the word that ends at the cursor, with the path before it.
func lastWord(text string) string {
	r := []rune(text)
	i := len(r)
	for i > 0 && (wordRune(r[i-1]) || r[i-1] == ':' && i > 1 && r[i-2] == ':' || r[i-1] == ':' && pathAt(r, i-1)) {
		i--
	}
	return string(r[i:])
}

// back is the token n before the last one; "" where there is none.
func back(tokens []token, n int) string {
	if n >= len(tokens) {
		return ""
	}
	return tokens[len(tokens)-1-n].text
}

func upper(tokens []token, n int) string { return strings.ToUpper(back(tokens, n)) }

// naming reports whether a word is followed by a new name, so that there is nothing to offer.
func naming(prev string) bool {
	switch strings.ToUpper(prev) {
	case "AS", "LET", "NAME":
		return true
	}
	return false
}

// place gives the names of the place at the end of tokens, where it is that of a table, a namespace, a database or of
// what REMOVE and ALTER name.
func place(names *Names, tokens []token) ([]string, bool) {
	statement := statementOf(tokens)
	first := ""
	if len(statement) > 0 {
		first = strings.ToUpper(statement[0].text)
	}
	switch prev := upper(statement, 0); prev {
	case "FROM", "INTO", "UPDATE", "UPSERT", "CREATE", "DELETE", "RELATE", "ONLY", "->", "<-", "<->":
		return quotedNames(names.Tables), true
	case ",":
		return quotedNames(names.Tables), inFrom(statement)
	case "ON":
		return quotedNames(names.Tables), defines(first)
	case "TABLE":
		before := upper(statement, 1)
		return quotedNames(names.Tables), first != "DEFINE" || before == "ON" || before == "FOR"
	case "NS", "NAMESPACE":
		return quotedNames(names.Namespaces), first != "DEFINE"
	case "DB", "DATABASE":
		return quotedNames(names.Databases), first != "DEFINE"
	case "FIELD":
		return allFields(names), first == "REMOVE" || first == "ALTER"
	case "FUNCTION":
		return functionNames(names), first == "REMOVE" || first == "ALTER"
	case "PARAM":
		return names.Params, first == "REMOVE" || first == "ALTER"
	}
	return nil, false
}

func defines(first string) bool {
	switch first {
	case "DEFINE", "REMOVE", "ALTER", "REBUILD":
		return true
	}
	return false
}

// statementOf are the tokens of the last statement.
func statementOf(tokens []token) []token {
	for i := len(tokens) - 1; i >= 0; i-- {
		switch tokens[i].text {
		case ";", "{":
			return tokens[i+1:]
		}
	}
	return tokens
}

// inFrom reports whether the comma at the end stands in a list of tables.
func inFrom(tokens []token) bool {
	for i := len(tokens) - 1; i >= 0; i-- {
		switch strings.ToUpper(tokens[i].text) {
		case "FROM":
			return true
		case ",", "ONLY":
		default:
			if !tokens[i].word || parse.Keyword(tokens[i].text) {
				return false
			}
		}
	}
	return false
}

// tablesInScope are the tables that the statement at the cursor names.
func tablesInScope(names *Names, tokens []token, after string) []string {
	rest, _ := scan(after)
	for i, t := range rest {
		if t.text == ";" {
			rest = rest[:i]
			break
		}
	}
	var found []string
	for _, t := range slices.Concat(statementOf(tokens), rest) {
		name, _, _ := strings.Cut(strings.Trim(t.text, "`⟨⟩"), ":")
		if t.word && slices.Contains(names.Tables, name) && !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	return found
}

func fieldsInScope(names *Names, tokens []token, after string) []string {
	var list []string
	for _, table := range tablesInScope(names, tokens, after) {
		for _, f := range names.Fields[table] {
			list = append(list, firstPart(f))
		}
	}
	return unique(list)
}

func firstPart(field string) string {
	if i := strings.IndexAny(field, ".["); i > 0 {
		return field[:i]
	}
	return field
}

// behindDot are the parts of fields and the methods that may stand behind a dot.
func behindDot(names *Names, tokens []token, after, word string) []string {
	path := ""
	for n := 0; n+1 < len(tokens) && back(tokens, n) == "."; n += 2 {
		path = back(tokens, n+1) + "." + path
	}
	var list []string
	for _, table := range tablesInScope(names, tokens, after) {
		for _, f := range names.Fields[table] {
			if rest, ok := strings.CutPrefix(f, path); ok && path != "" {
				list = append(list, firstPart(rest))
			}
		}
	}
	if word == "" { // the methods are hundreds
		return unique(list)
	}
	return unique(append(starting(list, word), starting(library().MethodNames(), word)...))
}

// library gives the functions of the language.
var library = sync.OnceValue(fn.Library)

// callable are the names of all functions and constants.
func callable(names *Names) []string { return append(functionNames(names), library().Names()...) }

func functionNames(names *Names) []string {
	list := make([]string, len(names.Functions))
	for i, f := range names.Functions {
		list[i] = f.Name
	}
	return list
}

// signature is that of a function; "" where there is none of the name.
func signature(names *Names, name string) string {
	for _, f := range names.Functions {
		if f.Name == name {
			return f.Signature
		}
	}
	return Signature(name)
}

// Signature is that of a function of the language, with a word on what it does; "" where there is none of the name.
func Signature(name string) string {
	f, ok := library().Function(strings.ToLower(name))
	if !ok {
		return ""
	}
	return f.Signature() + "  " + f.Doc
}

func allFields(names *Names) []string {
	var list []string
	for _, fields := range names.Fields {
		list = append(list, fields...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func quotedNames(names []string) []string {
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = value.QuoteIdent(n)
	}
	return list
}

// starting are the names that begin with prefix, without regard to case, and are longer.
func starting(names []string, prefix string) []string {
	var list []string
	for _, n := range names {
		if len(n) > len(prefix) && strings.EqualFold(n[:len(prefix)], prefix) {
			list = append(list, n)
		}
	}
	return list
}

// unique drops what is there before, and keeps the order.
func unique(list []string) []string {
	seen := make(map[string]bool, len(list))
	return slices.DeleteFunc(list, func(s string) bool {
		again := seen[s]
		seen[s] = true
		return again
	})
}

// Builtin are the names of the functions and constants of the language.
func Builtin() []string { return library().Names() }

// Family are the functions whose path begins with name.
func Family(name string) []string {
	var list []string
	for _, f := range library().Functions() {
		if strings.HasPrefix(f.Name, strings.TrimSuffix(strings.ToLower(name), "::")+"::") {
			list = append(list, f.Name)
		}
	}
	return list
}
