package engine_test

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine"
)

// composeLive makes live queries whose fields and conditions see no state but that of the change.
var composeLive = []string{
	"LIVE SELECT * FROM p WHERE ⟨expr⟩", "LIVE SELECT VALUE ⟨expr⟩ FROM p", "LIVE SELECT ⟨path⟩ AS x, $before AS b, $after AS a FROM p", "LIVE SELECT DIFF FROM p",
	"LIVE SELECT * FROM half WHERE ⟨expr⟩", "LIVE SELECT *, ⟨expr⟩ AS x FROM e", "LIVE SELECT * FROM ten WHERE ⟨name⟩ = ⟨value⟩", "LIVE SELECT ⟨expr⟩ AS x FROM err", "LIVE SELECT * FROM blind",
}

// Changes of what is seen, as the owner makes them in every variant, and those of hidden things that each adds in between.
const (
	seenChanges   = "UPDATE p:2 SET n = 20 RETURN NONE; UPDATE p:4 SET m = 1, items = [{ a: 7 }] RETURN NONE; CREATE e:60 SET open = true, x = 1; UPDATE half:1 SET m = 1; UPDATE err:2 SET m = 1; DELETE e:60; UPDATE ten:{ tenant: 'mine', n: 1 } SET m = 2"
	hiddenChanges = "UPDATE p:2 SET secret = 'canary', kept = 8, items[1].secret = 'canary', boss = p:4 RETURN NONE; CREATE p:70 SET open = false, n = 1 RETURN NONE; UPDATE p:70 SET n = 2 RETURN NONE; UPDATE ten:{ tenant: 'other', n: 2 } SET m = 'canary'; " +
		"CREATE err:70 SET n = 'canary'; UPDATE blind:1 SET s = 'canary'; CREATE hid:70; DELETE p:70; RELATE p:2->e:70->p:4 SET open = false; UPDATE e:70 SET x = 'canary'; UPDATE p:4 SET obj[0].secret = 'canary', odd = 'canary' RETURN NONE"
)

// elsewhere finds live queries that write, or read more than their change: others may have been made when its turn comes.
var elsewhere = regexp.MustCompile(`CREATE|FETCH|\bid\b.|@|->|<-|<~|\(SELECT|link|boss|refs|fn::|\b[a-z]+:[0-9{]|\$auth|\.\.`)

// TestComposedLiveQueriesTellNothingHidden: the notifications of composed live queries are the same in all variants, in
// what they say and in how many there are. Live queries that end with an error are gone in all of them.
func TestComposedLiveQueriesTellNothingHidden(t *testing.T) {
	n, seed := composeCount(t)
	for round := range max(1, n/1500) {
		var queries []string
		for i := 0; len(queries) < 25; i++ {
			c := &composer{rand.New(rand.NewPCG(uint64(seed+round), uint64(1_000_000+i)))}
			if text := c.fill(c.one(composeLive...), 10); !elsewhere.MatchString(text) {
				queries = append(queries, text)
			}
		}
		users, roots := composeWorlds(t)
		want := composedNotices(t, users[0], roots[0], queries, "")
		if told := strings.Count(want, "\n"); told < 27 {
			t.Errorf("only %d notifications", told)
		}
		for v := range users[1:] {
			if got := composedNotices(t, users[v+1], roots[v+1], queries, hiddenChanges); got != want {
				t.Errorf("seed %d, variant %d: %s\n%s", seed+round, v+1, strings.Join(queries, "\n"), differing(want, got))
			}
		}
	}
}

// composedNotices are the notifications that live queries give, each with the place of its query, sorted.
func composedNotices(t *testing.T, user, root *engine.Session, queries []string, hidden string) string {
	t.Helper()
	mustExecute(t, root, "DEFINE ACCESS acc ON DATABASE TYPE RECORD") // without it the live queries end
	heard := make(chan *engine.Notification, 4096)
	user.Notify(func(n *engine.Notification) error { heard <- n; return nil })
	of := map[string]int{}
	for i, q := range queries {
		res, err := user.Execute(t.Context(), q, nil)
		if err == nil && res[0].Err == nil {
			of[res[0].Value.UUID().String()] = i
		}
	}
	for i, q := range strings.Split(seenChanges, "; ") {
		mustExecute(t, root, q)
		if more := strings.Split(hidden, "; "); hidden != "" && i < len(more) {
			for ; i < len(more); i += len(strings.Split(seenChanges, "; ")) {
				mustExecute(t, root, more[i])
			}
		}
	}
	for id := range of { // KILLED is the last that each is told
		_, _ = user.Execute(t.Context(), "KILL u'"+id+"'", nil) // refused where it has ended by an error
	}
	var told []string
	for ended := 0; ended < len(of); {
		select {
		case n := <-heard:
			if n.Action == "KILLED" {
				ended++
			}
			told = append(told, queries[of[n.Live.String()]]+" "+n.Action+" "+n.Record.Text()+" "+n.Result.Text())
		case <-time.After(10 * time.Second):
			t.Fatalf("%d of %d live queries ended", ended, len(of))
		}
	}
	slices.Sort(told)
	return strings.Join(told, "\n")
}
