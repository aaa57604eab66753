package pgwire

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nacredb/nacre/daemon/pgwire/catalog"
	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sql"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/parse"
	"github.com/nacredb/nacre/engine/value"
)

// tableRelation is a table of the product as a relation of SQL. It is read by a SELECT of the language: the planner
// of the engine chooses an index for the filters, and the records come through its gate.
type tableRelation struct {
	c    *conn
	t    *catalog.Table
	cols []sql.Column
}

func newTableRelation(c *conn, t *catalog.Table) *tableRelation {
	r := &tableRelation{c: c, t: t}
	for i, col := range t.Columns {
		out := sql.Column{Name: col.Name, OID: col.OID, Table: t.OID, Attr: int16(i + 1)}
		switch {
		case i == 0:
			out.Spell = func(text string) string { return spellID(t.Name, text) }
		case col.Ref != "":
			out.Spell = func(text string) string { return spellID(col.Ref, text) }
		}
		r.cols = append(r.cols, out)
	}
	return r
}

// Columns implements sql.Relation.
func (r *tableRelation) Columns() []sql.Column { return r.cols }

// Exclusive implements sql.Relation: a transaction runs one statement at a time.
func (*tableRelation) Exclusive() bool { return true }

// Scan implements sql.Relation.
func (r *tableRelation) Scan(ctx context.Context, s *sql.Scan, yield func([]value.Value) error) error {
	switch {
	case !r.limits(s):
		_, err := r.stream(ctx, s, everyRow, 0, yield)
		return err
	case len(s.Order) == 0:
		_, err := r.stream(ctx, s, everyRow, s.Most, yield)
		return err
	}
	first, then := valueRows, noValueRows
	if s.Order[0].NullsFirst {
		first, then = then, first
	}
	n, err := r.stream(ctx, s, first, s.Most, yield)
	if err == nil && n < s.Most {
		_, err = r.stream(ctx, s, then, s.Most-n, yield)
	}
	return err
}

// part is a part of the rows of a scan: all, or those that have a value in the column that orders them, or not. The
// language has its own place for what is no value, and SQL another one.
type part uint8

const (
	everyRow part = iota
	valueRows
	noValueRows
)

// stream hands the rows of one part to yield, at most most of them where that is not 0.
func (r *tableRelation) stream(ctx context.Context, s *sql.Scan, of part, most int64,
	yield func([]value.Value) error) (int64, error) {
	text, vars := r.query(s, of, most, false)
	out := &scanRows{r: r, s: s, yield: yield}
	err := r.run(ctx, text, vars, s.Now, out.take)
	return out.n, err
}

// run runs a SELECT in the transaction of the connection, where there is one. now is that of a Scan. take gets its rows
// as they come.
func (r *tableRelation) run(ctx context.Context, text string, vars *value.Object, now bool,
	take func([]value.Value) error) error {
	out := &rowSink{take: take}
	var err error
	switch tx := &r.c.tx; {
	case tx.tx == nil:
		err = r.c.session.Stream(ctx, text, vars, out)
	case tx.before == nil || now:
		err = tx.tx.Stream(ctx, text, vars, out)
	default:
		err = tx.tx.StreamAt(ctx, tx.before, text, vars, out)
	}
	if err != nil {
		return err
	}
	return out.failed
}

// limits reports whether the engine can order and cut the rows of a scan.
func (r *tableRelation) limits(s *sql.Scan) bool {
	ordered := len(s.Order) == 0 || len(s.Order) == 1 && r.ordered(s.Order[0])
	return s.Most > 0 && ordered && r.exact(s.Filters)
}

// query is the SELECT of the language that gives the rows of a part of a scan, cut and ordered where most is not 0.
// exact: it gives no row that a filter drops. The engine keeps the plan of its text.
func (r *tableRelation) query(s *sql.Scan, of part, most int64, exact bool) (string, *value.Object) {
	text := append(make([]byte, 0, 128), "SELECT "...)
	text = append(r.appendFields(text, s.Columns), " FROM "...)
	vars := make([]value.Field, 0, len(s.Filters))
	key := r.key(s.Filters)
	if key.IsNone() {
		text = append(text, value.QuoteIdent(r.t.Name)...)
	} else {
		text = append(text, "$_key"...)
		vars = append(vars, value.Field{Name: "_key", Value: key})
	}
	n := 0
	filter := func(column int, op string, v value.Value) {
		text = append(text, [...]string{" WHERE ", " AND "}[min(n, 1)]...)
		name := filterNames[min(n, len(filterNames)-1)]
		if n >= len(filterNames) {
			name = "_f" + itoa(n)
		}
		text = append(text, value.QuoteIdent(r.cols[column].Name)...)
		text = append(append(append(text, ' '), op...), " $"...)
		text = append(text, name...)
		vars = append(vars, value.Field{Name: name, Value: v})
		n++
	}
	for i := range s.Filters {
		f := &s.Filters[i]
		if v, same := r.inLanguage(f); same {
			filter(f.Column, f.Op, v)
			if (exact || most > 0) && f.Op[0] == '<' && !bounded(s.Filters, f.Column) {
				filter(f.Column, ">=", leastOf[r.cols[f.Column].OID])
			}
		}
	}
	switch column := r.orderColumn(s); {
	case of == noValueRows:
		filter(column, "<", leastOf[r.cols[column].OID])
	case of == valueRows && !bounded(s.Filters, column):
		filter(column, ">=", leastOf[r.cols[column].OID])
	}
	if most > 0 {
		if of == valueRows {
			text = append(append(text, " ORDER BY "...), value.QuoteIdent(r.cols[s.Order[0].Column].Name)...)
			if s.Order[0].Desc {
				text = append(text, " DESC"...)
			}
		}
		text = append(text, " LIMIT $_most"...)
		vars = append(vars, value.Field{Name: "_most", Value: value.Int(most)})
	}
	return string(text), value.NewObject(vars...)
}

// orderColumn is the column that orders a scan, 0 where none does.
func (r *tableRelation) orderColumn(s *sql.Scan) int {
	if len(s.Order) == 0 {
		return 0
	}
	return s.Order[0].Column
}

// leastOf are the least values of the types of columns. What is less in the order of the language is NONE, NULL, or a
// value of another type: old records may have those, also under a newer type of the field.
var leastOf = map[pgtype.OID]value.Value{pgtype.Int8: value.Int(math.MinInt64), pgtype.Text: value.Str(""),
	pgtype.Timestamptz: value.DatetimeOf(value.MinDatetime)}

// bounded reports whether filters let no row pass without a value in a column.
func bounded(filters []sql.Filter, column int) bool {
	return slices.ContainsFunc(filters, func(f sql.Filter) bool { return f.Column == column && f.Op[0] != '<' })
}

var filterNames = [...]string{"_f0", "_f1", "_f2", "_f3"}

// appendFields appends the projection that has the columns of a scan. Whole records cost least, for they are not made
// anew; computed fields that the query does not use are left out.
func (r *tableRelation) appendFields(text []byte, wanted []bool) []byte {
	whole := true
	for i, col := range r.t.Columns {
		whole = whole && (!col.Computed || wanted == nil || wanted[i])
	}
	if whole {
		return append(text, '*')
	}
	text = append(text, "id"...)
	for i, col := range r.cols {
		if i > 0 && wanted[i] {
			text = append(append(text, ", "...), value.QuoteIdent(col.Name)...)
		}
	}
	return text
}

// key is the record that an equality of the id names, NONE where there is none.
func (r *tableRelation) key(filters []sql.Filter) value.Value {
	for i := range filters {
		f := &filters[i]
		if f.Column != 0 || f.Op != "=" || f.Value.Kind() != value.KindString {
			continue
		}
		if rest, ok := strings.CutPrefix(f.Value.Str(), r.t.Name); ok && strings.HasPrefix(rest, ":") {
			if id, ok := simpleID(r.t.Name, rest[1:]); ok {
				return id
			}
			if id, err := parse.RecordID(f.Value.Str()); err == nil {
				return id
			}
		}
	}
	return value.None
}

// Keyed implements sql.Keyed.
func (r *tableRelation) Keyed(id value.Value) bool {
	filter := [1]sql.Filter{{Op: "=", Value: id}}
	key := r.key(filter[:])
	return !key.IsNone() && key.Text() == id.Str()
}

// inLanguage is the value of a filter with which the language means the same; same is false where it has none. Records
// print as texts, and the fields of other tables may hold values of any type.
func (r *tableRelation) inLanguage(f *sql.Filter) (v value.Value, same bool) {
	col := r.t.Columns[f.Column]
	switch {
	case f.Value.IsNullish(), f.Column == 0, r.t.Open:
		return value.None, false
	case col.Ref != "":
		return r.linkOf(f)
	case col.Link, f.Value.Kind() == value.KindFloat, f.Value.Kind() == value.KindBool && f.Op != "=":
		return value.None, false
	}
	switch col.OID {
	case pgtype.Text, pgtype.Int8, pgtype.Timestamptz, pgtype.UUID, pgtype.Bool:
		return f.Value, true
	}
	return value.None, false
}

// linkOf is the record whose text a filter asks for in a column that holds records of one table.
func (r *tableRelation) linkOf(f *sql.Filter) (value.Value, bool) {
	if f.Op != "=" || f.Value.Kind() != value.KindString {
		return value.None, false
	}
	text, table := f.Value.Str(), r.t.Columns[f.Column].Ref
	if key, ok := strings.CutPrefix(text, table+":"); ok {
		if rec, ok := simpleID(table, key); ok && rec.Text() == text {
			return rec, true
		}
	}
	rec, err := parse.RecordID(text)
	if err != nil || rec.Kind() != value.KindRecord || rec.Text() != text {
		return value.None, false
	}
	return rec, true
}

// Looks implements sql.Looker.
func (r *tableRelation) Looks(column int, v value.Value) bool {
	if column == 0 {
		return v.Kind() == value.KindString && r.Keyed(v)
	}
	_, same := r.inLanguage(&sql.Filter{Column: column, Op: "=", Value: v})
	return same
}

// Indexed implements sql.Looker.
func (r *tableRelation) Indexed(column int) bool {
	return slices.ContainsFunc(r.t.Indexes, func(ix *catalog.Index) bool {
		return ix.Method == "btree" && len(ix.Columns) > 0 && ix.Columns[0] == column+1
	})
}

// exact reports whether the language can drop all rows that do not meet the filters.
func (r *tableRelation) exact(filters []sql.Filter) bool {
	for i := range filters {
		f := &filters[i]
		if _, same := r.inLanguage(f); !same || f.Op != "=" && leastOf[r.cols[f.Column].OID].IsNone() {
			return false
		}
	}
	return true
}

// ordered reports whether the language has the same order, but for what is no value.
func (r *tableRelation) ordered(k sql.ScanOrder) bool {
	return !r.t.Open && k.Column != 0 && !r.t.Columns[k.Column].Link && !leastOf[r.cols[k.Column].OID].IsNone()
}

// Count implements sql.Counter.
func (r *tableRelation) Count(ctx context.Context, s *sql.Scan) (n int64, ok bool, err error) {
	if !r.exact(s.Filters) {
		return 0, false, nil
	}
	text, vars := r.query(s, everyRow, 0, true)
	_, rest, _ := strings.Cut(text, " FROM ")
	var res []engine.Result
	text = "SELECT count() FROM " + rest + " GROUP ALL"
	switch tx := &r.c.tx; {
	case tx.tx == nil:
		res, err = r.c.session.Execute(ctx, text, vars)
	case tx.before == nil || s.Now:
		res, err = tx.tx.Execute(ctx, text, vars)
	default:
		res, err = tx.tx.ExecuteAt(ctx, tx.before, text, vars)
	}
	if err != nil {
		return 0, false, err
	}
	if res[0].Err != nil {
		return 0, false, res[0].Err
	}
	if v := res[0].Value; v.Kind() == value.KindArray && v.Len() == 1 && v.Elems()[0].Kind() == value.KindObject {
		count, _ := v.Elems()[0].Object().Get("count")
		return count.Int(), count.Kind() == value.KindInt, nil
	}
	return 0, res[0].Value.Kind() == value.KindArray && res[0].Value.Len() == 0, nil
}

// scanRows makes rows of records.
type scanRows struct {
	r     *tableRelation
	s     *sql.Scan
	yield func([]value.Value) error
	n     int64 // rows that came

	// Where rows only pass:
	room   []value.Value // of the row
	wanted []int         // the columns that are looked at
	slots  *value.Slots  // of wanted; nil while few rows have come
}

// manyRows is from how many rows at once it is worth to read them by value.Slots.
const manyRows = 16

// take hands rows on.
func (s *scanRows) take(rows []value.Value) error {
	if s.s.Passing && s.room == nil {
		s.prepare()
	}
	if s.s.Passing && s.slots == nil && len(rows) >= manyRows {
		names := make([]string, len(s.wanted))
		for k, i := range s.wanted {
			names[k] = s.r.cols[i].Name
		}
		s.slots = value.NewSlots(names)
	}
	for _, rec := range rows {
		row, err := s.row(rec)
		if err != nil {
			return err
		}
		s.n++
		if err := s.yield(row); err != nil {
			return err
		}
	}
	return nil
}

// row is the row of a record. SECURITY: its bytes are read only where the engine gives the record as it is stored, as
// a directScan does.
func (s *scanRows) row(rec value.Value) ([]value.Value, error) {
	if !s.s.Passing {
		return s.r.row(rec, s.s.Columns)
	}
	stored := s.slots != nil && rec.Kind() == value.KindObject && s.slots.Open(rec.Object())
	for k, i := range s.wanted {
		if stored && s.r.asStored(i) {
			if pgtype.StoredInto(&s.room[i], s.slots.Item(k), s.r.cols[i].OID) {
				continue
			}
		}
		v, err := s.r.column(rec, i)
		if err != nil {
			return nil, err
		}
		s.room[i] = v
	}
	return s.room, nil
}

// prepare makes room for a row that passes.
func (s *scanRows) prepare() {
	s.room = make([]value.Value, len(s.r.cols))
	for i := range s.r.cols {
		if s.s.Columns[i] {
			s.wanted = append(s.wanted, i)
		}
	}
}

// rowSink is the engine.Sink of one SELECT, whose rows take gets, also where the answer comes as a whole.
type rowSink struct {
	take   func(rows []value.Value) error
	failed error // of the statement
}

// Begin implements engine.Sink.
func (s *rowSink) Begin(int) error { return nil }

// Rows implements engine.Sink.
func (s *rowSink) Rows(_ int, rows []value.Value) error { return s.take(rows) }

// Finished implements engine.Sink.
func (s *rowSink) Finished(_ int, r *engine.Result, inRows bool) error {
	switch {
	case r.Err != nil:
		s.failed = r.Err
	case !inRows && r.Value.Kind() == value.KindArray:
		return s.take(r.Value.Elems())
	}
	return nil
}

// row gives the columns of a record that are wanted (nil: all), to keep.
func (r *tableRelation) row(rec value.Value, wanted []bool) ([]value.Value, error) {
	row := make([]value.Value, len(r.cols))
	for i := range r.cols {
		if wanted != nil && !wanted[i] {
			continue
		}
		v, err := r.column(rec, i)
		if err != nil {
			return nil, err
		}
		row[i] = value.Detach(v)
	}
	return row, nil
}

// column is column i of a record, as long as that is good.
func (r *tableRelation) column(rec value.Value, i int) (value.Value, error) {
	if rec.Kind() != value.KindObject {
		return value.None, nil
	}
	v, ok := rec.Object().Get(r.cols[i].Name)
	if !ok {
		return value.None, nil
	}
	return r.fit(i, v)
}

// asStored reports whether the values of column i may be read from the bytes of a record by the type of the column
// alone: a string among links is to be told of (see fit).
func (r *tableRelation) asStored(i int) bool { return r.t.Open || r.t.Columns[i].Ref == "" }

// fit makes a value of the language one of the type of column i.
func (r *tableRelation) fit(i int, v value.Value) (value.Value, error) {
	switch col := r.t.Columns[i]; { // the filters that the engine got do not find them as texts
	case r.t.Open || v.IsNullish():
	case col.Texts && v.Kind() != value.KindString, col.Ref != "" && v.Kind() != value.KindRecord:
		return value.None, wrongKind(&r.cols[i], v)
	}
	return fitColumn(&r.cols[i], v)
}

// fitColumn makes a value of the language one of the type of a column.
func fitColumn(col *sql.Column, v value.Value) (value.Value, error) {
	if v.IsNullish() {
		return value.None, nil
	}
	got := pgtype.TypeOf(v)
	switch {
	case col.OID == pgtype.JSONB:
		return v, nil
	case col.OID == pgtype.Text:
		if v.Kind() == value.KindString {
			return v, nil
		}
		return value.Str(v.Text()), nil
	case col.OID == got:
		return v, nil
	case col.OID == pgtype.Float8 && got == pgtype.Int8:
		return value.Float(float64(v.Int())), nil
	case col.OID == pgtype.Numeric && (got == pgtype.Int8 || got == pgtype.Float8):
		return v, nil
	case pgtype.IsArray(col.OID) && (v.Kind() == value.KindArray || v.Kind() == value.KindSet):
		out := make([]value.Value, v.Len())
		for i, e := range v.Elems() {
			elem := sql.Column{Name: col.Name, OID: pgtype.ElemOf(col.OID)}
			var err error
			if out[i], err = fitColumn(&elem, e); err != nil {
				return value.None, err
			}
		}
		return value.ArrayOf(out), nil
	}
	return value.None, wrongKind(col, v)
}

func wrongKind(col *sql.Column, v value.Value) error {
	return sqlstate.New(sqlstate.InvalidText, "a value of column %q is a %s, not %s", col.Name, v.Kind(),
		pgtype.Format(col.OID)).
		Hinted("Define the field with a type that all its values have.")
}

// tableWriter runs the writes of SQL.
type tableWriter struct {
	c     *conn
	ctx   context.Context // of the run
	into  *tableRelation  // the table that was written last; nil: none was
	blind bool            // no columns of what is written are returned
}

// Begin implements sql.Writer. A run that asks for it is no Single one, so there is a transaction.
func (w *tableWriter) Begin() (end func(), err error) {
	if w.c.tx.tx == nil {
		return nil, errs.Internal("a statement with queries is written without a transaction")
	}
	before, err := w.c.tx.tx.Savepoint()
	if err != nil {
		return nil, err
	}
	w.c.tx.before = before
	return func() { w.c.tx.before = nil }, nil
}

// write runs one statement of the language that writes one record, and gives its row: without values where none are
// returned, nil where nothing was written or the user may not see it.
func (w *tableWriter) write(r *tableRelation, text string, vars *value.Object) ([]value.Value, error) {
	if w.blind {
		text += blindly
	}
	v, err := w.execute(text, vars)
	if err != nil {
		return nil, err
	}
	if w.blind {
		if v.Kind() == value.KindArray && v.Len() == 0 {
			return nil, nil
		}
		return []value.Value{}, nil
	}
	return r.first(v)
}

// blindly ends a statement that is asked for no row.
const blindly = " RETURN NULL"

// execute runs one statement of the language and gives its answer.
func (w *tableWriter) execute(text string, vars *value.Object) (value.Value, error) {
	run := w.c.session.Execute
	if w.c.tx.tx != nil {
		run = w.c.tx.tx.Execute
	}
	res, err := run(w.ctx, text, vars)
	if err != nil {
		return value.None, err
	}
	if res[0].Err != nil {
		return value.None, res[0].Err
	}
	return res[0].Value, nil
}

// table finds the table of a write.
func (w *tableWriter) table(name string) (*tableRelation, error) {
	if w.into != nil && w.into.t.Name == name {
		return w.into, nil
	}
	for _, t := range w.c.schema.Tables {
		if t.Name == name {
			w.into = newTableRelation(w.c, t)
			return w.into, nil
		}
	}
	return nil, sqlstate.New(sqlstate.UndefinedTable, "relation %q does not exist", name)
}

// content makes the fields of a record of the columns of a row. The names of records become records.
func (r *tableRelation) content(cols []string, row []value.Value) (id value.Value, content value.Value, err error) {
	n := 0
	for i, name := range cols {
		if name == "id" {
			id = row[i]
		} else if !row[i].IsNone() {
			n++
		}
	}
	o, fields := value.MakeObject(n)
	for i, name := range cols {
		if name == "id" || row[i].IsNone() {
			continue
		}
		v, err := r.stored(name, row[i])
		if err != nil {
			return id, content, err
		}
		fields[0] = value.Field{Name: name, Value: v}
		fields = fields[1:]
	}
	o.Sort()
	return id, value.ObjectOf(o), nil
}

// stored is v as a record has it in a column: the name of a record becomes a record.
func (r *tableRelation) stored(column string, v value.Value) (value.Value, error) {
	if v.Kind() != value.KindString {
		return pgtype.StoredDuration(v)
	}
	for _, col := range r.t.Columns {
		if col.Name == column && (col.Ref != "" || r.linked(column)) {
			return r.link(column, v)
		}
	}
	return v, nil
}

// linked reports whether a column holds an end of a relation.
func (r *tableRelation) linked(name string) bool { return name == "in" || name == "out" }

// Insert implements sql.Writer.
func (w *tableWriter) Insert(table string, cols []string, row []value.Value, key string) ([]value.Value, bool, error) {
	r, err := w.table(table)
	if err != nil {
		return nil, false, err
	}
	id, content, err := r.content(cols, row)
	if err != nil {
		return nil, false, err
	}
	text, target := "CREATE $_id CONTENT $_row", value.TableOf(table)
	if !id.IsNone() {
		if target, err = r.recordOf(id); err != nil {
			return nil, false, err
		}
	}
	if _, edge := content.Object().Get("in"); edge && r.relation() {
		if id.IsNone() {
			text = "INSERT RELATION INTO " + value.QuoteIdent(table) + " $_row"
		} else {
			content = value.ObjectOf(content.Object().With("id", target))
			text = "INSERT RELATION INTO " + value.QuoteIdent(table) + " $_row"
		}
	}
	vars := value.CopyObject(value.Field{Name: "_id", Value: target}, value.Field{Name: "_row", Value: content})
	made, err := w.write(r, text, vars)
	if err == nil || key == "" {
		return made, false, err
	}
	e := w.c.translateQuietly(err)
	if e.Code != sqlstate.UniqueViolation {
		return nil, false, err
	}
	if key == sql.AnyKey || key == e.Constraint {
		err = nil
	}
	return nil, true, err
}

// UniqueKeys implements sql.Unique.
func (r *tableRelation) UniqueKeys() (keys []sql.UniqueKey) {
	for _, ix := range r.t.Indexes {
		if !ix.Unique || len(ix.Columns) == 0 || slices.Contains(ix.Columns, 0) {
			continue
		}
		k := sql.UniqueKey{Name: ix.Name}
		for _, n := range ix.Columns {
			k.Columns = append(k.Columns, r.t.Columns[n-1].Name)
		}
		keys = append(keys, k)
	}
	return keys
}

// Named implements sql.Unique.
func (r *tableRelation) Named(id value.Value) (value.Value, error) {
	rec, err := r.recordOf(id)
	if err != nil {
		return value.None, err
	}
	return value.Str(rec.Text()), nil
}

// relation reports whether the table has the ends of a relation.
func (r *tableRelation) relation() bool {
	return len(r.t.Columns) > 2 && r.t.Columns[1].Name == "in" && r.t.Columns[2].Name == "out"
}

// first is the row of the record that a write answers; nil where it answers none: nothing was written, or the user may
// not see it.
func (r *tableRelation) first(v value.Value) ([]value.Value, error) {
	if v.Kind() == value.KindArray {
		if v.Len() == 0 {
			return nil, nil
		}
		v = v.Elems()[0]
	}
	return r.row(v, nil)
}

// seen ends an UPDATE or DELETE of one record: SQL changes no row that the user may not read.
const seen = " WHERE id = $_id"

// Update implements sql.Writer.
func (w *tableWriter) Update(table string, id value.Value, cols []string, row []value.Value) ([]value.Value, error) {
	r, err := w.table(table)
	if err != nil {
		return nil, err
	}
	target, err := r.recordOf(id)
	if err != nil {
		return nil, err
	}
	text, sep := append(make([]byte, 0, 128), "UPDATE $_id"...), " SET "
	vars := append(make([]value.Field, 0, 1+len(cols)), value.Field{Name: "_id", Value: target})
	for i, name := range cols {
		if name == "id" {
			if to, err := r.recordOf(row[i]); err != nil || !value.Equal(to, target) {
				return nil, sqlstate.New(sqlstate.FeatureNotSupported, "the id of a record cannot be changed")
			}
			continue
		}
		v, err := r.stored(name, row[i])
		if err != nil {
			return nil, err
		}
		text = append(text, sep...)
		sep = ", "
		text = append(append(text, value.QuoteIdent(name)...), " = $_v"...)
		text = strconv.AppendInt(text, int64(i), 10)
		vars = append(vars, value.Field{Name: "_v" + itoa(i), Value: v})
	}
	text = append(text, seen...)
	return w.write(r, string(text), value.NewObject(vars...))
}

// Delete implements sql.Writer.
func (w *tableWriter) Delete(table string, id value.Value) (bool, error) {
	r, err := w.table(table)
	if err != nil {
		return false, err
	}
	target, err := r.recordOf(id)
	if err != nil {
		return false, err
	}
	v, err := w.execute("DELETE $_id"+seen+blindly, value.CopyObject(value.Field{Name: "_id", Value: target}))
	return v.Kind() != value.KindArray || v.Len() > 0, err
}

// Empty implements sql.Writer.
func (w *tableWriter) Empty(table string) error {
	_, err := w.execute("DELETE "+value.QuoteIdent(table)+" WHERE id != NONE RETURN NONE", value.NewObject())
	return err
}

// translateQuietly is translate for an error that may turn out to be none.
func (c *conn) translateQuietly(err error) *sqlstate.Error {
	if err == nil {
		return nil
	}
	return stateOf(errs.As(err))
}
