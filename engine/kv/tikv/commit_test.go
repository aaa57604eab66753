package tikv_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/kvtest"
	"github.com/nacredb/nacre/engine/kv/tikv"
)

// TestSnapshotIsolation: without serializability a phantom goes through, and a key that has changed does not.
func TestSnapshotIsolation(t *testing.T) {
	st := open(t, tikv.Options{Isolation: kv.SnapshotIsolation})
	defer st.Close()
	kvtest.Put(t, st, "a", "1")
	sn := kvtest.Begin(t, st)
	defer sn.Release()
	kvtest.Put(t, st, "b", "phantom")
	all := kv.ReadSet{Ranges: []kv.Range{{Start: []byte("a")}}}
	if _, err := st.Commit(ctx, batch(sn, all, "x", "1")); err != nil {
		t.Errorf("a phantom: %v", err)
	}
	if _, err := st.Commit(ctx, batch(sn, keys("a", "b"), "y", "1")); !errors.Is(err, kv.ErrConflict) {
		t.Errorf("a key: %v", err)
	}
}

// TestOwnWritesInReads: a batch that writes within what it has read does not get into its own way.
func TestOwnWritesInReads(t *testing.T) {
	st := open(t, tikv.Options{})
	defer st.Close()
	kvtest.Put(t, st, "a", "1", "b", "1", "c", "1")
	for _, rewind := range []bool{false, true} {
		sn := kvtest.Begin(t, st)
		if rewind { // b is written blindly, and has changed: a second attempt validates all at another timestamp
			kvtest.Put(t, st, "d", "2")
		}
		reads := kv.ReadSet{Keys: keys("a", "c").Keys, Ranges: []kv.Range{{Start: []byte("a"), End: []byte("d")}}}
		_, err := st.Commit(ctx, batch(sn, reads, "a", "2", "b", "-", "bb", "2", "d", "2"))
		sn.Release()
		if err != nil {
			t.Errorf("rewind %v: %v", rewind, err)
		}
	}
	if got := kvtest.All(t, st); got != "a=2 bb=2 c=1 d=2" {
		t.Error(got)
	}
}

// TestReadOnlyAnomaly: a commit that readers push to a later timestamp is validated at that one. Otherwise somebody
// could see the change of c without that of a, although a comes before c (Fekete, O'Neil, O'Neil: A read-only
// transaction anomaly under snapshot isolation, SIGMOD Record 2004).
func TestReadOnlyAnomaly(t *testing.T) {
	c, open := cluster(t)
	a, b := open(tikv.Options{}), open(tikv.Options{})
	kvtest.Put(t, a, "x", "0", "y", "0")
	sn := kvtest.Begin(t, a)
	defer sn.Release()
	c.Order(t, "/hold")
	done := make(chan error, 1)
	go func() { _, err := a.Commit(ctx, batch(sn, keys("x"), "y", "1")); done <- err }()
	waitFor(t, func() bool { return a.Trips().Commits.Load() == 2 }) // the first was Put's
	if got := kvtest.All(t, b); got != "x=0 y=0" {
		t.Errorf("a reader meanwhile: %s", got)
	}
	wrote := make(chan error, 1)
	go func() { _, err := b.Commit(ctx, &kv.Batch{Writes: kvtest.Writes("x", "1")}); wrote <- err }()
	waitFor(t, func() bool { return b.Trips().Commits.Load() == 1 })
	c.Order(t, "/go")
	if err := <-wrote; err != nil {
		t.Error(err)
	}
	err := <-done
	after := kvtest.All(t, b)
	if err == nil && after != "x=1 y=1" || err != nil && (!errors.Is(err, kv.ErrConflict) || after != "x=1 y=0") {
		t.Errorf("%v, and then %s", err, after)
	}
}

// TestPushed: a commit whose timestamp a reader has pushed goes through at a later one when nothing else has changed.
func TestPushed(t *testing.T) {
	c, open := cluster(t)
	a, b := open(tikv.Options{}), open(tikv.Options{})
	kvtest.Put(t, a, "x", "0", "y", "0")
	sn := kvtest.Begin(t, a)
	defer sn.Release()
	c.Order(t, "/hold")
	done := make(chan error, 1)
	go func() {
		reads := keys("x")
		reads.Ranges = []kv.Range{{Start: []byte("x"), End: []byte("z")}}
		v, err := a.Commit(ctx, batch(sn, reads, "y", "1"))
		if at := a.Stats().Version; err == nil && at != v {
			err = fmt.Errorf("committed at %d, told of %d", at, v)
		}
		done <- err
	}()
	waitFor(t, func() bool { return a.Trips().Commits.Load() == 2 })
	if got := kvtest.All(t, b); got != "x=0 y=0" {
		t.Errorf("meanwhile: %s", got)
	}
	c.Order(t, "/go")
	if err := <-done; err != nil {
		t.Error(err)
	}
	if got := kvtest.All(t, b); got != "x=0 y=1" || a.Trips().Commits.Load() != 3 {
		t.Errorf("%s after %d commits", got, a.Trips().Commits.Load())
	}
}

// TestUndetermined: an unknown outcome is an error of its own. An answer that was lost once is asked for
// again.
func TestUndetermined(t *testing.T) {
	c, open := cluster(t)
	st, other := open(tikv.Options{Timeout: time.Second}), open(tikv.Options{})
	c.Order(t, "/commits", "lose", "1")
	kvtest.Put(t, st, "a", "1")
	c.Order(t, "/commits", "refuse", "1")
	kvtest.Put(t, st, "a", "2")
	for i, how := range []string{"lose", "refuse"} {
		c.Order(t, "/commits", how, "1000000")
		value := strconv.Itoa(10 + i)
		_, err := st.Commit(ctx, &kv.Batch{Writes: kvtest.Writes("a", value),
			Applied: func(kv.Version) { t.Errorf("%s: a commit with an unknown outcome is reported as applied", how) }})
		if !errors.Is(err, kv.ErrUndetermined) {
			t.Errorf("%s: %v", how, err)
		}
		got := kvtest.All(t, other)      // by then it is known, to those who look
		c.Order(t, "/commits", how, "0") // not before that: a request under way would still arrive
		switch {
		case how == "lose" && got != "a="+value:
			t.Errorf("a commit that was executed: %s", got)
		case how == "refuse" && got == "a="+value:
			t.Errorf("a commit that never arrived: %s", got)
		}
	}
}

// TestCancel: a commit that is given up before its last step leaves nothing, and one after it is not given up.
func TestCancel(t *testing.T) {
	c, open := cluster(t)
	st := open(tikv.Options{})
	given, cancel := context.WithCancel(ctx)
	c.Order(t, "/hold")
	done := make(chan error, 1)
	go func() { _, err := st.Commit(given, &kv.Batch{Writes: kvtest.Writes("a", "1")}); done <- err }()
	waitFor(t, func() bool { return st.Trips().Commits.Load() == 1 })
	cancel()
	c.Order(t, "/go")
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := st.Commit(given, &kv.Batch{Writes: kvtest.Writes("a", "2")}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got := kvtest.All(t, st); got != "a=1" {
		t.Error(got)
	}
}

// TestLeftBehind: locks of a killed process delay others no longer than they live.
func TestLeftBehind(t *testing.T) {
	c, open := cluster(t)
	dead, st := open(tikv.Options{}), open(tikv.Options{})
	kvtest.Put(t, st, "a", "1", "b", "1")
	sn := kvtest.Begin(t, dead)
	defer sn.Release()
	c.Order(t, "/hold")
	done := make(chan error, 1)
	go func() { _, err := dead.Commit(ctx, batch(sn, keys("a"), "a", "2", "b", "2")); done <- err }()
	waitFor(t, func() bool { return dead.Trips().Commits.Load() == 1 })
	if got := kvtest.All(t, st); got != "a=1 b=1" {
		t.Errorf("a reader: %s", got)
	}
	wrote := make(chan error, 1)
	go func() { _, err := st.Commit(ctx, &kv.Batch{Writes: kvtest.Writes("b", "3")}); wrote <- err }()
	waitFor(t, func() bool { return st.Trips().Commits.Load() == 2 }) // it has waited for the end of the lock
	c.Order(t, "/go")
	if err := <-wrote; err != nil {
		t.Error(err)
	}
	if err := <-done; !errors.Is(err, kv.ErrConflict) {
		t.Errorf("the one that was taken for dead: %v", err)
	}
	if got := kvtest.All(t, st); got != "a=1 b=3" {
		t.Error(got)
	}
}

// TestUrgent: what says that a process is there does not wait for the turn of others.
func TestUrgent(t *testing.T) {
	st := open(t, tikv.Options{})
	defer st.Close()
	turn, err := st.Exclusive(ctx)
	if err != nil {
		t.Fatal(err)
	}
	sn, err := st.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Release()
	urgent := batch(sn, kv.ReadSet{}, "a", "1")
	urgent.Urgent = true
	if _, err := st.Commit(ctx, urgent); err != nil {
		t.Error(err)
	}
	soon, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := st.Commit(soon, batch(sn, kv.ReadSet{}, "b", "1")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("another one passes the turn: %v", err)
	}
	turn.Release()
	if got := kvtest.All(t, st); got != "a=1" {
		t.Error(got)
	}
}

// TestTooLarge: what no cluster takes is refused with that word, and the store goes on.
func TestTooLarge(t *testing.T) {
	_, on := cluster(t) // the mock store is slow from then on
	st := on(tikv.Options{})
	_, err := st.Commit(ctx, &kv.Batch{Writes: []kv.Write{{Key: []byte("a"), Value: make([]byte, 6<<20+1)}}})
	if !errors.Is(err, kv.ErrTooLarge) {
		t.Errorf("a large value: %v", err)
	}
	b := &kv.Batch{}
	value := make([]byte, 4<<20)
	for i := range 26 {
		b.Writes = append(b.Writes, kv.Write{Key: fmt.Appendf(nil, "k%02d", i), Value: value}) // 104 MiB
	}
	if _, err := st.Commit(ctx, b); !errors.Is(err, kv.ErrTooLarge) {
		t.Errorf("a large batch: %v", err)
	}
	largest := &kv.Batch{Writes: []kv.Write{{Key: []byte("a"), Value: make([]byte, 6<<20)}}}
	if _, err := st.Commit(ctx, largest); err != nil {
		t.Errorf("the largest value: %v", err)
	}
	if got := len(kvtest.All(t, st)); got != len("a=")+6<<20 {
		t.Errorf("%d bytes are there", got)
	}
}
