package main

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/nacredb/nacre/cmd/nacretest/anomaly"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/mem"
)

// cheat is a store that breaks a promise.
type cheat struct {
	kv.Store
	blind  bool // it does not look at what a transaction has read: lost updates, write skew
	forget bool // it acknowledges some commits and drops them
}

func (c *cheat) Commit(ctx context.Context, b *kv.Batch) (kv.Version, error) {
	if c.blind {
		b.Reads = kv.ReadSet{}
	}
	if c.forget && rand.IntN(100) == 0 {
		return b.Snapshot, nil
	}
	return c.Store.Commit(ctx, b)
}

// TestCheatingStoresAreFound proves the append and bank suites: they must fail on such stores.
func TestCheatingStoresAreFound(t *testing.T) {
	o := loadOptions{level: "kv", clients: 8, txns: 4000, runOptions: runOptions{seed: 1}}
	for name, st := range map[string]kv.Store{
		"no validation": &cheat{Store: mem.New(), blind: true},
		"forgets":       &cheat{Store: mem.New(), forget: true},
	} {
		history, err := appendHistory(t.Context(), kvTarget{st}, o)
		if err != nil {
			t.Fatal(err)
		}
		if len(anomaly.Check(history, anomaly.Options{})) == 0 {
			t.Errorf("%s: no anomaly is found", name)
		}
		l := &ledger{ids: map[string]anomaly.Status{}}
		if err := l.run(t.Context(), kvTarget{st}, o); err == nil && l.wrong.Load() == 0 {
			t.Errorf("%s: the bank notices nothing", name)
		}
	}
}

// TestLossesAreNoticed proves the crash suite: it must fail when an acknowledged transaction is
// missing, or a part of one.
func TestLossesAreNoticed(t *testing.T) {
	for name, spoil := range map[string]struct {
		text string
		ack  int
	}{
		"nothing":            {},
		"a transaction":      {ack: 1},
		"a part":             {text: "DELETE part:[0, 1, 0]"},
		"an edge":            {text: "DELETE follows"},
		"a unique record":    {text: "DELETE uniq:[0, 1]"},
		"what was to go":     {text: "CREATE tmp:[0, 0]"},
		"a counter":          {text: "UPDATE shared SET n += 1"},
		"a counter too many": {text: "UPDATE counter:0 SET n += 1"},
	} {
		t.Run(name, func(t *testing.T) {
			o := crashOptions{writers: 1, longest: 1, runOptions: runOptions{seed: 1}}
			c := &crasher{crashOptions: o, out: io.Discard, path: filepath.Join(t.TempDir(), "x"), rnd: rand.New(rand.NewPCG(1, 1)),
				acked: []int{3}, tried: []int{3}, kills: map[string]int{}}
			if err := c.prepare(t.Context()); err != nil {
				t.Fatal(err)
			}
			s, err := start(t.Context(), c.dsn())
			if err != nil {
				t.Fatal(err)
			}
			cl, err := s.connect(t.Context(), "crash", "crash")
			if err != nil {
				t.Fatal(err)
			}
			for n := range 3 {
				if _, err := ask(t.Context(), cl, transaction(0, n+1)); err != nil {
					t.Fatal(err)
				}
			}
			if spoil.text != "" {
				if _, err := ask(t.Context(), cl, spoil.text); err != nil {
					t.Fatal(err)
				}
			}
			c.acked[0] += spoil.ack
			c.tried[0] += spoil.ack
			err = c.verify(t.Context(), s, []int{0})
			if (err != nil) != (name != "nothing") {
				t.Errorf("got %v", err)
			}
			if err := errors.Join(cl.Close(), s.stop()); err != nil {
				t.Error(err)
			}
		})
	}
}
