package kvtest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/nacredb/nacre/engine/kv"
)

// attempt commits a write of "x" with the given reads made at sn, and releases sn.
func attempt(t *testing.T, st kv.Store, sn kv.Snapshot, reads kv.ReadSet) error {
	t.Helper()
	defer sn.Release()
	_, err := st.Commit(ctx, &kv.Batch{Snapshot: sn.Version(), Reads: reads, Writes: Writes("x", "1")})
	return err
}

func testKeyConflict(t *testing.T, st kv.Store) {
	Put(t, st, "a", "1", "b", "1")
	for _, change := range [][]string{{"a", "2"}, {"a", "-"}, {"c", "new"}} {
		sn := Begin(t, st)
		Put(t, st, change...)
		wantErr(t, fmt.Sprint(change), attempt(t, st, sn, kv.ReadSet{Keys: keys("a", "b", "c")}), kv.ErrConflict)
	}
	sn := Begin(t, st)
	if err := attempt(t, st, sn, kv.ReadSet{Keys: keys("a", "b", "c")}); err != nil {
		t.Errorf("without a change in between: %v", err)
	}
	if s := st.Stats(); s.Conflicts != 3 {
		t.Errorf("stats: got %d conflicts, want 3", s.Conflicts)
	}
}

func testRangeConflict(t *testing.T, st kv.Store) {
	Put(t, st, "b", "1", "c", "1")
	ranges := []kv.Range{rng("b", "d"), rng("m", "n"), rng("y", "")}
	for _, change := range [][]string{{"b", "2"}, {"bb", "phantom"}, {"c", "-"}, {"m", "1"}, {"z", "1"}} {
		sn := Begin(t, st)
		Put(t, st, change...)
		wantErr(t, fmt.Sprint(change), attempt(t, st, sn, kv.ReadSet{Ranges: ranges}), kv.ErrConflict)
	}
	for _, change := range [][]string{{"a", "1"}, {"d", "1"}, {"n", "1"}, {"x", "1"},
		{"a", "2", "e", "1", "f", "1", "o", "1"}} {
		sn := Begin(t, st)
		Put(t, st, change...)
		if err := attempt(t, st, sn, kv.ReadSet{Ranges: ranges}); err != nil {
			t.Errorf("%v is outside of the ranges: %v", change, err)
		}
	}
}

func testNoConflict(t *testing.T, st kv.Store) {
	Put(t, st, "a", "1")
	sn := Begin(t, st)
	Put(t, st, "b", "1")
	reads := kv.ReadSet{Keys: keys("a", "bb"), Ranges: []kv.Range{rng("c", "d")}}
	if err := attempt(t, st, sn, reads); err != nil {
		t.Errorf("disjoint: %v", err)
	}
	want(t, "both", All(t, st), "a=1 b=1 x=1")
}

func testBlindWrites(t *testing.T, st kv.Store) {
	sn := Begin(t, st)
	Put(t, st, "x", "0")
	if err := attempt(t, st, sn, kv.ReadSet{}); err != nil {
		t.Errorf("blind write: %v", err)
	}
	want(t, "last one wins", All(t, st), "x=1")
}

func testRefusedLeavesNoTrace(t *testing.T, st kv.Store) {
	Put(t, st, "a", "1")
	sn := Begin(t, st)
	v := Put(t, st, "a", "2")
	_, err := st.Commit(ctx, &kv.Batch{Snapshot: sn.Version(), Reads: kv.ReadSet{Keys: keys("a")},
		Writes: Writes("a", "3", "b", "3"), Deltas: []kv.Delta{{Key: []byte("n"), Add: 1}}})
	sn.Release()
	wantErr(t, "commit", err, kv.ErrConflict)
	want(t, "state", All(t, st), "a=2")
	if got := st.Stats().Version; got != v {
		t.Errorf("version: got %d, want %d", got, v)
	}
}

func testLongHistory(t *testing.T, st kv.Store) {
	Put(t, st, "a", "1")
	old, fresh := Begin(t, st), Begin(t, st)
	for i := range 300 {
		Put(t, st, fmt.Sprintf("k%03d", i), "v")
	}
	wantErr(t, "key written early", attempt(t, st, old, kv.ReadSet{Keys: keys("k007")}), kv.ErrConflict)
	if err := attempt(t, st, fresh,
		kv.ReadSet{Keys: keys("a", "k300", "k007x"), Ranges: []kv.Range{rng("b", "k")}}); err != nil {
		t.Errorf("untouched keys: %v", err)
	}
}

func testDeltas(t *testing.T, st kv.Store) {
	add := func(n int64, writes ...string) {
		t.Helper()
		sn := Begin(t, st)
		defer sn.Release()
		_, err := st.Commit(ctx,
			&kv.Batch{Snapshot: sn.Version(), Writes: Writes(writes...),
				Deltas: []kv.Delta{{Key: []byte("n"), Add: n}}})
		if err != nil {
			t.Fatalf("add %d: %v", n, err)
		}
	}
	check := func(want int64) {
		t.Helper()
		sn := Begin(t, st)
		defer sn.Release()
		v, _, err := sn.Get([]byte("n"))
		if got, ok := kv.Counter(v); err != nil || !ok || got != want {
			t.Errorf("counter: got %d, %v, %v; want %d", got, ok, err, want)
		}
	}
	add(5, "a", "1", "z", "1")
	check(5)
	add(-7)
	check(-2)
	add(1 << 40)
	check(1<<40 - 2)
	Put(t, st, "n", "-")
	check(0)
	add(3, "b", "1")
	check(3)
}

func testDeltaReaders(t *testing.T, st kv.Store) {
	delta := []kv.Delta{{Key: []byte("n"), Add: 1}}
	sn := Begin(t, st)
	if _, err := st.Commit(ctx, &kv.Batch{Deltas: delta, Writes: Writes("a", "1", "z", "1")}); err != nil {
		t.Fatal(err)
	}
	wantErr(t, "reader of the key", attempt(t, st, sn, kv.ReadSet{Keys: keys("n")}), kv.ErrConflict)
	sn = Begin(t, st)
	if _, err := st.Commit(ctx, &kv.Batch{Deltas: delta}); err != nil {
		t.Fatal(err)
	}
	wantErr(t, "reader of a range", attempt(t, st, sn, kv.ReadSet{Ranges: []kv.Range{rng("m", "o")}}), kv.ErrConflict)
}

func testDeltaOnValue(t *testing.T, st kv.Store) {
	Put(t, st, "n", "text")
	_, err := st.Commit(ctx, &kv.Batch{Writes: Writes("a", "1"), Deltas: []kv.Delta{{Key: []byte("n"), Add: 1}}})
	wantErr(t, "add to a text", err, kv.ErrCounter)
	want(t, "state", All(t, st), "n=text")
	add := &kv.Batch{Deltas: []kv.Delta{{Key: []byte("n"), Add: 1}}}
	for _, b := range []*kv.Batch{{Writes: []kv.Write{{Key: []byte("n")}}}, add} {
		if _, err := st.Commit(ctx, b); err != nil {
			t.Fatal(err)
		}
	}
	Put(t, st, "n", "text")
	_, err = st.Commit(ctx, add)
	wantErr(t, "add to what was a counter", err, kv.ErrCounter)
}

func testKeySize(t *testing.T, st kv.Store) {
	long := make([]byte, kv.MaxKeySize+1)
	for _, key := range [][]byte{{}, long} {
		_, err := st.Commit(ctx, &kv.Batch{Writes: []kv.Write{{Key: key, Value: []byte("v")}}})
		wantErr(t, fmt.Sprintf("write of a key of %d bytes", len(key)), err, kv.ErrKey)
		_, err = st.Commit(ctx, &kv.Batch{Deltas: []kv.Delta{{Key: key, Add: 1}}})
		wantErr(t, fmt.Sprintf("delta of a key of %d bytes", len(key)), err, kv.ErrKey)
	}
	n := []kv.Delta{{Key: []byte("n"), Add: 1}}
	for _, b := range []*kv.Batch{{Writes: Writes("b", "1", "a", "1")}, {Writes: Writes("a", "1", "a", "2")},
		{Writes: Writes("n", "1"), Deltas: n}, {Deltas: append(n, n...)}} {
		_, err := st.Commit(ctx, b)
		wantErr(t, "keys out of order", err, kv.ErrOrder)
	}
	Put(t, st, string(long[1:]), "v")
	want(t, "longest key", All(t, st), string(long[1:])+"=v")
}

func testExclusive(t *testing.T, st kv.Store) {
	turn, err := st.Exclusive(ctx)
	if err != nil {
		t.Fatal(err)
	}
	sn := Begin(t, st)
	other := make(chan error, 1)
	go func() {
		_, err := st.Commit(ctx, &kv.Batch{Writes: Writes("a", "other")})
		other <- err
	}()
	short, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := st.Commit(short, &kv.Batch{Writes: Writes("c", "1")}); !errors.Is(err, context.Canceled) {
		t.Errorf("commit with a cancelled context: %v", err)
	}
	b := &kv.Batch{Snapshot: sn.Version(), Reads: kv.ReadSet{Ranges: []kv.Range{{}}}, Writes: Writes("a", "mine"),
		Turn: turn}
	if _, err := st.Commit(ctx, b); err != nil {
		t.Errorf("commit with the turn: %v", err)
	}
	sn.Release()
	select {
	case err := <-other:
		t.Errorf("another commit passed the turn: %v", err)
	default:
	}
	turn.Release()
	turn.Release()
	if err := <-other; err != nil {
		t.Errorf("after the turn: %v", err)
	}
	want(t, "state", All(t, st), "a=other")
	if turn, err = st.Exclusive(ctx); err != nil {
		t.Fatalf("second turn: %v", err)
	}
	turn.Release()
}

func testCancelled(t *testing.T, st kv.Store) {
	done, cancel := context.WithCancel(ctx)
	cancel()
	_, err := st.Begin(done)
	wantErr(t, "begin", err, context.Canceled)
	turn, err := st.Exclusive(ctx)
	if err != nil {
		t.Fatal(err)
	}
	waiting, stop := context.WithCancel(ctx)
	errc := make(chan error, 2)
	go func() {
		_, err := st.Exclusive(waiting)
		errc <- err
	}()
	go func() {
		_, err := st.Commit(waiting, &kv.Batch{Writes: Writes("a", "1")})
		errc <- err
	}()
	stop()
	wantErr(t, "first", <-errc, context.Canceled)
	wantErr(t, "second", <-errc, context.Canceled)
	turn.Release()
	want(t, "state", All(t, st), "")
}

func testClosed(t *testing.T, st kv.Store) {
	Put(t, st, "a", "1")
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := st.Begin(ctx)
	wantErr(t, "begin", err, kv.ErrClosed)
	_, err = st.Commit(ctx, &kv.Batch{Writes: Writes("a", "2")})
	wantErr(t, "commit", err, kv.ErrClosed)
	_, err = st.Exclusive(ctx)
	wantErr(t, "exclusive", err, kv.ErrClosed)
}
