package physical

import (
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/value"
)

// edge is one edge, as one of its adjacency entries or its record tells it.
type edge struct {
	at      place // of the edge's table
	id      value.Value
	in, out end
	dir     key.Direction // of the entry
}

// end is a node.
type end struct {
	tb  uint32
	key value.Value
}

// canonical is the same for both entries of an edge and for its record.
func (e *edge) canonical() [][]byte {
	id := key.AppendRecordKey(nil, e.id)
	return [][]byte{id, key.EdgeEnd(nil, e.in.tb, e.in.key), key.EdgeEnd(nil, e.out.tb, e.out.key)}
}

// entry is the key and value of one of the two entries.
func (e *edge) entry(dir key.Direction) (k, v []byte) {
	node, other := e.in, e.out
	if dir == key.In {
		node, other = e.out, e.in
	}
	return key.Edge(nil, e.at.ns, e.at.db, node.tb, node.key, dir, e.at.tb, e.id), key.EdgeEnd(nil, other.tb, other.key)
}

// decodeEdge reads an adjacency entry of a node in the table at.
func decodeEdge(at place, k, v []byte) (edge, error) {
	dir, tb, id, err := key.DecodeEdge(k)
	if err != nil {
		return edge{}, err
	}
	node, err := key.DecodeEdgeNode(k)
	if err != nil {
		return edge{}, err
	}
	otherTable, other, err := key.DecodeEdgeEnd(v)
	if err != nil {
		return edge{}, err
	}
	e := edge{at: place{at.ns, at.db, tb, 0}, id: id, dir: dir, in: end{at.tb, node}, out: end{otherTable, other}}
	if dir == key.In {
		e.in, e.out = e.out, e.in
	} else if dir != key.Out {
		return edge{}, key.ErrMalformed
	}
	return e, nil
}

// edgeOf is the edge that a record's in and out say.
func (s *schema) edgeOf(t *table, id, doc value.Value) (edge, bool) {
	in, ok := s.endOf(t.at, doc, "in")
	if !ok {
		return edge{}, false
	}
	out, ok := s.endOf(t.at, doc, "out")
	return edge{at: t.at, id: id, in: in, out: out}, ok
}

func (s *schema) endOf(at place, doc value.Value, name string) (end, bool) {
	v, _ := doc.Object().Get(name)
	if v.Kind() != value.KindRecord {
		return end{}, false
	}
	id := v.Record()
	return end{s.idOf(at, id.Table), id.Key}, true
}
