package kvtest

import (
	"testing"

	"github.com/nacredb/nacre/engine/kv"
)

func testEmpty(t *testing.T, st kv.Store) {
	sn := Begin(t, st)
	defer sn.Release()
	want(t, "get", get(t, sn, "a"), "(absent)")
	want(t, "scan", Dump(t, sn, kv.Range{}, kv.ScanOptions{}), "")
	want(t, "scan back", Dump(t, sn, kv.Range{}, kv.ScanOptions{Reverse: true}), "")
}

func testReadBack(t *testing.T, st kv.Store) {
	Put(t, st, "a", "1", "b", "2")
	want(t, "two", All(t, st), "a=1 b=2")
	Put(t, st, "a", "-", "b", "3", "c", "4")
	want(t, "after delete and overwrite", All(t, st), "b=3 c=4")
	sn := Begin(t, st)
	defer sn.Release()
	want(t, "deleted", get(t, sn, "a"), "(absent)")
	want(t, "overwritten", get(t, sn, "b"), "3")
	want(t, "prefix of a key", get(t, sn, ""), "(absent)")
}

func testEmptyValue(t *testing.T, st kv.Store) {
	Put(t, st, "a", "", "b", "1")
	Put(t, st, "c", "1")
	sn := Begin(t, st)
	defer sn.Release()
	v, ok, err := sn.Get([]byte("a"))
	if err != nil || !ok || len(v) != 0 {
		t.Errorf("get: got %q, %v, %v; want an empty value", v, ok, err)
	}
	want(t, "scan", Dump(t, sn, kv.Range{}, kv.ScanOptions{}), "a= b=1 c=1")
}

func testScan(t *testing.T, st kv.Store) {
	Put(t, st, "a", "1", "b", "2", "c", "3", "d", "4")
	Put(t, st, "bb", "5", "c", "-")
	sn := Begin(t, st)
	defer sn.Release()
	for _, tc := range []struct {
		start, end string
		opt        kv.ScanOptions
		want       string
	}{
		{"", "", kv.ScanOptions{}, "a=1 b=2 bb=5 d=4"},
		{"", "", kv.ScanOptions{Reverse: true}, "d=4 bb=5 b=2 a=1"},
		{"b", "d", kv.ScanOptions{}, "b=2 bb=5"},
		{"b", "d", kv.ScanOptions{Reverse: true}, "bb=5 b=2"},
		{"ab", "bc", kv.ScanOptions{}, "b=2 bb=5"},
		{"ab", "bc", kv.ScanOptions{Reverse: true}, "bb=5 b=2"},
		{"b", "", kv.ScanOptions{Limit: 2}, "b=2 bb=5"},
		{"", "bb", kv.ScanOptions{Reverse: true, Limit: 1}, "b=2"},
		{"", "", kv.ScanOptions{KeysOnly: true}, "a b bb d"},
		{"e", "", kv.ScanOptions{}, ""},
		{"", "a", kv.ScanOptions{Reverse: true}, ""},
	} {
		want(t, tc.start+".."+tc.end, Dump(t, sn, rng(tc.start, tc.end), tc.opt), tc.want)
	}
}

func testScanNothing(t *testing.T, st kv.Store) {
	Put(t, st, "a", "1", "b", "2")
	sn := Begin(t, st)
	defer sn.Release()
	for _, r := range []kv.Range{rng("b", "a"), rng("a", "a"), rng("aa", "ab")} {
		want(t, "forward", Dump(t, sn, r, kv.ScanOptions{}), "")
		want(t, "reverse", Dump(t, sn, r, kv.ScanOptions{Reverse: true}), "")
	}
	want(t, "end of zero length", Dump(t, sn, kv.Range{End: []byte{}}, kv.ScanOptions{}), "")
}

func testSnapshotIsStable(t *testing.T, st kv.Store) {
	Put(t, st, "a", "1", "b", "2")
	old := Begin(t, st)
	c := old.Scan(kv.Range{}, kv.ScanOptions{})
	if !c.Next() || string(c.Key()) != "a" {
		t.Fatal("the scan does not start at a")
	}
	Put(t, st, "a", "9", "b", "-", "c", "3")
	newer := Begin(t, st)
	Put(t, st, "d", "4")
	want(t, "old", Dump(t, old, kv.Range{}, kv.ScanOptions{}), "a=1 b=2")
	want(t, "old get", get(t, old, "b"), "2")
	want(t, "newer", Dump(t, newer, kv.Range{}, kv.ScanOptions{}), "a=9 c=3")
	if !c.Next() || string(c.Key()) != "b" || string(c.Value()) != "2" || c.Next() || c.Err() != nil {
		t.Errorf("the running scan changed: %v", c.Err())
	}
	c.Close()
	old.Release()
	want(t, "newer after release of old", Dump(t, newer, kv.Range{}, kv.ScanOptions{}), "a=9 c=3")
	newer.Release()
	newer.Release() // a second one does nothing
	want(t, "now", All(t, st), "a=9 c=3 d=4")
}

func (s suite) testVersions(t *testing.T, st kv.Store) {
	sn := Begin(t, st)
	first := sn.Version()
	sn.Release()
	v1 := Put(t, st, "a", "1")
	v2 := Put(t, st, "a", "2")
	if v1 <= first || v2 <= v1 {
		t.Errorf("versions: %d, %d, %d", first, v1, v2)
	}
	sn = Begin(t, st)
	defer sn.Release()
	if sn.Version() < v2 || s.counts && sn.Version() != v2 {
		t.Errorf("snapshot: got version %d, want %d", sn.Version(), v2)
	}
	if now := st.Stats(); now.Version != v2 || now.Commits != 2 || now.Snapshots != 1 {
		t.Errorf("stats: %+v", now)
	}
}
