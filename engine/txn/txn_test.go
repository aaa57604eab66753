package txn_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/mem"
	"github.com/nacredb/nacre/engine/txn"
)

var ctx = context.Background()

func begin(t testing.TB, st kv.Store, write bool) *txn.Tx {
	t.Helper()
	tx, err := txn.Begin(ctx, st, txn.Options{Write: write})
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

// do runs space-separated operations: k=v sets, -k deletes, k+n adds, ?k gets, ?a..b scans.
func do(t testing.TB, tx *txn.Tx, ops string) {
	t.Helper()
	for _, op := range strings.Fields(ops) {
		var err error
		switch {
		case strings.HasPrefix(op, "?") && strings.Contains(op, ".."):
			start, end, _ := strings.Cut(op[1:], "..")
			scan(t, tx, start, end, txn.ScanOptions{})
		case op[0] == '?':
			_, err = tx.Get([]byte(op[1:]))
		case op[0] == '-':
			err = tx.Delete([]byte(op[1:]))
		case strings.Contains(op, "+"):
			k, n, _ := strings.Cut(op, "+")
			var by int64
			fmt.Sscan(n, &by)
			err = tx.Add([]byte(k), by)
		default:
			k, v, _ := strings.Cut(op, "=")
			err = tx.Set([]byte(k), []byte(v))
		}
		if err != nil {
			t.Fatalf("%s: %v", op, err)
		}
	}
}

func commit(t testing.TB, st kv.Store, ops string) {
	t.Helper()
	tx := begin(t, st, true)
	do(t, tx, ops)
	if err := tx.Commit(ctx); err != nil {
		t.Fatalf("commit %s: %v", ops, err)
	}
}

func bounds(start, end string) kv.Range {
	r := kv.Range{Start: []byte(start)}
	if end != "" {
		r.End = []byte(end)
	}
	return r
}

func scan(t testing.TB, tx *txn.Tx, start, end string, opt txn.ScanOptions) string {
	t.Helper()
	c := tx.Scan(bounds("~", ""), opt) // a scan that was not read counts for nothing
	c.Move(bounds(start, end))
	defer c.Close()
	var out []string
	for c.Next() {
		v := string(c.Value())
		if n, ok := kv.Counter(c.Value()); ok {
			v = fmt.Sprint(n)
		}
		out = append(out, fmt.Sprintf("%s=%s", c.Key(), v))
	}
	if c.Err() != nil {
		t.Fatalf("scan %s..%s: %v", start, end, c.Err())
	}
	return strings.Join(out, " ")
}

func all(t testing.TB, st kv.Store) string {
	t.Helper()
	tx := begin(t, st, false)
	defer tx.Cancel()
	return scan(t, tx, "", "", txn.ScanOptions{})
}

func want(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func TestReadsSeeOwnWrites(t *testing.T) {
	st := mem.New()
	commit(t, st, "a=1 b=2 c=3 d=4")
	tx := begin(t, st, true)
	do(t, tx, "bb=5 -c d=6 -x")
	want(t, "forward", scan(t, tx, "", "", txn.ScanOptions{}), "a=1 b=2 bb=5 d=6")
	want(t, "reverse", scan(t, tx, "", "", txn.ScanOptions{Reverse: true}), "d=6 bb=5 b=2 a=1")
	want(t, "limit", scan(t, tx, "b", "", txn.ScanOptions{Limit: 2}), "b=2 bb=5")
	want(t, "limit over a deletion", scan(t, tx, "bc", "", txn.ScanOptions{Limit: 1}), "d=6")
	want(t, "range", scan(t, tx, "b", "c", txn.ScanOptions{}), "b=2 bb=5")
	if v, err := tx.Get([]byte("c")); v != nil || err != nil {
		t.Errorf("deleted key: %q, %v", v, err)
	}
	want(t, "outside", all(t, st), "a=1 b=2 c=3 d=4")
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	want(t, "after commit", all(t, st), "a=1 b=2 bb=5 d=6")
}

func TestScanDoesNotSeeWritesMadeWhileItRuns(t *testing.T) {
	st := mem.New()
	commit(t, st, "a=1 b=2")
	tx := begin(t, st, true)
	defer tx.Cancel()
	do(t, tx, "c=3")
	c := tx.Scan(kv.Range{}, txn.ScanOptions{})
	defer c.Close()
	n := 0
	for c.Next() {
		n++
		do(t, tx, fmt.Sprintf("%s%d=x -b d%d=y", c.Key(), n, n))
	}
	if n != 3 {
		t.Errorf("got %d keys, want 3", n)
	}
}

func TestSavepoints(t *testing.T) {
	st := mem.New()
	commit(t, st, "a=1")
	tx := begin(t, st, true)
	var ran []string
	hook := func(name string) { tx.OnCommit(func(kv.Version) { ran = append(ran, name) }) }
	do(t, tx, "b=1 n+5")
	hook("first")
	sp := tx.Savepoint()
	for range 2 { // a savepoint can be used again
		do(t, tx, "a=9 -b c=1 n+7 m+1")
		hook("undone")
		inner := tx.Savepoint()
		do(t, tx, "d=1")
		tx.RollbackTo(inner)
		want(t, "inner", scan(t, tx, "", "", txn.ScanOptions{}), "a=9 c=1 m=1 n=12")
		tx.RollbackTo(sp)
		want(t, "outer", scan(t, tx, "", "", txn.ScanOptions{}), "a=1 b=1 n=5")
	}
	hook("second")
	do(t, tx, "e=1")
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	want(t, "committed", all(t, st), "a=1 b=1 e=1 n=5")
	want(t, "hooks", strings.Join(ran, " "), "first second")
}

// TestReadsAtSavepoint: what reads in the past sees neither later writes nor their notes, and counts as read.
func TestReadsAtSavepoint(t *testing.T) {
	st := mem.New()
	commit(t, st, "a=1 b=1")
	tx := begin(t, st, true)
	do(t, tx, "c=1 n+5")
	var ran []string
	note := func(name string) { tx.Note(name, func(kv.Version) { ran = append(ran, name) }) }
	note("first")
	sp := tx.Savepoint()
	do(t, tx, "a=2 -b c=2 n+7 d=1")
	note("second")
	for range 2 {
		err := tx.At(sp, func() error {
			want(t, "before", scan(t, tx, "", "", txn.ScanOptions{}), "a=1 b=1 c=1 n=5")
			tx.Notes(func(n any) { want(t, "note", n.(string), "first") })
			inner := tx.Savepoint()
			tx.RollbackTo(inner) // as a statement that fails does
			return errors.New("of f")
		})
		if err == nil || err.Error() != "of f" {
			t.Errorf("got %v", err)
		}
		want(t, "now", scan(t, tx, "", "", txn.ScanOptions{}), "a=2 c=2 d=1 n=12")
	}
	do(t, tx, "e=1")
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	want(t, "committed", all(t, st), "a=2 c=2 d=1 e=1 n=12")
	want(t, "hooks", strings.Join(ran, " "), "first second")

	tx = begin(t, st, true)
	sp = tx.Savepoint()
	do(t, tx, "a=3")
	if err := tx.At(sp, func() error { _, err := tx.Get([]byte("a")); return err }); err != nil {
		t.Fatal(err)
	}
	commit(t, st, "a=4")
	if err := tx.Commit(ctx); !errors.Is(err, kv.ErrConflict) {
		t.Errorf("what was read has changed: %v", err)
	}
}

func TestDeleteRange(t *testing.T) {
	st := mem.New()
	commit(t, st, "a=1 b=1 c=1 d=1")
	tx := begin(t, st, true)
	do(t, tx, "bb=1 b=2")
	if err := tx.DeleteRange(bounds("b", "d")); err != nil {
		t.Fatal(err)
	}
	want(t, "inside", scan(t, tx, "", "", txn.ScanOptions{}), "a=1 d=1")
	commit(t, st, "bx=1")
	if err := tx.Commit(ctx); !errors.Is(err, errs.Conflict()) {
		t.Errorf("a phantom in the range: %v", err)
	}
}

func TestCounters(t *testing.T) {
	st := mem.New()
	one, two, three := begin(t, st, true), begin(t, st, true), begin(t, st, true)
	do(t, one, "n+1 n+2 a=1")
	do(t, two, "n+10")
	do(t, three, "n+100 ?n")
	want(t, "own sum", scan(t, one, "m", "o", txn.ScanOptions{Untracked: true}), "n=3")
	for i, tx := range []*txn.Tx{one, two} {
		if err := tx.Commit(ctx); err != nil {
			t.Errorf("counter %d: %v", i, err)
		}
	}
	if err := three.Commit(ctx); !errors.Is(err, errs.Conflict()) {
		t.Errorf("one that read the counter: %v", err)
	}
	want(t, "sum", all(t, st), "a=1 n=13")
	commit(t, st, "n+-3 -n n+4")
	want(t, "after a delete", all(t, st), "a=1 n=4")
	tx := begin(t, st, true)
	do(t, tx, "x=text")
	if err := tx.Add([]byte("x"), 1); !errors.Is(err, kv.ErrCounter) {
		t.Errorf("add to a text: %v", err)
	}
	tx.Cancel()
}

// TestIsolation: in each case the first commits in between, and the second is refused or not.
func TestIsolation(t *testing.T) {
	for _, tc := range []struct {
		name, first, second string
		conflict            bool
	}{
		{"lost update", "?a a=2", "?a a=3", true},
		{"write skew over keys", "?a ?b a=0", "?a ?b b=0", true},
		{"write skew over a range", "?a..c a=0", "?a..c b=0", true},
		{"phantom", "aa=1", "?a..b z=1", true},
		{"deleted row of a range", "-a", "?a..b z=1", true},
		{"absent key that appears", "q=1", "?q z=1", true},
		{"counter that was read", "n+1", "?n z=1", true},
		{"blind writes", "a=2", "a=3", false},
		{"other keys", "b=2", "?a a=3", false},
		{"own write before the read", "a=2", "a=3 ?a", false},
		{"other range", "c=2", "?a..c a=3", false},
		{"reader without writes", "a=2", "?a ?a..z", false},
		{"counters", "n+1", "n+2", false},
	} {
		st := mem.New()
		commit(t, st, "a=1 b=1")
		second := begin(t, st, true)
		do(t, second, tc.second)
		commit(t, st, tc.first)
		err := second.Commit(ctx)
		if conflict := errors.Is(err, errs.Conflict()); conflict != tc.conflict || err != nil && !conflict {
			t.Errorf("%s: got %v, want conflict: %v", tc.name, err, tc.conflict)
		}
	}
}

// TestPartialScanReadsOnlyWhatItPassed: rows beyond the point where a scan stopped are free.
func TestPartialScanReadsOnlyWhatItPassed(t *testing.T) {
	for _, tc := range []struct {
		opt      txn.ScanOptions
		own      string
		change   string
		conflict bool
	}{
		{txn.ScanOptions{Limit: 2}, "", "c=9", false},
		{txn.ScanOptions{Limit: 2}, "", "b=9", true},
		{txn.ScanOptions{Limit: 2}, "", "aa=9", true},
		{txn.ScanOptions{Limit: 2}, "", "bb=9", false},
		{txn.ScanOptions{Limit: 2}, "aa=own", "b=9", false},
		{txn.ScanOptions{Limit: 2}, "aa=own", "a=9", true},
		{txn.ScanOptions{Limit: 3, Reverse: true}, "", "b=9", false},
		{txn.ScanOptions{Limit: 3, Reverse: true}, "", "c=9", true},
		{txn.ScanOptions{Limit: 3, Reverse: true}, "", "z=9", true},
		{txn.ScanOptions{Limit: 9}, "", "z=9", true},
		{txn.ScanOptions{Untracked: true}, "", "a=9", false},
	} {
		st := mem.New()
		commit(t, st, "a=1 b=1 c=1 d=1")
		tx := begin(t, st, true)
		do(t, tx, tc.own+" x=own")
		scan(t, tx, "", "", tc.opt)
		commit(t, st, tc.change)
		err := tx.Commit(ctx)
		if conflict := errors.Is(err, errs.Conflict()); conflict != tc.conflict || err != nil && !conflict {
			t.Errorf("%+v own %q change %q: got %v, want conflict: %v", tc.opt, tc.own, tc.change, err, tc.conflict)
		}
	}
}

// TestSkippedKeysAreRead: a scan has read what it skips, and nothing beyond.
func TestSkippedKeysAreRead(t *testing.T) {
	for _, tc := range []struct {
		skip, want  int
		own, change string
		conflict    bool
	}{
		{skip: 2, want: 2, change: "b=9", conflict: true},
		{skip: 2, want: 2, change: "aa=9", conflict: true},
		{skip: 2, want: 2, change: "bb=9", conflict: false},
		{skip: 2, want: 2, own: "aa=own", change: "b=9", conflict: false},
		{skip: 0, want: 0, change: "a=9", conflict: false},
		{skip: 4, want: 4, change: "z=9", conflict: false},
		{skip: 9, want: 4, change: "z=9", conflict: true},
	} {
		st := mem.New()
		commit(t, st, "a=1 b=1 c=1 d=1")
		tx := begin(t, st, true)
		do(t, tx, tc.own+" zz=own")
		c := tx.Scan(kv.Range{End: []byte("zz")}, txn.ScanOptions{})
		if n := c.Skip(tc.skip); n != tc.want || c.Err() != nil {
			t.Errorf("%+v: skips %d, %v", tc, n, c.Err())
		}
		c.Close()
		commit(t, st, tc.change)
		err := tx.Commit(ctx)
		if conflict := errors.Is(err, errs.Conflict()); conflict != tc.conflict || err != nil && !conflict {
			t.Errorf("%+v: got %v", tc, err)
		}
	}
}

func TestScanThatIsNotReadNorClosed(t *testing.T) {
	st := mem.New()
	commit(t, st, "a=1")
	unread, open := begin(t, st, true), begin(t, st, true)
	c := unread.Scan(kv.Range{}, txn.ScanOptions{})
	c.Close()
	do(t, unread, "x=1")
	left := open.Scan(kv.Range{}, txn.ScanOptions{})
	defer left.Close()
	left.Next()
	do(t, open, "x=2")
	commit(t, st, "b=1")
	if err := unread.Commit(ctx); err != nil {
		t.Errorf("a scan closed unread reads nothing: %v", err)
	}
	if err := open.Commit(ctx); !errors.Is(err, errs.Conflict()) {
		t.Errorf("an open scan counts whole: %v", err)
	}
	if left.Next() || !errors.Is(left.Err(), txn.ErrDone) {
		t.Errorf("a scan after the end: %v", left.Err())
	}
}

// TestManyReadsCollapse: the read set stays bounded and still finds every conflict.
func TestManyReadsCollapse(t *testing.T) {
	for _, change := range []string{"p/000003=9", "q/019999=9", "q/010000=9"} {
		st := mem.New()
		tx := begin(t, st, true)
		for i := range 20000 {
			if _, err := tx.Get(fmt.Appendf(nil, "q/%06d", i)); err != nil {
				t.Fatal(err)
			}
			if i < 10 {
				do(t, tx, fmt.Sprintf("?p/%06d", i))
			}
			if i%5 == 0 {
				scan(t, tx, fmt.Sprintf("r/%06d", i), fmt.Sprintf("r/%06d", i+1), txn.ScanOptions{})
			}
		}
		do(t, tx, "x=1")
		commit(t, st, "p/9=1 q=1 s=1") // between the spaces: nothing that was read
		commit(t, st, change)
		if err := tx.Commit(ctx); !errors.Is(err, errs.Conflict()) {
			t.Errorf("%s: got %v, want a conflict", change, err)
		}
	}
	st := mem.New()
	tx := begin(t, st, true)
	for i := range 20000 {
		do(t, tx, fmt.Sprintf("?q/%06d", i))
	}
	do(t, tx, "x=1")
	commit(t, st, "p=1 q=1 r=1")
	if err := tx.Commit(ctx); err != nil {
		t.Errorf("changes outside of a collapsed range: %v", err)
	}
}

func TestWrongUse(t *testing.T) {
	st := mem.New()
	tx := begin(t, st, false)
	for what, err := range map[string]error{"set": tx.Set([]byte("a"), nil), "delete": tx.Delete([]byte("a")),
		"add": tx.Add([]byte("a"), 1)} {
		if !errors.Is(err, txn.ErrReadOnly) {
			t.Errorf("%s in a read-only transaction: %v", what, err)
		}
	}
	tx.Cancel()
	tx.Cancel()
	if _, err := tx.Get([]byte("a")); !errors.Is(err, txn.ErrDone) {
		t.Errorf("get after the end: %v", err)
	}
	if err := tx.Commit(ctx); !errors.Is(err, txn.ErrDone) {
		t.Errorf("commit after the end: %v", err)
	}
	small, err := txn.Begin(ctx, st, txn.Options{Write: true, MaxBytes: 200})
	if err != nil {
		t.Fatal(err)
	}
	defer small.Cancel()
	do(t, small, "a=1")
	sp := small.Savepoint()
	if err := small.Set([]byte("b"), make([]byte, 200)); !errors.Is(err, txn.ErrTooLarge) {
		t.Errorf("over the limit: %v", err)
	}
	small.RollbackTo(sp)
	do(t, small, "c=1")
	if n := st.Stats().Snapshots; n != 1 {
		t.Errorf("got %d open snapshots, want 1", n)
	}
}

// TestBufferAgreesWithMap compares random transactions with savepoints to a plain map.
func TestBufferAgreesWithMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		st := mem.New()
		truth := map[string]string{}
		key := rapid.Custom(func(t *rapid.T) string { return fmt.Sprintf("%02d", rapid.IntRange(0, 40).Draw(t, "k")) })
		for range rapid.IntRange(1, 5).Draw(t, "transactions") {
			tx, err := txn.Begin(ctx, st, txn.Options{Write: true})
			if err != nil {
				t.Fatal(err)
			}
			now := clone(truth)
			var marks []txn.Savepoint
			var states []map[string]string
			for i := range rapid.IntRange(0, 60).Draw(t, "steps") {
				k := key.Draw(t, "key")
				switch rapid.IntRange(0, 7).Draw(t, "op") {
				case 0, 1:
					now[k] = fmt.Sprint("v", i)
					tx.Set([]byte(k), []byte(now[k]))
				case 2:
					delete(now, k)
					tx.Delete([]byte(k))
				case 3:
					marks, states = append(marks, tx.Savepoint()), append(states, clone(now))
				case 4:
					if len(marks) == 0 {
						break
					}
					at := rapid.IntRange(0, len(marks)-1).Draw(t, "seen")
					err := tx.At(marks[at], func() error {
						compare(t, tx, states[at], k, key.Draw(t, "end"), txn.ScanOptions{})
						if err := tx.Set([]byte(k), []byte("late")); !errors.Is(err, txn.ErrReadOnly) {
							t.Fatalf("a write in the past: %v", err)
						}
						return nil
					})
					if err != nil {
						t.Fatal(err)
					}
				case 5:
					if len(marks) > 0 {
						at := rapid.IntRange(0, len(marks)-1).Draw(t, "mark")
						tx.RollbackTo(marks[at])
						now = clone(states[at])
						marks, states = marks[:at+1], states[:at+1]
					}
				default:
					compare(t, tx, now, k, key.Draw(t, "end"), txn.ScanOptions{
						Reverse: rapid.Bool().Draw(t, "reverse"), Limit: rapid.IntRange(0, 8).Draw(t, "limit")})
				}
			}
			compare(t, tx, now, "", "99", txn.ScanOptions{})
			if rapid.Bool().Draw(t, "commit") {
				if err := tx.Commit(ctx); err != nil {
					t.Fatal(err)
				}
				truth = now
			} else {
				tx.Cancel()
			}
		}
	})
}

func clone(m map[string]string) map[string]string {
	c := make(map[string]string, len(m))
	for k, v := range m {
		c[k] = v
	}
	return c
}

func compare(t *rapid.T, tx *txn.Tx, truth map[string]string, start, end string, opt txn.ScanOptions) {
	var expect []string
	for k, v := range truth {
		if k >= start && k < end {
			expect = append(expect, k+"="+v)
		}
	}
	slices.Sort(expect)
	if opt.Reverse {
		slices.Reverse(expect)
	}
	if opt.Limit > 0 && len(expect) > opt.Limit {
		expect = expect[:opt.Limit]
	}
	var got []string
	c := tx.Scan(bounds(start, end), opt)
	for c.Next() {
		got = append(got, string(c.Key())+"="+string(c.Value()))
	}
	c.Close()
	if c.Err() != nil || !slices.Equal(got, expect) {
		t.Fatalf("%s..%s %+v: got %v (%v), want %v", start, end, opt, got, c.Err(), expect)
	}
}

// TestOnApply: functions run in the store's turn, before those of OnCommit, and not for what was rolled back; a
// transaction that wrote nothing is then validated all the same.
func TestOnApply(t *testing.T) {
	st := mem.New()
	defer st.Close()
	var told []string
	note := func(s string) func(kv.Version) { return func(kv.Version) { told = append(told, s) } }
	tx := begin(t, st, true)
	tx.OnCommit(note("commit"))
	tx.OnApply(note("apply"))
	sp := tx.Savepoint()
	tx.OnApply(note("undone"))
	tx.RollbackTo(sp)
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(told, " "); got != "apply commit" {
		t.Errorf("ran: %s", got)
	}
	reader, writer := begin(t, st, true), begin(t, st, true)
	if _, err := reader.Get([]byte("k")); err != nil {
		t.Fatal(err)
	}
	if err := writer.Set([]byte("k"), []byte("v")); err != nil {
		t.Fatal(err)
	}
	if err := writer.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	reader.OnApply(func(kv.Version) { t.Error("applied in spite of a conflict") })
	if err := reader.Commit(ctx); !errors.Is(err, kv.ErrConflict) {
		t.Errorf("a reader of what has changed: %v", err)
	}
}

// TestAppendedWritesShowAfterTheCommit: they come among the others in order, a second call goes the way of Set, and a
// rollback takes them back.
func TestAppendedWritesShowAfterTheCommit(t *testing.T) {
	store := mem.New()
	ctx := context.Background()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	w := func(k, v string) kv.Write {
		if v == "" {
			return kv.Write{Key: []byte(k)}
		}
		return kv.Write{Key: []byte(k), Value: []byte(v)}
	}
	must(txn.Retry(ctx, store, txn.Options{}, func(tx *txn.Tx) error {
		return tx.Append([]kv.Write{w("a", "1"), w("c", "1"), w("e", "1"), w("g", "1")})
	}))
	must(txn.Retry(ctx, store, txn.Options{}, func(tx *txn.Tx) error {
		sp := tx.Savepoint()
		must(tx.Append([]kv.Write{w("x", "9")}))
		tx.RollbackTo(sp)
		must(tx.Set([]byte("b"), []byte("2")))
		must(tx.Set([]byte("f"), []byte("2")))
		must(tx.Append([]kv.Write{w("a", ""), w("c", "2"), w("h", "2")}))
		return tx.Append([]kv.Write{w("e", ""), w("i", "2")})
	}))
	tx, err := txn.Begin(ctx, store, txn.Options{})
	must(err)
	defer tx.Cancel()
	var got []string
	cur := tx.Scan(kv.Range{}, txn.ScanOptions{})
	defer cur.Close()
	for cur.Next() {
		got = append(got, string(cur.Key())+"="+string(cur.Value()))
	}
	must(cur.Err())
	if want := "b=2 c=2 f=2 g=1 h=2 i=2"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}
