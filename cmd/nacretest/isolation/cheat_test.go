package isolation

import (
	"context"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/nacredb/nacre/cmd/nacretest/anomaly"
	"github.com/nacredb/nacre/cmd/nacretest/harness"
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
	for range rand.IntN(8) { // others read what this one is about to change, on one processor, too
		runtime.Gosched()
	}
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
	o := loadOptions{level: "kv", clients: 8, txns: 4000, RunOptions: harness.RunOptions{Seed: 1}}
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
