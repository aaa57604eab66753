package daemon_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/daemon/config"
)

// frameOf is one frame of a streaming query, or another answer.
type frameOf struct {
	ID     any
	Error  *struct{ Message string }
	Result struct {
		Stream  string
		Index   int
		Values  []json.RawMessage
		Results int
		Error   *struct{ Message string }
	}
}

func (k *socket) frame() frameOf {
	k.t.Helper()
	_, b := k.message()
	var f frameOf
	if err := json.Unmarshal(b, &f); err != nil {
		k.t.Fatalf("%s: %v", b, err)
	}
	return f
}

// streamed fills a table with 40 MB.
func (s *server) filled() {
	s.t.Helper()
	if r := s.do("POST", "/sql", "DEFINE TABLE t; DEFINE TABLE ev; CREATE |t:1..20000| SET x = string::repeat('x', 2000) RETURN NONE", at()...); !strings.Contains(r.body, "OK") {
		s.t.Fatal(r.body)
	}
}

// A client that does not read holds the statement up, not the memory; other requests of the connection pass between the
// frames, and query_cancel ends it.
func TestStreamWaitsForItsReader(t *testing.T) {
	s := start(t, func(c *config.Config) { c.Limits.WebSocketQueue = 256 << 10 })
	s.filled()
	k := s.dial("json").root()
	k.write(frame(opText, true, []byte(`{"id":"s","method":"query_stream","params":["SELECT * FROM t"]}`)))
	if f := k.frame(); f.Result.Stream != "begin" {
		t.Fatalf("got %+v", f)
	}
	rows, pinged, cancelled, ended := 0, false, false, false
	if f := k.frame(); f.Result.Stream == "rows" {
		rows = len(f.Result.Values)
	} else {
		t.Fatalf("got %+v", f)
	}
	k.write(frame(opText, true, []byte(`{"id":"p","method":"ping"}`)))
	k.write(frame(opText, true, []byte(`{"id":"c","method":"query_cancel","params":["s"]}`)))
	eventually(t, "the statement is stopped, though nothing of it is read", func() bool {
		r := s.do("POST", "/rpc", `{"id":1,"method":"processes"}`, rootAuth, "Content-Type: application/json")
		return strings.Contains(r.body, `"statements":[]`)
	})
	// The answer of query_cancel and the end of the stream come in either order.
	for !ended || !pinged || !cancelled {
		f := k.frame()
		switch {
		case f.ID == "p" && f.Error == nil:
			pinged = true
		case f.ID == "c" && f.Error == nil:
			cancelled = true
		case f.Result.Stream == "rows" && !ended:
			rows += len(f.Result.Values)
		case f.Result.Stream == "end" && !ended:
			ended = true
			if f.Result.Error == nil || f.Result.Error.Message != "The streaming query was stopped before it completed" || f.Result.Results != 0 {
				t.Errorf("got %+v", f.Result)
			}
		default:
			t.Fatalf("got %+v, rows %d, pinged %v, cancelled %v, ended %v", f, rows, pinged, cancelled, ended)
		}
	}
	if rows == 0 || rows > 15000 {
		t.Errorf("%d rows came", rows)
	}
}

// A stream is stopped when its client reads nothing for too long, and when either side closes the connection.
func TestStreamOfAClientThatIsGone(t *testing.T) {
	s := start(t, func(c *config.Config) {
		c.Limits.WebSocketQueue = 64 << 10
		c.Limits.SendTimeout = 100 * time.Millisecond
	})
	s.filled()
	for _, leave := range []bool{true, false} {
		k := s.dial("json").root()
		k.write(frame(opText, true, []byte(`{"id":"s","method":"query_stream","params":["SELECT * FROM t; SLEEP 1h"]}`)))
		if f := k.frame(); f.Result.Stream != "begin" {
			t.Fatalf("got %+v", f)
		}
		if leave {
			_ = k.conn.Close()
		}
		eventually(t, "the connection is gone", func() bool {
			return strings.Contains(s.do("GET", "/metrics", "", rootAuth).body, "nacre_ws_connections 0")
		})
	}
}

// Notifications that wait behind a large answer do not make its reader a slow one.
func TestNotificationsBehindALargeAnswer(t *testing.T) {
	s := start(t, func(c *config.Config) { c.Limits.WebSocketQueue = 64 << 10 })
	s.filled()
	k, writer := s.dial("json").root(), s.dial("json").root()
	k.say(`{"id":1,"method":"live","params":["ev"]}`)
	k.write(frame(opText, true, []byte(`{"id":"big","method":"query","params":["SELECT * FROM t LIMIT 5000"]}`)))
	for range 100 {
		writer.say(`{"id":1,"method":"query","params":["CREATE ev RETURN NONE"]}`)
	}
	notes, answered := 0, false
	for notes < 100 || !answered {
		n := k.note()
		if n.ID == nil {
			notes++
		} else {
			answered = true
		}
	}
	if strings.Contains(s.logs.String(), "does not read") {
		t.Error("a reader counts as slow")
	}
}

// query_cancel ends a GQL program, too, and the connection goes on.
func TestCancelGQL(t *testing.T) {
	k := start(t).dial("json").root()
	list := strings.Repeat("1, ", 999) + "1"
	program := "FOR a IN [" + list + "] FOR b IN [" + list + "] FOR c IN [" + list + "] RETURN count(*) AS n"
	k.write(frame(opText, true, []byte(`{"id":"g","method":"gql","params":["`+program+`"]}`)))
	next := func() (id string, failed bool, body string) {
		_, b := k.message()
		var m struct {
			ID    string
			Error json.RawMessage
		}
		if err := json.Unmarshal(b, &m); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		return m.ID, m.Error != nil, string(b)
	}
	stopped, answer := false, ""
	for !stopped { // until the program has begun
		k.write(frame(opText, true, []byte(`{"id":"c","method":"query_cancel","params":["g"]}`)))
		id, failed, body := next()
		if id == "g" {
			answer = body
			id, failed, _ = next()
		}
		stopped = id == "c" && !failed
		if id == "c" && failed && answer != "" {
			t.Fatalf("the program ended by itself: %s", answer)
		}
	}
	if answer == "" {
		_, _, answer = next()
	}
	if !strings.Contains(answer, `"kind":"Cancelled"`) {
		t.Errorf("the program answered %s", answer)
	}
	k.write(frame(opText, true, []byte(`{"id":"after","method":"gql","params":["RETURN 1 AS one"]}`)))
	if id, failed, body := next(); id != "after" || failed {
		t.Errorf("got %s", body)
	}
}
