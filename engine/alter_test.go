package engine_test

import (
	"context"
	"io"
	"log/slog"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/auth"
)

// TestAlterOfTheNewerKinds: kinds that the recorded engine can not alter yet; INFO shows what became of them.
func TestAlterOfTheNewerKinds(t *testing.T) {
	for _, tc := range []struct{ define, alter, info, want string }{
		{"DEFINE FUNCTION fn::f() { 1 } COMMENT 'a'", "ALTER FUNCTION fn::f DROP COMMENT PERMISSIONS NONE",
			"(INFO FOR DB).functions.f", "DEFINE FUNCTION fn::f() { 1 } PERMISSIONS NONE"},
		{"DEFINE PARAM $p VALUE 1", "ALTER PARAM $p VALUE 1 + 1 COMMENT 'c'", "(INFO FOR DB).params.p", "DEFINE PARAM $p VALUE 2 COMMENT 'c' PERMISSIONS FULL"},
		{"DEFINE ANALYZER a TOKENIZERS blank FILTERS lowercase", "ALTER ANALYZER a DROP FILTERS TOKENIZERS class",
			"(INFO FOR DB).analyzers.a", "DEFINE ANALYZER a TOKENIZERS CLASS"},
		{"DEFINE EVENT e ON t WHEN true THEN { 1 }", "ALTER EVENT e ON t WHEN $event = 'CREATE' ASYNC RETRY 2 COMMENT 'c'", "(INFO FOR TABLE t).events.e",
			"DEFINE EVENT e ON t ASYNC RETRY 2 MAXDEPTH 3 WHEN $event = 'CREATE' THEN { 1 } COMMENT 'c'"},
		{"DEFINE BUCKET b BACKEND 'memory'", "ALTER BUCKET b READONLY COMMENT 'c'", "(INFO FOR DB).buckets.b",
			"DEFINE BUCKET b READONLY BACKEND 'memory' PERMISSIONS FULL COMMENT 'c'"},
		{"DEFINE ACCESS a ON DATABASE TYPE BEARER FOR USER", "ALTER ACCESS a ON DATABASE DURATION FOR TOKEN 5m COMMENT 'c'", "(INFO FOR DB).accesses.a",
			"DEFINE ACCESS a ON DATABASE TYPE BEARER FOR USER DURATION FOR GRANT 4w2d, FOR TOKEN 5m, FOR SESSION NONE COMMENT 'c'"},
		{"DEFINE USER u ON DATABASE PASSHASH 'x' ROLES OWNER", "ALTER USER u ON DATABASE DROP ROLES DURATION FOR SESSION 1h", "(INFO FOR DB).users.u",
			"DEFINE USER u ON DATABASE PASSHASH 'x' ROLES VIEWER DURATION FOR TOKEN 1h, FOR SESSION 1h"},
	} {
		caps := auth.DefaultCapabilities()
		caps.Experimental.Allow = auth.NewSet("files")
		e, err := engine.Open(t.Context(), "memory", engine.Options{Newer: true, Capabilities: caps, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := e.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
		s := owner(t, e)
		run(t, s, tc.define+"; "+tc.alter)
		if got := run(t, s, "RETURN "+tc.info)[0].Value.Str(); got != tc.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tc.alter, got, tc.want)
		}
		if res, err := s.Execute(t.Context(), "ALTER FUNCTION IF EXISTS fn::nope COMMENT 'x'; ALTER FUNCTION fn::nope COMMENT 'x'", nil); err != nil ||
			res[0].Err != nil || res[1].Err == nil {
			t.Errorf("of what is missing: %v, %v", res, err)
		}
	}
}
