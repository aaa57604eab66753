package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// TestMoneyStays: transfers between accounts by many sessions at once neither make nor lose money, and readers never see
// one half done.
func TestMoneyStays(t *testing.T) {
	e := openQuiet(t)
	s := owner(t, e)
	const accounts, start, workers, transfers = 10, 100, 8, 25
	run(t, s, fmt.Sprintf("FOR $i IN 0..%d { CREATE type::record('a', $i) SET n = %d }", accounts, start))
	total := func(s *engine.Session) int64 {
		return run(t, s, "RETURN math::sum(SELECT VALUE n FROM a)")[0].Value.Int()
	}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			s := owner(t, e)
			for i := range transfers {
				from, to := (w+i)%accounts, (w*3+i*7+1)%accounts
				text := fmt.Sprintf("BEGIN; LET $n = %d; UPDATE a:%d SET n -= $n; UPDATE a:%d SET n += $n; COMMIT", i%5, from, to)
				if w%2 == 0 {
					text = fmt.Sprintf("{ LET $n = %d; UPDATE a:%d SET n -= $n; UPDATE a:%d SET n += $n; RETURN NONE }", i%5, from, to)
				}
				for {
					res, err := s.Execute(context.Background(), text, nil)
					if err != nil {
						t.Error(err)
						return
					}
					if !conflicted(res) {
						break
					}
				}
				if got := total(s); got != accounts*start {
					t.Errorf("a reader saw %d", got)
				}
			}
		})
	}
	wg.Wait()
	if got := total(s); got != accounts*start {
		t.Errorf("%d is left of %d", got, accounts*start)
	}
}

// conflicted reports whether a transaction lost a race and may be tried again.
func conflicted(res []engine.Result) bool {
	for _, r := range res {
		if r.Err != nil && strings.Contains(r.Err.Msg, "can be retried") {
			return true
		}
	}
	return false
}

func TestInteractiveTransactions(t *testing.T) {
	ctx := context.Background()
	e := openQuiet(t)
	s, other := owner(t, e), owner(t, e)
	begin := func() *engine.Tx {
		t.Helper()
		tx, err := s.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return tx
	}
	do := func(tx *engine.Tx, text string) string {
		t.Helper()
		res, err := tx.Execute(ctx, text, nil)
		if err != nil {
			t.Fatal(err)
		}
		last := res[len(res)-1]
		if last.Err != nil {
			return last.Err.Msg
		}
		return last.Value.Text()
	}
	count := func(s *engine.Session) string {
		return run(t, s, "RETURN count(SELECT * FROM t)")[0].Value.Text()
	}
	run(t, s, "CREATE t:1")

	tx := begin()
	do(tx, "CREATE t:2; CREATE t:3")
	if got := do(tx, "CREATE t:[1]; CREATE t:1"); got != "Database record `t:1` already exists" {
		t.Errorf("a failing statement answers %s", got)
	}
	if in, out := do(tx, "RETURN count(SELECT * FROM t)"), count(other); in != "4" || out != "1" {
		t.Errorf("inside there are %s records, outside %s", in, out)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if got := count(other); got != "4" {
		t.Errorf("after the commit there are %s records", got)
	}
	if err := tx.Commit(ctx); err == nil {
		t.Error("a transaction was committed twice")
	}

	tx = begin()
	do(tx, "DELETE t")
	if err := tx.Cancel(ctx); err != nil {
		t.Fatal(err)
	}
	if got := count(s); got != "4" {
		t.Errorf("after the cancel there are %s records", got)
	}

	a, b := begin(), begin()
	do(a, "UPDATE t:1 SET n = (n ?? 0) + 1")
	do(b, "UPDATE t:1 SET n = (n ?? 0) + 1")
	if err := a.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if err := b.Commit(ctx); !errors.Is(err, errs.Conflict()) {
		t.Errorf("the second of two writers got %v", err)
	}
}

func TestSessionsKeepTheirPlaceAndVariables(t *testing.T) {
	e := openQuiet(t)
	s, other := owner(t, e), owner(t, e)
	run(t, s, "USE DB elsewhere; CREATE t:1")
	if ns, db := s.Place(); ns != "test" || db != "elsewhere" {
		t.Errorf("the place is %s/%s", ns, db)
	}
	if _, db := other.Place(); db != "test" {
		t.Errorf("another session is in %s", db)
	}
	if err := s.Set("v", value.Int(5)); err != nil {
		t.Fatal(err)
	}
	if err := s.Set("auth", value.Int(5)); err == nil {
		t.Error("$auth was set")
	}
	if got := run(t, s, "RETURN [$v, $w]", value.Field{Name: "w", Value: value.Int(6)})[0].Value.Text(); got != "[5, 6]" {
		t.Errorf("the variables are %s", got)
	}
	if got := run(t, s, "LET $w = 7; RETURN $w")[1].Value.Text(); got != "7" {
		t.Errorf("$w is %s", got)
	}
	if got := run(t, s, "RETURN $w")[0].Value.Text(); got != "NONE" {
		t.Errorf("a variable of one text shows in the next: %s", got)
	}
	s.Reset()
	if ns, db := s.Place(); ns != "" || db != "" {
		t.Errorf("after a reset the place is %s/%s", ns, db)
	}
	if _, err := s.Execute(context.Background(), "RETURN 1", nil); err == nil {
		t.Error("a session without identity ran a query")
	}
}

func TestDatabaseUsersStayInTheirDatabase(t *testing.T) {
	e := openQuiet(t)
	run(t, owner(t, e), "CREATE t:1; DEFINE USER u ON DATABASE PASSWORD 'x' ROLES EDITOR; USE DB secret; CREATE t:9")
	s, err := signIn(e, "db-editor")
	if err != nil {
		t.Fatal(err)
	}
	place := "secret"
	if err := s.Use(context.Background(), nil, &place); err == nil {
		t.Error("a database user moved to another database")
	}
	for _, text := range []string{"SELECT * FROM t", "CREATE t:10", "INFO FOR DB", "RETURN t:9.id"} {
		res := run(t, s, "USE DB secret; "+text, allowErrors)
		if last := res[1]; last.Err == nil && last.Value.Text() != "[]" && last.Value.Text() != "NONE" {
			t.Errorf("%s in another database: %s", text, last.Value.Text())
		}
	}
}
