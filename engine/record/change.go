package record

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/index"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/value"
)

// Change is one record that a transaction changed.
type Change struct {
	Table         *catalog.Table
	ID            *value.RecordID
	before, after value.Value // a stored record is here as its bytes, which no record is: the log keeps all of them
	full          *fullImages // with COMPUTED fields, for a change feed; nil: there are none
}

// fullImages are a record before and after a change with its COMPUTED fields.
type fullImages struct{ before, after value.Value }

// shown are the images of the record as a change feed shows them.
func (c *Change) shown() (before, after value.Value) {
	if c.full != nil {
		return c.full.before, c.full.after
	}
	return c.Before(), c.After()
}

// Before is the record before the change; NONE where it was created.
func (c *Change) Before() value.Value { return unfold(c.before) }

// After is the record after the change; NONE where it was deleted.
func (c *Change) After() value.Value { return unfold(c.after) }

// Deletes reports whether After is NONE.
func (c *Change) Deletes() bool { return c.after.IsNone() }

// Creates reports whether Before is NONE.
func (c *Change) Creates() bool { return c.before.IsNone() }

// fold gives the bytes in place of a record that is no more than they.
func fold(v value.Value) value.Value {
	if v.Kind() == value.KindObject {
		if raw, ok := v.Object().Stored(); ok {
			return value.BytesOf(raw)
		}
	}
	return v
}

func unfold(v value.Value) value.Value {
	if v.Kind() != value.KindBytes {
		return v
	}
	doc, err := decode(v.Bytes())
	if err != nil {
		panic(err) // they are of a record that decode had read, or that was just encoded
	}
	return doc
}

// Log is the changes of a transaction in their order. Live queries and change feeds are fed from it after the commit.
type Log struct {
	Changes []Change
	Lives   int             // live queries that it begins
	Own     uint64          // names it among those that begin live queries on a store that is shared; 0: it begins none
	Ended   []catalog.Scope // what is removed: the live queries inside end
	Queued  []QueuedEvent   // ASYNC events, to run after the commit
	// After takes a wait for work that the transaction leaves to be done after its commit; the answer is given when it
	// returns. It is nil where a statement shares its transaction with others, and must leave no such work.
	After   func(wait func(context.Context) error)
	defined []definedTable
}

// Waits reports whether the transaction may leave work that its answer waits for.
func (l *Log) Waits() bool { return l != nil && l.After != nil }

// QueuedEvent is an ASYNC event of a change. Its values are good until the transaction ends.
type QueuedEvent struct {
	Table *catalog.Table
	Event *catalog.Event
	Doc   value.Value
	Vars  []Param
	Depth int // how many ASYNC events led to this one
}

// definedTable is a table that the transaction defined, for its change feed.
type definedTable struct {
	table *catalog.Table
	shape value.Value
}

// Define notes that a table was defined; shape is its definition taken apart.
func (l *Log) Define(tb *catalog.Table, shape value.Value) {
	if l != nil && feedOf(tb) != nil {
		l.defined = append(l.defined, definedTable{tb, shape})
	}
}

// NewLog makes an empty log.
func NewLog() *Log {
	l := new(struct { // in one piece
		Log
		first [1]Change // most statements change one record
	})
	l.Changes = l.first[:0]
	return &l.Log
}

// Expect makes room for n more changes.
func (l *Log) Expect(n int) {
	if l != nil {
		l.Changes = slices.Grow(l.Changes, n)
	}
}

// Len is how many changes there are so far.
func (l *Log) Len() int {
	if l == nil {
		return 0
	}
	return len(l.Changes)
}

// Mark is a position in a log.
type Mark struct{ changes, queued, defined, ended int }

// Mark is the present position, for RollbackTo.
func (l *Log) Mark() Mark {
	if l == nil {
		return Mark{}
	}
	return Mark{len(l.Changes), len(l.Queued), len(l.defined), len(l.Ended)}
}

// RollbackTo forgets what came after m.
func (l *Log) RollbackTo(m Mark) {
	if l == nil {
		return
	}
	clear(l.Changes[m.changes:])
	l.Changes = l.Changes[:m.changes]
	clear(l.Queued[m.queued:])
	l.Queued = l.Queued[:m.queued]
	clear(l.defined[m.defined:])
	l.defined = l.defined[:m.defined]
	l.Ended = l.Ended[:m.ended]
}

// Separate reports whether what came after m must not share a commit: a change feed has a stamp for each, ASYNC events
// run after each, and what watches a table may look at the state that each leaves.
func (l *Log) Separate(m Mark, watches func(*catalog.Table) bool) bool {
	if len(l.Queued) > m.queued || len(l.defined) > m.defined {
		return true
	}
	return slices.ContainsFunc(l.Changes[m.changes:], func(c Change) bool {
		return feedOf(c.Table) != nil || watches(c.Table)
	})
}

// after does what follows a change of a record: it is noted, views follow, events run.
func (g *Gate) after(ctx context.Context, w *Write) error {
	if g.Log != nil {
		after := fold(w.After)
		if w.raw != nil {
			after = value.BytesOf(w.raw)
		}
		c := Change{Table: w.Table, ID: w.ID, before: fold(w.Before), after: after}
		if len(w.Table.Computed) > 0 && feedOf(w.Table) != nil {
			b, a, err := g.computeImages(ctx, w.Table, w)
			if Denies(err) { // a field that fails on this record must not keep it from being written
				b, a, err = w.Before, w.After, nil
			}
			if err != nil {
				return err
			}
			c.full = &fullImages{b, a}
		}
		if n := len(g.Log.Changes); n > 0 && n == cap(g.Log.Changes) { // append would copy many of them five times
			g.Log.Changes = slices.Grow(g.Log.Changes, max(n, 4))
		}
		g.Log.Changes = append(g.Log.Changes, c)
	}
	if len(w.Table.Views) > 0 {
		if err := g.changeViews(ctx, w); err != nil {
			return g.veiled(err, "A view of table `%s` cannot follow the change", w.Table.Name)
		}
	}
	if len(w.Table.Events) > 0 && !g.Import {
		return g.runEvents(ctx, w)
	}
	return nil
}

// runEvents runs the events of a table for one change, in the same transaction.
func (g *Gate) runEvents(ctx context.Context, w *Write) error {
	kind := "UPDATE"
	switch {
	case w.creates():
		kind = "CREATE"
	case w.After.IsNone():
		kind = "DELETE"
	}
	for i, e := range w.Table.Events {
		before, after := w.Before, w.After
		if seen := w.Table.EventViews[i]; len(seen.Computed) > 0 {
			var err error
			if before, after, err = g.computeImages(ctx, seen, w); err != nil {
				return g.veiled(eventError(e.Name, err), "Error while processing event %s", e.Name)
			}
		}
		if v := w.Table.Define.View; v != nil && v.Group != nil { // its ids are made of the columns
			before, after = withoutID(before), withoutID(after)
		}
		doc := after
		if after.IsNone() {
			doc = before
		}
		vars := func() []Param {
			return []Param{{"event", value.Str(kind)}, {"value", doc}, {"before", before}, {"after", after},
				{"input", w.Input}}
		}
		if e.Define.Async {
			if g.Log != nil {
				g.Log.Queued = append(g.Log.Queued, QueuedEvent{w.Table, e, doc, vars(), g.AsyncDepth + 1})
			}
			continue
		}
		if err := g.runEvent(ctx, e, doc, vars); err != nil {
			return g.veiled(eventError(e.Name, err), "Error while processing event %s", e.Name)
		}
	}
	return nil
}

// computeImages are a record before and after a change with its COMPUTED fields; NONE stays.
func (g *Gate) computeImages(
	ctx context.Context, tb *catalog.Table, w *Write,
) (before, after value.Value, err error) {
	before, after = w.Before, w.After
	if !before.IsNone() {
		if before, err = g.compute(ctx, tb, w.ID, before); err != nil {
			return before, after, err
		}
	}
	if !after.IsNone() {
		after, err = g.compute(ctx, tb, w.ID, after)
	}
	return before, after, err
}

func withoutID(doc value.Value) value.Value {
	if doc.Kind() != value.KindObject {
		return doc
	}
	return value.ObjectOf(doc.Object().Without("id"))
}

// runEvent runs one event when its condition holds.
func (g *Gate) runEvent(ctx context.Context, e *catalog.Event, doc value.Value, vars func() []Param) error {
	if err := g.enter(); err != nil {
		return err
	}
	defer g.leave()
	if e.Define.When != nil {
		v, err := g.Eval.EvalIn(ctx, e.Define.When, doc, vars(), AsEngine)
		if err != nil || !value.Truthy(v) {
			return err
		}
	}
	for _, then := range e.Define.Then {
		if _, err := g.Eval.EvalIn(ctx, then, doc, vars(), AsEngine); err != nil {
			return err
		}
	}
	return nil
}

// eventError names the event that failed.
func eventError(name string, err error) error {
	var e *errs.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("event %s: %w", name, err)
	}
	return (&errs.Error{Kind: errs.KindInternal, Msg: "Error while processing event " + name + ": " + e.Msg,
		Err: err}).Brief()
}

// CountRows notes that a table has delta more rows.
func (g *Gate) CountRows(tb *catalog.Table, delta int64) error {
	return g.count(tb, 0, delta)
}

func (g *Gate) count(tb *catalog.Table, ix uint32, delta int64) error {
	return g.countShard(tb, ix, 0, delta)
}

func (g *Gate) countShard(tb *catalog.Table, ix, shard uint32, delta int64) error {
	s := tb.Scope
	g.keybuf = key.Counter(g.keybuf[:0], s.NS, s.DB, tb.ID, ix, shard)
	if err := g.Tx.Add(g.keybuf, delta); err != nil {
		return fmt.Errorf("count rows of %s: %w", tb.Name, err)
	}
	return nil
}

// changeIndexes moves a record's entries in all indexes of its table.
func (g *Gate) changeIndexes(ctx context.Context, tb *catalog.Table, id *value.RecordID,
	before, after value.Value) error {
	for _, ix := range tb.Indexes {
		if err := g.changeIndex(ctx, tb, ix, id, before, after); err != nil {
			return g.indexError(ix, err)
		}
	}
	for _, ix := range tb.Unready {
		if ix.Build.State != catalog.Building {
			continue
		}
		if err := g.changeIndex(ctx, tb, ix, id, before, after); err != nil {
			return g.indexError(ix, err)
		}
		if err := g.countBuilding(tb, ix); err != nil {
			return err
		}
	}
	return nil
}

func (g *Gate) changeIndex(ctx context.Context, tb *catalog.Table, ix *catalog.Index, id *value.RecordID,
	before, after value.Value) error {
	switch {
	case ix.Define.Kind == ast.IndexCount:
		return g.changeCount(ctx, tb, ix, before, after)
	case ix.Define.Kind == ast.IndexFullText:
		return g.changeText(ctx, tb, ix, id, before, after)
	case ix.Define.Vector != nil:
		return g.changeVector(ctx, tb, ix, id, before, after)
	case index.Kept(ix):
		old, err := g.indexed(ctx, 0, ix, before)
		if err != nil {
			return err
		}
		now, err := g.indexed(ctx, 1, ix, after)
		if err != nil {
			return err
		}
		g.ix.Tx = g.Tx
		if err = g.ix.Change(tb, ix, id, old, now); err != nil {
			return g.veil(ctx, tb, ix, after, err)
		}
	}
	return nil
}

// indexError is an error of an index as the caller may be told of it; veil has seen to those of unique ones.
func (g *Gate) indexError(ix *catalog.Index, err error) error {
	var v *index.Violation
	if errors.As(err, &v) {
		return err
	}
	return g.veiled(err, "The record does not fit the index `%s`", ix.Called())
}

// veil takes out of the refusal of a unique index what the caller may not see: the record that has the values, and
// values of fields that are hidden in its own record.
func (g *Gate) veil(ctx context.Context, tb *catalog.Table, ix *catalog.Index, after value.Value, refusal error) error {
	var v *index.Violation
	if g.Env.CanRead() || !errors.As(refusal, &v) {
		return refusal
	}
	shown, err := g.hideFields(ctx, tb, after)
	if err != nil {
		return err
	}
	seen, err := g.Sees(ctx, v.Record)
	if err != nil {
		return err
	}
	if seen && same(shown, after) {
		return refusal
	}
	e := errs.Internal("Database index `%s` already contains these values", ix.Called())
	e.Err = v
	return e
}

// indexed is the values of an index in a record image, in a buffer of the gate; nil for no image.
func (g *Gate) indexed(ctx context.Context, slot int, ix *catalog.Index, doc value.Value) ([]value.Value, error) {
	if doc.IsNone() {
		return nil, nil
	}
	vs, err := index.Values(g.vals[slot][:0], ix, doc, func(x ast.Expr) (value.Value, error) {
		return g.Eval.EvalIn(ctx, x, doc, nil, AsEngineReader)
	})
	g.vals[slot] = vs[:0]
	return vs, err
}

// changeCount keeps a COUNT index.
func (g *Gate) changeCount(ctx context.Context, tb *catalog.Table, ix *catalog.Index, before, after value.Value) error {
	var delta int64
	for _, image := range [2]struct {
		doc  value.Value
		sign int64
	}{{before, -1}, {after, 1}} {
		if image.doc.IsNone() {
			continue
		}
		if ix.Define.CountWhere != nil {
			v, err := g.Eval.EvalIn(ctx, ix.Define.CountWhere, image.doc, nil, AsEngineReader)
			if err != nil {
				return err
			}
			if !value.Truthy(v) {
				continue
			}
		}
		delta += image.sign
	}
	if delta == 0 {
		return nil
	}
	return g.count(tb, ix.ID, delta)
}
