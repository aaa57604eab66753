package engine_test

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/kv/mem"
	"github.com/nacredb/nacre/engine/value"
)

// The matrix of stored code: every statement about definitions, in every kind of code, stored by every definer,
// triggered by every principal. The model below is the rule of auth/DESIGN.md and shares nothing with the engine.

// storedStatement is a statement that stored code tries.
type storedStatement struct {
	text  string
	above bool // it is about something above the database
	needs int  // the least role, as rank has them; 0: refused in stored code
	undo  string
}

const cheapHash = "PASSHASH '$argon2id$v=19$m=8,t=1,p=1$YWFhYWFhYWE$R+EBtZV2YaUaAaoBUg8+RQ'"

// What a role may do, lowest first.
const (
	toView = 1 + iota
	toEdit
	toOwn
)

var storedStatements = []storedStatement{
	{"DEFINE NAMESPACE evil", true, toEdit, ""},
	{"DEFINE DATABASE evil", true, toEdit, ""},
	{"DEFINE USER evil ON ROOT " + cheapHash + " ROLES OWNER", true, toOwn, ""},
	{"DEFINE USER evil ON NAMESPACE " + cheapHash + " ROLES OWNER", true, toOwn, ""},
	{"DEFINE ACCESS evil ON ROOT TYPE BEARER FOR USER", true, toOwn, ""},
	{"DEFINE ACCESS evil ON NAMESPACE TYPE BEARER FOR USER", true, toOwn, ""},
	{"DEFINE CONFIG DEFAULT NAMESPACE gone DATABASE gone", true, toOwn, ""},
	{"REMOVE NAMESPACE gone", true, toEdit, ""},
	{"REMOVE DATABASE gone", true, toEdit, ""},
	{"REMOVE DATABASE d", true, toEdit, ""},
	{"REMOVE USER ru ON ROOT", true, toOwn, ""},
	{"REMOVE USER nu ON NAMESPACE", true, toOwn, ""},
	{"REMOVE ACCESS rb ON ROOT", true, toOwn, ""},
	{"REMOVE ACCESS nb ON NAMESPACE", true, toOwn, ""},
	{"ALTER SYSTEM QUERY_TIMEOUT 1h", true, toOwn, ""},
	{"ALTER USER ru ON ROOT PASSWORD 'x'", true, toOwn, ""},
	{"ALTER USER nu ON NAMESPACE ROLES OWNER", true, toOwn, ""},
	{"ACCESS rb ON ROOT GRANT FOR USER ru", true, toOwn, ""},
	{"ACCESS nb ON NAMESPACE SHOW ALL", true, toView, ""},
	{"INFO FOR ROOT", true, toView, ""},
	{"INFO FOR NS", true, toView, ""},
	{"INFO FOR USER ru ON ROOT", true, toView, ""},
	{"INFO FOR USER nu ON NAMESPACE", true, toView, ""},
	{"USE NS gone DB gone", true, 0, ""},
	{"USE DB gone", true, 0, ""},
	{"LIVE SELECT * FROM s", false, 0, ""},
	{"KILL u'0189d6e3-8eac-703a-9a48-d9faa78b44b9'", false, 0, ""},

	{"DEFINE USER evil ON DATABASE " + cheapHash + " ROLES OWNER", false, toOwn, "REMOVE USER evil ON DATABASE"},
	{"DEFINE ACCESS evil ON DATABASE TYPE RECORD", false, toOwn, "REMOVE ACCESS evil ON DATABASE"},
	{"DEFINE TABLE evil", false, toEdit, "REMOVE TABLE evil"},
	{"DEFINE FIELD evil ON s", false, toEdit, "REMOVE FIELD evil ON s"},
	{"DEFINE INDEX evil ON s FIELDS f", false, toEdit, "REMOVE INDEX evil ON s"},
	{"DEFINE EVENT evil ON s THEN {}", false, toEdit, "REMOVE EVENT evil ON s"},
	{"DEFINE FUNCTION fn::evil() {}", false, toEdit, "REMOVE FUNCTION fn::evil"},
	{"DEFINE PARAM $evil VALUE 1", false, toEdit, "REMOVE PARAM $evil"},
	{"DEFINE ANALYZER evil TOKENIZERS blank", false, toEdit, "REMOVE ANALYZER evil"},
	{"DEFINE SEQUENCE evil", false, toOwn, "REMOVE SEQUENCE evil"},
	{"DEFINE CONFIG GRAPHQL AUTO", false, toOwn, "REMOVE CONFIG GRAPHQL"},
	{"DEFINE API '/evil' FOR get THEN { {} }", false, toOwn, "REMOVE API '/evil'"},
	{"DEFINE BUCKET evil BACKEND 'memory'", false, toOwn, "REMOVE BUCKET evil"},
	{"REMOVE USER du ON DATABASE", false, toOwn, "DEFINE USER du ON DATABASE " + cheapHash},
	{"REMOVE TABLE victim", false, toEdit, "DEFINE TABLE victim"},
	{"REMOVE FUNCTION fn::victim", false, toEdit, "DEFINE FUNCTION fn::victim() {}"},
	{"REMOVE PARAM $victim", false, toEdit, "DEFINE PARAM $victim VALUE 1"},
	{"ALTER TABLE victim COMMENT 'evil'", false, toEdit, "ALTER TABLE victim DROP COMMENT"},
	{"ALTER FUNCTION fn::victim COMMENT 'evil'", false, toEdit, "ALTER FUNCTION fn::victim DROP COMMENT"},
	{"ALTER USER du ON DATABASE COMMENT 'evil'", false, toOwn, "ALTER USER du ON DATABASE DROP COMMENT"},
	{"REBUILD INDEX ix ON s", false, toEdit, ""},
	{"ACCESS db ON DATABASE SHOW ALL", false, toView, ""},
	{"INFO FOR DB", false, toView, ""},
	{"INFO FOR TABLE s", false, toView, ""},
	{"INFO FOR INDEX ix ON s", false, toView, ""},
	{"INFO FOR USER du ON DATABASE", false, toView, ""},
	{"SHOW CHANGES FOR TABLE s SINCE 0", false, toView, ""},
}

// storedKind is a kind of code. X stands for the statement; what follows it runs where the statement did.
type storedKind struct {
	name      string
	define    string
	trigger   string
	undo      string
	root      string                         // defined by the root owner beside it
	owner     bool                           // it takes an OWNER to define it
	elevated  bool                           // it works on data alone
	reads     bool                           // it writes nothing: what it let through shows "canary"
	onlyReads bool                           // it may read what the lower of definer and caller may, and write nothing
	passes    func(who storedPrincipal) bool // those whom it is not asked for
	login     string                         // the credentials that trigger it
}

func systemUser(who storedPrincipal) bool { return who.system() }

var storedKinds = []storedKind{
	{name: "event", define: "DEFINE EVENT c ON t THEN { X; CREATE log }", trigger: "UPDATE t:1 SET a = rand()",
		undo: "REMOVE EVENT c ON t", elevated: true},
	{name: "event WHEN", define: "DEFINE EVENT c ON t WHEN { X; CREATE log; true } THEN {}",
		trigger: "UPDATE t:1 SET a = rand()", undo: "REMOVE EVENT c ON t", elevated: true},
	{name: "event ASYNC", define: "DEFINE EVENT c ON t ASYNC THEN { X; CREATE log }",
		trigger: "UPDATE t:1 SET a = rand()", undo: "REMOVE EVENT c ON t", elevated: true},
	{name: "event of an OWNER's function", root: "DEFINE FUNCTION fn::c() { X; CREATE log }",
		define: "DEFINE EVENT c ON t THEN { fn::c() }", trigger: "UPDATE t:1 SET a = rand()",
		undo: "REMOVE EVENT c ON t; REMOVE FUNCTION fn::c", elevated: true},
	{name: "ON DELETE THEN",
		define:  "DEFINE FIELD r ON o TYPE option<record<t>> REFERENCE ON DELETE THEN { X; CREATE log }; CREATE t:9; CREATE o:9 SET r = t:9",
		trigger: "DELETE t:9", undo: "DELETE o; DELETE t:9; REMOVE FIELD r ON o", elevated: true},
	{name: "VALUE", define: "DEFINE FIELD c ON t VALUE { X; CREATE log; 1 }", trigger: "UPDATE t:1 SET a = rand()",
		undo: "REMOVE FIELD c ON t"},
	{name: "ASSERT", define: "DEFINE FIELD c ON t ASSERT { X; CREATE log; true }",
		trigger: "UPDATE t:1 SET c = rand()", undo: "REMOVE FIELD c ON t"},
	{name: "DEFAULT", define: "DEFINE FIELD c ON t DEFAULT { X; CREATE log; 1 }", trigger: "CREATE t",
		undo: "REMOVE FIELD c ON t"},
	// Clauses that are asked when somebody reads may not write by themselves: a function does.
	{name: "COMPUTED", define: "DEFINE FUNCTION fn::x() { X }; DEFINE FIELD c ON t COMPUTED { fn::x(); 'canary' }",
		trigger: "SELECT * FROM t:1", undo: "REMOVE FIELD c ON t; REMOVE FUNCTION fn::x", reads: true, onlyReads: true},
	{name: "function", define: "DEFINE FUNCTION fn::c() { X; CREATE log }", trigger: "RETURN fn::c()",
		undo: "REMOVE FUNCTION fn::c"},
	{name: "function in an OWNER's", root: "DEFINE FUNCTION fn::b() { fn::c() }",
		define: "DEFINE FUNCTION fn::c() { X; CREATE log }", trigger: "RETURN fn::b()",
		undo: "REMOVE FUNCTION fn::c; REMOVE FUNCTION fn::b"},
	{name: "function of an OWNER's", root: "DEFINE FUNCTION fn::b() { X; CREATE log }",
		define: "DEFINE FUNCTION fn::c() { fn::b() }", trigger: "RETURN fn::c()",
		undo: "REMOVE FUNCTION fn::c; REMOVE FUNCTION fn::b"},
	{name: "closure of a function", define: "DEFINE FUNCTION fn::c() { || { X; CREATE log } }",
		trigger: "{ LET $f = fn::c(); $f() }", undo: "REMOVE FUNCTION fn::c"},
	{name: "closure to an OWNER's function", root: "DEFINE FUNCTION fn::b($f: any) { [1].map(|$x| $f()) }",
		define:  "DEFINE FUNCTION fn::c() { || { X; CREATE log } }",
		trigger: "RETURN fn::b(fn::c())", undo: "REMOVE FUNCTION fn::c; REMOVE FUNCTION fn::b"},
	{name: "OWNER's closure", root: "DEFINE FUNCTION fn::b() { || { X; CREATE log } }",
		define:  "DEFINE FUNCTION fn::c($f: any) { [1].map(|$x| $f()) }",
		trigger: "RETURN fn::c(fn::b())", undo: "REMOVE FUNCTION fn::c; REMOVE FUNCTION fn::b"},
	{name: "PARAM",
		define: "DEFINE FUNCTION fn::x() { X }; DEFINE PARAM $c VALUE 1 PERMISSIONS WHERE { fn::x(); true }; " +
			"DEFINE FUNCTION fn::c() { IF $c = 1 { 'canary' } }",
		trigger: "RETURN fn::c()",
		undo:    "REMOVE PARAM $c; REMOVE FUNCTION fn::c; REMOVE FUNCTION fn::x", elevated: true, reads: true,
		passes: func(who storedPrincipal) bool { return who.level == auth.RootUser }},
	{name: "function PERMISSIONS", define: "DEFINE FUNCTION fn::c() { 'canary' } PERMISSIONS WHERE { X; true }",
		trigger: "RETURN fn::c()", undo: "REMOVE FUNCTION fn::c",
		elevated: true, reads: true,
		passes: func(who storedPrincipal) bool { return who.level == auth.RootUser && who.rank == toOwn }},
	{name: "table PERMISSIONS",
		define: "DEFINE FUNCTION fn::x() { X }; DEFINE TABLE p PERMISSIONS FOR select WHERE { fn::x(); true } " +
			"FOR create, update, delete WHERE { X; true }; CREATE p:1 SET a = 'canary'",
		trigger: "SELECT * FROM p; CREATE p SET a = 'canary'; UPDATE p SET a = 'canary'; DELETE p RETURN BEFORE",
		undo:    "REMOVE TABLE p; REMOVE FUNCTION fn::x", elevated: true, reads: true, passes: systemUser},
	{name: "field PERMISSIONS",
		define: "DEFINE FUNCTION fn::x() { X }; DEFINE TABLE p PERMISSIONS FULL; " +
			"DEFINE FIELD a ON p PERMISSIONS FOR select WHERE { fn::x(); true }; CREATE p:1 SET a = 'canary'",
		trigger: "SELECT * FROM p",
		undo:    "REMOVE TABLE p; REMOVE FUNCTION fn::x", elevated: true, reads: true, passes: systemUser},
	{name: "bucket PERMISSIONS", owner: true,
		define: `DEFINE FUNCTION fn::x() { X }; DEFINE BUCKET c BACKEND "memory" PERMISSIONS WHERE { fn::x(); true }; ` +
			`f"c:/x".put("canary")`,
		trigger: `RETURN <string> f"c:/x".get()`, undo: "REMOVE BUCKET c; REMOVE FUNCTION fn::x",
		elevated: true, reads: true, passes: systemUser},
	{name: "API PERMISSIONS", owner: true,
		define:  "DEFINE API '/c' FOR get PERMISSIONS WHERE { X; true } THEN { { body: 'canary' } }",
		trigger: "RETURN api::invoke('/c')", undo: "REMOVE API '/c'",
		elevated: true, reads: true, passes: systemUser},
	{name: "view", define: "DEFINE TABLE p AS SELECT { X; 'canary' } AS a FROM src PERMISSIONS FULL",
		trigger: "CREATE src; SELECT * FROM p", undo: "REMOVE TABLE p; DELETE src", elevated: true, reads: true},
	{name: "analyzer",
		define:  "DEFINE FUNCTION fn::c($s: string) { X; 'canary' }; DEFINE ANALYZER c FUNCTION fn::c TOKENIZERS blank",
		trigger: "RETURN search::analyze('c', 'x')", undo: "REMOVE ANALYZER c; REMOVE FUNCTION fn::c",
		elevated: true, reads: true},
	{name: "analyzer of an index",
		define: "DEFINE FUNCTION fn::c($s: string) { X; $s }; DEFINE ANALYZER c FUNCTION fn::c TOKENIZERS blank; " +
			"DEFINE index c ON src FIELDS c fulltext ANALYZER c",
		trigger: "CREATE src SET c = 'canary'",
		undo:    "REMOVE index c ON src; REMOVE ANALYZER c; REMOVE FUNCTION fn::c; DELETE src", elevated: true, reads: true},
	{name: "index COUNT", define: "DEFINE index c ON src COUNT WHERE { X; true }",
		trigger: "CREATE src SET c = 'canary'", undo: "REMOVE index c ON src; DELETE src", elevated: true, reads: true},
	{name: "API handler", owner: true, define: "DEFINE API '/c' FOR get THEN { X; CREATE log; {} }",
		trigger: "RETURN api::invoke('/c')", undo: "REMOVE API '/c'"},
	{name: "API middleware", owner: true,
		define:  "DEFINE FUNCTION fn::c($r: any, $next: any) { X; CREATE log; $next($r) }; DEFINE API '/c' FOR get MIDDLEWARE fn::c() THEN { {} }",
		trigger: "RETURN api::invoke('/c')", undo: "REMOVE API '/c'; REMOVE FUNCTION fn::c"},
	{name: "API middleware of an OWNER's endpoint", root: "DEFINE API '/c' FOR get MIDDLEWARE fn::c() THEN { {} }",
		define:  "DEFINE FUNCTION fn::c($r: any, $next: any) { X; CREATE log; $next($r) }",
		trigger: "RETURN api::invoke('/c')", undo: "REMOVE API '/c'; REMOVE FUNCTION fn::c"},
	{name: "SIGNUP", owner: true, define: "DEFINE ACCESS c ON DATABASE TYPE RECORD SIGNUP { X; CREATE log; user:1 }",
		login: "up", undo: "REMOVE ACCESS c ON DATABASE", elevated: true},
	{name: "SIGNIN", owner: true, define: "DEFINE ACCESS c ON DATABASE TYPE RECORD SIGNIN { X; CREATE log; user:1 }",
		login: "in", undo: "REMOVE ACCESS c ON DATABASE", elevated: true},
	{name: "AUTHENTICATE", owner: true,
		define: "DEFINE ACCESS c ON DATABASE TYPE RECORD SIGNIN (user:1) AUTHENTICATE { X; CREATE log; $auth }",
		login:  "in", undo: "REMOVE ACCESS c ON DATABASE", elevated: true},
}

// storedPrincipal is a principal of the model.
type storedPrincipal struct {
	name  string
	level auth.Level
	role  auth.Roles
	rank  int
}

func (p storedPrincipal) system() bool { return p.rank > 0 }

func storedPrincipals() []storedPrincipal {
	out := []storedPrincipal{{"guest", auth.Guest, 0, 0}, {"record user", auth.RecordUser, 0, 0}}
	for name, level := range map[string]auth.Level{"database ": auth.DatabaseUser, "namespace ": auth.NamespaceUser, "root ": auth.RootUser} {
		out = append(out, storedPrincipal{name + "viewer", level, auth.Viewer, toView}, storedPrincipal{name + "editor", level, auth.Editor, toEdit},
			storedPrincipal{name + "owner", level, auth.Owner, toOwn})
	}
	return out
}

// may is the rule: what code of a kind, stored by one principal and triggered by another, may do.
func (k *storedKind) may(s *storedStatement, definer, trigger storedPrincipal) bool {
	if k.onlyReads && !strings.HasPrefix(s.text, "INFO") && !strings.HasPrefix(s.text, "SHOW") {
		return false
	}
	return !k.elevated && !s.above && s.needs > 0 && min(definer.rank, trigger.rank) >= s.needs
}

// storedScene is an engine with what the statements are about.
type storedScene struct {
	t        *testing.T
	e        *engine.Engine
	root     *engine.Session
	sessions map[string]*engine.Session
	alone    map[string]bool // statements that no block takes
}

func newStoredScene(t *testing.T) *storedScene {
	caps := auth.DefaultCapabilities()
	caps.Experimental.Allow, caps.Guests, caps.Eval = auth.NewSet("files"), true, auth.Everything()
	e, err := engine.OpenOn(t.Context(), mem.New(), engine.Options{NoDefaults: true, Capabilities: caps, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	c := &storedScene{t: t, e: e, root: e.RootSession(), sessions: map[string]*engine.Session{}, alone: map[string]bool{}}
	run(t, c.root, `DEFINE USER ru ON ROOT `+cheapHash+`; DEFINE ACCESS rb ON ROOT TYPE BEARER FOR USER; DEFINE NAMESPACE gone;
		USE NS n; DEFINE DATABASE gone; DEFINE USER nu ON NAMESPACE `+cheapHash+`; DEFINE ACCESS nb ON NAMESPACE TYPE BEARER FOR USER;
		USE NS n DB d; DEFINE USER du ON DATABASE `+cheapHash+`; DEFINE ACCESS db ON DATABASE TYPE BEARER FOR USER;
		DEFINE TABLE user; CREATE user:1; DEFINE TABLE log PERMISSIONS FULL; DEFINE TABLE t PERMISSIONS FULL; CREATE t:1; DEFINE TABLE o PERMISSIONS FULL;
		DEFINE TABLE src PERMISSIONS FULL; DEFINE TABLE s CHANGEFEED 1h PERMISSIONS FULL; DEFINE FIELD f ON s; DEFINE INDEX ix ON s FIELDS f;
		DEFINE TABLE victim; DEFINE FUNCTION fn::victim() {}; DEFINE PARAM $victim VALUE 1;
		DEFINE TABLE sync PERMISSIONS FULL; DEFINE TABLE synced; DEFINE EVENT e ON sync ASYNC THEN { UPSERT synced:1 SET n += 1 }`)
	for _, p := range storedPrincipals() {
		c.sessions[p.name] = as(e, p.level, p.role)
	}
	for _, s := range storedStatements {
		if s.needs > 0 && !strings.Contains(s.text, "REMOVE DATABASE d") { // it works where it is no stored code
			if res := run(t, c.root, "BEGIN; "+s.text+"; CANCEL", allowErrors); !strings.Contains(res[1].Err.Error(), "cancelled") {
				t.Fatalf("%s: %v", s.text, res[1].Err)
			}
		}
		if _, err := c.root.Execute(t.Context(), "DEFINE FUNCTION fn::alone() { "+s.text+" }", nil); err != nil {
			c.alone[s.text] = true
		} else {
			run(t, c.root, "REMOVE FUNCTION fn::alone")
		}
	}
	return c
}

// state is every definition that there is, and the grants.
func (c *storedScene) state() string {
	res := run(c.t, c.root, `(INFO FOR ROOT).{ accesses, namespaces, users, config, defaults }; INFO FOR NS; INFO FOR DB; INFO FOR TABLE s; INFO FOR TABLE t; INFO FOR TABLE victim;
		ACCESS rb ON ROOT SHOW ALL; ACCESS nb ON NAMESPACE SHOW ALL; ACCESS db ON DATABASE SHOW ALL; INFO FOR USER ru ON ROOT`)
	var b strings.Builder
	for _, r := range res {
		b.WriteString(r.Value.Text() + "\n")
	}
	return b.String()
}

// settle waits for the events that are queued.
func (c *storedScene) settle() {
	run(c.t, c.root, "DELETE synced; CREATE sync")
	waitFor(c.t, c.root, "SELECT VALUE n FROM synced", "[1]")
}

// fire triggers the code once, and reports whether it went on behind its statement.
func (c *storedScene) fire(k *storedKind, by string) bool {
	if k.login != "" {
		s := c.e.Session()
		enter := s.Signin
		if k.login == "up" {
			enter = s.Signup
		}
		_, err := enter(c.t.Context(), credentials("NS", "n", "DB", "d", "AC", "c"))
		return err == nil
	}
	res, err := c.sessions[by].Execute(c.t.Context(), k.trigger, value.NewObject())
	if err != nil {
		c.t.Fatalf("%s: %v", k.trigger, err)
	}
	for _, r := range res {
		if k.reads && r.Err == nil && strings.Contains(r.Value.Text(), "canary") {
			return true
		}
	}
	return !k.reads && one(c.t, c.root, "SELECT VALUE id FROM log LIMIT 1") != "[]"
}

// code is a definition with a statement in it; in a text for eval::surql where the language has it on its own only.
func (c *storedScene) code(definition string, s *storedStatement) string {
	text := strings.ReplaceAll(definition, "X", s.text)
	if c.alone[s.text] {
		text = strings.ReplaceAll(definition, "X", "eval::surql("+value.Str(s.text).Text()+")")
	}
	return text
}

// TestMatrixOfStoredCode holds the engine to the rule.
func TestMatrixOfStoredCode(t *testing.T) {
	for i := range storedKinds {
		k := &storedKinds[i]
		t.Run(k.name, func(t *testing.T) {
			c := newStoredScene(t)
			c.harmless(k)
			for _, definer := range storedPrincipals() {
				if definer.rank < toEdit || k.owner && definer.rank < toOwn {
					continue
				}
				for j := range storedStatements {
					c.try(k, &storedStatements[j], definer)
				}
			}
		})
	}
}

// harmless checks that code of a kind goes on behind what it may do: otherwise the matrix would prove nothing.
func (c *storedScene) harmless(k *storedKind) {
	s := &storedStatement{text: "LET $harmless = 1"}
	if k.root != "" {
		run(c.t, c.root, c.code(k.root, s))
	}
	run(c.t, c.root, c.code(k.define, s))
	went := false
	for _, who := range storedPrincipals() {
		if k.passes == nil || !k.passes(who) {
			went = c.fire(k, who.name) || went
		}
	}
	if strings.Contains(k.name, "ASYNC") {
		waitFor(c.t, c.root, "RETURN array::len(SELECT VALUE id FROM log) > 0", "true")
		went = true
		c.settle()
	}
	if !went {
		c.t.Fatalf("%s does not even run harmless code", k.name)
	}
	run(c.t, c.root, "DELETE log; "+k.undo)
}

// try holds one statement in one kind of code of one definer to the rule, for all who may trigger it.
func (c *storedScene) try(k *storedKind, s *storedStatement, definer storedPrincipal) {
	if k.root != "" {
		run(c.t, c.root, c.code(k.root, s))
	}
	run(c.t, c.sessions[definer.name], c.code(k.define, s))
	before := c.state()
	all := storedPrincipals()
	if k.login != "" {
		all = all[:1]
	}
	for _, who := range all {
		if k.passes != nil && k.passes(who) {
			continue
		}
		want := k.may(s, definer, who)
		if got := c.fire(k, who.name); got != want {
			c.t.Errorf("%s in %s of the %s, triggered by the %s: went on %v, want %v", s.text, k.name, definer.name, who.name, got, want)
		}
		if !want {
			continue
		}
		if s.undo != "" {
			if c.state() == before {
				c.t.Errorf("%s in %s of the %s, triggered by the %s, has changed nothing", s.text, k.name, definer.name, who.name)
			}
			run(c.t, c.root, s.undo)
		}
		run(c.t, c.root, "DELETE log")
	}
	if strings.Contains(k.name, "ASYNC") {
		c.settle()
		if one(c.t, c.root, "SELECT VALUE id FROM log LIMIT 1") != "[]" {
			c.t.Errorf("%s in %s of the %s went on", s.text, k.name, definer.name)
		}
	}
	if after := c.state(); after != before {
		c.t.Fatalf("%s in %s of the %s leaves\n%s\nwant\n%s", s.text, k.name, definer.name, after, before)
	}
	run(c.t, c.root, k.undo)
}
