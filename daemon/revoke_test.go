package daemon_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

const revokeSetup = `DEFINE USER ed ON DATABASE PASSWORD 'ed' ROLES EDITOR; DEFINE TABLE t PERMISSIONS FULL;
	DEFINE TABLE user; CREATE user:1 SET pass = 'p';
	DEFINE ACCESS acc ON DATABASE TYPE RECORD SIGNIN (SELECT * FROM user WHERE pass = $pass);
	DEFINE ACCESS ghost ON DATABASE TYPE RECORD SIGNIN (RETURN user:none);
	DEFINE ACCESS key ON DATABASE TYPE BEARER FOR USER`

// What a session rests on is revoked: its next statement is refused, in open transactions too, and its live queries end.
func TestRevocationReachesOpenSessions(t *testing.T) {
	const ed, user = `{` + inTest + `,"user":"ed","pass":"ed"}`, `{` + inTest + `,"ac":"acc","pass":"p"}`
	for _, tc := range []struct{ name, who, revoke string }{
		{"the user is removed", ed, "REMOVE USER ed ON DATABASE"},
		{"another password", ed, "DEFINE USER OVERWRITE ed ON DATABASE PASSWORD 'new' ROLES EDITOR"},
		{"another password by ALTER", ed, "ALTER USER ed ON DATABASE PASSWORD 'new'"},
		{"removed and defined again", ed, "REMOVE USER ed ON DATABASE; DEFINE USER ed ON DATABASE PASSWORD 'ed' ROLES EDITOR"},
		{"the access method is removed", user, "REMOVE ACCESS acc ON DATABASE"},
		{"the record is deleted", user, "DELETE user:1"},
		{"the table of the record is removed", user, "REMOVE TABLE user"},
		{"the grant is revoked", "", "ACCESS key ON DATABASE REVOKE ALL"},
		{"the database is removed", ed, "REMOVE DATABASE test"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := start(t, unlimited)
			setup(t, s, revokeSetup)
			root := s.dial("json").root()
			who := tc.who
			if who == "" {
				key := regexp.MustCompile(`surreal-bearer-\w+-\w+`).FindString(root.say(query("ACCESS key ON DATABASE GRANT FOR USER ed")))
				who = `{` + inTest + `,"ac":"key","key":"` + key + `"}`
			}
			signed := func() *socket {
				k := s.dial("json")
				for _, m := range []string{`{"id":1,"method":"signin","params":[` + who + `]}`, query("SELECT * FROM t")} {
					if got := k.say(m); strings.Contains(got, "error") || strings.Contains(got, "ERR") {
						t.Fatal(got)
					}
				}
				return k
			}
			plain, open, watcher, mover := signed(), signed(), signed(), signed()
			const attached = `,"session":"00000000-0000-4000-8000-00000000000b"`
			over := func(m string) string {
				return s.do("POST", "/rpc", `{"id":1,`+m+attached+`}`, "Content-Type: application/json").body
			}
			over(`"method":"attach"`)
			if got := over(`"method":"signin","params":[` + who + `]`); strings.Contains(got, "error") {
				t.Fatal(got)
			}
			var begun struct{ Result string }
			if err := json.Unmarshal([]byte(open.say(`{"id":1,"method":"begin"}`)), &begun); err != nil || begun.Result == "" {
				t.Fatalf("begin: %v", err)
			}
			inside := `,"txn":"` + begun.Result + `"}`
			if got := open.say(`{"id":2,"method":"query","params":["CREATE t:inside"]` + inside); strings.Contains(got, "ERR") {
				t.Fatal(got)
			}
			watcher.say(query("LIVE SELECT * FROM t"))
			if got := root.say(query(tc.revoke)); strings.Contains(got, "ERR") {
				t.Fatal(got)
			}
			for what, got := range map[string]string{
				"the next statement": plain.say(query("CREATE t:after")),
				"USE":                mover.say(`{"id":1,"method":"use","params":["test","test"]}`),
				"a variable":         plain.say(`{"id":1,"method":"let","params":["x",1]}`),
				"in a transaction":   open.say(`{"id":2,"method":"query","params":["CREATE t:inside2"]` + inside),
				"its end":            open.say(`{"id":2,"method":"commit","params":["` + begun.Result + `"]}`),
				"attached over HTTP": over(`"method":"create","params":["t:http"]`),
			} {
				if !strings.Contains(got, "was revoked") {
					t.Errorf("%s: %s", what, got)
				}
			}
			if !strings.Contains(tc.revoke, "REMOVE DATABASE") {
				root.say(query("CREATE t:seen"))
				if n := string(watcher.note().Result); !strings.Contains(n, "KILLED") {
					t.Errorf("the live query: %s", n)
				}
				if got := root.say(query("SELECT VALUE id FROM t")); !strings.Contains(got, `"result":["t:seen"]`) {
					t.Errorf("what was written: %s", got)
				}
			}
			if got := plain.say(`{"id":1,"method":"signin","params":[{"user":"root","pass":"root"}]}`); strings.Contains(got, "error") {
				t.Errorf("another identity: %s", got)
			}
			if got := plain.say(query("RETURN 1")); !strings.Contains(got, `"status":"OK"`) {
				t.Errorf("with another identity: %s", got)
			}
		})
	}
}

// A lower role holds from the next statement on; what others change leaves a session alone.
func TestRolesReachOpenSessions(t *testing.T) {
	s := start(t, unlimited)
	setup(t, s, revokeSetup)
	ed, ghost, root := s.dial("json"), s.dial("json"), s.dial("json").root()
	ed.say(`{"id":1,"method":"signin","params":[{` + inTest + `,"user":"ed","pass":"ed"}]}`)
	if got := ghost.say(`{"id":1,"method":"signin","params":[{` + inTest + `,"ac":"ghost"}]}`); strings.Contains(got, "error") {
		t.Fatal(got)
	}
	if got := ed.say(query("DEFINE TABLE a")); strings.Contains(got, "ERR") {
		t.Fatal(got)
	}
	if got := root.say(query("ALTER USER ed ON DATABASE ROLES VIEWER; DELETE user:1; REMOVE ACCESS acc ON DATABASE")); strings.Contains(got, "ERR") {
		t.Fatal(got)
	}
	if got := ed.say(query("DEFINE TABLE b")); !strings.Contains(got, "Not enough permissions") {
		t.Errorf("a VIEWER defines a table: %s", got)
	}
	for who, k := range map[string]*socket{"the VIEWER": ed, "a user without a record": ghost} {
		if got := k.say(query("SELECT * FROM t")); strings.Contains(got, "ERR") {
			t.Errorf("%s reads: %s", who, got)
		}
	}
}

// A token that was traded for a bearer key ends with the key: it is refused once the grant is revoked, purged or gone with its
// access method, however long it would live.
func TestTokensEndWithTheirGrant(t *testing.T) {
	for _, subject := range []string{"USER ed", "RECORD user:1"} {
		for _, revoke := range []string{"ACCESS key ON DATABASE REVOKE ALL", "ACCESS key ON DATABASE REVOKE GRANT ID",
			"ACCESS key ON DATABASE REVOKE ALL; ACCESS key ON DATABASE PURGE REVOKED", "REMOVE ACCESS key ON DATABASE"} {
			t.Run(subject+" "+revoke, func(t *testing.T) {
				s := start(t, unlimited)
				kind := "DEFINE ACCESS OVERWRITE key ON DATABASE TYPE BEARER FOR " + strings.Fields(subject)[0] + " DURATION FOR TOKEN 4w"
				setup(t, s, revokeSetup+"; "+kind)
				root := s.dial("json").root()
				granted := root.say(query("ACCESS key ON DATABASE GRANT FOR " + subject))
				key := regexp.MustCompile(`surreal-bearer-(\w+)-\w+`).FindStringSubmatch(granted)
				if key == nil {
					t.Fatal(granted)
				}
				var in struct{ Result string }
				if err := json.Unmarshal([]byte(s.dial("json").say(`{"id":1,"method":"signin","params":[{`+inTest+`,"ac":"key","key":"`+key[0]+`"}]}`)), &in); err != nil || in.Result == "" {
					t.Fatal(err, in)
				}
				held := s.dial("json")
				enter := `{"id":1,"method":"authenticate","params":["` + in.Result + `"]}`
				if got := held.say(enter); strings.Contains(got, "error") {
					t.Fatal(got)
				}
				if got := root.say(query(strings.Replace(revoke, " ID", " "+key[1], 1))); strings.Contains(got, "ERR") {
					t.Fatal(got)
				}
				for what, got := range map[string]string{
					"a new connection":              s.dial("json").say(enter),
					"the one that the token opened": held.say(query("SELECT * FROM t")),
					"over HTTP":                     s.do("POST", "/sql", "SELECT * FROM t", "Authorization: Bearer "+in.Result, "Surreal-NS: test", "Surreal-DB: test").body,
				} {
					if !strings.Contains(got, "was revoked") && !strings.Contains(got, "problem with authentication") {
						t.Errorf("%s: %s", what, got)
					}
				}
			})
		}
	}
}
