package catalog

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/value"
)

// The stored form of a definition is the CBOR of an object:
//
//	name   the name, for listings
//	id     its id, where the kind has one
//	rev    of tables: another one whenever something on the table changes (count4 random4, as a number)
//	text   the canonical DEFINE statement; absent for a table that is only named by edges or links
//	views  of tables: names of the tables defined as views on it
//	place  of fields: the count in the revision of the table as they were first defined, so in the order of that; absent in
//	       what earlier versions stored
//	by     who defined it: 8 × level (0 root, 1 namespace, 2 database) + roles (bits, see Definer); absent in what earlier
//	       versions stored: an OWNER of the level
//	extra  facts beside the text
const (
	partName  = "name"
	partID    = "id"
	partRev   = "rev"
	partText  = "text"
	partViews = "views"
	partBy    = "by"
	partPlace = "place"
	partExtra = "extra"
)

var noExtra = value.NewObject()

// record is a definition on its way to or from the store.
type record struct {
	name  string
	id    uint32
	rev   int64
	text  string
	views []string
	extra *value.Object
	by    int64 // as stored; 0: by an earlier version, or without a text
	place int64
}

func (r *record) encode() ([]byte, error) {
	f := make([]value.Field, 0, 8)
	if r.by != 0 {
		f = append(f, value.Field{Name: partBy, Value: value.Int(r.by)})
	}
	if r.extra != nil && r.extra.Len() > 0 {
		f = append(f, value.Field{Name: partExtra, Value: value.ObjectOf(r.extra)})
	}
	if r.id != 0 {
		f = append(f, value.Field{Name: partID, Value: value.Int(int64(r.id))})
	}
	f = append(f, value.Field{Name: partName, Value: value.Str(r.name)})
	if r.place != 0 {
		f = append(f, value.Field{Name: partPlace, Value: value.Int(r.place)})
	}
	if r.rev != 0 {
		f = append(f, value.Field{Name: partRev, Value: value.Int(r.rev)})
	}
	if r.text != "" {
		f = append(f, value.Field{Name: partText, Value: value.Str(r.text)})
	}
	if len(r.views) > 0 {
		names := make([]value.Value, len(r.views))
		for i, n := range r.views {
			names[i] = value.Str(n)
		}
		f = append(f, value.Field{Name: partViews, Value: value.ArrayOf(names)})
	}
	return value.AppendCBOR(nil, value.ObjectOf(value.ObjectOfSorted(f)))
}

func decodeRecord(raw []byte) (*record, error) {
	v, err := value.DecodeCBORValue(raw, value.DecodeLimits{})
	if err != nil {
		return nil, fmt.Errorf("read a definition: %w", err)
	}
	if v.Kind() != value.KindObject {
		return nil, fmt.Errorf("read a definition: not an object")
	}
	o := v.Object()
	r := &record{extra: noExtra}
	if x, ok := o.Get(partName); ok && x.Kind() == value.KindString {
		r.name = x.Str()
	}
	if x, ok := o.Get(partID); ok && x.Kind() == value.KindInt {
		r.id = uint32(x.Int())
	}
	if x, ok := o.Get(partRev); ok && x.Kind() == value.KindInt {
		r.rev = x.Int()
	}
	if x, ok := o.Get(partPlace); ok && x.Kind() == value.KindInt {
		r.place = x.Int()
	}
	if x, ok := o.Get(partText); ok && x.Kind() == value.KindString {
		r.text = x.Str()
	}
	if x, ok := o.Get(partViews); ok && x.Kind() == value.KindArray {
		for _, e := range x.Elems() {
			r.views = append(r.views, e.Str())
		}
		slices.Sort(r.views) // earlier versions wrote them in the order of their definition
	}
	if x, ok := o.Get(partExtra); ok && x.Kind() == value.KindObject {
		r.extra = x.Object()
	}
	if x, ok := o.Get(partBy); ok && x.Kind() == value.KindInt {
		r.by = x.Int()
	}
	return r, nil
}

// levels are those of definers, by the number that is stored.
var levels = [...]ast.Base{ast.BaseRoot, ast.BaseNamespace, ast.BaseDatabase}

// stored is the number that is kept of a definer.
func (d Definer) stored() int64 { return int64(slices.Index(levels[:], d.Base))<<3 | int64(d.Roles) }

func definerOf(s Scope, by int64) Definer {
	if by == 0 {
		return s.owner()
	}
	return Definer{Base: levels[min(uint64(by)>>3, uint64(len(levels)-1))], Roles: uint8(by & everyRole)}
}

// decodeDef parses the stored form of a definition.
func decodeDef(parse Parser, s Scope, k ast.DefKind, raw []byte) (*Def, error) {
	raw = bytes.Clone(raw) // the decoded values and the Def outlive the snapshot
	r, err := decodeRecord(raw)
	if err != nil {
		return nil, err
	}
	d := &Def{Scope: s, Kind: k, Name: r.name, ID: r.id, Extra: r.extra, raw: raw, views: r.views, rev: r.rev,
		By: definerOf(s, r.by), place: r.place}
	if r.text == "" {
		return d, nil
	}
	stmt, err := parse(r.text)
	if err != nil {
		return nil, fmt.Errorf("read the definition of %s: %w", r.name, err)
	}
	d.Stmt = stmt
	return d, nil
}

// Put stores d: Scope, Kind, Name, Stmt, Extra and By are the caller's, the rest is kept from the definition that
// it replaces, or made. It answers the stored form.
func (v *View) Put(d *Def) (*Def, error) {
	old, err := v.def(d.Scope, d.Kind, d.Name)
	if err != nil {
		return nil, err
	}
	if d.By.Base == ast.BaseNone {
		return nil, fmt.Errorf("store the definition of %s: it has no definer", d.Name)
	}
	r := record{name: d.Name, text: ast.Text(d.Stmt), extra: d.Extra, by: d.By.stored()}
	switch {
	case old != nil:
		r.id, r.rev, r.views, r.place = old.ID, nextRev(old.rev), old.views, old.place
	case d.Kind == ast.DefField:
		if r.place, err = v.nextPlace(d); err != nil {
			return nil, err
		}
	case hasID(d.Kind):
		if r.id, err = v.nextID(d.Scope, d.Kind); err != nil {
			return nil, err
		}
	}
	if d.Kind != ast.DefTable {
		r.rev = 0
	}
	if d.Kind == ast.DefUser || d.Kind == ast.DefAccess {
		if err := v.IdentityChanged(); err != nil {
			return nil, err
		}
	}
	if err := v.write(d.Scope, d.Kind, &r); err != nil {
		return nil, err
	}
	if d.Scope.TB != 0 {
		if err := v.revise(d); err != nil {
			return nil, err
		}
	}
	return v.def(d.Scope, d.Kind, d.Name)
}

// Delete removes a definition. What hangs below it stays: the caller drops that.
func (v *View) Delete(d *Def) error {
	if err := v.IdentityChanged(); err != nil {
		return err
	}
	if err := v.touch(d.Scope.DB); err != nil {
		return err
	}
	if err := v.tx.Delete(defKey(d.Scope, d.Kind, d.Name)); err != nil {
		return fmt.Errorf("remove the definition of %s: %w", d.Name, err)
	}
	if d.Scope.TB != 0 {
		return v.revise(d)
	}
	return nil
}

func (v *View) write(s Scope, k ast.DefKind, r *record) error {
	raw, err := r.encode()
	if err != nil {
		return fmt.Errorf("store the definition of %s: %w", r.name, err)
	}
	if err := v.touch(s.DB); err != nil {
		return err
	}
	if err := v.tx.Set(defKey(s, k, r.name), raw); err != nil {
		return fmt.Errorf("store the definition of %s: %w", r.name, err)
	}
	return nil
}

// revise bumps the revision of the table that a definition stands on, so that its compiled view is made anew.
func (v *View) revise(d *Def) error {
	name, err := v.standsOn(d)
	if err != nil {
		return err
	}
	return v.changeTable(Scope{NS: d.Scope.NS, DB: d.Scope.DB}, name, func(*record) {})
}

// standsOn is the name of the table that a definition stands on.
func (v *View) standsOn(d *Def) (string, error) {
	name, err := v.named(d.Scope, tableOf(d.Stmt))
	if err != nil || name != "" {
		return name, err
	}
	return v.tableName(d.Scope)
}

// nextPlace is the place of a field that is defined now: every definition on a table counts its revision up.
func (v *View) nextPlace(d *Def) (int64, error) {
	name, err := v.standsOn(d)
	if err != nil {
		return 0, err
	}
	tb, err := v.def(Scope{NS: d.Scope.NS, DB: d.Scope.DB}, ast.DefTable, name)
	if err != nil || tb == nil {
		return 0, err
	}
	return tb.rev>>32 + 1, nil
}

// Defined compares two fields of a table by the order in which they were first defined; those of earlier versions come
// first.
func (d *Def) Defined(other *Def) int { return cmp.Compare(d.place, other.place) }

// tableOf is the table that a definition says it stands on.
func tableOf(stmt ast.Statement) string {
	switch x := stmt.(type) {
	case *ast.DefineField:
		return x.Table.Ident
	case *ast.DefineIndex:
		return x.Table.Ident
	case *ast.DefineEvent:
		return x.Table.Ident
	}
	return ""
}

// named is name if the table of a scope has it; else "". Looking through all tables takes its time where they are many.
func (v *View) named(s Scope, name string) (string, error) {
	raw, err := v.tx.Get(defKey(Scope{NS: s.NS, DB: s.DB}, ast.DefTable, name))
	if err != nil {
		return "", fmt.Errorf("read table %s: %w", name, err)
	}
	if raw == nil {
		return "", nil
	}
	r, err := decodeRecord(raw)
	if err != nil || r.id != s.TB {
		return "", err
	}
	return name, nil
}

// nextRev is the revision after one. A part of it is random: what two transactions make of one table must not look
// alike, or what was compiled in one that was cancelled would be taken for what the other one committed.
func nextRev(rev int64) int64 { return (rev>>32+1)<<32 | int64(rand.Uint32()) }

// changeTable rewrites a table's record with a new revision.
func (v *View) changeTable(s Scope, name string, change func(*record)) error {
	raw, err := v.tx.Get(defKey(s, ast.DefTable, name))
	if err != nil {
		return fmt.Errorf("read table %s: %w", name, err)
	}
	if raw == nil {
		return nil
	}
	r, err := decodeRecord(raw)
	if err != nil {
		return err
	}
	r.rev = nextRev(r.rev)
	change(r)
	return v.write(s, ast.DefTable, r)
}

// AddView notes that the table view is defined over the table source; DropView takes the note back.
func (v *View) AddView(db *Database, source, view string) error {
	return v.changeTable(db.Inner(), source, func(r *record) {
		for _, n := range r.views {
			if n == view {
				return
			}
		}
		r.views = append(slices.Clone(r.views), view)
		slices.Sort(r.views)
	})
}

// DropView is the opposite of AddView.
func (v *View) DropView(db *Database, source, view string) error {
	return v.changeTable(db.Inner(), source, func(r *record) {
		kept := r.views[:0]
		for _, n := range r.views {
			if n != view {
				kept = append(kept, n)
			}
		}
		r.views = kept
	})
}

func hasID(k ast.DefKind) bool {
	return k == ast.DefNamespace || k == ast.DefDatabase || k == ast.DefTable || k == ast.DefIndex
}

// ghostIDs is where the ids of tables begin that are named by edges and links, but not defined.
const ghostIDs = 1 << 31

// nextID gives out an id. Namespaces and databases count through the whole store, tables per database and indexes
// per table.
func (v *View) nextID(s Scope, k ast.DefKind) (uint32, error) {
	return v.count(idKey(s, kinds[k]))
}

func (v *View) count(at []byte) (uint32, error) {
	b, err := v.tx.Get(at)
	if err != nil {
		return 0, fmt.Errorf("read an id counter: %w", err)
	}
	var n uint32
	if len(b) == 4 {
		n = binary.BigEndian.Uint32(b)
	}
	n++
	if err := v.tx.Set(at, binary.BigEndian.AppendUint32(nil, n)); err != nil {
		return 0, fmt.Errorf("write an id counter: %w", err)
	}
	return n, nil
}

// PutSetting keeps a group of settings of the whole store.
func (v *View) PutSetting(name string, o *value.Object) error {
	raw, err := value.AppendCBOR(nil, value.ObjectOf(o))
	if err != nil {
		return fmt.Errorf("store setting %s: %w", name, err)
	}
	c := v.cache
	v.tx.OnCommit(func(kv.Version) { c.settings.Add(1) })
	if err := v.tell(); err != nil {
		return err
	}
	return v.tx.Set(key.Meta(nil, metaSetting+name), raw)
}

// Setting reads a group of settings; the empty object where there is none.
func (v *View) Setting(name string) (*value.Object, error) {
	raw, err := v.tx.Get(key.Meta(nil, metaSetting+name))
	if raw == nil || err != nil {
		return noExtra, err
	}
	x, err := value.DecodeCBORValue(bytes.Clone(raw), value.DecodeLimits{})
	if err == nil && x.Kind() != value.KindObject {
		err = kv.ErrCorrupt
	}
	if err != nil {
		return noExtra, fmt.Errorf("read setting %s: %w", name, err)
	}
	return x.Object(), nil
}
