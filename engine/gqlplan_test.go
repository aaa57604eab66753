package engine_test

import (
	"bufio"
	"os"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/plan"
	"github.com/nacredb/nacre/engine/value"
)

// TestGQLPlans holds the operators of programs as EXPLAIN shows them: testdata/gql/plans.txt has a program a paragraph,
// and its plan indented below. -update writes the file anew. A line "rules off" before a program plans without rules.
func TestGQLPlans(t *testing.T) {
	const path = "testdata/gql/plans.txt"
	f, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, r := range plan.AllRules() {
		all = append(all, r.String())
	}
	const index = "DEFINE INDEX a ON person FIELDS name; DEFINE INDEX b ON person FIELDS age"
	with, without := gqlScene(t, engine.Options{}), gqlScene(t, engine.Options{PlannerRulesOff: all})
	runGQLSetup(t, with, index)
	runGQLSetup(t, without, index)
	var got strings.Builder
	s := with
	sc := bufio.NewScanner(strings.NewReader(string(f)))
	for sc.Scan() {
		line := sc.Text()
		switch {
		case line == "rules off":
			s = without
		case line == "" || line[0] == '#':
		case line[0] == ' ':
			continue
		default:
			got.WriteString(line + "\n")
			v, err := runGQL(s, "EXPLAIN "+line, fortyTwo)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			appendPlan(&got, v, "  ")
			continue
		}
		got.WriteString(line + "\n")
	}
	if *update {
		if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got.String() != string(f) {
		t.Errorf("plans differ from %s; got\n%s", path, got.String())
	}
}

func appendPlan(b *strings.Builder, v value.Value, indent string) {
	for _, n := range v.Elems() {
		op, _ := n.Object().Get("operator")
		b.WriteString(indent + op.Str() + "\n")
		if kids, ok := n.Object().Get("children"); ok {
			appendPlan(b, kids, indent+"  ")
		}
	}
}
