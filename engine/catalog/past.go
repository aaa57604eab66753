package catalog

import (
	"fmt"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/history"
	"github.com/nacredb/nacre/engine/key"
)

// DefsAt lists the definitions of one kind in a database or table as they were at a version of the history, by name.
func (v *View) DefsAt(s Scope, k ast.DefKind, version uint64) ([]*Def, error) {
	start, end := key.PastDefRange(defKey(s, k))
	cur := history.Scan(v.tx, start, end, version, false)
	defer cur.Close()
	var out []*Def
	for cur.Next() {
		d, err := decodeDef(v.cache.parse, s, k, cur.Value())
		if err != nil {
			return nil, err
		}
		if d.Stmt != nil {
			out = append(out, d)
		}
	}
	if err := cur.Err(); err != nil {
		return nil, fmt.Errorf("list definitions: %w", err)
	}
	return lastDefined(out, k), nil
}

// DefAt is Def at a version of the history; 0: now.
func (v *View) DefAt(s Scope, k ast.DefKind, name string, version uint64) (*Def, error) {
	if version == 0 {
		return v.Def(s, k, name)
	}
	raw, err := history.Get(v.tx, key.PastPrefix(nil, defKey(s, k, name)), version)
	if raw == nil || err != nil {
		return nil, err
	}
	d, err := decodeDef(v.cache.parse, s, k, raw)
	if err != nil || d.Stmt == nil {
		return nil, err
	}
	return d, nil
}

// TableAt is the definition of a table as it was at a version of the history, and the names of the views on it; nil
// where it was not defined.
func (v *View) TableAt(db *Database, name string, version uint64) (*Def, []string, error) {
	raw, err := history.Get(v.tx, tablePast(db, name), version)
	if raw == nil || err != nil {
		return nil, nil, err
	}
	d, err := decodeDef(v.cache.parse, db.Inner(), ast.DefTable, raw)
	if err != nil || d.Stmt == nil {
		return nil, nil, err
	}
	return d, d.views, nil
}

// TableIDAt is the id that the table of a name had at a version of the history; 0 where there was none.
func (v *View) TableIDAt(db *Database, name string, version uint64) (uint32, error) {
	raw, err := history.Get(v.tx, tablePast(db, name), version)
	if raw == nil || err != nil {
		return 0, err
	}
	r, err := decodeRecord(raw)
	if err != nil {
		return 0, err
	}
	return r.id, nil
}

// tablePast is the prefix of all versions of a table's definition.
func tablePast(db *Database, name string) []byte {
	return key.PastPrefix(nil, defKey(db.Inner(), ast.DefTable, name))
}
