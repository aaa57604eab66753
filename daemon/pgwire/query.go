package pgwire

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/nacredb/nacre/daemon/pgwire/catalog"
	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sql"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/value"
)

// sqlStatement reads a statement of SQL; nil where the text at pos is none. In the dialects of the product only
// queries of the catalogs are.
func (c *conn) sqlStatement(text string, pos int, word string) (*statement, int, error) {
	plain := c.settings.dialect == plainSQL
	if !plain && !queryWords[word] {
		return nil, 0, nil
	}
	if plain && !queryWords[word] && !otherWords[word] {
		return nil, 0, nil
	}
	parsed, end, err := sql.Parse(text, pos)
	if err != nil {
		if plain && (word != "explain" || c.translate(err).Code == sqlstate.FeatureNotSupported) {
			return nil, 0, err
		}
		return nil, 0, nil // the language may have it
	}
	explain, explains := parsed.(*sql.Explain)
	if explains {
		parsed = explain.Stmt
	}
	sel, ok := parsed.(*sql.Select)
	if !plain && (!ok || !ofCatalogs(sel)) {
		return nil, 0, nil
	}
	q := &sqlQuery{parsed: parsed, given: c.settings.paramOIDs, plain: plain}
	st := &statement{text: strings.TrimSpace(text[pos:end]), work: q}
	if explains {
		st.work = &explainQuery{q, explain}
	}
	if c.lateBind {
		return st, end, nil
	}
	err = c.work(st.text, func(ctx context.Context) error {
		p, err := q.bound(ctx, c)
		if err == nil {
			st.params = p.params()
		}
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	return st, end, nil
}

// otherWords begin what may be another statement of SQL.
var otherWords = map[string]bool{"insert": true, "update": true, "delete": true, "truncate": true, "explain": true}

// ofCatalogs reports whether a query reads nothing but catalogs.
func ofCatalogs(s *sql.Select) bool {
	return !slices.ContainsFunc(s.Relations(), func(r [2]string) bool { return !catalog.Known(r[0], r[1]) })
}

// sqlQuery is a statement of SQL.
type sqlQuery struct {
	parsed sql.Statement
	given  []pgtype.OID
	plain  bool     // it was read as plain SQL
	cols   []column // nil: it answers no rows
	joins  bool     // it reads more than one table

	begun bool     // cols and joins are known
	kept  *sqlPlan // bound on the basis known; nil: bind it
	known basis
}

// knowledge identifies the definitions on which the catalog of a connection rests.
type knowledge struct {
	engine engine.Knowledge
	epoch  uint64 // of the connection
}

// knowledge is that of now, in a transaction that of its beginning: it sees the definitions of then.
func (c *conn) knowledge() knowledge {
	if c.tx.tx != nil {
		return knowledge{c.tx.known, c.epoch}
	}
	return knowledge{c.session.Knowledge(), c.epoch}
}

// changed makes the connection forget what it knows of definitions: it may have changed them itself, in a transaction
// that is not committed.
func (c *conn) changed() {
	c.catalog = nil
	c.epoch++
}

// basis identifies the definitions and settings on which a bound statement rests.
type basis struct {
	knowledge
	styled uint64 // counts the settings by which the texts of constants are read
}

func (c *conn) basis() basis { return basis{c.knowledge(), c.styled} }

// sqlPlan is a bound statement.
type sqlPlan struct {
	plan   *sql.Plan    // of a query
	write  *sql.Write   // of another statement
	closed bool         // it reads nothing but tables whose columns are all defined
	writer *tableWriter // of write; nil: it has not run yet

	slots *value.Slots // of the columns that a directScan sends; nil: not needed yet
}

// bind binds the statement to the definitions.
func (q *sqlQuery) bind(ctx context.Context, c *conn) (*sqlPlan, error) {
	env := &sqlEnv{c: c, ctx: ctx, plain: q.plain}
	defer env.end()
	p := &sqlPlan{}
	var err error
	leaves := 1
	if sel, ok := q.parsed.(*sql.Select); ok {
		if p.plan, err = sql.Bind(env, sel, q.given); err == nil {
			leaves = p.plan.Leaves
		}
	} else {
		p.write, err = sql.BindWrite(env, q.parsed, q.given)
		leaves = env.tables
	}
	p.closed = leaves == env.tables && !env.open
	return p, err
}

// bound is the statement bound to the definitions of now: the plan that is kept as long as nothing has changed.
func (q *sqlQuery) bound(ctx context.Context, c *conn) (*sqlPlan, error) {
	if q.kept != nil && q.known == c.basis() {
		return q.kept, nil
	}
	q.kept = nil
	known := c.basis()
	p, err := q.bind(ctx, c)
	if err != nil {
		return nil, err
	}
	cols := p.columns()
	if !q.begun {
		q.begun, q.cols = true, cols
		q.joins = p.plan != nil && p.plan.Stored > 1
	} else if !slices.EqualFunc(cols, q.cols, func(a, b column) bool { return a.name == b.name && a.oid == b.oid }) {
		return nil, sqlstate.New(sqlstate.FeatureNotSupported, "cached plan must not change result type")
	}
	if p.closed {
		q.kept, q.known = p, known
	}
	return p, nil
}

func (p *sqlPlan) columns() []column {
	list := []sql.Column(nil)
	if p.plan != nil {
		list = p.plan.Columns
	} else if list = p.write.Columns; list == nil {
		return nil
	}
	out := make([]column, len(list))
	for i, col := range list {
		out[i] = column{name: col.Name, oid: col.OID, table: col.Table, attr: col.Attr}
	}
	return out
}

func (p *sqlPlan) params() []pgtype.OID {
	if p.plan != nil {
		return p.plan.Params
	}
	return p.write.Params
}

func (q *sqlQuery) columns(*conn) ([]column, bool, bool, error) {
	return q.cols, q.cols != nil, true, nil
}

func (q *sqlQuery) run(ctx context.Context, c *conn, k *call) (string, error) {
	if !q.begun {
		p, err := q.bound(ctx, c)
		if err != nil {
			return "", err
		}
		if n := len(p.params()); n > len(k.args) {
			return "", noParameter(len(k.args) + 1)
		}
	}
	_, reads := q.parsed.(*sql.Select)
	switch {
	case reads && !q.joins || c.tx.block:
		return q.perform(ctx, c, k)
	case reads:
		return q.together(ctx, c, k)
	}
	single, err := q.single(ctx, c, k)
	if err != nil {
		return "", err
	}
	if single {
		return q.perform(ctx, c, k)
	}
	return q.repeated(ctx, c, k)
}

// single reports whether a write is one statement of the language, which is a transaction by itself.
func (q *sqlQuery) single(ctx context.Context, c *conn, k *call) (bool, error) {
	p, err := q.bound(ctx, c)
	if err != nil {
		return false, err
	}
	return p.write.Single(ctx, k.args), nil
}

// repeated runs a write of several statements of the language in one transaction, again where it meets another one. The
// rows of RETURNING wait for the commit: the next run may give other ones.
func (q *sqlQuery) repeated(ctx context.Context, c *conn, k *call) (tag string, err error) {
	var b *buffer
	known := c.session.Knowledge()
	err = c.session.Transact(ctx, func(tx *engine.Tx) error {
		if b != nil {
			b.drop()
		}
		b = &buffer{c: c}
		c.tx.tx, c.tx.known = tx, known
		defer func() { c.tx.tx, known = nil, c.session.Knowledge() }()
		var err error
		tag, err = q.perform(ctx, c, &call{args: k.args, json: k.json, out: b})
		return err
	})
	if b != nil {
		defer b.drop()
	}
	if err != nil {
		return "", err
	}
	return tag, b.replay(k.out)
}

// together runs a query in one transaction.
func (q *sqlQuery) together(ctx context.Context, c *conn, k *call) (string, error) {
	known := c.session.Knowledge()
	tx, err := c.session.BeginReading(ctx)
	if err != nil {
		return "", err
	}
	c.tx.tx, c.tx.known = tx, known
	tag, err := q.perform(ctx, c, k)
	c.tx.tx = nil
	return tag, errors.Join(err, tx.Cancel(context.WithoutCancel(ctx)))
}

// perform binds the statement to what there is now, and runs it.
func (q *sqlQuery) perform(ctx context.Context, c *conn, k *call) (string, error) {
	p, err := q.bound(ctx, c)
	if err != nil {
		return "", err
	}
	env := &sqlEnv{c: c, ctx: ctx, plain: q.plain}
	defer env.end()
	c.env, c.style.Reg = env, c.regName
	defer func() { c.env, c.style.Reg = nil, nil }()
	if q.cols != nil {
		if err := k.out.begin(q.cols); err != nil {
			return "", err
		}
	}
	n, tag := 0, ""
	err = c.srv.RPC.Watched(ctx, c.session, c.runningText(), func() (int, error) {
		var err error
		tag, n, err = p.run(ctx, env, k)
		return n, err
	})
	if err != nil {
		return "", err
	}
	if strings.HasSuffix(tag, " ") {
		tag += itoa(n)
	}
	return tag, nil
}

// run runs the statement. It gives its tag but for n, which is how many rows it answered or changed.
func (p *sqlPlan) run(ctx context.Context, env *sqlEnv, k *call) (tag string, n int, err error) {
	d, err := p.direct(ctx, env, k)
	switch {
	case err != nil:
		return "", 0, err
	case d != nil:
		err = d.run(ctx)
		return "SELECT ", d.n, err
	case p.plan != nil:
		n, err = p.rows(ctx, env, k)
		return "SELECT ", n, err
	}
	if p.writer == nil {
		p.writer = &tableWriter{c: env.c, blind: p.write.Blind()}
	}
	p.writer.ctx = ctx
	return p.write.Run(ctx, env, p.writer, k.args, k.out.row)
}

// rows hands on the rows of a query, n of them.
func (p *sqlPlan) rows(ctx context.Context, env *sqlEnv, k *call) (n int, err error) {
	err = p.plan.Run(ctx, env, k.args, func(row []value.Value) error {
		n++
		return k.out.row(row)
	})
	return n, err
}

func (c *conn) runningText() string {
	c.rmu.Lock()
	defer c.rmu.Unlock()
	return c.text
}

// sqlEnv is the environment in which a statement of SQL is bound and run.
type sqlEnv struct {
	c      *conn
	ctx    context.Context
	plain  bool // the tables of the product are relations
	held   int
	tables int  // how many tables were found
	open   bool // one of them has columns that no definition names
}

// sampleAge is how long a connection believes what it has seen of the fields of records that no definition names.
const sampleAge = time.Second

// current is the catalog as far as it is true by now; nil where it must be made anew.
func (c *conn) current() *catalog.Catalog {
	if c.catalog == nil || c.catalogOf != c.knowledge() || c.catalogOpen && time.Since(c.catalogRead) >= sampleAge {
		return nil
	}
	return c.catalog
}

// end gives back what the statement held.
func (e *sqlEnv) end() {
	e.c.mem.Release(e.held)
	e.c.mem.Shrink()
	e.held = 0
}

// light answers questions about the session alone.
func (e *sqlEnv) light() *catalog.Catalog {
	if cat := e.c.current(); cat != nil {
		return cat
	}
	ns, db := e.c.session.Place()
	return catalog.New(&catalog.Schema{Database: ns + "/" + db}, e.c.looker())
}

// full is the catalogs of the database.
func (e *sqlEnv) full() (*catalog.Catalog, error) {
	if cat := e.c.current(); cat != nil {
		return cat, nil
	}
	e.c.catalogOf, e.c.catalogRead = e.c.knowledge(), time.Now()
	schema, err := e.c.readSchema(e.ctx)
	if err != nil {
		return nil, err
	}
	e.c.schema, e.c.catalog = schema, catalog.New(schema, e.c.looker())
	e.c.catalogOpen = slices.ContainsFunc(schema.Tables, func(t *catalog.Table) bool { return t.Open })
	return e.c.catalog, nil
}

// Relation implements sql.Env: a catalog, or in plain SQL a table.
func (e *sqlEnv) Relation(schema, name string) (sql.Relation, error) {
	cat, err := e.full()
	if err != nil {
		return nil, err
	}
	if r := cat.Relation(schema, name); r != nil {
		return r, nil
	}
	if schema != "" && schema != publicSchema || !e.plain {
		return nil, nil
	}
	for _, t := range e.c.schema.Tables {
		if t.Name == name {
			e.tables++
			e.open = e.open || t.Open
			return newTableRelation(e.c, t), nil
		}
	}
	return nil, nil
}

// sessionFunctions need nothing of the definitions.
func sessionFunction(name string) bool {
	return !strings.HasPrefix(name, "pg_get_") && !strings.HasPrefix(name, "to_reg") && !strings.HasSuffix(name,
		"_description") ||
		name == "pg_get_keywords"
}

// Function implements sql.Env.
func (e *sqlEnv) Function(name string) *sql.Function {
	if sessionFunction(name) {
		return e.light().Function(name)
	}
	cat, err := e.full()
	if err != nil {
		return nil
	}
	return cat.Function(name)
}

// Object implements sql.Env.
func (e *sqlEnv) Object(oid pgtype.OID, name string) (int64, error) {
	cat, err := e.full()
	if err != nil {
		return 0, err
	}
	return cat.Object(oid, name)
}

// ObjectName implements sql.Env.
func (e *sqlEnv) ObjectName(oid pgtype.OID, id int64) string {
	cat, err := e.full()
	if err != nil {
		return value.Int(id).Text()
	}
	return cat.ObjectName(oid, id)
}

// Style implements sql.Env.
func (e *sqlEnv) Style() *pgtype.Style { return &e.c.style }

// Charge implements sql.Env.
func (e *sqlEnv) Charge(n int) error {
	if err := e.c.mem.Take(n); err != nil {
		return err
	}
	e.held += n
	return nil
}

// Poll implements sql.Env.
func (e *sqlEnv) Poll(ctx context.Context) error { return ctx.Err() }

// looker is the connection as the catalogs see it.
func (c *conn) looker() *catalog.Session {
	p := c.session.Principal()
	s := &catalog.Session{User: c.user, PID: c.pid, Client: c.client, TLS: c.secured, Start: c.srv.start,
		Superuser: p.IsOwner(), ReadOnly: !p.MayImport(),
		Version: "PostgreSQL " + serverVersion + " (nacre " + c.srv.Version + ") on " + runtime.GOARCH + "-" +
			runtime.GOOS + ", compiled by " +
			runtime.Version() + ", 64-bit"}
	s.Setting = func(name string) (string, bool) {
		v, err := c.settings.get(name)
		return v, err == nil
	}
	s.SetSetting = c.settings.set
	s.Settings = func() (out []catalog.Setting) {
		for _, row := range knownSettings().list {
			v, err := c.settings.get(row.name)
			if err != nil {
				continue
			}
			out = append(out, catalog.Setting{Name: row.name, Value: v, Unit: row.unit, Category: row.category,
				Context: row.context,
				Kind:    row.kind, Min: row.low, Max: row.high, Boot: row.boot, Choices: row.choices})
		}
		return out
	}
	s.Activity = c.activity
	s.Channels = func() []string { return c.srv.notices.of(c) }
	s.Notify = c.notify
	s.Cancel = c.cancelOther
	s.Prepared = func() (out [][2]string) {
		for name, p := range c.statements {
			if name != "" {
				out = append(out, [2]string{name, p.text})
			}
		}
		slices.SortFunc(out, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
		return out
	}
	return s
}

// activity lists the connections. SECURITY: those of other users are shown to owners of the root alone, and others see
// only their own.
func (c *conn) activity() (out []catalog.Activity) {
	ns, db := c.session.Place()
	for _, o := range c.srv.list() {
		if o != c && !c.oversees() {
			continue
		}
		a := catalog.Activity{PID: o.pid, User: o.user, Client: o.client, Start: o.began, State: "idle"}
		var active bool
		if a.Query, a.Since, active = o.idleSince(); active {
			a.State = "active"
		}
		if a.Database = ns + "/" + db; o != c {
			ons, odb := o.session.Place()
			a.Database = ons + "/" + odb
		}
		if o == c {
			a.Application, _ = c.settings.get("application_name")
		}
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b catalog.Activity) int { return int(a.PID) - int(b.PID) })
	return out
}

// oversees reports whether the user owns the server.
func (c *conn) oversees() bool {
	p := c.session.Principal()
	return p.IsRootOwner()
}

// cancelOther stops the statement of a connection, or ends it. An owner of the root may do that to all, others to
// theirs.
func (c *conn) cancelOther(pid uint32, end bool) bool {
	o := c.srv.find(pid)
	if o == nil || o != c && !c.oversees() {
		return false
	}
	if end {
		o.interrupt(errShutdown)
		return true
	}
	o.interrupt(errUserCancel)
	return true
}

// databases are the names of the databases of the namespace in use.
func (c *conn) databases(ctx context.Context) ([]string, error) {
	res, err := c.session.Execute(ctx, "INFO FOR NS", nil)
	if err != nil {
		return nil, err
	}
	if res[0].Err != nil {
		return nil, res[0].Err
	}
	dbs, _ := res[0].Value.Object().Get("databases")
	if dbs.IsNullish() {
		return nil, nil
	}
	var names []string
	for _, f := range dbs.Object().Fields() {
		names = append(names, f.Name)
	}
	return names, nil
}
