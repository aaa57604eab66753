package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// These are the attacks of cmd/nacretest siege on the accounts alone: all that a client holds, also in small pieces, is
// counted, refused in the end, and given back.

// openPool opens an engine with 16 MiB for clients; anonymous clients have 2 MiB of it.
func openPool(t *testing.T) *engine.Engine {
	e, err := engine.Open(t.Context(), "memory", engine.Options{Memory: 16 << 20, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(t, e) })
	run(t, owner(t, e), "DEFINE TABLE t PERMISSIONS FULL; DEFINE TABLE user; CREATE user:1")
	return e
}

// recordUser is a session of user:1.
func recordUser(e *engine.Engine) *engine.Session {
	return e.SessionAs(auth.Principal{Level: auth.RecordUser, NS: "test", DB: "test", Record: value.Record("user", value.Int(1))}, "test", "test")
}

// until counts how often grow works before it is refused for want of memory.
func until(t *testing.T, most int, grow func(int) error) int {
	t.Helper()
	for i := range most {
		if err := grow(i); errors.Is(err, errs.OutOfMemory()) {
			return i
		} else if err != nil {
			t.Fatal(err)
		}
	}
	t.Fatalf("%d times, and never refused", most)
	return 0
}

// free checks that nothing is held.
func free(t *testing.T, e *engine.Engine) {
	t.Helper()
	if s := e.Stats().Memory; s.Taken != 0 || s.Anonymous != 0 {
		t.Errorf("%d bytes are taken in the end, %d by anonymous clients", s.Taken, s.Anonymous)
	}
}

func TestSessionsAndTheirVariablesCount(t *testing.T) {
	e := openPool(t)
	var open []*engine.Session
	attach := func(s *engine.Session, bytes int) error {
		open = append(open, s)
		return errors.Join(s.Lasts(), s.Set("x", value.Str(strings.Repeat("x", bytes))))
	}
	if n := until(t, 1000, func(int) error { return attach(e.Session(), 60_000) }); n < 10 || n > 40 {
		t.Errorf("%d sessions of anonymous clients with 60 KB each fit into 2 MiB", n)
	}
	if n := until(t, 1000, func(int) error { return attach(recordUser(e), 60_000) }); n < 150 || n > 280 {
		t.Errorf("%d sessions of users with 60 KB each fit beside them", n)
	}
	for _, s := range open {
		s.Reset()
		s.Close()
		if err := s.Set("x", value.Str("x")); err == nil {
			t.Fatal("a session that has ended takes variables")
		}
	}
	free(t, e)
	if n := until(t, 10_000, func(int) error { return attach(e.Session(), 1) }); n > 1024 {
		t.Errorf("%d empty sessions of anonymous clients fit into 2 MiB", n)
	}
	for _, s := range open {
		s.Close()
	}
	free(t, e)
}

func TestVariablesThatShrinkAreGivenBack(t *testing.T) {
	e := openPool(t)
	s := recordUser(e)
	for _, n := range []int{10 << 20, 1 << 20, 5 << 20, 10} {
		if err := s.Set("x", value.Str(strings.Repeat("x", n))); err != nil {
			t.Fatal(err)
		}
		if taken := e.Stats().Memory.Taken; taken < int64(n) || taken > int64(n)+2<<20 {
			t.Errorf("%d bytes are taken for %d", taken, n)
		}
	}
	if err := s.Set("x", value.None); err != nil {
		t.Fatal(err)
	}
	free(t, e)
}

// TestErrorsAreShortAndCount: a thrown text of megabytes is cut, and so many errors are refused as would not fit.
func TestErrorsAreShortAndCount(t *testing.T) {
	e := openPool(t)
	s := recordUser(e)
	res := run(t, s, "LET $x = string::repeat('e', 1000000);"+strings.Repeat("THROW $x;", 50)+strings.Repeat("RETURN <int> $x;", 50), allowErrors)
	for _, r := range res[1:] {
		most := 66 << 10
		if r.Err == nil {
			t.Fatal("no error")
		}
		if r.Err.Kind != errs.KindThrown {
			most = 2 << 10
		}
		if len(r.Err.Msg) > most {
			t.Fatalf("an error of %d bytes: %.80s", len(r.Err.Msg), r.Err.Msg)
		}
	}
	kept := 0
	for _, r := range run(t, s, "LET $x = string::repeat('e', 1000000);"+strings.Repeat("THROW $x;", 1000), allowErrors) {
		if r.Err != nil {
			kept += r.Err.Weight()
		}
	}
	if kept > 16<<20 {
		t.Errorf("the errors of a text hold %d bytes", kept)
	}
	free(t, e)
}

func TestOpenTransactionsCountInFull(t *testing.T) {
	e := openPool(t)
	var open []*engine.Tx
	s := recordUser(e)
	if n := until(t, 10_000, func(int) error {
		tx, err := s.Begin(t.Context())
		if err == nil {
			open = append(open, tx)
		}
		return err
	}); n > 1024 {
		t.Errorf("%d transactions that have done nothing fit into 16 MiB", n)
	}
	for _, tx := range open {
		_ = tx.Cancel(t.Context())
	}
	free(t, e)
	open = open[:0]
	if n := until(t, 100, func(i int) error {
		tx, err := s.Begin(t.Context())
		if err != nil {
			return err
		}
		open = append(open, tx)
		res, err := tx.Execute(t.Context(), fmt.Sprintf("CREATE t:%d SET s = string::repeat('x', 1000000) RETURN NONE", i), nil)
		if err == nil && res[0].Err != nil {
			err = res[0].Err
		}
		return err
	}); n > 16 {
		t.Errorf("%d transactions with a record of 1 MB each fit into 16 MiB", n)
	}
	for _, tx := range open {
		_ = tx.Cancel(t.Context())
	}
	free(t, e)
}

// TestReadsOfTransactionsCount: what a transaction remembers of what it has read may be long keys.
func TestReadsOfTransactionsCount(t *testing.T) {
	e := openPool(t)
	res := run(t, recordUser(e), "FOR $i IN 0..4000 { LET $r = (UPDATE type::record('t', string::repeat('x', 30000) + <string> $i)) }", allowErrors)
	if !errors.Is(res[0].Err, errs.OutOfMemory()) && (res[0].Err == nil || !strings.Contains(res[0].Err.Msg, "all that there is for queries")) {
		t.Errorf("120 MB of keys: %v", res[0].Err)
	}
	free(t, e)
}

func TestLiveQueriesCountTheirVariables(t *testing.T) {
	e := openPool(t)
	s := recordUser(e)
	s.Notify(func(*engine.Notification) error { return nil })
	vars := value.NewObject(value.Field{Name: "v", Value: value.Str(strings.Repeat("v", 1<<20))})
	live := func(int) error {
		res, err := s.Execute(t.Context(), "LIVE SELECT * FROM t WHERE n != $v", vars)
		if err == nil && res[0].Err != nil {
			err = res[0].Err
		}
		return err
	}
	if n := until(t, 100, live); n < 5 || n > 15 {
		t.Errorf("%d live queries with 1 MiB each fit into 16 MiB", n)
	}
	s.Close()
	free(t, e)
}

// TestSleepersCount: statements that wait hold what they have.
func TestSleepersCount(t *testing.T) {
	e := openPool(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan bool, 2000)
	for range cap(ended) {
		go func() {
			_, err := recordUser(e).Execute(ctx, "SLEEP 1h", nil)
			ended <- err != nil
		}()
	}
	deadline := time.Now().Add(30 * time.Second)
	for e.Stats().Memory.Refused < 900 {
		if time.Now().After(deadline) {
			t.Fatalf("2000 sleepers: %+v", e.Stats().Memory)
		}
		time.Sleep(time.Millisecond)
	}
	stop()
	for range cap(ended) {
		<-ended
	}
	free(t, e)
}

// TestParsedTextsCount: many distinct large texts do not stay.
func TestParsedTextsCount(t *testing.T) {
	e, err := engine.Open(t.Context(), "memory", engine.Options{Memory: 4 << 20, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, e)
	s := owner(t, e)
	text := "SLEEP 1ms; RETURN [" + strings.Repeat("a,", 200_000) + "1]"
	res := run(t, s, text, allowErrors)
	if len(res) != 2 || res[0].Err == nil {
		t.Errorf("a text of 400 KB that parses to 20 MB ran with 4 MiB")
	}
	free(t, e)
}

// TestIdleTransactionsOfRecordUsersEndSooner: what the store keeps for one grows with what others write.
func TestIdleTransactionsOfRecordUsersEndSooner(t *testing.T) {
	e, err := engine.Open(t.Context(), "memory", engine.Options{Log: slog.New(slog.DiscardHandler), Limits: engine.Limits{TxTimeout: time.Hour}})
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, e)
	run(t, owner(t, e), "CREATE user:1")
	low, err := recordUser(e).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	high, err := owner(t, e).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for tx, want := range map[*engine.Tx]time.Duration{low: 12 * time.Minute, high: time.Hour} {
		if left := tx.Left(); left > want || left < want-time.Minute {
			t.Errorf("an idle transaction has %v left, want %v", left, want)
		}
		if err := tx.Cancel(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
