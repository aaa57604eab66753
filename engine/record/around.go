package record

import (
	"encoding/binary"
	"fmt"

	"github.com/nacredb/nacre/engine/ast"
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

// Step is Reach at each stop of a list that a step of a path is about to go on from: it reads the edges of the next
// stops together, or the references to them, and then the records that the step looks at.
func (a *Ahead) Step(g *Gate, step *ast.Graph, next []Stop) error {
	several := len(next) > 1 || len(step.Tables) > 1 || step.Dir == ast.DirBoth // ranges
	if a.passes() || !several || g.At != 0 {
		return nil
	}
	next = next[:min(len(next), a.count)]
	most, err := g.around(step, next)
	a.reads(len(next), most)
	return err
}

// Follow is Reach at each element of a list from which the same path is about to be followed.
func (a *Ahead) Follow(g *Gate, next []value.Value, path []ast.Part) error {
	if a.left > 0 {
		a.left--
		return nil
	}
	whole, steps := needs(path)
	if len(steps) == 0 {
		return a.Reach(g, next)
	}
	if a.passes() || len(next) < 2 || g.At != 0 {
		return nil
	}
	next = next[:min(len(next), a.count)]
	stops := make([]Stop, len(next))
	for i := range next {
		stops[i].At = next[i]
	}
	most := mostRecords
	if whole {
		n, err := g.Prefetch(next)
		if err != nil {
			return err
		}
		most = max(n, 1)
	}
	for _, s := range steps {
		n, err := g.around(s, stops)
		if err != nil {
			return err
		}
		most = min(most, n)
	}
	a.reads(len(next), most)
	return nil
}

// needs says what a path looks at first of a record: whether at the record itself, and the steps that it takes from
// there.
func needs(path []ast.Part) (whole bool, steps []*ast.Graph) {
	if len(path) == 0 {
		return true, nil
	}
	switch p := path[0].(type) {
	case *ast.PartGraph:
		return false, []*ast.Graph{p.Graph}
	case *ast.PartRecurse:
		if p.Recurse.Path != nil {
			return needs(p.Recurse.Path.Parts)
		}
		return needs(path[1:])
	case *ast.PartDestructure:
		for i := range p.Fields {
			if id, ok := p.Fields[i].Expr.(*ast.Idiom); ok {
				_, more := needs(id.Parts)
				steps = append(steps, more...)
			}
		}
	}
	return true, steps
}

// mostRecords bounds the records that are read ahead for a part of a step.
const mostRecords = 256

// SECURITY: around looks at edges and records that may be hidden from the caller. It only has them near: the step reads
// them again, by the rules.

// around reads ahead for one step from several stops. It gives how many stops are good to ask for the next time.
func (g *Gate) around(step *ast.Graph, stops []Stop) (next int, err error) {
	b := bundle{g: g, step: step, looks: !step.Plain() || !g.Env.CanRead()}
	for i := range step.Tables {
		if step.Tables[i].Key != nil { // it is evaluated at each stop
			return mostRecords, nil
		}
	}
	for i := range stops {
		if err := b.add(&stops[i]); err != nil {
			return 0, err
		}
	}
	next = mostRecords
	if len(b.ranges) > 0 {
		var first [][]kv.Pair
		if first, next, err = g.Tx.PrefetchRanges(b.ranges); err != nil {
			return 0, fmt.Errorf("read edges: %w", err)
		}
		for i, pairs := range first {
			b.met(&b.of[i], pairs)
		}
	}
	if err := b.records(); err != nil || !b.looks || len(b.owns) == 0 {
		return next, err
	}
	b.keys = b.keys[:0]
	if err := b.addEnds(); err != nil {
		return 0, err
	}
	return next, b.records()
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
}

// origin is what a range begins at.
type origin struct {
	node int    // where the node ends in its keys
	own  []byte // the key of the record there, which may be an edge itself: it is read if there is nothing in the range
}

func (b *bundle) add(s *Stop) error {
	at := s.At
	if at.Kind() == value.KindObject {
		at = field(at, "id")
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
		o := origin{node: len(from) - 1, own: own}
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
		raw, there, _ := b.g.Tx.AtHand(k)
		if !there {
			continue
		}
		doc, err := decode(raw)
		if err != nil {
			continue // who asks for it hears of that
		}
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

// met adds the records that the step looks at, as the first pairs of a range show them.
func (b *bundle) met(o *origin, pairs []kv.Pair) {
	if len(pairs) == 0 {
		b.addOwn(o.own)
	}
	if !b.looks {
		return
	}
	space := b.g.DB.Inner()
	for _, p := range pairs {
		if b.step.Dir == ast.DirRef {
			if tb, _, k, err := key.DecodeReference(p.Key); err == nil {
				b.keys = append(b.keys, key.Record(nil, space.NS, space.DB, tb, k))
			}
			continue
		}
		if _, id, err := key.EdgeIDAfter(p.Key, o.node); err == nil { // else the walk says so
			b.keys = append(b.keys, key.RecordOf(nil, space.NS, space.DB, id))
		}
	}
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
	a.reads(len(keys), most)
	return err
}
