package physical

import (
	"bytes"
	"context"
	"errors"
	"hash/maphash"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/bolt"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// CheckOptions tunes a check.
type CheckOptions struct {
	Language Language // must be set
	Progress Progress
}

// Check looks at all of the store at path, which must not be open, and changes nothing. What is
// wrong with the store is in the report, not in the error. Errors: kv.ErrLocked, kv.ErrFormat when
// there is no store, those of ctx and of reading the files.
func Check(ctx context.Context, path string, opt CheckOptions) (*Report, error) {
	rep := &Report{Path: path}
	in, err := bolt.Inspect(path)
	switch {
	case errors.Is(err, kv.ErrCorrupt):
		rep.find(FindPage, "%v", err)
		return rep, nil
	case err != nil:
		return nil, err
	}
	err = checkInspection(ctx, in, rep, opt)
	opt.Language.Release()
	return rep, errors.Join(err, in.Close())
}

func checkInspection(ctx context.Context, in *bolt.Inspection, rep *Report, opt CheckOptions) error {
	rep.Format, rep.Version = in.Format, uint64(in.Version)
	var err error
	opt.Progress.tell("pages", 0, 0, uint64(in.FileSize))
	in.Walked = func(bytes uint64) { opt.Progress.tell("pages", 0, bytes, uint64(in.FileSize)) }
	var damaged []*bolt.KeyError // to be named when the definitions are known
	rep.Pages, err = in.CheckPages(ctx, func(err error) {
		if k, ok := errors.AsType[*bolt.KeyError](err); ok && len(damaged) < maxFindings {
			damaged = append(damaged, k)
			return
		}
		rep.find(FindPage, "%v", err)
	})
	if err != nil {
		return err
	}
	opt.Progress.tell("pages", rep.Pages.Keys, uint64(in.FileSize), uint64(in.FileSize))
	in.Tolerant = true
	tx, err := txn.Begin(ctx, in, txn.Options{})
	if err != nil {
		return err
	}
	defer tx.Cancel()
	c, err := newChecker(ctx, in, tx, rep, opt)
	if err != nil {
		return err
	}
	for _, k := range damaged {
		rep.find(FindPage, "%s%v", c.s.nameOf(k.Key), k)
	}
	return c.run(uint64(in.FileSize))
}

// checker compares what is stored in two ways. First it reads all once and keeps of each
// collection that is stored twice only fingerprints; then it looks closely, with many reads, at
// those whose fingerprints differ.
type checker struct {
	ctx     context.Context
	tx      *txn.Tx
	rep     *Report
	opt     CheckOptions
	s       *schema
	h       hasher
	orphans map[place]uint64 // keys of places that are not defined
	bytes   uint64
}

func newChecker(ctx context.Context, store kv.Store, tx *txn.Tx, rep *Report, opt CheckOptions) (*checker, error) {
	s, err := loadSchema(ctx, store, tx, opt.Language, rep)
	if err != nil {
		return nil, err
	}
	return &checker{ctx: ctx, tx: tx, rep: rep, opt: opt, s: s, h: hasher{maphash.MakeSeed()},
		orphans: map[place]uint64{}}, nil
}

func (c *checker) run(total uint64) error {
	if err := c.readAll(total); err != nil {
		return err
	}
	for p, n := range c.orphans {
		c.rep.find(FindOrphan, "%d keys of table %d, index %d in database %d, which are not defined", n, p.tb, p.ix, p.db)
	}
	return c.compare()
}

// readAll reads every key once.
func (c *checker) readAll(total uint64) error {
	cur := c.tx.Scan(kv.Range{}, txn.ScanOptions{})
	defer cur.Close()
	for cur.Next() {
		k, v := cur.Key(), cur.Value()
		c.bytes += uint64(len(k) + len(v))
		if c.rep.Keys++; c.rep.Keys&1023 == 0 {
			c.opt.Progress.tell("check", c.rep.Keys, c.bytes, total)
			if err := c.ctx.Err(); err != nil {
				return err
			}
		}
		if err := c.one(k, v); err != nil {
			c.rep.find(FindKey, "%s key %x: %v", className(key.Class(k[0])), k, err)
		}
	}
	c.opt.Progress.tell("check", c.rep.Keys, c.bytes, c.bytes)
	return cur.Err()
}

// one looks at one key; an error says that the key itself is not what it should be.
func (c *checker) one(k, v []byte) error {
	if key.SpaceLen(k) == 0 {
		return errors.New("it is of no known class")
	}
	at := placeOf(k)
	switch key.Class(k[0]) {
	case key.ClassRecord:
		return c.record(at, k, v)
	case key.ClassEdge:
		return c.edge(at, k, v)
	case key.ClassReference:
		return c.reference(k, v)
	case key.ClassIndex:
		return c.entry(at, k, v)
	case key.ClassIndexData:
		c.belongs(at)
	case key.ClassCounter:
		return c.counter(at, k, v)
	case key.ClassHistory, key.ClassPastDef: // also of tables that are gone
		return checkPast(k, v)
	case key.ClassChange:
		_, _, err := key.DecodeChange(k)
		return err
	case key.ClassBlob:
		_, _, err := key.DecodeBlob(k)
		return err
	}
	return nil
}

// checkPast looks at a version of a record or definition; an empty value says that it was removed.
func checkPast(k, v []byte) error {
	if key.Class(k[0]) == key.ClassPastDef {
		_, _, err := key.DecodePastDef(k)
		return err
	}
	if _, _, err := key.DecodeHistory(k); err != nil || len(v) == 0 {
		return err
	}
	return value.CheckRecord(v)
}

// belongs notes a key of a place that is not defined.
func (c *checker) belongs(at place) bool {
	if c.s.removed(at) {
		return false
	}
	if at.ix != 0 && c.s.indexes[at] != nil || at.ix == 0 && (c.s.names[at] != "" || c.s.broken[at]) {
		return true
	}
	if !c.s.broken[at.table()] {
		c.orphans[at]++
	}
	return false
}

func (c *checker) record(at place, k, v []byte) error {
	c.rep.Records++
	id, err := key.DecodeRecord(k)
	if err != nil {
		return err
	}
	t := c.s.tables[at]
	if t == nil {
		c.belongs(at)
		return nil
	}
	t.records++
	if err := value.CheckRecord(v); err != nil {
		c.rep.find(FindRecord, "%s: %v", idText(t.Name, id), err)
		return nil
	}
	doc, err := document(v)
	if err != nil {
		c.rep.find(FindRecord, "%s: %v", idText(t.Name, id), err)
		return nil
	}
	if own, _ := doc.Object().Get("id"); !value.Equal(own, value.RecordOf(&value.RecordID{Table: t.Name, Key: id})) {
		c.rep.find(FindRecord, "%s says that it is %s", idText(t.Name, id), own.Text())
	}
	return c.derived(t, id, doc)
}

// derived notes what a record leads to elsewhere.
func (c *checker) derived(t *table, id, doc value.Value) error {
	for _, ix := range t.indexes {
		var err error
		switch {
		case ix.Build.State == catalog.Failed: // it is neither maintained nor used
		case ix.Define.Kind == ast.IndexCount:
			var yes bool
			if yes, err = ix.counts(c.ctx, doc); yes {
				ix.count++
			}
		case ix.Define.Kind == ast.IndexFullText:
			var has bool
			if has, err = t.gate.HasText(c.ctx, t.Table, ix.Index, id, doc); err == nil && !has && ix.whole() {
				c.rep.find(FindMissing, "index %s has not the texts of %s", ix.Name, idText(t.Name, id))
			}
		case ix.Define.Vector != nil:
			var has, counts bool
			if has, counts, err = t.gate.HasVector(c.ctx, t.Table, ix.Index, id, doc); err == nil && !has &&
				ix.whole() {
				c.rep.find(FindMissing, "index %s has not the vector of %s", ix.Name, idText(t.Name, id))
			}
			if counts {
				ix.count++
			}
		case ix.checked():
			err = ix.entriesOf(c.ctx, id, doc, func(k, stored []byte) error {
				c.h.add(&ix.expected, k, stored)
				return nil
			})
		}
		if err != nil {
			c.rep.find(FindRecord, "%s: what index %s has of it: %v", idText(t.Name, id), ix.Name, err)
		}
	}
	if t.Define.Kind == ast.TableRelation {
		if e, ok := c.s.edgeOf(t, id, doc); ok {
			c.h.add(&t.linked, e.canonical()...)
		} else {
			c.rep.find(FindEdge, "%s is in a table of edges, but has no ends", idText(t.Name, id))
		}
	}
	return t.referencesOf(c.s, id, doc, func(k []byte, _ *value.RecordID, _ uint32) error {
		c.h.add(&t.refs, k)
		return nil
	})
}

func (c *checker) edge(at place, k, v []byte) error {
	c.rep.Edges++
	e, err := decodeEdge(at, k, v)
	if err != nil {
		return err
	}
	t := c.s.tables[e.at]
	if t == nil || c.s.removed(at) {
		return nil // edges of a table that was removed stay, and are passed over
	}
	if e.dir == key.Out {
		c.h.add(&t.out, e.canonical()...)
	} else {
		c.h.add(&t.in, e.canonical()...)
	}
	return nil
}

func (c *checker) reference(k, v []byte) error {
	tb, _, _, err := key.DecodeReference(k)
	if err != nil {
		return err
	}
	at := placeOf(k)
	if t := c.s.tables[place{at.ns, at.db, tb, 0}]; t != nil && !c.s.removed(at) {
		c.h.add(&t.noted, k)
	}
	return nil
}

func (c *checker) entry(at place, k, v []byte) error {
	c.rep.Entries++
	if !c.belongs(at) {
		return nil
	}
	ix := c.s.indexes[at]
	if _, err := key.DecodeIndex(k, bytes.TrimPrefix(v, []byte{0}), len(ix.Define.Fields)); err != nil {
		return err
	}
	c.h.add(&ix.actual, k, v)
	return nil
}

func (c *checker) counter(at place, k, v []byte) error {
	if !c.belongs(at) {
		return nil
	}
	n, ok := kv.Counter(v)
	if !ok {
		return kv.ErrCounter
	}
	if at.ix == 0 {
		if t := c.s.tables[at]; t != nil {
			t.rows += n
		}
		return nil
	}
	c.s.indexes[at].counter += n
	return nil
}

func idText(table string, id value.Value) string {
	return value.RecordOf(&value.RecordID{Table: table, Key: id}).Text()
}
