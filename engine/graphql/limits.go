package graphql

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	gast "github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator/core"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"github.com/nacredb/nacre/engine/errs"
)

var (
	errDeep    = errs.Validation("Query is nested too deep.")
	errComplex = errs.Validation("Query is too complex.")
	errAliases = errs.Validation("Query has too many aliases.")
	errCycle   = errs.Validation("Cannot spread a fragment within itself.")
)

// extent is how large a selection set is, with its fragments in place.
type extent struct {
	depth, fields, nodes, aliases int
	data                          extentOfData
}

// extentOfData is the extent without introspection, which reads no records: the limits of a configuration are about
// that.
type extentOfData struct{ depth, fields int }

// measurer finds extents. Each fragment is measured once, so that fragments that double each other cost nothing.
type measurer struct {
	doc   *gast.QueryDocument
	known map[string]*extent
	open  map[string]bool
	cycle bool
	most  int // nesting that is followed
}

// bound refuses what is too large. It comes before validation, whose cost grows with the query.
func (s *Schema) bound(doc *gast.QueryDocument, op *gast.OperationDefinition, l OperationLimits) *Failure {
	m := &measurer{doc: doc, known: map[string]*extent{}, open: map[string]bool{}, most: l.Depth}
	whole := extent{}
	for _, f := range doc.Fragments {
		whole.nodes = sum(whole.nodes, m.fragment(f.Name).nodes)
	}
	for _, o := range doc.Operations {
		x := m.set(o.SelectionSet, 0)
		whole.nodes = sum(whole.nodes, x.nodes)
		whole.aliases = sum(whole.aliases, x.aliases)
		whole.depth = max(whole.depth, x.depth)
		if o == op {
			whole.data = x.data
		}
	}
	for _, f := range m.known {
		whole.depth = max(whole.depth, f.depth)
	}
	switch {
	case m.cycle:
		return &Failure{Err: errCycle}
	case whole.depth > l.Depth, s.depth >= 0 && whole.data.depth > s.depth:
		return &Failure{Err: errDeep}
	case whole.nodes > 2*l.Fields, whole.data.fields > l.Fields, s.complexity >= 0 && whole.data.fields > s.complexity:
		return &Failure{Err: errComplex}
	case whole.aliases > l.Aliases:
		return &Failure{Err: errAliases}
	}
	return nil
}

func sum(a, b int) int {
	if a > math.MaxInt32-b {
		return math.MaxInt32
	}
	return a + b
}

func (m *measurer) fragment(name string) *extent {
	if x := m.known[name]; x != nil {
		return x
	}
	f := m.doc.Fragments.ForName(name)
	if f == nil {
		return &extent{}
	}
	if m.open[name] {
		m.cycle = true
		return &extent{}
	}
	m.open[name] = true
	x := m.set(f.SelectionSet, 0)
	delete(m.open, name)
	m.known[name] = &x
	return &x
}

// set measures a selection set inside of level others.
func (m *measurer) set(set gast.SelectionSet, level int) extent {
	var out extent
	if level > m.most+1 {
		return extent{depth: 1}
	}
	for _, x := range set {
		var inner extent
		own := 0
		switch x := x.(type) {
		case *gast.Field:
			own = 1
			inner = m.set(x.SelectionSet, level+1)
			if x.Alias != x.Name {
				inner.aliases = sum(inner.aliases, 1)
			}
			inner.fields = sum(inner.fields, 1)
			inner.data.fields = sum(inner.data.fields, 1)
			inner.data.depth++
			if x.Name == "__schema" || x.Name == "__type" || x.Name == "__typename" {
				inner.data = extentOfData{}
			}
		case *gast.InlineFragment:
			inner = m.set(x.SelectionSet, level+1)
		case *gast.FragmentSpread:
			inner = *m.fragment(x.Name)
		}
		out.depth = max(out.depth, inner.depth+own)
		out.fields, out.nodes = sum(out.fields, inner.fields), sum(out.nodes, sum(inner.nodes, 1))
		out.aliases = sum(out.aliases, inner.aliases)
		out.data.depth, out.data.fields = max(out.data.depth, inner.data.depth), sum(out.data.fields, inner.data.fields)
	}
	return out
}

// mostHints is for how many unknown names of a query similar ones are looked for: that takes time.
const mostHints = 3

// unknownFields reports fields that a type does not have.
var unknownFields = core.Rule{Name: "UnknownFields", RuleFunc: func(observers *core.Events, addError core.AddErrFunc) {
	hints := 0
	observers.OnField(func(_ *core.Walker, f *gast.Field) {
		if f.ObjectDefinition == nil || f.Definition != nil {
			return
		}
		message := fmt.Sprintf(`Unknown field "%s" on type "%s".`, f.Name, f.ObjectDefinition.Name)
		if hints++; hints <= mostHints && len(f.Name) <= 64 {
			var names []string
			for _, d := range f.ObjectDefinition.Fields {
				names = append(names, d.Name)
			}
			if near := core.SuggestionList(f.Name, names); len(near) > 0 {
				message += " Did you mean " + core.QuotedOrList(near[:min(len(near), 5)]...) + "?"
			}
		}
		addError(core.Message("%s", message), core.At(f.Position))
	})
}}

// validation is the rules of the specification, with messages and limits of our own.
var validation = sync.OnceValue(func() []core.Rule {
	all := rules.NewDefaultRules()
	for _, r := range [...]struct{ old, quiet core.Rule }{
		{rules.KnownArgumentNamesRule, rules.KnownArgumentNamesRuleWithoutSuggestions},
		{rules.KnownTypeNamesRule, rules.KnownTypeNamesRuleWithoutSuggestions},
		{rules.ValuesOfCorrectTypeRule, rules.ValuesOfCorrectTypeRuleWithoutSuggestions},
		{rules.FieldsOnCorrectTypeRule, unknownFields},
	} {
		all.RemoveRule(r.old.Name)
		all.AddRule(r.quiet.Name, r.quiet.RuleFunc)
	}
	var out []core.Rule
	for name, f := range all.GetInner() {
		out = append(out, core.Rule{Name: name, RuleFunc: f})
	}
	slices.SortFunc(out, func(a, b core.Rule) int { return strings.Compare(a.Name, b.Name) })
	return out
})
