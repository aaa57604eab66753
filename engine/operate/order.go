package operate

import (
	"github.com/nacredb/nacre/engine/collate"
	"github.com/nacredb/nacre/engine/value"
)

// Order is how ORDER BY compares two values: with COLLATE or NUMERIC, texts by the rules for people. Any goroutine may
// use it.
func Order(lexical, natural bool) func(a, b value.Value) int {
	if !lexical && !natural {
		return value.Compare
	}
	rules := collate.Rules{Lexical: lexical, Natural: natural}
	return func(a, b value.Value) int {
		if a.Kind() != value.KindString || b.Kind() != value.KindString {
			return value.Compare(a, b)
		}
		return rules.Compare(a.Str(), b.Str())
	}
}
