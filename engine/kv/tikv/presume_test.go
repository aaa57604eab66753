package tikv_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/kvtest"
	"github.com/nacredb/nacre/engine/kv/tikv"
	"github.com/nacredb/nacre/engine/kv/tikv/stub"
)

// TestPresume: a snapshot that goes by what is so answers without a request of its own; one that goes by what is not
// so fails from its first request on, and what was written by it is a conflict.
func TestPresume(t *testing.T) {
	st := open(t, tikv.Options{})
	defer st.Close()
	kvtest.Put(t, st, "a", "1", "c", "3", "n1", "")
	begin := func(pairs ...string) (kv.Snapshot, kv.Presuming) {
		var all []kv.Pair
		for i := 0; i < len(pairs); i += 2 {
			all = append(all, kv.Pair{Key: []byte(pairs[i])})
			if pairs[i+1] != "" {
				all[len(all)-1].Value = []byte(pairs[i+1])
			}
		}
		sn, err := st.Presume(ctx, all)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(sn.Release)
		return sn, sn.(kv.Presuming)
	}
	get := func(sn kv.Snapshot, k string) (string, error) {
		v, _, err := sn.Get([]byte(k))
		return string(v), err
	}
	scan := func(sn kv.Snapshot) error {
		c := sn.Scan(kv.Range{Start: []byte("a"), End: []byte("d")}, kv.ScanOptions{})
		defer c.Close()
		for c.Next() {
		}
		return c.Err()
	}
	for name, request := range map[string]func(kv.Snapshot, kv.Presuming) error{
		"get":     func(sn kv.Snapshot, _ kv.Presuming) error { _, err := get(sn, "c"); return err },
		"counter": func(sn kv.Snapshot, _ kv.Presuming) error { _, err := get(sn, "n2"); return err },
		"scan":    func(sn kv.Snapshot, _ kv.Presuming) error { return scan(sn) },
		"prefetch": func(_ kv.Snapshot, p kv.Presuming) error {
			_, err := p.Prefetch([][]byte{[]byte("c")})
			return err
		},
		"settle": func(_ kv.Snapshot, p kv.Presuming) error { return p.Settle() },
	} {
		sn, p := begin("a", "1", "b", "", "c", "wrong and not used")
		before := st.Trips().Reads.Load()
		a, err := get(sn, "a")
		b, err2 := get(sn, "b")
		if a != "1" || b != "" || err != nil || err2 != nil || st.Trips().Reads.Load() != before {
			t.Errorf("%s: before: %q %q %v %v", name, a, b, err, err2)
		}
		if name == "get" || name == "prefetch" || name == "scan" { // c is asked for itself
			sn, p = begin("a", "1", "b", "")
			_, _ = get(sn, "a")
		}
		if err := request(sn, p); err != nil {
			t.Errorf("%s: what is so: %v", name, err)
		}
		if v, err := get(sn, "c"); v != "3" || err != nil {
			t.Errorf("%s: afterwards: %q %v", name, v, err)
		}
		for _, wrong := range [][]string{{"a", "2"}, {"a", ""}, {"b", "1"}} {
			sn, p := begin(wrong...)
			if v, err := get(sn, wrong[0]); v != wrong[1] || err != nil {
				t.Errorf("%s: %q %v", name, v, err)
			}
			if err := request(sn, p); !errors.Is(err, kv.ErrMoved) || !errors.Is(err, kv.ErrConflict) {
				t.Errorf("%s: what is not so: %v", name, err)
			}
			_, errGet := get(sn, "c")
			_, errSet := st.Commit(ctx, batch(sn, kv.ReadSet{}, "x", "1"))
			for _, err := range []error{errGet, scan(sn), p.Settle(), errSet} {
				if !errors.Is(err, kv.ErrMoved) {
					t.Errorf("%s: afterwards: %v", name, err)
				}
			}
		}
	}
	// Without a request the commit tells.
	for _, tc := range []struct {
		pairs []string
		want  error
	}{{[]string{"a", "1"}, nil}, {[]string{"b", ""}, nil}, {[]string{"a", "0"}, kv.ErrConflict}, {[]string{"b", "0"},
		kv.ErrConflict}} {
		for _, key := range []string{"y", tc.pairs[0]} { // it may be what is written itself
			sn, _ := begin(tc.pairs...)
			if _, err := get(sn, tc.pairs[0]); err != nil {
				t.Error(err)
			}
			if _, err := st.Commit(ctx, batch(sn, kv.ReadSet{}, key, "1")); !errors.Is(err, tc.want) {
				t.Errorf("%v, %s is written: %v", tc.pairs, key, err)
			}
			kvtest.Put(t, st, "a", "1", "b", "-")
		}
	}
	sn, _ := begin("a", "1") // it was so, and is not when the batch commits
	if _, err := get(sn, "a"); err != nil {
		t.Error(err)
	}
	kvtest.Put(t, st, "a", "2")
	if _, err := st.Commit(ctx, batch(sn, kv.ReadSet{}, "y", "1")); !errors.Is(err, kv.ErrConflict) {
		t.Errorf("it has changed: %v", err)
	}
}

// early gives a snapshot that has a timestamp from before it began, and goes by a pair, which it has answered.
func early(t *testing.T, st *tikv.Store, key, value string) kv.Snapshot {
	t.Helper()
	for n := range 100 {
		sn, err := st.Presume(ctx, []kv.Pair{{Key: []byte(key), Value: []byte(value)}})
		if err != nil {
			t.Fatal(err)
		}
		if v, _, err := sn.Get([]byte(key)); string(v) != value || err != nil {
			t.Fatalf("presumed: %q %v", v, err)
		}
		if tikv.IsEarly(sn) {
			t.Cleanup(sn.Release)
			return sn
		}
		// A commit of one that has asked for nothing leaves a timestamp for the next.
		if _, err := st.Commit(ctx, batch(sn, kv.ReadSet{}, "spare", fmt.Sprint(n))); err != nil {
			t.Fatal(err)
		}
		sn.Release()
	}
	t.Fatal("no snapshot is early")
	return nil
}

// TestEarly: what a transaction reads that began with a timestamp of before is of now, and what it goes by is
// validated.
func TestEarly(t *testing.T) {
	st := open(t, tikv.Options{})
	defer st.Close()
	kvtest.Put(t, st, "a", "1", "c", "old")

	sn := early(t, st, "a", "1")
	at := kvtest.Put(t, st, "c", "new")
	if sn.(kv.Presuming).Base() >= at {
		t.Fatal("it is not early")
	}
	if v, _, err := sn.Get([]byte("c")); string(v) != "new" || err != nil {
		t.Errorf("read: %q %v", v, err)
	}
	if v := sn.Version(); v <= at || v != sn.(kv.Presuming).Base() {
		t.Errorf("version %d after a commit at %d", v, at)
	}
	kvtest.Put(t, st, "d", "later")
	if _, there, err := sn.Get([]byte("d")); there || err != nil {
		t.Errorf("what came after its first request: %v %v", there, err)
	}
	if _, err := st.Commit(ctx, batch(sn, kv.ReadSet{}, "x", "1")); err != nil {
		t.Errorf("commit after a read: %v", err)
	}

	sn = early(t, st, "a", "1")
	at = kvtest.Put(t, st, "c", "newer")
	if v := sn.Version(); v <= at {
		t.Errorf("version %d after a commit at %d", v, at)
	}
	if v, _, err := sn.Get([]byte("c")); string(v) != "newer" || err != nil {
		t.Errorf("read: %q %v", v, err)
	}

	sn = early(t, st, "a", "1")
	kvtest.Put(t, st, "x", "2")
	if _, err := st.Commit(ctx, batch(sn, kv.ReadSet{}, "x", "3")); err != nil {
		t.Errorf("a key that was written meanwhile, and never read: %v", err)
	}

	for _, key := range []string{"y", "a"} { // what is presumed may be what is written
		sn = early(t, st, "a", "1")
		kvtest.Put(t, st, "a", "2")
		if _, err := st.Commit(ctx, batch(sn, keys("a"), key, "1")); !errors.Is(err, kv.ErrConflict) {
			t.Errorf("what is presumed has changed, %s is written: %v", key, err)
		}
		kvtest.Put(t, st, "a", "1")
	}
	if n := st.Stats().Snapshots; n != 5 { // those of early
		t.Errorf("%d snapshots are open", n)
	}
}

// TestEarlyMany: no two transactions have one timestamp.
func TestEarlyMany(t *testing.T) {
	st := open(t, tikv.Options{})
	defer st.Close()
	kvtest.Put(t, st, "a", "1")
	var wg sync.WaitGroup
	var mu sync.Mutex
	bases := map[kv.Version]bool{}
	const clients, each = 16, 25
	for i := range clients {
		wg.Go(func() {
			for j := range each {
				sn, err := st.Presume(ctx, []kv.Pair{{Key: []byte("a"), Value: []byte("1")}})
				if err != nil {
					t.Error(err)
					return
				}
				if _, _, err = sn.Get([]byte("a")); err == nil {
					b := batch(sn, keys("a"), fmt.Sprintf("x%d-%d", i, j), "1")
					b.Deltas = []kv.Delta{{Key: []byte("n"), Add: 1}}
					_, err = st.Commit(ctx, b)
				}
				mu.Lock()
				if bases[sn.(kv.Presuming).Base()] {
					t.Error("a timestamp was given twice")
				}
				bases[sn.(kv.Presuming).Base()] = true
				mu.Unlock()
				sn.Release()
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	sn := kvtest.Begin(t, st)
	defer sn.Release()
	v, _, err := sn.Get([]byte("n"))
	if n, ok := kv.Counter(v); n != clients*each || !ok || err != nil {
		t.Errorf("%d were added, want %d: %v", n, clients*each, err)
	}
}

// TestEarlyGivenBack: a transaction that reads leaves the timestamp of before to the next one, unless it has written
// with it.
func TestEarlyGivenBack(t *testing.T) {
	st := open(t, tikv.Options{})
	defer st.Close()
	kvtest.Put(t, st, "a", "1")
	given := map[bool]int{}
	for range 20 { // on a slow machine a timestamp may be too old by then to be given
		for _, commits := range []bool{false, true} {
			sn := early(t, st, "a", "1")
			base := sn.(kv.Presuming).Base()
			if commits {
				if _, err := st.Commit(ctx, batch(sn, keys("a"), "x", "1")); err != nil {
					t.Fatal(err)
				}
			}
			if _, _, err := sn.Get([]byte("b")); err != nil {
				t.Fatal(err)
			}
			for range 4 {
				next, err := st.Presume(ctx, []kv.Pair{{Key: []byte("a"), Value: []byte("1")}})
				if err != nil {
					t.Fatal(err)
				}
				if next.(kv.Presuming).Base() == base {
					given[commits]++
				}
				next.Release()
			}
		}
	}
	if given[false] == 0 || given[true] > 0 {
		t.Errorf("given again after reads %d times, after commits %d times", given[false], given[true])
	}
}

// TestEarlyTold: what a transaction tells that began with a timestamp of before comes after what it goes by.
func TestEarlyTold(t *testing.T) {
	c, prefix := stub.Shared(t)
	opt := tikv.Options{PD: []string{c.PD}, Prefix: prefix}
	st, other := open(t, opt), open(t, opt)
	defer st.Close()
	defer other.Close()
	kvtest.Put(t, st, "b", "1")
	l := listen(t, st)
	sn := early(t, st, "b", "1")
	if _, err := other.Commit(ctx, &kv.Batch{Writes: kvtest.Writes("a", "2"), Told: []byte("first")}); err != nil {
		t.Fatal(err)
	}
	b := batch(sn, keys("b"), "c", "1")
	b.Told = []byte("second")
	if _, err := st.Commit(ctx, b); err != nil {
		t.Fatal(err)
	}
	var heard []string
	var ids []uint64
	if err := l.Hear(ctx, newest(t, st), func(id uint64, told []byte) error {
		heard, ids = append(heard, string(told)), append(ids, id)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(heard) != "[first second]" || ids[0] >= ids[1] {
		t.Errorf("heard %v with %v", heard, ids)
	}
}
