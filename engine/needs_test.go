package engine_test

import (
	"context"
	"io"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/auth"
)

// refusals are how a function is refused that needs a capability.
var refusals = map[string]string{
	"net": "Access to network target", "files": "Experimental capability `files` is not enabled", "eval": "Evaluating statements is not allowed",
}

// TestFunctionsNeedWhatTheTableSays: what the table says a function needs is asked for, and nothing is asked for that the
// table does not say.
func TestFunctionsNeedWhatTheTableSays(t *testing.T) {
	e, err := engine.Open(context.Background(), "memory", engine.Options{NoDefaults: true, Capabilities: auth.DefaultCapabilities(), Limits: fuzzLimits,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(context.Background())
	s := owner(t, e)
	args := map[string]string{"net": "'http://127.0.0.1:1/', {}", "files": "type::file('b', 'x')", "eval": "'RETURN 1'"}
	r := rand.New(rand.NewPCG(3, 4))
	seen := map[string]int{}
	for _, f := range callable() {
		if f.Needs != "" {
			seen[f.Needs]++
			given := args[f.Needs]
			if f.Name == "file::list" {
				given = "'b'"
			} else if f.Needs == "files" && f.MinArgs() == 2 {
				given += ", 'y'"
			}
			if got := evaluated(t, s, "RETURN "+f.Name+"("+given+")"); !strings.Contains(got, refusals[f.Needs]) {
				t.Errorf("%s is not refused: %s", f.Name, got)
			}
			continue
		}
		if strings.HasPrefix(f.Name, "crypto::") || f.Name == "sleep" {
			continue // slow on purpose
		}
		for range 6 {
			seed := make([]byte, 100)
			for i := range seed {
				seed[i] = byte(r.Uint32())
			}
			text, vars := callText(f, &source{seed})
			if strings.Contains(text, "eval::") { // in a closure
				continue
			}
			res, err := s.Execute(context.Background(), text, vars)
			if err != nil {
				continue
			}
			for _, a := range res {
				for need, refusal := range refusals {
					if a.Err != nil && strings.Contains(a.Err.Msg, refusal) {
						t.Errorf("%s needs %s, and the table does not say so: %s", f.Name, need, a.Err.Msg)
					}
				}
			}
		}
	}
	if seen["net"] != 6 || seen["files"] != 11 || seen["eval"] != 2 {
		t.Errorf("%v functions with needs", seen)
	}
}

// TestIndexesAnswerConditionsWithFixedCalls: what is the same for all rows is computed once, and an index looks for it.
func TestIndexesAnswerConditionsWithFixedCalls(t *testing.T) {
	s := owner(t, openQuiet(t))
	run(t, s, `DEFINE TABLE t; DEFINE FIELD mail ON t TYPE string; DEFINE INDEX m ON t FIELDS mail; DEFINE INDEX a ON t FIELDS at;
		CREATE t:1 SET mail = 'ada@x', at = time::now() - 1h; CREATE t:2 SET mail = 'bob@x', at = time::now() - 3h; LET $name = 'ADA';`)
	for where, index := range map[string]bool{
		"mail = string::lowercase('ADA@x')": true, "mail = string::concat(string::lowercase('ADA'), '@', 'x')": true, "mail = 'ada' + '@x'": true,
		"at > time::now() - 2h": true, "mail = ['ada@x'].find(|$x| true)": false, "mail = rand::enum(['ada@x'])": false, "mail = array::find(['ada@x'], 'ada@x')": false,
		"mail = string::concat(mail, '')": false, "mail = fn::x()": false,
	} {
		plan := evaluated(t, s, "SELECT VALUE id FROM t WHERE "+where+" EXPLAIN")
		if got := strings.Contains(plan, "IndexScan") || strings.Contains(plan, "Iterate Index"); got != index {
			t.Errorf("%s: by index: %v: %s", where, got, plan)
		}
		if strings.Contains(where, "fn::") || strings.Contains(where, "(mail") {
			continue
		}
		if got := evaluated(t, s, "SELECT VALUE id FROM t WHERE "+where); got != "[t:1]" {
			t.Errorf("%s: %s", where, got)
		}
	}
}
