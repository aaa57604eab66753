package plan

import (
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/index"
	"github.com/nacredb/nacre/engine/value"
)

// Path is a way to rows: one of *Scan, *Record, *Index, *Union, *Text and *Nearest.
type Path interface{ path() }

// Scan walks the whole table in the order of its records, or backwards. The WHERE is tried on every row.
type Scan struct{ Reverse bool }

// Record reads one record. The WHERE is tried on it.
type Record struct{ ID *value.RecordID }

// Index walks a part of an index and reads the records that it finds there. The WHERE, or what Residual says, is tried
// on each of them.
type Index struct {
	Index  *catalog.Index
	Access index.Access
	// Ties, of a walk backwards, is how many fields of the index make the order that is asked for: records that agree
	// in them are turned round, so that they come in the order of the records both ways. 0: as they come.
	Ties int
	Rest []ast.Expr // the conditions that the access does not answer by itself
}

// Union gives the rows of its parts, one part after the other.
type Union struct {
	Parts    []Path
	Distinct bool // two parts may find the same record, which is given once
}

// Text walks the records that a full-text index finds and that the indexes of Also have, too. Rest is tried on each of
// them; nil: nothing else is asked.
type Text struct {
	Match
	Also []Match
	Rest ast.Expr
}

// Match is a full-text condition and the index that answers it.
type Match struct {
	Index *catalog.Index
	X     *ast.Binary
}

// Nearest walks the records that are nearest by a vector index. Rest is tried while they are looked for; nil: nothing
// else is asked.
type Nearest struct {
	Index *catalog.Index
	KNN   *ast.Binary
	Rest  ast.Expr
}

func (*Scan) path()    {}
func (*Record) path()  {}
func (*Index) path()   {}
func (*Union) path()   {}
func (*Text) path()    {}
func (*Nearest) path() {}
