package catalog

import (
	"bytes"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/kv"
)

// Namespace finds a namespace; nil where there is none.
func (v *View) Namespace(name string) (*Namespace, error) {
	l, err := v.level(0)
	if err != nil {
		return nil, err
	}
	if !l.dirty {
		l.mu.RLock()
		ns := l.spaces[name]
		l.mu.RUnlock()
		if ns != nil {
			return ns, nil
		}
	}
	d, err := v.def(Scope{}, ast.DefNamespace, name)
	if d == nil || err != nil {
		return nil, err
	}
	ns, err := namespaceOf(d)
	if err == nil && !l.dirty {
		l.mu.Lock()
		l.spaces[name] = ns
		l.mu.Unlock()
	}
	return ns, err
}

// Namespaces lists all namespaces by name.
func (v *View) Namespaces() ([]*Namespace, error) {
	ds, err := v.scan(Scope{}, ast.DefNamespace)
	if err != nil {
		return nil, err
	}
	out := make([]*Namespace, len(ds))
	for i, d := range ds {
		if out[i], err = namespaceOf(d); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func namespaceOf(d *Def) (*Namespace, error) {
	s, ok := d.Stmt.(*ast.DefineNamespace)
	if !ok {
		return nil, misfiled(d)
	}
	return &Namespace{Def: d, Define: s}, nil
}

// Database finds a database; nil where there is none.
func (v *View) Database(ns *Namespace, name string) (*Database, error) {
	l, err := v.level(0)
	if err != nil {
		return nil, err
	}
	at := dbName{ns.Def, name}
	if !l.dirty {
		l.mu.RLock()
		db := l.databases[at]
		l.mu.RUnlock()
		if db != nil {
			return db, nil
		}
	}
	d, err := v.def(ns.Inner(), ast.DefDatabase, name)
	if d == nil || err != nil {
		return nil, err
	}
	db, err := databaseOf(ns, d)
	if err == nil && !l.dirty {
		l.mu.Lock()
		l.databases[at] = db
		l.mu.Unlock()
	}
	return db, err
}

// Databases lists the databases of a namespace by name.
func (v *View) Databases(ns *Namespace) ([]*Database, error) {
	ds, err := v.scan(ns.Inner(), ast.DefDatabase)
	if err != nil {
		return nil, err
	}
	out := make([]*Database, len(ds))
	for i, d := range ds {
		if out[i], err = databaseOf(ns, d); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func databaseOf(ns *Namespace, d *Def) (*Database, error) {
	s, ok := d.Stmt.(*ast.DefineDatabase)
	if !ok {
		return nil, misfiled(d)
	}
	return &Database{Def: d, NS: ns, Define: s}, nil
}

// Strict reports whether tables of the database must be defined before use.
func (db *Database) Strict() bool {
	x, ok := db.Extra.Get("strict")
	return ok && x.Bool()
}

func misfiled(d *Def) error { return fmt.Errorf("definition of %s is of another kind", d.Name) }

// Def finds a definition of any kind; nil where there is none.
func (v *View) Def(s Scope, k ast.DefKind, name string) (*Def, error) {
	d, err := v.def(s, k, name)
	if d != nil && d.Stmt == nil {
		return nil, err
	}
	return d, err
}

// Defs lists the definitions of one kind in a scope by name: of indexes as they were defined last.
func (v *View) Defs(s Scope, k ast.DefKind) ([]*Def, error) {
	ds, err := v.scan(s, k)
	if err != nil {
		return nil, err
	}
	return lastDefined(slices.DeleteFunc(ds, func(d *Def) bool { return d.Stmt == nil }), k), nil
}

// lastDefined leaves indexes out that others are to take the place of, and shows those in their places. It may change
// ds, which is in order of names.
func lastDefined(ds []*Def, k ast.DefKind) []*Def {
	if k != ast.DefIndex {
		return ds
	}
	next := map[string]*Def{}
	out := ds[:0]
	for _, d := range ds {
		if name, staged := strings.CutPrefix(d.Name, stagedPrefix); staged {
			shown := *d
			shown.Name = name
			next[name] = &shown
		} else {
			out = append(out, d)
		}
	}
	for i, d := range out {
		if x := next[d.Name]; x != nil {
			out[i] = x
		}
	}
	return out
}

// Table finds a table; nil where it is not defined.
func (v *View) Table(db *Database, name string) (*Table, error) {
	l, err := v.level(db.ID)
	if err != nil {
		return nil, err
	}
	if !l.dirty {
		l.mu.RLock()
		tb, ok := l.tables[name]
		l.mu.RUnlock()
		if ok && (tb == nil || tb.DB.Def == db.Def) { // the database's own definition is of another level
			return tb, nil
		}
	}
	d, err := v.def(db.Inner(), ast.DefTable, name)
	if err != nil {
		return nil, err
	}
	var tb *Table
	if d != nil && d.Stmt != nil {
		if tb, err = v.compiled(db, d); err != nil {
			return nil, err
		}
	}
	if !l.dirty {
		l.mu.Lock()
		l.tables[name] = tb
		l.mu.Unlock()
	}
	return tb, nil
}

// Outline is a table without what is defined on it: no fields, indexes or events. Nil where it is not defined. It takes
// no longer where there are many of those.
func (v *View) Outline(db *Database, name string) (*Table, error) {
	d, err := v.def(db.Inner(), ast.DefTable, name)
	if err != nil || d == nil || d.Stmt == nil {
		return nil, err
	}
	return outline(db, d)
}

func outline(db *Database, d *Def) (*Table, error) {
	s, ok := d.Stmt.(*ast.DefineTable)
	if !ok {
		return nil, misfiled(d)
	}
	return &Table{Def: d, DB: db, Define: s, Views: d.views}, nil
}

// Field finds a field of a table by its canonical name; nil where there is none.
func (v *View) Field(tb *Table, name string) (*Field, error) {
	d, err := v.def(tb.Inner(), ast.DefField, name)
	if err != nil || d == nil || d.Stmt == nil {
		return nil, err
	}
	return fieldOf(d)
}

func fieldOf(d *Def) (*Field, error) {
	s, ok := d.Stmt.(*ast.DefineField)
	if !ok {
		return nil, misfiled(d)
	}
	return &Field{Def: d, Define: s, Path: PathOf(s.Name)}, nil
}

// FieldsAround are the fields of a table that one of a name lies inside of, in order of their names.
func (v *View) FieldsAround(tb *Table, name *ast.Idiom) ([]*Field, error) {
	var found []*Def
	path := PathOf(name)
	around := &ast.Idiom{}
	for i, part := range name.Parts[:len(name.Parts)-1] {
		if path[i].All || path[i].Index {
			// Elements have several names: a.* and a[0] lie around a[0].b, a… around a.*.b.
			for _, r := range [][2]string{{"[", "\\"}, {"...", "../"}} {
				in, outer := tb.Inner(), ast.Text(around)
				ds, err := v.list(in, ast.DefField,
					kv.Range{Start: defKey(in, ast.DefField, outer+r[0]), End: defKey(in, ast.DefField, outer+r[1])})
				if err != nil {
					return nil, err
				}
				found = append(found, ds...)
			}
			part = &ast.PartAll{}
		}
		around.Parts = append(around.Parts, part)
		d, err := v.def(tb.Inner(), ast.DefField, ast.Text(around))
		if err != nil {
			return nil, err
		}
		if d != nil {
			found = append(found, d)
		}
	}
	var out []*Field
	for _, d := range found {
		f, err := fieldOf(d)
		if err != nil {
			return nil, err
		}
		if Within(path, f.Path) {
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b *Field) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// compiled finds the compiled view that belongs to exactly this definition, or makes it.
func (v *View) compiled(db *Database, d *Def) (*Table, error) {
	at := string(defKey(d.Scope, d.Kind, d.Name))
	c := v.cache
	c.mu.RLock()
	tb := c.tables[at]
	c.mu.RUnlock()
	if tb != nil && bytes.Equal(tb.raw, d.raw) && bytes.Equal(tb.DB.raw, db.raw) {
		return tb, nil
	}
	tb, err := v.compile(db, d)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.tables[at] = tb
	c.mu.Unlock()
	return tb, nil
}

func (v *View) compile(db *Database, d *Def) (*Table, error) {
	tb, err := outline(db, d)
	if err != nil {
		return nil, err
	}
	in := tb.Inner()
	fields, err := v.scan(in, ast.DefField)
	if err != nil {
		return nil, err
	}
	for _, d := range fields {
		f, err := fieldOf(d)
		if err != nil {
			return nil, err
		}
		tb.Fields = append(tb.Fields, f)
	}
	sort.Slice(tb.Fields, func(i, j int) bool { return tb.Fields[i].Name < tb.Fields[j].Name })
	indexes, err := v.scan(in, ast.DefIndex)
	if err != nil {
		return nil, err
	}
	for _, d := range indexes {
		def, ok := d.Stmt.(*ast.DefineIndex)
		if !ok {
			return nil, misfiled(d)
		}
		ix := &Index{Def: d, Define: def, Paths: indexPaths(def.Fields), Whole: wholeFields(def),
			Build: buildOf(d.Extra)}
		if ix.Build.State == Ready {
			tb.Indexes = append(tb.Indexes, ix)
		} else {
			tb.Unready = append(tb.Unready, ix)
		}
	}
	events, err := v.scan(in, ast.DefEvent)
	if err != nil {
		return nil, err
	}
	for _, d := range events {
		def, ok := d.Stmt.(*ast.DefineEvent)
		if !ok {
			return nil, misfiled(d)
		}
		tb.Events = append(tb.Events, &Event{Def: d, Define: def})
	}
	tb.compile()
	return tb, nil
}

// Tables lists the tables of a database by name.
func (v *View) Tables(db *Database) ([]*Table, error) {
	ds, err := v.Defs(db.Inner(), ast.DefTable)
	if err != nil {
		return nil, err
	}
	out := make([]*Table, len(ds))
	for i, d := range ds {
		if out[i], err = v.compiled(db, d); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// TableID is the id of a table name, defined or not; 0 where nothing ever named it.
func (v *View) TableID(db *Database, name string) (uint32, error) {
	l, err := v.level(db.ID)
	if err != nil {
		return 0, err
	}
	if !l.dirty {
		l.mu.RLock()
		id, ok := l.ids[name]
		l.mu.RUnlock()
		if ok {
			return id, nil
		}
	}
	d, err := v.def(db.Inner(), ast.DefTable, name)
	if err != nil {
		return 0, err
	}
	var id uint32
	if d != nil {
		id = d.ID
	}
	if !l.dirty {
		l.mu.Lock()
		l.ids[name] = id
		l.mu.Unlock()
	}
	return id, nil
}

// NameTable gives a table name an id, without defining the table where it is not.
func (v *View) NameTable(db *Database, name string) (uint32, error) {
	id, err := v.TableID(db, name)
	if id != 0 || err != nil {
		return id, err
	}
	if id, err = v.count(idKey(db.Inner(), 0)); err != nil {
		return 0, err
	}
	r := record{name: name, id: ghostIDs + id}
	return r.id, v.write(db.Inner(), ast.DefTable, &r)
}

// TableName is the name behind a table id of a database; "" where nothing has it.
func (v *View) TableName(db *Database, id uint32) (string, error) {
	return v.tableName(Scope{NS: db.Scope.NS, DB: db.ID, TB: id})
}

func (v *View) tableName(s Scope) (string, error) {
	l, err := v.level(s.DB)
	if err != nil {
		return "", err
	}
	if !l.dirty {
		l.mu.RLock()
		name, ok := l.names[s.TB]
		l.mu.RUnlock()
		if ok {
			return name, nil
		}
	}
	ds, err := v.scan(Scope{NS: s.NS, DB: s.DB}, ast.DefTable)
	if err != nil {
		return "", err
	}
	names := make(map[uint32]string, len(ds))
	for _, d := range ds {
		names[d.ID] = d.Name
	}
	if !l.dirty {
		l.mu.Lock()
		l.names = names
		l.mu.Unlock()
	}
	return names[s.TB], nil
}

// Actor finds a user or access method at the level that ns and db name; nil where there is none.
func (v *View) Actor(kind ast.DefKind, name, nsName, dbName string) (*Def, error) {
	var s Scope
	if nsName != "" {
		ns, err := v.Namespace(nsName)
		if ns == nil || err != nil {
			return nil, err
		}
		s = ns.Inner()
		if dbName != "" {
			db, err := v.Database(ns, dbName)
			if db == nil || err != nil {
				return nil, err
			}
			s = db.Inner()
		}
	} else if dbName != "" {
		return nil, nil
	}
	return v.Def(s, kind, name)
}
