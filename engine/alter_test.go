package engine_test

import (
	"context"
	"io"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/errs"
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
			"DEFINE USER u ON DATABASE PASSHASH '[REDACTED]' ROLES VIEWER DURATION FOR TOKEN 1h, FOR SESSION 1h"},
		{"DEFINE CONFIG GRAPHQL TABLES INCLUDE a, b FUNCTIONS NONE DEPTH 3", "ALTER CONFIG GRAPHQL DROP TABLES DROP DEPTH COMPLEXITY 5",
			"(INFO FOR DB).configs.GraphQL", "GRAPHQL TABLES NONE FUNCTIONS NONE COMPLEXITY 5"},
		{"DEFINE CONFIG API MIDDLEWARE api::timeout(1s) PERMISSIONS NONE", "ALTER CONFIG API DROP MIDDLEWARE PERMISSIONS WHERE true", "(INFO FOR DB).configs.API",
			"API PERMISSIONS WHERE true"},
		{"DEFINE CONFIG OVERWRITE DEFAULT NAMESPACE a DATABASE b", "ALTER CONFIG DEFAULT NAMESPACE c DROP DATABASE", "(INFO FOR ROOT).defaults.namespace", "c"},
		{"DEFINE API '/x' FOR get, post THEN { 1 } FOR any PERMISSIONS NONE", "ALTER API '/x' FOR put THEN { 2 } DROP FOR get COMMENT 'c'", "(INFO FOR DB).apis['/x']",
			"DEFINE API '/x' FOR any PERMISSIONS NONE FOR post PERMISSIONS FULL THEN { 1 } FOR put PERMISSIONS FULL THEN { 2 } COMMENT 'c'"},
		{"DEFINE SEQUENCE s TIMEOUT 1s", "ALTER SEQUENCE s DROP TIMEOUT", "(INFO FOR DB).sequences.s", "DEFINE SEQUENCE s BATCH 1000 START 0"},
	} {
		caps := auth.DefaultCapabilities()
		caps.Experimental.Allow = auth.NewSet("files")
		e, err := engine.Open(t.Context(), "memory", engine.Options{Capabilities: caps, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
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

// TestLaterStatements holds the answers of what later releases than the recorded one have.
func TestLaterStatements(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"CREATE a:1, a:2; RELATE OR UPDATE a:1->k:1->a:2 SET n = 1; RELATE OR UPDATE a:1->k:1->a:2 SET m = 2", "[{ id: k:1, in: a:1, m: 2, n: 1, out: a:2 }]"},
		{"CREATE or:1; RELATE or:1->update:1->or:2", "[{ id: update:1, in: or:1, out: or:2 }]"},
		{"DEFINE CONFIG GRAPHQL NONE; REMOVE CONFIG GRAPHQL; RETURN (INFO FOR DB).configs", "{  }"},
		{"REMOVE CONFIG GRAPHQL", "ERR The config for graphql does not exist"},
		{"REMOVE CONFIG IF EXISTS GRAPHQL", "NONE"},
		{"DEFINE CONFIG DEFAULT NAMESPACE a; REMOVE CONFIG DEFAULT; RETURN (INFO FOR ROOT).defaults", "{  }"},
		{"DEFINE MODEL ml::x<1.0.0>", "NONE"},
		{"REMOVE MODEL ml::a::x<1.0.0>", "ERR The model 'ml::a::x<1.0.0>' does not exist"},
		{"REMOVE MODULE IF EXISTS mod::x", "NONE"},
		{"DEFINE INDEX i ON t FIELDS a DEFER; CREATE t:1 SET a = 1; SELECT VALUE id FROM t WHERE a = 1", "[t:1]"},
	} {
		if got := answerOf(t, owner(t, openQuiet(t)), tc.text); got != tc.want {
			t.Errorf("%s\n got  %s\n want %s", tc.text, got, tc.want)
		}
	}
}

// TestDefaultsBelongToTheStore: a database's owner may neither alter nor remove the default namespace of all.
func TestDefaultsBelongToTheStore(t *testing.T) {
	e := openQuiet(t)
	root := owner(t, e)
	run(t, root, "DEFINE CONFIG DEFAULT NAMESPACE a")
	s := e.SessionAs(auth.Principal{Level: auth.DatabaseUser, NS: "test", DB: "test", Roles: auth.Owner}, "test", "test")
	for _, text := range []string{"REMOVE CONFIG DEFAULT", "ALTER CONFIG DEFAULT DROP NAMESPACE"} {
		res, err := s.Execute(t.Context(), text, nil)
		if err != nil {
			t.Fatal(err)
		}
		if res[0].Err == nil || res[0].Err.Kind != errs.KindNotAllowed {
			t.Errorf("%s: %v", text, res[0].Err)
		}
	}
	if got := answerOf(t, root, "RETURN (INFO FOR ROOT).defaults.namespace"); got != "'a'" {
		t.Errorf("the default namespace is %s", got)
	}
}

// TestTheDefaultPlaceOfTheFirstStart: it is a config like others from the start, and stays away once it is removed.
func TestTheDefaultPlaceOfTheFirstStart(t *testing.T) {
	path := "bolt://" + filepath.Join(t.TempDir(), "data") + "?sync=never"
	open := func() (*engine.Engine, *engine.Session) {
		e, err := engine.Open(t.Context(), path, engine.Options{Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		return e, e.RootSession()
	}
	e, s := open()
	for _, tc := range []struct{ text, want string }{
		{"RETURN (INFO FOR ROOT).defaults", "{ database: 'main', namespace: 'main' }"},
		{"DEFINE CONFIG DEFAULT NAMESPACE a", "ERR The config for default already exists"},
		{"DEFINE CONFIG IF NOT EXISTS DEFAULT NAMESPACE a; RETURN (INFO FOR ROOT).defaults",
			"{ database: 'main', namespace: 'main' }"},
		{"ALTER CONFIG DEFAULT DROP DATABASE; RETURN (INFO FOR ROOT).defaults", "{ namespace: 'main' }"},
		{"REMOVE CONFIG DEFAULT; RETURN (INFO FOR ROOT).defaults", "{  }"},
		{"REMOVE CONFIG DEFAULT", "ERR The config for default does not exist"},
		{"REMOVE CONFIG IF EXISTS DEFAULT", "NONE"},
	} {
		if got := answerOf(t, s, tc.text); got != tc.want {
			t.Errorf("%s\n got  %s\n want %s", tc.text, got, tc.want)
		}
	}
	if err := e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	e, s = open()
	defer func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	if got := answerOf(t, s, "RETURN (INFO FOR ROOT).defaults"); got != "{  }" {
		t.Errorf("after another start the defaults are %s", got)
	}
	if got := answerOf(t, s, "DEFINE CONFIG DEFAULT NAMESPACE a; RETURN (INFO FOR ROOT).defaults"); got !=
		"{ namespace: 'a' }" {
		t.Errorf("a new config: %s", got)
	}
}
