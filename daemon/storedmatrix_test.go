package daemon_test

import (
	"strings"
	"testing"
)

// The matrix of stored code at the doors: definers and those who trigger their code sign in and ask by HTTP, RPC over a
// WebSocket and API endpoints. engine/storedmatrix_test.go has every statement, kind of code and principal.

// codeStatement is what stored code tries; needs is the least role, 3 for OWNER, and 0 where stored code never may.
type codeStatement struct {
	text  string
	needs int
	undo  string
}

var codeStatements = []codeStatement{
	{"DEFINE NAMESPACE evil", 0, ""},
	{"DEFINE DATABASE evil", 0, ""},
	{"DEFINE USER evil ON ROOT PASSHASH '" + hashOfP + "' ROLES OWNER", 0, ""},
	{"DEFINE USER evil ON NAMESPACE PASSHASH '" + hashOfP + "' ROLES OWNER", 0, ""},
	{"REMOVE DATABASE other", 0, ""},
	{"REMOVE USER rv ON ROOT", 0, ""},
	{"ALTER SYSTEM QUERY_TIMEOUT 1h", 0, ""},
	{"DEFINE ACCESS evil ON ROOT TYPE BEARER FOR USER", 0, ""},
	{"INFO FOR ROOT", 0, ""},
	{"INFO FOR NS", 0, ""},
	{"DEFINE USER evil ON DATABASE PASSHASH '" + hashOfP + "' ROLES OWNER", 3, "REMOVE USER evil ON DATABASE"},
	{"DEFINE ACCESS evil ON DATABASE TYPE RECORD", 3, "REMOVE ACCESS evil ON DATABASE"},
	{"DEFINE API '/evil' FOR get THEN { {} }", 3, "REMOVE API '/evil'"},
	{"DEFINE TABLE evil", 2, "REMOVE TABLE evil"},
	{"DEFINE FUNCTION fn::evil() {}", 2, "REMOVE FUNCTION fn::evil"},
	{"REMOVE FIELD f ON hidden", 2, "DEFINE FIELD f ON hidden"},
	{"ALTER TABLE hidden COMMENT 'evil'", 2, "ALTER TABLE hidden DROP COMMENT"},
}

// codeKind is a kind of stored code: what follows X runs where X was allowed.
type codeKind struct {
	name, define, undo string
	owner              bool // it takes an OWNER to define it
	elevated           bool
	onlyReads          bool // it may read what the lower of definer and caller may, and write nothing
	shows              bool // it writes nothing: what it let through shows the canary, to those whom it is asked for
	trigger            func(s *scene, who credentials) string
}

var codeKinds = []codeKind{
	{name: "function", define: "DEFINE FUNCTION fn::c() { X; CREATE went }", undo: "REMOVE FUNCTION fn::c",
		trigger: statement("RETURN fn::c()")},
	{name: "function by run", define: "DEFINE FUNCTION fn::c() { X; CREATE went }", undo: "REMOVE FUNCTION fn::c",
		trigger: method(`"run","params":["fn::c"]`)},
	{name: "VALUE", define: "DEFINE FIELD c ON open VALUE { X; CREATE went; 1 }", undo: "REMOVE FIELD c ON open",
		trigger: statement("UPDATE open:1 SET n = rand()")},
	// Clauses that are asked when somebody reads may not write by themselves: a function does.
	{name: "COMPUTED", define: "DEFINE FUNCTION fn::x() { X }; DEFINE FIELD c ON open COMPUTED { fn::x(); 'canary7' }",
		undo:  "REMOVE FIELD c ON open; REMOVE FUNCTION fn::x",
		shows: true, onlyReads: true, trigger: method(`"select","params":["open"]`)},
	{name: "event", define: "DEFINE EVENT c ON open THEN { X; CREATE went }", undo: "REMOVE EVENT c ON open",
		elevated: true, trigger: method(`"merge","params":["open:1",{"n":7}]`)},
	{name: "table PERMISSIONS", define: "DEFINE FUNCTION fn::x() { X }; " +
		"DEFINE TABLE c PERMISSIONS FOR select WHERE { fn::x(); true }; CREATE c:1 SET c = 'canary7'",
		undo: "REMOVE TABLE c; REMOVE FUNCTION fn::x", elevated: true, shows: true, trigger: statement("SELECT * FROM c")},
	{name: "API", owner: true, define: "DEFINE API '/c' FOR get THEN { X; CREATE went; {} }", undo: "REMOVE API '/c'",
		trigger: func(s *scene, who credentials) string {
			return s.do("GET", "/api/n/d/c", "", who.header()).body
		}},
	{name: "SIGNIN", owner: true, define: "DEFINE ACCESS c ON DATABASE TYPE RECORD SIGNIN { X; CREATE went; user:1 }",
		undo: "REMOVE ACCESS c ON DATABASE", elevated: true,
		trigger: func(s *scene, _ credentials) string {
			return s.do("POST", "/signin", `{"ns":"n","db":"d","ac":"c"}`).body
		}},
}

// header is how a principal shows who it is.
func (c *credentials) header() string {
	if c.token == "" {
		return "X-Nobody: 1"
	}
	return "Authorization: Bearer " + c.token
}

// statement triggers code by POST /sql.
func statement(text string) func(*scene, credentials) string {
	return func(s *scene, who credentials) string {
		return s.do("POST", "/sql", text, who.header(), "Service-NS: n", "Service-DB: d", "Accept: application/json").body
	}
}

// method triggers code by a method over a WebSocket.
func method(call string) func(*scene, credentials) string {
	return func(s *scene, who credentials) string {
		k := s.dial("json", who.header(), "Service-NS: n", "Service-DB: d")
		answer := k.say(`{"id":1,"method":` + call + `}`)
		_ = k.conn.Close()
		return answer
	}
}

// codeRoles are the roles of those who define and trigger: 1 is VIEWER, 2 EDITOR, 3 OWNER.
var codeRoles = map[string]int{"gu": 0, "ru": 0, "dv": 1, "de": 2, "do": 3, "ne": 2, "no": 3, "re": 2, "ro": 3}

// definitions are all that stored code could have changed.
func (s *scene) definitions() string {
	return s.must("(INFO FOR ROOT).{ accesses, namespaces, users, config, defaults }; USE NS n; INFO FOR NS; USE DB d; INFO FOR DB; " +
		"INFO FOR TABLE hidden; INFO FOR TABLE open; ACCESS keys ON ROOT SHOW ALL")
}

// TestStoredCodeAtTheDoors holds every door to the rule of stored code: the lower of definer and caller, in its database.
func TestStoredCodeAtTheDoors(t *testing.T) {
	s := newScene(t, true)
	s.must("USE NS n DB d; DEFINE TABLE went PERMISSIONS FULL")
	cells := 0
	for _, k := range codeKinds {
		s.define(strings.ReplaceAll(k.define, "X", "LET $harmless = 1"), s.users["ro"])
		if !s.went(&k, "ru") {
			t.Errorf("%s does not even run harmless code", k.name)
		}
		s.must("USE NS n DB d; DELETE went; " + k.undo)
		for _, definer := range []string{"de", "do", "ne", "no", "ro"} {
			if codeRoles[definer] < 2 || k.owner && codeRoles[definer] < 3 {
				continue
			}
			for i := range codeStatements {
				cells += s.tryCode(&k, &codeStatements[i], definer)
			}
		}
	}
	t.Logf("%d cells", cells)
}

// define runs definitions at /sql as who.
func (s *scene) define(text string, who credentials) {
	s.t.Helper()
	r := s.do("POST", "/sql", text, who.header(), "Service-NS: n", "Service-DB: d", "Accept: application/json")
	if r.StatusCode != 200 || strings.Contains(r.body, `"status":"ERR"`) {
		s.t.Fatalf("%s: %d %s", text, r.StatusCode, r.body)
	}
}

// went triggers code, and reports whether it went on behind its statement.
func (s *scene) went(k *codeKind, who string) bool {
	s.t.Helper()
	answer := k.trigger(s, s.users[who])
	return k.shows && strings.Contains(answer, canary) ||
		!strings.HasSuffix(s.must("USE NS n DB d; RETURN count(SELECT * FROM went)"), "\n0\n")
}

// tryCode holds one statement in one kind of code of one definer to the rule, and gives how many tried it.
func (s *scene) tryCode(k *codeKind, c *codeStatement, definer string) (cells int) {
	s.t.Helper()
	s.define(strings.ReplaceAll(k.define, "X", c.text), s.users[definer])
	before := s.definitions()
	for _, who := range []string{"gu", "ru", "dv", "de", "do", "no", "ro"} {
		if k.shows && !k.onlyReads && codeRoles[who] > 0 {
			continue
		}
		want := !k.elevated && c.needs > 0 && min(codeRoles[definer], codeRoles[who]) >= c.needs
		if k.onlyReads && !strings.HasPrefix(c.text, "INFO") && !strings.HasPrefix(c.text, "SHOW") {
			want = false
		}
		if got := s.went(k, who); got != want {
			s.t.Errorf("%s in %s of %s, triggered by %s: went on %v, want %v", c.text, k.name, definer, who, got, want)
		}
		if want && c.undo != "" {
			s.must("USE NS n DB d; " + c.undo)
		}
		s.must("USE NS n DB d; DELETE went")
		if after := s.definitions(); after != before {
			s.t.Fatalf("%s in %s of %s, triggered by %s, leaves\n%s\nwant\n%s", c.text, k.name, definer, who, after, before)
		}
		cells++
	}
	s.must("USE NS n DB d; " + k.undo)
	return cells
}
