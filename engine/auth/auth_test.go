package auth

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

func TestRolesDecideAboutDefinitions(t *testing.T) {
	user := func(level Level, ns, db string, r Roles) Authority {
		return Authority{Principal: Principal{Level: level, NS: ns, DB: db, Roles: r}, NS: "n", DB: "d"}
	}
	for _, tc := range []struct {
		name   string
		env    Authority
		action Action
		base   ast.Base
		res    Resource
		want   bool
	}{
		{"owner of the root defines a user there", user(RootUser, "", "", Owner), Edit, ast.BaseRoot, ResourceActor,
			true},
		{"editor of the root defines a namespace", user(RootUser, "", "", Editor), Edit, ast.BaseRoot, ResourceAny,
			true},
		{"editor defines no users", user(RootUser, "", "", Editor), Edit, ast.BaseDatabase, ResourceActor, false},
		{"editor sees users", user(DatabaseUser, "n", "d", Editor), View, ast.BaseDatabase, ResourceActor, true},
		{"viewer changes nothing", user(RootUser, "", "", Viewer), Edit, ast.BaseDatabase, ResourceAny, false},
		{"viewer sees its database", user(DatabaseUser, "n", "d", Viewer), View, ast.BaseDatabase, ResourceAny, true},
		{"database owner does not see the namespace", user(DatabaseUser, "n", "d", Owner), View, ast.BaseNamespace,
			ResourceAny, false},
		{"namespace owner does not see the root", user(NamespaceUser, "n", "", Owner), View, ast.BaseRoot, ResourceAny,
			false},
		{"namespace owner rules its databases", user(NamespaceUser, "n", "", Owner), Edit, ast.BaseDatabase,
			ResourceActor, true},
		{"owner of another database", user(DatabaseUser, "n", "other", Owner), View, ast.BaseDatabase, ResourceAny,
			false},
		{"owner of another namespace", user(NamespaceUser, "other", "", Owner), View, ast.BaseDatabase, ResourceAny,
			false},
		{"record user", user(RecordUser, "n", "d", 0), View, ast.BaseDatabase, ResourceAny, false},
		{"guest", Authority{NS: "n", DB: "d"}, View, ast.BaseDatabase, ResourceAny, false},
		{"a user without roles", user(RootUser, "", "", 0), View, ast.BaseRoot, ResourceAny, false},
	} {
		if got := tc.env.Allow(tc.action, tc.base, tc.res) == nil; got != tc.want {
			t.Errorf("%s: got %v", tc.name, got)
		}
	}
}

func TestOfAllowAndDenyTheDenyWins(t *testing.T) {
	f := Filter{Allow: Set{All: true}, Deny: NewSet("http", "string::len")}
	for path, want := range map[string]bool{"http::get": false, "string::len": false, "string::trim": true,
		"math::abs": true} {
		if got := f.AllowsFunction(path); got != want {
			t.Errorf("%s: got %v", path, got)
		}
	}
	if (Filter{}).Allows("anything") {
		t.Error("the zero filter allows something")
	}
}

func TestPasswords(t *testing.T) {
	v := NewVerifier()
	ctx := context.Background()
	hash := HashPassword("secret")
	for _, tc := range []struct {
		name, hash, password string
		want                 bool
	}{
		{"the password", hash, "secret", true},
		{"again, from memory", hash, "secret", true},
		{"another one", hash, "Secret", false},
		{"no user", "", "secret", false},
		{"no hash", "secret", "secret", false},
		{"an empty password", hash, "", false},
		{"too long", hash, strings.Repeat("x", maxPassword+1), false},
		{"a hash that asks for too much memory", "$argon2id$v=19$m=4194304,t=2,p=1$" + strings.SplitN(hash, "$", 5)[4],
			"secret", false},
	} {
		got, err := v.Check(ctx, tc.hash, tc.password)
		if err != nil || got != tc.want {
			t.Errorf("%s: got %v, %v", tc.name, got, err)
		}
	}
}

func TestWaitingForAPasswordEndsWithTheContext(t *testing.T) {
	v := NewVerifier()
	for range cap(v.turn) {
		v.turn <- struct{}{}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := v.Check(ctx, HashPassword("x"), "x"); err == nil {
		t.Error("the check did not wait for its turn")
	}
}

func TestTheCacheOfPasswordsIsBounded(t *testing.T) {
	v := NewVerifier()
	for i := range maxKnown + 10 {
		v.known.Add(v.known.ID("hash", strings.Repeat("x", i)))
	}
	if n := v.known.order.Len(); n != maxKnown || len(v.known.known) != maxKnown {
		t.Errorf("%d remembered, %d known", n, len(v.known.known))
	}
}

func TestTokens(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	c := NewClaims(now, time.Minute)
	c.NS, c.DB, c.AC, c.Subject, c.Roles = "n", "d", "a", "user:1", []string{"Editor"}
	text, err := c.Sign("HS512", "key")
	if err != nil {
		t.Fatal(err)
	}
	got, err := Verify(text, "HS512", "key", now)
	if err != nil {
		t.Fatal(err)
	}
	if got.NS != "n" || got.DB != "d" || got.AC != "a" || got.Subject != "user:1" || len(got.Roles) != 1 ||
		got.Expires != c.Expires || got.All.Text() != c.All.Text() {
		t.Errorf("got %+v\nwant %+v", got, c)
	}
	for _, tc := range []struct {
		aud, want []string
		ok        bool
	}{{nil, nil, true}, {[]string{"a"}, nil, true}, {nil, []string{"a"}, false}, {[]string{"a"}, []string{"a"}, true},
		{[]string{"b", "a"}, []string{"c", "a"}, true}, {[]string{"ab", ""}, []string{"a", "b"}, false}} {
		c := NewClaims(now, time.Minute)
		c.Audience, c.Roles = tc.aud, []string{"Editor"}
		text, err := c.Sign("HS512", "key")
		if err != nil {
			t.Fatal(err)
		}
		got, err := Verify(text, "HS512", "key", now)
		if err != nil || !slices.Equal(got.Audience, tc.aud) || got.Roles[0] != "Editor" ||
			got.MeantFor(tc.want) != tc.ok {
			t.Errorf("audience %q of a token for %q: got %+v, %v", tc.want, tc.aud, got, err)
		}
	}
	for name, fails := range map[string]func() error{
		"another key":            func() error { _, err := Verify(text, "HS512", "other", now); return err },
		"another algorithm":      func() error { _, err := Verify(text, "HS256", "key", now); return err },
		"an asymmetric one":      func() error { _, err := Verify(text, "RS256", "key", now); return err },
		"expired":                func() error { _, err := Verify(text, "HS512", "key", now.Add(time.Hour)); return err },
		"before its time":        func() error { _, err := Verify(text, "HS512", "key", now.Add(-time.Hour)); return err },
		"cut":                    func() error { _, err := Verify(text[:len(text)-2], "HS512", "key", now); return err },
		"longer than any should": func() error { _, err := Peek(strings.Repeat("x", maxToken+1)); return err },
	} {
		if fails() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestScramVerifiersSurviveStorage(t *testing.T) {
	s, err := NewScram("secret")
	if err != nil {
		t.Fatal(err)
	}
	back := ScramOf(valueOf(s))
	if back == nil || string(back.StoredKey) != string(s.StoredKey) || string(back.ServerKey) != string(s.ServerKey) ||
		string(back.Salt) != string(s.Salt) || back.Iterations != s.Iterations {
		t.Errorf("got %+v, want %+v", back, s)
	}
}

func FuzzPHC(f *testing.F) {
	f.Add("$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$c3Vtc3Vtc3Vtc3Vtc3Vt")
	f.Add("$argon2id$v=19$m=,t=,p=$$")
	f.Fuzz(func(t *testing.T, text string) {
		if h, ok := parsePHC(text); ok && (h.memory > maxMemory || h.passes > maxPasses || h.passes == 0 ||
			h.lanes == 0 || len(h.sum) == 0) {
			t.Errorf("%q asks for too much: %+v", text, h)
		}
	})
}

func FuzzPeek(f *testing.F) {
	c := NewClaims(time.Unix(0, 0), time.Hour)
	text, err := c.Sign("HS256", "k")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add("a.b.c")
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := Peek(text); err == nil {
			_ = c.All.Text()
		}
	})
}

func BenchmarkVerifiedPassword(b *testing.B) {
	v := NewVerifier()
	hash := HashPassword("secret")
	for b.Loop() {
		if ok, err := v.Check(context.Background(), hash, "secret"); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}

func valueOf(s *Scram) value.Value { return value.ObjectOf(s.Object()) }
