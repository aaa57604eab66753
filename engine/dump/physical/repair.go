package physical

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/bolt"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// Repaired reports the changes of a repair.
type Repaired struct {
	Kept      uint64 `json:"kept"`      // keys that were copied
	Dropped   uint64 `json:"dropped"`   // keys that could not be used
	Rebuilt   uint64 `json:"rebuilt"`   // keys made from records: indexes, edges, references, counters
	LostKeys  uint64 `json:"lostKeys"`  // keys that are damaged, or whose values are; also of what was made anew
	LostPages uint64 `json:"lostPages"` // pages that cannot be read, with all that was in them
	// why the end of the log, and the commits in it, could not be read; empty: it could
	LostLog   string   `json:"lostLog"`
	Recovered []string `json:"recovered"` // tables whose definitions were lost, known again by their records
	After     *Report  `json:"after"`     // the check of the result
}

// Repair makes a store at target out of what can still be read of the one at path, which stays as
// it is and must not be open. Definitions and records are copied, unless they are damaged; what
// follows from them is made anew. The result is checked: what that finds is left to the reader.
// Errors: as Check, os.ErrExist when there is something at target, kv.ErrCorrupt when there is
// nothing to start from.
func Repair(ctx context.Context, path, target string, opt CheckOptions) (*Repaired, error) {
	if _, err := os.Lstat(target); err == nil {
		return nil, fmt.Errorf("repair: there is something at %s, and a repaired store needs a path of its own: %w", target, os.ErrExist)
	}
	in, err := bolt.Inspect(path)
	if err != nil {
		return nil, err
	}
	in.Tolerant = true
	r := &repairer{ctx: ctx, opt: opt, old: in, done: &Repaired{}, built: map[place]bool{}, views: map[place]bool{}}
	err = replaceStore(target, r.build)
	if r.done.Recovered == nil {
		r.done.Recovered = []string{}
	}
	if r.done.After != nil {
		r.done.After.Path = target // where it is by now
	}
	opt.Language.Release()
	return r.done, errors.Join(err, in.Close())
}

// repairer makes the new store: a sorted copy of what is sound first, then what follows from it.
type repairer struct {
	ctx  context.Context
	opt  CheckOptions
	old  *bolt.Inspection
	done *Repaired

	built map[place]bool // indexes, and whether the gate builds them: full text and vectors
	views map[place]bool // views whose rows the gate makes anew
	// removed reports what is gone but for its data: a table of lost definition is known by records, and these are not
	// its.
	removed func(place) bool
	store   kv.Store
	tx      *txn.Tx // reads the copy
	s       *schema
	writes  []kv.Write
	size    int
}

func (r *repairer) build(fresh string) error {
	if err := r.findBuilt(); err != nil {
		return err
	}
	if err := r.copySound(fresh); err != nil {
		return err
	}
	err := r.derive(fresh)
	if err == nil {
		r.done.After, err = Check(r.ctx, fresh, r.opt)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(fresh))
	}
	return nil
}

// findBuilt notes the indexes that the gate builds anew, and the views.
func (r *repairer) findBuilt() error {
	tx, err := txn.Begin(r.ctx, r.old, txn.Options{})
	if err != nil {
		return err
	}
	defer tx.Cancel()
	s, err := loadSchema(r.ctx, r.old, tx, r.opt.Language, &Report{})
	if err != nil {
		return err
	}
	for at, ix := range s.indexes {
		r.built[at] = ix.Define.Kind == ast.IndexFullText || ix.Define.Vector != nil
	}
	for at, t := range s.tables {
		r.views[at] = s.remade(t, r.opt.Language)
	}
	r.removed = s.removed
	return nil
}

// buildRest lets the gate fill its indexes.
func (r *repairer) buildRest() error {
	return txn.Retry(r.ctx, r.store, txn.Options{}, func(tx *txn.Tx) error {
		s, err := loadSchema(r.ctx, r.store, tx, r.opt.Language, &Report{})
		if err != nil {
			return err
		}
		for at, ix := range s.indexes {
			if r.built[at] {
				// What cannot be built stays empty, and the check says so.
				sp := tx.Savepoint()
				if err := ix.tb.gate.BuildIndex(r.ctx, ix.tb.Table, ix.Index); err != nil {
					tx.RollbackTo(sp)
				}
			}
		}
		return r.ctx.Err()
	})
}

// remade reports whether the rows of a view are made anew from its tables, which are all there, and into no index that
// is built by itself.
func (s *schema) remade(t *table, lang Language) bool {
	if !record.Retold(t.Table, lang.Pure) {
		return false
	}
	for _, x := range t.Define.View.From {
		src, ok := x.(*ast.Table)
		if !ok || s.tables[place{t.at.ns, t.at.db, s.idOf(t.at, src.Name), 0}] == nil {
			return false
		}
	}
	for _, ix := range t.indexes {
		if ix.Define.Kind == ast.IndexFullText || ix.Define.Vector != nil {
			return false
		}
	}
	return true
}

// fillViews lets the gate make the rows of views, without events.
func (r *repairer) fillViews() error {
	return txn.Retry(r.ctx, r.store, txn.Options{}, func(tx *txn.Tx) error {
		s, err := loadSchema(r.ctx, r.store, tx, r.opt.Language, &Report{})
		if err != nil {
			return err
		}
		for at, t := range s.tables {
			if !r.views[at] || t.Define.View == nil {
				continue
			}
			t.gate.Import = true
			// What cannot be made stays out, and the check says so.
			sp := tx.Savepoint()
			if err := t.gate.FillView(r.ctx, t.Table); err != nil {
				tx.RollbackTo(sp)
			}
		}
		return r.ctx.Err()
	})
}

// copySound copies what is not made anew and can be used.
func (r *repairer) copySound(fresh string) error {
	snap, err := r.old.Begin(r.ctx)
	if err != nil {
		return err
	}
	defer snap.Release()
	b, err := bolt.NewBuilder(fresh)
	if err != nil {
		return err
	}
	if r.old.LogError != nil {
		r.done.LostLog = r.old.LogError.Error()
	}
	r.old.TakeLosses()
	err = copyAll(r.ctx, snap, uint64(r.old.FileSize), r.opt.Progress, func(k, v []byte) error {
		switch c := key.Class(k[0]); {
		case c == key.ClassEdge, c == key.ClassReference, c == key.ClassIndex, c == key.ClassCounter:
			return nil
		case c == key.ClassIndexData && r.built[placeOf(k)]:
			return nil
		case r.removed(placeOf(k)):
			return nil
		// what is kept of groups lies at index 0
		case (c == key.ClassRecord || c == key.ClassIndexData) && r.views[placeOf(k)]:
			return nil
		case !r.sound(c, k, v):
			r.done.Dropped++
			return nil
		}
		r.done.Kept++
		return b.Put(k, v)
	})
	if err != nil {
		return errors.Join(err, b.Abort())
	}
	lost := r.old.TakeLosses()
	r.done.LostKeys, r.done.LostPages = lost.Keys, lost.Pages
	return b.Finish(r.old.Version)
}

// sound reports whether a key and its value can be used.
func (r *repairer) sound(c key.Class, k, v []byte) bool {
	if key.SpaceLen(k) == 0 {
		return false
	}
	switch c {
	case key.ClassRootDef, key.ClassNSDef, key.ClassDBDef, key.ClassTableDef:
		return catalog.CheckStored(r.opt.Language.Parse, k, v) == nil
	case key.ClassRecord:
		id, err := key.DecodeRecord(k)
		if err != nil || value.CheckRecord(v) != nil {
			return false
		}
		own, ok, err := value.RecordField(v, "id")
		return err == nil && ok && own.Kind() == value.KindRecord && value.Equal(own.Record().Key, id)
	case key.ClassHistory, key.ClassPastDef:
		return checkPast(k, v) == nil
	case key.ClassChange:
		_, _, err := key.DecodeChange(k)
		return err == nil
	case key.ClassBlob:
		_, _, err := key.DecodeBlob(k)
		return err == nil
	}
	return true
}

// derive opens the copy and makes what follows from its definitions and records.
func (r *repairer) derive(fresh string) error {
	st, err := bolt.Open(bolt.Options{Path: fresh, Sync: kv.SyncNever})
	if err != nil {
		return err
	}
	r.store = st
	err = r.recoverTables()
	if err == nil && len(r.views) > 0 {
		err = r.fillViews()
	}
	if err == nil {
		err = r.inTx(r.deriveAll)
	}
	if err == nil && len(r.built) > 0 {
		err = r.buildRest()
	}
	r.opt.Language.Release()
	return errors.Join(err, st.Close())
}

// inTx runs f with a reading transaction and the schema that it sees.
func (r *repairer) inTx(f func() error) (err error) {
	if r.tx, err = txn.Begin(r.ctx, r.store, txn.Options{}); err != nil {
		return err
	}
	defer r.tx.Cancel()
	if r.s, err = loadSchema(r.ctx, r.store, r.tx, r.opt.Language, &Report{}); err != nil {
		return err
	}
	return f()
}

// recoverTables defines the tables whose definitions were lost: their records tell the names. It
// also raises id counters that lag.
func (r *repairer) recoverTables() error {
	lost := map[place]string{}
	err := r.inTx(func() error {
		c := &checker{ctx: r.ctx, tx: r.tx}
		return c.each([]byte{byte(key.ClassRecord)}, func(k, v []byte) error {
			at := placeOf(k)
			if r.s.names[at] != "" || lost[at] != "" {
				return nil
			}
			if own, ok, err := value.RecordField(v, "id"); err == nil && ok && own.Kind() == value.KindRecord {
				lost[at] = strings.Clone(own.Record().Table) // v is a part of the mapped file
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	return txn.Retry(r.ctx, r.store, txn.Options{}, func(tx *txn.Tx) error {
		r.done.Recovered = nil
		view := catalog.NewCache(r.opt.Language.Parse).View(tx)
		namespaces, err := view.Namespaces()
		if err != nil {
			return err
		}
		for _, ns := range namespaces {
			if err := view.RaiseID(catalog.Scope{}, ast.DefNamespace, ns.ID); err != nil {
				return err
			}
			dbs, err := view.Databases(ns)
			if err != nil {
				return err
			}
			for _, db := range dbs {
				if err := r.recoverDatabase(view, db, lost); err != nil {
					return err
				}
			}
		}
		slices.Sort(r.done.Recovered)
		return nil
	})
}

func (r *repairer) recoverDatabase(view *catalog.View, db *catalog.Database, lost map[place]string) error {
	if err := view.RaiseID(db.NS.Inner(), ast.DefDatabase, db.ID); err != nil {
		return err
	}
	for at, name := range lost {
		if at.ns != db.Scope.NS || at.db != db.ID {
			continue
		}
		taken, err := view.TableID(db, name)
		if err != nil {
			return err
		}
		if taken != 0 {
			continue
		}
		if err := view.PutTableAs(db, name, at.tb); err != nil {
			return err
		}
		r.done.Recovered = append(r.done.Recovered, name)
	}
	for at := range r.s.names {
		if at.ns == db.Scope.NS && at.db == db.ID {
			if err := view.RaiseID(db.Inner(), ast.DefTable, at.tb); err != nil {
				return err
			}
		}
	}
	for at := range r.s.indexes {
		if at.ns == db.Scope.NS && at.db == db.ID {
			if err := view.RaiseID(catalog.Scope{NS: at.ns, DB: at.db, TB: at.tb}, ast.DefIndex, at.ix); err != nil {
				return err
			}
		}
	}
	return nil
}

// deriveAll makes index entries, edges, references and counters.
func (r *repairer) deriveAll() error {
	c := &checker{ctx: r.ctx, tx: r.tx, s: r.s}
	for at, t := range r.s.tables {
		err := c.eachRecord(t, func(id, doc value.Value) error {
			t.records++
			return r.deriveRecord(t, id, doc)
		})
		if err != nil {
			return err
		}
		if err := r.putCounter(at, int64(t.records)); err != nil {
			return err
		}
		for _, ix := range t.indexes {
			if ix.Define.Kind == ast.IndexCount {
				if err := r.putCounter(place{at.ns, at.db, at.tb, ix.ID}, ix.count); err != nil {
					return err
				}
			}
		}
	}
	if err := r.keepLinks(c); err != nil {
		return err
	}
	return r.flush()
}

func (r *repairer) deriveRecord(t *table, id, doc value.Value) error {
	for _, ix := range t.indexes {
		switch {
		case ix.Define.Kind == ast.IndexCount:
			yes, err := ix.counts(r.ctx, doc)
			if err == nil && yes {
				ix.count++
			}
		case ix.checked():
			// What cannot be evaluated has no entry; the check afterwards says so.
			var fault error
			if err := ix.entriesOf(r.ctx, id, doc, func(k, stored []byte) error {
				fault = r.put(k, stored)
				return fault
			}); err != nil && fault != nil {
				return fault
			}
		}
	}
	if t.Define.Kind == ast.TableRelation {
		if e, ok := r.s.edgeOf(t, id, doc); ok {
			if err := r.link(&e); err != nil {
				return err
			}
		}
	}
	return t.referencesOf(r.s, id, doc, func(k []byte, target *value.RecordID, tb uint32) error {
		there, err := r.tx.Get(key.Record(nil, t.at.ns, t.at.db, tb, target.Key))
		if err != nil || there == nil {
			return err
		}
		return r.put(k, nil)
	})
}

// link puts both entries of an edge, at those ends whose tables are known.
func (r *repairer) link(e *edge) error {
	for dir, node := range map[key.Direction]uint32{key.Out: e.in.tb, key.In: e.out.tb} {
		if r.s.names[place{e.at.ns, e.at.db, node, 0}] == "" {
			continue
		}
		if err := r.put(e.entry(dir)); err != nil {
			return err
		}
	}
	return nil
}

// keepLinks takes over what only the old entries tell: which records of tables that are not TYPE
// RELATION are edges, and references to what is not there.
func (r *repairer) keepLinks(c *checker) error {
	old, err := txn.Begin(r.ctx, r.old, txn.Options{})
	if err != nil {
		return err
	}
	defer old.Cancel()
	from := &checker{ctx: r.ctx, tx: old}
	err = from.each([]byte{byte(key.ClassEdge)}, func(k, v []byte) error {
		e, err := decodeEdge(placeOf(k), k, v)
		t := r.s.tables[e.at]
		if err != nil || t == nil || t.Define.Kind == ast.TableRelation {
			return nil
		}
		doc, err := c.load(e.at, e.id)
		if err != nil || doc.IsNone() {
			return err
		}
		if own, ok := r.s.edgeOf(t, e.id, doc); !ok || !slices.EqualFunc(own.canonical(), e.canonical(), bytes.Equal) {
			return nil
		}
		return r.link(&e)
	})
	if err != nil {
		return err
	}
	return from.each([]byte{byte(key.ClassReference)}, func(k, _ []byte) error {
		tb, _, id, err := key.DecodeReference(k)
		at := placeOf(k)
		t := r.s.tables[place{at.ns, at.db, tb, 0}]
		if err != nil || t == nil {
			return nil
		}
		doc, err := c.load(t.at, id)
		if err != nil || doc.IsNone() {
			return err
		}
		return t.referencesOf(r.s, id, doc, func(want []byte, _ *value.RecordID, _ uint32) error {
			if bytes.Equal(want, k) {
				return r.put(want, nil)
			}
			return nil
		})
	})
}

func (r *repairer) putCounter(at place, n int64) error {
	return r.put(key.Counter(nil, at.ns, at.db, at.tb, at.ix, 0), kv.AppendCounter(nil, n))
}

// A batch of a repair has at most so many keys or bytes.
const (
	repairKeys  = 20_000
	repairBytes = 16 << 20
)

// put writes one key, in batches. It copies both.
func (r *repairer) put(k, v []byte) error {
	r.writes = append(r.writes, kv.Write{Key: bytes.Clone(k), Value: append([]byte{}, v...)})
	if r.size += len(k) + len(v); len(r.writes) < repairKeys && r.size < repairBytes {
		return nil
	}
	return r.flush()
}

func (r *repairer) flush() error {
	if len(r.writes) == 0 {
		return nil
	}
	slices.SortStableFunc(r.writes, func(a, b kv.Write) int { return bytes.Compare(a.Key, b.Key) })
	once := slices.CompactFunc(r.writes, func(a, b kv.Write) bool { return bytes.Equal(a.Key, b.Key) })
	if _, err := r.store.Commit(r.ctx, &kv.Batch{Writes: once}); err != nil {
		return fmt.Errorf("repair: %w", err)
	}
	r.done.Rebuilt += uint64(len(once))
	r.writes, r.size = nil, 0
	return nil
}
