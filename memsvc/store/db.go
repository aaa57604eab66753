package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"sort"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/memsvc/problem"
)

// revMoved is thrown inside of a transaction whose Context has changed since it was read.
const revMoved = "memsvc: revision moved"

// maxTries bounds how often a change is worked out again because another process changed the Context.
const maxTries = 20

// DB is one Context: its database, entered as the user of that database.
//
// Every change of what can be searched goes through Update, which numbers it: the revision. The table log says which
// rows a revision touched, so that an index in memory follows the database by reading what it does not know yet.
type DB struct {
	Context string
	c       *conn
	turn    chan struct{} // holds one token: the right to change the Context from this process
	used    atomic.Int64  // unix nanoseconds of the last use
}

func newDB(id string, connect Connect, who Login) *DB {
	d := &DB{Context: id, c: &conn{connect: connect, who: who}, turn: make(chan struct{}, 1)}
	d.turn <- struct{}{}
	return d
}

// Query runs a fixed text with parameters; the answer is that of its last statement.
func (d *DB) Query(ctx context.Context, text string, vars ...Var) (value.Value, error) {
	d.used.Store(time.Now().UnixNano())
	return d.c.query(ctx, text, vars...)
}

// Rows reads records of T.
func Rows[T any](ctx context.Context, d *DB, text string, vars ...Var) ([]T, error) {
	d.used.Store(time.Now().UnixNano())
	return rows[T](ctx, d.c, text, vars...)
}

// One reads one record of T, or nil.
func One[T any](ctx context.Context, d *DB, text string, vars ...Var) (*T, error) {
	d.used.Store(time.Now().UnixNano())
	return one[T](ctx, d.c, text, vars...)
}

// Lookup reads records of a table by their keys; those that do not exist are left out.
func Lookup[T any](ctx context.Context, d *DB, table string, keys ...string) ([]T, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	ids := make([]value.Value, len(keys))
	for i, k := range keys {
		ids[i] = ID(table, k)
	}
	return Rows[T](ctx, d, "SELECT * FROM $ids", Var{"ids", ids})
}

// Get reads one record by its key, or nil.
func Get[T any](ctx context.Context, d *DB, table, key string) (*T, error) {
	all, err := Lookup[T](ctx, d, table, key)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return &all[0], nil
}

// Rev is the revision of the Context.
func (d *DB) Rev(ctx context.Context) (int64, error) {
	v, err := d.Query(ctx, "SELECT VALUE rev FROM ONLY meta:head")
	if err != nil {
		return 0, err
	}
	if v.Kind() != value.KindInt {
		return 0, fmt.Errorf("context %s has no revision", d.Context)
	}
	return v.Int(), nil
}

// Tx collects one change of a Context.
type Tx struct {
	puts    map[string][]value.Value
	inserts map[string][]value.Value
	deletes []value.Value
	touched []value.Value
}

// NewTx makes an empty change.
func NewTx() *Tx { return &Tx{puts: map[string][]value.Value{}, inserts: map[string][]value.Value{}} }

// Put writes a row, new or not.
func (tx *Tx) Put(table string, s any) {
	r := row(table, s)
	tx.puts[table] = append(tx.puts[table], r)
	tx.touch(table, r)
}

// Insert writes a new row; it fails if there is one with its key.
func (tx *Tx) Insert(table string, s any) {
	r := row(table, s)
	tx.inserts[table] = append(tx.inserts[table], r)
	tx.touch(table, r)
}

// PutRow writes a row that is given as plain data, as an export has it: texts in fields of time are times.
func (tx *Tx) PutRow(table, key string, fields map[string]any) {
	o := encode(reflect.ValueOf(typed(fields))).Object().With("id", ID(table, key))
	r := value.ObjectOf(o)
	tx.puts[table] = append(tx.puts[table], r)
	tx.touch(table, r)
}

// times are the fields of rows that hold a time.
var times = map[string]bool{"ts": true, "from": true, "valid_from": true, "valid_until": true, "last_used": true}

func typed(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := make(map[string]any, len(m))
	for k, e := range m {
		if s, ok := e.(string); ok && (times[k] || strings.HasSuffix(k, "_at")) {
			if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
				out[k] = t
				continue
			}
		}
		switch e := e.(type) {
		case nil:
		case float64:
			if out[k] = any(e); e == math.Trunc(e) && whole[k] {
				out[k] = int64(e)
			}
		case []any:
			list := make([]any, len(e))
			for i := range e {
				list[i] = typed(e[i])
			}
			out[k] = list
		default:
			out[k] = typed(e)
		}
	}
	return out
}

// whole are the fields of rows that hold whole numbers.
var whole = map[string]bool{"seq": true, "turn_count": true, "start": true, "end": true, "position": true,
	"section_ref": true, "char_start": true, "char_end": true, "token_count": true, "version": true, "chunks": true,
	"size_bytes": true, "proof_count": true}

// Delete removes rows.
func (tx *Tx) Delete(table string, keys ...string) {
	for _, k := range keys {
		tx.deletes = append(tx.deletes, ID(table, k))
		if searched[table] {
			tx.touched = append(tx.touched, ID(table, k))
		}
	}
}

func (tx *Tx) touch(table string, r value.Value) {
	if searched[table] {
		id, _ := r.Object().Get("id")
		tx.touched = append(tx.touched, id)
	}
}

func (tx *Tx) empty() bool {
	return len(tx.puts) == 0 && len(tx.inserts) == 0 && len(tx.deletes) == 0
}

// Update works out a change from what f reads and applies it in one transaction, or not at all. When another process
// changed the Context meanwhile, f is called again. One Update of this process runs at a time for a Context.
func (d *DB) Update(ctx context.Context, f func(tx *Tx) error) error {
	select {
	case <-d.turn:
		defer func() { d.turn <- struct{}{} }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for try := 1; ; try++ {
		rev, err := d.Rev(ctx)
		if err != nil {
			return err
		}
		tx := NewTx()
		if err := f(tx); err != nil {
			return err
		}
		if tx.empty() {
			return nil
		}
		err = d.apply(ctx, rev, tx)
		if !retryable(err) || try == maxTries {
			return conflict(err)
		}
	}
}

// conflict is the problem for an error of a commit.
func conflict(err error) error {
	switch {
	case err == nil:
		return nil
	case exists(err):
		return &problem.Error{Status: 409, Slug: "conflict", Detail: "A row with this name exists already", Err: err}
	case retryable(err):
		return &problem.Error{Status: 503, Slug: "unavailable", Detail: "The Context is changed by too many writers at once",
			Err: err}
	}
	return err
}

func (d *DB) apply(ctx context.Context, rev int64, tx *Tx) error {
	var b strings.Builder
	vars := []Var{{"rev", rev}, {"next", rev + 1}, {"touched", tx.touched}}
	b.WriteString("BEGIN; IF (SELECT VALUE rev FROM ONLY meta:head) != $rev { THROW '" + revMoved + "' }; ")
	b.WriteString("UPDATE meta:head SET rev = $next; ")
	if len(tx.touched) > 0 {
		b.WriteString("CREATE type::record('log', $next) SET ids = $touched; ")
	}
	for i, t := range sorted(tx.inserts) {
		fmt.Fprintf(&b, "INSERT INTO %s $i%d RETURN NONE; ", t, i)
		vars = append(vars, Var{fmt.Sprintf("i%d", i), tx.inserts[t]})
	}
	for i, t := range sorted(tx.puts) {
		fmt.Fprintf(&b, "FOR $r IN $p%d { UPSERT $r.id CONTENT $r RETURN NONE }; ", i)
		vars = append(vars, Var{fmt.Sprintf("p%d", i), tx.puts[t]})
	}
	if len(tx.deletes) > 0 {
		b.WriteString("DELETE $deletes RETURN NONE; ")
		vars = append(vars, Var{"deletes", tx.deletes})
	}
	b.WriteString("COMMIT;")
	_, err := d.Query(ctx, b.String(), vars...)
	return err
}

func sorted(m map[string][]value.Value) []string {
	out := make([]string, 0, len(m))
	for t := range m {
		out = append(out, t)
	}
	sort.Strings(out)
	return out
}

// Append writes rows of a table that no index follows: traces, audit events, meters. It takes no turn.
func (d *DB) Append(ctx context.Context, table string, structs ...any) error {
	if len(structs) == 0 {
		return nil
	}
	if searched[table] {
		return errors.New("append to " + table + ": the index would not see it")
	}
	list := make([]value.Value, len(structs))
	for i, s := range structs {
		list[i] = row(table, s)
	}
	_, err := d.Query(ctx, "INSERT INTO "+table+" $rows RETURN NONE", Var{"rows", list})
	return conflict(err)
}

// Change is a row that a revision touched.
type Change struct{ Table, Key string }

// Changes are the rows touched after revision since, each once, and the revision that they lead to. whole is false when
// the log does not reach back that far: then everything has to be read.
func (d *DB) Changes(ctx context.Context, since int64) (changed []Change, rev int64, whole bool, err error) {
	if rev, err = d.Rev(ctx); err != nil || rev == since {
		return nil, rev, true, err
	}
	if rev < since || rev-since > LogKept {
		return nil, rev, false, nil
	}
	type entry struct {
		ID  value.Value   `db:"id"`
		IDs []value.Value `db:"ids"`
	}
	span := value.Record("log", value.RangeOf(&value.Range{
		Start: value.Bound{Kind: value.Included, Value: value.Int(since +
			1)}, End: value.Bound{Kind: value.Included, Value: value.Int(rev)}}))
	log, err := Rows[entry](ctx, d, "SELECT id, ids FROM $span", Var{"span", span})
	if err != nil {
		return nil, rev, false, err
	}
	seen := map[Change]bool{}
	for _, e := range log {
		for _, id := range e.IDs {
			c := Change{id.Record().Table, textOf(id)}
			if !seen[c] {
				seen[c] = true
				changed = append(changed, c)
			}
		}
	}
	return changed, rev, true, nil
}

// LogKept is how many revisions the log reaches back at least.
const LogKept = 5000

// TrimLog drops entries of the log that no index needs.
func (d *DB) TrimLog(ctx context.Context) error {
	rev, err := d.Rev(ctx)
	if err != nil || rev <= 2*LogKept {
		return err
	}
	span := value.Record("log", value.RangeOf(&value.Range{
		Start: value.Bound{Kind: value.Included, Value: value.Int(0)}, End: value.Bound{Kind: value.Excluded,
			Value: value.Int(rev - 2*LogKept)}}))
	_, err = d.Query(ctx, "DELETE $span RETURN NONE", Var{"span", span})
	return err
}
