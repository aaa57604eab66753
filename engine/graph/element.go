package graph

import (
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// element is a node or an edge that a program has met, with what was read of it. Several elements may stand for one
// record, so identity is hash and packed id, never the pointer.
type element struct {
	packed record.ID
	hash   uint64          // of packed
	id     *value.RecordID // nil until recordID
	table  *table
	epoch  uint32        // of the elements when doc and shown were read; 0: never
	shown  bool          // the record exists and the caller may see it
	raw    record.Stored // its image, where the caller sees it as it is stored; else nil
	doc    value.Value   // NONE while raw was not decoded
	hops   []hopList
	next   *element // another one at the same place of the hash table
}

// recordID is the id of the record in full.
func (e *element) recordID() *value.RecordID {
	if e.id == nil {
		// The bytes come from the store. Where they are damaged the id is one that no record has.
		_, k, _ := e.packed.Decode()
		e.id = &value.RecordID{Table: e.table.name, Key: k}
	}
	return e.id
}

func (e *element) is(other *element) bool {
	return e == other || e.hash == other.hash && e.packed == other.packed
}

// table is a table that a program has met, defined or not.
type table struct {
	id     uint32 // 0: nothing ever had its name
	name   string
	def    *catalog.Table // nil: it is not defined
	loaded bool           // def is what the transaction has by now
}

// relation reports whether the table holds edges.
func (t *table) relation() bool { return t.def != nil && t.def.Define.Kind == ast.TableRelation }

// tableOf is the table with an id.
func (x *runner) tableOf(id uint32) (*table, error) {
	for _, t := range x.tables {
		if t.id == id {
			return t, nil
		}
	}
	name, err := x.g.Cat.TableName(x.g.DB, id)
	if err != nil {
		return nil, err
	}
	return x.addTable(id, name), nil
}

// tableNamed is the table with a name.
func (x *runner) tableNamed(name string) (*table, error) {
	for _, t := range x.tables {
		if t.name == name {
			return t, nil
		}
	}
	id, err := x.g.Cat.TableID(x.g.DB, name)
	if err != nil {
		return nil, err
	}
	return x.addTable(id, name), nil
}

func (x *runner) addTable(id uint32, name string) *table {
	t := &table{id: id, name: name}
	x.tables = append(x.tables, t)
	return t
}

// defined is the definition of a table; nil where there is none.
func (x *runner) defined(t *table) (*catalog.Table, error) {
	if t.loaded {
		return t.def, nil
	}
	var err error
	if t.def, err = x.g.Cat.Table(x.g.DB, t.name); err == nil {
		t.loaded = true
	}
	return t.def, err
}

// element is the element of a record.
func (x *runner) element(id *value.RecordID) (*element, error) {
	tb, err := x.tableNamed(id.Table)
	if err != nil {
		return nil, err
	}
	t := &x.seen
	t.scratch = t.scratch[:0]
	if tb.id == 0 { // it has no records: any bytes will do that no other one has
		t.scratch = append(append(t.scratch, 0, 0, 0, 0), id.Table...)
	}
	t.scratch = record.PackID(t.scratch, tb.id, id.Key)
	packed := record.IDOf(t.scratch)
	h := t.hashOf(packed)
	if e := t.find(packed, h); e != nil {
		return e, nil
	}
	return x.addElement(t.keep(t.scratch), h, tb, id), nil
}

// met is the element of a record that a link leads to or is.
func (x *runner) met(packed record.ID) (*element, error) {
	t := &x.seen
	h := t.hashOf(packed)
	if e := t.find(packed, h); e != nil {
		return e, nil
	}
	tb, err := x.tableOf(packed.Table())
	if err != nil {
		return nil, err
	}
	return x.addElement(packed, h, tb, nil), nil
}

func (x *runner) addElement(packed record.ID, hash uint64, tb *table, id *value.RecordID) *element {
	t := &x.seen
	if t.n >= keptElements {
		t.forget()
	}
	return t.add(packed, hash, tb, id)
}

// see reads a record as the caller may see it; false where it is missing or hidden.
func (x *runner) see(e *element) (bool, error) {
	if e.epoch == x.seen.epoch {
		return e.shown, nil
	}
	if err := x.r.Tick(x.ctx); err != nil {
		return false, err
	}
	tb, err := x.defined(e.table)
	if err != nil {
		return false, err
	}
	if tb == nil {
		return false, x.keep(e, nil, value.None, false)
	}
	raw, plain, err := x.g.PeekID(tb, e.packed)
	if err != nil {
		return false, err
	}
	if plain {
		return raw != nil, x.keep(e, raw, value.None, raw != nil)
	}
	raw, doc, ok, err := x.g.Peek(x.ctx, tb, e.recordID())
	if err != nil {
		return false, err
	}
	return ok, x.keep(e, raw, doc, ok)
}

// keep remembers a record that was read.
func (x *runner) keep(e *element, raw record.Stored, doc value.Value, ok bool) error {
	e.raw, e.doc, e.shown, e.epoch, e.hops = raw, doc, ok, x.seen.epoch, nil
	return x.r.Mem.Reach(x.seen.weight())
}

// load is see for what a slot is bound to.
func (x *runner) load(s *slot) (bool, error) { return x.see(s.el) }

// document reads the record that a slot is bound to; false where it is missing or hidden.
func (x *runner) document(s *slot) (value.Value, bool, error) {
	e := s.el
	if ok, err := x.see(e); err != nil || !ok {
		return value.None, false, err
	}
	if e.raw != nil && e.doc.IsNone() {
		var err error
		if e.doc, err = e.raw.Record(); err != nil {
			return value.None, false, err
		}
	}
	return e.doc, true, nil
}

// field is a field of what a slot is bound to; NONE where either is missing or hidden.
func (x *runner) field(s *slot, name string) (value.Value, error) {
	e := s.el
	if ok, err := x.see(e); err != nil || !ok {
		return value.None, err
	}
	if e.doc.IsNone() {
		return e.raw.Field(name)
	}
	v, _ := e.doc.Object().Get(name)
	return v, nil
}
