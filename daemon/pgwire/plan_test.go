package pgwire_test

import (
	"io"
	"net/http"
	"regexp"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/nacredb/nacre/daemon/config"
	"github.com/nacredb/nacre/engine/auth"
)

// hashed defines a user of the database of whose password there is a hash alone.
func hashed(name, role string) string {
	hash := auth.HashPassword("pass")
	return "DEFINE USER OVERWRITE " + name + " ON DATABASE PASSHASH '" + hash + "' ROLES " + role + "; "
}

// signIn starts a session of such a user.
func signIn(t testing.TB, addr, user string) *frames {
	t.Helper()
	f := dial(t, addr)
	f.write(startupPacket("user", user, "database", "test/test"))
	if m, err := f.f.Receive(); err != nil || short(m) != "cleartext" {
		t.Fatalf("%s is not asked for a password: %v", user, err)
	}
	f.send(&pgproto3.PasswordMessage{Password: "pass"})
	if got := f.read(1); got != "ok key ZI" {
		t.Fatalf("%s: %s", user, got)
	}
	return f
}

// again runs a prepared statement.
func (f *frames) again(name string, args ...string) string {
	f.t.Helper()
	f.send(bind("", name, args...), execute("", 0), sync)
	return f.read(1)
}

// A plan that is kept with a prepared statement ends with the definitions, rights, place and settings that it was made
// of.
func TestKeptPlans(t *testing.T) {
	addr, d := start(t)
	run(t, d, `DEFINE TABLE item SCHEMAFULL; DEFINE FIELD n ON item TYPE int; DEFINE FIELD at ON item TYPE datetime;
		CREATE item:1 SET n = 1, at = d'2024-01-01T00:00:00Z'; `+hashed("ada", "OWNER")+`
		DEFINE TABLE open; CREATE open:1 SET a = 1`)
	f := signIn(t, addr, "ada")
	f.want("SET dialect = 'sql'", "C(SET) ZI")
	const insert = "INSERT INTO item (id, n, at) VALUES ($1, 2, '2024-01-01')"
	for name, text := range map[string]string{
		"n":    "SELECT n FROM item WHERE id = $1",
		"all":  "SELECT * FROM item WHERE n > 0",
		"zone": "SELECT n FROM item WHERE at = '2024-01-01 01:00:00'",
		"in":   insert,
		"open": "SELECT a FROM open"} {
		f.send(parse(name, text), sync)
		if got := f.read(1); got != "1 ZI" {
			t.Fatalf("%s: %s", text, got)
		}
	}
	want := func(name, want string, args ...string) {
		t.Helper()
		for range 2 { // the second time the plan is kept, if it may be
			if got := f.again(name, args...); got != want {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
	}
	want("n", "2 D[1] C(SELECT 1) ZI", "item:1")
	want("n", "2 C(SELECT 0) ZI", "item:2")
	want("zone", "2 C(SELECT 0) ZI")
	f.want("SET timezone = 'Europe/Paris'", "C(SET) ZI")
	want("zone", "2 D[1] C(SELECT 1) ZI")
	want("open", "2 D[1] C(SELECT 1) ZI")
	want("all", "2 D[item:1|1|2024-01-01 01:00:00+01] C(SELECT 1) ZI")

	run(t, d, "DEFINE FIELD m ON item TYPE option<int>") // a column more
	want("n", "2 D[1] C(SELECT 1) ZI", "item:1")
	want("all", "2 E!0A000 ZI")
	run(t, d, "REMOVE FIELD m ON item; REMOVE FIELD n ON item; DEFINE FIELD n ON item TYPE string; UPDATE item:1 SET n = 'x'")
	want("n", "2 E!0A000 ZI", "item:1")
	run(t, d, "DEFINE FIELD OVERWRITE n ON item TYPE int; UPDATE item:1 SET n = 7")
	want("n", "2 D[7] C(SELECT 1) ZI", "item:1")

	// A definition of the connection's own transaction, which is given up.
	f.want("BEGIN; SET dialect = 'surrealql'; REMOVE TABLE item; SET dialect = 'sql'",
		"C(BEGIN) C(SET) C(REMOVE TABLE) C(SET) ZT")
	f.want("SELECT n FROM item", "E!42P01 ZE")
	f.want("ROLLBACK", "C(ROLLBACK) ZI")
	want("n", "2 D[7] C(SELECT 1) ZI", "item:1")
	f.want("BEGIN; SAVEPOINT s; SET dialect = 'surrealql'; DEFINE FIELD k ON item TYPE option<int>; SET dialect = 'sql'; "+
		"SELECT k FROM item; ROLLBACK TO s", "C(BEGIN) C(SAVEPOINT) C(SET) C(DEFINE FIELD) C(SET) T[k:20] D[-] C(SELECT 1) C(ROLLBACK) ZT")
	f.want("SELECT k FROM item", "E!42703 ZE")
	f.want("ROLLBACK", "C(ROLLBACK) ZI")

	// A definition by others, while a transaction of the connection sees those of its beginning.
	f.want("BEGIN; SELECT n FROM item", "C(BEGIN) T[n:20] D[7] C(SELECT 1) ZT")
	run(t, d, "DEFINE FIELD later ON item TYPE option<int>")
	f.want("SELECT later FROM item", "E!42703 ZE")
	f.want("ROLLBACK; SELECT later FROM item", "C(ROLLBACK) T[later:20] D[-] C(SELECT 1) ZI")

	// The place, and the rights.
	if got := f.again("in", "item:2"); got != "2 C(INSERT 0 1) ZI" {
		t.Errorf("insert: %s", got)
	}
	run(t, d, hashed("ada", "VIEWER"))
	if got := f.again("in", "item:3"); got != "2 E!42501 ZI" && got != "2 F!57P01 EOF" && got != "2 E!28000 ZI" {
		t.Errorf("insert of a viewer: %s", got)
	}
	run(t, d, "REMOVE USER ada ON DATABASE")
	f.send(bind("", "n", "item:1"), execute("", 0), sync)
	if m, err := f.f.Receive(); err == nil {
		if _, ok := m.(*pgproto3.BindComplete); ok {
			m, err = f.f.Receive()
		}
		if _, ok := m.(*pgproto3.DataRow); ok || err == nil && short(m)[1] != '!' {
			t.Errorf("a user that is gone reads %s", short(m))
		}
	}
}

// The planner of the engine does what it can of WHERE, ORDER BY, LIMIT and count: fewer records are read.
func TestPushedDown(t *testing.T) {
	addr, d := start(t, unauthenticated)
	run(t, d, `DEFINE TABLE item SCHEMAFULL; DEFINE FIELD n ON item TYPE int; DEFINE FIELD m ON item TYPE option<int>;
		DEFINE INDEX item_n ON item FIELDS n; CREATE |item:0..1000| SET n = 5; UPDATE item SET n = record::id(id);
		UPDATE item SET m = n WHERE n % 2 = 0`)
	f := login(t, addr)
	f.want("SET dialect = 'sql'", "C(SET) ZI")
	read := func() int {
		t.Helper()
		res, err := http.Get("http://" + d.Addr().String() + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		m := regexp.MustCompile(`(?m)^\w*keys_read\w* (\d+)$`).FindSubmatch(text)
		if m == nil {
			t.Fatalf("no metric of the keys that were read:\n%s", text)
		}
		n, _ := strconv.Atoi(string(m[1]))
		return n
	}
	for _, tc := range []struct {
		text, want string
		most       int // records that may be read; 0: any number
	}{
		{"SELECT n FROM item WHERE id = 'item:7'", "T[n:20] D[7] C(SELECT 1) ZI", 30},
		{"SELECT n FROM item WHERE n BETWEEN 7 AND 8 ORDER BY n", "T[n:20] D[7] D[8] C(SELECT 2) ZI", 40},
		{"SELECT n FROM item ORDER BY n DESC LIMIT 2", "T[n:20] D[999] D[998] C(SELECT 2) ZI", 40},
		{"SELECT n FROM item ORDER BY n LIMIT 1 OFFSET 3", "T[n:20] D[3] C(SELECT 1) ZI", 40},
		{"SELECT n FROM item WHERE n > 500 ORDER BY n LIMIT 1", "T[n:20] D[501] C(SELECT 1) ZI", 40},
		{"SELECT m FROM item ORDER BY m DESC NULLS LAST LIMIT 1", "T[m:20] D[998] C(SELECT 1) ZI", 0},
		{"SELECT m FROM item ORDER BY m LIMIT 1", "T[m:20] D[0] C(SELECT 1) ZI", 0},
		{"SELECT m FROM item ORDER BY m DESC LIMIT 1", "T[m:20] D[-] C(SELECT 1) ZI", 0},
		{"SELECT count(*) FROM item", "T[count:20] D[1000] C(SELECT 1) ZI", 40},
		{"SELECT count(*) FROM item WHERE n < 10", "T[count:20] D[10] C(SELECT 1) ZI", 40},
		{"SELECT count(*) FROM item WHERE m < 10", "T[count:20] D[5] C(SELECT 1) ZI", 0},
		{"SELECT count(*) FROM item WHERE n = NULL", "T[count:20] D[0] C(SELECT 1) ZI", 0},
		{"SELECT count(m), count(DISTINCT n % 3), sum(n) FROM item",
			"T[count:20 count:20 sum:1700] D[500|3|499500] C(SELECT 1) ZI", 0},
	} {
		before := read()
		f.want(tc.text, tc.want)
		if got := read() - before; tc.most > 0 && got > tc.most {
			t.Errorf("%s reads %d keys, at most %d are needed", tc.text, got, tc.most)
		}
	}
}

// A write by itself that meets another one is done again; its client does not hear of that. On disk, others see a
// commit only when it is synced.
func TestWritesMeet(t *testing.T) {
	t.Run("memory", func(t *testing.T) { writesMeet(t) })
	t.Run("disk", func(t *testing.T) {
		writesMeet(t, func(c *config.Config) { c.Path = "bolt://" + t.TempDir() + "/store" })
	})
}

func writesMeet(t *testing.T, change ...func(*config.Config)) {
	addr, d := start(t, append(change, unauthenticated)...)
	run(t, d, "DEFINE TABLE item SCHEMAFULL; DEFINE FIELD n ON item TYPE int; CREATE item:1 SET n = 0")
	const clients, times = 4, 10
	done := make(chan bool)
	for range clients {
		f := login(t, addr)
		f.want("SET dialect = 'sql'", "C(SET) ZI")
		go func() {
			defer func() { done <- true }()
			for range times {
				if got := f.ask("UPDATE item SET n = n + 1 WHERE id = 'item:1'"); got != "C(UPDATE 1) ZI" {
					t.Errorf("an update: %s", got)
				}
			}
		}()
	}
	for range clients {
		<-done
	}
	f := login(t, addr)
	f.want("SET dialect = 'sql'; SELECT n FROM item", "C(SET) T[n:20] D["+strconv.Itoa(clients*times)+"] C(SELECT 1) ZI")
}
