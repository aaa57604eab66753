package engine_test

import (
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine/value"
)

// TestSearchesThatWouldTakeMinutesAreRefused: nothing interrupts a search, so what would outlive every limit is not begun.
func TestSearchesThatWouldTakeMinutesAreRefused(t *testing.T) {
	s := owner(t, openQuiet(t))
	vars := value.NewObject(value.Field{Name: "long", Value: value.Str(strings.Repeat("z", 4<<20))})
	const costly = "The pattern is too large for a text of this length."
	for text, want := range map[string]string{
		"RETURN $long = /(?:x?y?){900}$/":                            costly,
		"RETURN /(?:x?y?){900}$/ != $long":                           costly,
		"RETURN [$long] ?= /(?:x?y?){900}$/":                         costly,
		"RETURN string::matches($long, '(?:x?y?){900}$')":            "Incorrect arguments for function string::matches(). " + costly,
		"RETURN $long.matches(/(?:x?y?){900}$/)":                     "Incorrect arguments for method matches(). " + costly,
		"RETURN string::replace($long, /(?:x?y?){900}$/, '')":        "Incorrect arguments for function string::replace(). " + costly,
		"RETURN <regex> string::repeat('(a|b)', 9000)":               "Could not cast into `regex`",
		"RETURN string::matches('a', string::repeat('(a|b)', 9000))": "Could not cast into `regex`",
		"RETURN $long = /^[a-z]+$/":                                  "true",
		"RETURN string::len(string::replace($long, /z/, ''))":        "0",
	} {
		res, err := s.Execute(t.Context(), text, vars)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got := texts(res)
		if !strings.Contains(got, want) {
			t.Errorf("%s: got %.200s, want %s", text, got, want)
		}
	}
}
