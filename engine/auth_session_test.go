package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/value"
)

// What a client calls its own parameters never hides from permissions who it is.
func TestNobodySetsWhoTheyAre(t *testing.T) {
	ctx := context.Background()
	e := openQuiet(t)
	s := owner(t, e)
	setup := `DEFINE TABLE t PERMISSIONS FOR select, update WHERE owner = $auth; CREATE t:1 SET owner = user:2;
		CREATE user:1; DEFINE ACCESS acc ON DATABASE TYPE RECORD SIGNIN (SELECT * FROM user WHERE $auth = user:2)`
	if _, err := s.Execute(ctx, setup, nil); err != nil {
		t.Fatal(err)
	}
	ns, db := s.Place()
	u := e.SessionAs(auth.Principal{Level: auth.RecordUser, NS: ns, DB: db, Record: value.Record("user", value.Int(1))}, ns, db)
	two := value.Record("user", value.Int(2))
	for _, name := range []string{"auth", "access", "session", "token"} {
		want := "'" + name + "' is a protected variable and cannot be set"
		vars := value.NewObject(value.Field{Name: name, Value: two})
		if _, err := u.Execute(ctx, "SELECT * FROM t", vars); err == nil || err.Error() != want {
			t.Errorf("parameter %s: %v", name, err)
		}
		tx, err := u.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Execute(ctx, "SELECT * FROM t", vars); err == nil || err.Error() != want {
			t.Errorf("parameter %s in a transaction: %v", name, err)
		}
		if err := tx.Cancel(ctx); err != nil {
			t.Error(err)
		}
		if err := u.Set(name, two); err == nil || err.Error() != want {
			t.Errorf("variable %s: %v", name, err)
		}
	}
	for _, text := range []string{
		"FOR $auth IN [user:2] { RETURN SELECT * FROM t }", "[user:2].map(|$auth| (SELECT * FROM t))",
		"RETURN { LET $x = 1; FOR $auth IN [user:2] { UPDATE t SET x = 1 }; SELECT * FROM t }",
	} {
		results, err := u.Execute(ctx, text, nil)
		if err != nil || strings.Contains(results[0].Value.Text(), "owner") {
			t.Errorf("%s: %v %v", text, results, err)
		}
	}
	in := value.NewObject(value.Field{Name: "ns", Value: value.Str(ns)}, value.Field{Name: "db", Value: value.Str(db)},
		value.Field{Name: "ac", Value: value.Str("acc")}, value.Field{Name: "auth", Value: two})
	if v, err := e.Session().Signin(ctx, in); err == nil {
		t.Errorf("signed in by a parameter: %s", v.Text())
	}
}
