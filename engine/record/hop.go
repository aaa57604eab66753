package record

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// Direction is which way an edge is looked at, from the node.
type Direction = key.Direction

// The directions of EachEdge.
const (
	Out = key.Out
	In  = key.In
)

// Hop is one edge as a node's adjacency gives it.
type Hop struct {
	Edge  *value.RecordID // nil: see EachEnd
	Other *value.RecordID // the node at the other end; nil where the edge hides it from the caller
	Dir   key.Direction
}

// edgeWalk is the memory of EachEdge, which a gate keeps from one node to the next.
type edgeWalk struct {
	cur      *txn.Cursor // over the last range; nil before the first
	key, val []byte      // of the entry that it is at
	from, to []byte      // of the range
	table    uint32      // the edge table met last, and its name
	name     string
	end      uint32 // the table of the other end met last, and its name
	endName  string
	ids      []value.RecordID // room for those to come
	room     int              // how many were made at once, last

	fills bool // entries are read some at once
	few   [fewEdges]kv.Pair
	ahead []kv.Pair // those of few that are yet to come
}

// fewEdges is how many entries are read at once: most nodes have no more, or many more.
const fewEdges = 16

// begin begins to walk a range.
func (w *edgeWalk) begin(g *Gate, r kv.Range) {
	w.ahead = nil
	w.fills = !g.Tx.Writable() && !g.Tx.Prefetches() // what is walked over would count as read, or hide what is near
	if w.cur == nil {
		w.cur = g.Tx.Scan(r, txn.ScanOptions{})
	} else {
		w.cur.Move(r)
	}
}

// next moves to the next entry.
func (w *edgeWalk) next() bool {
	if !w.fills {
		if !w.cur.Next() {
			return false
		}
		w.key, w.val = w.cur.Key(), w.cur.Value()
		return true
	}
	if len(w.ahead) == 0 {
		if w.ahead = w.few[:w.cur.Fill(w.few[:])]; len(w.ahead) == 0 {
			return false
		}
	}
	w.key, w.val, w.ahead = w.ahead[0].Key, w.ahead[0].Value, w.ahead[1:]
	return true
}

// mostIDs is how many ids are made at once. One that is kept keeps all of them.
const mostIDs = 32

// id makes a record id.
func (w *edgeWalk) id(table string, k value.Value) *value.RecordID {
	if len(w.ids) == 0 {
		w.room = min(max(2*w.room, 4, len(w.ahead)+1), mostIDs)
		w.ids = make([]value.RecordID, w.room)
	}
	id := &w.ids[0]
	w.ids = w.ids[1:]
	id.Table, id.Key = table, k
	return id
}

// EachEdge walks the edges of a node in one direction without touching edge records, in the order of edge tables as
// given (none: all tables by id) and edge keys. keys narrows the edges (nil: all). Edge tables that hide records from
// the caller are looked up, and hidden edges skipped. f answers false to stop.
func (g *Gate) EachEdge(ctx context.Context, node *value.RecordID, dir key.Direction, tables []string,
	keys *value.Range,
	f func(Hop) (bool, error)) error {
	if g.At != 0 {
		return g.eachPastEdge(ctx, node, dir, tables, keys, f)
	}
	tb, err := g.Cat.TableID(g.DB, node.Table)
	if tb == 0 || err != nil {
		return err
	}
	if keys != nil {
		return g.eachInRange(ctx, tb, node, dir, tables, keys, f)
	}
	return g.eachHop(ctx, tb, node, dir, tables, "", f)
}

// EachEnd is EachEdge for who asks for the other ends in a table: their hops have no Edge.
func (g *Gate) EachEnd(ctx context.Context, node *value.RecordID, dir key.Direction, edges []string, to string,
	f func(Hop) (bool, error)) error {
	if g.At != 0 {
		return g.eachPastEdge(ctx, node, dir, edges, nil, f)
	}
	tb, err := g.Cat.TableID(g.DB, node.Table)
	if tb == 0 || err != nil {
		return err
	}
	return g.eachHop(ctx, tb, node, dir, edges, to, f)
}

// eachHop walks the edges of a node of a table. Those that lead to a record of the table to have no Edge.
func (g *Gate) eachHop(ctx context.Context, tb uint32, node *value.RecordID, dir key.Direction, tables []string,
	to string, f func(Hop) (bool, error)) error {
	w := g.startWalk()
	defer func() { g.walk = w }()
	s := g.DB.Inner()
	w.from = key.EdgeDirection(w.from[:0], s.NS, s.DB, tb, node.Key, dir)
	return g.walkTables(ctx, w, tables, g.asHops(w, dir, to, f))
}

// eachInRange is EachEdge for edges of some keys.
func (g *Gate) eachInRange(ctx context.Context, tb uint32, node *value.RecordID, dir key.Direction, tables []string,
	keys *value.Range, f func(Hop) (bool, error)) error {
	w := g.startWalk()
	defer func() { g.walk = w }()
	s := g.DB.Inner()
	w.from = key.EdgeDirection(w.from[:0], s.NS, s.DB, tb, node.Key, dir)
	n := len(w.from) - 1
	for _, name := range tables {
		edge, err := g.Cat.TableID(g.DB, name)
		if err != nil {
			return err
		}
		if edge == 0 {
			continue
		}
		var r kv.Range
		r.Start, r.End = key.EdgeRange(s.NS, s.DB, tb, node.Key, dir, edge, keys)
		if more, err := g.walkEdges(ctx, w, n, r, g.asHops(w, dir, "", f)); !more || err != nil {
			return err
		}
	}
	return nil
}

// asHops gives f the ids of what a walk finds, but for those of edges that lead to a record of the table to.
func (g *Gate) asHops(w *edgeWalk, dir key.Direction, to string, f func(Hop) (bool, error)) func(Link) (bool, error) {
	return func(l Link) (bool, error) {
		h := Hop{Other: l.Named, Dir: dir}
		if l.Other != "" {
			_, k, err := l.Other.Decode()
			if err != nil {
				return false, fmt.Errorf("read an edge: %w", err)
			}
			h.Other = w.id(w.endName, k)
		}
		if h.Other == nil || h.Other.Table != to {
			_, k, err := l.Edge.Decode()
			if err != nil {
				return false, fmt.Errorf("read an edge: %w", err)
			}
			h.Edge = w.id(w.name, k)
		}
		return f(h)
	}
}

// Link is an edge as a node's adjacency has it, its ids not decoded. They are valid until the transaction ends.
type Link struct {
	Edge  key.ID
	Other key.ID          // the node at the other end; "": see Named
	Named *value.RecordID // that node, where its table was removed; nil where the edge hides it from the caller
}

// ID is the id of a record as links have it.
type ID = key.ID

// IDOf is the ID in bytes that do not change while it is used.
func IDOf(b []byte) ID { return key.IDOf(b) }

// PackID appends the ID of a record whose table has the id tb.
func PackID(dst []byte, tb uint32, record value.Value) []byte { return key.EdgeEnd(dst, tb, record) }

// EachLink is EachEdge without ids in full, for a node whose table has an id.
func (g *Gate) EachLink(ctx context.Context, node key.ID, dir key.Direction, tables []string,
	f func(Link) (bool, error)) error {
	w := g.startWalk()
	defer func() { g.walk = w }()
	s := g.DB.Inner()
	w.from = key.EdgeDirectionOf(w.from[:0], s.NS, s.DB, node, dir)
	return g.walkTables(ctx, w, tables, f)
}

// startWalk takes the memory of the walk before.
func (g *Gate) startWalk() *edgeWalk {
	w := g.walk
	g.walk = nil // f, and the permissions of edges, may walk edges themselves
	if w == nil {
		w = &edgeWalk{}
	}
	w.table, w.end = 0, 0 // what f does may change the names of tables
	return w
}

// walkTables walks the edges of some tables (none: all) of the node and in the direction that w.from begins with.
func (g *Gate) walkTables(ctx context.Context, w *edgeWalk, tables []string, f func(Link) (bool, error)) error {
	n := len(w.from) - 1
	if len(tables) == 0 {
		w.to = key.AppendPrefixEnd(w.to[:0], w.from)
		_, err := g.walkEdges(ctx, w, n, kv.Range{Start: w.from, End: w.to}, f)
		return err
	}
	for _, name := range tables {
		edge, err := g.Cat.TableID(g.DB, name)
		if err != nil {
			return err
		}
		if edge == 0 {
			continue
		}
		w.from = binary.BigEndian.AppendUint32(w.from[:n+1], edge)
		w.to = key.AppendPrefixEnd(w.to[:0], w.from)
		if more, err := g.walkEdges(ctx, w, n, kv.Range{Start: w.from, End: w.to}, f); !more || err != nil {
			return err
		}
	}
	return nil
}

// walkEdges walks the edges of a range, all of them of one node, which ends behind n bytes of their keys.
func (g *Gate) walkEdges(ctx context.Context, w *edgeWalk, n int, r kv.Range,
	f func(Link) (bool, error)) (bool, error) {
	w.begin(g, r)
	defer w.cur.Close()
	sees := g.Env.CanRead()
	var ahead hopsAhead
	far := !sees && g.Tx.Prefetches()
	for i := 1; w.next(); i++ {
		if i&255 == 0 && ctx.Err() != nil {
			return false, ctx.Err()
		}
		l, dir, err := g.link(w, n)
		if err != nil {
			return false, err
		}
		if l.Edge == "" {
			continue // the edge table was removed
		}
		if w.endName == "" || !sees {
			if far {
				if err := ahead.pass(g, w, n); err != nil {
					return false, err
				}
			}
			ok, err := g.lookAt(ctx, w, &l, dir, sees)
			if err != nil {
				return false, err
			}
			if !ok {
				continue
			}
		}
		if more, err := f(l); !more || err != nil {
			return false, err
		}
	}
	return true, w.cur.Err()
}

// link reads the adjacency entry that the cursor is at. It has no edge where the table of the edge was removed.
func (g *Gate) link(w *edgeWalk, n int) (l Link, dir key.Direction, err error) {
	dir, edge, err := key.EdgeIDAfter(w.key, n)
	if err != nil {
		return l, dir, fmt.Errorf("read an edge: %w", err)
	}
	if table := edge.Table(); table != w.table {
		if w.name, err = g.Cat.TableName(g.DB, table); err != nil {
			return l, dir, err
		}
		w.table = table
	}
	if w.name == "" {
		return l, dir, nil
	}
	other := w.val
	if len(other) < 5 {
		return l, dir, fmt.Errorf("read an edge: %w", key.ErrMalformed)
	}
	l.Edge, l.Other = edge, key.IDOf(other)
	if end := l.Other.Table(); end != w.end {
		if w.endName, err = g.Cat.TableName(g.DB, end); err != nil {
			return l, dir, err
		}
		w.end = end
	}
	return l, dir, nil
}

// lookAt reads the record of an edge, where the caller may not read everything or the table of the other end was
// removed. It reports whether the caller may see the edge, and takes out the other end where that is hidden.
func (g *Gate) lookAt(ctx context.Context, w *edgeWalk, l *Link, dir key.Direction, sees bool) (bool, error) {
	h := Hop{Dir: dir}
	_, k, err := l.Edge.Decode()
	if err != nil {
		return false, fmt.Errorf("read an edge: %w", err)
	}
	h.Edge = w.id(w.name, k)
	if _, k, err = l.Other.Decode(); err != nil {
		return false, fmt.Errorf("read an edge: %w", err)
	}
	h.Other = w.id(w.endName, k)
	if w.endName == "" {
		if err := g.nameEnd(&h, dir); err != nil {
			return false, err
		}
		l.Other, l.Named = "", h.Other
	}
	if sees {
		return true, nil
	}
	ok, err := g.seesHop(ctx, &h)
	if h.Other == nil {
		l.Other, l.Named = "", nil
	}
	return ok, err
}

var (
	inPath  = []catalog.Step{{Name: "in"}}
	outPath = []catalog.Step{{Name: "out"}}
)

// seesHop reports whether the caller may see an edge and that it begins at the node; it takes out the other end where
// the caller may not see that.
func (g *Gate) seesHop(ctx context.Context, h *Hop) (bool, error) {
	tb, err := g.Cat.Table(g.DB, h.Edge.Table)
	if tb == nil || err != nil {
		return false, err
	}
	if !tb.FieldReads || !tb.HidesPath(inPath) && !tb.HidesPath(outPath) {
		return g.Sees(ctx, h.Edge)
	}
	doc, ok, err := g.shown(ctx, tb, h.Edge)
	if !ok || err != nil {
		return false, err
	}
	here, there := "in", "out"
	if h.Dir == key.In {
		here, there = there, here
	}
	if end(doc, there) == nil {
		h.Other = nil
	}
	return end(doc, here) != nil, nil
}

// nameEnd names the other end of an edge whose table was removed: the record of the edge still does.
func (g *Gate) nameEnd(h *Hop, dir key.Direction) error {
	tb, err := g.Cat.Table(g.DB, h.Edge.Table)
	if tb == nil || err != nil {
		return err
	}
	doc, err := g.load(tb, h.Edge.Key)
	if err != nil {
		return err
	}
	name := "out"
	if dir == key.In {
		name = "in"
	}
	if node := end(doc, name); node != nil {
		h.Other = node
	}
	return nil
}
