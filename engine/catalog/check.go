package catalog

import (
	"encoding/binary"
	"fmt"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/key"
)

// CheckStored reports what is wrong with a stored definition: k is its key, made by engine/key,
// and raw its value. nil: it decodes, its text parses, and it is filed where it belongs.
func CheckStored(parse Parser, k, raw []byte) error {
	kind, names, err := key.DecodeDef(k)
	if err != nil {
		return err
	}
	for _, ours := range [...]ast.DefKind{ast.DefNamespace, ast.DefDatabase, ast.DefTable, ast.DefField, ast.DefIndex,
		ast.DefEvent,
		ast.DefFunction, ast.DefParam, ast.DefAnalyzer, ast.DefUser, ast.DefAccess, ast.DefSequence, ast.DefConfig,
		ast.DefAPI,
		ast.DefBucket, ast.DefModel, ast.DefModule} {
		if kinds[ours] != kind {
			continue
		}
		d, err := decodeDef(parse, Scope{}, ours, raw)
		switch {
		case err != nil:
			return err
		case len(names) != 1 || d.Name != names[0]:
			return fmt.Errorf("definition of %s is filed under another name", d.Name)
		case hasID(ours) && d.ID == 0:
			return fmt.Errorf("definition of %s has no id", d.Name)
		case d.Stmt == nil && ours != ast.DefTable:
			return fmt.Errorf("definition of %s has no text", d.Name)
		}
		return nil
	}
	return nil
}

// GhostIDs is above every id of a defined table; those of tables that are only named come after it.
const GhostIDs uint32 = ghostIDs

// LastIDs are the last ids given out in a scope: of definitions of kind k and, for tables, of those
// that are only named.
func (v *View) LastIDs(s Scope, k ast.DefKind) (last, named uint32, err error) {
	read := func(at []byte) uint32 {
		b, e := v.tx.Get(at)
		if e != nil {
			err = e
		}
		if len(b) != 4 {
			return 0
		}
		return binary.BigEndian.Uint32(b)
	}
	last = read(idKey(s, kinds[k]))
	return last, GhostIDs + read(idKey(s, 0)), err
}

// RaiseID makes sure that id will not be given out again in a scope.
func (v *View) RaiseID(s Scope, k ast.DefKind, id uint32) error {
	at := idKey(s, kinds[k])
	if k == ast.DefTable && id > ghostIDs {
		at, id = idKey(s, 0), id-ghostIDs
	}
	b, err := v.tx.Get(at)
	if err != nil {
		return fmt.Errorf("read an id counter: %w", err)
	}
	if len(b) == 4 && binary.BigEndian.Uint32(b) >= id {
		return nil
	}
	if err := v.tx.Set(at, binary.BigEndian.AppendUint32(nil, id)); err != nil {
		return fmt.Errorf("write an id counter: %w", err)
	}
	return nil
}

// PutTableAs defines a table of any kind under an id that it had before its definition was lost.
func (v *View) PutTableAs(db *Database, name string, id uint32) error {
	if err := v.RaiseID(db.Inner(), ast.DefTable, id); err != nil {
		return err
	}
	stmt := &ast.DefineTable{Name: ast.Name{Ident: name}}
	return v.write(db.Inner(), ast.DefTable, &record{name: name, id: id, rev: 1, text: ast.Text(stmt)})
}
