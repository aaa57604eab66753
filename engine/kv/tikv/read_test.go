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
		{"a scan", func() { kvtest.All(t, st) }, 4, 0, 0, 0}, // All makes four of them
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
	for range 2 { // the second time from the cluster
		for key, want := range map[string]string{"a": "1", "b": "2", "c": "", "gone": "-"} {
			v, there, err := sn.Get([]byte(key))
			if !there {
				v = []byte("-")
			}
			if err != nil || string(v) != want {
				t.Errorf("%s: %q, %v", key, v, err)
			}
		}
		if n := st.Trips().Reads.Load() - before; n != 1 && n != 5 {
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
