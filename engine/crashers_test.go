package engine_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// TestInputsThatKillTheReference runs what ends the reference's process. Each is answered with an error.
func TestInputsThatKillTheReference(t *testing.T) {
	f, err := os.Open(filepath.Join(conformanceDir(t), "oracle-crashes.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := owner(t, openQuiet(t))
	n := 0
	for lines := bufio.NewScanner(f); lines.Scan(); n++ {
		var v struct{ SQL string }
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		res, err := s.Execute(t.Context(), v.SQL, nil)
		if err != nil {
			continue // it does not even parse
		}
		failed := false
		for _, r := range res {
			failed = failed || r.Err != nil
		}
		if !failed {
			t.Errorf("%s answers %s", v.SQL, res[len(res)-1].Value.Text())
		}
	}
	if n == 0 {
		t.Error("no inputs")
	}
}
