package fn

import (
	"slices"

	"github.com/nacredb/nacre/engine/collate"
	"github.com/nacredb/nacre/engine/value"
)

// descending reads the order argument of a sort: false and 'desc' turn it round, all else is ascending.
func descending(args []value.Value) bool {
	if len(args) < 2 {
		return false
	}
	switch args[1].Kind() {
	case value.KindBool:
		return !args[1].Bool()
	case value.KindString:
		return args[1].Str() == "desc"
	}
	return false
}

func arraySort(_ Call, args []value.Value) (value.Value, error) {
	return sortedBy(args[0].Elems(), descending(args), value.Compare), nil
}

func arraySortDesc(_ Call, args []value.Value) (value.Value, error) {
	return sortedBy(args[0].Elems(), true, value.Compare), nil
}

func arraySortLexical(_ Call, args []value.Value) (value.Value, error) {
	return sortedBy(args[0].Elems(), descending(args), stringsBy(collate.Rules{Lexical: true})), nil
}

func arraySortNatural(_ Call, args []value.Value) (value.Value, error) {
	return sortedBy(args[0].Elems(), descending(args), stringsBy(collate.Rules{Natural: true})), nil
}

func arraySortNaturalLexical(_ Call, args []value.Value) (value.Value, error) {
	return sortedBy(args[0].Elems(), descending(args), stringsBy(collate.Rules{Lexical: true, Natural: true})), nil
}

func sortedBy(items []value.Value, desc bool, cmp func(a, b value.Value) int) value.Value {
	out := slices.Clone(items)
	if desc {
		slices.SortStableFunc(out, func(a, b value.Value) int { return cmp(b, a) })
	} else {
		slices.SortStableFunc(out, cmp)
	}
	return value.ArrayOf(out)
}

// stringsBy compares two strings by c and everything else as the language does.
func stringsBy(c collate.Rules) func(a, b value.Value) int {
	return func(a, b value.Value) int {
		if a.Kind() == value.KindString && b.Kind() == value.KindString {
			return c.Compare(a.Str(), b.Str())
		}
		return value.Compare(a, b)
	}
}
