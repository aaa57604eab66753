package record

import (
	"encoding/binary"
	"fmt"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/inside"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/value"
)

// Follow is Reach at each element of a list from which the same paths are about to be followed, one element after the
// other. It reads what the first step of a path meets from all of them, then what the next step meets, and so on.
func (a *Ahead) Follow(g *Gate, next []value.Value, paths ...[]ast.Part) error {
	if a.passes() || len(next) < 2 || g.At != 0 {
		return nil
	}
	next = next[:min(len(next), a.count)]
	most := mostRecords
	for _, path := range paths {
		stops := make([]Stop, len(next))
		for i := range next {
			stops[i].At = next[i]
		}
		n, err := g.along(stops, path)
		if err != nil {
			return err
		}
		most = min(most, n)
	}
	a.Read(len(next), most)
	return nil
}

// SECURITY: along looks at edges and records that may be hidden from the caller. It only has them near: who follows the
// path reads them again, by the rules.

// along reads ahead what a path meets from several stops. It gives how many stops are good to ask for the next time. A
// single stop is left to who follows the path, who reads all that a step meets from there together.
func (g *Gate) along(from []Stop, path []ast.Part) (next int, err error) {
	next = mostRecords
	for stops := from; len(stops) > 1; {
		n, at := 0, len(stops)
		if stops, n, err = g.pass(stops, path); err != nil {
			return 0, err
		}
		if n > 0 {
			next = min(next, max(1, n*len(from)/at))
		}
		path = path[min(len(path), 1):]
	}
	return next, nil
}

// pass reads ahead what the first part of a path meets. It gives where that leads to, if something follows and what it
// has read says so, and how many stops are good to ask for the next time; 0 where there was nothing to read.
func (g *Gate) pass(stops []Stop, path []ast.Part) (found []Stop, next int, err error) {
	if len(path) == 0 {
		next, err = g.records(stops)
		return nil, next, err
	}
	switch p := path[0].(type) {
	case *ast.PartGraph:
		return g.around(p.Graph, stops, len(path) > 1 && p.Graph.Plain()) // else its clauses choose
	case *ast.PartField:
		return g.fields(stops, p.Name, len(path) > 1)
	case *ast.PartFlatten, *ast.PartOptional:
		return stops, 0, nil
	case *ast.PartRepeat: // the recursion goes on level by level
		return nil, 0, nil
	case *ast.PartRecurse:
		first := path[1:]
		if p.Recurse.Path != nil {
			first = p.Recurse.Path.Parts
		}
		next, err = g.along(stops, first)
		return nil, next, err
	case *ast.PartDestructure:
		if next, err = g.records(stops); err != nil {
			return nil, 0, err
		}
		for i := range p.Fields {
			if id, ok := p.Fields[i].Expr.(*ast.Idiom); ok {
				n, err := g.along(stops, id.Parts)
				if err != nil {
					return nil, 0, err
				}
				next = min(next, n)
			}
		}
		return nil, next, nil
	}
	next, err = g.records(stops)
	return nil, next, err
}

// PrefetchIDs is Prefetch for the ids that links hold, as many as are read at once.
func (g *Gate) PrefetchIDs(ids []ID) (next int, err error) {
	keys, s := make([][]byte, 0, min(len(ids), mostRecords)), g.DB.Inner()
	for _, id := range ids[:min(len(ids), mostRecords)] {
		keys = append(keys, key.RecordOf(nil, s.NS, s.DB, id))
	}
	if len(keys) < 2 {
		return mostRecords, nil
	}
	return g.Tx.Prefetch(keys)
}

// PrefetchLinks begins EachLink over the edges of nodes in some directions and of some tables (none: all), as many as
// are begun at once. It gives the first edges of each, where they lead to, and how many nodes are good to ask for the
// next time.
func (g *Gate) PrefetchLinks(nodes []ID, dirs []Direction, tables []string) (edges, ends []ID, next int, err error) {
	var ranges []kv.Range
	var behind []int // where the nodes end in the keys of the ranges
	s := g.DB.Inner()
	if len(tables) == 0 {
		tables = []string{""}
	}
	for _, name := range tables {
		table := uint32(0)
		if name != "" {
			if table, err = g.Cat.TableID(g.DB, name); err != nil {
				return nil, nil, 0, err
			}
			if table == 0 {
				continue
			}
		}
		for _, dir := range dirs {
			for _, id := range nodes {
				from := key.EdgeDirectionOf(nil, s.NS, s.DB, id, dir)
				behind = append(behind, len(from)-1)
				if table != 0 {
					from = binary.BigEndian.AppendUint32(from, table)
				}
				ranges = append(ranges, kv.Range{Start: from, End: key.AppendPrefixEnd(nil, from)})
			}
		}
	}
	all := len(ranges)
	if all == 0 {
		return nil, nil, mostRecords, nil
	}
	first, next, err := g.Tx.PrefetchRanges(ranges[:min(all, mostRanges)])
	if err != nil {
		return nil, nil, 0, fmt.Errorf("read edges: %w", err)
	}
	next = max(1, next*len(nodes)/all)
	for i, pairs := range first {
		for _, p := range pairs {
			_, edge, err := key.EdgeIDAfter(p.Key, behind[i])
			if err == nil && len(p.Value) > 4 { // else the walk says so
				edges, ends = append(edges, edge), append(ends, key.IDOf(p.Value))
			}
		}
	}
	return edges, ends, next, nil
}

// records reads the records of stops that are links, as many as are read at once.
func (g *Gate) records(stops []Stop) (next int, err error) {
	stops = stops[:min(len(stops), mostRecords)]
	links := make([]value.Value, len(stops))
	for i := range stops {
		links[i] = stops[i].At
	}
	return g.Prefetch(links)
}

// fields reads the records of stops that are links for one of their fields. It gives where that leads to, if something
// follows.
func (g *Gate) fields(stops []Stop, name string, follows bool) (found []Stop, next int, err error) {
	read := make([]Stop, 0, len(stops))
	for i := range stops {
		if at := stops[i].At; at.Kind() == value.KindRecord {
			if _, ok := at.Record().Part(name); !ok {
				read = append(read, stops[i])
			}
		}
	}
	if next, err = g.records(read); err != nil || !follows {
		return nil, next, err
	}
	for i := range stops {
		v, err := g.nearField(stops[i].At, name)
		if err != nil {
			return nil, 0, err
		}
		elems := []value.Value{v}
		if v.Kind() == value.KindArray || v.Kind() == value.KindSet {
			elems = v.Elems()
		}
		for _, e := range elems {
			if e.Kind() == value.KindRecord || e.Kind() == value.KindObject {
				found = append(found, Stop{At: e})
			}
		}
	}
	return found, next, nil
}

// nearField is a field of an object, or of a record that is at hand; NONE where there is none.
func (g *Gate) nearField(v value.Value, name string) (value.Value, error) {
	if v.Kind() == value.KindRecord {
		id := v.Record()
		if w, ok := id.Part(name); ok || id.Key.Kind() == value.KindRange {
			return w, nil
		}
		tb, err := g.Cat.Table(g.DB, id.Table)
		if tb == nil || err != nil {
			return value.None, err
		}
		v = g.atHand(key.Record(nil, tb.Scope.NS, tb.Scope.DB, tb.ID, id.Key))
	}
	return inside.Field(v, name), nil
}

// atHand is a record that was read ahead; NONE where it was not, or is damaged: who asks for it hears of that.
func (g *Gate) atHand(k []byte) value.Value {
	raw, there, _ := g.Tx.AtHand(k)
	if !there {
		return value.None
	}
	doc, err := decode(raw)
	if err != nil {
		return value.None
	}
	return doc
}
