package daemon_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nacredb/nacre/daemon/config"
)

// note is a message on a socket with a live query: an answer (ID set) or a notification.
type note struct {
	ID     any
	Error  *struct{ Message string }
	Result json.RawMessage
}

func (k *socket) note() note {
	k.t.Helper()
	_, b := k.message()
	var n note
	if err := json.Unmarshal(b, &n); err != nil {
		k.t.Fatalf("%s: %v", b, err)
	}
	return n
}

// root signs in and selects test/test.
func (k *socket) root() *socket {
	k.t.Helper()
	for _, m := range []string{`{"id":1,"method":"signin","params":[{"user":"root","pass":"root"}]}`, `{"id":2,"method":"use","params":["test","test"]}`} {
		if got := k.say(m); strings.Contains(got, `"error"`) {
			k.t.Fatal(got)
		}
	}
	return k
}

// Live notification: {result: {action, id, record, result, session}}, in commit order, and nothing after kill.
func TestLiveNotifications(t *testing.T) {
	s := start(t)
	watcher, writer := s.dial("json").root(), s.dial("json").root()
	writer.say(`{"id":1,"method":"query","params":["DEFINE TABLE person"]}`)
	var id string
	var answer struct{ Result string }
	if err := json.Unmarshal([]byte(watcher.say(`{"id":5,"method":"live","params":["person"]}`)), &answer); err != nil || len(answer.Result) != 36 {
		t.Fatalf("%q %v", answer.Result, err)
	}
	id = answer.Result
	writer.say(`{"id":2,"method":"create","params":["person:1",{"a":1}]}`)
	writer.say(`{"id":3,"method":"merge","params":["person:1",{"a":2}]}`)
	writer.say(`{"id":4,"method":"delete","params":["person:1"]}`)
	for _, want := range []string{
		`{"action":"CREATE","id":"` + id + `","record":"person:1","result":{"a":1,"id":"person:1"},"session":null}`,
		`{"action":"UPDATE","id":"` + id + `","record":"person:1","result":{"a":2,"id":"person:1"},"session":null}`,
		`{"action":"DELETE","id":"` + id + `","record":"person:1","result":{"a":2,"id":"person:1"},"session":null}`,
	} {
		n := watcher.note()
		if n.ID != nil || string(n.Result) != want {
			t.Errorf("got  %s\nwant %s", n.Result, want)
		}
	}
	if got := watcher.say(`{"id":6,"method":"kill","params":["` + id + `"]}`); got != `{"id":6,"result":null}` {
		t.Error(got)
	}
	writer.say(`{"id":5,"method":"create","params":["person:2",{}]}`)
	for range 20 { // a notification would come before one of these answers
		if got := watcher.say(`{"id":7,"method":"query","params":["RETURN 1"]}`); !strings.HasPrefix(got, `{"id":7,`) {
			t.Fatalf("after the kill: %s", got)
		}
	}
	if got := watcher.say(`{"id":8,"method":"kill","params":["` + id + `"]}`); !strings.Contains(got, "Cannot execute KILL statement using id: '"+id+"'") {
		t.Errorf("kill again: %s", got)
	}
}

func TestLiveQueryEndsWithItsTable(t *testing.T) {
	s := start(t)
	watcher, writer := s.dial("json").root(), s.dial("json").root()
	writer.say(`{"id":1,"method":"query","params":["DEFINE TABLE gone"]}`)
	watcher.say(`{"id":5,"method":"live","params":["gone",true]}`)
	writer.say(`{"id":2,"method":"query","params":["CREATE gone:1 SET a = 1"]}`)
	if n := watcher.note(); !strings.Contains(string(n.Result), `"result":[{"op":"replace","path":"","value":{"a":1,"id":"gone:1"}}]`) {
		t.Errorf("patches: %s", n.Result)
	}
	writer.say(`{"id":3,"method":"query","params":["REMOVE TABLE gone"]}`)
	if n := watcher.note(); !strings.Contains(string(n.Result), `"action":"KILLED"`) {
		t.Errorf("end: %s", n.Result)
	}
}

func TestLiveQueryOfAnAttachedSession(t *testing.T) {
	s := start(t)
	k, writer := s.dial("json"), s.dial("json").root()
	writer.say(`{"id":1,"method":"query","params":["DEFINE TABLE person"]}`)
	const in = `"session":"00000000-0000-4000-8000-00000000000a"`
	for _, m := range []string{`"attach"`, `"signin","params":[{"user":"root","pass":"root"}]`, `"use","params":["test","test"]`, `"live","params":["person"]`} {
		if got := k.say(`{"id":1,` + in + `,"method":` + m + `}`); strings.Contains(got, `"error"`) {
			t.Fatal(got)
		}
	}
	writer.say(`{"id":2,"method":"create","params":["person:1",{}]}`)
	if n := k.note(); !strings.Contains(string(n.Result), in) {
		t.Errorf("got %s", n.Result)
	}
	k.say(`{"id":1,` + in + `,"method":"detach"}`)
	writer.say(`{"id":3,"method":"create","params":["person:2",{}]}`)
	for range 20 {
		if got := k.say(`{"id":7,"method":"ping"}`); !strings.HasPrefix(got, `{"id":7,`) {
			t.Fatalf("after detaching: %s", got)
		}
	}
}

// A subscriber that does not read is closed; the writer never waits for it.
func TestSubscriberThatDoesNotRead(t *testing.T) {
	s := start(t, func(c *config.Config) { c.Limits.WebSocketQueue = 256 << 10 })
	watcher, writer := s.dial("json").root(), s.dial("json").root()
	writer.say(`{"id":1,"method":"query","params":["DEFINE TABLE t"]}`)
	watcher.say(`{"id":5,"method":"live","params":["t"]}`)
	text := strings.Repeat("x", 64<<10)
	gone := func() bool { return strings.Contains(s.logs.String(), "the client does not read") }
	for i := 0; i < 2000 && !gone(); i++ {
		if got := writer.say(`{"id":2,"method":"query","params":["CREATE t SET x = $x RETURN NONE",{"x":"` + text + `"}]}`); !strings.Contains(got, `"OK"`) {
			t.Fatal(got)
		}
	}
	eventually(t, "the subscriber is closed", gone)
}

// A connection that ends takes its live queries along, those of its attached sessions too.
func TestLiveQueriesEndWithTheirConnection(t *testing.T) {
	s := start(t)
	active := func(n string) func() bool {
		return func() bool {
			return strings.Contains(s.do("GET", "/metrics", "", rootAuth).body, "surrealdb_live_query_active "+n+"\n")
		}
	}
	k := s.dial("json").root()
	k.say(`{"id":1,"method":"query","params":["DEFINE TABLE t"]}`)
	k.say(`{"id":2,"method":"live","params":["t"]}`)
	const in = `"session":"00000000-0000-4000-8000-00000000000b"`
	for _, m := range []string{`"attach"`, `"signin","params":[{"user":"root","pass":"root"}]`, `"use","params":["test","test"]`, `"live","params":["t"]`} {
		if got := k.say(`{"id":3,` + in + `,"method":` + m + `}`); strings.Contains(got, `"error"`) {
			t.Fatal(got)
		}
	}
	eventually(t, "two live queries", active("2"))
	_ = k.conn.Close()
	eventually(t, "no live query", active("0"))
}
