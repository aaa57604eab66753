package sql

import (
	"context"
	"slices"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// Writer changes the rows of tables. The rows that it gives may be without values where the Write is Blind.
type Writer interface {
	// Begin makes relations show what they show now, until end: what the Writer changes is not read, but by a Scan Now.
	Begin() (end func(), err error)
	// Insert makes a row of the named columns. Where a row with the same values of a unique key is there already, and
	// key is not empty, it answers conflict: without an error if key is the name of that one or AnyKey. made is nil
	// where permissions let nothing be made, or be seen of it.
	Insert(table string, cols []string, row []value.Value, key string) (made []value.Value, conflict bool,
		err error)
	// Update sets columns of the row of an id. changed is nil where permissions let nothing be changed, or be seen
	// of it.
	Update(table string, id value.Value, cols []string, row []value.Value) (changed []value.Value, err error)
	// Delete drops the row of an id, and reports whether permissions let it.
	Delete(table string, id value.Value) (bool, error)
	// Empty drops all rows that permissions let it.
	Empty(table string) error
}

// AnyKey stands for all unique keys of a table.
const AnyKey = "*"

// UniqueKey is columns whose values no two rows of a table share.
type UniqueKey struct {
	Name    string // of the constraint
	Columns []string
}

// Unique is a relation that has unique keys; its first column is one.
type Unique interface {
	UniqueKeys() []UniqueKey
	// Named is the whole id of the row that an id names.
	Named(id value.Value) (value.Value, error)
}

// Keyed is a relation that knows its rows by their ids.
type Keyed interface {
	// Keyed reports whether id is the text of the id of a row that may be there: an Update or Delete of its Writer
	// finds the same row as a scan by it.
	Keyed(id value.Value) bool
}

// Write is a bound INSERT, UPDATE or DELETE.
type Write struct {
	Columns []Column // of RETURNING; nil: none
	Params  []pgtype.OID
	makes   bool   // it makes one row and reads none
	looks   bool   // it looks at the rows that its Writer gives
	queries bool   // it has queries inside of expressions, which do not see what it changes
	key     *bound // the id of the only row that it changes, without a look at its values; nil: it reads rows
	rel     Relation
	run     func(rt *runtime, w Writer, yield func([]value.Value) error) (int, error)
	tag     string
	explain func(rt *runtime) (*Step, error)
}

// BindWrite binds a statement that changes a table.
func BindWrite(env Env, stmt Statement, given []pgtype.OID) (*Write, error) {
	b := &binder{env: env, given: given}
	var w *Write
	var err error
	switch s := stmt.(type) {
	case *Insert:
		w, err = b.insert(s)
	case *Update:
		w, err = b.update(s)
	case *Delete:
		w, err = b.delete(s)
	case *Truncate:
		w, err = b.truncate(s)
	default:
		return nil, sqlstate.New(sqlstate.FeatureNotSupported, "this statement is not supported")
	}
	if err != nil {
		return nil, err
	}
	for i, oid := range b.params {
		if oid == 0 {
			b.params[i] = pgtype.Text
		}
	}
	w.Params, w.queries = b.params, b.subs > 0
	return w, nil
}

// Run does it. n is how many rows were changed; it belongs behind a tag that ends with a blank.
func (w *Write) Run(ctx context.Context, env Env, to Writer, params []value.Value,
	yield func([]value.Value) error) (tag string, n int, err error) {
	if w.queries {
		end, err := to.Begin()
		if err != nil {
			return "", 0, err
		}
		defer end()
	}
	n, err = w.run(newRuntime(ctx, env, params), to, yield)
	return w.tag, n, err
}

// Blind reports whether a run does not look at the values of the rows that its Writer gives.
func (w *Write) Blind() bool { return w.Columns == nil && !w.looks }

// Single reports whether one change of its Writer is all that a run with these parameters does.
func (w *Write) Single(ctx context.Context, params []value.Value) bool {
	if w.makes {
		return true
	}
	_, ok := w.keyed(newRuntime(ctx, nil, params)) // constants and parameters need no environment
	return ok
}

// keyed is the id of the row that a run changes without reading it.
func (w *Write) keyed(rt *runtime) (id value.Value, ok bool) {
	if w.key == nil {
		return value.None, false
	}
	id, err := w.key.eval(&scope{rt: rt})
	if err != nil || id.Kind() != value.KindString {
		return value.None, false
	}
	k, ok := w.rel.(Keyed)
	return id, ok && k.Keyed(id)
}

// byID makes the write one of the row with the id that its conditions ask for, where they ask for nothing else and the
// values need nothing of the row. The id is a parameter or a constant: it is the same whenever it is looked at.
func (w *Write) byID(src *source, rest, values []*bound) {
	if src.l != nil || len(rest) > 0 || len(src.conds) != 1 {
		return
	}
	c := src.conds[0].compares
	if c == nil || c.op != "=" || c.col != src.at || !c.with.fixed {
		return
	}
	for _, v := range values {
		if len(v.cols) > 0 {
			return
		}
	}
	w.key, w.rel = c.with, src.rel
}

// target binds the table of a write. Only tables with an id can be written.
func (b *binder) target(t *tableRef) (*source, *names, Relation, error) {
	ns := &names{where: "WHERE"}
	src, err := b.table(t, ns)
	if err != nil {
		return nil, nil, nil, err
	}
	if src.rel == nil || len(ns.cols) == 0 || ns.cols[0].name != "id" {
		return nil, nil, nil, sqlstate.New(sqlstate.WrongObject, "%q is not a table that can be written", t.name)
	}
	ns.cols[0].use() // the row is found by it
	return src, ns, src.rel, nil
}

// returning binds RETURNING.
func (b *binder) returning(items []item, ns *names) ([]Column, []*bound, error) {
	if items == nil {
		return nil, nil, nil
	}
	list, err := b.expand(items, ns)
	if err != nil {
		return nil, nil, err
	}
	cols, outs := []Column{}, []*bound{}
	for _, it := range list {
		x, err := b.expr(it.x, &names{cols: ns.cols, where: "RETURNING"})
		if err != nil {
			return nil, nil, err
		}
		if x.oid == pgtype.Unknown {
			if x, err = b.coerce(x, pgtype.Text); err != nil {
				return nil, nil, err
			}
		}
		cols, outs = append(cols, b.outputColumn(it, x, ns)), append(outs, x)
	}
	return cols, outs, nil
}

// columnOf finds a column to write.
func columnOf(rel Relation, name string) (*Column, error) {
	cols := rel.Columns()
	for i := range cols {
		if cols[i].Name == name {
			return &cols[i], nil
		}
	}
	return nil, sqlstate.New(sqlstate.UndefinedColumn, "column %q does not exist", name)
}

// found are the rows of src that meet where; they are kept, so that a write does not meet what it has written.
func found(rt *runtime, src *source, width int, conds []*bound) (list []*scope, err error) {
	at := &scope{rt: rt, row: make([]value.Value, width)}
	err = src.run(rt, at, func(s *scope) error {
		ok, err := all(conds, s)
		if err != nil || !ok {
			return err
		}
		list = append(list, s)
		return rt.hold(s.row)
	})
	return list, err
}

// where binds the condition of a write.
func (b *binder) where(x Expr, src *source, ns *names) (rest []*bound, err error) {
	if x == nil {
		return nil, nil
	}
	for _, c := range conjuncts(x) {
		e, err := b.condition(c, ns)
		if err != nil {
			return nil, err
		}
		if !src.push(e) {
			rest = append(rest, e)
		}
	}
	return rest, nil
}

// give hands a changed row to yield by RETURNING.
func give(rt *runtime, outs []*bound, row []value.Value, yield func([]value.Value) error) error {
	if outs == nil {
		return nil
	}
	out, err := evalAll(outs, &scope{rt: rt, row: row})
	if err != nil {
		return err
	}
	return yield(out)
}

// before binds WITH in front of a write, whose table is none of it.
func (b *binder) before(with withList) error {
	for i := range with.list {
		if err := b.with(&with.list[i], with.recursive, nil); err != nil {
			return err
		}
	}
	return nil
}

// joined binds the tables that a write is to be joined with; where there are none it gives src. They do not see the
// columns of the table that is written, which come first.
func (b *binder) joined(src *source, ns *names, with withList, list []fromItem) (*source, error) {
	if err := b.before(with); err != nil || list == nil {
		return src, err
	}
	own := slices.Clone(ns.cols)
	clear(ns.cols)
	from, err := b.from(list, ns)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(ns.cols[len(own):], func(c colBind) bool { return c.table == own[0].table }) {
		return nil, sqlstate.New("42712", "table name %q specified more than once", own[0].table)
	}
	copy(ns.cols, own)
	return &source{at: src.at, n: src.n + from.n, kind: "cross", l: from, r: src}, nil
}

// writes are the rows that a write finds, each once, with the columns of what it is joined with.
type writes struct {
	w     *Write
	src   *source
	width int
	conds []*bound
	sets  []*bound // what an UPDATE assigns
	outs  []*bound // of RETURNING
}

// each hands the rows to change, with the values of sets. It gives what RETURNING sees of the table; nil: it was not
// changed. It counts those that were.
func (ws *writes) each(rt *runtime, yield func([]value.Value) error,
	change func(s *scope, sets []value.Value) ([]value.Value, error)) (int, error) {
	joined := ws.src.l != nil
	one := func(s *scope, sets []value.Value) (int, error) {
		row, err := change(s, sets)
		if row == nil || err != nil {
			return 0, err
		}
		if joined && ws.outs != nil {
			row = append(slices.Clone(row), s.row[len(row):]...)
		}
		return 1, give(rt, ws.outs, row, yield)
	}
	if id, ok := ws.w.keyed(rt); ok {
		s := &scope{rt: rt, row: []value.Value{id}}
		sets, err := evalAll(ws.sets, s)
		if err != nil {
			return 0, err
		}
		return one(s, sets)
	}
	list, err := found(rt, ws.src, ws.width, ws.conds)
	if err != nil {
		return 0, err
	}
	if joined {
		seen := map[string]bool{}
		list = slices.DeleteFunc(list, func(s *scope) bool {
			id := string(appendKey(nil, s.row[0]))
			again := seen[id]
			seen[id] = true
			return again
		})
	}
	count := 0
	for _, s := range list {
		sets, err := evalAll(ws.sets, s)
		if err != nil {
			return 0, err
		}
		n, err := one(s, sets)
		if err != nil {
			return 0, err
		}
		count += n
	}
	return count, nil
}

// writeTo binds what UPDATE and DELETE have in common.
func (b *binder) writeTo(t *tableRef, with withList, list []fromItem, where Expr) (*writes, *names, Relation, error) {
	src, ns, rel, err := b.target(t)
	if err != nil {
		return nil, nil, nil, err
	}
	if src, err = b.joined(src, ns, with, list); err != nil {
		return nil, nil, nil, err
	}
	conds, err := b.where(where, src, ns)
	if err != nil {
		return nil, nil, nil, err
	}
	return &writes{w: &Write{}, src: src, width: len(ns.cols), conds: conds}, ns, rel, nil
}

func (b *binder) update(u *Update) (*Write, error) {
	ws, ns, rel, err := b.writeTo(u.Table, u.with, u.From, u.Where)
	if err != nil {
		return nil, err
	}
	cols, values, err := b.sets(u.Set, rel, ns)
	if err != nil {
		return nil, err
	}
	ws.sets = values
	w := ws.w
	w.tag, w.explain = "UPDATE ", over("Update on "+u.Table.name, ws.src.explained(ws.width))
	if w.Columns, ws.outs, err = b.returning(u.Returning, ns); err != nil {
		return nil, err
	}
	if b.leaves == 1 && b.subs == 0 {
		w.byID(ws.src, ws.conds, values)
	}
	w.run = func(rt *runtime, to Writer, yield func([]value.Value) error) (int, error) {
		return ws.each(rt, yield, func(s *scope, sets []value.Value) ([]value.Value, error) {
			return to.Update(u.Table.name, s.row[0], cols, sets)
		})
	}
	return w, nil
}

func (b *binder) delete(d *Delete) (*Write, error) {
	ws, ns, rel, err := b.writeTo(d.Table, d.with, d.Using, d.Where)
	if err != nil {
		return nil, err
	}
	w := ws.w
	w.tag, w.explain = "DELETE ", over("Delete on "+d.Table.name, ws.src.explained(ws.width))
	if w.Columns, ws.outs, err = b.returning(d.Returning, ns); err != nil {
		return nil, err
	}
	if ws.outs == nil && b.leaves == 1 && b.subs == 0 {
		w.byID(ws.src, ws.conds, nil)
	}
	n := len(rel.Columns())
	w.run = func(rt *runtime, to Writer, yield func([]value.Value) error) (int, error) {
		return ws.each(rt, yield, func(s *scope, _ []value.Value) ([]value.Value, error) {
			ok, err := to.Delete(d.Table.name, s.row[0])
			if !ok || err != nil {
				return nil, err
			}
			return s.row[:min(n, len(s.row))], nil
		})
	}
	return w, nil
}

func (b *binder) truncate(t *Truncate) (*Write, error) {
	for _, table := range t.Tables {
		if _, _, _, err := b.target(table); err != nil {
			return nil, err
		}
	}
	w := &Write{tag: "TRUNCATE TABLE"}
	w.run = func(_ *runtime, to Writer, _ func([]value.Value) error) (int, error) {
		for _, table := range t.Tables {
			if err := to.Empty(table.name); err != nil {
				return 0, err
			}
		}
		return 0, nil
	}
	return w, nil
}

func (b *binder) insert(in *Insert) (*Write, error) {
	_, ns, rel, err := b.target(in.Table)
	if err != nil {
		return nil, err
	}
	cols := in.Columns
	if cols == nil {
		for _, c := range rel.Columns() {
			cols = append(cols, c.Name)
		}
	}
	if err := b.before(in.with); err != nil {
		return nil, err
	}
	q, n, err := b.inserted(in, rel, cols)
	if err != nil {
		return nil, err
	}
	cols = cols[:n]
	w := &Write{tag: "INSERT 0 ", explain: over("Insert on "+in.Table.name, q.explain)}
	var outs []*bound
	if w.Columns, outs, err = b.returning(in.Returning, ns); err != nil {
		return nil, err
	}
	up := &upsert{table: in.Table.name, rel: rel, cols: cols}
	if in.Conflict != nil {
		if err := b.onConflict(up, in.Conflict, ns); err != nil {
			return nil, err
		}
	}
	one := in.Source == nil || len(in.Source.values) == 1
	w.makes = in.Conflict == nil && b.leaves == 1 && b.subs == 0 && in.Source != nil && one
	w.looks = up.sets != nil && !one
	w.run = func(rt *runtime, to Writer, yield func([]value.Value) error) (int, error) {
		count := 0
		var own touched
		if w.looks {
			own = touched{}
		}
		each := func(row []value.Value) error {
			made, err := up.insert(rt, to, row, own)
			if made == nil || err != nil {
				return err
			}
			count++
			return give(rt, outs, made, yield)
		}
		if w.makes {
			err := q.run(rt, nil, each)
			return count, err
		}
		rows, err := q.rows(rt, nil)
		for i := 0; i < len(rows) && err == nil; i++ {
			err = each(rows[i])
		}
		return count, err
	}
	return w, nil
}

// inserted binds the rows of an INSERT: literals and parameters take the types of their columns.
func (b *binder) inserted(in *Insert, rel Relation, cols []string) (*query, int, error) {
	oids := make([]pgtype.OID, len(cols))
	for i, name := range cols {
		col, err := columnOf(rel, name)
		if err != nil {
			return nil, 0, err
		}
		oids[i] = col.OID
	}
	if in.Source == nil {
		return &query{explain: simply("Result"),
			run: func(_ *runtime, _ *scope, yield func([]value.Value) error) error { return yield(nil) }}, 0, nil
	}
	if in.Source.values == nil || len(in.Source.with) > 0 || len(in.Source.order) > 0 || in.Source.limit != nil {
		q, err := b.query(in.Source, nil)
		if err != nil {
			return nil, 0, err
		}
		if len(q.cols) > len(cols) {
			return nil, 0, sqlstate.New(sqlstate.SyntaxError, "INSERT has more expressions than target columns")
		}
		want := make([]Column, len(q.cols))
		for i := range q.cols {
			want[i] = Column{Name: cols[i], OID: oids[i]}
			if err := assignable(cols[i], oids[i], q.cols[i].OID); err != nil {
				return nil, 0, err
			}
		}
		out := converted(q, want)
		out.cols = want
		return out, len(want), nil
	}
	n := len(in.Source.values[0])
	if n > len(cols) {
		return nil, 0, sqlstate.New(sqlstate.SyntaxError, "INSERT has more expressions than target columns")
	}
	var list [][]*bound
	for _, row := range in.Source.values {
		if len(row) != n {
			return nil, 0, sqlstate.New(sqlstate.SyntaxError, "VALUES lists must all be the same length")
		}
		var out []*bound
		for i, x := range row {
			e := constant(value.None, oids[i])
			if x != nil {
				var err error
				if e, err = b.expr(x, &names{where: "VALUES"}); err == nil {
					e, err = b.assign(e, cols[i], oids[i])
				}
				if err != nil {
					return nil, 0, err
				}
			}
			out = append(out, e)
		}
		list = append(list, out)
	}
	q := &query{cols: make([]Column, n), explain: simply("Values Scan")}
	q.run = func(rt *runtime, outer *scope, yield func([]value.Value) error) error {
		at := &scope{rt: rt, outer: outer}
		for _, row := range list {
			out, err := evalAll(row, at)
			if err != nil {
				return err
			}
			if err := yield(out); err != nil {
				return err
			}
		}
		return nil
	}
	return q, n, nil
}
