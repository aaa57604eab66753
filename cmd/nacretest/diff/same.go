package diff

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/nacredb/nacre/engine/value/valuetest"
)

var (
	generatedKey  = regexp.MustCompile("(?:\\b[a-z_]\\w*:`?|')[a-z0-9]{20}\\b[`']?")
	generatedUUID = regexp.MustCompile(`u?'[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}'`)
	hexUUID       = regexp.MustCompile(`(?:[36][0-9A-F]){8}2D(?:(?:[36][0-9A-F]){4}2D){3}(?:[36][0-9A-F]){12}`)
	presentTime   = regexp.MustCompile(`d'20(2[5-9]|[3-9]\d)-[^']*'`)
	stamp         = regexp.MustCompile(`versionstamp: \d+`)
	geometry      = regexp.MustCompile(`<geometry>\{ coordinates: ([\[\]()0-9.,f -]*), type: ('[A-Za-z]+') \}`)
)

// normalise replaces what no two runs have in common: generated keys and uuids by numbered places, in order of
// appearance in the whole run, so that "the same again" is still compared; the present time by a word. Generated
// cases have no dates after 2024.
func normalise(answers []Answer) []Answer {
	places := map[string]string{}
	place := func(s string) string {
		if _, ok := places[s]; !ok {
			places[s] = fmt.Sprintf("<id%d>", len(places)+1)
		}
		return places[s]
	}
	out := make([]Answer, len(answers))
	for i, a := range answers {
		t := generatedKey.ReplaceAllStringFunc(a.Text, func(s string) string {
			tb, key, ok := strings.Cut(s, ":")
			if !ok {
				return "'" + place(strings.Trim(s, "'")) + "'"
			}
			return tb + ":" + place(strings.Trim(key, "`"))
		})
		t = generatedUUID.ReplaceAllStringFunc(t, place)
		t = hexUUID.ReplaceAllStringFunc(t, place) // in bytes
		t = presentTime.ReplaceAllString(t, "<now>")
		t = stamp.ReplaceAllStringFunc(t, place)
		t = strings.ReplaceAll(t, "{  }", "{}")
		t = geometry.ReplaceAllString(t, "{ type: $2, coordinates: $1 }")
		if a.Failed { // what the reference puts before the same texts: docs/differences.md
			t = strings.ReplaceAll(strings.TrimPrefix(t, "An error occurred: "), "fn::fn::", "fn::")
		}
		out[i] = Answer{Text: t, Failed: a.Failed}
	}
	return out
}

// firstDifference is the index of the first answer that differs, or -1. Both are normalised.
func firstDifference(a, b []Answer) int {
	for i := range min(len(a), len(b)) {
		if !sameAnswer(a[i], b[i]) {
			return i
		}
	}
	if len(a) != len(b) {
		return min(len(a), len(b))
	}
	return -1
}

// sameAnswer compares exactly, but for the last digits of floats.
func sameAnswer(a, b Answer) bool {
	return a.Failed == b.Failed && valuetest.SameText(a.Text, b.Text)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
