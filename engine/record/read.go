package record

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/history"
	"github.com/nacredb/nacre/engine/inside"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// Get reads one record as the caller may see it: false where it is missing or hidden, or its table does not exist.
func (g *Gate) Get(ctx context.Context, id *value.RecordID) (value.Value, bool, error) {
	tb, err := g.Cat.Table(g.DB, id.Table)
	if tb == nil || err != nil {
		return value.None, false, err
	}
	return g.GetFrom(ctx, tb, id)
}

// GetFrom is Get for a record of a table that is at hand.
func (g *Gate) GetFrom(ctx context.Context, tb *catalog.Table, id *value.RecordID) (value.Value, bool, error) {
	doc, err := g.read(tb, id.Key)
	if err != nil || doc.IsNone() {
		return value.None, false, err
	}
	return g.admit(ctx, tb, id, doc)
}

// Peek is GetFrom that leaves a record encoded where the caller sees all of it as it is stored: raw is its image then,
// and doc NONE.
func (g *Gate) Peek(ctx context.Context, tb *catalog.Table,
	id *value.RecordID) (raw Stored, doc value.Value, ok bool, err error) {
	raw, plain, err := g.PeekKey(tb, id.Key)
	if plain || err != nil {
		return raw, value.None, raw != nil, err
	}
	doc, ok, err = g.GetFrom(ctx, tb, id)
	return nil, doc, ok, err
}

// PeekKey is Peek for a record by its key; plain: the caller sees the records of the table as they are stored, else
// there is nothing but to ask Peek.
func (g *Gate) PeekKey(tb *catalog.Table, k value.Value) (raw Stored, plain bool, err error) {
	if g.At != 0 || !g.plainRead(tb) {
		return nil, false, nil
	}
	b, err := g.Tx.Get(g.recordKey(tb, k))
	if err != nil {
		return nil, true, fmt.Errorf("read a record of %s: %w", tb.Name, err)
	}
	return Stored(b), true, nil
}

// PeekID is PeekKey for a record by its packed id.
func (g *Gate) PeekID(tb *catalog.Table, id ID) (raw Stored, plain bool, err error) {
	if g.At != 0 || !g.plainRead(tb) {
		return nil, false, nil
	}
	g.keybuf = key.RecordOf(g.keybuf[:0], tb.Scope.NS, tb.Scope.DB, id)
	b, err := g.Tx.Get(g.keybuf)
	if err != nil {
		err = fmt.Errorf("read a record of %s: %w", tb.Name, err)
	}
	return Stored(b), true, err
}

// Field is a field of a record as the caller may see it; NONE where either is missing or hidden, or where the table
// does not exist.
func (g *Gate) Field(ctx context.Context, id *value.RecordID, name string) (value.Value, error) {
	tb, err := g.Cat.Table(g.DB, id.Table)
	if tb == nil || err != nil {
		return value.None, err
	}
	raw, doc, ok, err := g.Peek(ctx, tb, id)
	if !ok || err != nil {
		return value.None, err
	}
	if raw != nil {
		return raw.Field(name)
	}
	return inside.Field(doc, name), nil
}

// admit makes of a stored image what the caller sees of it; false where the record is hidden.
func (g *Gate) admit(ctx context.Context, tb *catalog.Table, id *value.RecordID,
	doc value.Value) (value.Value, bool, error) {
	if len(tb.Computed) == 0 && g.Env.CanRead() {
		return doc, true, nil
	}
	if !g.Env.CanRead() && tb.Define.Permissions.Select.Kind == ast.PermissionNone {
		return value.None, false, nil
	}
	// COMPUTED fields of hidden records are not looked at unless the permission does: they may fail, or read in
	// circles.
	guarded, err := doc, error(nil)
	if tb.GuardReadsComputed {
		// the permission can not be tried
		if guarded, err = g.compute(ctx, tb, id, doc); err != nil && !g.Env.CanRead() {
			return value.None, false, g.refused(&tb.Define.Permissions.Select, err)
		} else if err != nil {
			return value.None, false, err
		}
	}
	ok, err := g.permits(ctx, &tb.Define.Permissions.Select, guarded, nil)
	if !ok || err != nil {
		return value.None, false, err
	}
	if !tb.GuardReadsComputed {
		if guarded, err = g.compute(ctx, tb, id, doc); err != nil {
			return value.None, false, err
		}
	}
	doc, err = g.hideFields(ctx, tb, guarded)
	return doc, err == nil, err
}

// Sees reports whether the caller may see a record: false too where it is missing. COMPUTED fields that the permission
// does not read are left alone.
func (g *Gate) Sees(ctx context.Context, id *value.RecordID) (bool, error) {
	tb, err := g.Cat.Table(g.DB, id.Table)
	if tb == nil || err != nil {
		return false, err
	}
	doc, err := g.read(tb, id.Key)
	if err != nil || doc.IsNone() {
		return false, err
	}
	if tb.GuardReadsComputed {
		_, ok, err := g.admit(ctx, tb, id, doc)
		return ok, err
	}
	return g.permits(ctx, &tb.Define.Permissions.Select, doc, nil)
}

// shown is a record as the caller may see it, without its COMPUTED fields where its rules do not read them: what looks
// for links must not compute, as computing looks for links. It is false where the record is missing or hidden.
func (g *Gate) shown(ctx context.Context, tb *catalog.Table, id *value.RecordID) (value.Value, bool, error) {
	doc, err := g.read(tb, id.Key)
	if err != nil || doc.IsNone() {
		return value.None, false, err
	}
	return g.shows(ctx, tb, id, doc)
}

// shows is shown of a record that was read.
func (g *Gate) shows(ctx context.Context, tb *catalog.Table, id *value.RecordID,
	doc value.Value) (value.Value, bool, error) {
	if tb.RulesReadComputed {
		return g.admit(ctx, tb, id, doc)
	}
	if ok, err := g.permits(ctx, &tb.Define.Permissions.Select, doc, nil); !ok || err != nil {
		return value.None, false, err
	}
	doc, err := g.hideFields(ctx, tb, doc)
	return doc, err == nil, err
}

// Computing is a stack of records.
type Computing []*value.RecordID

func (c Computing) has(id *value.RecordID) bool {
	return slices.ContainsFunc(c, func(of *value.RecordID) bool {
		return of.Table == id.Table && value.Compare(of.Key, id.Key) == 0
	})
}

// compute adds the COMPUTED fields to a stored image. A record that one of its own COMPUTED fields reads is as it is
// stored.
func (g *Gate) compute(ctx context.Context, tb *catalog.Table, id *value.RecordID,
	doc value.Value) (value.Value, error) {
	if len(tb.Computed) == 0 || g.Computing.has(id) {
		return doc, nil
	}
	if err := g.enter(); err != nil {
		return value.None, err
	}
	defer g.leave()
	*g.Computing = append(*g.Computing, id)
	defer func() { *g.Computing = (*g.Computing)[:len(*g.Computing)-1] }()
	for _, f := range tb.Computed {
		v, err := g.Eval.EvalIn(ctx, f.Define.Computed, doc, nil, AsReader(f.Def))
		if err == nil {
			v, err = coerceField(f, id, v)
		}
		if err != nil && tb.FieldReads {
			err = g.veiled(err, "The COMPUTED field `%s` of table `%s` failed", f.Name, tb.Name)
		}
		if err != nil {
			return value.None, err
		}
		doc = value.ObjectOf(doc.Object().With(f.Path[0].Name, v))
	}
	return doc, nil
}

// hideFields takes out what the caller may not select.
func (g *Gate) hideFields(ctx context.Context, tb *catalog.Table, doc value.Value) (value.Value, error) {
	if !tb.FieldReads || g.Env.CanRead() {
		return doc, nil
	}
	whole := doc
	for _, f := range tb.Fields {
		p := &f.Define.Permissions
		if !p.Given || p.Select.Kind == ast.PermissionFull {
			continue
		}
		var err error
		doc, err = hide(doc, f.Path, func(v value.Value) (bool, error) {
			return g.permits(ctx, &p.Select, whole, []Param{{"value", v}})
		})
		if err != nil {
			return value.None, err
		}
	}
	return doc, nil
}

// permits evaluates one permission for the caller. System users are ruled by their roles.
func (g *Gate) permits(ctx context.Context, p *ast.Permission, doc value.Value, vars []Param) (bool, error) {
	if g.Env.Principal.IsSystem() {
		return g.Env.CanRead(), nil
	}
	return g.allows(ctx, p, doc, vars)
}

// permitsWrite is permits for writes: a VIEWER may write what everybody may.
func (g *Gate) permitsWrite(ctx context.Context, p *ast.Permission, doc value.Value, vars []Param) (bool, error) {
	if g.Env.CanWrite() {
		return true, nil
	}
	return g.allows(ctx, p, doc, vars)
}

// allows evaluates a permission. One that fails is no: what is in one record must not decide whether others can be
// read.
func (g *Gate) allows(ctx context.Context, p *ast.Permission, doc value.Value, vars []Param) (bool, error) {
	if !g.Env.Principal.Reaches(g.Env.NS, g.Env.DB) && !g.guestAllowed() {
		return false, nil
	}
	switch p.Kind {
	case ast.PermissionFull:
		return true, nil
	case ast.PermissionWhere:
		if err := g.enter(); err != nil {
			return false, err
		}
		defer g.leave()
		v, err := g.Eval.EvalIn(ctx, p.Where, doc, vars, AsEngineReader)
		if err != nil {
			return false, g.refused(p, err)
		}
		return value.Truthy(v), nil
	}
	return false, nil
}

// guestAllowed reports whether the caller is a guest and guests may use the engine.
func (g *Gate) guestAllowed() bool {
	return g.Env.Principal.Level == 0 && g.Env.Caps != nil && g.Env.Caps.Guests
}

// ScanOptions says what a scan of a table walks.
type ScanOptions struct {
	Range   *value.Range // of record keys; nil: all
	Reverse bool
	Version uint64 // the records as they were at this version of the history; 0: now
}

// Cursor walks records as the caller may see them. Hidden ones are skipped.
type Cursor struct {
	g    *Gate
	tb   *catalog.Table
	cur  *txn.Cursor
	past *history.Cursor // instead of cur, for what was
	doc  value.Value
	err  error
	seen uint32

	pairs []kv.Pair // room of Batch
}

// Scan walks the records of a table in key order, or backwards. The caller closes the cursor.
func (g *Gate) Scan(tb *catalog.Table, opt ScanOptions) *Cursor {
	if opt.Version == 0 {
		opt.Version = g.At
	}
	if opt.Version != 0 {
		return g.scanPast(tb, opt)
	}
	start, end := key.RecordRange(tb.Scope.NS, tb.Scope.DB, tb.ID, opt.Range)
	cur := g.Tx.Scan(kv.Range{Start: start, End: end}, txn.ScanOptions{Reverse: opt.Reverse})
	return &Cursor{g: g, tb: tb, cur: cur}
}

// Next steps to the next record that the caller may see.
func (c *Cursor) Next(ctx context.Context) bool {
	for c.err == nil && c.step() {
		if c.seen++; c.seen&255 == 0 {
			if c.err = ctx.Err(); c.err != nil {
				return false
			}
		}
		doc, err := decode(c.raw())
		if err != nil {
			c.err = err
			return false
		}
		if c.g.plainRead(c.tb) {
			c.doc = doc
			return true
		}
		var id *value.RecordID
		if id, c.err = c.ID(); c.err != nil {
			return false
		}
		var ok bool
		if c.doc, ok, c.err = c.g.admit(ctx, c.tb, id, doc); ok {
			return true
		}
	}
	return false
}

// plainRead reports whether the caller sees stored records of tb as they are.
func (g *Gate) plainRead(tb *catalog.Table) bool {
	return len(tb.Computed) == 0 && g.Env.CanRead()
}

// ReadsPlain is plainRead for a table by its name; false where there is none.
func (g *Gate) ReadsPlain(table string) (bool, error) {
	tb, err := g.Cat.Table(g.DB, table)
	return tb != nil && g.plainRead(tb), err
}

// Record is the current record; it stays valid until the transaction ends.
func (c *Cursor) Record() value.Value { return c.doc }

// ID is the id of the current record.
func (c *Cursor) ID() (*value.RecordID, error) {
	k, err := c.recordKey()
	if err != nil {
		return nil, fmt.Errorf("read a record key of %s: %w", c.tb.Name, err)
	}
	return &value.RecordID{Table: c.tb.Name, Key: k}, nil
}

// Err returns the error that stopped the scan early, if any.
func (c *Cursor) Err() error {
	if c.err != nil {
		return c.err
	}
	if c.past != nil {
		return c.past.Err()
	}
	return c.cur.Err()
}

// Close ends the scan.
func (c *Cursor) Close() {
	if c.past != nil {
		c.past.Close()
		return
	}
	c.cur.Close()
}

// Count is the number of records of a table that the caller may see. The stored row count answers it where nothing
// can be hidden.
func (g *Gate) Count(ctx context.Context, tb *catalog.Table, r *value.Range) (int64, error) {
	switch {
	case !g.Env.CanRead():
	case r == nil:
		return g.RowCount(tb)
	default:
		return g.countKeys(ctx, tb, r)
	}
	c := g.Scan(tb, ScanOptions{Range: r})
	defer c.Close()
	var n int64
	for c.Next(ctx) {
		n++
	}
	return n, c.Err()
}

// RowCount is the stored row count of a table, including rows hidden from the caller.
func (g *Gate) RowCount(tb *catalog.Table) (int64, error) {
	return g.sumCounter(tb, 0)
}

// unknownRows is the guess of RowGuess for a table with rows that the caller may not see.
const unknownRows = 1000

// RowGuess is about how many rows of a table the caller finds, for a plan.
//
// SECURITY: a plan decides the order of rows, and EXPLAIN shows it. So the stored row count goes into it only where no
// row of the table is hidden from the caller.
func (g *Gate) RowGuess(tb *catalog.Table) (int64, error) {
	if g.Env.CanRead() {
		return g.RowCount(tb)
	}
	if !g.Env.Principal.Reaches(g.Env.NS, g.Env.DB) && !g.guestAllowed() {
		return 0, nil
	}
	switch tb.Define.Permissions.Select.Kind {
	case ast.PermissionFull:
		return g.RowCount(tb)
	case ast.PermissionNone:
		return 0, nil
	}
	return unknownRows, nil
}

// sumCounter adds up the parts of a count.
func (g *Gate) sumCounter(tb *catalog.Table, ix uint32) (int64, error) {
	start, end := key.PrefixRange(key.CounterPrefix(nil, tb.Scope.NS, tb.Scope.DB, tb.ID, ix))
	cur := g.Tx.Scan(kv.Range{Start: start, End: end}, txn.ScanOptions{})
	defer cur.Close()
	var total int64
	for cur.Next() {
		n, ok := kv.Counter(cur.Value())
		if !ok {
			return 0, fmt.Errorf("read the row count of %s: %w", tb.Name, kv.ErrCounter)
		}
		total += n
	}
	return total, cur.Err()
}

// IndexCount is the count of a COUNT index: records that meet its WHERE, including those hidden from the caller.
func (g *Gate) IndexCount(tb *catalog.Table, ix *catalog.Index) (int64, error) {
	return g.sumCounter(tb, ix.ID)
}

func (g *Gate) countKeys(ctx context.Context, tb *catalog.Table, r *value.Range) (int64, error) {
	start, end := key.RecordRange(tb.Scope.NS, tb.Scope.DB, tb.ID, r)
	cur := g.Tx.Scan(kv.Range{Start: start, End: end}, txn.ScanOptions{KeysOnly: true})
	defer cur.Close()
	return skipKeys(ctx, cur, math.MaxInt64)
}
