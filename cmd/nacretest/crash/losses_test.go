package crash

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/nacredb/nacre/cmd/nacretest/harness"
)

func TestMain(m *testing.M) {
	if code, ok := harness.Child(nil); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// TestLossesAreNoticed proves the crash suite: it must fail when an acknowledged transaction is
// missing, or a part of one.
func TestLossesAreNoticed(t *testing.T) {
	for name, spoil := range map[string]struct {
		text string
		ack  int
		step int
	}{
		"nothing":            {},
		"a transaction":      {ack: 1},
		"a part":             {text: "DELETE part:[0, 1, 0]"},
		"an edge":            {text: "DELETE follows"},
		"a unique record":    {text: "DELETE uniq:[0, 1]"},
		"what was to go":     {text: "CREATE tmp:[0, 0]"},
		"a counter":          {text: "UPDATE shared SET n += 1"},
		"a text":             {step: 1},
		"a step of a text":   {text: "DELETE step:[0, 3, 4]"},
		"the last step":      {text: "DELETE step:[0, 3, 11]"},
		"a counter too many": {text: "UPDATE counter:0 SET n += 1"},
	} {
		t.Run(name, func(t *testing.T) {
			o := crashOptions{writers: 1, longest: 1, RunOptions: harness.RunOptions{Seed: 1}}
			c := &crasher{crashOptions: o, out: io.Discard, path: filepath.Join(t.TempDir(), "x"),
				rnd:   rand.New(rand.NewPCG(1, 1)),
				acked: []int{3}, tried: []int{3}, texts: make([]sent, 1), kills: map[string]int{}}
			if err := c.prepare(t.Context()); err != nil {
				t.Fatal(err)
			}
			s, err := harness.Start(t.Context(), c.dsn())
			if err != nil {
				t.Fatal(err)
			}
			cl, err := s.Connect(t.Context(), "crash", "crash")
			if err != nil {
				t.Fatal(err)
			}
			for n := range 3 {
				if _, err := harness.Ask(t.Context(), cl, transaction(0, n+1)); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := harness.Ask(t.Context(), cl, text(0, 3)); err != nil {
				t.Fatal(err)
			}
			c.texts[0] = sent{acked: 3 + spoil.step, tried: 3 + spoil.step}
			if spoil.text != "" {
				if _, err := harness.Ask(t.Context(), cl, spoil.text); err != nil {
					t.Fatal(err)
				}
			}
			c.acked[0] += spoil.ack
			c.tried[0] += spoil.ack
			err = c.verify(t.Context(), s, []int{0})
			if (err != nil) != (name != "nothing") {
				t.Errorf("got %v", err)
			}
			if err := errors.Join(cl.Close(), s.Stop()); err != nil {
				t.Error(err)
			}
		})
	}
}
