//go:build linux || windows || cgo

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/kv/tikv"
	"github.com/nacredb/nacre/engine/kv/tikv/stub"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// openOn opens engines on one prefix of a cluster.
func openOn(t *testing.T, c *stub.Cluster, prefix string, n int) []*engine.Engine {
	t.Helper()
	var all []*engine.Engine
	for range n {
		st, err := tikv.Open(context.Background(), tikv.Options{PD: []string{c.PD}, Prefix: prefix,
			Counter: record.MayCount, Steady: catalog.Steady})
		if err != nil {
			t.Fatal(err)
		}
		e, err := engine.OpenOn(context.Background(), st, engine.Options{Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.Close(context.Background()) })
		all = append(all, e)
	}
	return all
}

// account is what a live query on table acc has told: the last number of each record.
type account struct {
	mu    sync.Mutex // guards all
	last  map[string]int64
	told  int
	wrong []string
	ended string // why it was ended; "" where it goes on
	grown chan struct{}
}

func newAccount() *account {
	return &account{last: map[string]int64{}, grown: make(chan struct{}, 1)}
}

func (a *account) take(n *engine.Notification) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	defer func() {
		select {
		case a.grown <- struct{}{}:
		default:
		}
	}()
	if n.Action == "KILLED" {
		a.ended = "killed: " + n.Result.Text()
		return nil
	}
	id := n.Record.Text()
	v, _ := n.Result.Object().Get("n")
	if last, known := a.last[id]; known && v.Int() != last+1 {
		a.wrong = append(a.wrong, fmt.Sprintf("%s: %d comes after %d", id, v.Int(), last))
	}
	a.last[id] = v.Int()
	a.told++
	return nil
}

// await waits until f holds.
func (a *account) await(t *testing.T, what string, f func(a *account) bool) {
	t.Helper()
	end := time.After(120 * time.Second)
	for {
		a.mu.Lock()
		done, told, ended, wrong := f(a), a.told, a.ended, a.wrong
		a.mu.Unlock()
		switch {
		case len(wrong) > 0:
			t.Fatal(wrong)
		case done:
			return
		case ended != "":
			t.Fatalf("%s: %s", what, ended)
		}
		select {
		case <-a.grown:
		case <-end:
			t.Fatalf("%s: %d notifications, and no more", what, told)
		}
	}
}

// watchAcc begins a live query on acc.
func watchAcc(t *testing.T, e *engine.Engine) (*account, *engine.Session, value.Value) {
	t.Helper()
	a, s := newAccount(), e.RootSession()
	s.Notify(a.take)
	id := mustDo(t, s, "USE NS main DB main; LIVE SELECT * FROM acc")
	return a, s, id
}

// count adds one to the records of acc, n times each, and gives up at the first error that is no conflict.
func countUp(e *engine.Engine, records, n int) error {
	s := e.RootSession()
	if _, err := tryDo(s, "USE NS main DB main; RETURN 1"); err != nil {
		return err
	}
	for i := range n * records {
		for {
			_, err := tryDo(s, fmt.Sprintf("UPSERT acc:%d SET n = (n ?? 0) + 1", i%records))
			if err == nil {
				break
			}
			if !isConflict(err) {
				return err
			}
		}
	}
	return nil
}

// TestLiveQueriesOfOthers: a live query on one server hears of what three servers change at once: all of it, once,
// and in the order of each record. One that ends leaves nothing behind, and one on another server is told the same.
func TestLiveQueriesOfOthers(t *testing.T) {
	c, prefix := stub.Shared(t)
	all := openOn(t, c, prefix, 3)
	mustDo(t, all[0].RootSession(), "USE NS main DB main; DEFINE TABLE acc; DEFINE TABLE other")
	first, one, id := watchAcc(t, all[0])
	second, _, _ := watchAcc(t, all[1])
	const records, each = 7, 20
	var wg sync.WaitGroup
	for _, e := range all {
		wg.Go(func() {
			if err := countUp(e, records, each); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, a := range []*account{first, second} {
		a.await(t, "all changes", func(a *account) bool { return a.told == 3*records*each })
	}
	mustDo(t, one, "KILL "+id.Text())
	first.await(t, "the end", func(a *account) bool { return a.ended != "" })
	mustDo(t, all[2].RootSession(), "USE NS main DB main; CREATE other; REMOVE TABLE acc")
	second.await(t, "the end of the table", func(a *account) bool { return a.ended != "" })
}

// TestLiveQueryBegins: a live query that is made while others write hears of exactly what its own SELECT in the same
// transaction has not seen.
func TestLiveQueryBegins(t *testing.T) {
	c, prefix := stub.Shared(t)
	all := openOn(t, c, prefix, 3)
	mustDo(t, all[0].RootSession(), "USE NS main DB main; DEFINE TABLE acc")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	const records = 3
	for i, e := range all[1:] {
		wg.Go(func() {
			for n := i; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				if err := countUp(e, records, 1); err != nil {
					t.Error(err)
					return
				}
				time.Sleep(10 * time.Millisecond) // a live query is to begin without many conflicts
			}
		})
	}
	type begun struct {
		a    *account
		seen map[string]int64
	}
	var lives []begun
	for i := range 6 {
		a, s := newAccount(), all[i%3].RootSession()
		s.Notify(a.take)
		mustDo(t, s, "USE NS main DB main; RETURN 1")
		var got value.Value
		for {
			res, err := s.Execute(context.Background(),
				"BEGIN; LIVE SELECT * FROM acc; UPSERT acc:0 SET n = (n ?? 0) + 1; LET $all = SELECT * FROM acc; RETURN $all; COMMIT", nil)
			if err != nil {
				t.Fatal(err)
			}
			if last := res[len(res)-1]; last.Err == nil {
				got = res[len(res)-1].Value
				if got.Kind() != value.KindArray {
					got = res[len(res)-2].Value
				}
				break
			} else if !isConflict(last.Err) {
				t.Fatal(last.Err)
			}
		}
		seen := map[string]int64{}
		for _, row := range got.Elems() {
			id, _ := row.Object().Get("id")
			n, _ := row.Object().Get("n")
			seen[id.Text()] = n.Int()
		}
		seen["acc:0"]-- // it hears of that
		a.mu.Lock()
		for id, n := range seen {
			if _, told := a.last[id]; !told {
				a.last[id] = n
			}
		}
		a.mu.Unlock()
		lives = append(lives, begun{a, seen})
	}
	close(stop)
	wg.Wait()
	final := map[string]int64{}
	for _, row := range mustDo(t, all[0].RootSession(), "USE NS main DB main; SELECT * FROM acc").Elems() {
		id, _ := row.Object().Get("id")
		n, _ := row.Object().Get("n")
		final[id.Text()] = n.Int()
	}
	for i, l := range lives {
		want := 0
		for id, n := range final {
			want += int(n - l.seen[id])
		}
		l.a.await(t, fmt.Sprintf("live query %d, of %d", i, want), func(a *account) bool { return a.told >= want })
		l.a.mu.Lock()
		if l.a.told != want {
			t.Errorf("live query %d: %d notifications, want %d", i, l.a.told, want)
		}
		l.a.mu.Unlock()
	}
}

func isConflict(err error) bool {
	var e *errs.Error
	return errors.As(err, &e) && e.Kind == errs.Conflict().Kind
}

// TestBucketsInMemory: what would be on one server alone is refused while there are several.
func TestBucketsInMemory(t *testing.T) {
	c, prefix := stub.Shared(t)
	open := func() *engine.Engine {
		st, err := tikv.Open(context.Background(), tikv.Options{PD: []string{c.PD}, Prefix: prefix})
		if err != nil {
			t.Fatal(err)
		}
		e, err := engine.OpenOn(context.Background(), st, engine.Options{Log: slog.New(slog.DiscardHandler),
			Experimental: []string{"files"}})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	a := open()
	defer a.Close(context.Background())
	s := a.RootSession()
	const put = "USE NS main DB main; file::put(f\"b:/x\", \"y\")"
	mustDo(t, s, "USE NS main DB main; DEFINE BUCKET b BACKEND 'memory'")
	mustDo(t, s, put)
	b := open()
	for _, text := range []string{put, "USE NS main DB main; DEFINE BUCKET c BACKEND 'memory'"} {
		if _, err := tryDo(s, text); err == nil || !strings.Contains(err.Error(), "several serve this store") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := b.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	mustDo(t, s, put)
}

// TestChangeFeedsOfOthers: the entries of a change feed that three servers write to are all there, each with a stamp
// of its own, in the order in which the record was changed.
func TestChangeFeedsOfOthers(t *testing.T) {
	c, prefix := stub.Shared(t)
	all := openOn(t, c, prefix, 3)
	mustDo(t, all[0].RootSession(), "USE NS main DB main; DEFINE TABLE acc CHANGEFEED 1h")
	var wg sync.WaitGroup
	const each = 12
	for _, e := range all {
		wg.Go(func() {
			if err := countUp(e, 1, each); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	changes := mustDo(t, all[1].RootSession(), "USE NS main DB main; SHOW CHANGES FOR TABLE acc SINCE 0 LIMIT 1000")
	var last, n int64
	for _, entry := range changes.Elems() {
		stamp, _ := entry.Object().Get("versionstamp")
		if stamp.Int() <= last {
			t.Errorf("stamp %d follows %d", stamp.Int(), last)
		}
		last = stamp.Int()
		of, _ := entry.Object().Get("changes")
		for _, one := range of.Elems() {
			if update, ok := one.Object().Get("update"); ok {
				v, _ := update.Object().Get("n")
				if n++; v.Int() != n {
					t.Errorf("change %d has %d", n, v.Int())
				}
			}
		}
	}
	if n != 3*each {
		t.Errorf("%d changes of %d", n, 3*each)
	}
}
