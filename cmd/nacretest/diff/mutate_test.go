package diff

import (
	"context"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine/parse"
)

// TestApplicationsRun: no statement of an application fails to parse, its schema and data are taken without an
// error, and
// its user has something to see.
func TestApplicationsRun(t *testing.T) {
	apps, err := applications()
	if err != nil || len(apps) < 6 {
		t.Fatalf("applications: %d, %v", len(apps), err)
	}
	for _, a := range apps {
		if len(a.owner) < 10 || len(a.user) < 5 || len(a.tables) < 2 {
			t.Errorf("an application of %d and %d statements, and the tables %v", len(a.owner), len(a.user),
				a.tables)
		}
		c := &Case{Setup: a.schema, Body: append(append([]string{}, a.data...), a.owner...)}
		got := answers(t, &Embedded{}, c)
		for i, s := range c.asked() {
			if i < len(a.schema)+len(a.data) && got[i].Failed {
				t.Errorf("%s: %s", s, got[i])
			}
		}
		user := &Case{Record: true, Setup: append(append([]string{}, a.schema...), a.data...), Body: a.user}
		seen := false
		for _, got := range answers(t, &Embedded{}, user) {
			seen = seen || strings.HasPrefix(got.Text, "[{")
		}
		if !seen {
			t.Errorf("the user of the application with %v sees nothing", a.tables)
		}
	}
}

// TestAMutationIsACase: a seed makes the same statements every time, and they parse; two stores give them
// the same answers; most seeds change something.
func TestAMutationIsACase(t *testing.T) {
	var e Embedded
	texts := map[string]bool{}
	for seed := range uint64(cases) {
		c, err := Mutate(seed)
		again, err2 := Mutate(seed)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		if c.String() != again.String() {
			t.Fatalf("seed %d makes two cases:\n%s\n%s", seed, c, again)
		}
		for _, s := range append(append([]string{}, c.Setup...), c.Body...) {
			if _, err := parse.Query(s, parse.Options{}); err != nil {
				t.Errorf("seed %d: %s: %v", seed, s, err)
			}
		}
		texts[text(c.Setup)+text(c.Body)] = true
		same(t, c, [2]string{"first", "again"}, answers(t, &e, c), answers(t, &e, again))
	}
	if len(texts) < cases*9/10 {
		t.Errorf("%d cases of %d seeds", len(texts), cases)
	}
}

// TestJudge: a difference that is judged is counted and the next one is found; what follows a write is not
// compared.
func TestJudge(t *testing.T) {
	theirs := answering{{Text: "1"}, {Failed: true, Text: "Specify a database to use"}, {Text: "3"}}
	p := &pair{ours: answering{{Text: "1"}, {Text: "2"}, {Text: "4"}}, theirs: theirs}
	p.timeout = 1e9
	c := &Case{Body: []string{"RETURN 1", "RETURN 2", "RETURN 3"}}
	d, about, err := p.compare(context.Background(), c)
	if err != nil || d == nil || d.Statement != "RETURN 3" || len(about) != 1 {
		t.Errorf("compare: %v, %v, %v", d, about, err)
	}
	c = &Case{Body: []string{"RETURN 1", "CREATE t", "RETURN 3"}}
	if d, about, err := p.compare(context.Background(), c); err != nil || d != nil || len(about) != 1 {
		t.Errorf("compare behind a write: %v, %v, %v", d, about, err)
	}
	p.theirs = answering{{Text: "1"}, {Text: "2"}, {Text: "4"}}
	if d, about, err := p.compare(context.Background(), c); err != nil || d != nil || len(about) != 0 {
		t.Errorf("compare the same: %v, %v, %v", d, about, err)
	}
}

// answering gives the same answers to everything.
type answering []Answer

func (a answering) Ask(context.Context, *Case) ([]Answer, error) { return a, nil }
