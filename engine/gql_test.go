package engine_test

import (
	"bufio"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/plan"
	"github.com/nacredb/nacre/engine/value"
)

// gqlCase is a program with what is expected of it.
type gqlCase struct {
	name, text string
	vars       *value.Object
	checks     []gqlCheck
}

// gqlCheck is an expectation: of the program, or of a query afterwards.
type gqlCheck struct {
	query string // "": the program
	kind  byte   // '=', '~' or '!'
	want  string
}

func readGQL(t testing.TB, path string) []gqlCase {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var cases []gqlCase
	query := ""
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		line := sc.Text()
		if line == "" || line[0] == '#' {
			continue
		}
		head, rest, _ := strings.Cut(line, " ")
		last := len(cases) - 1
		switch head {
		case "=", "~", "!":
			cases[last].checks = append(cases[last].checks, gqlCheck{query, head[0], rest})
			query = ""
		case "?":
			query = rest
		case "$":
			v, err := value.DecodeJSONValue([]byte(rest), value.DecodeLimits{})
			if err != nil {
				t.Fatal(err)
			}
			cases[last].vars = v.Object()
		default:
			cases = append(cases, gqlCase{name: head, text: rest})
		}
	}
	return cases
}

// gqlScene is a database with the records of the scene.
func gqlScene(t testing.TB, opt engine.Options) *engine.Session {
	t.Helper()
	s := openedGQL(t, opt)
	text, err := os.ReadFile("testdata/gql/scene.surql")
	if err != nil {
		t.Fatal(err)
	}
	runGQLSetup(t, s, string(text))
	return s
}

func openedGQL(t testing.TB, opt engine.Options) *engine.Session {
	t.Helper()
	_, s := openGQL(t, opt)
	return s
}

func openGQL(t testing.TB, opt engine.Options) (*engine.Engine, *engine.Session) {
	t.Helper()
	opt.NoDefaults = true
	e, err := engine.Open(context.Background(), "memory", opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close(context.Background()) })
	s := e.RootSession()
	t.Cleanup(s.Close)
	runGQLSetup(t, s, "DEFINE NAMESPACE n; USE NS n; DEFINE DATABASE d; USE NS n DB d")
	return e, s
}

func runGQLSetup(t testing.TB, s *engine.Session, text string) []engine.Result {
	t.Helper()
	res, err := s.Execute(context.Background(), text, nil)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	for _, r := range res {
		if r.Err != nil {
			t.Fatalf("%s: %v", text, r.Err)
		}
	}
	return res
}

// briefly shows records as their ids alone.
func briefly(v value.Value) value.Value {
	switch v.Kind() {
	case value.KindArray:
		out := make([]value.Value, v.Len())
		for i, e := range v.Elems() {
			out[i] = briefly(e)
		}
		return value.ArrayOf(out)
	case value.KindObject:
		if id, ok := v.Object().Get("id"); ok && id.Kind() == value.KindRecord {
			return id
		}
		var fields []value.Field
		for _, f := range v.Object().Fields() {
			fields = append(fields, value.Field{Name: f.Name, Value: briefly(f.Value)})
		}
		return value.ObjectOf(value.NewObject(fields...))
	}
	return v
}

func (c *gqlCheck) test(t *testing.T, text string, v value.Value, err error) {
	t.Helper()
	if c.kind == '!' {
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\ngot  %v, error %v\nwant %s", text, v, err, c.want)
		}
		return
	}
	if err != nil {
		t.Errorf("%s: %v", text, err)
		return
	}
	if c.kind == '~' {
		v = briefly(v)
	}
	if got := string(value.AppendJSON(nil, v)); got != c.want {
		t.Errorf("%s\ngot  %s\nwant %s", text, got, c.want)
	}
}

func runGQL(s *engine.Session, text string, vars *value.Object) (value.Value, error) {
	res, err := s.GQL(context.Background(), text, vars)
	if err != nil {
		return value.None, err
	}
	if res[0].Err != nil {
		return value.None, res[0].Err
	}
	return res[0].Value, nil
}

func testGQL(t *testing.T, path string, opt engine.Options, setup string) {
	for _, c := range readGQL(t, path) {
		t.Run(c.name, func(t *testing.T) {
			s := gqlScene(t, opt)
			if setup != "" {
				runGQLSetup(t, s, setup)
			}
			v, err := runGQL(s, c.text, c.vars)
			for _, check := range c.checks {
				if check.query == "" {
					check.test(t, c.text, v, err)
					continue
				}
				res := runGQLSetup(t, s, check.query)
				check.test(t, check.query, res[0].Value, nil)
			}
		})
	}
}

// TestGQLExamples runs programs whose answers were worked out by hand.
func TestGQLExamples(t *testing.T) { testGQL(t, "testdata/gql/examples.txt", engine.Options{}, "") }

// TestGQLMore runs programs for what the examples leave out.
func TestGQLMore(t *testing.T) { testGQL(t, "testdata/gql/more.txt", engine.Options{}, "") }

// TestGQLExamplesWithIndexes runs them with indexes on what they ask for.
func TestGQLExamplesWithIndexes(t *testing.T) {
	testGQL(t, "testdata/gql/examples.txt", engine.Options{},
		`DEFINE INDEX a ON person FIELDS name; DEFINE INDEX b ON person FIELDS age;
		DEFINE INDEX c ON city FIELDS name; DEFINE INDEX d ON knows FIELDS since`)
}

// TestGQLExamplesWithoutRules runs them without what the planner knows.
func TestGQLExamplesWithoutRules(t *testing.T) {
	var off []string
	for _, r := range plan.AllRules() {
		off = append(off, r.String())
	}
	testGQL(t, "testdata/gql/examples.txt", engine.Options{PlannerRulesOff: off}, "")
}
