package engine_test

import (
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/value"
)

// codeEngine is an engine with the database n/d, a record user user:1 and an open table t with a record.
func codeEngine(t *testing.T) (*engine.Engine, *engine.Session) {
	t.Helper()
	e := openQuiet(t)
	root := e.RootSession()
	run(t, root, `USE NS n DB d; DEFINE TABLE user PERMISSIONS FULL; CREATE user:1; DEFINE TABLE t PERMISSIONS FULL; CREATE t:1;
		DEFINE TABLE other PERMISSIONS FULL; DEFINE TABLE log`)
	return e, root
}

// as is a session of a principal in n/d.
func as(e *engine.Engine, level auth.Level, roles auth.Roles) *engine.Session {
	return e.SessionAs(someone(level, roles), "n", "d")
}

// try runs a text, whose statements may fail, and gives the errors.
func try(t *testing.T, s *engine.Session, text string) string {
	t.Helper()
	res, err := s.Execute(t.Context(), text, value.NewObject())
	if err != nil {
		return err.Error()
	}
	var out []string
	for _, r := range res {
		if r.Err != nil {
			out = append(out, r.Err.Error())
		}
	}
	return strings.Join(out, "; ")
}

// TestStoredCodeReachesNothingAboveItsDatabase: an EDITOR of a database plants code, others trigger it.
func TestStoredCodeReachesNothingAboveItsDatabase(t *testing.T) {
	for _, evil := range []string{
		"DEFINE USER evil ON ROOT PASSHASH '$argon2id$v=19$m=8,t=1,p=1$YWFhYWFhYWE$R+EBtZV2YaUaAaoBUg8+RQ' ROLES OWNER",
		"DEFINE NAMESPACE evil", "DEFINE DATABASE evil", "REMOVE NAMESPACE victim", "ALTER SYSTEM QUERY_TIMEOUT 1s",
		"CREATE log SET evil = (INFO FOR ROOT)", "CREATE log SET evil = (INFO FOR NS)",
		"DEFINE USER evil ON DATABASE PASSWORD 'x' ROLES OWNER",
	} {
		for _, tc := range []struct{ define, trigger string }{
			{"DEFINE EVENT c ON t THEN { EVIL }", "UPDATE t:1 SET a = rand()"},
			{"DEFINE FIELD r ON other TYPE record<t> REFERENCE ON DELETE THEN { EVIL }; CREATE t:2; CREATE other:1 SET r = t:2", "DELETE t:2"},
			{"DEFINE FIELD c ON t VALUE { EVIL; 1 }", "UPDATE t:1 SET a = rand()"},
			{"DEFINE FIELD c ON t ASSERT { EVIL; true }", "UPDATE t:1 SET a = rand(), c = 1"},
			{"DEFINE FIELD c ON t DEFAULT { EVIL; 1 }", "CREATE t"},
			{"DEFINE FIELD c ON t COMPUTED { EVIL; 1 }", "SELECT * FROM t"},
			{"DEFINE FUNCTION fn::c() { EVIL }", "RETURN fn::c()"},
			{"DEFINE FUNCTION fn::c() { EVIL }; DEFINE FUNCTION fn::b() { fn::c() }", "RETURN fn::b()"},
			{"DEFINE FUNCTION fn::c() { || { EVIL } }", "LET $c = fn::c(); $c(); RETURN [1].map($c)"},
			{"DEFINE FIELD c ON t COMPUTED || { EVIL }", "LET $c = t:1.c; $c()"},
			{"DEFINE FUNCTION fn::c() { 1 } PERMISSIONS WHERE { EVIL; true }", "RETURN fn::c()"},
			{"DEFINE PARAM $c VALUE 1 PERMISSIONS WHERE { EVIL; true }", "RETURN $c"},
			{"DEFINE TABLE OVERWRITE t PERMISSIONS FOR select WHERE { EVIL; true }", "SELECT * FROM t"},
		} {
			e, root := codeEngine(t)
			run(t, root, "DEFINE NAMESPACE victim")
			define := strings.ReplaceAll(tc.define, "EVIL", evil)
			ed := as(e, auth.DatabaseUser, auth.Editor)
			if err := try(t, ed, define); err != "" {
				t.Fatalf("%s: %s", define, err)
			}
			for _, who := range []*engine.Session{as(e, auth.RecordUser, 0), ed, as(e, auth.DatabaseUser, auth.Owner), root} {
				_ = try(t, who, tc.trigger)
			}
			got := one(t, root, `RETURN [(INFO FOR ROOT).users.keys(), (INFO FOR ROOT).namespaces.keys(), (INFO FOR NS).databases.keys(),
				(INFO FOR DB).users.keys(), (INFO FOR ROOT).config, (SELECT * FROM log)]`)
			if strings.Contains(got, "evil") || !strings.Contains(got, "victim") || !strings.Contains(got, "QUERY_TIMEOUT: NONE") {
				t.Errorf("%s\n\tleaves %s", define, got)
			}
		}
	}
}

// TestStoredCodeKeepsTheAuthorityOfItsDefiner: what an OWNER stores may change definitions for an OWNER, in its database.
func TestStoredCodeKeepsTheAuthorityOfItsDefiner(t *testing.T) {
	const user = "DEFINE USER OVERWRITE made ON DATABASE PASSHASH 'x' ROLES VIEWER"
	for _, tc := range []struct {
		name, define, change string
		by, alters, trigger  auth.Roles
		want                 bool
	}{
		{"owner for an owner", "DEFINE FUNCTION fn::c() { " + user + " }", "", auth.Owner, 0, auth.Owner, true},
		{"owner for an editor", "DEFINE FUNCTION fn::c() { " + user + " }", "", auth.Owner, 0, auth.Editor, false},
		{"editor for an owner", "DEFINE FUNCTION fn::c() { " + user + " }", "", auth.Editor, 0, auth.Owner, false},
		{"an owner's, altered by an editor", "DEFINE FUNCTION fn::c() { " + user + " }", "ALTER FUNCTION fn::c COMMENT 'x'", auth.Owner, auth.Editor, auth.Owner, false},
		{"an editor's, altered by an owner", "DEFINE FUNCTION fn::c() { " + user + " }", "ALTER FUNCTION fn::c COMMENT 'x'", auth.Editor, auth.Owner, auth.Owner, false},
		{"an editor's, defined anew by an owner", "DEFINE FUNCTION fn::c() { 1 }", "DEFINE FUNCTION OVERWRITE fn::c() { " + user + " }", auth.Editor, auth.Owner, auth.Owner, true},
		{"defined by an editor's code for an owner", "DEFINE FUNCTION fn::make() { DEFINE FUNCTION OVERWRITE fn::c() { " + user + " } }", "fn::make()", auth.Editor, auth.Owner, auth.Owner, false},
		{"defined by an owner's code for an owner", "DEFINE FUNCTION fn::make() { DEFINE FUNCTION OVERWRITE fn::c() { " + user + " } }", "fn::make()", auth.Owner, auth.Owner, auth.Owner, true},
	} {
		e, root := codeEngine(t)
		run(t, as(e, auth.DatabaseUser, tc.by), tc.define)
		if tc.change != "" {
			run(t, as(e, auth.DatabaseUser, tc.alters), tc.change)
		}
		err := try(t, as(e, auth.DatabaseUser, tc.trigger), "RETURN fn::c()")
		got := one(t, root, "RETURN (INFO FOR DB).users.keys()") == "['made']"
		if got != tc.want || (err == "") != tc.want {
			t.Errorf("%s: defined %v, %s", tc.name, got, err)
		}
	}
	e, root := codeEngine(t)
	run(t, as(e, auth.DatabaseUser, auth.Editor), "DEFINE FUNCTION fn::migrate() { DEFINE TABLE made; DEFINE FIELD f ON made TYPE int; CREATE made:1 SET f = 1 }")
	run(t, as(e, auth.DatabaseUser, auth.Editor), "fn::migrate()")
	if got := one(t, root, "SELECT * FROM made"); got != "[{ f: 1, id: made:1 }]" {
		t.Errorf("after fn::migrate(): %s", got)
	}
}
