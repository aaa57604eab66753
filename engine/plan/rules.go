package plan

import (
	"fmt"
	"strings"
)

// Rule is one thing that the planner knows to do.
type Rule uint8

// The rules, in the order in which they are tried.
const (
	Always     Rule = iota // no rule: it can not be switched off
	RecordID               // id = <record> reads that record
	TextIndex              // field @@ text walks a full-text index
	TextAlso               // further full-text conditions are answered by the terms that indexes have of the records
	TextUnion              // an OR with full-text conditions walks an index for each branch
	Equality               // field = value walks that part of an index
	Compound               // more than the first field of an index is used
	Range                  // <, <=, >, >= and IN <range> walk that part of an index, from both sides
	InList                 // field IN [values] walks a part of an index for each value
	Elements               // CONTAINS, CONTAINSANY, CONTAINSALL walk the entries of the elements of lists
	Estimate               // of several indexes the one with the fewest entries is taken, not that of the best form
	OrUnion                // an OR whose branches all have an index walks one after the other
	OrderKeys              // ORDER BY id is the order of the table, both ways
	OrderIndex             // ORDER BY the fields of an index is its order, both ways
	// ORDER BY the fields of an index without LIMIT reads the whole table in its order, where that beats a sort
	OrderWhole
	TopK         // ORDER BY with LIMIT holds no more rows than are wanted
	BestScores   // ORDER BY search::score() DESC with LIMIT reads the best hits first
	CoverCount   // count() GROUP ALL reads counters, or index entries, and no records
	CoverID      // a SELECT of nothing but ids reads index entries, and no records
	TrustKeys    // conditions that the keys of an index answer are not tried again on the records
	RunOnce      // sub-selects that say the same for every row are run once
	Compile      // conditions over fields and values are compiled
	ParallelScan // a walk over a large table tries its compiled WHERE on all processors
	GraphStart   // a pattern of GQL begins at the node that is cheapest to find
	GraphPush    // conditions of GQL are tried as soon as their variables are bound, and by indexes
	GraphSearch  // shortest paths of GQL are searched for by layers
	ModelBatch   // calls of a model in a projection are computed for many rows at once
	ruleCount
)

var ruleNames = [ruleCount]string{"", "record-id", "text-index", "text-also", "text-union", "equality",
	"compound", "range", "in-list", "elements",
	"estimate", "or-union", "order-keys", "order-index", "order-whole", "top-k", "best-scores", "cover-count",
	"cover-id", "trust-keys", "run-once", "compile", "parallel-scan",
	"graph-start", "graph-push", "graph-search", "model-batch"}

// String is the name of the rule in options and tests.
func (r Rule) String() string { return ruleNames[r] }

// AllRules are the rules that can be switched off.
func AllRules() []Rule {
	out := make([]Rule, 0, ruleCount-1)
	for r := Always + 1; r < ruleCount; r++ {
		out = append(out, r)
	}
	return out
}

// Rules is a set of rules. The zero value is empty.
type Rules uint32

// RulesOf is the set of some rules.
func RulesOf(rules ...Rule) Rules {
	var out Rules
	for _, r := range rules {
		out |= 1 << r
	}
	return out &^ (1 << Always)
}

// ParseRules reads the names of rules.
func ParseRules(names []string) (Rules, error) {
	var out Rules
next:
	for _, name := range names {
		for r := Always + 1; r < ruleCount; r++ {
			if ruleNames[r] == name {
				out |= 1 << r
				continue next
			}
		}
		return 0, fmt.Errorf("%q is no rule of the planner (%s)", name, strings.Join(ruleNames[1:], ", "))
	}
	return out, nil
}

// Has reports whether a rule is in the set.
func (s Rules) Has(r Rule) bool { return s&(1<<r) != 0 }
