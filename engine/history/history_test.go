package history_test

import (
	"bytes"
	"context"
	"fmt"
	"sort"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine/history"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/mem"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
	"pgregory.net/rapid"
)

// recordKey is one of a few records, whose keys are near each other.
func recordKey(n int) []byte {
	return key.Record(nil, 1, 1, uint32(1+n%2), value.Str([]string{"", "a", "a\x00", "a\x00\x01", "b"}[n/2%5]))
}

func defKey(n int) []byte {
	name := []string{"", "a", "a\x00", "ab"}[n%4]
	if n%8 < 4 {
		return key.DBDef(nil, 1, 1, key.KindTable, name)
	}
	return key.TableDef(nil, 1, 0, 1, key.KindField, name)
}

// model is what stood when: the states after each commit.
type model struct {
	times  []uint64
	states []map[string]string
}

func (m *model) at(version uint64) map[string]string {
	i := sort.Search(len(m.times), func(i int) bool { return m.times[i] > version })
	if i == 0 {
		return nil
	}
	return m.states[i-1]
}

// TestThePastIsWhatStood compares reads of the past with what a model remembers, before and after a sweep.
func TestThePastIsWhatStood(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		now := time.Unix(1000, 0)
		st, err := history.Wrap(ctx, mem.New(), func() time.Time { return now })
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		m := &model{}
		state := map[string]string{}
		for range rapid.IntRange(1, 60).Draw(t, "commits") {
			now = now.Add(time.Duration(rapid.IntRange(-3, 10).Draw(t, "passed"))) // clocks go back, too
			tx, err := txn.Begin(ctx, st, txn.Options{Write: true})
			if err != nil {
				t.Fatal(err)
			}
			for range rapid.IntRange(1, 4).Draw(t, "writes") {
				n := rapid.IntRange(0, 9).Draw(t, "n")
				k := recordKey(n)
				if rapid.Bool().Draw(t, "def") {
					k = defKey(n)
				}
				if rapid.IntRange(0, 2).Draw(t, "delete") == 0 {
					err = tx.Delete(k)
					delete(state, string(k))
				} else {
					v := rapid.StringN(1, 3, -1).Draw(t, "v")
					err = tx.Set(k, []byte(v))
					state[string(k)] = v
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := tx.Commit(ctx); err != nil {
				t.Fatal(err)
			}
			kept := map[string]string{}
			for k, v := range state {
				kept[k] = v
			}
			m.times, m.states = append(m.times, clock(t, st)), append(m.states, kept)
		}
		compare(t, st, m, 0)
		oldest := m.times[rapid.IntRange(0, len(m.times)-1).Draw(t, "oldest")] + uint64(rapid.IntRange(0, 2).Draw(t,
			"more"))
		before := versions(t, st)
		removed, err := history.Sweep(ctx, st, oldest)
		if err != nil {
			t.Fatal(err)
		}
		if got := versions(t, st); got != before-removed {
			t.Fatalf("%d of %d versions removed, %d left", removed, before, got)
		}
		compare(t, st, m, oldest)
		if _, err := history.Sweep(ctx, st, m.times[len(m.times)-1]); err != nil {
			t.Fatal(err)
		}
		if got := versions(t, st); got != len(state) {
			t.Fatalf("%d versions left of %d keys", got, len(state))
		}
	})
}

// compare reads at every time of the model from oldest on.
func compare(t *rapid.T, st kv.Store, m *model, oldest uint64) {
	t.Helper()
	tx, err := txn.Begin(context.Background(), st, txn.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Cancel()
	for _, at := range append([]uint64{oldest}, m.times...) {
		for _, version := range []uint64{at - 1, at, at + 1} {
			if version < oldest {
				continue
			}
			want := m.at(version)
			for n := range 10 {
				for _, k := range [][]byte{recordKey(n), defKey(n)} {
					got, err := history.Get(tx, key.PastPrefix(nil, k), version)
					if err != nil || string(got) != want[string(k)] {
						t.Fatalf("%x at %d: got %q, %v, want %q", k, version, got, err, want[string(k)])
					}
				}
			}
			compareScans(t, tx, want, version)
		}
	}
}

func compareScans(t *rapid.T, tx *txn.Tx, want map[string]string, version uint64) {
	t.Helper()
	for tb := uint32(1); tb <= 2; tb++ {
		start, end := key.HistoryRange(1, 1, tb, nil)
		prefix := key.RecordPrefix(nil, 1, 1, tb)
		sameScan(t, tx, start, end, want, prefix, version)
	}
	defs := key.DBDef(nil, 1, 1, key.KindTable)
	start, end := key.PastDefRange(defs)
	sameScan(t, tx, start, end, want, defs, version)
}

func sameScan(t *rapid.T, tx *txn.Tx, start, end []byte, state map[string]string, prefix []byte, version uint64) {
	t.Helper()
	var want []string
	for k := range state {
		if bytes.HasPrefix([]byte(k), prefix) {
			want = append(want, k)
		}
	}
	sort.Strings(want)
	for i, k := range want {
		want[i] = fmt.Sprintf("%x=%q", key.PastPrefix(nil, []byte(k)), state[k])
	}
	for _, reverse := range []bool{false, true} {
		c := history.Scan(tx, start, end, version, reverse)
		var got []string
		for c.Next() {
			past, _ := key.CutVersion(c.Key())
			got = append(got, fmt.Sprintf("%x=%q", past, c.Value()))
		}
		if c.Err() != nil {
			t.Fatal(c.Err())
		}
		c.Close()
		if reverse {
			for i, j := 0, len(got)-1; i < j; i, j = i+1, j-1 {
				got[i], got[j] = got[j], got[i]
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%x at %d (reverse %v):\ngot  %v\nwant %v", start, version, reverse, got, want)
		}
	}
}

// clock is the time of the last commit, as the newest version has it.
func clock(t *rapid.T, st kv.Store) uint64 {
	t.Helper()
	var newest uint64
	each(t, st, func(k []byte) { _, v := key.CutVersion(k); newest = max(newest, v) })
	return newest
}

func versions(t *rapid.T, st kv.Store) (n int) {
	t.Helper()
	each(t, st, func([]byte) { n++ })
	return n
}

func each(t *rapid.T, st kv.Store, f func(k []byte)) {
	t.Helper()
	snap, err := st.Begin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Release()
	for _, class := range []key.Class{key.ClassPastDef, key.ClassHistory} {
		c := snap.Scan(kv.Prefix([]byte{byte(class)}), kv.ScanOptions{})
		for c.Next() {
			f(c.Key())
		}
		if err := c.Err(); err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
}

// TestManyVersions: reads step over many versions of one record, both ways of its own.
func TestManyVersions(t *testing.T) {
	ctx := context.Background()
	now := time.Unix(1000, 0)
	st, err := history.Wrap(ctx, mem.New(), func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	for i := range 200 {
		now = now.Add(time.Second)
		b := &kv.Batch{}
		for n := range 3 {
			b.Writes = append(b.Writes,
				kv.Write{Key: key.Record(nil, 1, 1, 1, value.Int(int64(n))), Value: fmt.Append(nil, i)})
		}
		if _, err := st.Commit(ctx, b); err != nil {
			t.Fatal(err)
		}
	}
	tx, err := txn.Begin(ctx, st, txn.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Cancel()
	start, end := key.HistoryRange(1, 1, 1, nil)
	for _, i := range []int{0, 1, 17, 100, 199} {
		for _, reverse := range []bool{false, true} {
			c := history.Scan(tx, start, end, history.Version(time.Unix(1001+int64(i), 0)), reverse)
			n := 0
			for ; c.Next(); n++ {
				if string(c.Value()) != fmt.Sprint(i) {
					t.Errorf("at %d: got %s", i, c.Value())
				}
			}
			c.Close()
			if n != 3 || c.Err() != nil {
				t.Errorf("at %d: %d records, %v", i, n, c.Err())
			}
		}
	}
}

// TestTimeNeverGoesBack: not over a restart with a clock that was set back.
func TestTimeNeverGoesBack(t *testing.T) {
	ctx := context.Background()
	inner := mem.New()
	defer inner.Close()
	k := recordKey(2)
	for i, at := range []int64{2000, 1000} {
		st, err := history.Wrap(ctx, inner, func() time.Time { return time.Unix(at, 0) })
		if err != nil {
			t.Fatal(err)
		}
		if _, err := st.Commit(ctx, &kv.Batch{Writes: []kv.Write{{Key: k, Value: fmt.Append(nil, i)}}}); err != nil {
			t.Fatal(err)
		}
	}
	tx, err := txn.Begin(ctx, inner, txn.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Cancel()
	if got, err := history.Get(tx, key.PastPrefix(nil, k), history.Version(time.Unix(3000, 0))); string(got) != "1" ||
		err != nil {
		t.Errorf("got %q, %v: the later commit does not count", got, err)
	}
}

// TestABatchMayBringVersions: and then makes none of its own for that record.
func TestABatchMayBringVersions(t *testing.T) {
	ctx := context.Background()
	st, err := history.Wrap(ctx, mem.New(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	k := recordKey(2)
	old := key.AppendVersion(key.PastPrefix(nil, k), 5)
	if _, err := st.Commit(ctx,
		&kv.Batch{Writes: []kv.Write{{Key: k, Value: []byte("x")}, {Key: old, Value: []byte("x")}}}); err != nil {
		t.Fatal(err)
	}
	tx, err := txn.Begin(ctx, st, txn.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Cancel()
	n := 0
	c := tx.Scan(kv.Prefix([]byte{byte(key.ClassHistory)}), txn.ScanOptions{})
	for ; c.Next(); n++ {
	}
	c.Close()
	if n != 1 {
		t.Errorf("got %d versions, want the one that came", n)
	}
}

func BenchmarkCommit(b *testing.B) {
	for _, kept := range []bool{false, true} {
		b.Run(fmt.Sprintf("history=%v", kept), func(b *testing.B) {
			ctx := context.Background()
			var st kv.Store = mem.New()
			if kept {
				var err error
				if st, err = history.Wrap(ctx, st, nil); err != nil {
					b.Fatal(err)
				}
			}
			defer st.Close()
			v := bytes.Repeat([]byte("v"), 200)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				w := []kv.Write{{Key: key.Record(nil, 1, 1, 1, value.Int(int64(i%10_000))), Value: v}}
				if _, err := st.Commit(ctx, &kv.Batch{Writes: w}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
