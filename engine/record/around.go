package record

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/inside"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/value"
)

// Stop is where a path of steps stands: a record, or a value that a step has made of one. In and Out are the ends of an
// edge that was found by a step; nil: they are not known.
type Stop struct {
	At      value.Value
	In, Out *value.RecordID
}

// Way is the direction of a step, one of the two.
func Way(dir ast.GraphDir) Direction {
	if dir == ast.DirIn {
		return In
	}
	return Out
}

// StopAt is the stop at an edge of the record id that was found in a direction.
func StopAt(h Hop, id *value.RecordID, dir ast.GraphDir) Stop {
	if dir == ast.DirIn {
		return Stop{At: value.RecordOf(h.Edge), In: h.Other, Out: id}
	}
	return Stop{At: value.RecordOf(h.Edge), In: id, Out: h.Other}
}

// End is the known end of an edge in a direction.
func (s *Stop) End(dir ast.GraphDir) *value.RecordID {
	if dir == ast.DirIn {
		return s.In
	}
	return s.Out
}

// Stands lists where stops are.
func Stands(stops []Stop) []value.Value {
	out := make([]value.Value, len(stops))
	for i := range stops {
		out[i] = stops[i].At
	}
	return out
}

// mostReserved is how many stops room is made for before they are found.
const mostReserved = 4096

// Reserve makes room in out, which has what was found from done of all the stops of a list, for what may be found from
// the others. A list that grows step by step is copied several times.
func Reserve(out []Stop, done, all int) []Stop {
	switch {
	case done == 0 && all > 1:
		return slices.Grow(out, min(all, mostReserved))
	case done&(done-1) == 0 && done > 0: // the more are done, the better the guess
		return slices.Grow(out, min(len(out)*(all-done)/done, mostReserved))
	}
	return out
}

// Step is Reach at each stop of a list that a step of a path is about to go on from: it reads the edges of the next
// stops together, or the references to them, and then the records that the step looks at.
func (a *Ahead) Step(g *Gate, step *ast.Graph, next []Stop) error {
	several := len(next) > 1 || len(step.Tables) > 1 || step.Dir == ast.DirBoth // ranges
	if a.passes() || !several || g.At != 0 {
		return nil
	}
	next = next[:min(len(next), a.count)]
	_, most, err := g.around(step, next, false)
	if most == 0 {
		most = mostRecords
	}
	a.Read(len(next), most)
	return err
}

// mostRecords and mostRanges bound the records, and the ranges of edges, that are read ahead for a part of a step.
const (
	mostRecords = 256
	mostRanges  = 256
)

// SECURITY: around looks at edges and records that may be hidden from the caller. It only has them near: the step reads
// them again, by the rules.

// around reads ahead for one step from several stops. It gives where the step leads to, if something follows and what
// it has read says so, and how many stops are good to ask for the next time; 0 where there were no edges to read.
func (g *Gate) around(step *ast.Graph, stops []Stop, follows bool) (found []Stop, next int, err error) {
	b := bundle{g: g, step: step, looks: !step.Plain() || !g.Env.CanRead(), follows: follows}
	for i := range step.Tables {
		if step.Tables[i].Key != nil { // it is evaluated at each stop
			return nil, 0, nil
		}
	}
	for i := range stops {
		if err := b.add(&stops[i]); err != nil {
			return nil, 0, err
		}
	}
	if all := len(b.ranges); all > 0 {
		b.ranges = b.ranges[:min(all, mostRanges)]
		var first [][]kv.Pair
		if first, next, err = g.Tx.PrefetchRanges(b.ranges); err != nil {
			return nil, 0, fmt.Errorf("read edges: %w", err)
		}
		next = max(1, min(next, mostRanges)*len(stops)/all)
		for i, pairs := range first {
			if err := b.met(&b.of[i], pairs); err != nil {
				return nil, 0, err
			}
		}
	}
	if err := b.records(); err != nil || len(b.owns) == 0 || !b.looks && !follows {
		return b.found, next, err
	}
	b.keys = b.keys[:0]
	if err := b.addEnds(); err != nil {
		return nil, 0, err
	}
	return b.found, next, b.records()
}

// bundle is what a step from several stops reads.
type bundle struct {
	g      *Gate
	step   *ast.Graph
	looks  bool // at the records that it finds
	ranges []kv.Range
	of     []origin // of ranges
	keys   [][]byte // of records
	owns   [][]byte // those of stops that may be edges

	follows bool   // something: what is found counts
	found   []Stop // where the step leads to
}

// origin is what a range begins at.
type origin struct {
	id   *value.RecordID
	node int    // where the node ends in its keys
	own  []byte // the key of the record there, which may be an edge itself: it is read if there is nothing in the range
}

func (b *bundle) add(s *Stop) error {
	at := s.At
	if at.Kind() == value.KindObject {
		at = inside.Field(at, "id")
	}
	if at.Kind() != value.KindRecord || at.Record().Key.Kind() == value.KindRange {
		return nil
	}
	id := at.Record()
	tb, err := b.g.Cat.TableID(b.g.DB, id.Table)
	if tb == 0 || err != nil {
		return err
	}
	if b.step.Dir == ast.DirRef {
		return b.addReferences(tb, id)
	}
	if b.step.Any {
		return b.addEdges(tb, s, id, "")
	}
	for i := range b.step.Tables {
		if err := b.addEdges(tb, s, id, b.step.Tables[i].Table); err != nil {
			return err
		}
	}
	return nil
}

// addEdges adds the edges of a table (none: of all) of a node, and its ends where it is an edge itself.
func (b *bundle) addEdges(tb uint32, s *Stop, id *value.RecordID, table string) error {
	space := b.g.DB.Inner()
	var own []byte
	if s.In == nil { // else its ends are known
		own = key.Record(nil, space.NS, space.DB, tb, id.Key)
	}
	edge, err := uint32(0), error(nil)
	if table != "" {
		if edge, err = b.g.Cat.TableID(b.g.DB, table); err != nil {
			return err
		}
	}
	for _, dir := range [2]key.Direction{In, Out} {
		end := s.In
		if dir == Out {
			end = s.Out
		}
		switch {
		case b.step.Dir == ast.DirIn && dir == Out, b.step.Dir == ast.DirOut && dir == In:
			continue
		case end != nil && end.Table == table:
			if err := b.addRecord(end); err != nil {
				return err
			}
			continue
		case table != "" && edge == 0:
			b.addOwn(own)
			continue
		}
		from := key.EdgeDirection(nil, space.NS, space.DB, tb, id.Key, dir)
		o := origin{id: id, node: len(from) - 1, own: own}
		if table == "" { // the ends go with the edges
			b.addOwn(own)
			o.own = nil
		} else {
			from = binary.BigEndian.AppendUint32(from, edge)
		}
		b.ranges = append(b.ranges, kv.Range{Start: from, End: key.AppendPrefixEnd(nil, from)})
		b.of = append(b.of, o)
	}
	return nil
}

// addReferences adds the references to a record.
func (b *bundle) addReferences(tb uint32, id *value.RecordID) error {
	space := b.g.DB.Inner()
	for i := range b.step.Tables {
		t := &b.step.Tables[i]
		name := ""
		if t.Field != nil {
			name = ast.Text(t.Field)
		}
		from, err := b.g.Cat.Table(b.g.DB, t.Table)
		if err != nil {
			return err
		}
		if from == nil {
			continue
		}
		for _, f := range from.Fields {
			if f.Define.Reference != nil && (name == "" || f.Name == name) {
				start, end := key.ReferenceRange(space.NS, space.DB, tb, id.Key, from.ID, f.Name, nil)
				b.ranges = append(b.ranges, kv.Range{Start: start, End: end})
				b.of = append(b.of, origin{})
			}
		}
	}
	return nil
}

// addRecord adds a record that the step finds.
func (b *bundle) addRecord(id *value.RecordID) error {
	if b.follows {
		b.found = append(b.found, Stop{At: value.RecordOf(id)})
	}
	if !b.looks || id.Key.Kind() == value.KindRange {
		return nil
	}
	tb, err := b.g.Cat.Table(b.g.DB, id.Table)
	if tb != nil {
		b.keys = append(b.keys, key.Record(nil, tb.Scope.NS, tb.Scope.DB, tb.ID, id.Key))
	}
	return err
}

// addOwn adds the record of a stop by its key, where there is one.
func (b *bundle) addOwn(k []byte) {
	if k != nil {
		b.keys, b.owns = append(b.keys, k), append(b.owns, k)
	}
}

// addEnds adds the ends of the stops that are edges, as far as those are at hand.
func (b *bundle) addEnds() error {
	for _, k := range b.owns {
		doc := b.g.atHand(k)
		for _, name := range [2]string{"in", "out"} {
			id := end(doc, name)
			if id == nil || b.step.Dir == ast.DirIn && name == "out" || b.step.Dir == ast.DirOut && name == "in" {
				continue
			}
			if err := b.addRecord(id); err != nil {
				return err
			}
		}
	}
	return nil
}

// met adds what the first pairs of a range show: where they lead to, and the records that the step looks at.
func (b *bundle) met(o *origin, pairs []kv.Pair) error {
	if len(pairs) == 0 {
		b.addOwn(o.own)
	}
	space := b.g.DB.Inner()
	for _, p := range pairs {
		if b.step.Dir == ast.DirRef {
			tb, _, k, err := key.DecodeReference(p.Key)
			if err != nil {
				continue // the walk says so
			}
			if b.looks {
				b.keys = append(b.keys, key.Record(nil, space.NS, space.DB, tb, k))
			}
			if err := b.lead(tb, k, Stop{}); err != nil {
				return err
			}
			continue
		}
		dir, edge, err := key.EdgeIDAfter(p.Key, o.node)
		if err != nil {
			continue
		}
		if b.looks {
			b.keys = append(b.keys, key.RecordOf(nil, space.NS, space.DB, edge))
		}
		if err := b.meet(o, dir, edge, p.Value); err != nil {
			return err
		}
	}
	return nil
}

// meet adds an edge of a node to what is found, with its ends. Where anything of it is damaged, the walk says so.
func (b *bundle) meet(o *origin, dir key.Direction, edge key.ID, other []byte) error {
	if !b.follows {
		return nil
	}
	tb, k, err := edge.Decode()
	if err != nil {
		return nil //nolint:nilerr // as said above
	}
	s := Stop{In: o.id}
	if end, far, err := key.DecodeEdgeEnd(other); err == nil {
		name, err := b.g.Cat.TableName(b.g.DB, end)
		if err != nil {
			return err
		}
		s.Out = &value.RecordID{Table: name, Key: far}
	}
	if dir == In {
		s.In, s.Out = s.Out, s.In
	}
	return b.lead(tb, k, s)
}

// lead adds a record of a table to what is found; s are its ends.
func (b *bundle) lead(tb uint32, k value.Value, s Stop) error {
	if !b.follows {
		return nil
	}
	name, err := b.g.Cat.TableName(b.g.DB, tb)
	if name == "" || err != nil {
		return err
	}
	s.At = value.RecordOf(&value.RecordID{Table: name, Key: k})
	b.found = append(b.found, s)
	return nil
}

// records reads the records in parts, as Ahead does: only the first if those are large.
func (b *bundle) records() error {
	keys := b.keys[:min(len(b.keys), 2*mostRecords)]
	for n := firstAhead; len(keys) > 1; n = min(4*n, mostRecords) {
		part := keys[:min(n, len(keys))]
		most, err := b.g.Tx.Prefetch(part)
		if err != nil {
			return fmt.Errorf("read records: %w", err)
		}
		if keys = keys[len(part):]; most < mostRecords {
			break
		}
	}
	return nil
}

// hopsAhead reads the records of edges ahead for a walk over the edges of one node that looks at them.
type hopsAhead struct{ Ahead }

// pass must be called at each edge of the walk; the node ends behind n bytes of its keys.
func (a *hopsAhead) pass(g *Gate, w *edgeWalk, n int) error {
	if a.passes() {
		return nil
	}
	space := g.DB.Inner()
	var keys [][]byte
	add := func(k []byte) {
		if _, id, err := key.EdgeIDAfter(k, n); err == nil {
			keys = append(keys, key.RecordOf(nil, space.NS, space.DB, id))
		}
	}
	add(w.cur.Key())
	for _, p := range w.cur.Peek(a.count - 1) {
		add(p.Key)
	}
	if len(keys) < 2 {
		return nil
	}
	most, err := g.Tx.Prefetch(keys)
	a.Read(len(keys), most)
	return err
}
