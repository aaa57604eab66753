package catalog

import (
	"slices"
	"strings"
	"time"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sql"
	"github.com/nacredb/nacre/engine/value"
)

// fillers make the rows of catalogs. The others are empty.
var fillers map[string]func(c *Catalog, w *writer)

func init() {
	fillers = map[string]func(c *Catalog, w *writer){
		"pg_catalog.pg_namespace": (*Catalog).namespaces, "pg_catalog.pg_class": (*Catalog).classes,
		"pg_catalog.pg_attribute": (*Catalog).attributes, "pg_catalog.pg_attrdef": (*Catalog).defaults,
		"pg_catalog.pg_type": (*Catalog).types, "pg_catalog.pg_proc": (*Catalog).procs,
		"pg_catalog.pg_constraint": (*Catalog).constraintRows,
		"pg_catalog.pg_index":      (*Catalog).indexes, "pg_catalog.pg_database": (*Catalog).databases,
		"pg_catalog.pg_roles": (*Catalog).roles, "pg_catalog.pg_authid": (*Catalog).roles,
		"pg_catalog.pg_user":        (*Catalog).users,
		"pg_catalog.pg_description": (*Catalog).descriptions, "pg_catalog.pg_am": (*Catalog).accessMethods,
		"pg_catalog.pg_settings": (*Catalog).settings, "pg_catalog.pg_language": (*Catalog).languages,
		"pg_catalog.pg_collation": (*Catalog).collations, "pg_catalog.pg_tablespace": (*Catalog).tablespaces,
		"pg_catalog.pg_stat_activity": (*Catalog).activity, "pg_catalog.pg_stat_user_tables": (*Catalog).tableStats,
		"pg_catalog.pg_stat_all_tables":   (*Catalog).tableStats,
		"pg_catalog.pg_statio_all_tables": (*Catalog).tableStats,
		"pg_catalog.pg_tables":            (*Catalog).tables, "pg_catalog.pg_views": (*Catalog).views,
		"pg_catalog.pg_indexes":   (*Catalog).indexList,
		"pg_catalog.pg_sequences": (*Catalog).sequences, "pg_catalog.pg_timezone_names": (*Catalog).timezones,
		"pg_catalog.pg_stat_ssl": (*Catalog).ssl, "pg_catalog.pg_prepared_statements": (*Catalog).prepared,
		"information_schema.tables": (*Catalog).isTables, "information_schema.columns": (*Catalog).isColumns,
		"information_schema.schemata": (*Catalog).isSchemata, "information_schema.views": (*Catalog).isViews,
		"information_schema.table_constraints":               (*Catalog).isConstraints,
		"information_schema.key_column_usage":                (*Catalog).isKeys,
		"information_schema.constraint_column_usage":         (*Catalog).isUsage,
		"information_schema.referential_constraints":         (*Catalog).isReferences,
		"information_schema.check_constraints":               (*Catalog).isChecks,
		"information_schema.sequences":                       (*Catalog).isSequences,
		"information_schema.routines":                        (*Catalog).isRoutines,
		"information_schema.parameters":                      (*Catalog).isParameters,
		"information_schema.character_sets":                  (*Catalog).isCharacterSets,
		"information_schema.role_table_grants":               (*Catalog).isGrants,
		"information_schema.table_privileges":                (*Catalog).isGrants,
		"information_schema.element_types":                   (*Catalog).isElements,
		"information_schema.enabled_roles":                   (*Catalog).isRoles,
		"information_schema.information_schema_catalog_name": (*Catalog).isName,
	}
}

const (
	pgCatalog   = "pg_catalog"
	information = "information_schema"
	public      = "public"
)

var schemas = []struct {
	oid  uint32
	name string
}{{oidPgCatalog, pgCatalog}, {oidInformation, information}, {oidPublic, public}}

func schemaOID(name string) uint32 {
	for _, s := range schemas {
		if s.name == name {
			return s.oid
		}
	}
	return 0
}

func (c *Catalog) namespaces(w *writer) {
	for _, s := range schemas {
		w.add(cells{"oid": num(s.oid), "nspname": str(s.name), "nspowner": num(oidOwner)})
	}
}

func kindOf(t *Table) string {
	if t.View != "" {
		return "m"
	}
	return "r"
}

func (c *Catalog) classes(w *writer) {
	for _, t := range c.schema.Tables {
		checks, linked := 0, false
		for _, k := range c.constr {
			linked = linked || k.kind == "f" && (k.table == t || k.foreign == t.OID)
			if k.table == t && k.kind == "c" {
				checks++
			}
		}
		n := int64(-1)
		if c.s.Estimate != nil {
			if rows, ok := c.s.Estimate(t.Name); ok {
				n = rows
			}
		}
		w.add(cells{"oid": num(t.OID), "relname": str(t.Name), "relnamespace": num(oidPublic), "reltype": num(0),
			"relowner": num(oidOwner),
			"relam":    num(oidHeap), "relfilenode": num(t.OID), "reltuples": value.Float(float64(n)),
			"relhasindex":    value.Bool(len(t.Indexes) > 0),
			"relpersistence": str("p"), "relkind": str(kindOf(t)), "relnatts": num(len(t.Columns)),
			"relchecks":      num(checks),
			"relispopulated": yes, "relreplident": str("d"), "relhastriggers": value.Bool(linked)})
		for _, ix := range t.Indexes {
			w.add(cells{"oid": num(ix.OID), "relname": str(ix.Name), "relnamespace": num(oidPublic),
				"relowner": num(oidOwner),
				"relam":    num(methodOID(ix.Method)), "relfilenode": num(ix.OID), "relpersistence": str("p"),
				"relkind":  str("i"),
				"relnatts": num(len(ix.Columns)), "relispopulated": yes, "relreplident": str("n")})
		}
	}
	for i, name := range c.schema.Sequences {
		w.add(cells{"oid": num(uint32(14000 + i)), "relname": str(name), "relnamespace": num(oidPublic),
			"relowner":       num(oidOwner),
			"relpersistence": str("p"), "relkind": str("S"), "relnatts": num(3), "relispopulated": yes,
			"relreplident": str("n")})
	}
	for _, d := range definitions().list {
		kind := "r"
		if d.view {
			kind = "v"
		}
		w.add(cells{"oid": num(d.oid), "relname": str(d.name), "relnamespace": num(schemaOID(d.schema)),
			"relowner": num(oidOwner),
			"relam":    num(oidHeap), "relfilenode": num(d.oid), "reltuples": value.Float(-1),
			"relpersistence": str("p"), "relkind": str(kind),
			"relnatts": num(len(d.cols)), "relispopulated": yes, "relreplident": str("n")})
	}
}

// methods are access methods beside those of PostgreSQL.
var methods = []struct {
	oid  uint32
	name string
}{{oidHeap, "heap"}, {oidBtree, "btree"}, {405, "hash"}, {13601, "fulltext"}, {13602, "hnsw"}, {13603, "count"}}

func methodOID(name string) uint32 {
	for _, m := range methods {
		if m.name == name {
			return m.oid
		}
	}
	return oidBtree
}

func (c *Catalog) accessMethods(w *writer) {
	for _, m := range methods {
		kind := "i"
		if m.oid == oidHeap {
			kind = "t"
		}
		w.add(cells{"oid": num(m.oid), "amname": str(m.name), "amhandler": num(m.oid), "amtype": str(kind)})
	}
}

// attribute is a row of pg_attribute.
func attribute(w *writer, rel uint32, name string, oid pgtype.OID, n int, notNull, def, computed bool) {
	t := pgtype.Lookup(oid)
	cells := cells{"attrelid": num(rel), "attname": str(name), "atttypid": num(oid), "attstattarget": num(-1),
		"attnum":      num(n),
		"attcacheoff": num(-1), "atttypmod": num(-1), "attnotnull": value.Bool(notNull),
		"atthasdef":  value.Bool(def || computed),
		"attislocal": yes, "attlen": num(pgtype.LenOf(oid)), "attalign": str("i"), "attstorage": str("p"),
		"attcollation": num(collation(oid))}
	if t != nil {
		cells["attbyval"] = value.Bool(t.Fields[3] == "t")
		cells["attalign"], cells["attstorage"] = str(t.Fields[21]), str(t.Fields[22])
		if t.Category == 'A' && !pgtype.IsVector(oid) {
			cells["attndims"] = num(1)
		}
	}
	if computed {
		cells["attgenerated"] = str("s")
	}
	w.add(cells)
}

func collation(oid pgtype.OID) uint32 {
	switch oid {
	case pgtype.Text, pgtype.Varchar, pgtype.BPChar, pgtype.TextArray:
		return 100
	case pgtype.Name:
		return 950
	}
	return 0
}

func (c *Catalog) attributes(w *writer) {
	for _, t := range c.schema.Tables {
		for i, col := range t.Columns {
			attribute(w, t.OID, col.Name, col.OID, i+1, col.NotNull, col.Default != "", col.Computed)
		}
		for _, ix := range t.Indexes {
			for i, n := range ix.Columns {
				name, oid := "expr", pgtype.OID(pgtype.Text)
				if n > 0 {
					name, oid = t.Columns[n-1].Name, t.Columns[n-1].OID
				}
				attribute(w, ix.OID, name, oid, i+1, false, false, false)
			}
		}
	}
	for _, d := range definitions().list {
		for i, col := range d.cols {
			attribute(w, d.oid, col.Name, col.OID, i+1, d.notNull[i], false, false)
		}
	}
}

func (c *Catalog) defaults(w *writer) {
	for _, t := range c.schema.Tables {
		for i, col := range t.Columns {
			if col.Default != "" {
				w.add(cells{"oid": num(t.OID ^ uint32(i+1)<<20), "adrelid": num(t.OID), "adnum": num(i + 1),
					"adbin": str(col.Default)})
			}
		}
	}
}

func (c *Catalog) types(w *writer) {
	list, header := pgtype.All()
	for _, t := range list {
		row := cells{"typnamespace": num(oidPgCatalog), "typowner": num(oidOwner), "typisdefined": yes,
			"typtypmod": num(-1)}
		for i, name := range header {
			at, ok := w.d.index[name]
			if !ok {
				continue
			}
			row[name] = typed(w.d.cols[at].OID, t.Fields[i])
		}
		for name, of := range map[string]string{"typinput": "input_oid", "typoutput": "output_oid",
			"typreceive": "receive_oid", "typsend": "send_oid"} {
			row[name] = typed(pgtype.Oid, t.Fields[slices.Index(header, of)])
		}
		for _, name := range []string{"typmodin", "typmodout", "typanalyze", "typsubscript"} {
			row[name] = num(0)
		}
		w.add(row)
	}
}

// typed reads a cell of a file of rows.
func typed(oid pgtype.OID, s string) value.Value {
	if s == "-" && oid != pgtype.Char {
		return num(0)
	}
	v, err := pgtype.Parse(oid, s, nil)
	if err != nil {
		return num(0)
	}
	return v
}

func (c *Catalog) databases(w *writer) {
	for i, name := range c.schema.Databases {
		w.add(cells{"oid": num(uint32(20000 + i)), "datname": str(name), "datdba": num(oidOwner), "encoding": num(6),
			"datcollate": str("C.UTF-8"),
			"datctype":   str("C.UTF-8"), "datlocprovider": str("c"), "datallowconn": yes, "datconnlimit": num(-1),
			"dattablespace": num(1663)})
	}
}

// people are the users, and first of them the owner of everything.
func (c *Catalog) people() (list []User) {
	list = []User{{Name: c.s.User, Owner: c.s.Superuser}}
	for _, u := range c.schema.Users {
		if u.Name != c.s.User {
			list = append(list, u)
		}
	}
	return list
}

func (c *Catalog) roles(w *writer) {
	for i, u := range c.people() {
		w.add(cells{"oid": num(oidOwner + uint32(i)*90), "rolname": str(u.Name), "rolsuper": value.Bool(u.Owner),
			"rolinherit":    yes,
			"rolcreaterole": value.Bool(u.Owner), "rolcreatedb": value.Bool(u.Owner), "rolcanlogin": yes,
			"rolconnlimit": num(-1),
			"rolpassword":  str("********")})
	}
}

func (c *Catalog) users(w *writer) {
	for i, u := range c.people() {
		w.add(cells{"usename": str(u.Name), "usesysid": num(oidOwner + uint32(i)*90),
			"usecreatedb": value.Bool(u.Owner),
			"usesuper":    value.Bool(u.Owner), "passwd": str("********")})
	}
}

func (c *Catalog) descriptions(w *writer) {
	add := func(oid, class uint32, sub int, text string) {
		if text != "" {
			w.add(cells{"objoid": num(oid), "classoid": num(class), "objsubid": num(sub), "description": str(text)})
		}
	}
	for _, t := range c.schema.Tables {
		add(t.OID, classRelation, 0, t.Comment)
		for i, col := range t.Columns {
			add(t.OID, classRelation, i+1, col.Comment)
		}
	}
	for _, f := range c.schema.Functions {
		add(f.OID, classProc, 0, f.Comment)
	}
}

func (c *Catalog) settings(w *writer) {
	for _, s := range c.s.Settings() {
		row := cells{"name": str(s.Name), "setting": str(s.Value), "unit": orNull(s.Unit),
			"category": str(s.Category), "short_desc": str(""),
			"context": str(s.Context), "vartype": str(s.Kind), "source": str("default"), "min_val": orNull(s.Min),
			"max_val":  orNull(s.Max),
			"boot_val": str(s.Boot), "reset_val": str(s.Value), "pending_restart": no}
		if len(s.Choices) > 0 {
			row["enumvals"] = strs(s.Choices)
		}
		w.add(row)
	}
}

func (c *Catalog) languages(w *writer) {
	for _, l := range []struct {
		oid  uint32
		name string
	}{{oidInternal, "internal"}, {13, "c"}, {oidSQL, "sql"}, {oidProduct, "surrealql"}} {
		w.add(cells{"oid": num(l.oid), "lanname": str(l.name), "lanowner": num(oidOwner),
			"lanispl":      value.Bool(l.oid == oidProduct),
			"lanpltrusted": value.Bool(l.oid >= oidSQL)})
	}
}

func (c *Catalog) collations(w *writer) {
	for _, l := range []struct {
		oid            uint32
		name, provider string
		encoding       int
	}{{100, "default", "d", -1}, {950, "C", "c", -1}, {951, "POSIX", "c", -1}} {
		w.add(cells{"oid": num(l.oid), "collname": str(l.name), "collnamespace": num(oidPgCatalog),
			"collowner":    num(oidOwner),
			"collprovider": str(l.provider), "collisdeterministic": yes, "collencoding": num(l.encoding)})
	}
}

func (c *Catalog) tablespaces(w *writer) {
	w.add(cells{"oid": num(1663), "spcname": str("pg_default"), "spcowner": num(oidOwner)})
	w.add(cells{"oid": num(1664), "spcname": str("pg_global"), "spcowner": num(oidOwner)})
}

func timeOf(t time.Time) value.Value {
	if t.IsZero() {
		return value.None
	}
	return value.DatetimeOf(value.Datetime{Secs: t.Unix(), Nanos: uint32(t.Nanosecond()) / 1000 * 1000})
}

func (c *Catalog) activity(w *writer) {
	for _, a := range c.s.Activity() {
		w.add(cells{"pid": num(a.PID), "datname": str(a.Database), "usename": str(a.User),
			"application_name": str(a.Application),
			"client_addr":      orNull(a.Client), "backend_start": timeOf(a.Start), "query_start": timeOf(a.Since),
			"state_change": timeOf(a.Since),
			"state":        str(a.State), "query": str(a.Query), "backend_type": str("client backend"),
			"usesysid": num(oidOwner)})
	}
}

func (c *Catalog) tableStats(w *writer) {
	for _, t := range c.schema.Tables {
		row := cells{"relid": num(t.OID), "schemaname": str(public), "relname": str(t.Name)}
		if c.s.Estimate != nil {
			if n, ok := c.s.Estimate(t.Name); ok {
				row["n_live_tup"] = num(n)
			}
		}
		w.add(row)
	}
}

func (c *Catalog) tables(w *writer) {
	for _, t := range c.schema.Tables {
		if t.View == "" {
			w.add(cells{"schemaname": str(public), "tablename": str(t.Name), "tableowner": str(c.s.User),
				"hasindexes": value.Bool(len(t.Indexes) > 0),
				"hasrules":   no, "hastriggers": no, "rowsecurity": no})
		}
	}
	for _, d := range definitions().list {
		if !d.view {
			w.add(cells{"schemaname": str(d.schema), "tablename": str(d.name), "tableowner": str(c.s.User),
				"hasindexes": no, "hasrules": no,
				"hastriggers": no, "rowsecurity": no})
		}
	}
}

func (c *Catalog) views(w *writer) {
	for _, d := range definitions().list {
		if d.view {
			w.add(cells{"schemaname": str(d.schema), "viewname": str(d.name), "viewowner": str(c.s.User),
				"definition": str("")})
		}
	}
}

func (c *Catalog) indexList(w *writer) {
	for _, t := range c.schema.Tables {
		for _, ix := range t.Indexes {
			w.add(cells{"schemaname": str(public), "tablename": str(t.Name), "indexname": str(ix.Name),
				"indexdef": str(c.indexDef(ix, t))})
		}
	}
}

func (c *Catalog) sequences(w *writer) {
	for _, name := range c.schema.Sequences {
		w.add(cells{"schemaname": str(public), "sequencename": str(name), "sequenceowner": str(c.s.User),
			"data_type":   num(pgtype.Int8),
			"start_value": num(1), "min_value": num(1), "increment_by": num(1), "cycle": no, "cache_size": num(1)})
	}
}

func (c *Catalog) timezones(w *writer) {
	for _, name := range []string{"UTC", "Etc/UTC", "Europe/London", "Europe/Paris", "Europe/Berlin",
		"America/New_York", "America/Los_Angeles",
		"Asia/Tokyo", "Asia/Kolkata", "Australia/Sydney"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			continue
		}
		abbrev, _ := time.Now().In(zone).Zone()
		w.add(cells{"name": str(name), "abbrev": str(abbrev), "is_dst": value.Bool(time.Now().In(zone).IsDST())})
	}
}

func (c *Catalog) ssl(w *writer) {
	w.add(cells{"pid": num(c.s.PID), "ssl": value.Bool(c.s.TLS)})
}

func (c *Catalog) prepared(w *writer) {
	for _, p := range c.s.Prepared() {
		w.add(cells{"name": str(p[0]), "statement": str(p[1]), "from_sql": no})
	}
}

func (c *Catalog) indexes(w *writer) {
	for _, t := range c.schema.Tables {
		for _, ix := range t.Indexes {
			zero := make([]int, len(ix.Columns))
			row := cells{"indexrelid": num(ix.OID), "indrelid": num(t.OID), "indnatts": num(len(ix.Columns)),
				"indnkeyatts": num(len(ix.Columns)),
				"indisunique": value.Bool(ix.Unique), "indisprimary": value.Bool(ix.Primary), "indimmediate": yes,
				"indisvalid": yes,
				"indisready": yes, "indislive": yes, "indkey": ints(ix.Columns), "indcollation": ints(zero),
				"indclass":  ints(zero),
				"indoption": ints(zero)}
			if slices.Contains(ix.Columns, 0) {
				row["indexprs"] = str(strings.Join(ix.Exprs, ", "))
			}
			w.add(row)
		}
	}
}

// proc is a function of pg_proc.
type proc struct {
	oid     uint32
	name    string
	lang    uint32
	ns      uint32
	args    []pgtype.OID
	names   []string
	returns pgtype.OID
	source  string
}

// procedures are the functions of the database and those that read and write the types.
func (c *Catalog) procedures() (out []*proc) {
	for _, f := range c.schema.Functions {
		out = append(out, &proc{f.OID, f.Name, oidProduct, oidPublic, f.Types, f.Args, f.Returns, f.Source})
	}
	list, header := pgtype.All()
	seen := map[string]bool{}
	for _, t := range list {
		for _, kind := range []string{"input", "output", "receive", "send"} {
			id, name := t.Fields[slices.Index(header, kind+"_oid")], t.Fields[slices.Index(header, "typ"+kind)]
			if name == "-" || seen[name] {
				continue
			}
			seen[name] = true
			p := &proc{uint32(typed(pgtype.Oid, id).Int()), name, oidInternal, oidPgCatalog, []pgtype.OID{2275}, nil,
				t.OID, name}
			switch kind {
			case "output":
				p.args, p.returns = []pgtype.OID{t.OID}, 2275
			case "send":
				p.args, p.returns = []pgtype.OID{t.OID}, pgtype.Bytea
			case "receive":
				p.args = []pgtype.OID{2281}
			}
			out = append(out, p)
		}
	}
	return out
}

func (c *Catalog) procs(w *writer) {
	for _, p := range c.proc {
		row := cells{"oid": num(p.oid), "proname": str(p.name), "pronamespace": num(p.ns), "proowner": num(oidOwner),
			"prolang": num(p.lang),
			"procost": value.Float(1), "prokind": str("f"), "provolatile": str("v"), "proparallel": str("u"),
			"pronargs":   num(len(p.args)),
			"prorettype": num(p.returns), "proargtypes": oids(p.args), "prosrc": str(p.source)}
		if len(p.names) > 0 {
			row["proargnames"] = strs(p.names)
		}
		w.add(row)
	}
}

// constraint is a row of pg_constraint.
type constraint struct {
	oid, index, foreign uint32
	name, kind          string
	table               *Table
	cols                []int
	check               string
}

// constraints finds the constraints of a table.
func (c *Catalog) constraints(t *Table, id func(...string) uint32) {
	for _, ix := range t.Indexes {
		if !ix.Unique || slices.Contains(ix.Columns, 0) {
			continue
		}
		kind := "u"
		if ix.Primary {
			kind = "p"
		}
		ix.constr = id("constraint", t.Name, ix.Name)
		c.constr = append(c.constr, &constraint{oid: ix.constr, index: ix.OID, name: ix.Name, kind: kind, table: t,
			cols: ix.Columns})
	}
	for i, col := range t.Columns {
		if ref := c.table(col.Ref); col.Ref != "" && ref != nil {
			name := t.Name + "_" + col.Name
			k := &constraint{oid: id("foreign", t.Name, col.Name), foreign: ref.OID, name: name, kind: "f", table: t,
				cols: []int{i + 1}}
			for _, ix := range ref.Indexes {
				if ix.Primary {
					k.index = ix.OID
				}
			}
			c.constr = append(c.constr, k)
		}
		if col.Check != "" {
			c.constr = append(c.constr, &constraint{oid: id("check", t.Name, col.Name), name: t.Name + "_" +
				col.Name + "_check", kind: "c",
				table: t, cols: []int{i + 1}, check: col.Check})
		}
	}
}

func (c *Catalog) constraintRows(w *writer) {
	for _, k := range c.constr {
		row := cells{"oid": num(k.oid), "conname": str(k.name), "connamespace": num(oidPublic),
			"contype": str(k.kind), "convalidated": yes,
			"conrelid": num(k.table.OID), "conindid": num(k.index), "conislocal": yes, "connoinherit": yes,
			"conkey":      ints(k.cols),
			"conenforced": yes, "confupdtype": str(" "), "confdeltype": str(" "), "confmatchtype": str(" ")}
		if k.kind == "f" {
			row["confrelid"], row["confkey"] = num(k.foreign), ints([]int{1})
			row["confupdtype"], row["confdeltype"], row["confmatchtype"] = str("a"), str("a"), str("s")
			row["conpfeqop"], row["conppeqop"], row["conffeqop"] = ints([]int{98}), ints([]int{98}), ints([]int{98})
		}
		if k.check != "" {
			row["conbin"] = str(k.check)
		}
		w.add(row)
	}
}

// constraintDef is the text of a constraint.
func (c *Catalog) constraintDef(k *constraint) string {
	var cols []string
	for _, n := range k.cols {
		cols = append(cols, sql.QuoteIdent(k.table.Columns[n-1].Name))
	}
	list := "(" + strings.Join(cols, ", ") + ")"
	switch k.kind {
	case "p":
		return "PRIMARY KEY " + list
	case "u":
		return "UNIQUE " + list
	case "f":
		return "FOREIGN KEY " + list + " REFERENCES " + sql.QuoteIdent(c.byOID[k.foreign].Name) + "(id)"
	}
	return "CHECK (" + k.check + ")"
}

// indexDef is the text of an index.
func (c *Catalog) indexDef(ix *Index, t *Table) string {
	def := "CREATE "
	if ix.Unique {
		def += "UNIQUE "
	}
	var cols []string
	for i, n := range ix.Columns {
		if n > 0 {
			cols = append(cols, sql.QuoteIdent(t.Columns[n-1].Name))
		} else {
			cols = append(cols, "("+ix.Exprs[i]+")")
		}
	}
	return def + "INDEX " + sql.QuoteIdent(ix.Name) + " ON public." + sql.QuoteIdent(t.Name) + " USING " + ix.Method +
		" (" + strings.Join(cols, ", ") + ")"
}
