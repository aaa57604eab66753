// Command keywordgen writes the table of keywords of package parse from its list:
//
//	keywordgen LIST OUT
//
// go generate ./engine/parse runs it. It does not need that package to compile.
package main

import (
	"fmt"
	"go/format"
	"os"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "keywordgen:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("want LIST OUT, got %d arguments", len(args))
	}
	list, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	text, err := format.Source(keywordFile(string(list)))
	if err != nil {
		return err
	}
	return os.WriteFile(args[1], text, 0o644)
}

// keywordFile is the text of keyword.go.
func keywordFile(list string) []byte {
	var consts, names, cases strings.Builder
	longest, first := 0, " kind = iota + kwFirst + 1"
	for line := range strings.Lines(list) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		constant, name := constantOf(words[0]), words[0]
		words[0] = strings.ToUpper(name)
		fmt.Fprintf(&consts, "%s%s\n", constant, first)
		first = ""
		fmt.Fprintf(&names, "%q,\n", name)
		fmt.Fprintf(&cases, "case \"%s\":\nreturn %s\n", strings.Join(words, `", "`), constant)
		for _, w := range words {
			longest = max(longest, len(w))
		}
	}
	return fmt.Appendf(nil, `// Code generated from keywords.txt by go generate; DO NOT EDIT.

package parse

// The keywords, in the order of keywordNames.
const (
%s)

// maxKeyword is the length of the longest keyword.
const maxKeyword = %d

// keywordNames are the texts of keywords in error messages, from kwFirst on.
var keywordNames = [...]string{
%s}

// keywordOf is the keyword that an upper-case word is, or 0.
func keywordOf(upper []byte) kind {
switch string(upper) {
%s}
return 0
}
`, &consts, longest, &names, &cases)
}

// constantOf is the constant of a keyword: kwHashedVector for HASHED_VECTOR.
func constantOf(keyword string) string {
	out := "kw"
	for part := range strings.SplitSeq(keyword, "_") {
		out += strings.ToUpper(part[:1]) + strings.ToLower(part[1:])
	}
	return out
}
