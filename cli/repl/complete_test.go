package repl

import (
	"slices"
	"strings"
	"testing"

	"github.com/nacredb/nacre/cli/complete"
	"github.com/nacredb/nacre/engine/fn"
)

// offered is what is offered at the end of a line, as whole words.
func offered(c completer, line string) []string {
	rest, n := c.Do([]rune(line), len([]rune(line)))
	word := string([]rune(line)[len([]rune(line))-n:])
	var out []string
	for _, r := range rest {
		out = append(out, word+string(r))
	}
	return out
}

func TestCompletion(t *testing.T) {
	n := newNames(nil)
	n.found = complete.Names{Tables: []string{"person"}, Params: []string{"$limit"},
		Functions: []complete.Function{{Name: "fn::greet", Signature: "fn::greet()"}}}
	c := completer{names: n, vars: func() []string { return []string{"$mine"} }}
	for line, want := range map[string]string{
		"RETURN string::le": "string::len", "RETURN STRING::LE": "STRING::LEn", "SELECT * FROM pers": "person",
		"RETURN fn::": "fn::greet", "RETURN $l": "$limit", "RETURN $m": "$mine",
		"sel": "select", "SEL": "SELECT", "RETURN 'a'.semver_ma": "semver_major", "RETURN 'a'.le": "len",
		"RETURN [1].vector_do": "vector_dot", "RETURN x.pers": "",
		"RETURN math::neg_i": "math::neg_inf math::neg_infinity", "RETURN {}.exp": "expect",
		"RETURN eval::": "eval::gql eval::surql", "select * from p": "person",
		`\d p`: "person", `\df`: `\df+`, `\format ve`: "vertical", `\pset pager o`: "off on",
		`\i complete_t`: "complete_test.go",
	} {
		got := offered(c, line)
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("%q: offered %v, want %s", line, got, want)
		}
	}
}

func TestCompletionOfGQL(t *testing.T) {
	n := newNames(nil)
	n.found = complete.Names{Tables: []string{"person", "city"},
		Fields: map[string][]string{"person": {"name", "age.x"}}}
	n.speak(true)
	c := completer{names: n}
	for line, want := range map[string]string{
		"MATCH (a:pers": "person", "MATCH (a:": "city person", "MATCH (a:person) RETURN a.n": "name",
		"MATCH (a) RETURN a.": "age name", "mat": "match", "MAT": "MATCH", "MATCH (a) RETURN pers": "",
		"RETURN string::le": "", "": "",
	} {
		got := offered(c, line)
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("%q: offered %v, want %s", line, got, want)
		}
	}
}

// A semicolon inside of a string, a name or a comment does not end a program.
func TestSentenceOfGQL(t *testing.T) {
	sh := &shell{gql: true}
	for typed, want := range map[string]bool{
		"MATCH (a) RETURN a;": true, "MATCH (a)": false, "MATCH (a {n: ';": false, "RETURN 'a;'": false,
		"RETURN 1 -- a;": false, "RETURN 1; -- done": true, "RETURN 1\\G": true,
		"RETURN '\\G": false, "RETURN `a;": false, "": false,
	} {
		if _, _, ended := sh.sentence(typed); ended != want {
			t.Errorf("%q: ended %t, want %t", typed, ended, want)
		}
	}
}

// Every name of the function table is offered: whole paths of functions and constants, methods behind a dot.
func TestCompletionKnowsTheWholeTable(t *testing.T) {
	c := completer{names: newNames(nil)}
	table := fn.Library()
	for _, name := range table.Names() {
		if !slices.Contains(offered(c, "RETURN "+name[:len(name)-1]), name) {
			t.Errorf("%s is not offered", name)
		}
	}
	for _, f := range append(table.Functions(), table.MethodsOnly()...) {
		for _, m := range f.Methods {
			if !slices.Contains(offered(c, "RETURN $x."+m.Name[:len(m.Name)-1]), m.Name) {
				t.Errorf(".%s of %s is not offered", m.Name, f.Name)
			}
		}
	}
}
