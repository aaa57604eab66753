package tikv_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tikv/client-go/v2/oracle"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/kvtest"
	"github.com/nacredb/nacre/engine/kv/tikv"
	"github.com/nacredb/nacre/engine/kv/tikv/stub"
)

// safePoints is what the stub says of them.
type safePoints struct {
	Driver   uint64
	Services map[string]uint64
	Told     string
}

func safePointsOf(t *testing.T, c *stub.Cluster) (p safePoints) {
	t.Helper()
	if err := json.Unmarshal([]byte(c.Order(t, "/safepoints")), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// ago is the timestamp of some time ago.
func ago(d time.Duration) uint64 { return oracle.GoTimeToTS(time.Now().Add(-d)) }

// checkAgo checks that a timestamp is that of d before a moment since from.
func checkAgo(t *testing.T, what string, ts uint64, from time.Time, d time.Duration) {
	t.Helper()
	at := oracle.GetTimeFromTS(ts)
	if first, last := from.Add(-d-time.Millisecond), time.Now().Add(-d); at.Before(first) || at.After(last) {
		t.Errorf("%s is at %v, want between %v and %v", what, at, first, last)
	}
}

// service sets what a program needs.
func service(t *testing.T, c *stub.Cluster, id string, ts uint64, ttl string) {
	t.Helper()
	c.Order(t, "/service", "id", id, "ts", fmt.Sprint(ts), "ttl", ttl)
}

// turn works at old versions once.
func turn(t *testing.T, st *tikv.Store) {
	t.Helper()
	if err := st.Turn(ctx); err != nil {
		t.Error(err)
	}
}

// TestCollect: the safe point moves by itself, behind all locks: before, those of a transaction whose process died
// after it had committed the first key are committed, and those of one that has not are undone. In between are ends
// of regions.
func TestCollect(t *testing.T) {
	c, open := cluster(t)
	from := time.Now()
	st := open(tikv.Unpaced(tikv.Options{GC: time.Hour}))
	if err := errors.Join(
		st.Leave(ctx, ago(3*time.Hour), 0, "x1", "1", "x2", "1"),
		st.Leave(ctx, ago(2*time.Hour), ago(2*time.Hour-time.Minute), "y1", "2", "y2", "2"),
		st.Leave(ctx, ago(time.Minute), ago(time.Second), "z1", "3", "z2", "3")); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"x2", "y2"} {
		c.Order(t, "/split", "key", hex.EncodeToString(append([]byte("nacre/\x00"), key...)))
	}
	c.Order(t, "/safepoint", "ts", fmt.Sprint(ago(90*time.Minute)))
	if said, err := c.Ask("/collect"); err == nil {
		t.Fatalf("the stub collects what is locked: %s", said)
	}
	worker := open(tikv.Paced(tikv.Options{GC: time.Hour}, time.Millisecond, 0))
	waitFor(t, func() bool { return safePointsOf(t, c).Driver > ago(time.Hour+time.Minute) })
	p := safePointsOf(t, c)
	checkAgo(t, "the safe point", p.Driver, from, time.Hour)
	c.Order(t, "/collect") // not where there are older locks
	if got, want := kvtest.All(t, st), "y1=2 y2=2 z1=3 z2=3"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	waitFor(t, func() bool { return worker.Stats().SafePoint.After(time.Now().Add(-time.Hour - time.Minute)) })
}

// TestCollectTurn: what one turn does with what it finds.
func TestCollectTurn(t *testing.T) {
	c, open := cluster(t)
	st, longer := open(tikv.Unpaced(tikv.Options{GC: time.Hour})), open(tikv.Unpaced(tikv.Options{GC: 2 * time.Hour}))

	held := ago(5 * time.Hour)
	service(t, c, "somebody", held, "3600")
	turn(t, st)
	if p := safePointsOf(t, c); p.Driver != held || p.Told != fmt.Sprint(held) {
		t.Errorf("a service needs %d: %+v", held, p)
	}
	turn(t, st)
	if p := safePointsOf(t, c); p.Driver != held {
		t.Errorf("a service still needs %d: %+v", held, p)
	}
	service(t, c, "somebody", held, "-1")
	from := time.Now()
	turn(t, longer)
	p := safePointsOf(t, c)
	checkAgo(t, "the safe point", p.Driver, from, 2*time.Hour)
	turn(t, longer)
	if again := safePointsOf(t, c); again.Driver != p.Driver {
		t.Errorf("done just now, and again: %d, %d", p.Driver, again.Driver)
	}
	from = time.Now()
	turn(t, st)
	if p = safePointsOf(t, c); p.Told != fmt.Sprint(p.Driver) || p.Services["gc_worker"] != p.Driver {
		t.Errorf("clients are told %s of %d, services %d", p.Told, p.Driver, p.Services["gc_worker"])
	}
	checkAgo(t, "the safe point of the one that keeps less", p.Driver, from, time.Hour)
	turn(t, longer)
	if again := safePointsOf(t, c); again.Driver != p.Driver || again.Services["gc_worker"] != p.Services["gc_worker"] {
		t.Errorf("the one that keeps more has moved it back: %+v, %+v", p, again)
	}
	newer := ago(10 * time.Minute)
	c.Order(t, "/safepoint", "ts", fmt.Sprint(newer))
	turn(t, st)
	if p := safePointsOf(t, c); p.Driver != newer {
		t.Errorf("another program keeps ten minutes: %+v, want %d", p, newer)
	}
}

// TestSafePointWithoutEtcd: clients that hear of no safe point read nothing, so that of the stores will do.
func TestSafePointWithoutEtcd(t *testing.T) {
	c, open := cluster(t)
	st := open(tikv.Options{GC: -1})
	want := fmt.Sprint(ago(3 * time.Hour))
	c.Order(t, "/safepoint", "ts", want)
	if got, err := st.SafePointWithoutEtcd(); got != want || err != nil {
		t.Errorf("got %s, want %s; %v", got, want, err)
	}
}

// TestCollectOff: gc=off leaves the safe point where others move it to.
func TestCollectOff(t *testing.T) {
	c, open := cluster(t)
	open(tikv.Paced(tikv.Options{GC: -1}, 0, 0)) // if it worked, it would keep nothing
	open(tikv.Paced(tikv.Options{GC: time.Hour}, time.Millisecond, 0))
	last := uint64(0)
	for range 20 {
		waitFor(t, func() bool { return safePointsOf(t, c).Driver > last })
		last = safePointsOf(t, c).Driver
	}
	if last > ago(time.Hour) {
		t.Errorf("the safe point is at %v", oracle.GetTimeFromTS(last))
	}
	for _, life := range []time.Duration{1, 59 * time.Minute} {
		if _, err := tikv.Open(ctx, tikv.Options{PD: []string{c.PD}, GC: life}); err == nil ||
			!strings.Contains(err.Error(), "at least 1h") {
			t.Errorf("%v: %v", life, err)
		}
	}
}

// TestCollectClock: a clock that jumps ahead takes nothing with it that is younger by the other one, and one from
// before its time is an error.
func TestCollectClock(t *testing.T) {
	c, open := cluster(t)
	since1970 := time.Now().UnixMilli()
	c.Order(t, "/driver", "ahead", fmt.Sprint(-since1970+time.Minute.Milliseconds()))
	st := open(tikv.Unpaced(tikv.Options{GC: time.Hour}))
	if err := st.Turn(ctx); err == nil || !strings.Contains(err.Error(), "clock") {
		t.Errorf("a minute after 1970: %v", err)
	}
	if p := safePointsOf(t, c); p.Driver != 0 || p.Told != "" || p.Services["gc_worker"] != 0 {
		t.Errorf("a minute after 1970: %+v", p)
	}
	c.Order(t, "/driver", "ahead", fmt.Sprint((240 * time.Hour).Milliseconds()))
	from := time.Now()
	turn(t, st)
	checkAgo(t, "the safe point", safePointsOf(t, c).Driver, from, time.Hour)
}

// TestCollectOld: clients refuse a snapshot before the stores clear away what it reads, and a transaction that has
// read there writes nothing: the cluster knows no conflict with what is cleared away.
func TestCollectOld(t *testing.T) {
	if testing.Short() {
		t.Skip("the client looks for the safe point every ten seconds")
	}
	c, open := cluster(t)
	c.Order(t, "/driver", "ahead", fmt.Sprint((-2 * time.Hour).Milliseconds()))
	st, other := open(tikv.Unpaced(tikv.Options{GC: time.Hour})), open(tikv.Unpaced(tikv.Options{GC: time.Hour}))
	kvtest.Put(t, st, "a", "1", "b", "1")
	sn := kvtest.Begin(t, st)
	defer sn.Release()
	if got, _, err := sn.Get([]byte("a")); string(got) != "1" || err != nil {
		t.Fatal(string(got), err)
	}
	b := &kv.Batch{Writes: []kv.Write{{Key: []byte("a")}}}
	if _, err := other.Commit(ctx, b); err != nil {
		t.Fatal(err)
	}
	c.Order(t, "/driver", "ahead", "0")
	c.Order(t, "/scans", "hold", "1")
	done := make(chan error, 1)
	go func() { done <- other.Turn(ctx) }()
	waitFor(t, func() bool { _, _, err := sn.Get([]byte("b")); return errors.Is(err, kv.ErrTooOld) })
	if p := safePointsOf(t, c); p.Driver != 0 || p.Told == "" {
		t.Errorf("the stores were told before the clients: %+v", p)
	}
	c.Order(t, "/scans", "hold", "0")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	c.Order(t, "/collect")
	if v, err := st.Commit(ctx, batch(sn, keys("a"), "a", "2")); !errors.Is(err, kv.ErrTooOld) {
		t.Errorf("the update of a key that was removed: %d, %v", v, err)
	}
	if got := kvtest.All(t, st); got != "b=1" {
		t.Errorf("got %s", got)
	}
}

// TestCollectStop: a store that closes does not wait for the locks of the cluster, and what it leaves another one does.
func TestCollectStop(t *testing.T) {
	c, at := cluster(t)
	waiting := open(t, tikv.Paced(tikv.Options{PD: []string{c.PD}, GC: time.Hour}, time.Millisecond, time.Hour))
	waitFor(t, func() bool { return safePointsOf(t, c).Told != "" })
	if err := waiting.Close(); err != nil { // it does not wait until all clients know
		t.Error(err)
	}
	c.Order(t, "/scans", "hold", "1")
	st := open(t, tikv.Paced(tikv.Options{PD: []string{c.PD}, GC: time.Hour}, time.Millisecond, 0))
	waitFor(t, func() bool { n, _ := strconv.Atoi(c.Order(t, "/scans")); return n > 0 })
	closed := make(chan error, 1)
	go func() { closed <- st.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second): // the client gives up after a minute
		t.Error("it waits for the locks")
	}
	if p := safePointsOf(t, c); p.Driver != 0 {
		t.Errorf("the safe point has moved before the locks: %+v", p)
	}
	c.Order(t, "/scans", "hold", "0")
	next := at(tikv.Paced(tikv.Options{GC: time.Hour}, time.Millisecond, 0))
	waitFor(t, func() bool { return safePointsOf(t, c).Driver > 0 })
	kvtest.Put(t, next, "a", "1")
}

// logged is what a store has logged, a line each.
type logged struct {
	mu sync.Mutex // guards bytes.Buffer
	bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(p)
}

// count is how many lines have all of words.
func (l *logged) count(words ...string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.String()) {
		all := true
		for _, w := range words {
			all = all && strings.Contains(line, w)
		}
		if all {
			n++
		}
	}
	return n
}

// TestCollectFailure: what the placement driver refuses is tried again, one warning says so, and nothing moves.
func TestCollectFailure(t *testing.T) {
	c, open := cluster(t)
	said := &logged{}
	log := slog.New(slog.NewTextHandler(said, &slog.HandlerOptions{Level: slog.LevelDebug}))
	c.Order(t, "/driver", "services", "1000000")
	open(tikv.Paced(tikv.Options{GC: time.Hour, Log: log}, time.Millisecond, 0))
	waitFor(t, func() bool { return said.count("DEBUG", "not collected", "what services need") > 2 })
	if p := safePointsOf(t, c); p.Driver != 0 || p.Told != "" {
		t.Errorf("services were not asked: %+v", p)
	}
	c.Order(t, "/driver", "moves", "1000000")
	waitFor(t, func() bool { return said.count("DEBUG", "not collected", "move the safe point") > 2 })
	if p := safePointsOf(t, c); p.Driver != 0 || p.Told == "" {
		t.Errorf("the safe point was refused: %+v", p)
	}
	c.Order(t, "/driver")
	waitFor(t, func() bool { return safePointsOf(t, c).Driver > 0 && said.count("INFO", "collected", "again") > 0 })
	if n := said.count("WARN", "not collected"); n != 1 {
		t.Errorf("%d warnings", n)
	}
}

// TestHold: what a snapshot reads is kept until it is released, by all processes; one that is too old is refused.
func TestHold(t *testing.T) {
	c, open := cluster(t)
	c.Order(t, "/driver", "ahead", fmt.Sprint((-2 * time.Hour).Milliseconds()))
	st := open(tikv.Paced(tikv.Options{GC: -1}, 0, 0))
	other := open(tikv.Unpaced(tikv.Options{GC: time.Hour}))
	kvtest.Put(t, st, "a", "1")
	sn := kvtest.Begin(t, st)
	defer sn.Release()
	release, err := st.Hold(ctx, sn)
	if err != nil {
		t.Fatal(err)
	}
	for id, at := range safePointsOf(t, c).Services {
		if id == "gc_worker" {
			continue
		}
		if !strings.HasPrefix(id, "nacre-backup-") {
			t.Errorf("a service named %s", id)
		}
		service(t, c, id, at, "-1") // its time is over: it is renewed
		waitFor(t, func() bool { return safePointsOf(t, c).Services[id] == at })
	}
	c.Order(t, "/driver", "ahead", "0")
	kvtest.Put(t, st, "a", "2")
	turn(t, other)
	p := safePointsOf(t, c)
	if p.Driver != uint64(sn.Version()) || len(p.Services) != 2 {
		t.Errorf("held at %d: %+v", sn.Version(), p)
	}
	c.Order(t, "/collect")
	if got, _, err := sn.Get([]byte("a")); string(got) != "1" || err != nil {
		t.Errorf("what is held: %q, %v", got, err)
	}
	release()
	if p := safePointsOf(t, c); len(p.Services) != 1 {
		t.Errorf("released: %+v", p)
	}
	from := time.Now()
	turn(t, other)
	checkAgo(t, "the safe point", safePointsOf(t, c).Driver, from, time.Hour)
	if _, err := st.Hold(ctx, sn); !errors.Is(err, kv.ErrTooOld) {
		t.Errorf("too late: %v", err)
	}
	ended, end := context.WithCancel(ctx)
	end()
	if _, err := st.Hold(ended, kvtest.Begin(t, st)); !errors.Is(err, context.Canceled) {
		t.Errorf("of one who has left: %v", err)
	}
	if p := safePointsOf(t, c); len(p.Services) != 1 {
		t.Errorf("after those that were refused: %+v", p)
	}
}
