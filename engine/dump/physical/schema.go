package physical

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/index"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// Language holds the knowledge of the language that a check needs.
type Language interface {
	// Parse reads one DEFINE statement.
	Parse(text string) (ast.Statement, error)
	// Gate is the way to the records of a database, with all rights, by which expressions of
	// definitions are evaluated too. It reads store through tx.
	Gate(ctx context.Context, store kv.Store, tx *txn.Tx, ns, db string) (*record.Gate, error)
	// Pure reports whether a function gives the same result for the same arguments, always.
	Pure(function string) bool
	// Release ends what the gates so far have at work on their stores, before those are closed.
	Release()
}

// place is a table of a database, or one of its indexes, by ids.
type place struct{ ns, db, tb, ix uint32 }

func (p place) table() place { return place{p.ns, p.db, p.tb, 0} }

// placeOf reads the ids in a key of a class that belongs to a table.
func placeOf(k []byte) place {
	p := place{}
	for i, id := range []*uint32{&p.ns, &p.db, &p.tb, &p.ix} {
		if at := 1 + 4*i; at+4 <= key.SpaceLen(k) {
			*id = binary.BigEndian.Uint32(k[at:])
		}
	}
	return p
}

// schema holds the statements of a store's definitions about its data.
type schema struct {
	tables  map[place]*table
	indexes map[place]*keptIndex
	broken  map[place]bool   // tables whose definitions cannot be read
	names   map[place]string // of tables, those that are only named too
	ids     map[tableName]uint32
	gaps    map[place]bool // databases with removed tables
	cleaned map[place]bool // indexes, tables and more that are gone, and are being removed from the store
}

// removed reports whether what is at a place, or all around it, is gone and being removed.
func (s *schema) removed(at place) bool {
	if len(s.cleaned) == 0 {
		return false
	}
	return s.cleaned[at] || s.cleaned[at.table()] || s.cleaned[place{ns: at.ns, db: at.db}] ||
		s.cleaned[place{ns: at.ns}]
}

// tableName is the name of a table in a database.
type tableName struct {
	ns, db uint32
	name   string
}

// table is one table and what is counted of it while its data is read.
type table struct {
	*catalog.Table
	at      place
	gate    *record.Gate
	indexes []*keptIndex
	records uint64
	rows    int64    // what the counter says
	linked  multiset // edges, as records of a RELATION table tell them
	out, in multiset // edges, as adjacency entries tell them
	refs    multiset // references, as records tell them
	noted   multiset // references, as entries tell them
}

// keptIndex is one index and what is counted of it.
type keptIndex struct {
	*catalog.Index
	tb       *table
	expected multiset // entries that records account for
	actual   multiset
	count    int64 // of a count index: records that count
	counter  int64 // what its counter says
}

// whole reports whether an index is to have all records: one that is being built has some.
func (ix *keptIndex) whole() bool { return ix.Build.State == catalog.Ready }

// checked reports whether the entries of an index can be told from the records.
func (ix *keptIndex) checked() bool { return index.Kept(ix.Index) }

// loadSchema reads all definitions, and tells report about those that cannot be read.
func loadSchema(ctx context.Context, store kv.Store, tx *txn.Tx, lang Language, rep *Report) (*schema, error) {
	s := &schema{tables: map[place]*table{}, indexes: map[place]*keptIndex{}, broken: map[place]bool{},
		names: map[place]string{},
		ids:   map[tableName]uint32{}, gaps: map[place]bool{}, cleaned: map[place]bool{}}
	if err := s.checkDefinitions(tx, lang, rep); err != nil {
		return nil, err
	}
	view := catalog.NewCache(lang.Parse).View(tx)
	jobs, err := view.Jobs()
	if err != nil {
		rep.skip("work on indexes: %v", err)
	}
	for _, j := range jobs {
		s.cleaned[place{j.Scope.NS, j.Scope.DB, j.Scope.TB, j.Index}] = j.Clean
	}
	namespaces, err := view.Namespaces()
	if err != nil {
		rep.skip("namespaces: %v", err)
		return s, nil
	}
	for _, ns := range namespaces {
		if err := checkID(view, catalog.Scope{}, ast.DefNamespace, ns.Name, ns.ID, rep); err != nil {
			return nil, err
		}
		dbs, err := view.Databases(ns)
		if err != nil {
			rep.skip("databases of %s: %v", ns.Name, err)
			continue
		}
		for _, db := range dbs {
			if err := checkID(view, ns.Inner(), ast.DefDatabase, db.Name, db.ID, rep); err != nil {
				return nil, err
			}
			if err := s.addDatabase(ctx, store, tx, view, db, lang, rep); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// checkDefinitions looks at each definition by itself.
func (s *schema) checkDefinitions(tx *txn.Tx, lang Language, rep *Report) error {
	c := tx.Scan(kv.Range{Start: []byte{byte(key.ClassRootDef)}, End: []byte{byte(key.ClassTableDef) + 1}},
		txn.ScanOptions{})
	defer c.Close()
	for c.Next() {
		k := c.Key()
		err := catalog.CheckStored(lang.Parse, k, c.Value())
		if err == nil {
			continue
		}
		_, names, _ := key.DecodeDef(k)
		rep.find(FindDefinition, "%q (key %x): %v", names, k, err)
		if key.Class(k[0]) == key.ClassTableDef {
			s.broken[placeOf(k).table()] = true
		}
	}
	return c.Err()
}

func (s *schema) addDatabase(ctx context.Context, store kv.Store, tx *txn.Tx, view *catalog.View, db *catalog.Database,
	lang Language,
	rep *Report) error {
	at := place{ns: db.Scope.NS, db: db.ID}
	gate, err := lang.Gate(ctx, store, tx, db.NS.Name, db.Name)
	if err != nil {
		return fmt.Errorf("database %s: %w", db.Name, err)
	}
	start, end := key.PrefixRange(key.DBDef(nil, at.ns, at.db, key.KindTable))
	c := tx.Scan(kv.Range{Start: start, End: end}, txn.ScanOptions{})
	defer c.Close()
	given := 0
	for c.Next() {
		given++
		_, names, err := key.DecodeDef(c.Key())
		if err != nil || len(names) != 1 {
			continue // reported already
		}
		id, err := view.TableID(db, names[0])
		if err != nil || id == 0 {
			rep.skip("table %s of %s: its definition cannot be read", names[0], db.Name)
			continue
		}
		here := place{at.ns, at.db, id, 0}
		if other, taken := s.names[here]; taken {
			rep.find(FindDefinition, "tables %s and %s of %s have the same id", other, names[0], db.Name)
		}
		s.names[here] = names[0]
		s.ids[tableName{at.ns, at.db, names[0]}] = id
		if err := checkID(view, db.Inner(), ast.DefTable, names[0], id, rep); err != nil {
			return err
		}
		if err := s.addTable(view, db, names[0], here, gate, rep); err != nil {
			return err
		}
	}
	last, named, err := view.LastIDs(db.Inner(), ast.DefTable)
	if err != nil {
		return err
	}
	s.gaps[at] = uint64(given) < uint64(last)+uint64(named-catalog.GhostIDs)
	return c.Err()
}

// nameOf says what is at a key, as far as its bytes make sense: "record person:1 of a/b: ", or nothing.
func (s *schema) nameOf(k []byte) string {
	if len(k) == 0 || key.SpaceLen(k) == 0 {
		return ""
	}
	at := placeOf(k)
	t := s.tables[at.table()]
	if t == nil {
		return className(key.Class(k[0])) + ", "
	}
	where := " of " + t.DB.NS.Name + "/" + t.DB.Name + ", "
	if key.Class(k[0]) == key.ClassRecord {
		if id, err := key.DecodeRecord(k); err == nil {
			return "record " + idText(t.Name, id) + where
		}
	}
	return className(key.Class(k[0])) + " of table " + t.Name + where
}

// checkID holds an id against the counter that it comes from: one that lags would give it twice.
func checkID(view *catalog.View, in catalog.Scope, kind ast.DefKind, name string, id uint32, rep *Report) error {
	last, named, err := view.LastIDs(in, kind)
	if err != nil {
		return err
	}
	if kind == ast.DefTable && id > catalog.GhostIDs {
		last = named
	}
	if id > last {
		rep.find(FindCounter, "%s has id %d, which will be given again", name, id)
	}
	return nil
}

func (s *schema) addTable(view *catalog.View, db *catalog.Database, name string, at place, gate *record.Gate,
	rep *Report) error {
	tb, err := view.Table(db, name)
	if err != nil {
		s.broken[at] = true
		rep.skip("table %s of %s: %v", name, db.Name, err)
		return nil
	}
	if tb == nil { // only named by edges and links
		return nil
	}
	t := &table{Table: tb, at: at, gate: gate}
	s.tables[at] = t
	rep.Tables++
	for _, ix := range tb.AllIndexes() {
		k := &keptIndex{Index: ix, tb: t}
		t.indexes = append(t.indexes, k)
		s.indexes[place{at.ns, at.db, at.tb, ix.ID}] = k
		rep.Indexes++
		if err := checkID(view, tb.Inner(), ast.DefIndex, ix.Name, ix.ID, rep); err != nil {
			return err
		}
	}
	return nil
}

// document opens a stored record.
func document(raw []byte) (value.Value, error) {
	o, err := value.RecordObject(raw)
	if err != nil {
		return value.None, err
	}
	return value.ObjectOf(o), nil
}

// entriesOf calls f with each entry of an index that doc accounts for, once.
func (ix *keptIndex) entriesOf(ctx context.Context, id, doc value.Value, f func(k, stored []byte) error) error {
	values, err := index.Values(nil, ix.Index, doc, func(x ast.Expr) (value.Value, error) {
		return ix.tb.gate.Eval.EvalIn(ctx, x, doc, nil, record.AsEngineReader)
	})
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	return index.Entries(ix.tb.Table, ix.Index, id, values, func(k, stored []byte) error {
		if seen[string(k)] {
			return nil
		}
		seen[string(k)] = true
		return f(k, stored)
	})
}

// counts reports whether a count index counts doc.
func (ix *keptIndex) counts(ctx context.Context, doc value.Value) (bool, error) {
	if ix.Define.CountWhere == nil {
		return true, nil
	}
	v, err := ix.tb.gate.Eval.EvalIn(ctx, ix.Define.CountWhere, doc, nil, record.AsEngineReader)
	return err == nil && value.Truthy(v), err
}

// referencesOf calls f with the key of each reference that doc makes.
func (t *table) referencesOf(s *schema, id, doc value.Value,
	f func(k []byte, target *value.RecordID, tb uint32) error) error {
	for _, field := range t.Fields {
		if field.Define.Reference == nil {
			continue
		}
		seen := map[string]bool{}
		for _, target := range record.Targets(nil, doc, field.Path) {
			tb := s.idOf(t.at, target.Table)
			if tb == 0 {
				continue
			}
			k := key.Reference(nil, t.at.ns, t.at.db, tb, target.Key, t.at.tb, field.Name, id)
			if seen[string(k)] {
				continue
			}
			seen[string(k)] = true
			if err := f(k, target, tb); err != nil {
				return err
			}
		}
	}
	return nil
}

// idOf is the id of a table name in the database of at, or 0.
func (s *schema) idOf(at place, name string) uint32 { return s.ids[tableName{at.ns, at.db, name}] }
