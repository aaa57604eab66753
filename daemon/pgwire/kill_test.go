package pgwire_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/nacredb/nacre/engine/value"
)

// sessionOf is the id of the only session that a client has, in the list of processes.
func sessionOf(t *testing.T, list value.Value) string {
	t.Helper()
	sessions, _ := list.Object().Get("sessions")
	for _, s := range sessions.Elems() {
		if client, _ := s.Object().Get("client"); client.Kind() == value.KindString && client.Str() != "" {
			id, _ := s.Object().Get("id")
			return id.UUID().String()
		}
	}
	t.Fatalf("no session is listed: %s", list)
	return ""
}

// An operator who ends a session ends its connection: one that is idle, one that runs a statement, and one in a block.
func TestEndedSessions(t *testing.T) {
	addr, d := start(t, unauthenticated)
	operator := d.Engine().RootSession()
	defer operator.Close()
	for _, tc := range []struct{ name, before, text string }{
		{"idle", "", ""},
		{"in a block", "BEGIN", ""},
		{"at work", "", "SELECT * FROM sleep(1m)"},
		{"at work in a block", "BEGIN", "SELECT * FROM sleep(1m)"},
	} {
		f := login(t, addr)
		if tc.before != "" {
			f.ask(tc.before)
		}
		if tc.text != "" {
			f.send(&pgproto3.Query{String: tc.text})
			for n := value.None; n.IsNone() || n.Int() == 0; time.Sleep(time.Millisecond) {
				list, err := operator.Processes(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				totals, _ := list.Object().Get("totals")
				n, _ = totals.Object().Get("statements")
			}
		}
		list, err := operator.Processes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := operator.Terminate(t.Context(), sessionOf(t, list)); err != nil {
			t.Fatal(err)
		}
		if got := f.read(9); !strings.HasSuffix(got, "F!57P01 EOF") {
			t.Errorf("%s: %s", tc.name, got)
		}
	}
}
