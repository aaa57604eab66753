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
	for _, ours := range [...]ast.DefKind{ast.DefNamespace, ast.DefDatabase, ast.DefTable, ast.DefField, ast.DefIndex, ast.DefEvent,
		ast.DefFunction, ast.DefParam, ast.DefAnalyzer, ast.DefUser, ast.DefAccess, ast.DefSequence, ast.DefConfig, ast.DefAPI,
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
