package engine_test

import (
	"errors"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// users opens a store with a user at each level.
func users(t *testing.T) *engine.Engine {
	t.Helper()
	e, err := engine.Open(t.Context(), "memory", engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if _, err := e.CreateRootUser(t.Context(), "root", "pw"); err != nil {
		t.Fatal(err)
	}
	runAll(t, e.RootSession(), `USE NS n DB d; DEFINE USER nu ON NAMESPACE PASSWORD 'pw' ROLES EDITOR;
		DEFINE USER du ON DATABASE PASSWORD 'pw' DURATION FOR TOKEN 1h, FOR SESSION 2h`)
	return e
}

func runAll(t *testing.T, s *engine.Session, text string) []engine.Result {
	t.Helper()
	res, err := s.Execute(t.Context(), text, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range res {
		if r.Err != nil {
			t.Fatalf("%s: %v", text, r.Err)
		}
	}
	return res
}

func credentials(pairs ...string) *value.Object {
	var f []value.Field
	for i := 0; i < len(pairs); i += 2 {
		f = append(f, value.Field{Name: pairs[i], Value: value.Str(pairs[i+1])})
	}
	return value.NewObject(f...)
}

func TestSignin(t *testing.T) {
	e := users(t)
	for _, tc := range []struct {
		name   string
		in     *value.Object
		level  auth.Level
		ns, db string // the place after it
		ok     bool
	}{
		{"root", credentials("user", "root", "pass", "pw"), auth.RootUser, "", "", true},
		{"namespace user", credentials("user", "nu", "pass", "pw", "NS", "n"), auth.NamespaceUser, "n", "", true},
		{"database user", credentials("user", "du", "pass", "pw", "ns", "n", "db", "d"), auth.DatabaseUser, "n", "d", true},
		{"wrong password", credentials("user", "root", "pass", "no"), auth.Guest, "", "", false},
		{"empty password", credentials("user", "root", "pass", ""), auth.Guest, "", "", false},
		{"unknown user", credentials("user", "eve", "pass", "pw"), auth.Guest, "", "", false},
		{"user of another level", credentials("user", "du", "pass", "pw"), auth.Guest, "", "", false},
		{"root user at a namespace", credentials("user", "root", "pass", "pw", "NS", "n"), auth.Guest, "", "", false},
		{"database without namespace", credentials("user", "du", "pass", "pw", "DB", "d"), auth.Guest, "", "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := e.Session()
			token, err := s.Signin(t.Context(), tc.in)
			refused := &errs.Error{Kind: errs.KindNotAllowed, Detail: &errs.Detail{Kind: "Auth"}}
			if tc.ok != (err == nil) || !tc.ok && !errors.Is(err, refused) {
				t.Fatalf("err = %v", err)
			}
			if ns, db := s.Place(); ns != tc.ns || db != tc.db || s.Principal().Level != tc.level {
				t.Errorf("at %q/%q as %v", ns, db, s.Principal().Level)
			}
			if !tc.ok {
				return
			}
			again := e.Session()
			if err := again.Authenticate(t.Context(), token.Str()); err != nil {
				t.Fatal(err)
			}
			if p := again.Principal(); p.Level != tc.level || p.Name != s.Principal().Name || p.Roles != s.Principal().Roles {
				t.Errorf("the token gives %+v", p)
			}
		})
	}
}

func TestTokensEndWithThePassword(t *testing.T) {
	e := users(t)
	token, err := e.Session().Signin(t.Context(), credentials("user", "root", "pass", "pw"))
	if err != nil {
		t.Fatal(err)
	}
	runAll(t, e.RootSession(), "DEFINE USER OVERWRITE root ON ROOT PASSWORD 'new' ROLES OWNER")
	if err := e.Session().Authenticate(t.Context(), token.Str()); !errors.Is(err, errs.InvalidAuth()) {
		t.Errorf("a token of the old password: %v", err)
	}
}

// TestHashesMakeNoTokens signs with what INFO shows.
func TestHashesMakeNoTokens(t *testing.T) {
	e := users(t)
	token, err := e.Session().Signin(t.Context(), credentials("user", "root", "pass", "pw"))
	if err != nil {
		t.Fatal(err)
	}
	claims, err := auth.Peek(token.Str())
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"", "pw", "root", runAll(t, e.RootSession(), "INFO FOR USER root ON ROOT")[0].Value.Str()} {
		forged, err := claims.Sign("HS512", key)
		if err != nil {
			continue
		}
		if err := e.Session().Authenticate(t.Context(), forged); !errors.Is(err, errs.InvalidAuth()) {
			t.Errorf("signed with %.20q: %v", key, err)
		}
	}
	for _, text := range []string{"", "x", "a.b.c", token.Str() + "x", token.Str()[1:]} {
		if err := e.Session().Authenticate(t.Context(), text); !errors.Is(err, errs.InvalidAuth()) {
			t.Errorf("token %.20q: %v", text, err)
		}
	}
}
