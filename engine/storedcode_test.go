package engine_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/dump/physical"
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
			{"DEFINE FUNCTION OVERWRITE fn::x() { EVIL }; DEFINE FIELD c ON t COMPUTED { fn::x(); 1 }", "SELECT * FROM t"},
			{"DEFINE FUNCTION fn::c() { EVIL }", "RETURN fn::c()"},
			{"DEFINE FUNCTION fn::c() { EVIL }; DEFINE FUNCTION fn::b() { fn::c() }", "RETURN fn::b()"},
			{"DEFINE FUNCTION fn::c() { || { EVIL } }", "LET $c = fn::c(); $c(); RETURN [1].map($c)"},
			{"DEFINE FUNCTION OVERWRITE fn::x() { || { EVIL } }; DEFINE FIELD c ON t COMPUTED fn::x()", "LET $c = t:1.c; $c()"},
			{"DEFINE FUNCTION fn::c() { 1 } PERMISSIONS WHERE { EVIL; true }", "RETURN fn::c()"},
			{"DEFINE FUNCTION OVERWRITE fn::x() { EVIL }; DEFINE PARAM $c VALUE 1 PERMISSIONS WHERE { fn::x(); true }", "RETURN $c"},
			{"DEFINE FUNCTION OVERWRITE fn::x() { EVIL }; DEFINE TABLE OVERWRITE t PERMISSIONS FOR select WHERE { fn::x(); true }",
				"SELECT * FROM t"},
		} {
			e, root := codeEngine(t)
			run(t, root, "DEFINE NAMESPACE victim")
			define := strings.ReplaceAll(tc.define, "EVIL", evil)
			ed := as(e, auth.DatabaseUser, auth.Editor)
			if strings.Contains(define, "COMPUTED") || strings.Contains(define, "PERMISSIONS") {
				define = "OPTION IMPORT; " + define // else it is refused
			}
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

// TestDefinitionsSeeTheirOwnVariables: a record user sets what a definition asks for. The definitions ask in a closure.
func TestDefinitionsSeeTheirOwnVariables(t *testing.T) {
	const set = `LET $admins = [user:1]; LET $this = { owner: user:1, id: adm:1 }; LET $parent = { owner: user:1 };
		LET $value = user:1; LET $before = { owner: user:1 }; LET $x = user:1; LET $hook = |$v| true; `
	for _, define := range []string{
		"DEFINE TABLE adm PERMISSIONS FOR select, update, delete WHERE ['a'].any(|$r| $auth.id IN $admins)",
		"DEFINE TABLE adm PERMISSIONS FOR select, update, delete WHERE [1].any(|$r| $this.owner = $auth.id)",
		"DEFINE TABLE adm PERMISSIONS FOR select, update, delete WHERE (SELECT VALUE [1].any(|$r| $parent.owner = $auth.id) FROM ONLY 1)",
		"DEFINE TABLE adm PERMISSIONS FOR select, update, delete WHERE [1].any(|$r| $before.owner = $auth.id)",
		"DEFINE FUNCTION fn::admin() { [1].any(|$r| $auth.id IN $admins) }; DEFINE TABLE adm PERMISSIONS FOR select, update, delete WHERE fn::admin()",
		"DEFINE FUNCTION fn::admin() { |$v| $v IN $admins }; DEFINE TABLE adm PERMISSIONS FOR select, update, delete WHERE { LET $f = fn::admin(); $f($auth.id) }",
		"DEFINE TABLE adm PERMISSIONS FOR select, update, delete WHERE { LET $f = || { LET $g = || $auth.id IN $admins; $g() }; $f() }",
		"DEFINE TABLE adm PERMISSIONS FULL; DEFINE FIELD c ON adm PERMISSIONS FOR select WHERE [1].any(|$r| $auth.id IN $admins)",
	} {
		e, root := codeEngine(t)
		run(t, root, "DEFINE PARAM $admins VALUE [user:2]; "+define+"; CREATE adm:1 SET c = 'canary', owner = user:2")
		low := as(e, auth.RecordUser, 0)
		for _, text := range []string{set + "SELECT * FROM adm; UPDATE adm SET c = 'x'; DELETE adm",
			"RETURN fn::c(|$r| { SELECT * FROM adm })", "{ " + set + " SELECT * FROM adm; UPDATE adm:1 SET c = 'x' }"} {
			res, err := low.Execute(t.Context(), text, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range res {
				if strings.Contains(r.Value.Text(), "canary") {
					t.Errorf("%s\n\tshows %s", define, r.Value.Text())
				}
			}
		}
		if got := one(t, root, "SELECT VALUE c FROM adm"); !strings.Contains(define, "FULL") && got != "['canary']" {
			t.Errorf("%s\n\tleaves %s", define, got)
		}
	}
}

// TestClosuresOfCallersAreNotElevated: a definition calls what the caller hands in.
func TestClosuresOfCallersAreNotElevated(t *testing.T) {
	const hook = "LET $hook = |$v| { LET $seen = (SELECT VALUE c FROM hid); CREATE log SET evil = $seen; UPDATE hid SET c = 'evil'; $seen }; "
	for _, tc := range []struct{ define, trigger string }{
		{"DEFINE TABLE adm PERMISSIONS FOR select WHERE $hook(1); CREATE adm:1", "SELECT * FROM adm"},
		{"DEFINE TABLE adm PERMISSIONS FOR create WHERE [1].map($hook)", "CREATE adm"},
		{"DEFINE TABLE adm PERMISSIONS FULL; DEFINE EVENT e ON adm THEN { CREATE log SET x = $hook(1), y = [1].map($hook) }", "CREATE adm"},
		{"DEFINE TABLE adm PERMISSIONS FULL; DEFINE FIELD c ON adm VALUE $hook(1)", "CREATE adm; SELECT * FROM adm"},
		{"DEFINE FUNCTION fn::c($f: any) { $f(1) }", "RETURN fn::c($hook)"},
		{"DEFINE FUNCTION fn::c() { 1 } PERMISSIONS WHERE $hook(1)", "RETURN fn::c()"},
		{"DEFINE FUNCTION fn::p($f: any) { $f(1) != [] }; DEFINE TABLE adm PERMISSIONS FOR select WHERE fn::p($hook); CREATE adm:1", "SELECT * FROM adm"},
	} {
		for _, wrap := range []string{"%", "{ % }"} {
			e, root := codeEngine(t)
			run(t, root, "DEFINE TABLE hid PERMISSIONS NONE; CREATE hid:1 SET c = 'canary'; "+tc.define)
			res, err := as(e, auth.RecordUser, 0).Execute(t.Context(), strings.ReplaceAll(wrap, "%", hook+tc.trigger), nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range res {
				if strings.Contains(r.Value.Text(), "canary") || r.Err != nil && strings.Contains(r.Err.Error(), "canary") {
					t.Errorf("%s\n\tshows %s %v", tc.define, r.Value.Text(), r.Err)
				}
			}
			if got := one(t, root, "RETURN [(SELECT * FROM hid), (SELECT VALUE evil FROM log)]"); !strings.Contains(got, "canary") ||
				strings.Contains(got, "evil") || strings.Count(got, "canary") != 1 {
				t.Errorf("%s\n\tleaves %s", tc.define, got)
			}
		}
	}
}

// TestAClosureStaysInTheDatabaseOfItsCode: an OWNER of one database hands a closure to a root user, who goes elsewhere.
func TestAClosureStaysInTheDatabaseOfItsCode(t *testing.T) {
	e, root := codeEngine(t)
	run(t, as(e, auth.DatabaseUser, auth.Owner), "DEFINE FUNCTION fn::c() { || (SELECT VALUE c FROM hid) }")
	run(t, root, "CREATE hid:1 SET c = 'mine'; USE NS n DB e; CREATE hid:1 SET c = 'canary'; USE NS n DB d")
	if got := one(t, root, "{ LET $c = fn::c(); $c() }"); got != "['mine']" {
		t.Errorf("in its own database: %s", got)
	}
	if err := try(t, root, "LET $c = fn::c(); USE NS n DB e; $c()"); !strings.Contains(err, "Not enough permissions") {
		t.Errorf("in another database: %s", err)
	}
	run(t, as(e, auth.DatabaseUser, auth.Owner), "DEFINE FUNCTION fn::d() { || { DEFINE TABLE evil; CREATE evil:1 } }")
	run(t, root, "USE NS n DB d; LET $d = fn::d(); CREATE hid:2 SET c = $d(); REMOVE TABLE evil")
	err := try(t, root, "LET $d = fn::d(); USE NS n DB e; CREATE hid:2 SET c = $d()")
	if !strings.Contains(err, "Not enough permissions") {
		t.Errorf("in another database: %s", err)
	}
	if got := one(t, root, "RETURN object::keys((INFO FOR DB).tables)"); got != "['hid']" {
		t.Errorf("it has made %s", got)
	}
}

// TestCredentialsDoNotHideParams: what a client sends to SIGNUP and SIGNIN comes after DEFINE PARAM.
func TestCredentialsDoNotHideParams(t *testing.T) {
	e, root := codeEngine(t)
	run(t, root, `DEFINE PARAM $role VALUE 'user'; DEFINE PARAM $tenants VALUE ['acme'];
		CREATE user:7 SET pass = 'r', tenant = 'other';
		DEFINE ACCESS up ON DATABASE TYPE RECORD SIGNUP (CREATE user SET role = $role, roles = [1].map(|$x| $role), event = $event, value = $value);
		DEFINE ACCESS in ON DATABASE TYPE RECORD SIGNIN (SELECT * FROM user WHERE pass = $pass AND tenant IN $tenants)
			AUTHENTICATE { IF $tenants != ['acme'] { THROW 'hidden' }; $auth }`)
	up := credentials("NS", "n", "DB", "d", "AC", "up", "role", "admin", "event", "party", "value", "v")
	if _, err := e.Session().Signup(t.Context(), up); err != nil {
		t.Fatal(err)
	}
	if got := one(t, root, "SELECT role, roles, event, value FROM user WHERE event = 'party'"); got != "[{ event: 'party', role: 'user', roles: ['user'], value: 'v' }]" {
		t.Errorf("signed up: %s", got)
	}
	in := value.NewObject(append(credentials("NS", "n", "DB", "d", "AC", "in", "pass", "r").Fields(),
		value.Field{Name: "tenants", Value: value.Array(value.Str("other"))})...)
	if _, err := e.Session().Signin(t.Context(), in); err == nil {
		t.Error("signed in with tenants of its own")
	}
}

// TestHashesAreNeverShown: INFO of every level and form, for every role, OWNERs too.
func TestHashesAreNeverShown(t *testing.T) {
	const hash = "$argon2id$v=19$m=8,t=1,p=1$YWFhYWFhYWE$R+EBtZV2YaUaAaoBUg8+RQ"
	e, root := codeEngine(t)
	for _, base := range []string{"ROOT", "NAMESPACE", "DATABASE"} {
		run(t, root, "DEFINE USER u ON "+base+" PASSHASH '"+hash+"' ROLES OWNER")
	}
	infos := []string{"INFO FOR ROOT", "INFO FOR NS", "INFO FOR DB", "INFO FOR USER u ON ROOT",
		"INFO FOR USER u ON NAMESPACE", "INFO FOR USER u ON DATABASE"}
	redacted := 0
	for _, level := range []auth.Level{auth.DatabaseUser, auth.NamespaceUser, auth.RootUser} {
		for _, role := range []auth.Roles{auth.Viewer, auth.Editor, auth.Owner} {
			s := as(e, level, role)
			for _, info := range infos {
				for _, form := range []string{info, info + " STRUCTURE"} {
					res := run(t, s, form, allowErrors)
					got := res[0].Value.Text()
					if strings.Contains(got, "argon2id") {
						t.Errorf("%s as level %d %v: %s", form, level, role.RoleNames(), got)
					}
					if strings.Contains(got, "[REDACTED]") {
						redacted++
					}
				}
			}
		}
	}
	if redacted == 0 {
		t.Error("no answer shows a user")
	}
}

// TestRightsComeBackAfterStoredCode: code that failed, or was called in the middle of a statement, leaves no trace on it.
func TestRightsComeBackAfterStoredCode(t *testing.T) {
	const mine, see = "DEFINE NAMESPACE mine; REMOVE NAMESPACE mine; 'mine'", "object::keys((INFO FOR ROOT).namespaces).find('n')"
	e, root := codeEngine(t)
	run(t, as(e, auth.DatabaseUser, auth.Owner), `DEFINE API '/fails' FOR get THEN { THROW 'x' };
		DEFINE API '/next' FOR get MIDDLEWARE fn::next() THEN { DEFINE NAMESPACE evil; {} };
		DEFINE FUNCTION fn::next($r: any, $next: any) { { body: $next } }; DEFINE FUNCTION fn::same($f: any) { $f };
		DEFINE FUNCTION fn::call($f: any) { $f() }; DEFINE EVENT e ON t THEN { CREATE log }`)
	for _, tc := range []struct{ text, want string }{
		{"{ api::invoke('/fails'); " + mine + " }", "'mine'"},
		{"{ UPDATE t:1 SET a = 1; " + mine + " }", "'mine'"},
		{"{ LET $f = fn::same(|| " + see + "); $f() }", "'n'"},
		{"{ LET $n = api::invoke('/next').body; [$n({}).status, { " + mine + " }] }", "[500, 'mine']"},
	} {
		if got := one(t, root, tc.text); got != tc.want {
			t.Errorf("%s\n\tgives %s, want %s", tc.text, got, tc.want)
		}
	}
	if err := try(t, root, "fn::call(|| "+see+")"); !strings.Contains(err, "Not enough permissions") {
		t.Errorf("a closure of root in an OWNER's function: %q", err)
	}
}

// TestPermissionsTakeNoNumbers: a sequence keeps a number that it has given.
func TestPermissionsTakeNoNumbers(t *testing.T) {
	e, root := codeEngine(t)
	run(t, root, "DEFINE SEQUENCE s; DEFINE FUNCTION fn::c() { 1 } PERMISSIONS WHERE sequence::nextval('s') >= 0")
	if err := try(t, as(e, auth.RecordUser, 0), "fn::c()"); err == "" {
		t.Error("the permission held")
	}
	if got := one(t, root, "RETURN sequence::nextval('s')"); got != "0" {
		t.Errorf("the next number is %s", got)
	}
}

// TestDefinersOutliveTheEngine: by closing and opening a store, and by a backup of it.
func TestDefinersOutliveTheEngine(t *testing.T) {
	dir := t.TempDir()
	backup, err := os.Create(filepath.Join(dir, "backup"))
	if err != nil {
		t.Fatal(err)
	}
	e := openBig(t, filepath.Join(dir, "a.db"))
	run(t, e.RootSession(), "USE NS n DB d")
	run(t, as(e, auth.DatabaseUser, auth.Editor), "DEFINE FUNCTION fn::c() { DEFINE USER evil ON DATABASE PASSHASH 'x' ROLES OWNER }")
	if _, err := e.Backup(t.Context(), backup, physical.BackupOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(backup.Close(), e.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	if _, err := physical.Restore(t.Context(), backup.Name(), filepath.Join(dir, "b.db"), physical.RestoreOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"a.db", "b.db"} {
		e := openBig(t, filepath.Join(dir, file))
		if err := try(t, as(e, auth.DatabaseUser, auth.Owner), "fn::c()"); !strings.Contains(err, "Not enough permissions") {
			t.Errorf("%s: %q", file, err)
		}
		if err := e.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
