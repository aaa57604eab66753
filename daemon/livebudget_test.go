package daemon_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const liveSetup = `DEFINE TABLE user PERMISSIONS FOR select WHERE id = $auth.id; CREATE user:1 SET pass = 'p';
	DEFINE ACCESS acc ON DATABASE TYPE RECORD SIGNIN (SELECT * FROM user WHERE pass = $pass);
	DEFINE FUNCTION fn::wait() { sleep(1s) }; DEFINE FUNCTION fn::deep() { fn::wait() };
	DEFINE FUNCTION fn::burn($n: int) { LET $x = 0; FOR $i IN 0..$n { LET $x = $x + $i }; RETURN true };
	DEFINE TABLE t PERMISSIONS FULL; DEFINE TABLE other PERMISSIONS FULL; DEFINE TABLE late PERMISSIONS FOR select WHERE sleep(1s) = NONE`

// recordUser opens a socket for the record user of liveSetup.
func (s *server) recordUser() *socket {
	s.t.Helper()
	return s.dial("json", "Authorization: Bearer "+s.token(`{`+inTest+`,"ac":"acc","pass":"p"}`), "Service-NS: test", "Service-DB: test")
}

func query(text string) string { return fmt.Sprintf(`{"id":1,"method":"query","params":[%q]}`, text) }

// A live query may neither wait, nor reach outside, nor write: LIVE itself refuses it, also where that stands in a function.
func TestLiveRefusesWhatWaits(t *testing.T) {
	s := start(t, unlimited)
	setup(t, s, liveSetup)
	k := s.recordUser()
	for _, x := range []string{"sleep(900ms) = NONE", "900ms.sleep()", "http::get('http://127.0.0.1:1/') = 1", "{ SLEEP 1s; true }", "f'b:/x'.get() = 1", "file::exists(f'b:/x')", "fn::wait()", "fn::deep() = 1",
		"[1].map(|$x| sleep(1s))", "(SELECT VALUE sleep(1s) FROM t)", "{ CREATE other; true }", "eval::surql('1')", "api::invoke('/x')", "sequence::nextval('s') > 1", "IF a { sleep(1s) } ELSE { 1 }"} {
		if got := k.say(query("LIVE SELECT * FROM t WHERE " + x)); !strings.Contains(got, "in a live query") && !strings.Contains(got, "Parse error") {
			t.Errorf("%s: %s", x, got)
		}
		if got := k.say(query("LIVE SELECT a, (" + x + ") AS b FROM t")); !strings.Contains(got, "in a live query") && !strings.Contains(got, "Parse error") {
			t.Errorf("field %s: %s", x, got)
		}
	}
	for _, x := range []string{"a > 1", "time::now() > d'2020-01-01T00:00:00Z'", "rand() < 2", "string::len(b) > 1", "fn::burn(1)", "(SELECT * FROM other)", "[1].map(|$x| $x + 1)"} {
		if got := k.say(query("LIVE SELECT * FROM t WHERE " + x)); strings.Contains(got, "ERR") {
			t.Errorf("%s: %s", x, got)
		}
	}
}

// A call that the statement does not show is refused when it runs: the live query ends, and no other query waits.
func TestLiveDoesNotWaitInPermissions(t *testing.T) {
	s := start(t, unlimited)
	setup(t, s, liveSetup)
	k, writer, by := s.recordUser(), s.dial("json").root(), s.dial("json").root()
	for _, from := range []string{"late", "late WHERE true"} {
		if got := k.say(query("LIVE SELECT * FROM " + from)); strings.Contains(got, "ERR") {
			t.Fatal(got)
		}
	}
	by.say(query("LIVE SELECT * FROM other"))
	begun := time.Now()
	writer.say(query("CREATE late; CREATE other:1"))
	if n := by.note(); !strings.Contains(string(n.Result), "other:1") {
		t.Errorf("%s", n.Result)
	}
	if took := time.Since(begun); took > 900*time.Millisecond {
		t.Errorf("a second was waited: %v", took)
	}
}

// A session whose live queries take too much time loses them, and is told why; those of others go on meanwhile, in their order.
func TestLiveQueriesOfOneSessionDelayItsOwn(t *testing.T) {
	s := start(t, unlimited)
	setup(t, s, liveSetup)
	low, by, writer := s.recordUser(), s.dial("json").root(), s.dial("json").root()
	const burners = 15
	for i := range burners {
		if got := low.say(query(fmt.Sprintf("LIVE SELECT * FROM t WHERE fn::burn(100000000) AND %d >= 0", i))); strings.Contains(got, "ERR") {
			t.Fatal(got)
		}
	}
	by.say(query("LIVE SELECT * FROM other"))
	by.say(query("LIVE SELECT * FROM t"))
	const changes = 20
	for i := range changes {
		writer.say(query(fmt.Sprintf("CREATE t:%d; CREATE other:%d", i, i)))
	}
	seen := map[string]int{}
	for range 2 * changes {
		n := string(by.note().Result)
		for _, table := range []string{"t", "other"} {
			if strings.Contains(n, fmt.Sprintf(`"record":"%s:%d"`, table, seen[table])) {
				seen[table]++
			}
		}
	}
	if seen["t"] != changes || seen["other"] != changes {
		t.Errorf("in order came %v of %d each", seen, changes)
	}
	for range burners {
		if n := string(low.note().Result); !strings.Contains(n, `"action":"KILLED"`) || !strings.Contains(n, "too much time") {
			t.Errorf("the session that burns: %s", n)
		}
	}
	if got := low.say(query("LIVE SELECT * FROM t WHERE a = 1")); strings.Contains(got, "ERR") {
		t.Errorf("another live query: %s", got)
	}
}
