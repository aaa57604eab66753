package catalog

import (
	"bytes"
	"encoding/binary"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/key"
)

// kinds maps the kinds of definitions to their numbers in keys.
var kinds = [...]key.Kind{
	ast.DefNamespace: key.KindNamespace, ast.DefDatabase: key.KindDatabase, ast.DefTable: key.KindTable,
	ast.DefField: key.KindField, ast.DefIndex: key.KindIndex, ast.DefEvent: key.KindEvent,
	ast.DefFunction: key.KindFunction, ast.DefParam: key.KindParam, ast.DefAnalyzer: key.KindAnalyzer,
	ast.DefUser: key.KindUser, ast.DefAccess: key.KindAccess, ast.DefSequence: key.KindSequence,
	ast.DefConfig: key.KindConfig, ast.DefAPI: key.KindAPI, ast.DefBucket: key.KindBucket,
	ast.DefModel: key.KindModel, ast.DefModule: key.KindModule,
}

// defKey is the key of a definition; without a name it is what all of the kind start with.
func defKey(s Scope, k ast.DefKind, name ...string) []byte {
	dst := make([]byte, 0, 48)
	switch {
	case s.TB != 0:
		return key.TableDef(dst, s.NS, s.DB, s.TB, kinds[k], name...)
	case s.DB != 0:
		return key.DBDef(dst, s.NS, s.DB, kinds[k], name...)
	case s.NS != 0:
		return key.NSDef(dst, s.NS, kinds[k], name...)
	}
	return key.RootDef(dst, kinds[k], name...)
}

// The meta keys of the catalog: the name is followed by ids, big endian.
//
//	schema database4          schema version; 0: root and namespaces
//	id kind1 ns4 db4 tb4      the last id of a kind given out in a place; kind 0: tables without definition
//	index job ns4 db4 tb4 ix4 a Job that is not done
const (
	metaJob     = "index job "
	metaHolder  = "job holder " // of an index job: the process that does it
	metaVersion = "schema"
	metaID      = "id"
	metaSetting = "setting "
)

// What the keys that Steady is for begin with; an id follows.
var (
	watched, _     = key.WatchRange()
	steadyPrefixes = [][]byte{key.Meta(nil, metaVersion), watched}
)

// Steady reports whether k is a key that nearly all transactions go by, and that seldom changes: that of a schema
// version, or of what processes watch in a database.
func Steady(k []byte) bool {
	for _, p := range steadyPrefixes {
		if len(k) == len(p)+4 && bytes.HasPrefix(k, p) {
			return true
		}
	}
	return false
}

func versionKey(dst []byte, db uint32) []byte { return appendID(key.Meta(dst, metaVersion), db) }

// idKey is the counter that ids of a kind come from. Databases count through the whole store.
func idKey(s Scope, kind key.Kind) []byte {
	if kind == key.KindDatabase {
		s = Scope{}
	}
	b := append(key.Meta(make([]byte, 0, 16), metaID), byte(kind))
	return appendID(appendID(appendID(b, s.NS), s.DB), s.TB)
}

func appendID(b []byte, id uint32) []byte { return binary.BigEndian.AppendUint32(b, id) }
