package plan

import (
	"strings"

	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/index"
	"github.com/nacredb/nacre/engine/value"
)

// AccessText is the part of an index that is walked, as EXPLAIN shows it.
func AccessText(ix *catalog.Index, a index.Access) string {
	if len(ix.Define.Fields) == 1 {
		if len(a.Lead) == 1 {
			return "= " + a.Lead[0].Text()
		}
	}
	if len(a.Lead) == 0 {
		return strings.TrimSpace(boundText(">", a.From) + " " + boundText("<", a.To))
	}
	return value.ArrayOf(a.Lead).Text() + boundName("More", a.From) + boundName("Less", a.To)
}

// boundName is a bound after the first fields of an index, as the reference spells it.
func boundName(name string, b value.Bound) string {
	switch b.Kind {
	case value.Unbounded:
		return ""
	case value.Included:
		return " " + name + "ThanEqual " + b.Value.Text()
	}
	return " " + name + "Than " + b.Value.Text()
}

func boundText(op string, b value.Bound) string {
	switch b.Kind {
	case value.Unbounded:
		return ""
	case value.Included:
		op += "="
	}
	return op + b.Value.Text()
}
