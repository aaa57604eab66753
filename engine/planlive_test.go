package engine_test

import (
	"fmt"
	"math/rand/v2"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/value"
)

// TestLiveQueriesDoNotDependOnIndexes follows random live queries over the same changes with and without indexes.
func TestLiveQueriesDoNotDependOnIndexes(t *testing.T) {
	e := openQuiet(t)
	for seed := range uint64(15) {
		m := &meta{t: t, rng: rand.New(rand.NewPCG(*planSeed+seed, 1))}
		data, indexes, where := m.data(), m.indexes(), m.cond(2)
		var got [2]string
		for i, setup := range []string{fixed, fixed + indexes} {
			s := e.RootSession()
			m.use(s, fmt.Sprintf("live%d_%d", seed, i))
			prepare(t, s, setup)
			got[i] = notified(t, s, "LIVE SELECT * FROM t WHERE "+where, data)
		}
		if got[0] != got[1] {
			t.Fatalf("seed %d: LIVE … WHERE %s\nwithout indexes %s\nwith indexes    %s\n%s%s", seed, where, got[0], got[1], indexes, data)
		}
	}
}

// notified is what a live query tells of changes, sorted: a statement changes records in the order in which it finds them.
func notified(t *testing.T, s *engine.Session, query, changes string) string {
	all := make(chan *engine.Notification, 1024)
	s.Notify(func(n *engine.Notification) error { all <- n; return nil })
	id := run(t, s, query)[0].Value
	prepare(t, s, changes)
	run(t, s, "KILL $id", value.Field{Name: "id", Value: id})
	var out []string
	for {
		select {
		case n := <-all:
			if n.Action == "KILLED" {
				sort.Strings(out)
				return strings.Join(out, "\n")
			}
			out = append(out, fmt.Sprint(n.Action, " ", n.Record.Text(), " ", n.Result.Text()))
		case <-time.After(20 * time.Second):
			t.Fatalf("the end did not come after %q", out)
		}
	}
}
