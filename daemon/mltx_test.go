package daemon_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestRunSeesTheModelsOfItsTransaction removes a model in an interactive transaction: run in it has no model any more, and
// run beside it has, until the transaction is committed.
func TestRunSeesTheModelsOfItsTransaction(t *testing.T) {
	s := start(t)
	for _, name := range []string{"m", "kept"} {
		if r := s.do("POST", "/ml/import", modelFile(t, name), at()...); r.StatusCode != 200 {
			t.Fatal(r.StatusCode, r.body)
		}
	}
	k := s.dial("json", at()...)
	begun := k.say(`{"id":1,"method":"begin"}`)
	parts := strings.Split(begun, `"`)
	if len(parts) < 6 {
		t.Fatal(begun)
	}
	run := func(name, tx string) string {
		return k.say(fmt.Sprintf(`{"id":2,"method":"run"%s,"params":["ml::%s","1.0.0",[100]]}`, tx, name))
	}
	tx := `,"txn":"` + parts[5] + `"`
	wants := func(when, got, want string) {
		t.Helper()
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %q", when, got, want)
		}
	}
	wants("in the transaction", run("m", tx), "212")
	wants("removed", k.say(`{"id":3,"method":"query"`+tx+`,"params":["REMOVE MODEL ml::m<1.0.0>"]}`), "OK")
	wants("in the transaction, removed", run("m", tx), "does not exist")
	wants("in the transaction, kept", run("kept", tx), "212")
	wants("beside the transaction", run("m", ""), "212")
	if got := k.say(`{"id":4,"method":"commit","params":["` + parts[5] + `"]}`); strings.Contains(got, "error") {
		t.Fatal(got)
	}
	wants("committed", run("m", ""), "does not exist")
}
