package engine_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// TestInputsThatKillTheReference runs what ends the reference's process. Each is answered with an error, but for a union
// cast that has a meaning: of <int | string> the second member takes what the first refuses, as for every other value.
func TestInputsThatKillTheReference(t *testing.T) {
	f, err := os.Open(filepath.Join(conformanceDir(t), "oracle-crashes.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	meaningful := map[string]string{"RETURN <int | string> (2.5dec);": "'2.5'"}
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
		last := res[len(res)-1]
		if want := meaningful[v.SQL]; want != "" {
			if last.Err != nil || last.Value.Text() != want {
				t.Errorf("%s: %v %v, want %s", v.SQL, last.Value.Text(), last.Err, want)
			}
		} else if !failed {
			t.Errorf("%s answers %s", v.SQL, last.Value.Text())
		}
	}
	if n == 0 {
		t.Error("no inputs")
	}
}
