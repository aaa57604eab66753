package txn_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/mem"
	"github.com/nacredb/nacre/engine/txn"
)

func between(start, end string) kv.Range { return kv.Range{Start: []byte(start), End: []byte(end)} }

func void(t interface{ Fatal(...any) }, tx *txn.Tx, r, within kv.Range) bool {
	ok, err := tx.Void(r, within)
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

// TestVoidAgreesWithScan: where Void says that there is nothing, a scan finds nothing; where it does not, there is a
// key or the transaction has deleted one.
func TestVoidAgreesWithScan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		st := mem.New()
		name := func(label string) string {
			return fmt.Sprintf("%c%02d", 'a'+rapid.IntRange(0, 6).Draw(t, label+" space"),
				rapid.IntRange(0, 30).Draw(t, label))
		}
		first, err := txn.Begin(ctx, st, txn.Options{Write: true})
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(0, 20).Draw(t, "there") {
			if err := first.Set([]byte(name("there")), nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := first.Commit(ctx); err != nil {
			t.Fatal(err)
		}
		tx, err := txn.Begin(ctx, st, txn.Options{Write: true})
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Cancel()
		deleted := map[string]bool{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			k := name("key")
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				err = tx.Set([]byte(k), []byte("v"))
				delete(deleted, k)
			case 1:
				err = tx.Delete([]byte(k))
				deleted[k] = true
			case 2:
				err = tx.Add([]byte("n"+k), 1)
			default:
				r := between(k, name("end"))
				if string(r.Start) >= string(r.End) {
					continue
				}
				within := between(k[:1], string(k[0]+1))
				if string(r.End) > string(within.End) {
					r.End = within.End
				}
				got, there := void(t, tx, r, within), 0
				c := tx.Scan(r, txn.ScanOptions{})
				for c.Next() {
					there++
				}
				err = c.Err()
				c.Close()
				for d := range deleted {
					if r.Contains([]byte(d)) {
						there++
					}
				}
				if got != (there == 0) {
					t.Fatalf("void %q..%q: %v, with %d keys", r.Start, r.End, got, there)
				}
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestVoidCountsAsRead: what was asked about, and no more, must still be so at the commit.
func TestVoidCountsAsRead(t *testing.T) {
	for _, tc := range []struct {
		name, meanwhile string
		conflict        bool
	}{
		{"in the range", "e5=v", true}, {"beside it in the same gap", "e7=v", false}, {"in the second range", "e35=v",
			true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			st := mem.New()
			commit(t, st, "d=v f=v")
			tx := begin(t, st, true)
			within := between("e", "f")
			if !void(t, tx, between("e5", "e6"), within) || !void(t, tx, between("e3", "e4"), within) {
				t.Fatal("the range is not void")
			}
			commit(t, st, tc.meanwhile)
			do(t, tx, "x=v")
			err := tx.Commit(ctx)
			var e *errs.Error
			if got := errors.As(err, &e) && errors.Is(err, kv.ErrConflict); got != tc.conflict {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestVoidAfterTheEnd: a finished transaction answers nothing.
func TestVoidAfterTheEnd(t *testing.T) {
	tx := begin(t, mem.New(), true)
	tx.Cancel()
	if _, err := tx.Void(between("a", "b"), between("a", "c")); !errors.Is(err, txn.ErrDone) {
		t.Errorf("got %v", err)
	}
}

// TestManyMisses: keys that are not there are remembered as a gap, and the answers stay those of the snapshot and the
// transaction's own writes.
func TestManyMisses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		st := mem.New()
		there := map[string]bool{}
		setup, err := txn.Begin(ctx, st, txn.Options{Write: true})
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(0, 8).Draw(t, "there") {
			k := fmt.Sprintf("k%03d", rapid.IntRange(0, 400).Draw(t, "key"))
			there[k] = true
			if err := setup.Set([]byte(k), []byte("v")); err != nil {
				t.Fatal(err)
			}
		}
		if err := setup.Commit(ctx); err != nil {
			t.Fatal(err)
		}
		tx, err := txn.Begin(ctx, st, txn.Options{Write: true})
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Cancel()
		for range 300 {
			k := fmt.Sprintf("k%03d", rapid.IntRange(0, 400).Draw(t, "look for"))
			v, err := tx.Get([]byte(k))
			if err != nil || (v != nil) != there[k] {
				t.Fatalf("get %s: %q, %v; there: %v", k, v, err, there[k])
			}
			if rapid.IntRange(0, 9).Draw(t, "write") > 0 {
				continue
			}
			if there[k] = !there[k]; there[k] {
				err = tx.Set([]byte(k), []byte("own"))
			} else {
				err = tx.Delete([]byte(k))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestMissInAGapCountsAsRead: a key that was found to be absent without a look at the store is a conflict when another
// transaction adds it.
func TestMissInAGapCountsAsRead(t *testing.T) {
	st := mem.New()
	tx := begin(t, st, true)
	for i := range 100 {
		if v, err := tx.Get(fmt.Appendf(nil, "k%03d", i)); v != nil || err != nil {
			t.Fatal(v, err)
		}
	}
	other := begin(t, st, true)
	if err := other.Set([]byte("k099"), []byte("v")); err != nil {
		t.Fatal(err)
	}
	if err := other.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if err := tx.Set([]byte("mine"), nil); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(ctx); !errors.Is(err, kv.ErrConflict) {
		t.Errorf("commit: %v, want a conflict", err)
	}
}

// TestScatteredMisses: keys that are missing from one gap are looked for in the store until the gap is known; keys that
// are each missing from a gap of its own are not worth many looks at gaps.
func TestScatteredMisses(t *testing.T) {
	st := &countingStore{Store: mem.New()}
	setup := begin(t, st, true)
	for i := range 2000 {
		if err := setup.Set(fmt.Appendf(nil, "k%04d", i), []byte("v")); err != nil {
			t.Fatal(err)
		}
	}
	if err := setup.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name        string
		key         func(i int) []byte
		gets, scans [2]int // at least and at most
	}{
		{"one gap", func(i int) []byte { return fmt.Appendf(nil, "k1000-%04d", i) }, [2]int{16, 32}, [2]int{1, 3}},
		{"each its own", func(i int) []byte { return fmt.Appendf(nil, "k%04d-", i*773%2000) },
			[2]int{1900, 2000}, [2]int{3, 24}},
		{"both by turns", func(i int) []byte {
			if i/500%2 == 0 {
				return fmt.Appendf(nil, "k%04d-", i*773%2000)
			}
			return fmt.Appendf(nil, "k1000-%04d", i)
		}, [2]int{1000, 1900}, [2]int{3, 32}},
	} {
		tx := begin(t, st, true)
		st.gets, st.scans = 0, 0
		for i := range 2000 {
			if v, err := tx.Get(tc.key(i)); v != nil || err != nil {
				t.Fatal(v, err)
			}
		}
		tx.Cancel()
		if st.gets < tc.gets[0] || st.gets > tc.gets[1] || st.scans < tc.scans[0] || st.scans > tc.scans[1] {
			t.Errorf("%s: %d look-ups, %d scans, want %v, %v", tc.name, st.gets, st.scans, tc.gets, tc.scans)
		}
	}
}

// countingStore counts what its snapshots are asked.
type countingStore struct {
	kv.Store
	gets, scans int
}

func (s *countingStore) Begin(ctx context.Context) (kv.Snapshot, error) {
	sn, err := s.Store.Begin(ctx)
	return countingSnapshot{sn, s}, err
}

type countingSnapshot struct {
	kv.Snapshot
	of *countingStore
}

func (s countingSnapshot) Get(key []byte) ([]byte, bool, error) {
	s.of.gets++
	return s.Snapshot.Get(key)
}

func (s countingSnapshot) Scan(r kv.Range, o kv.ScanOptions) kv.Cursor {
	s.of.scans++
	return s.Snapshot.Scan(r, o)
}
