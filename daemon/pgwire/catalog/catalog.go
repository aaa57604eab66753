// Package catalog shows a database of the product as PostgreSQL shows one of its own: pg_catalog and
// information_schema.
//
// A Catalog is made of a Schema, which its caller reads with the rights of its client, and is never changed. Its
// relations hold little and are made when they are first read. Every relation has all columns of PostgreSQL 15 and
// those that 18 added, so that the statements of any version of a tool find theirs.
package catalog

import (
	"context"
	_ "embed"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sql"
	"github.com/nacredb/nacre/engine/value"
)

// Schema is the part of a database that a client may see.
type Schema struct {
	Database  string // ns/db
	Databases []string
	Tables    []*Table
	Functions []*Function
	Sequences []string
	Users     []User
}

// Table is a table or a view.
type Table struct {
	Name    string
	Comment string
	View    string // what it is defined AS; "" for a table
	Columns []*Column
	Indexes []*Index
	Open    bool // records may have other fields than those defined
	OID     uint32
}

// Column is a field of a table, or the id of its records.
type Column struct {
	Name     string
	OID      pgtype.OID
	NotNull  bool
	Default  string
	Comment  string
	Check    string
	Computed bool
	Ref      string // the table whose records it links to, or ""
	Link     bool   // it may hold records of any table
	Texts    bool   // it is declared to hold nothing but texts
}

// Index is an index of a table. Columns are numbers from 1; 0 is an expression.
type Index struct {
	Name    string
	Columns []int
	Exprs   []string
	Unique  bool
	Primary bool
	Method  string // btree, fulltext, hnsw, …
	OID     uint32
	constr  uint32
}

// Function is a function of the database.
type Function struct {
	Name    string
	Args    []string
	Types   []pgtype.OID
	Returns pgtype.OID
	Source  string
	Comment string
	OID     uint32
}

// User is a user who may sign in.
type User struct {
	Name  string
	Owner bool
}

// Session is the connection that looks.
type Session struct {
	User       string
	Superuser  bool
	ReadOnly   bool // its user may not write
	PID        uint32
	Client     string
	TLS        bool
	Start      time.Time // of the server
	Version    string    // version()
	Settings   func() []Setting
	Setting    func(name string) (string, bool)
	SetSetting func(name, v string, local bool) error
	Activity   func() []Activity
	Channels   func() []string
	Notify     func(channel, payload string) error
	Cancel     func(pid uint32, end bool) bool
	Prepared   func() [][2]string // name, text
	Estimate   func(table string) (int64, bool)
}

// Setting is a row of pg_settings.
type Setting struct {
	Name, Value, Unit, Category, Context, Kind, Min, Max, Boot string
	Choices                                                    []string
}

// Activity is a connection.
type Activity struct {
	PID                 uint32
	Database, User      string
	Application, Client string
	Start, Since        time.Time
	State, Query        string
}

// Object ids that PostgreSQL has, too.
const (
	oidPgCatalog   = 11
	oidPublic      = 2200
	oidInformation = 13000
	oidOwner       = 10
	oidHeap        = 2
	oidBtree       = 403
	oidFirst       = 16384
	oidSQL         = 14
	oidInternal    = 12
	oidProduct     = 13500 // the language of the product
	classRelation  = 1259
	classNamespace = 2615
	classProc      = 1255
	classConstr    = 2606
)

//go:embed columns.tsv
var columnsFile string

// definition is a relation as columnsFile has it.
type definition struct {
	schema, name string
	view         bool
	cols         []sql.Column
	notNull      []bool
	index        map[string]int
	oid          uint32
}

// definitions are read when the first client asks: other commands do not wait for them.
var definitions = sync.OnceValue(func() *definitionTable { return readDefinitions(columnsFile) })

// definitionTable is the relations in the order of columnsFile, and by "schema.name".
type definitionTable struct {
	list   []*definition
	byName map[string]*definition
}

// systemOIDs are the object ids of catalogs that tools know by number.
var systemOIDs = map[string]uint32{"pg_class": 1259, "pg_type": 1247, "pg_proc": 1255, "pg_attribute": 1249,
	"pg_namespace":  2615,
	"pg_constraint": 2606, "pg_database": 1262, "pg_index": 2610, "pg_attrdef": 2604, "pg_description": 2609,
	"pg_am":     2601,
	"pg_authid": 1260, "pg_auth_members": 1261, "pg_enum": 3501, "pg_extension": 3079, "pg_tablespace": 1213,
	"pg_language":  2612,
	"pg_collation": 3456, "pg_trigger": 2620, "pg_inherits": 2611, "pg_rewrite": 2618, "pg_statistic_ext": 3381,
	"pg_policy":      3256,
	"pg_publication": 6104, "pg_operator": 2617, "pg_opclass": 2616, "pg_cast": 2605, "pg_aggregate": 2600,
	"pg_depend":        2608,
	"pg_shdescription": 2396, "pg_range": 3541, "pg_sequence": 2224, "pg_event_trigger": 3466,
	"pg_foreign_server": 1417}

func readDefinitions(text string) *definitionTable {
	out := map[string]*definition{}
	var list []*definition
	for _, line := range strings.Split(strings.TrimSpace(text), "\n")[1:] {
		f := strings.Split(line, "\t")
		schema, name := "pg_catalog", f[0]
		if rest, ok := strings.CutPrefix(name, "information_schema."); ok {
			schema, name = "information_schema", rest
		}
		d := out[schema+"."+name]
		if d == nil {
			d = &definition{schema: schema, name: name, view: f[1] == "view", index: map[string]int{},
				oid: systemOIDs[name]}
			if d.oid == 0 || schema != "pg_catalog" {
				d.oid = uint32(12000 + len(list))
			}
			out[schema+"."+name] = d
			list = append(list, d)
		}
		typ, _, _ := strings.Cut(f[3], "(")
		if strings.HasPrefix(f[3], "timestamp") {
			typ = "timestamp with time zone"
		}
		oid, ok := pgtype.Named(typ)
		if !ok {
			panic("columns.tsv: unknown type " + f[3])
		}
		d.index[f[2]] = len(d.cols)
		d.cols = append(d.cols, sql.Column{Name: f[2], OID: oid, Table: d.oid, Attr: int16(len(d.cols) + 1)})
		d.notNull = append(d.notNull, f[4] == "t")
	}
	return &definitionTable{list, out}
}

// Known reports whether a relation is one of the catalogs.
func Known(schema, name string) bool {
	if schema == "" {
		schema = "pg_catalog"
	}
	return definitions().byName[schema+"."+name] != nil
}

// Catalog is the catalogs of one database for one client.
type Catalog struct {
	schema *Schema
	s      *Session
	byOID  map[uint32]*Table
	index  map[uint32]*Index // by their own ids
	owner  map[uint32]*Table // of an index, by the id of the index
	constr []*constraint
	rows   map[string][][]value.Value // of relations that were read
	proc   []*proc
}

// New makes the catalogs of a schema.
func New(schema *Schema, s *Session) *Catalog {
	c := &Catalog{schema: schema, s: s, byOID: map[uint32]*Table{}, index: map[uint32]*Index{},
		owner: map[uint32]*Table{},
		rows:  map[string][][]value.Value{}}
	taken := map[uint32]bool{}
	id := func(parts ...string) uint32 {
		h := fnv.New32a()
		for _, p := range append([]string{schema.Database}, parts...) {
			h.Write([]byte(p))
			h.Write([]byte{0})
		}
		oid := oidFirst + h.Sum32()&0x3fffffff
		for taken[oid] {
			oid++
		}
		taken[oid] = true
		return oid
	}
	for _, t := range schema.Tables {
		t.OID = id("table", t.Name)
		c.byOID[t.OID] = t
	}
	for _, t := range schema.Tables {
		for _, ix := range t.Indexes {
			ix.OID = id("index", t.Name, ix.Name)
			c.index[ix.OID], c.owner[ix.OID] = ix, t
		}
		c.constraints(t, id)
	}
	for _, f := range schema.Functions {
		f.OID = id("function", f.Name)
	}
	c.proc = c.procedures()
	return c
}

// table finds a table by name.
func (c *Catalog) table(name string) *Table {
	i := slices.IndexFunc(c.schema.Tables, func(t *Table) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return c.schema.Tables[i]
}

// relation is a catalog as sql reads it.
type relation struct {
	c *Catalog
	d *definition
}

// Relation finds a catalog; nil where there is none.
func (c *Catalog) Relation(schema, name string) sql.Relation {
	if schema == "" {
		schema = "pg_catalog"
	}
	d := definitions().byName[schema+"."+name]
	if d == nil {
		return nil
	}
	return &relation{c, d}
}

// Columns implements sql.Relation.
func (r *relation) Columns() []sql.Column { return r.d.cols }

// Exclusive implements sql.Relation.
func (*relation) Exclusive() bool { return false }

// Scan implements sql.Relation.
func (r *relation) Scan(_ context.Context, s *sql.Scan, yield func([]value.Value) error) error {
	rows := r.c.read(r.d)
	for _, row := range rows {
		if !passes(s.Filters, row) {
			continue
		}
		if err := yield(row); err != nil {
			return err
		}
	}
	return nil
}

// passes looks at the filters that are equalities of the same kind of value.
func passes(filters []sql.Filter, row []value.Value) bool {
	for _, f := range filters {
		v := row[f.Column]
		if f.Op == "=" && v.Kind() == f.Value.Kind() && (v.Kind() == value.KindInt || v.Kind() == value.KindString) &&
			!value.Equal(v, f.Value) {
			return false
		}
	}
	return true
}

// volatile are the catalogs that change without the schema.
var volatile = map[string]bool{"pg_settings": true, "pg_stat_activity": true, "pg_prepared_statements": true,
	"pg_stat_ssl": true}

// read gives the rows of a catalog.
func (c *Catalog) read(d *definition) [][]value.Value {
	key := d.schema + "." + d.name
	if rows, ok := c.rows[key]; ok && !volatile[d.name] {
		return rows
	}
	w := &writer{d: d}
	if fill := fillers[key]; fill != nil {
		fill(c, w)
	}
	c.rows[key] = w.rows
	return w.rows
}

// writer makes rows of a catalog.
type writer struct {
	d    *definition
	rows [][]value.Value
}

// cells are the columns of a row by name; others have their usual value.
type cells map[string]value.Value

func (w *writer) add(c cells) {
	row := make([]value.Value, len(w.d.cols))
	for i := range w.d.cols {
		if w.d.notNull[i] {
			row[i] = usual(w.d.cols[i].OID)
		}
	}
	for name, v := range c {
		if i, ok := w.d.index[name]; ok {
			row[i] = v
		}
	}
	w.rows = append(w.rows, row)
}

// usual is the value of a column that is not NULL and means nothing here.
func usual(oid pgtype.OID) value.Value {
	switch {
	case oid == pgtype.Bool:
		return value.Bool(false)
	case pgtype.IsArray(oid):
		return value.ArrayOf(nil)
	case oid == pgtype.Float4, oid == pgtype.Float8:
		return value.Float(0)
	case pgtype.IsNumber(oid):
		return value.Int(0)
	}
	return value.Str("")
}

func str(s string) value.Value { return value.Str(s) }

func orNull(s string) value.Value {
	if s == "" {
		return value.None
	}
	return value.Str(s)
}

func num[T int | int16 | uint32 | int64](n T) value.Value { return value.Int(int64(n)) }

func ints(list []int) value.Value {
	out := make([]value.Value, len(list))
	for i, n := range list {
		out[i] = value.Int(int64(n))
	}
	return value.ArrayOf(out)
}

func oids(list []pgtype.OID) value.Value {
	out := make([]value.Value, len(list))
	for i, n := range list {
		out[i] = value.Int(int64(n))
	}
	return value.ArrayOf(out)
}

func strs(list []string) value.Value {
	out := make([]value.Value, len(list))
	for i, s := range list {
		out[i] = value.Str(s)
	}
	return value.ArrayOf(out)
}

var yes, no = value.Bool(true), value.Bool(false)
