// Package kvtest is the conformance suite of kv.Store: every implementation passes Run, and
// those that keep data on disk pass Durable too.
package kvtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/nacredb/nacre/engine/kv"
)

// Open gives a new empty store; the suite closes it.
type Open func(t testing.TB) kv.Store

// Run holds a store to the promises of package kv. Every test opens its own store. Its versions count the commits.
func Run(t *testing.T, open Open) { run(t, open, suite{counts: true, rounds: 200}) }

// RunCluster is Run for a store whose versions are times of a cluster: a snapshot may be newer than the newest commit.
func RunCluster(t *testing.T, open Open) { run(t, open, suite{rounds: 20}) }

// suite holds the differences between stores.
type suite struct {
	counts bool // versions count commits
	rounds int  // of each writer where several write
}

func run(t *testing.T, open Open, s suite) {
	for _, tc := range []struct {
		name string
		test func(*testing.T, kv.Store)
	}{
		{"an empty store holds nothing", testEmpty},
		{"what is committed can be read", testReadBack},
		{"an empty value is not absence", testEmptyValue},
		{"scan gives a range in both directions", testScan},
		{"scan of an empty or inverted range gives nothing", testScanNothing},
		{"a snapshot never changes", testSnapshotIsStable},
		{"versions grow", s.testVersions},
		{"a key that was read and then written is a conflict", testKeyConflict},
		{"a range that was read and then written is a conflict", testRangeConflict},
		{"reads of other keys do not conflict", testNoConflict},
		{"writes without reads do not conflict", testBlindWrites},
		{"a refused batch leaves no trace", testRefusedLeavesNoTrace},
		{"many small commits are all checked", testLongHistory},
		{"deltas add up", testDeltas},
		{"deltas conflict with readers of the counter", testDeltaReaders},
		{"a delta on another value is refused", testDeltaOnValue},
		{"a key of no length or too much is refused", testKeySize},
		{"the commit turn holds others up", testExclusive},
		{"a cancelled context stops a wait", testCancelled},
		{"a closed store refuses work", testClosed},
		{"who asks is told of a batch in its turn", s.testApplied},
		{"an empty batch is only validated", s.testEmptyBatch},
		{"no update is lost between writers", s.testLostUpdate},
		{"write skew is refused", testWriteSkew},
		{"totals stay constant under transfers", s.testBank},
		{"random batches agree with a sorted map", testModel},
	} {
		t.Run(tc.name, func(t *testing.T) {
			st := open(t)
			tc.test(t, st)
			if err := st.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
}

var ctx = context.Background()

// Begin opens a snapshot or fails the test.
func Begin(t testing.TB, st kv.Store) kv.Snapshot {
	t.Helper()
	sn, err := st.Begin(ctx)
	if err != nil {
		t.Fatalf("begin: %v", err)
	}
	return sn
}

// Put commits pairs of key and value without reads; a value "-" deletes.
func Put(t testing.TB, st kv.Store, pairs ...string) kv.Version {
	t.Helper()
	v, err := st.Commit(ctx, &kv.Batch{Writes: Writes(pairs...)})
	if err != nil {
		t.Fatalf("commit %v: %v", pairs, err)
	}
	return v
}

// Writes makes writes of pairs of key and value, given in key order; a value "-" deletes.
func Writes(pairs ...string) []kv.Write {
	ws := make([]kv.Write, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		w := kv.Write{Key: []byte(pairs[i]), Value: []byte(pairs[i+1])}
		if pairs[i+1] == "-" {
			w.Value = nil
		}
		ws = append(ws, w)
	}
	return ws
}

// Dump reads a range as "k=v k=v".
func Dump(t testing.TB, sn kv.Snapshot, r kv.Range, opt kv.ScanOptions) string {
	t.Helper()
	c := sn.Scan(r, opt)
	out := drain(t, c, opt)
	c.Close()
	c.Move(kv.Range{})
	if c.Next(); c.Err() != nil {
		t.Fatalf("scan after a move: %v", c.Err())
	}
	c.Move(r)
	want(t, "the same range after a move", drain(t, c, opt), out)
	c.Move(r)
	want(t, "the same range in batches", inBatches(t, c, opt), out)
	c.Move(r)
	want(t, "the same range with parts skipped", skipping(t, sn, c, r, opt), out)
	c.Close()
	return out
}

// inBatches is drain in batches of several sizes, with single steps between them.
func inBatches(t testing.TB, c kv.Cursor, opt kv.ScanOptions) string {
	t.Helper()
	var out bytes.Buffer
	give := func(key, value []byte) {
		if out.Len() > 0 {
			out.WriteByte(' ')
		}
		if out.Write(key); !opt.KeysOnly {
			fmt.Fprintf(&out, "=%s", value)
		}
	}
	for size := 0; ; size = (size + 1) % 7 {
		pairs := make([]kv.Pair, 1+size*size)
		n := kv.Fill(c, pairs)
		for _, p := range pairs[:n] {
			give(p.Key, p.Value)
		}
		if n < len(pairs) {
			break
		}
		if size == 4 && c.Next() {
			give(c.Key(), c.Value())
		}
	}
	if err := c.Err(); err != nil {
		t.Fatalf("scan: %v", err)
	}
	return out.String()
}

// skipping is drain of c, which is at the beginning of r, where parts are skipped.
func skipping(t testing.TB, sn kv.Snapshot, c kv.Cursor, r kv.Range, opt kv.ScanOptions) string {
	t.Helper()
	whole := sn.Scan(r, opt) // goes beside c
	defer whole.Close()
	var out bytes.Buffer
	give := func() {
		if out.Len() > 0 {
			out.WriteByte(' ')
		}
		if out.Write(whole.Key()); !opt.KeysOnly {
			fmt.Fprintf(&out, "=%s", whole.Value())
		}
	}
	for size := 0; ; size = (size + 1) % 7 {
		most := size * size
		n := kv.Skip(c, most)
		for range n {
			if !whole.Next() {
				t.Fatal("more keys are skipped than there are")
			}
			give()
		}
		if n > 0 && n == most && !bytes.Equal(c.Key(), whole.Key()) {
			t.Fatalf("after a skip at %q, want %q", c.Key(), whole.Key())
		}
		if n < most || !c.Next() {
			break
		}
		if !whole.Next() || !bytes.Equal(c.Key(), whole.Key()) ||
			!opt.KeysOnly && !bytes.Equal(c.Value(), whole.Value()) {
			t.Fatalf("behind a skip of %d: %q, want %q", n, c.Key(), whole.Key())
		}
		give()
	}
	if err := c.Err(); err != nil {
		t.Fatalf("scan: %v", err)
	}
	return out.String()
}

// drain returns the rest of a cursor.
func drain(t testing.TB, c kv.Cursor, opt kv.ScanOptions) string {
	t.Helper()
	var out bytes.Buffer
	for c.Next() {
		if out.Len() > 0 {
			out.WriteByte(' ')
		}
		if out.Write(c.Key()); !opt.KeysOnly {
			fmt.Fprintf(&out, "=%s", c.Value())
		}
	}
	if err := c.Err(); err != nil {
		t.Fatalf("scan: %v", err)
	}
	return out.String()
}

// All reads the newest state whole.
func All(t testing.TB, st kv.Store) string {
	t.Helper()
	sn := Begin(t, st)
	defer sn.Release()
	return Dump(t, sn, kv.Range{}, kv.ScanOptions{})
}

func get(t testing.TB, sn kv.Snapshot, key string) string {
	t.Helper()
	v, ok, err := sn.Get([]byte(key))
	if err != nil {
		t.Fatalf("get %s: %v", key, err)
	}
	if !ok {
		return "(absent)"
	}
	return string(v)
}

func want(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func wantErr(t testing.TB, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got error %v, want %v", what, err, want)
	}
}

func rng(start, end string) kv.Range {
	r := kv.Range{Start: []byte(start)}
	if end != "" {
		r.End = []byte(end)
	}
	return r
}

func keys(ks ...string) [][]byte {
	out := make([][]byte, len(ks))
	for i, k := range ks {
		out[i] = []byte(k)
	}
	return out
}

func sortWrites(ws []kv.Write) {
	slices.SortFunc(ws, func(a, b kv.Write) int { return bytes.Compare(a.Key, b.Key) })
}
