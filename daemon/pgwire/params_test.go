package pgwire_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// $1 and so on are parameters of statements of the language, too, wherever the language has an expression, and nowhere
// inside of its texts and comments.
func TestParametersOfTheLanguage(t *testing.T) {
	addr, d := start(t, unauthenticated)
	run(t, d, "CREATE |item:1..5| SET n = 1; UPDATE item SET n = record::id(id)")
	f := login(t, addr)
	for _, tc := range []struct {
		text, want string
		args       []string
	}{
		{"RETURN [$1, $2, $1]", "1 t[3802 3802] T[result:3802] 2 D[1] D[\"x\"] D[1] C(SELECT 3) ZI", []string{"1", "x"}},
		{"RETURN '$1' + $1", "1 t[3802] T[result:3802] 2 D[\"$1x\"] C(SELECT 1) ZI", []string{"x"}},
		{"RETURN $1 /* $2 */ -- $3", "1 t[3802] T[result:3802] 2 D[{\"a\":1}] C(SELECT 1) ZI", []string{`{"a": 1}`}},
		{"SELECT VALUE n FROM item WHERE n > $1 ORDER BY n LIMIT $2", "1 t[3802 20] T[result:3802] 2 D[3] D[4] C(SELECT 2) ZI",
			[]string{"2", "7"}},
		{"SELECT n FROM type::record('item', $1)", "1 t[3802] T[result:3802] 2 D[{\"n\":2}] C(SELECT 1) ZI", []string{"2"}},
		{"UPDATE item SET n = $2 WHERE n = $1 RETURN NONE", "1 t[3802 3802] n 2 C(UPDATE 1) ZI", []string{"4", "40"}},
		{"LET $x = $1", "1 t[3802] n 2 C(SET) ZI", []string{"5"}},
		{"RETURN $x + $1", "1 t[3802] T[result:3802] 2 D[6] C(SELECT 1) ZI", []string{"1"}},
		{"RETURN $1 IS NULL", "1 t[3802] T[result:3802] 2 D[false] C(SELECT 1) ZI", []string{"null word"}},
		{"RETURN $3", "1 t[3802 3802 3802] T[result:3802] 2 D[3] C(SELECT 1) ZI", []string{"1", "2", "3"}},
	} {
		f.send(parse("", tc.text), describe('S', ""), bind("", "", tc.args...), execute("", 0), sync)
		if got := f.read(1); got != tc.want {
			t.Errorf("%s\n got %s\nwant %s", tc.text, got, tc.want)
		}
	}
	// A type that the client names is the type of the value; described as a portal, the answer has columns.
	f.send(parse("", "RETURN [type::of($1), type::of($2), $2]", 20, 25), bind("", "", "7", "7"), describe('P', ""),
		execute("", 0), sync)
	if got := f.read(1); got != `1 2 T[value:25] D[int] D[string] D[7] C(SELECT 3) ZI` {
		t.Errorf("named types: %s", got)
	}
	f.send(parse("", "RETURN $1 + 1", 20), &pgproto3.Bind{ParameterFormatCodes: []int16{1},
		Parameters: [][]byte{{0, 0, 0, 0, 0, 0, 1, 0}}}, execute("", 0), sync)
	if got := f.read(1); got != "1 2 D[257] C(SELECT 1) ZI" {
		t.Errorf("binary: %s", got)
	}
	f.want("SET param_type = 'text'", "C(SET) ZI")
	f.send(parse("", "RETURN $1"), describe('S', ""), bind("", "", "12"), execute("", 0), sync)
	if got := f.read(1); got != `1 t[25] T[result:3802] 2 D["12"] C(SELECT 1) ZI` {
		t.Errorf("as texts: %s", got)
	}
	f.want("RETURN $1", "E!42P02 ZI")
}

// LISTEN to a table tells of its changes under the name of the channel, until UNLISTEN; not inside of a block.
func TestListenToTables(t *testing.T) {
	addr, d := start(t, unauthenticated)
	run(t, d, "DEFINE TABLE item; DEFINE TABLE other")
	f := login(t, addr)
	f.want(`LISTEN "live:item"`, "C(LISTEN) ZI")
	f.want(`LISTEN "live:item"`, "C(LISTEN) ZI") // once is enough
	if got := f.ask("LIVE SELECT VALUE n FROM other"); !strings.HasPrefix(got, "T[value:2950] D[") {
		t.Fatal(got)
	}
	run(t, d, "CREATE item:1 SET n = 1; UPDATE item:1 SET n = 2; CREATE other:1 SET n = 5; DELETE item:1")
	heard := map[string]int{}
	for range 4 {
		m, err := f.f.Receive()
		if err != nil {
			t.Fatal(err)
		}
		n, ok := m.(*pgproto3.NotificationResponse)
		if !ok || n.PID != 0 {
			t.Fatalf("%+v", m)
		}
		for _, action := range []string{"CREATE", "UPDATE", "DELETE"} {
			if strings.Contains(n.Payload, `"action":"`+action+`"`) {
				channel := n.Channel
				if channel != "live:item" {
					channel = "another"
				}
				heard[channel+" "+action]++
			}
		}
	}
	for _, want := range []string{"live:item CREATE", "live:item UPDATE", "live:item DELETE", "another CREATE"} {
		if heard[want] != 1 {
			t.Errorf("%s was heard %d times: %v", want, heard[want], heard)
		}
	}
	f.want(`UNLISTEN "live:item"`, "C(UNLISTEN) ZI")
	run(t, d, "CREATE item:2")
	f.want("RETURN 1", "T[value:20] D[1] C(SELECT 1) ZI")
	f.want("BEGIN", "C(BEGIN) ZT")
	f.want(`LISTEN "live:item"`, "E!25001 ZE")
	f.want("ROLLBACK", "C(ROLLBACK) ZI")
}
