package tikv_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tikv/client-go/v2/oracle"
	"github.com/tikv/client-go/v2/txnkv"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/kvtest"
	"github.com/nacredb/nacre/engine/kv/tikv"
)

// TestTrips holds the number of requests to stores.
func TestTrips(t *testing.T) {
	st := open(t, tikv.Options{})
	defer st.Close()
	kvtest.Put(t, st, "a", "1", "b", "1", "c", "1")
	for _, tc := range []struct {
		name                             string
		do                               func()
		reads, prewrites, valid, commits uint64
	}{
		{"a point read", func() {
			sn := kvtest.Begin(t, st)
			defer sn.Release()
			_, _, _ = sn.Get([]byte("a"))
		}, 1, 0, 0, 0},
		{"a scan", func() { kvtest.All(t, st) }, 6, 0, 0, 0}, // All makes six of them
		{"an update of what was read", func() {
			sn := kvtest.Begin(t, st)
			defer sn.Release()
			_, _, _ = sn.Get([]byte("a"))
			if _, err := st.Commit(ctx, batch(sn, keys("a"), "a", "2")); err != nil {
				t.Error(err)
			}
		}, 1, 1, 0, 1},
		{"a write after reads of others", func() {
			sn := kvtest.Begin(t, st)
			defer sn.Release()
			_, _, _ = sn.Get([]byte("b"))
			_, _, _ = sn.Get([]byte("c"))
			if _, err := st.Commit(ctx, batch(sn, keys("b", "c"), "a", "3")); err != nil {
				t.Error(err)
			}
		}, 2, 1, 1, 1},
	} {
		n := st.Trips()
		r, p, v, c := n.Reads.Load(), n.Prewrites.Load(), n.Validations.Load(), n.Commits.Load()
		tc.do()
		r, p, v, c = n.Reads.Load()-r, n.Prewrites.Load()-p, n.Validations.Load()-v, n.Commits.Load()-c
		if r != tc.reads || p != tc.prewrites || v != tc.valid || c != tc.commits {
			t.Errorf("%s: %d reads, %d prewrites, %d validations, %d commits", tc.name, r, p, v, c)
		}
	}
}

// TestPrefetch: what was read ahead is what Get gives, is read with one request, and counts as read.
func TestPrefetch(t *testing.T) {
	st := open(t, tikv.Options{})
	defer st.Close()
	kvtest.Put(t, st, "a", "1", "b", "2", "c", "")
	if _, err := st.Commit(ctx, &kv.Batch{Deltas: []kv.Delta{{Key: []byte("n"), Add: 3}}}); err != nil {
		t.Fatal(err)
	}
	sn := kvtest.Begin(t, st)
	defer sn.Release()
	kvtest.Put(t, st, "b", "later")
	before := st.Trips().Reads.Load()
	some := [][]byte{[]byte("a"), []byte("b"), []byte("c"), []byte("gone"), []byte("n"), nil}
	next, err := sn.(kv.Prefetcher).Prefetch(some)
	if err != nil || next < 1 {
		t.Fatal(next, err)
	}
	for range 2 { // the second time from what was given before
		for key, want := range map[string]string{"a": "1", "b": "2", "c": "", "gone": "-"} {
			v, there, err := sn.Get([]byte(key))
			if !there {
				v = []byte("-")
			}
			if err != nil || string(v) != want {
				t.Errorf("%s: %q, %v", key, v, err)
			}
		}
		if n := st.Trips().Reads.Load() - before; n != 1 {
			t.Errorf("%d requests", n)
		}
	}
	if v, _, err := sn.Get([]byte("n")); err != nil || !bytes.Equal(v, kv.AppendCounter(nil, 3)) {
		t.Errorf("a counter: %x, %v", v, err)
	}
	if _, err := st.Commit(ctx, batch(sn, keys("b"), "x", "1")); !errors.Is(err, kv.ErrConflict) {
		t.Errorf("a commit after a change of what was read ahead: %v", err)
	}
	if next, err = sn.(kv.Prefetcher).Prefetch(nil); err != nil || next < 1 {
		t.Error(next, err)
	}
}

// TestPrefetchGiven: what Get has given is kept for a while, and asked for anew when it was a lot.
func TestPrefetchGiven(t *testing.T) {
	st := open(t, tikv.Options{})
	defer st.Close()
	var all [][]byte
	large := strings.Repeat("x", 10<<10)
	for i := range 10 {
		all = append(all, fmt.Appendf(nil, "k%d", i))
		kvtest.Put(t, st, string(all[i]), large+fmt.Sprint(i))
	}
	sn := kvtest.Begin(t, st)
	defer sn.Release()
	reads := func(want uint64, keys ...[]byte) {
		t.Helper()
		before := st.Trips().Reads.Load()
		for _, k := range keys {
			if v, ok, err := sn.Get(k); !ok || err != nil || string(v) != large+string(k[1:]) {
				t.Errorf("%s: %d bytes, %v", k, len(v), err)
			}
		}
		if n := st.Trips().Reads.Load() - before; n != want {
			t.Errorf("%d requests, not %d", n, want)
		}
	}
	ahead := func(want uint64, keys ...[]byte) {
		t.Helper()
		before := st.Trips().Reads.Load()
		if _, err := sn.(kv.Prefetcher).Prefetch(keys); err != nil {
			t.Fatal(err)
		}
		if n := st.Trips().Reads.Load() - before; n != want {
			t.Errorf("%d requests ahead, not %d", n, want)
		}
	}
	ahead(1, all[:3]...)
	reads(0, all[:3]...)
	reads(0, all[:3]...)
	ahead(0, all[:3]...) // they are at hand
	ahead(1, all...)
	reads(0, all...)
	reads(0, all[9])
	reads(1, all[0]) // it was given before too much else
}

// TestPrefetchRanges: scans that were begun together give what any scan gives, and what was begun takes no request
// more: neither what of it is not asked for, nor a range that is empty.
func TestPrefetchRanges(t *testing.T) {
	st := open(t, tikv.Options{})
	defer st.Close()
	for i := range 40 {
		kvtest.Put(t, st, fmt.Sprintf("a%02d", i), fmt.Sprint(i))
	}
	kvtest.Put(t, st, "b1", "x", "b2", "y", "c1", "z")
	if _, err := st.Commit(ctx, &kv.Batch{Deltas: []kv.Delta{{Key: []byte("n1"), Add: 3}}}); err != nil {
		t.Fatal(err)
	}
	sn := kvtest.Begin(t, st)
	defer sn.Release()
	kvtest.Put(t, st, "b1", "later", "b3", "later", "empty", "later")
	ranges := []kv.Range{kv.Prefix([]byte("a")), kv.Prefix([]byte("b")), kv.Prefix([]byte("empty")),
		kv.Prefix([]byte("n")), kv.Prefix([]byte("c"))}
	before := *tripsAt(st)
	first, next, err := sn.(kv.Prefetcher).PrefetchRanges(ranges)
	if err != nil || next < len(ranges) {
		t.Fatal(next, err)
	}
	if n := tripsAt(st); n.reads-before.reads != 5 || n.together-before.together != 4 {
		t.Errorf("from %+v to %+v", before, *n)
	}
	for i, want := range []int{32, 2, 0, 0, 1} { // a counter does not show
		if len(first[i]) != want {
			t.Errorf("range %d: %d pairs at hand", i, len(first[i]))
		}
	}
	if _, again, err := sn.(kv.Prefetcher).PrefetchRanges(ranges[:2]); again < next || err != nil { // they are at hand
		t.Errorf("%d ranges at a time, not %d; %v", again, next, err)
	}
	if p := first[1][1]; string(p.Key) != "b2" || string(p.Value) != "y" {
		t.Errorf("at hand: %q %q", p.Key, p.Value)
	}
	before = *tripsAt(st)
	for _, tc := range []struct {
		r     kv.Range
		opt   kv.ScanOptions
		want  string
		reads uint64
	}{
		{ranges[1], kv.ScanOptions{Reverse: true}, "b2=y b1=x ", 1},
		{kv.Range{Start: []byte("b"), End: []byte("b2")}, kv.ScanOptions{}, "b1=x ", 1}, // another range
		{ranges[1], kv.ScanOptions{}, "b1=x b2=y ", 0},
		{ranges[1], kv.ScanOptions{}, "b1=x b2=y ", 0}, // it was begun twice
		{ranges[1], kv.ScanOptions{}, "b1=x b2=y ", 1},
		{ranges[2], kv.ScanOptions{}, "", 0},
		{ranges[3], kv.ScanOptions{}, "n1=" + string(kv.AppendCounter(nil, 3)) + " ", 0},
		{ranges[4], kv.ScanOptions{KeysOnly: true, Limit: 1}, "c1= ", 0},
	} {
		from := tripsAt(st).reads
		got := ""
		c := sn.Scan(tc.r, tc.opt)
		for c.Next() {
			got += fmt.Sprintf("%s=%s ", c.Key(), c.Value())
		}
		if c.Err() != nil || got != tc.want {
			t.Errorf("%s %+v: %q, %v", tc.r.Start, tc.opt, got, c.Err())
		}
		if n := tripsAt(st).reads - from; n != tc.reads {
			t.Errorf("%s %+v: %d requests", tc.r.Start, tc.opt, n)
		}
		c.Close()
	}
	c := sn.Scan(ranges[0], kv.ScanOptions{})
	defer c.Close()
	n := 0
	for ; c.Next(); n++ {
		if want := fmt.Sprintf("a%02d", n); string(c.Key()) != want || string(c.Value()) != fmt.Sprint(n) {
			t.Errorf("%s, not %s", c.Key(), want)
		}
	}
	if n != 40 || c.Err() != nil {
		t.Errorf("%d keys, %v", n, c.Err())
	}
	// What was begun and not scanned does not count as read: only the ranges of the batch do.
	if _, _, err := sn.(kv.Prefetcher).PrefetchRanges(ranges); err != nil {
		t.Fatal(err)
	}
	w := batch(sn, keys(), "w", "1")
	w.Reads.Ranges = []kv.Range{ranges[4]}
	if _, err := st.Commit(ctx, w); err != nil {
		t.Errorf("a commit after a change of what was only begun: %v", err)
	}
	w = batch(sn, keys(), "w2", "1")
	w.Reads.Ranges = []kv.Range{ranges[2]}
	if _, err := st.Commit(ctx, w); !errors.Is(err, kv.ErrConflict) {
		t.Errorf("a commit after a change of what was read: %v", err)
	}
}

// tripsSeen are the counters of reads.
type tripsSeen struct{ reads, together uint64 }

func tripsAt(st *tikv.Store) *tripsSeen {
	return &tripsSeen{st.Trips().Reads.Load(), st.Trips().Together()}
}

// TestPrefetchFar: what is far too large to be held many times over is asked for in smaller parts.
func TestPrefetchFar(t *testing.T) {
	st := open(t, tikv.Options{})
	defer st.Close()
	large := strings.Repeat("x", 3<<20)
	kvtest.Put(t, st, "a", large, "b", large)
	sn := kvtest.Begin(t, st)
	defer sn.Release()
	if next, err := sn.(kv.Prefetcher).Prefetch([][]byte{[]byte("a"), []byte("b")}); err != nil || next != 1 {
		t.Error(next, err)
	}
}

// TestPeek: a cursor shows what has come in, in its own order, and stays where it is.
func TestPeek(t *testing.T) {
	st := open(t, tikv.Options{})
	defer st.Close()
	kvtest.Put(t, st, "a", "1", "b", "2", "c", "3")
	sn := kvtest.Begin(t, st)
	defer sn.Release()
	for _, tc := range []struct {
		opt  kv.ScanOptions
		n    int
		want string
	}{{kv.ScanOptions{}, 9, "b=2 c=3 "}, {kv.ScanOptions{}, 1, "b=2 "}, {kv.ScanOptions{}, 0, ""},
		{kv.ScanOptions{}, -1, ""}, {kv.ScanOptions{Reverse: true}, 9, "b=2 a=1 "},
		{kv.ScanOptions{Limit: 2}, 9, "b=2 "}, {kv.ScanOptions{KeysOnly: true}, 9, "b= c= "}} {
		c := sn.Scan(kv.Range{}, tc.opt)
		if len(c.(kv.Peeker).Peek(3)) > 0 || !c.Next() {
			t.Fatal(c.Err())
		}
		got := ""
		for _, p := range c.(kv.Peeker).Peek(tc.n) {
			got += fmt.Sprintf("%s=%s ", p.Key, p.Value)
		}
		if got != tc.want {
			t.Errorf("%+v: got %q", tc, got)
		}
		if !c.Next() || string(c.Key()) != "b" {
			t.Errorf("%+v: it has moved to %q", tc, c.Key())
		}
		c.Close()
	}
}

// TestTooOld: a snapshot that the cluster does not keep any more answers nothing, and says why.
func TestTooOld(t *testing.T) {
	if testing.Short() {
		t.Skip("the client looks for the safe point every ten seconds")
	}
	c, open := cluster(t)
	st := open(tikv.Options{})
	kvtest.Put(t, st, "a", "1")
	sn := kvtest.Begin(t, st)
	defer sn.Release()
	c.Order(t, "/safepoint", "ts", fmt.Sprint(oracle.GoTimeToTS(time.Now().Add(time.Hour))))
	waitFor(t, func() bool { _, _, err := sn.Get([]byte("a")); return errors.Is(err, kv.ErrTooOld) })
	cur := sn.Scan(kv.Range{Start: []byte("b")}, kv.ScanOptions{})
	if cur.Next() || !errors.Is(cur.Err(), kv.ErrTooOld) {
		t.Errorf("a scan that finds nothing: %v", cur.Err())
	}
}

// TestChecksum: what somebody else wrote is an error with the key, never a value.
func TestChecksum(t *testing.T) {
	c, open := cluster(t)
	st := open(tikv.Options{})
	kvtest.Put(t, st, "a", "1", "b", "1")
	raw, err := txnkv.NewClient([]string{c.PD})
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	tx, err := raw.Begin()
	if err != nil {
		t.Fatal(err)
	}
	key := []byte("nacre/\x00a\x00\x01")
	v, err := tx.Get(ctx, key)
	if err != nil {
		t.Fatal(err)
	}
	v[0] ^= 1
	if err := errors.Join(tx.Set(key, v), tx.Commit(ctx)); err != nil {
		t.Fatal(err)
	}
	sn := kvtest.Begin(t, st)
	defer sn.Release()
	_, _, err = sn.Get([]byte("a"))
	if !errors.Is(err, kv.ErrCorrupt) || !strings.Contains(err.Error(), hex.EncodeToString(key)) {
		t.Errorf("get: %v", err)
	}
	cur := sn.Scan(kv.Range{}, kv.ScanOptions{})
	if cur.Next() || !errors.Is(cur.Err(), kv.ErrCorrupt) {
		t.Errorf("scan: %v", cur.Err())
	}
}
