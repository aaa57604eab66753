package engine_test

import (
	"testing"

	"github.com/nacredb/nacre/internal/vectors"
)

// TestInputsThatKillTheReference runs what ends the reference's process. Each is answered with an error.
func TestInputsThatKillTheReference(t *testing.T) {
	s := owner(t, openQuiet(t))
	for _, v := range vectors.Load(t, "crashes") {
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
}
