package grant

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

func TestPatternsAndSight(t *testing.T) {
	r := Intersect(Grants{"memory:read": {"org/acme/user/alice/*"}, "memory:write": {"org/acme/user/alice"}})
	for _, tc := range []struct {
		clauses        Clauses
		visible, write bool
	}{
		{Clauses{{"org/acme/user/alice"}}, true, true},
		{Clauses{{"org/acme/user/alice/x"}}, true, false},
		{Clauses{{"org/acme"}}, true, false},
		{Clauses{{Root}}, true, false},
		{Clauses{{"org/acme/user/alicia"}}, false, false},
		{Clauses{{"org/acme/user/bob"}}, false, false},
		{Clauses{{"org/acme/user/bob"}, {"org/acme/user/alice"}}, true, false},
		{Clauses{{"org/acme/user/bob", "org/acme/user/alice"}}, false, false},
		{nil, false, false},
		{Clauses{{}}, false, false},
	} {
		if got := r.Visible(Read, tc.clauses); got != tc.visible {
			t.Errorf("%v: visible %v, want %v", tc.clauses, got, tc.visible)
		}
		if got := r.Writable(Write, tc.clauses); got != tc.write {
			t.Errorf("%v: writable %v, want %v", tc.clauses, got, tc.write)
		}
	}
	if Intersect().Visible(Read, Clauses{{Root}}) {
		t.Error("no grants at all see the root")
	}
}

func TestBadPatternsAndPaths(t *testing.T) {
	for _, s := range []string{"a/*/b", "*a", "a*", "a//b", "", "a/../b", "a\x00b"} {
		if _, err := ParsePattern(s); err == nil {
			t.Errorf("%q is taken", s)
		}
	}
	if p, err := Path("/org/acme/"); err != nil || p != "org/acme" {
		t.Errorf("got %q, %v", p, err)
	}
	if err := (Grants{"read": {"*"}}).Check(); err == nil {
		t.Error("a flat verb is taken")
	}
}

func TestClausesOnTheWire(t *testing.T) {
	for _, tc := range []struct {
		in   any
		want Clauses
	}{
		{"a/b", Clauses{{"a/b"}}},
		{[]any{"a", "b"}, Clauses{{"a"}, {"b"}}},
		{[]any{[]any{"b", "a"}, []any{"c"}}, Clauses{{"a", "b"}, {"c"}}},
		{nil, nil},
	} {
		if got, err := ParseClauses(tc.in); err != nil || !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%v: got %v, %v; want %v", tc.in, got, err, tc.want)
		}
	}
	for _, bad := range []any{[]any{}, []any{[]any{}}, 7.0, []any{7.0}, ""} {
		if _, err := ParseClauses(bad); err == nil {
			t.Errorf("%v is taken", bad)
		}
	}
}

// TestIntersectionNeverWidens holds that what several layers grant, each of them grants.
func TestIntersectionNeverWidens(t *testing.T) {
	node := rapid.SampledFrom([]string{"a", "a/b", "a/b/c", "b", "b/a", "ab"})
	pattern := rapid.Custom(func(t *rapid.T) string {
		return Pattern{node.Draw(t, "node"), rapid.Bool().Draw(t, "deep")}.String()
	})
	grants := rapid.Custom(func(t *rapid.T) Grants {
		return Grants{string(Read): append(rapid.SliceOfN(pattern, 0, 3).Draw(t, "p"),
			rapid.SampledFrom([]string{"*", "zz"}).Draw(t, "all"))}
	})
	rapid.Check(t, func(t *rapid.T) {
		g, h := grants.Draw(t, "g"), grants.Draw(t, "h")
		both, path := Intersect(g, h), node.Draw(t, "path")
		want := Intersect(g).May(Read, path) && Intersect(h).May(Read, path)
		if got := both.May(Read, path); got != want {
			t.Fatalf("%v and %v at %s: got %v, want %v", g, h, path, got, want)
		}
		if g.Within(h) && Intersect(g).May(Read, path) && !Intersect(h).May(Read, path) {
			t.Fatalf("%v is within %v, but not at %s", g, h, path)
		}
	})
}
