package engine_test

import (
	"testing"

	"github.com/nacredb/nacre/engine/auth"
)

// TestWhatOpensADatabaseTakesAnOwner runs definitions as an EDITOR and as an OWNER of the database.
func TestWhatOpensADatabaseTakesAnOwner(t *testing.T) {
	for _, tc := range []struct {
		text   string
		editor bool
	}{
		{"DEFINE SEQUENCE s", false},
		{"DEFINE CONFIG GRAPHQL AUTO", false},
		{"DEFINE API '/x' FOR get THEN { {} }", false},
		{"DEFINE BUCKET b BACKEND 'memory'", false},
		{"REMOVE SEQUENCE IF EXISTS s", false},
		{"DEFINE PARAM $p VALUE 1", true},
		{"DEFINE TABLE t", true},
	} {
		for role, want := range map[auth.Roles]bool{auth.Editor: tc.editor, auth.Owner: true, auth.Viewer: false} {
			e := openQuiet(t)
			owner(t, e)
			s := e.SessionAs(auth.Principal{Level: auth.DatabaseUser, NS: "test", DB: "test", Roles: role}, "test", "test")
			res, err := s.Execute(t.Context(), tc.text, nil)
			if err != nil {
				t.Fatalf("%s: %v", tc.text, err)
			}
			if got := res[0].Err == nil; got != want {
				t.Errorf("%s as %v: %v", tc.text, role.RoleNames(), res[0].Err)
			}
		}
	}
}
