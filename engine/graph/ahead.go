package graph

import (
	"github.com/nacredb/nacre/engine/gql"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// Where the store is elsewhere each read is a request over the network, and a pattern reads a record or the edges of a
// node at a time. What is here reads together what many nodes are about to be asked for. It changes no answer: what it
// has read is only nearer when it is asked for.

// hopsAhead counts the nodes behind a list of hops that are read ahead. The zero value is ready for one list.
type hopsAhead struct {
	left  int // nodes that are read and not reached
	count int // how many were read the last time
}

// more is how many nodes to read ahead after a number of them: few at first, for many a pattern stops early.
func more(last int) int { return max(32, min(4*last, 256)) }

// due must be called at each node of a list that an operator takes one after the other; n is how many follow, that one
// among them. It gives how many to read ahead now; 0: the node was read, or that is no use.
func (a *hopsAhead) due(x *runner, n int) int {
	if a.left > 0 {
		a.left--
		return 0
	}
	if n < 2 || !x.g.Tx.Prefetches() || x.g.At != 0 {
		return 0
	}
	a.count = min(n, more(a.count))
	a.left = a.count - 1
	return a.count
}

// aheadOf reads ahead the nodes behind hops, and what operators want of them from next on.
func (x *runner) aheadOf(hops []hop, next op) error {
	nodes := make([]record.ID, len(hops))
	for i := range hops {
		nodes[i] = hops[i].node.packed
	}
	if err := x.g.PrefetchIDs(nodes); err != nil {
		return err
	}
	return x.aheadFrom(nodes, next)
}

// SECURITY: aheadFrom looks at edges and records that may be hidden from the caller. It only has them near: operators
// read them again, by the rules.

// aheadFrom reads ahead what operators want of nodes whose records are near: their edges, the records of those if they
// are looked at, the records of the nodes behind, and so on. A single node is left to the operator, which reads all
// that it leads to together.
func (x *runner) aheadFrom(nodes []record.ID, next op) error {
	for len(nodes) > 1 {
		if n, ok := next.(*nodeOp); ok {
			next = n.next
		}
		o, ok := next.(*edgeOp)
		if !ok || o.to >= 0 { // its ends are known: it looks for the edges between them
			return nil
		}
		var dirs []record.Direction
		if o.dir == gql.Right || o.dir == gql.Either {
			dirs = append(dirs, record.Out)
		}
		if o.dir == gql.Left || o.dir == gql.Either {
			dirs = append(dirs, record.In)
		}
		edges, ends, err := x.g.PrefetchLinks(nodes, dirs, o.only)
		if err != nil {
			return err
		}
		if len(o.conds) > 0 || !x.r.Auth.CanRead() {
			if err := x.g.PrefetchIDs(edges); err != nil {
				return err
			}
		}
		if err := x.g.PrefetchIDs(ends); err != nil {
			return err
		}
		nodes, next = ends, o.next
	}
	return nil
}

// begins holds records that a pattern begins at, and gives them in turn.
type begins struct {
	x      *runner
	next   op // behind the node
	give   func(doc value.Value) error
	docs   []value.Value
	weight int
	count  int // how many it has held the last time
}

// heaviestBegins is about how much the records may weigh that are held at once.
const heaviestBegins = 1 << 20

// each runs give for the records that walk gives. They are held only where the store is elsewhere, and the transaction
// writes nothing, so that no record is another one by the time it is given.
func (b *begins) each(walk func(take func(doc value.Value) error) error) error {
	if tx := b.x.g.Tx; !tx.Prefetches() || tx.Writable() || b.x.g.At != 0 {
		return walk(b.give)
	}
	if err := walk(b.hold); err != nil {
		return err
	}
	return b.flush()
}

func (b *begins) hold(doc value.Value) error {
	b.docs = append(b.docs, doc)
	b.weight += value.Weight(doc)
	if len(b.docs) < more(b.count) && b.weight < heaviestBegins {
		return nil
	}
	return b.flush()
}

// flush gives what is held.
func (b *begins) flush() error {
	docs, nodes := b.docs, make([]record.ID, 0, len(b.docs))
	b.docs, b.weight, b.count = nil, 0, len(docs)
	for _, doc := range docs {
		if id, _ := doc.Object().Get("id"); id.Kind() == value.KindRecord {
			e, err := b.x.element(id.Record())
			if err != nil {
				return err
			}
			nodes = append(nodes, e.packed)
		}
	}
	if err := b.x.aheadFrom(nodes, b.next); err != nil {
		return err
	}
	for _, doc := range docs {
		if err := b.give(doc); err != nil {
			return err
		}
	}
	return nil
}
