package engine_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/value/valuetest"
	"github.com/nacredb/nacre/internal/vectors"
)

// writes tells the texts that need a database of their own.
var writes = regexp.MustCompile(`(?i)\b(create|insert|update|upsert|delete|relate|define|remove|alter|rebuild|use|live|kill)\b`)

// problemOf runs a vector in an empty place, which it leaves empty, and says what is wrong with its answers; "" is a pass.
func problemOf(v *vectors.Vector, d door) (problem string) {
	ctx, stop := context.WithTimeout(context.Background(), 20*time.Second)
	defer stop()
	statements := strings.HasPrefix(v.File, "statements/")
	if statements || v.Setup != "" || writes.MatchString(v.SQL) {
		defer func() {
			if err := d.fresh(); err != nil {
				problem = "emptying the place: " + err.Error()
			}
		}()
	}
	if v.Setup != "" {
		if _, err := d.as(ctx, "", v.Setup); err != nil {
			return "setup: " + err.Error()
		}
	}
	res, err := d.as(ctx, v.Auth, v.SQL)
	if d.wire() {
		v = overTheWire(v)
	}
	if statements {
		return problemOfStatements(v, res, err)
	}
	return problemOfLast(v, res, err)
}

// notSent matches the literals of values that hold a closure or a regular expression.
var notSent = regexp.MustCompile(`(^|[\[({:,] ?)(/.*/|\|.*\|)`)

// overTheWire is v with the error that stands for answers which the wire cannot carry.
func overTheWire(v *vectors.Vector) *vectors.Vector {
	refused := "Tried to serialize a value which cannot be serialized."
	out := *v
	if v.Expect != nil && notSent.MatchString(withoutStrings(*v.Expect)) {
		out.Expect, out.Error = nil, &refused
	}
	out.Answers = slices.Clone(v.Answers)
	for i, a := range out.Answers {
		if a.Expect != nil && notSent.MatchString(withoutStrings(*a.Expect)) {
			out.Answers[i] = vectors.Answer{Error: &refused}
		}
	}
	return &out
}

var stringLiteral = regexp.MustCompile(`'(\\.|[^'\\])*'|"(\\.|[^"\\])*"`)

// withoutStrings empties the strings of a literal.
func withoutStrings(literal string) string { return stringLiteral.ReplaceAllString(literal, "''") }

// problemOfLast compares the value of the last statement, or the first error.
func problemOfLast(v *vectors.Vector, res []engine.Result, err error) string {
	got, failed := firstError(res, err)
	if !failed && len(res) > 0 {
		got = res[len(res)-1].Value.Text()
	}
	switch {
	case v.Error != nil && !failed:
		return fmt.Sprintf("got  %s\n    want error %s", got, *v.Error)
	case v.Error != nil:
		want := *v.Error
		if len(v.Parse) > 0 {
			want = firstLine(want)
		}
		if got != want {
			return fmt.Sprintf("got  error %s\n    want error %s", got, want)
		}
	case v.Expect != nil && failed:
		return fmt.Sprintf("got  error %s\n    want %s", got, *v.Expect)
	case v.Expect != nil && !valuetest.SameText(got, *v.Expect):
		return fmt.Sprintf("got  %s\n    want %s", got, *v.Expect)
	}
	return ""
}

// firstError is the text of err or of the first statement that failed, before those that failed only because another did.
func firstError(res []engine.Result, err error) (text string, failed bool) {
	if err != nil {
		return firstLine(err.Error()), true
	}
	for _, r := range res {
		if r.Err == nil {
			continue
		}
		undone := strings.HasPrefix(r.Err.Msg, "The query was not executed due to")
		if !failed || !undone {
			text, failed = r.Err.Msg, true
		}
		if !undone {
			break
		}
	}
	return text, failed
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// geometry is the recorded literal of a geometry; ours is GeoJSON in its own order.
var geometry = regexp.MustCompile(`<geometry>\{ coordinates: (.*?), type: '(\w+)' \}`)

// problemOfStatements compares the answers of all statements.
func problemOfStatements(v *vectors.Vector, res []engine.Result, err error) string {
	if want := v.ParseError(); want != "" {
		if err == nil {
			return fmt.Sprintf("parsed, want parse error %s", want)
		}
		if got := firstLine(err.Error()); got != want {
			return fmt.Sprintf("got  %s\n    want %s", got, want)
		}
		return ""
	}
	if err != nil {
		return "got  error " + err.Error()
	}
	if len(res) != len(v.Answers) {
		return fmt.Sprintf("got  %d answers, want %d: %s", len(res), len(v.Answers), texts(res))
	}
	places := map[string]string{}
	for i, a := range v.Answers {
		got, want := "", ""
		switch {
		case a.Error != nil:
			want = *a.Error
			if res[i].Err == nil {
				return fmt.Sprintf("answer %d: got  %s\n    want error %s", i+1, res[i].Value.Text(), want)
			}
			got = res[i].Err.Msg
		case res[i].Err != nil:
			return fmt.Sprintf("answer %d: got  error %s\n    want %s", i+1, res[i].Err.Msg, *a.Expect)
		default:
			want, got = geometry.ReplaceAllString(*a.Expect, `{ type: '$2', coordinates: $1 }`), res[i].Value.Text()
		}
		if !matches(got, want, places) {
			return fmt.Sprintf("answer %d: got  %s\n    want %s", i+1, got, want)
		}
	}
	return ""
}

// matches compares an answer with a literal that may hold placeholders such as <id1>: each stands
// for anything, the same thing wherever it comes back.
func matches(got, want string, places map[string]string) bool {
	got, want = looseObjects(got), looseObjects(want)
	if valuetest.SameText(got, want) {
		return true
	}
	if !placeholder.MatchString(want) {
		return false
	}
	var pattern strings.Builder
	pattern.WriteString("(?s)^")
	var names []string
	at := 0
	for _, m := range placeholder.FindAllStringIndex(want, -1) {
		before := regexp.QuoteMeta(want[at:m[0]])
		if want[m[0]:m[1]] == "<now>" { // a datetime, though it stands as a string
			before = strings.TrimSuffix(before, "'") + "d?'"
		}
		pattern.WriteString(before)
		pattern.WriteString("(.+?)")
		names = append(names, want[m[0]:m[1]])
		at = m[1]
	}
	pattern.WriteString(regexp.QuoteMeta(want[at:]) + "$")
	found := regexp.MustCompile(pattern.String()).FindStringSubmatch(got)
	if found == nil {
		return false
	}
	for i, name := range names {
		if name == "<now>" || name == "<hash>" || name == "<any>" {
			continue
		}
		if known, ok := places[name]; ok && known != found[i+1] {
			return false
		}
		places[name] = found[i+1]
	}
	return true
}

var placeholder = regexp.MustCompile(`<(?:(?:id|uuid|ulid)\d+|now|hash|db|any)>`)

// looseObjects makes both spellings of the empty object one.
func looseObjects(s string) string {
	s = strings.ReplaceAll(s, "{  }", "{}")
	s = quotedPlace.ReplaceAllString(s, "$1") // a placeholder is no plain name, so literals quote it
	return strings.ReplaceAll(s, "<geometry>", "")
}

var quotedPlace = regexp.MustCompile("`(<[a-z]+[0-9]*>)`")

// TestMatches holds the comparison itself.
func TestMatches(t *testing.T) {
	cases := []struct {
		got, want string
		ok        bool
	}{
		{"[{ id: a:x1, b: a:x1 }]", "[{ id: a:<id1>, b: a:<id1> }]", true},
		{"[{ id: a:x1, b: a:x2 }]", "[{ id: a:<id1>, b: a:<id1> }]", false},
		{"0.1f", "0.10000000000000002f", true},
		{"0.1f", "0.2f", false},
		{"1", "1f", false},
		{"{  }", "{}", true},
	}
	for _, c := range cases {
		if got := matches(c.got, c.want, map[string]string{}); got != c.ok {
			t.Errorf("matches(%s, %s) = %v", c.got, c.want, got)
		}
	}
}
