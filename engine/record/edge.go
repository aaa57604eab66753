package record

import (
	"context"
	"fmt"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/inside"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// ends are the two nodes of an edge.
type ends struct{ in, out *value.RecordID }

// edgeOf says between which nodes a record is an edge; nil where it is a plain record. A plain record may well have
// fields called in and out: it is an edge when an adjacency entry of it is there. One may be gone with the table of its
// node.
func (g *Gate) edgeOf(tb *catalog.Table, id *value.RecordID, doc value.Value) (*ends, error) {
	if tb.Define.Kind == ast.TableNormal {
		return nil, nil
	}
	in, out := inside.Field(doc, "in"), inside.Field(doc, "out")
	if in.Kind() != value.KindRecord || out.Kind() != value.KindRecord {
		return nil, nil
	}
	e := &ends{in: in.Record(), out: out.Record()}
	linked := false
	err := g.eachEntry(tb.Inner(), id.Key, e, func(entry []byte) (bool, error) {
		raw, err := g.Tx.Get(entry)
		linked = raw != nil
		return !linked, err
	})
	if !linked || err != nil {
		return nil, err
	}
	return e, nil
}

// eachEntry calls f with the keys of the two adjacency entries of an edge of a table, as far as the tables of its nodes
// are there, until f answers false. A key is valid during the call.
func (g *Gate) eachEntry(of catalog.Scope, edge value.Value, e *ends, f func(entry []byte) (bool, error)) error {
	for _, end := range [2]struct {
		node *value.RecordID
		dir  key.Direction
	}{{e.in, key.Out}, {e.out, key.In}} {
		node, err := g.Cat.TableID(g.DB, end.node.Table)
		if err != nil {
			return err
		}
		if node == 0 {
			continue
		}
		g.keybuf = key.Edge(g.keybuf[:0], of.NS, of.DB, node, end.node.Key, end.dir, of.TB, edge)
		if more, err := f(g.keybuf); !more || err != nil {
			return err
		}
	}
	return nil
}

// Ends are the two nodes of a record that is an edge, or looks like one; nil where it does not, is missing, or is
// hidden from the caller. An end whose field is hidden from the caller is nil.
func (g *Gate) Ends(ctx context.Context, id *value.RecordID) (in, out *value.RecordID, err error) {
	tb, err := g.Cat.Table(g.DB, id.Table)
	if tb == nil || err != nil {
		return nil, nil, err
	}
	doc, err := g.read(tb, id.Key)
	if err != nil || doc.IsNone() {
		return nil, nil, err
	}
	i, o := inside.Field(doc, "in"), inside.Field(doc, "out")
	if i.Kind() != value.KindRecord || o.Kind() != value.KindRecord {
		return nil, nil, nil
	}
	if !g.Env.CanRead() {
		seen, ok, err := g.shows(ctx, tb, id, doc)
		if !ok || err != nil {
			return nil, nil, err
		}
		return end(seen, "in"), end(seen, "out"), nil
	}
	return i.Record(), o.Record(), nil
}

// end is one end of an edge as its record shows it; nil where it does not.
func end(doc value.Value, name string) *value.RecordID {
	v := inside.Field(doc, name)
	if v.Kind() != value.KindRecord {
		return nil
	}
	return v.Record()
}

// checkEnds holds an edge of an ENFORCED table to nodes that exist. An import may bring edges before their nodes.
func (g *Gate) checkEnds(w *Write) error {
	if g.Import || w.In == nil || !w.creates() || !w.Table.Define.Enforced {
		return nil
	}
	for _, end := range [2]*value.RecordID{w.In, w.Out} {
		tb, err := g.Cat.Table(g.DB, end.Table)
		if err != nil {
			return err
		}
		ok := false
		if tb != nil {
			if ok, err = g.Exists(tb, end.Key); err != nil {
				return err
			}
		}
		if !ok {
			return errs.RecordNotFound(value.RecordOf(end).Text())
		}
	}
	return nil
}

// linkEnds writes the two adjacency entries of an edge.
func (g *Gate) linkEnds(w *Write) error {
	in, err := g.Cat.NameTable(g.DB, w.In.Table)
	if err != nil {
		return err
	}
	out, err := g.Cat.NameTable(g.DB, w.Out.Table)
	if err != nil {
		return err
	}
	s := w.Table.Scope
	g.keybuf = key.Edge(g.keybuf[:0], s.NS, s.DB, in, w.In.Key, key.Out, w.Table.ID, w.ID.Key)
	if err := g.Tx.Set(g.keybuf, key.EdgeEnd(nil, out, w.Out.Key)); err != nil {
		return fmt.Errorf("link an edge: %w", err)
	}
	g.keybuf = key.Edge(g.keybuf[:0], s.NS, s.DB, out, w.Out.Key, key.In, w.Table.ID, w.ID.Key)
	if err := g.Tx.Set(g.keybuf, key.EdgeEnd(nil, in, w.In.Key)); err != nil {
		return fmt.Errorf("link an edge: %w", err)
	}
	return nil
}

// unlink removes a deleted record's own adjacency entries, if it is an edge, and deletes the edges that end at it.
func (g *Gate) unlink(ctx context.Context, tb *catalog.Table, id *value.RecordID, doc value.Value) error {
	e, err := g.edgeOf(tb, id, doc)
	if err != nil {
		return err
	}
	if e != nil {
		if err := g.unlinkEnds(tb.Inner(), id.Key, e); err != nil {
			return err
		}
	}
	edges, err := g.edgesOf(tb, id)
	if err != nil {
		return err
	}
	for _, e := range edges {
		if err := g.removeEdge(ctx, e); err != nil {
			return g.veiled(err, "An edge of a record of table `%s` cannot be deleted", tb.Name)
		}
	}
	return nil
}

// removeEdge deletes an edge whose node is deleted. One that the caller may not delete stays, as it would if it were
// deleted by itself: to refuse would tell of edges that are hidden, and one reader could keep another from deleting
// what is its own.
func (g *Gate) removeEdge(ctx context.Context, id *value.RecordID) error {
	tb, err := g.Cat.Table(g.DB, id.Table)
	if tb == nil || err != nil {
		return err
	}
	doc, err := g.load(tb, id.Key)
	if err != nil || doc.IsNone() {
		return err
	}
	_, err = g.Delete(ctx, tb, id, doc)
	return err
}

func (g *Gate) unlinkEnds(of catalog.Scope, edge value.Value, e *ends) error {
	return g.eachEntry(of, edge, e, func(entry []byte) (bool, error) {
		if err := g.Tx.Delete(entry); err != nil {
			return false, fmt.Errorf("unlink an edge: %w", err)
		}
		return true, nil
	})
}

// void reports whether there is nothing in r, which is in one key space. Most records have neither edges nor referrers,
// and those who delete many of them ask for each.
func (g *Gate) void(r kv.Range) (bool, error) {
	start, end := key.PrefixRange(r.Start[:key.SpaceLen(r.Start)])
	return g.Tx.Void(r, kv.Range{Start: start, End: end})
}

// edgesOf are the ids of all edges that end at a record.
func (g *Gate) edgesOf(tb *catalog.Table, id *value.RecordID) ([]*value.RecordID, error) {
	s := tb.Scope
	start, end := key.PrefixRange(key.EdgeNode(nil, s.NS, s.DB, tb.ID, id.Key))
	around := kv.Range{Start: start, End: end}
	if none, err := g.void(around); none || err != nil {
		return nil, err
	}
	cur := g.Tx.Scan(around, txn.ScanOptions{KeysOnly: true})
	defer cur.Close()
	var out []*value.RecordID
	for cur.Next() {
		_, table, k, err := key.DecodeEdge(cur.Key())
		if err != nil {
			return nil, fmt.Errorf("read an edge: %w", err)
		}
		name, err := g.Cat.TableName(g.DB, table)
		if err != nil {
			return nil, err
		}
		if name != "" {
			out = append(out, &value.RecordID{Table: name, Key: k})
		}
	}
	return out, cur.Err()
}

// Linked reports whether any edge ends at a record, including edges hidden from the caller.
//
// SECURITY: it tells of edges that may be hidden. It is for those who may delete the record, and are refused because of
// them.
func (g *Gate) Linked(tb *catalog.Table, id *value.RecordID) (bool, error) {
	edges, err := g.edgesOf(tb, id)
	return len(edges) > 0, err
}

// removeLinked deletes a record together with another one, without a check of the caller's permissions.
func (g *Gate) removeLinked(ctx context.Context, id *value.RecordID) error {
	tb, err := g.Cat.Table(g.DB, id.Table)
	if tb == nil || err != nil {
		return err
	}
	doc, err := g.load(tb, id.Key)
	if err != nil || doc.IsNone() {
		return err
	}
	return g.remove(ctx, tb, id, doc)
}
