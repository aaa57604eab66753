package engine_test

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine"
)

var updatePlans = flag.Bool("update", false, "write the plans of testdata/plans as they are")

// TestPlans holds the plans of testdata/plans. A file starts with the statements that make its tables; then come queries, each
// after "> " and followed by its plan. -update writes the plans as they are: read the diff.
func TestPlans(t *testing.T) {
	files, err := filepath.Glob("testdata/plans/*.plan")
	if err != nil || len(files) == 0 {
		t.Fatalf("no plans: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".plan"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := planned(t, owner(t, openQuiet(t)), string(want))
			if bytes.Equal(got, want) {
				return
			}
			if *updatePlans {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			t.Errorf("%s: %s\n(-update writes the plans as they are)", file, firstDifference(string(got), string(want)))
		})
	}
}

// planned is a file of plans with the plans as they are.
func planned(t *testing.T, s *engine.Session, file string) []byte {
	setup, queries, _ := strings.Cut(file, "\n> ")
	prepare(t, s, setup)
	out := bytes.NewBufferString(strings.TrimRight(setup, "\n") + "\n")
	for _, q := range strings.Split(queries, "\n> ") {
		query, _, _ := strings.Cut(q, "\n")
		text := "EXPLAIN " + query
		if !strings.HasPrefix(query, "SELECT") {
			text = query + " EXPLAIN"
		}
		res, err := s.Execute(context.Background(), text, nil)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		if res[0].Err != nil {
			t.Fatalf("%s: %v", query, res[0].Err)
		}
		plan := res[0].Value.Text()
		if strings.HasPrefix(query, "SELECT") {
			plan = strings.ReplaceAll(strings.TrimRight(res[0].Value.Str(), "\n"), " [ctx: Db]", "")
		}
		out.WriteString("\n> " + query + "\n" + plan + "\n")
	}
	return out.Bytes()
}

// firstDifference is the first line in which two texts differ.
func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	query := ""
	for i := range max(len(g), len(w)) {
		line := func(s []string) string {
			if i < len(s) {
				return s[i]
			}
			return "(the end)"
		}
		if strings.HasPrefix(line(w), "> ") {
			query = line(w)[2:]
		}
		if line(g) != line(w) {
			return query + "\ngot  " + line(g) + "\nwant " + line(w)
		}
	}
	return ""
}

func TestRulesAreSwitchedOffByName(t *testing.T) {
	open := func(rules ...string) (*engine.Engine, error) {
		return engine.Open(context.Background(), "memory", engine.Options{PlannerRulesOff: rules})
	}
	if _, err := open("no such rule"); err == nil || !strings.Contains(err.Error(), "no rule of the planner") {
		t.Errorf("an unknown rule: %v", err)
	}
	e, err := open("equality", "range")
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(context.Background())
	s := owner(t, e)
	run(t, s, "DEFINE INDEX ia ON t FIELDS a")
	for query, want := range map[string]string{
		"SELECT * FROM t WHERE a = 1":    "TableScan",
		"SELECT * FROM t WHERE a > 1":    "TableScan",
		"SELECT * FROM t WHERE a IN [1]": "IndexScan",
	} {
		if got := run(t, s, "EXPLAIN "+query)[0].Value.Str(); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want a %s", query, got, want)
		}
	}
}
