package engine_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine"
)

// TestDamagedIndexEntry: a damaged key in data.db is said to be one by a query that comes to it, and the
// table can be removed.
func TestDamagedIndexEntry(t *testing.T) {
	ctx, dir := t.Context(), filepath.Join(t.TempDir(), "db")
	run := func(text string) (last engine.Result) {
		t.Helper()
		e, err := engine.Open(ctx, "bolt://"+dir, engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		res, err := e.RootSession().Execute(ctx, "USE NS n DB d; "+text, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Close(ctx); err != nil {
			t.Fatal(err)
		}
		return res[len(res)-1]
	}
	made := run("DEFINE TABLE person; DEFINE INDEX name ON person FIELDS name; " +
		"FOR $i IN 1000..1300 { CREATE type::record('person', $i) SET name = 'somebody' + <string>$i }; RETURN 1")
	if made.Err != nil {
		t.Fatal(made.Err)
	}
	file := filepath.Join(dir, "data.db")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	entry := []byte("somebody1100\x00") // the record has no zero behind the name
	if bytes.Count(data, entry) != 1 {
		t.Fatalf("the entry is there %d times", bytes.Count(data, entry))
	}
	data[bytes.Index(data, entry)+len(entry)-2] = '/' // it stays between its neighbours
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	found := run("SELECT VALUE id FROM person WHERE name > 'somebody1098' AND name < 'somebody1102'")
	if found.Err == nil || !strings.Contains(found.Err.Error(), "Stored data is damaged") {
		t.Errorf("search: %v, %v", found.Value, found.Err)
	}
	if gone := run("REMOVE TABLE person"); gone.Err != nil {
		t.Errorf("removal: %v", gone.Err)
	}
	if left := run("DEFINE TABLE person; SELECT * FROM person WHERE name > 'somebody1098'"); left.Err != nil ||
		left.Value.String() != "[]" {
		t.Errorf("left: %v, %v", left.Value, left.Err)
	}
}
