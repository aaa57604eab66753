//go:build linux || windows || cgo

package engine_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/kv/tikv/stub"
	"github.com/nacredb/nacre/engine/value"
)

// untilCommitted runs a text until it meets no conflict.
func untilCommitted(s *engine.Session, text string) (value.Value, error) {
	for {
		v, err := tryDo(s, text)
		if err == nil || !isConflict(err) {
			return v, err
		}
	}
}

// inMain is a session in the database of the tests.
func inMain(t *testing.T, e *engine.Engine) *engine.Session {
	t.Helper()
	s := e.RootSession()
	mustDo(t, s, "USE NS main DB main; RETURN 1")
	return s
}

// TestBankOfServers: three servers move money, and none ever sees another total.
func TestBankOfServers(t *testing.T) {
	c, prefix := stub.Shared(t)
	all := openOn(t, c, prefix, 3)
	const accounts, each = 6, 25
	mustDo(t, all[0].RootSession(), "USE NS main DB main; DEFINE TABLE acc; DEFINE INDEX n ON acc FIELDS n; "+
		fmt.Sprintf("FOR $i IN 0..%d { CREATE acc SET id = $i, n = 100 }", accounts))
	var wg, readers sync.WaitGroup
	stop := make(chan struct{})
	for i, e := range all {
		s, r := inMain(t, e), inMain(t, e)
		wg.Go(func() {
			for n := range each {
				from, to := (n+i)%accounts, (n*5+i*3+1)%accounts
				if from == to {
					continue
				}
				text := fmt.Sprintf("BEGIN; UPDATE acc:%d SET n -= 7; UPDATE acc:%d SET n += 7; COMMIT", from, to)
				if _, err := untilCommitted(s, text); err != nil {
					t.Error(err)
				}
			}
		})
		readers.Go(func() {
			for {
				if got := mustDo(t, r, "math::sum(SELECT VALUE n FROM acc)"); got.Int() != accounts*100 {
					t.Errorf("a total of %s", got.Text())
				}
				select {
				case <-stop:
					return
				case <-time.After(5 * time.Millisecond):
				}
			}
		})
	}
	wg.Wait()
	close(stop)
	readers.Wait()
	for _, e := range all {
		s := inMain(t, e)
		if got := mustDo(t, s, "math::sum(SELECT VALUE n FROM acc)"); got.Int() != accounts*100 {
			t.Errorf("a total of %s", got.Text())
		}
		awaitTrue(t, e, "(SELECT VALUE id FROM acc WHERE n > 0 ORDER BY id) = (SELECT VALUE id FROM acc WITH NOINDEX WHERE n > 0 ORDER BY id)")
	}
}

// TestUniqueRaceOfServers: of three servers that create the same unique value one wins.
func TestUniqueRaceOfServers(t *testing.T) {
	c, prefix := stub.Shared(t)
	all := openOn(t, c, prefix, 3)
	mustDo(t, all[0].RootSession(), "USE NS main DB main; DEFINE TABLE u; DEFINE INDEX mail ON u FIELDS mail UNIQUE")
	var sessions []*engine.Session
	for _, e := range all {
		sessions = append(sessions, inMain(t, e))
	}
	for round := range 25 {
		var wg sync.WaitGroup
		var won atomic.Int64
		for _, s := range sessions {
			wg.Go(func() {
				if _, err := untilCommitted(s, fmt.Sprintf("CREATE u SET mail = 'm%d'", round)); err == nil {
					won.Add(1)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			t.Errorf("round %d: %d won", round, won.Load())
		}
		if n := mustDo(t, sessions[round%3], fmt.Sprintf("count(SELECT * FROM u WITH NOINDEX WHERE mail = 'm%d')", round)); n.Int() != 1 {
			t.Errorf("round %d: %s records", round, n.Text())
		}
	}
}

// TestListAppendOfServers: what three servers append to lists is there once, and each read is a start of what is there in
// the end, with all that was acknowledged before it.
func TestListAppendOfServers(t *testing.T) {
	c, prefix := stub.Shared(t)
	all := openOn(t, c, prefix, 3)
	mustDo(t, all[0].RootSession(), "USE NS main DB main; DEFINE TABLE l")
	const lists, each = 3, 20
	type read struct{ elems []value.Value }
	var mu sync.Mutex
	reads := map[int][]read{}
	var wg sync.WaitGroup
	for i, e := range all {
		s := inMain(t, e)
		wg.Go(func() {
			for n := range each {
				of := n % lists
				if _, err := untilCommitted(s, fmt.Sprintf("UPSERT l:%d SET v = array::append(v ?? [], %d)", of, i*1000+n)); err != nil {
					t.Error(err)
					return
				}
				v := mustDo(t, s, fmt.Sprintf("(SELECT VALUE v FROM ONLY l:%d) ?? []", of))
				if !slices.ContainsFunc(v.Elems(), func(x value.Value) bool { return x.Int() == int64(i*1000+n) }) {
					t.Errorf("%d was acknowledged and is not in list %d: %s", i*1000+n, of, v.Text())
				}
				mu.Lock()
				reads[of] = append(reads[of], read{v.Elems()})
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	s, total := inMain(t, all[0]), 0
	for of := range lists {
		final := mustDo(t, s, fmt.Sprintf("(SELECT VALUE v FROM ONLY l:%d) ?? []", of)).Elems()
		total += len(final)
		for _, r := range reads[of] {
			if len(r.elems) > len(final) || !slices.EqualFunc(r.elems, final[:len(r.elems)], value.Equal) {
				t.Errorf("list %d: a read is no start of it", of)
			}
		}
	}
	if total != 3*each {
		t.Errorf("%d elements of %d", total, 3*each)
	}
}

// TestSchemaOfServers: while three servers write, a definition that one of them has acknowledged holds for each statement
// that begins later, on all of them.
func TestSchemaOfServers(t *testing.T) {
	c, prefix := stub.Shared(t)
	all := openOn(t, c, prefix, 3)
	mustDo(t, all[0].RootSession(), "USE NS main DB main; DEFINE TABLE r; DEFINE FIELD v ON r VALUE 0")
	var acknowledged atomic.Int64
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for i, e := range all {
		s := inMain(t, e)
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				least := acknowledged.Load()
				v, err := untilCommitted(s, fmt.Sprintf("(UPSERT ONLY r:[%d, %d]).v", i, n%4))
				if err != nil {
					t.Error(err)
					return
				}
				if v.Int() < least {
					t.Errorf("server %d writes with definition %d, and %d was acknowledged before", i, v.Int(), least)
				}
			}
		})
	}
	for n := range 15 {
		s := inMain(t, all[n%3])
		if _, err := untilCommitted(s, fmt.Sprintf("DEFINE FIELD OVERWRITE v ON r VALUE %d", n+1)); err != nil {
			t.Error(err)
		}
		acknowledged.Store(int64(n + 1))
	}
	close(stop)
	wg.Wait()
}

// TestManyChanges: a live query on one server is told of 2,000 changes (with -cluster 10,000) by two others, without
// loss, duplicate or disorder.
func TestManyChanges(t *testing.T) {
	c, prefix := stub.Shared(t)
	all := openOn(t, c, prefix, 3)
	const records, chunk = 200, 50
	rounds := 5
	if *onCluster {
		rounds = 25
	}
	mustDo(t, all[1].RootSession(), "USE NS main DB main; DEFINE TABLE acc; "+
		fmt.Sprintf("FOR $i IN 0..%d { CREATE acc SET id = $i, n = 0 }", records))
	a, _, _ := watchAcc(t, all[0])
	a.mu.Lock()
	for i := range records {
		a.last[fmt.Sprintf("acc:%d", i)] = 0
	}
	a.mu.Unlock()
	began := time.Now()
	var wg sync.WaitGroup
	for i, e := range all[1:] {
		s := inMain(t, e)
		wg.Go(func() {
			for n := range rounds * records / chunk {
				from := (n + i*2) % (records / chunk) * chunk
				if _, err := untilCommitted(s, fmt.Sprintf("UPDATE acc:%d..%d SET n += 1 RETURN NONE", from, from+chunk)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	t.Logf("committed after %v", time.Since(began))
	a.await(t, "all changes", func(a *account) bool { return a.told == 2*rounds*records })
}

// TestServerIsCutOff: a server that others take for gone ends its live queries with a word, and goes on.
func TestServerIsCutOff(t *testing.T) {
	c, prefix := stub.Shared(t)
	all := openOn(t, c, prefix, 2)
	mustDo(t, all[0].RootSession(), "USE NS main DB main; DEFINE TABLE acc")
	a, _, _ := watchAcc(t, all[0])
	if err := countUp(all[1], 2, 2); err != nil {
		t.Fatal(err)
	}
	a.await(t, "changes before", func(a *account) bool { return a.told == 4 })
	if err := all[0].TakenForGone(context.Background()); err != nil {
		t.Fatal(err)
	}
	a.mu.Lock()
	clear(a.last)
	a.mu.Unlock()
	a.await(t, "the end", func(a *account) bool { return a.ended != "" })
	for end := time.Now().Add(60 * time.Second); !hearsFour(t, all[0], all[1]); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no live query begins again")
		}
	}
}

// hearsFour reports whether a live query on one server can be made, and hears of four changes by another one.
func hearsFour(t *testing.T, on, by *engine.Engine) bool {
	t.Helper()
	a, s := newAccount(), inMain(t, on)
	s.Notify(a.take)
	if _, err := tryDo(s, "LIVE SELECT * FROM acc"); err != nil {
		return false
	}
	if err := countUp(by, 2, 2); err != nil {
		t.Fatal(err)
	}
	for range 600 {
		a.mu.Lock()
		told, ended := a.told, a.ended
		a.mu.Unlock()
		if told == 4 || ended != "" {
			return ended == ""
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("it neither hears of the changes nor ends")
	return false
}
