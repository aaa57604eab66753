package diff

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// cases of the tests: enough to meet each kind of statement.
const cases = 60

func answers(t *testing.T, e *Embedded, c *Case) []Answer {
	t.Helper()
	got, err := e.Ask(context.Background(), c)
	if err != nil {
		t.Fatalf("%v\n%s", err, c)
	}
	// some say what may not be said: that is an answer too
	if len(got) == 1 && strings.HasPrefix(got[0].Text, "Parse error: ") {
		return got
	}
	if len(got) < len(c.Body) { // a failed transaction has fewer answers than statements
		t.Fatalf("%d answers for %d statements: %v\n%s", len(got), len(c.asked()), got, c)
	}
	return normalise(got)
}

// same fails the test where two runs of a case differ.
func same(t *testing.T, c *Case, names [2]string, a, b []Answer) {
	t.Helper()
	if i := firstDifference(a, b); i >= 0 {
		t.Errorf("%s\n%s: %s\n%s: %s\n%s", c.asked()[i], names[0], a[i], names[1], b[i], c)
	}
}

// TestASeedIsACase: it makes the same statements every time, and they get the same answers.
func TestASeedIsACase(t *testing.T) {
	var e Embedded
	for seed := range uint64(cases) {
		c, again := Generate(seed), Generate(seed)
		if c.String() != again.String() {
			t.Fatalf("seed %d makes two cases:\n%s\n%s", seed, c, again)
		}
		same(t, c, [2]string{"first", "again"}, answers(t, &e, c), answers(t, &e, again))
	}
}

// TestStoresAgree: a case gets the same answers from memory and from disk.
func TestStoresAgree(t *testing.T) {
	dir, n := t.TempDir(), 0
	disk := &Embedded{DSN: func() string {
		n++
		return "bolt://" + filepath.Join(dir, fmt.Sprint(n)) + "?sync=never&versioned=true"
	}}
	for seed := range uint64(cases) {
		c := Generate(1000 + seed)
		same(t, c, [2]string{"memory", "disk"}, answers(t, &Embedded{}, c), answers(t, disk, c))
	}
}

// TestPlainIndexesChangeNoAnswer: taking the indexes that refuse nothing out of a case leaves its answers as they are.
func TestPlainIndexesChangeNoAnswer(t *testing.T) {
	var e Embedded
	for seed := range uint64(3 * cases) {
		c := Generate(2000 + seed)
		if strings.Contains(text(c.Setup), "DEFINE TABLE y ") { // COMPUTED fields are refused over an index
			continue
		}
		with, without := unindexed(c, false), unindexed(c, true)
		same(t, with, [2]string{"with", "without"}, answers(t, &e, with), answers(t, &e, without))
	}
}

// unindexed is c without what tells of indexes, or fails by them; drop also replaces the indexes by nothing.
func unindexed(c *Case, drop bool) *Case {
	out := *c
	full := strings.Contains(text(c.Setup), "SCHEMAFULL")
	keep := func(in []string) []string {
		var kept []string
		for _, s := range in {
			switch {
			case strings.Contains(s, "INFO FOR"), strings.Contains(s, "REBUILD"), strings.Contains(s, "UNIQUE"),
				strings.HasPrefix(s, "ALTER INDEX"):
				continue
			case strings.HasPrefix(s, "DEFINE INDEX") && full: // may refuse fields that are not there
				s = "LET $unused = NONE" // a RETURN would end a transaction
			case strings.HasPrefix(s, "DEFINE INDEX") && drop:
				s = "LET $unused = NONE" // a RETURN would end a transaction
			case strings.HasPrefix(s, "DEFINE INDEX") && !strings.Contains(s, "OVERWRITE"):
				s = strings.Replace(s, "DEFINE INDEX", "DEFINE INDEX OVERWRITE", 1)
			}
			kept = append(kept, s)
		}
		return kept
	}
	out.Setup, out.Body = keep(c.Setup), keep(c.Body)
	return &out
}

// TestRunPrintsTheSmallestCase with an engine that is wrong about one statement.
func TestRunPrintsTheSmallestCase(t *testing.T) {
	var out bytes.Buffer
	err := Run(context.Background(), &out,
		Options{Seed: 7, Cases: 3, Timeout: 10 * time.Second, Shapes: 1, Shrink: true}, &Embedded{}, wrong{})
	if err == nil || !strings.Contains(out.String(), "reference: wrong about INFO") {
		t.Errorf("Run: %v\n%s", err, &out)
	}
	if n := strings.Count(out.String(), "SELECT"); n > 10 {
		t.Errorf("%d SELECTs are left of a case that needs none:\n%s", n, &out)
	}
	if err := Run(context.Background(), io.Discard, Options{Seed: 1, Cases: 5, Timeout: 10 * time.Second}, &Embedded{},
		&Embedded{}); err != nil {
		t.Errorf("an engine differs from itself: %v", err)
	}
}

// wrong answers as the engine does, except to INFO.
type wrong struct{}

func (wrong) Ask(ctx context.Context, c *Case) ([]Answer, error) {
	got, err := (&Embedded{}).Ask(ctx, c)
	for i, s := range c.asked() {
		if i < len(got) && s == "INFO FOR DB" {
			got[i] = Answer{Text: "wrong about INFO"}
		}
	}
	return got, err
}

func TestSameAnswer(t *testing.T) {
	for _, c := range []struct {
		a, b Answer
		want bool
	}{
		{Answer{Text: "0.1f"}, Answer{Text: "0.10000000000000002f"}, true},
		{Answer{Text: "0.1f"}, Answer{Text: "0.2f"}, false},
		{Answer{Text: "1"}, Answer{Text: "1f"}, false},
		{Answer{Text: "x"}, Answer{Text: "x", Failed: true}, false},
	} {
		if got := sameAnswer(c.a, c.b); got != c.want {
			t.Errorf("sameAnswer(%s, %s) = %v", c.a, c.b, got)
		}
	}
	a := normalise([]Answer{{Text: "[t:aaaaaaaaaaaaaaaaaaaa, t:bbbbbbbbbbbbbbbbbbbb, t:aaaaaaaaaaaaaaaaaaaa]"}})
	if want := "[t:<id1>, t:<id2>, t:<id1>]"; a[0].Text != want {
		t.Errorf("normalise: %s, want %s", a[0].Text, want)
	}
}

func TestDecodeAnswers(t *testing.T) {
	got, err := decodeAnswers([]byte("{\"status\":\"OK\",\"value\":\"1\"}\n{\"status\":\"ERR\",\"error\":\"x\"}\n"))
	if err != nil || len(got) != 2 || got[0].Text != "1" || !got[1].Failed {
		t.Errorf("decodeAnswers: %v, %v", got, err)
	}
	if _, err := decodeAnswers([]byte(`{"status":"FAIL","error":"dead"}`)); err == nil {
		t.Error("an engine that died has answered")
	}
}
