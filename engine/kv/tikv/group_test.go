package tikv_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/kvtest"
	"github.com/nacredb/nacre/engine/kv/tikv"
	"github.com/nacredb/nacre/engine/kv/tikv/stub"
)

// reading gives a batch of a snapshot of its own, which has read keys.
func reading(t *testing.T, st *tikv.Store, reads string, pairs ...string) *kv.Batch {
	t.Helper()
	sn := kvtest.Begin(t, st)
	t.Cleanup(sn.Release)
	if reads == "" {
		return batch(sn, kv.ReadSet{}, pairs...)
	}
	if _, _, err := sn.Get([]byte(reads)); err != nil {
		t.Fatal(err)
	}
	return batch(sn, keys(reads), pairs...)
}

// crowd commits batches while the transactions before them are held up, so that they have to wait for a place. before
// is called when all of them are under way and before the hold ends.
func crowd(t *testing.T, c *stub.Cluster, st *tikv.Store, before func(), of ...*kv.Batch) []error {
	t.Helper()
	all := make([]error, len(of))
	var wg sync.WaitGroup
	commits := st.Trips().Commits.Load()
	first := []*kv.Batch{reading(t, st, "", "first", "1"), reading(t, st, "", "second", "1")}
	c.Order(t, "/hold")
	for _, b := range first {
		wg.Go(func() {
			if _, err := st.Commit(ctx, b); err != nil && !errors.Is(err, kv.ErrUndetermined) { // held for too long
				t.Error(err)
			}
		})
	}
	waitFor(t, func() bool { return st.Trips().Commits.Load() == commits+uint64(len(first)) })
	for i, b := range of {
		wg.Go(func() { _, all[i] = st.Commit(ctx, b) })
	}
	waitFor(t, func() bool { return st.Trips().Commits.Load() > commits+uint64(len(first)) })
	if before != nil {
		before()
	}
	c.Order(t, "/go")
	wg.Wait()
	return all
}

// TestGroup: batches that come while others are under way go together, and each of them does all that it should.
func TestGroup(t *testing.T) {
	c, open := cluster(t)
	st := open(tikv.Options{})
	kvtest.Put(t, st, "x", "0")
	var of []*kv.Batch
	for i := range 12 {
		b := reading(t, st, "x", fmt.Sprintf("k%02d", i), "1")
		b.Deltas = []kv.Delta{{Key: []byte("n1"), Add: 1}, {Key: []byte("n2"), Add: int64(i)}}
		of = append(of, b)
	}
	before := st.Stats()
	for i, err := range crowd(t, c, st, nil, of...) {
		if err != nil {
			t.Errorf("batch %d: %v", i, err)
		}
	}
	after := st.Stats()
	if n, groups := after.Commits-before.Commits, after.Groups-before.Groups; n != 14 || groups >= n {
		t.Errorf("%d batches went in %d transactions", n, groups)
	}
	sn := kvtest.Begin(t, st)
	defer sn.Release()
	for k, want := range map[string]int64{"n1": 12, "n2": 66} {
		v, _, err := sn.Get([]byte(k))
		if n, ok := kv.Counter(v); n != want || !ok || err != nil {
			t.Errorf("%s is %d, want %d: %v", k, n, want, err)
		}
	}
	for i := range 12 {
		if v, _, err := sn.Get(fmt.Appendf(nil, "k%02d", i)); string(v) != "1" {
			t.Errorf("batch %d has left %q: %v", i, v, err)
		}
	}
}

// TestGroupSkew: batches do not go together where one writes, or adds to, what the other one has read: the group would
// look through the lock.
func TestGroupSkew(t *testing.T) {
	c, open := cluster(t)
	st := open(tikv.Options{})
	const pairs = 12
	var of []*kv.Batch
	for i := range pairs {
		kvtest.Put(t, st, fmt.Sprintf("x%d", i), "0", fmt.Sprintf("y%d", i), "0")
	}
	for i := range pairs {
		x, y := fmt.Sprintf("x%d", i), fmt.Sprintf("y%d", i)
		of = append(of, reading(t, st, x, y, "1"), reading(t, st, y, x, "1"))
	}
	errs := crowd(t, c, st, nil, of...)
	for i := range pairs {
		lost := 0
		for _, err := range errs[2*i : 2*i+2] {
			if errors.Is(err, kv.ErrConflict) {
				lost++
			} else if err != nil {
				t.Error(err)
			}
		}
		if lost == 0 {
			t.Errorf("write skew over x%d and y%d", i, i)
		}
	}
}

// TestGroupStale: a batch that has read what is not so any more fails by itself. Where two have read different values,
// one of them has.
func TestGroupStale(t *testing.T) {
	c, open := cluster(t)
	st, other := open(tikv.Options{}), open(tikv.Options{})
	kvtest.Put(t, st, "x", "0")
	of := []*kv.Batch{reading(t, st, "x", "a", "1")}
	kvtest.Put(t, other, "x", "1")
	for _, k := range []string{"b", "c", "d"} {
		of = append(of, reading(t, st, "x", k, "1"))
	}
	errs := crowd(t, c, st, nil, of...)
	if !errors.Is(errs[0], kv.ErrConflict) {
		t.Errorf("the stale one: %v", errs[0])
	}
	if err := errors.Join(errs[1:]...); err != nil {
		t.Error(err)
	}
	if got := kvtest.All(t, other); got != "b=1 c=1 d=1 first=1 second=1 x=1" {
		t.Error(got)
	}
}

// TestGroupCancel: a batch that is given up while it waits is not written, and the others are.
func TestGroupCancel(t *testing.T) {
	c, open := cluster(t)
	st := open(tikv.Options{})
	kvtest.Put(t, st, "x", "0")
	given, cancel := context.WithCancel(ctx)
	var left error
	var wg sync.WaitGroup
	b := reading(t, st, "x", "given", "1")
	err := errors.Join(crowd(t, c, st, func() {
		wg.Go(func() { _, left = st.Commit(given, b) })
		time.AfterFunc(5*time.Millisecond, cancel)
		<-given.Done()
	}, reading(t, st, "x", "a", "1"), reading(t, st, "x", "b", "1"))...)
	wg.Wait()
	if err != nil {
		t.Error(err)
	}
	want := "a=1 b=1 first=1 second=1 x=0"
	if left == nil {
		want = "a=1 b=1 first=1 given=1 second=1 x=0" // it had left already
	} else if !errors.Is(left, context.Canceled) {
		t.Error(left)
	}
	if got := kvtest.All(t, st); got != want {
		t.Errorf("%s after %v", got, left)
	}
}

// TestGroupUndetermined: where the outcome of a group is not known, it is not known of any batch in it.
func TestGroupUndetermined(t *testing.T) {
	c, open := cluster(t)
	st, other := open(tikv.Options{Timeout: 3 * time.Second}), open(tikv.Options{})
	kvtest.Put(t, st, "x", "0")
	var of []*kv.Batch
	for i := range 8 {
		of = append(of, reading(t, st, "x", fmt.Sprintf("k%d", i), "1"))
	}
	errs := crowd(t, c, st, func() { c.Order(t, "/commits", "lose", "1000000") }, of...)
	c.Order(t, "/commits", "lose", "0")
	unknown := 0
	for i, err := range errs {
		if errors.Is(err, kv.ErrUndetermined) {
			unknown++
		} else if err != nil {
			t.Errorf("batch %d: %v", i, err)
		}
	}
	if unknown < 2 {
		t.Errorf("%d outcomes are not known", unknown)
	}
	if got := kvtest.All(t, other); got != "first=1 k0=1 k1=1 k2=1 k3=1 k4=1 k5=1 k6=1 k7=1 second=1 x=0" {
		t.Error(got)
	}
}
