package engine_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/dump/physical"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/bolt"
)

const viewTables = `DEFINE TABLE sale;
	DEFINE TABLE dear AS SELECT item, price FROM sale WHERE price > 50;
	DEFINE TABLE sums AS SELECT item, count() AS n, math::sum(price) AS total, math::min(price) AS least, math::max(price) AS most,
		math::mean(price) AS mean, math::stddev(price) AS spread, count(price > 90) AS high, math::sum(price) + count() AS both FROM sale WHERE price != 13 GROUP BY item;
	DEFINE TABLE whole AS SELECT count() AS n, math::max(price) AS most FROM sale GROUP ALL;
	DEFINE TABLE named AS SELECT string::uppercase(type::string(item)) AS name, price * 2 AS twice FROM sale;
	DEFINE TABLE now AS SELECT item, time::now() AS at FROM sale;
	DEFINE TABLE linked AS SELECT item.name AS name FROM sale`

// viewStore makes a store whose views have seen records come, change and go.
func viewStore(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "store")
	e := openBig(t, path)
	s := owner(t, e)
	run(t, s, viewTables)
	rnd := rand.New(rand.NewPCG(1, 1))
	texts := []string{"UPSERT sale:$ SET item = #, price = ¤", "UPSERT sale:$ SET item = #f, price = ¤", "UPSERT sale:$ SET item = #, price = ¤.5", "DELETE sale:$"}
	for range 400 {
		text := texts[min(rnd.IntN(8), 3)]
		if text == texts[3] && rnd.IntN(2) == 0 {
			text = texts[0]
		}
		for _, sign := range []string{"$", "#", "¤"} {
			text = strings.ReplaceAll(text, sign, string(rune('0'+rnd.IntN(9))))
		}
		run(t, s, text)
	}
	run(t, s, "UPSERT sale:100 SET item = 77, price = 1; UPSERT sale:101 SET item = 77, price = 99; UPSERT sale:102 SET item = 78, price = 60; UPSERT sale:103 SET price = 70")
	shut(t, e)
	return path
}

func viewFindings(t *testing.T, path string) (all []string) {
	t.Helper()
	rep, err := engine.Check(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range rep.Findings {
		if f.Kind == physical.FindView {
			all = append(all, f.Text)
		}
	}
	if len(rep.Skipped) != 2 {
		t.Errorf("not looked at: %q, want the views over time and links", rep.Skipped)
	}
	return all
}

// TestCheckOfViews: consistent views are not reported, after any history of the records; inconsistent ones are.
func TestCheckOfViews(t *testing.T) {
	path := viewStore(t)
	if got := viewFindings(t, path); len(got) > 0 {
		t.Fatalf("a sound store: %q", got)
	}
	for _, tc := range []struct {
		name string
		// spoil is asked about every pair: what to put in its place, nil to delete; or what it is.
		spoil func(k, v []byte) ([]byte, bool)
		want  string
	}{
		{"a row of a view is gone", deletes(key.ClassRecord, "twice"), "has no row of"},
		{"a group's row is gone", deletes(key.ClassRecord, "spread"), "the row of group"},
		{"the tallies of a group are gone", func(k, _ []byte) ([]byte, bool) {
			return nil, key.Class(k[0]) == key.ClassIndexData && len(k) > 18 && k[17] == 's'
		}, "it counts 0 records"},
		{"a record behind a view is gone", func(k, v []byte) ([]byte, bool) {
			return nil, key.Class(k[0]) == key.ClassRecord && bytes.Contains(v, []byte("price")) && !bytes.Contains(v, []byte("dear"))
		}, "no record accounts for its row"},
		{"the least value of a group is gone", func(k, _ []byte) ([]byte, bool) {
			return nil, key.Class(k[0]) == key.ClassIndexData && len(k) > 18 && k[17] == 'm'
		}, "is not what its records give"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := viewStore(t)
			spoilOne(t, path, tc.spoil)
			got := viewFindings(t, path)
			if len(got) == 0 || !strings.Contains(strings.Join(got, "\n"), tc.want) {
				t.Errorf("got %q, want one with %q", got, tc.want)
			}
			repaired := path + ".repaired"
			if _, err := engine.Repair(t.Context(), path, repaired, nil); err != nil {
				t.Fatal(err)
			}
			if got := viewFindings(t, repaired); len(got) > 0 {
				t.Errorf("after a repair: %q", got)
			}
		})
	}
}

// deletes spoils by deleting a record that has a field.
func deletes(c key.Class, field string) func(k, v []byte) ([]byte, bool) {
	return func(k, v []byte) ([]byte, bool) { return nil, key.Class(k[0]) == c && bytes.Contains(v, []byte(field)) }
}

// spoilOne changes the first pair that spoil wants changed.
func spoilOne(t *testing.T, path string, spoil func(k, v []byte) ([]byte, bool)) {
	t.Helper()
	st, err := bolt.Open(bolt.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	snap, err := st.Begin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var w []kv.Write
	for c := snap.Scan(kv.Range{}, kv.ScanOptions{}); c.Next() && len(w) == 0; {
		if v, ok := spoil(c.Key(), c.Value()); ok {
			w = append(w, kv.Write{Key: bytes.Clone(c.Key()), Value: v})
		}
	}
	snap.Release()
	if len(w) == 0 {
		t.Fatal("nothing to spoil")
	}
	if _, err := st.Commit(context.Background(), &kv.Batch{Writes: w}); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
}
