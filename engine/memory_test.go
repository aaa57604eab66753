package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// openSmall opens an engine whose statements may hold 8 MiB together.
func openSmall(t testing.TB) *engine.Engine {
	e, err := engine.Open(t.Context(), "memory", engine.Options{Memory: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	s := owner(t, e)
	for i := range 24 { // 12 MiB, in transactions of half a MiB
		run(t, s, fmt.Sprintf("INSERT INTO big (SELECT VALUE { id: %d + $this, n: $this, s: string::repeat('x', 10000) } FROM <array> 0..50) RETURN NONE", i*50))
	}
	if taken := e.Stats().Memory.Taken; taken != 0 {
		t.Fatalf("%d bytes are taken while nothing runs", taken)
	}
	return e
}

// TestStatementsShareABudget: everything large is charged, is refused above the limit, and has given all
// of it back when the statement has ended.
func TestStatementsShareABudget(t *testing.T) {
	e := openSmall(t)
	s := owner(t, e)
	const refused = "The query would hold more than 8388608 bytes, which is all that there is for queries"
	for _, text := range []string{
		"SELECT * FROM big",
		"SELECT * FROM big ORDER BY n LIMIT 1100",
		"SELECT n FROM (SELECT * FROM big ORDER BY s) LIMIT 1",
		"SELECT n, array::group(s) FROM big GROUP BY n",
		"SELECT s, n FROM big GROUP BY n",
		"SELECT count(), string::concat(s, <string> id) AS k FROM big GROUP BY k",
		"SELECT math::median(n), array::distinct(string::concat(s, <string> id)) AS d FROM big GROUP ALL",
		"RETURN (SELECT VALUE s FROM big).len()",
		"LET $a = (SELECT VALUE s FROM big LIMIT 500); LET $b = (SELECT VALUE s FROM big LIMIT 500); RETURN 1",
		"RETURN { LET $a = (SELECT VALUE s FROM big LIMIT 500); LET $b = (SELECT VALUE s FROM big LIMIT 500); 1 }",
		"SELECT VALUE s FROM big LIMIT 500; SELECT VALUE s FROM big LIMIT 500",
		"UPDATE big SET t = s RETURN NONE",
		"UPDATE big SET n += 1",
		"BEGIN; UPDATE big SET t = s WHERE n < 25 RETURN NONE; UPDATE big SET t = s WHERE n >= 25 RETURN NONE; COMMIT",
		"INSERT INTO other (SELECT * FROM big)",
		"RETURN (<array> 0..1000).map(|$i| string::repeat('y', 10000)).len()",
		"RETURN (<array> 0..26).fold('x', |$a, $i| $a + $a).len()",
		"RETURN (SELECT VALUE (SELECT VALUE s FROM big LIMIT 600) FROM [1, 2]).len()",
		"CREATE many:1 SET l = (SELECT VALUE id FROM big); SELECT * FROM many FETCH l",
		"RETURN array::len(many:1.l.s)",
		"RELATE big:1->to->big:2; RELATE big:2->to->big:1; RELATE big:1->to->big:1; RELATE big:2->to->big:2; RETURN big:1.{20..30+collect}(->to->big).len()",
		"RETURN big:1.{..20+path}(->to->big).len()",
		"DELETE big RETURN BEFORE",
	} {
		res := run(t, s, text, allowErrors)
		found := false
		for _, r := range res {
			found = found || r.Err != nil && (r.Err.Msg == refused || errors.Is(r.Err, errs.OutOfMemory())) // by itself, or by what it writes and holds
		}
		if !found {
			t.Errorf("%s: not refused: %v", text, res[len(res)-1].Err)
		}
		if taken := e.Stats().Memory.Taken; taken != 0 {
			t.Fatalf("%s: %d bytes are still taken", text, taken)
		}
	}
	if n := e.Stats().Memory.Refused; n == 0 {
		t.Error("nothing was counted as refused")
	}
	for _, text := range []string{ // what is dropped on the way does not add up
		"SELECT count() FROM big GROUP ALL",
		"SELECT n, count() FROM big GROUP BY n",
		"SELECT * FROM big ORDER BY n LIMIT 10",
		"FOR $i IN 0..100 { LET $a = (SELECT VALUE s FROM big LIMIT 100) }",
		"SELECT VALUE (SELECT VALUE s FROM big LIMIT 100).len() FROM <array> 0..100",
		"SELECT VALUE { LET $a = (SELECT VALUE s FROM big LIMIT 100); $a.len() } FROM <array> 0..100",
		strings.Repeat("LET $a = (SELECT VALUE s FROM big LIMIT 200);", 20),
		"RETURN (<array> 0..1000).fold('', |$a, $i| string::repeat('y', 100000)).len()",
		"RETURN (<array> 0..1000).map(|$i| string::repeat('y', 100000).len()).len()",
		"DEFINE FUNCTION OVERWRITE fn::f() { LET $a = (SELECT VALUE s FROM big LIMIT 100); RETURN $a.len() }; RETURN (<array> 0..100).map(|$i| fn::f()).len()",
	} {
		for _, r := range run(t, s, text, allowErrors) {
			if r.Err != nil {
				t.Errorf("%s: %v", text, r.Err)
			}
		}
	}
	if taken := e.Stats().Memory.Taken; taken != 0 {
		t.Errorf("%d bytes are still taken", taken)
	}
}

// countingSink counts rows.
type countingSink struct{ rows int }

func (*countingSink) Begin(int) error { return nil }
func (c *countingSink) Rows(_ int, rows []value.Value) error {
	c.rows += len(rows)
	return nil
}
func (*countingSink) Finished(int, *engine.Result, bool) error { return nil }

// TestStreamsNeedNoBudget: rows that leave while the statement runs are not held.
func TestStreamsNeedNoBudget(t *testing.T) {
	e := openSmall(t)
	s, sink := owner(t, e), &countingSink{}
	if err := s.Stream(t.Context(), strings.Repeat("SELECT * FROM big; LET $x = 1; SELECT VALUE s FROM big LIMIT 300;", 4), nil, sink); err != nil || sink.rows != 4*1500 {
		t.Errorf("%d rows, %v", sink.rows, err)
	}
}

// TestOpenTransactionsHoldTheirShare: what an interactive transaction has written counts until it ends.
func TestOpenTransactionsHoldTheirShare(t *testing.T) {
	e := openSmall(t)
	s := owner(t, e)
	tx, err := s.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if res, err := tx.Execute(t.Context(), "UPDATE big SET t = s WHERE n < 10 RETURN NONE", nil); err != nil || res[0].Err != nil {
		t.Fatal(err, res)
	}
	held := e.Stats().Memory.Taken
	if held < 4<<20 {
		t.Errorf("the transaction holds %d bytes", held)
	}
	res := run(t, s, "SELECT * FROM big LIMIT 600", allowErrors)
	if !errors.Is(res[0].Err, errs.OutOfMemory()) {
		t.Errorf("beside the transaction: %v", res[0].Err)
	}
	if err := tx.Cancel(t.Context()); err != nil {
		t.Fatal(err)
	}
	run(t, s, "SELECT * FROM big LIMIT 600")
	if taken := e.Stats().Memory.Taken; taken != 0 {
		t.Errorf("%d bytes are still taken", taken)
	}
}

// TestManyClientsAtOnceStayWithinTheBudget: each alone fits, all together do not. A refused client is told that it may
// try again, and gets its answer after some tries.
func TestManyClientsAtOnceStayWithinTheBudget(t *testing.T) {
	e := openSmall(t)
	var wg sync.WaitGroup
	var refused, most atomic.Int64
	const clients = 8
	for client := range clients {
		s := owner(t, e)
		wg.Go(func() {
			text := [...]string{
				"SELECT * FROM big ORDER BY s, n LIMIT 250", "SELECT * FROM big LIMIT 250", "RETURN (<array> 0..250).map(|$i| string::repeat('y', 10000)).len()",
				fmt.Sprintf("UPDATE big SET t = s WHERE n = %d RETURN NONE", client),
			}[client%4]
			deadline := time.Now().Add(time.Minute)
			for done := 0; done < 5; {
				res, err := s.Execute(context.Background(), text, nil)
				for taken := e.Stats().Memory.Taken; taken > most.Load(); {
					most.Store(taken)
				}
				switch {
				case err != nil:
					t.Error(err)
					return
				case res[0].Err == nil:
					done++
				case errors.Is(res[0].Err, errs.OutOfMemory()):
					refused.Add(1)
				default:
					t.Errorf("%s: %v", text, res[0].Err)
					return
				}
				if time.Now().After(deadline) {
					t.Errorf("%s: still refused after a minute", text)
					return
				}
			}
		})
	}
	wg.Wait()
	stats := e.Stats().Memory
	// What a statement was refused is there already, a row or two of 10,000 bytes, and counts beside the error until the
	// statement ends.
	const over = clients * 2 * 10_500
	if stats.Taken != 0 || most.Load() > stats.Limit+over {
		t.Errorf("in the end %d bytes are taken, %d at most, of %d", stats.Taken, most.Load(), stats.Limit)
	}
	t.Logf("refused %d times", refused.Load())
}

// TestIndexesAreBuiltInWhatMemoryIsLeft: a batch that does not fit beside what others hold is tried again smaller.
func TestIndexesAreBuiltInWhatMemoryIsLeft(t *testing.T) {
	e, err := engine.Open(t.Context(), "memory", engine.Options{Memory: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	s := owner(t, e)
	fill(t, s, 5000)
	refusals := func() uint64 { return e.Stats().Memory.Refused }
	holders := []*engine.Tx{}
	for before := refusals(); refusals() == before; {
		tx, err := s.Begin(t.Context())
		if err != nil {
			break
		}
		holders = append(holders, tx)
		_, err = tx.Execute(t.Context(), "CREATE holder SET s = string::repeat('x', 100000) RETURN NONE", nil)
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, tx := range holders[len(holders)-2:] { // the refused one, and another
		if err := tx.Cancel(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	before := refusals()
	run(t, s, "DEFINE INDEX i ON t FIELDS k, n CONCURRENTLY")
	b := ready(t, s, "i")
	if !strings.Contains(b.Text(), "status: 'ready'") {
		t.Errorf("building ended as %s", b.Text())
	}
	if refusals() == before {
		t.Error("there was memory enough: the test tests nothing")
	}
	for _, tx := range holders[:len(holders)-2] {
		if err := tx.Cancel(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
