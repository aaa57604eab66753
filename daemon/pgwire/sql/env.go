package sql

import (
	"context"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/engine/value"
)

// Column is a column of a relation or an answer.
type Column struct {
	Name  string
	OID   pgtype.OID
	Table uint32 // the object id of its relation, or 0
	Attr  int16
	// Spell is the spelling that the column has for a text that stands for the same, such as the id of a record, as
	// constants are spelled that the column is compared with. nil: texts stand for themselves.
	Spell func(text string) string
}

// Filter is a condition that a relation may use to give fewer rows. It need not: the reader looks at all of them again.
type Filter struct {
	Column int
	Op     string // = < > <= >=
	Value  value.Value
}

// Scan says which columns and rows of a relation are wanted.
type Scan struct {
	Filters []Filter
	Columns []bool // which are looked at; the others may be left NULL; nil: all
	// Now: what the statement itself has changed counts, see Writer.Begin.
	Now     bool
	Passing bool // a row and its values need only be good until yield returns
	// Most is how many rows in Order are enough, 0: all are wanted. A relation may make use of it where it gives no row
	// that a filter drops.
	Most  int64
	Order []ScanOrder
}

// ScanOrder is a column that rows are ordered by.
type ScanOrder struct {
	Column           int
	Desc, NullsFirst bool
}

// Counter is a relation that may know how many rows a scan would give without giving them.
type Counter interface {
	// Count counts the rows that meet the filters; ok is false where it cannot.
	Count(ctx context.Context, s *Scan) (n int64, ok bool, err error)
}

// Relation is something that rows can be read from.
type Relation interface {
	Columns() []Column
	// Scan hands the rows to yield, which keeps them unless s.Passing is set. An error of yield ends it.
	Scan(ctx context.Context, s *Scan, yield func(row []value.Value) error) error
	// Exclusive reports whether nothing else can be read while yield runs.
	Exclusive() bool
}

// Env is the environment in which a query is bound and run.
type Env interface {
	// Relation finds a relation; schema is "" for one of the search path. nil: there is none.
	Relation(schema, name string) (Relation, error)
	// Function finds a function of the environment; nil: there is none.
	Function(name string) *Function
	// Object is the id of the object of a registered type by its name, ObjectName the reverse.
	Object(oid pgtype.OID, name string) (int64, error)
	ObjectName(oid pgtype.OID, id int64) string
	// Style is that of the session.
	Style() *pgtype.Style
	// Charge counts bytes that the query holds until it ends.
	Charge(n int) error
	// Poll reports whether the query must end.
	Poll(ctx context.Context) error
}

// Function is a function of SQL.
type Function struct {
	Min, Max int // arguments; Max -1: any number
	// Type is the type of the result for the types of the arguments.
	Type func(args []pgtype.OID) pgtype.OID
	// Args are the types that literals and parameters among the arguments are taken for; the last one goes on. Nil:
	// text.
	Args []pgtype.OID
	Keep bool // an argument that has a type keeps it
	// Resolve gives the Args for the types that the arguments have; nil: Args are those.
	Resolve func(oids []pgtype.OID) []pgtype.OID
	// Eval is not called with a NULL unless Nulls is set: the result is NULL then.
	Eval  func(c *Call) (value.Value, error)
	Nulls bool
	// Fields are those of a row that the function gives; Set says that it gives a list of rows, as an array.
	Fields []Column
	Set    bool
	As     string // the name of its column in FROM; "": that of the function
	Record bool   // the columns of its rows are defined where it is called
	Varies bool   // each call may give another value
	// Names are those of the arguments, by which a call may give them; one that it leaves out is 0. Nil: there are
	// none.
	Names []string
	Typed bool // arguments that are not of the types of Args, and not made so, are refused
}

// Call is one call of a function.
type Call struct {
	Ctx  context.Context
	Env  Env
	Args []value.Value
	OIDs []pgtype.OID
}

// Str is argument i as a text; "" where it is missing.
func (c *Call) Str(i int) string {
	if i >= len(c.Args) || c.Args[i].IsNullish() {
		return ""
	}
	if c.Args[i].Kind() == value.KindString {
		return c.Args[i].Str()
	}
	return string(pgtype.AppendText(nil, c.OIDs[i], c.Args[i], c.Env.Style()))
}

// Int is argument i as a whole number; 0 where it is none.
func (c *Call) Int(i int) int64 {
	if i >= len(c.Args) {
		return 0
	}
	return asInt(c.Args[i])
}
