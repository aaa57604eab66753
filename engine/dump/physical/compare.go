package physical

import (
	"bytes"
	"slices"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/index/fulltext"
	"github.com/nacredb/nacre/engine/index/vector"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// compare holds what was counted against each other, and looks closely where it differs.
func (c *checker) compare() error {
	linked, noted := map[place]bool{}, map[place]bool{}
	for at, t := range c.s.tables {
		if t.rows != int64(t.records) {
			c.rep.find(FindCounter, "table %s has %d records, its counter says %d", t.Name, t.records, t.rows)
		}
		for _, ix := range t.indexes {
			if err := c.compareIndex(ix); err != nil {
				return err
			}
		}
		if t.Define.View != nil {
			if err := c.compareView(t); err != nil {
				return err
			}
		}
		// Whether a record of a table that is not TYPE RELATION is an edge, only the entries tell:
		// those always need a close look.
		if t.out != t.in || t.Define.Kind == ast.TableRelation && t.linked != t.out ||
			t.Define.Kind != ast.TableRelation && t.out.n > 0 {
			linked[at] = true
		}
		if t.refs != t.noted {
			noted[at] = true
		}
	}
	if len(linked) > 0 {
		if err := c.lookAtEdges(linked); err != nil {
			return err
		}
	}
	if len(noted) > 0 {
		return c.lookAtReferences(noted)
	}
	return nil
}

func (c *checker) compareIndex(ix *keptIndex) error {
	switch {
	case ix.Build.State == catalog.Failed, ix.Define.Kind == ast.IndexCount && !ix.whole():
		return nil
	case ix.Define.Kind == ast.IndexCount:
		if ix.count != ix.counter {
			c.rep.find(FindCounter, "index %s of %s counts %d records, there are %d", ix.Name, ix.tb.Name, ix.counter, ix.count)
		}
		return nil
	case ix.Define.Kind == ast.IndexFullText:
		return c.compareText(ix)
	case ix.Define.Vector != nil:
		return c.compareVectors(ix)
	case !ix.checked() || ix.expected == ix.actual:
		return nil
	}
	found := c.rep.Found
	if err := c.extraEntries(ix); err != nil {
		return err
	}
	if !ix.whole() {
		return nil
	}
	if err := c.missingEntries(ix); err != nil {
		return err
	}
	if c.rep.Found == found {
		c.rep.find(FindMissing, "index %s of %s has %d entries, the records account for %d", ix.Name, ix.tb.Name,
			ix.actual.n, ix.expected.n)
	}
	return nil
}

// compareView works out again what the rows of a view are.
func (c *checker) compareView(t *table) error {
	if !record.Retold(t.Table, c.opt.Language.Pure) {
		c.rep.skip("view %s: its rows follow from more than the records of its tables, and are not worked out again", t.Name)
		return nil
	}
	err := t.gate.CheckView(c.ctx, t.Table, func(text string) { c.rep.find(FindView, "view %s: %s", t.Name, text) })
	if err != nil && c.ctx.Err() == nil {
		c.rep.skip("view %s: %v", t.Name, err)
		return nil
	}
	return err
}

// compareText looks at a full-text index, whose records were looked at already.
func (c *checker) compareText(ix *keptIndex) error {
	n, err := fulltext.Open(c.tx, ix.tb.Table, ix.Index).Check(c.ctx, func(text string) {
		c.rep.find(FindExtra, "index %s of %s: %s", ix.Name, ix.tb.Name, text)
	})
	if err == nil && n != int64(ix.tb.records) && ix.whole() {
		c.rep.find(FindExtra, "index %s has %d documents, %s has %d records", ix.Name, n, ix.tb.Name, ix.tb.records)
	}
	return err
}

// compareVectors looks at a vector index, whose records were looked at already.
func (c *checker) compareVectors(ix *keptIndex) error {
	x, err := vector.Open(ix.tb.gate.Vectors, c.tx, ix.tb.Table, ix.Index)
	if err != nil {
		c.rep.skip("index %s of %s: %v", ix.Name, ix.tb.Name, err)
		return nil
	}
	n, err := x.Check(c.ctx,
		func(text string) { c.rep.find(FindExtra, "index %s of %s: %s", ix.Name, ix.tb.Name, text) })
	if err == nil && n != ix.count && ix.whole() {
		c.rep.find(FindExtra, "index %s has %d vectors, the records of %s have %d", ix.Name, n, ix.tb.Name, ix.count)
	}
	return err
}

// each calls f with all keys that start with prefix.
func (c *checker) each(prefix []byte, f func(k, v []byte) error) error {
	start, end := key.PrefixRange(prefix)
	cur := c.tx.Scan(kv.Range{Start: start, End: end}, txn.ScanOptions{})
	defer cur.Close()
	for n := 1; cur.Next(); n++ {
		if n&255 == 0 && c.ctx.Err() != nil {
			return c.ctx.Err()
		}
		if err := f(cur.Key(), cur.Value()); err != nil {
			return err
		}
	}
	return cur.Err()
}

// load reads a record that can be read; NONE otherwise.
func (c *checker) load(at place, id value.Value) (value.Value, error) {
	raw, err := c.tx.Get(key.Record(nil, at.ns, at.db, at.tb, id))
	if err != nil || raw == nil || value.CheckRecord(raw) != nil {
		return value.None, err
	}
	return document(raw)
}

// extraEntries finds the entries of an index that no record accounts for.
func (c *checker) extraEntries(ix *keptIndex) error {
	at := ix.tb.at
	return c.each(key.IndexUnique(nil, at.ns, at.db, at.tb, ix.ID, nil), func(k, stored []byte) error {
		id, err := key.DecodeIndex(k, bytes.TrimPrefix(stored, []byte{0}), len(ix.Define.Fields))
		if err != nil {
			return nil // reported already
		}
		doc, err := c.load(at, id)
		if err != nil {
			return err
		}
		if doc.IsNone() {
			c.rep.find(FindExtra, "index %s has an entry for %s, which is not there", ix.Name, idText(ix.tb.Name, id))
			return nil
		}
		accounted := false
		err = ix.entriesOf(c.ctx, id, doc, func(ek, es []byte) error {
			accounted = accounted || bytes.Equal(ek, k) && bytes.Equal(es, stored)
			return nil
		})
		if err == nil && !accounted {
			c.rep.find(FindExtra, "index %s has an entry for %s with other values than the record", ix.Name, idText(ix.tb.Name, id))
		}
		return nil // what cannot be evaluated was reported already
	})
}

// missingEntries finds the entries that records account for and an index has not.
func (c *checker) missingEntries(ix *keptIndex) error {
	return c.eachRecord(ix.tb, func(id, doc value.Value) error {
		missing := false
		var fault error
		err := ix.entriesOf(c.ctx, id, doc, func(k, stored []byte) error {
			got, err := c.tx.Get(k)
			fault = err
			missing = missing || got == nil || !bytes.Equal(got, stored)
			return err
		})
		if err == nil && missing {
			c.rep.find(FindMissing, "index %s has not all entries of %s", ix.Name, idText(ix.tb.Name, id))
		}
		return fault
	})
}

// eachRecord calls f with the records of a table that can be read.
func (c *checker) eachRecord(t *table, f func(id, doc value.Value) error) error {
	return c.each(key.RecordPrefix(nil, t.at.ns, t.at.db, t.at.tb), func(k, raw []byte) error {
		id, err := key.DecodeRecord(k)
		if err != nil || value.CheckRecord(raw) != nil {
			return nil // reported already
		}
		doc, err := document(raw)
		if err != nil {
			return nil
		}
		return f(id, doc)
	})
}

// lookAtEdges looks at every edge of some tables from all three sides.
func (c *checker) lookAtEdges(tables map[place]bool) error {
	err := c.each([]byte{byte(key.ClassEdge)}, func(k, v []byte) error {
		e, err := decodeEdge(placeOf(k), k, v)
		if err != nil || !tables[e.at] || c.s.removed(placeOf(k)) {
			return nil
		}
		return c.lookAtEntry(c.s.tables[e.at], &e)
	})
	if err != nil {
		return err
	}
	for at := range tables {
		t := c.s.tables[at]
		if t.Define.Kind != ast.TableRelation {
			continue
		}
		err := c.eachRecord(t, func(id, doc value.Value) error {
			e, ok := c.s.edgeOf(t, id, doc)
			if !ok {
				return nil
			}
			for _, dir := range []key.Direction{key.Out, key.In} {
				if gone, err := c.mayHaveGone(&e, dir); gone || err != nil {
					return err
				}
			}
			for _, dir := range []key.Direction{key.Out, key.In} {
				if err := c.expectEntry(t, &e, dir, "its record"); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// lookAtEntry holds one adjacency entry against the edge's record and the entry at the other end.
func (c *checker) lookAtEntry(t *table, e *edge) error {
	name := idText(t.Name, e.id)
	doc, err := c.load(t.at, e.id)
	if err != nil {
		return err
	}
	if doc.IsNone() {
		c.rep.find(FindEdge, "%s is linked to its ends, but is not there", name)
		return nil
	}
	own, ok := c.s.edgeOf(t, e.id, doc)
	if !ok || !slices.EqualFunc(own.canonical(), e.canonical(), bytes.Equal) {
		if c.s.names[place{e.at.ns, e.at.db, e.in.tb, 0}] != "" &&
			c.s.names[place{e.at.ns, e.at.db, e.out.tb, 0}] != "" {
			c.rep.find(FindEdge, "%s is linked to other ends than its record says", name)
		}
		return nil
	}
	other := key.Out
	if e.dir == key.Out {
		other = key.In
	}
	return c.expectEntry(t, e, other, "the other end")
}

// mayHaveGone reports whether an entry of an edge is not the one that its record leads to because the table of a node
// was removed and made again. What is left at the other node then tells of the former table; when the tables of both
// nodes went, nothing does, and it is enough that tables were removed.
func (c *checker) mayHaveGone(e *edge, dir key.Direction) (bool, error) {
	k, want := e.entry(dir)
	got, err := c.tx.Get(k)
	if err != nil || bytes.Equal(got, want) {
		return false, err
	}
	if got == nil {
		return c.s.gaps[place{ns: e.at.ns, db: e.at.db}] && !c.linkedAnywhere(e), nil
	}
	tb, other, err := key.DecodeEdgeEnd(got)
	if err != nil {
		return false, nil // found as a malformed key
	}
	node := e.out
	if dir == key.In {
		node = e.in
	}
	return tb != node.tb && value.Equal(other, node.key) && c.s.names[place{e.at.ns, e.at.db, tb, 0}] == "", nil
}

// linkedAnywhere reports whether an edge has an entry that names its ends as they are now.
func (c *checker) linkedAnywhere(e *edge) bool {
	for _, dir := range []key.Direction{key.Out, key.In} {
		k, want := e.entry(dir)
		if got, err := c.tx.Get(k); err == nil && bytes.Equal(got, want) {
			return true
		}
	}
	return false
}

// expectEntry finds fault when an entry of an edge is missing. A node of a table that is gone has
// none.
func (c *checker) expectEntry(t *table, e *edge, dir key.Direction, says string) error {
	node, side := e.in, "start"
	if dir == key.In {
		node, side = e.out, "end"
	}
	if c.s.names[place{e.at.ns, e.at.db, node.tb, 0}] == "" {
		return nil
	}
	k, want := e.entry(dir)
	got, err := c.tx.Get(k)
	if err != nil {
		return err
	}
	if got == nil || !bytes.Equal(got, want) {
		c.rep.find(FindEdge, "%s is not linked at its %s, against what %s says", idText(t.Name, e.id), side, says)
	}
	return nil
}

// lookAtReferences looks at the references that records of some tables make, from both sides.
func (c *checker) lookAtReferences(tables map[place]bool) error {
	err := c.each([]byte{byte(key.ClassReference)}, func(k, _ []byte) error {
		tb, name, id, err := key.DecodeReference(k)
		at := placeOf(k)
		from := place{at.ns, at.db, tb, 0}
		if err != nil || !tables[from] || c.s.removed(at) {
			return nil
		}
		t := c.s.tables[from]
		doc, err := c.load(from, id)
		if err != nil {
			return err
		}
		told := false
		if !doc.IsNone() {
			if err := t.referencesOf(c.s, id, doc, func(want []byte, _ *value.RecordID, _ uint32) error {
				told = told || bytes.Equal(want, k)
				return nil
			}); err != nil {
				return err
			}
		}
		if !told {
			c.rep.find(FindReference, "field %s of %s is noted as a reference that the record does not hold", name, idText(t.Name, id))
		}
		return nil
	})
	for at := range tables {
		if err != nil {
			return err
		}
		err = c.missingReferences(c.s.tables[at])
	}
	return err
}

// missingReferences finds references without an entry. Where the field says ON DELETE IGNORE that
// is as it should be: the target may have been deleted and made again.
func (c *checker) missingReferences(t *table) error {
	ignored := func(k []byte) bool {
		_, name, _, err := key.DecodeReference(k)
		f := t.Field(name)
		return err != nil || f == nil || f.Define.Reference == nil || f.Define.Reference.Action == ast.ReferenceIgnore
	}
	return c.eachRecord(t, func(id, doc value.Value) error {
		return t.referencesOf(c.s, id, doc, func(k []byte, target *value.RecordID, tb uint32) error {
			got, err := c.tx.Get(k)
			if err != nil || got != nil || ignored(k) {
				return err
			}
			there, err := c.tx.Get(key.Record(nil, t.at.ns, t.at.db, tb, target.Key))
			if err == nil && there != nil {
				c.rep.find(FindReference, "%s points at %s, which is not noted there", idText(t.Name, id),
					value.RecordOf(target).Text())
			}
			return err
		})
	})
}
