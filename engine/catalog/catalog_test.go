package catalog

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/kv/mem"
	"github.com/nacredb/nacre/engine/parse"
	"github.com/nacredb/nacre/engine/txn"
)

func parseDefinition(text string) (ast.Statement, error) {
	q, err := parse.Query(text, parse.Options{})
	if err != nil {
		return nil, err
	}
	if len(q.Stmts) != 1 {
		return nil, fmt.Errorf("%d statements", len(q.Stmts))
	}
	return q.Stmts[0], nil
}

// store is a memory store with a cache, a namespace n and a database d.
type store struct {
	t     testing.TB
	kv    *mem.Store
	cache *Cache
}

func newStore(t testing.TB) *store {
	s := &store{t: t, kv: mem.New(), cache: NewCache(parseDefinition)}
	s.write(func(v *View) {
		put(t, v, &Def{Kind: ast.DefNamespace, Name: "n", Stmt: &ast.DefineNamespace{Name: ast.Name{Ident: "n"}}})
		ns, err := v.Namespace("n")
		check(t, err)
		put(t, v, &Def{Scope: ns.Inner(), Kind: ast.DefDatabase, Name: "d",
			Stmt: &ast.DefineDatabase{Name: ast.Name{Ident: "d"}}})
	})
	return s
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func put(t testing.TB, v *View, d *Def) *Def {
	t.Helper()
	if d.By.Base == ast.BaseNone {
		d.By = d.Scope.owner()
	}
	out, err := v.Put(d)
	check(t, err)
	return out
}

func (s *store) begin() *txn.Tx {
	tx, err := txn.Begin(context.Background(), s.kv, txn.Options{Write: true})
	check(s.t, err)
	return tx
}

func (s *store) write(f func(*View)) {
	s.t.Helper()
	tx := s.begin()
	f(s.cache.View(tx))
	check(s.t, tx.Commit(context.Background()))
}

func (s *store) read(f func(*View)) {
	tx := s.begin()
	defer tx.Cancel()
	f(s.cache.View(tx))
}

func database(t testing.TB, v *View) *Database {
	t.Helper()
	ns, err := v.Namespace("n")
	check(t, err)
	db, err := v.Database(ns, "d")
	check(t, err)
	return db
}

func define(t testing.TB, v *View, s Scope, kind ast.DefKind, name, text string) {
	t.Helper()
	stmt, err := parseDefinition(text)
	check(t, err)
	put(t, v, &Def{Scope: s, Kind: kind, Name: name, Stmt: stmt})
}

func table(t testing.TB, v *View, name string) *Table {
	t.Helper()
	tb, err := v.Table(database(t, v), name)
	check(t, err)
	return tb
}

func TestUncommittedDefinitionsAreSeenByTheirOwnTransactionOnly(t *testing.T) {
	s := newStore(t)
	tx := s.begin()
	v := s.cache.View(tx)
	define(t, v, database(t, v).Inner(), ast.DefTable, "a", "DEFINE TABLE a")
	if table(t, v, "a") == nil {
		t.Error("the transaction does not see its own table")
	}
	s.read(func(other *View) {
		if table(t, other, "a") != nil {
			t.Error("another transaction sees the table")
		}
	})
	check(t, tx.Commit(context.Background()))
	s.read(func(v *View) {
		if table(t, v, "a") == nil {
			t.Error("the committed table is missing")
		}
	})
}

func TestRolledBackDefinitionsAreForgotten(t *testing.T) {
	s := newStore(t)
	s.write(func(v *View) {
		mark := v.tx.Savepoint()
		define(t, v, database(t, v).Inner(), ast.DefTable, "a", "DEFINE TABLE a")
		_ = table(t, v, "a")
		v.tx.RollbackTo(mark)
		if table(t, v, "a") != nil {
			t.Error("the table is still there")
		}
	})
}

func TestACancelledDefinitionIsNotTakenForACommittedOne(t *testing.T) {
	s := newStore(t)
	tx := s.begin()
	v := s.cache.View(tx)
	define(t, v, database(t, v).Inner(), ast.DefTable, "a", "DEFINE TABLE a SCHEMAFULL")
	// The next statement of the transaction looks with a view of its own.
	if tb := table(t, s.cache.View(tx), "a"); tb == nil || !tb.Define.Schemafull {
		t.Fatal("the transaction does not see its own table")
	}
	tx.Cancel()
	s.write(func(v *View) { define(t, v, database(t, v).Inner(), ast.DefTable, "b", "DEFINE TABLE b") })
	for range 2 * refusals {
		s.read(func(v *View) {
			if table(t, v, "a") != nil {
				t.Fatal("the cancelled table is there")
			}
			if table(t, v, "b") == nil {
				t.Fatal("the committed table is missing")
			}
		})
	}
}

// TestATableOfACancelledTransactionIsNotTakenForACommittedOne: what was compiled of a table in a transaction that was
// cancelled is forgotten, also where another transaction changed the table as often.
func TestATableOfACancelledTransactionIsNotTakenForACommittedOne(t *testing.T) {
	s := newStore(t)
	s.write(func(v *View) {
		define(t, v, database(t, v).Inner(), ast.DefTable, "t", "DEFINE TABLE t")
		tb := table(t, v, "t")
		define(t, v, tb.Inner(), ast.DefIndex, "a", "DEFINE INDEX a ON t FIELDS a")
	})
	tx := s.begin()
	v := s.cache.View(tx)
	define(t, v, table(t, v, "t").Inner(), ast.DefIndex, "lost", "DEFINE INDEX lost ON t FIELDS b")
	if ix := table(t, v, "t").Index("lost"); ix == nil {
		t.Error("a transaction does not see the index that it defined")
	}
	tx.Cancel()
	s.write(func(v *View) { check(t, v.SetBuild(table(t, v, "t").Index("a"), Build{Initial: 1})) })
	s.read(func(v *View) {
		if ix := table(t, v, "t").Index("lost"); ix != nil {
			t.Error("an index of a cancelled transaction is there")
		}
	})
}

func TestCompiledTablesAreSharedUntilTheyChange(t *testing.T) {
	s := newStore(t)
	s.write(func(v *View) {
		db := database(t, v).Inner()
		define(t, v, db, ast.DefTable, "a", "DEFINE TABLE a")
		define(t, v, db, ast.DefTable, "b", "DEFINE TABLE b")
	})
	var a, b *Table
	s.read(func(v *View) { a, b = table(t, v, "a"), table(t, v, "b") })
	s.write(func(v *View) { define(t, v, a.Inner(), ast.DefField, "x", "DEFINE FIELD x ON a TYPE int") })
	s.read(func(v *View) {
		if table(t, v, "b") != b {
			t.Error("an untouched table was compiled again")
		}
		now := table(t, v, "a")
		if now == a || now.Field("x") == nil || !now.HasRules {
			t.Error("the changed table is the old one")
		}
		if now.ID != a.ID {
			t.Errorf("id changed from %d to %d", a.ID, now.ID)
		}
	})
}

func TestTablesFollowTheDefinitionOfTheirDatabase(t *testing.T) {
	s := newStore(t)
	s.write(func(v *View) { define(t, v, database(t, v).Inner(), ast.DefTable, "a", "DEFINE TABLE a") })
	s.read(func(v *View) { table(t, v, "a") })
	s.write(func(v *View) {
		ns, err := v.Namespace("n")
		check(t, err)
		define(t, v, ns.Inner(), ast.DefDatabase, "d", "DEFINE DATABASE d CHANGEFEED 1h")
	})
	s.read(func(v *View) {
		if table(t, v, "a").DB.Define.ChangeFeed == nil {
			t.Error("the table has the old database")
		}
	})
}

func TestAnOldSnapshotKeepsItsCatalog(t *testing.T) {
	s := newStore(t)
	s.write(func(v *View) { define(t, v, database(t, v).Inner(), ast.DefTable, "a", "DEFINE TABLE a") })
	old := s.begin()
	defer old.Cancel()
	s.write(func(v *View) {
		tb := table(t, v, "a")
		define(t, v, tb.Inner(), ast.DefField, "x", "DEFINE FIELD x ON a")
	})
	s.read(func(v *View) { table(t, v, "a") })
	if tb := table(t, s.cache.View(old), "a"); tb.Field("x") != nil {
		t.Error("the old snapshot sees a newer field")
	}
}

func TestNamedTablesKeepTheirIDWhenDefined(t *testing.T) {
	s := newStore(t)
	var id uint32
	s.write(func(v *View) {
		var err error
		id, err = v.NameTable(database(t, v), "ghost")
		check(t, err)
	})
	s.write(func(v *View) {
		db := database(t, v)
		if tb := table(t, v, "ghost"); tb != nil {
			t.Error("a named table is defined")
		}
		define(t, v, db.Inner(), ast.DefTable, "ghost", "DEFINE TABLE ghost")
		if tb := table(t, v, "ghost"); tb == nil || tb.ID != id {
			t.Errorf("want id %d, got %+v", id, tb)
		}
		name, err := v.TableName(db, id)
		check(t, err)
		if name != "ghost" {
			t.Errorf("got name %q", name)
		}
	})
}

func TestConcurrentDefinitionsConflict(t *testing.T) {
	s := newStore(t)
	one, two := s.begin(), s.begin()
	v1, v2 := s.cache.View(one), s.cache.View(two)
	define(t, v1, database(t, v1).Inner(), ast.DefTable, "a", "DEFINE TABLE a")
	define(t, v2, database(t, v2).Inner(), ast.DefTable, "a", "DEFINE TABLE a")
	check(t, one.Commit(context.Background()))
	if two.Commit(context.Background()) == nil {
		t.Error("both committed")
	}
}

// TestANewDatabaseDisturbsNoTransaction commits a transaction that began before another database was made, and refuses
// one whose own database went away.
func TestANewDatabaseDisturbsNoTransaction(t *testing.T) {
	s := newStore(t)
	s.read(func(v *View) { database(t, v) }) // the cache is warm
	tx := s.begin()
	database(t, s.cache.View(tx))
	check(t, tx.Set([]byte("\xf0k"), []byte("v")))
	s.write(func(v *View) {
		ns, err := v.Namespace("n")
		check(t, err)
		put(t, v, &Def{Scope: ns.Inner(), Kind: ast.DefDatabase, Name: "e",
			Stmt: &ast.DefineDatabase{Name: ast.Name{Ident: "e"}}})
	})
	check(t, tx.Commit(context.Background()))

	tx = s.begin()
	database(t, s.cache.View(tx))
	check(t, tx.Set([]byte("\xf0k"), []byte("w")))
	s.write(func(v *View) { check(t, v.Delete(database(t, v).Def)) })
	if err := tx.Commit(context.Background()); !errors.Is(err, errs.Conflict()) {
		t.Errorf("the database was removed, and the commit says %v", err)
	}
}

func BenchmarkTableLookup(b *testing.B) {
	s := newStore(b)
	s.write(func(v *View) { define(b, v, database(b, v).Inner(), ast.DefTable, "a", "DEFINE TABLE a") })
	b.ReportAllocs()
	for b.Loop() {
		tx := s.begin()
		table(b, s.cache.View(tx), "a")
		tx.Cancel()
	}
}

// TestFieldsAround: what is found by names is what a look at all fields of the table finds.
func TestFieldsAround(t *testing.T) {
	s := newStore(t)
	names := []string{"a", "a.*", "a[0]", "a[$]", "a...", "a.b", "a.*.b", "a[0].b", "a[0].*", "a.*.*", "a.*[1]",
		"a.b.c", "a.*.b.c", "a[1].b.c",
		"a....b.c", "a.*.b.*.c", "a.*.b[0]", "a[0].b.*", "`a.b`", "`a[`", "ab", "ab.c", "a.`b.c`", "a.`*`.b",
		"a[$].b[$].c", "z"}
	paths := map[string]*ast.Idiom{}
	s.write(func(v *View) {
		db := database(t, v)
		put(t, v, &Def{Scope: db.Inner(), Kind: ast.DefTable, Name: "t",
			Stmt: &ast.DefineTable{Name: ast.Name{Ident: "t"}}})
		tb, err := v.Outline(db, "t")
		check(t, err)
		for i, name := range names {
			stmt, err := parseDefinition("DEFINE FIELD " + name + " ON t")
			check(t, err)
			d := stmt.(*ast.DefineField)
			paths[ast.Text(d.Name)] = d.Name
			if i%5 != 4 { // the others are only asked for
				put(t, v, &Def{Scope: tb.Inner(), Kind: ast.DefField, Name: ast.Text(d.Name), Stmt: d})
			}
		}
	})
	found := 0
	s.read(func(v *View) {
		db := database(t, v)
		tb, err := v.Table(db, "t")
		check(t, err)
		bare, err := v.Outline(db, "t")
		check(t, err)
		for name, idiom := range paths {
			var want, got []string
			for _, f := range tb.Fields {
				if Within(PathOf(idiom), f.Path) {
					want = append(want, f.Name)
				}
			}
			around, err := v.FieldsAround(bare, idiom)
			check(t, err)
			for _, f := range around {
				got = append(got, f.Name)
			}
			found += len(got)
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("around %s: got %q, want %q", name, got, want)
			}
		}
	})
	if found < 30 {
		t.Errorf("only %d fields were found", found)
	}
}

// TestDefinersAreKept: a definition keeps its definer over what changes its table; what has none is of an OWNER of its
// level.
func TestDefinersAreKept(t *testing.T) {
	s := newStore(t)
	editor := Definer{ast.BaseDatabase, 3}
	s.write(func(v *View) {
		ns, err := v.Namespace("n")
		check(t, err)
		db, err := v.Database(ns, "d")
		check(t, err)
		put(t, v, &Def{Scope: db.Inner(), Kind: ast.DefTable, Name: "t", By: editor,
			Stmt: &ast.DefineTable{Name: ast.Name{Ident: "t"}}})
		check(t, v.AddView(db, "t", "view"))
		tb, err := v.Table(db, "t")
		check(t, err)
		if tb.By != editor {
			t.Errorf("the definer of a table that a view reads is %v", tb.By)
		}
		text := ast.Text(&ast.DefineParam{Name: "p", Value: &ast.Literal{}})
		for by, want := range map[int64]Definer{0: {ast.BaseDatabase, 7}, 16 | 3: editor, 7: {ast.BaseRoot, 7},
			8 | 1: {ast.BaseNamespace, 1}} {
			check(t, v.write(db.Inner(), ast.DefParam, &record{name: "p", text: text, by: by}))
			d, err := v.Def(db.Inner(), ast.DefParam, "p")
			check(t, err)
			if d.By != want || by != 0 && d.By.stored() != by {
				t.Errorf("stored %d: got %v, want %v", by, d.By, want)
			}
		}
	})
	if got := editor.Lower(Definer{ast.BaseRoot, 7}); got != editor {
		t.Errorf("the lower one of an editor and a root owner is %v", got)
	}
}

// gets counts the keys that transactions have asked the store for.
type gets uint64

func (g *gets) Count(w *txn.Work) { *g += gets(w.Gets) }

// TestVersionsAreReadOncePerSnapshot: what one transaction has found of the versions of definitions holds for others of
// the same snapshot, which still conflict with who changes definitions, and for no other.
func TestVersionsAreReadOncePerSnapshot(t *testing.T) {
	s := newStore(t)
	s.write(func(v *View) { define(t, v, database(t, v).Inner(), ast.DefTable, "a", "DEFINE TABLE a") })
	s.read(func(v *View) { table(t, v, "a") })
	for _, write := range []bool{false, true} {
		var asked gets
		tx, err := txn.Begin(context.Background(), s.kv, txn.Options{Write: write, Meter: &asked})
		check(t, err)
		if tb := table(t, s.cache.View(tx), "a"); tb == nil || tb.Field("x") != nil {
			t.Errorf("got %+v", tb)
		}
		tx.Cancel()
		if asked > 0 {
			t.Errorf("%d keys were read, writing %t", asked, write)
		}
	}

	old := s.begin()
	table(t, s.cache.View(old), "a")
	check(t, old.Set([]byte("\xf0k"), []byte("v")))
	s.write(func(v *View) {
		define(t, v, table(t, v, "a").Inner(), ast.DefField, "x", "DEFINE FIELD x ON a")
		if tb := table(t, s.cache.View(v.tx), "a"); tb.Field("x") == nil {
			t.Error("another view of the transaction does not see its field")
		}
	})
	s.read(func(v *View) {
		if tb := table(t, v, "a"); tb.Field("x") == nil {
			t.Error("a new snapshot does not see the field")
		}
	})
	if err := old.Commit(context.Background()); !errors.Is(err, errs.Conflict()) {
		t.Errorf("definitions were changed, and the commit says %v", err)
	}
}

// TestVersionsOfDatabasesAreNotMistaken: what was found of one database is not taken for what another one has.
func TestVersionsOfDatabasesAreNotMistaken(t *testing.T) {
	s := newStore(t)
	var e *Database
	s.write(func(v *View) {
		ns, err := v.Namespace("n")
		check(t, err)
		put(t, v, &Def{Scope: ns.Inner(), Kind: ast.DefDatabase, Name: "e",
			Stmt: &ast.DefineDatabase{Name: ast.Name{Ident: "e"}}})
		e, err = v.Database(ns, "e")
		check(t, err)
		define(t, v, e.Inner(), ast.DefTable, "a", "DEFINE TABLE a")
		define(t, v, e.Inner(), ast.DefTable, "b", "DEFINE TABLE b")
	})
	s.write(func(v *View) { define(t, v, database(t, v).Inner(), ast.DefTable, "a", "DEFINE TABLE a") })
	for range 3 {
		s.read(func(v *View) {
			d, err := v.SchemaVersion(database(t, v))
			check(t, err)
			other, err := v.SchemaVersion(e)
			check(t, err)
			if d == other {
				t.Errorf("both databases are at %x", d)
			}
			if tb, err := v.Table(e, "b"); tb == nil || err != nil || table(t, v, "b") != nil {
				t.Errorf("table b is %+v, %v", tb, err)
			}
		})
	}
}
