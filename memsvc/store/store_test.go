package store_test

import (
	"context"
	"errors"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/nacredb/nacre/internal/inprocess"
	"github.com/nacredb/nacre/memsvc/problem"
	"github.com/nacredb/nacre/memsvc/store"
)

func open(t *testing.T) (*store.Store, store.Connect) {
	t.Helper()
	e, err := inprocess.Open(t.Context(), "memory", nil)
	if err != nil {
		t.Fatal(err)
	}
	connect := store.Embedded(e)
	s, err := store.Open(t.Context(), connect)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), e.Close()); err != nil {
			t.Error(err)
		}
	})
	return s, connect
}

func make1(t *testing.T, s *store.Store, id string) (*store.Context, *store.DB) {
	t.Helper()
	c, _, err := s.CreateContext(t.Context(), store.Context{ID: id}, store.Principal{})
	if err != nil {
		t.Fatal(err)
	}
	db, err := s.DB(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return c, db
}

func TestContextIsMadeOnceAndDeletedWhole(t *testing.T) {
	s, connect := open(t)
	c, db := make1(t, s, "one")
	if _, _, err := s.CreateContext(t.Context(), store.Context{ID: "one"}, store.Principal{}); !problem.Is(err,
		"conflict") {
		t.Errorf("again: got %v, want a conflict", err)
	}
	if _, _, err := s.CreateContext(t.Context(), store.Context{ID: "x", Namespace: "memsvc"},
		store.Principal{}); !problem.Is(err, "unprocessable") {
		t.Errorf("reserved namespace: got %v", err)
	}
	if p, err := store.Get[store.Principal](t.Context(), db, "principal", "admin"); err != nil || p == nil ||
		len(p.Grants) == 0 {
		t.Errorf("admin is %v, %v", p, err)
	}
	if err := s.DeleteContext(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Context(t.Context(), "one"); err != nil || got != nil {
		t.Errorf("after delete: %v, %v", got, err)
	}
	if _, err := connect(t.Context(), store.Login{Namespace: c.Namespace, Database: c.Database, User: c.DBUser,
		Pass: c.DBPass}); err == nil {
		t.Error("the user of the deleted database still signs in")
	}
	make1(t, s, "one")
}

// TestAContextCannotReachAnother holds that the session of a Context has no rights outside of its database.
func TestAContextCannotReachAnother(t *testing.T) {
	s, _ := open(t)
	_, a := make1(t, s, "a")
	make1(t, s, "b")
	for _, text := range []string{
		"USE NS memsvc_ctx DB b; SELECT * FROM principal", "USE NS memsvc DB control; SELECT * FROM apikey",
		"DEFINE USER evil ON DATABASE PASSWORD 'x' ROLES OWNER", "REMOVE DATABASE b", "INFO FOR ROOT",
	} {
		if v, err := a.Query(t.Context(), text); err == nil && v.Len() > 0 {
			t.Errorf("%s: got %v", text, v)
		}
	}
}

// TestConcurrentUpdatesAreOneChain holds that no change is lost between two handles of one Context: two processes.
func TestConcurrentUpdatesAreOneChain(t *testing.T) {
	s, connect := open(t)
	_, db := make1(t, s, "one")
	s2, err := store.Open(t.Context(), connect)
	if err != nil {
		t.Fatal(err)
	}
	defer s2.Close()
	db2, _, err := s2.DBOf(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	const each = 20
	var g errgroup.Group
	for _, d := range []*store.DB{db, db2} {
		g.Go(func() error {
			for range each {
				if err := bump(t.Context(), d); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	got, err := store.Get[store.Session](t.Context(), db, "session", "s")
	if err != nil || got.TurnCount != 2*each {
		t.Fatalf("got %v, %v; want %d", got, err, 2*each)
	}
	changed, _, whole, err := db.Changes(t.Context(), 2)
	if err != nil || !whole || len(changed) != 1 {
		t.Errorf("changes: %v, %v, %v", changed, whole, err)
	}
}

func bump(ctx context.Context, d *store.DB) error {
	return d.Update(ctx, func(tx *store.Tx) error {
		s, err := store.Get[store.Session](ctx, d, "session", "s")
		if err != nil {
			return err
		}
		if s == nil {
			s = &store.Session{ID: "s"}
		}
		s.TurnCount++
		tx.Put("session", s)
		return nil
	})
}

// TestMigrateBringsOldTablesUpToDate holds that a Context with tables of an older version gets what they lack, once,
// and keeps its rows.
func TestMigrateBringsOldTablesUpToDate(t *testing.T) {
	s, connect := open(t)
	make1(t, s, "old")
	make1(t, s, "new")
	owner, err := connect(t.Context(), store.Login{Namespace: "memsvc_ctx", Database: "old"})
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close()
	ask := func(text string) string {
		t.Helper()
		out, err := owner.Query(t.Context(), text, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range out {
			if r.Err != nil {
				t.Fatal(r.Err)
			}
		}
		return out[len(out)-1].Value.Text()
	}
	ask("REMOVE INDEX by_hash ON document; UPDATE meta:head SET schema = 0; CREATE scope:kept SET path = 'kept'; " +
		"USE NS memsvc DB control; UPDATE context SET schema = NONE; USE NS memsvc_ctx DB old; RETURN true")
	for _, dry := range []bool{true, false} {
		if behind, err := s.Migrate(t.Context(), dry); err != nil || len(behind) != 1 || behind[0] != "old" {
			t.Fatalf("dry %v: %v, %v", dry, behind, err)
		}
	}
	if behind, err := s.Migrate(t.Context(), false); err != nil || len(behind) != 0 {
		t.Errorf("again: %v, %v", behind, err)
	}
	if got := ask("RETURN [(INFO FOR TABLE document).indexes.by_hash != NONE, (SELECT VALUE path FROM scope)]"); got != "[true, ['kept']]" {
		t.Errorf("got %s", got)
	}
	versions, behind, err := s.SchemaVersions(t.Context())
	if err != nil || versions[store.SchemaVersion] != 2 || len(behind) != 0 {
		t.Errorf("versions %v, behind %v, %v", versions, behind, err)
	}
}
