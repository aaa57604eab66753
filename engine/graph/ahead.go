package graph

import (
	"github.com/nacredb/nacre/engine/gql"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// Where the store is elsewhere each read is a request over the network, and a pattern reads a record or the edges of a
// node at a time. What is here reads together what many nodes are about to be asked for. It changes no answer: what it
// has read is only nearer when it is asked for.

// aheadOf reads ahead the nodes behind hops, and what operators want of them from next on. It gives how many are good
// to ask for the next time.
func (x *runner) aheadOf(hops []hop, next op) (most int, err error) {
	nodes := make([]record.ID, len(hops))
	for i := range hops {
		nodes[i] = hops[i].node.packed
	}
	if most, err = x.g.PrefetchIDs(nodes); err != nil {
		return 0, err
	}
	behind, err := x.aheadFrom(nodes, next)
	return min(most, behind), err
}

// SECURITY: aheadFrom looks at edges and records that may be hidden from the caller. It only has them near: operators
// read them again, by the rules.

// aheadFrom reads ahead what operators want of nodes whose records are near: their edges, the records of those if they
// are looked at, the records of the nodes behind, and so on. A single node is left to the operator, which reads all
// that it leads to together. It gives how many nodes are good to ask for the next time.
func (x *runner) aheadFrom(from []record.ID, next op) (most int, err error) {
	most = mostAhead
	for nodes := from; len(nodes) > 1; {
		if n, ok := next.(*nodeOp); ok {
			next = n.next
		}
		o, ok := next.(*edgeOp)
		if !ok || o.to >= 0 { // its ends are known: it looks for the edges between them
			break
		}
		var dirs []record.Direction
		if o.dir == gql.Right || o.dir == gql.Either {
			dirs = append(dirs, record.Out)
		}
		if o.dir == gql.Left || o.dir == gql.Either {
			dirs = append(dirs, record.In)
		}
		edges, ends, good, err := x.g.PrefetchLinks(nodes, dirs, o.only)
		if err != nil {
			return 0, err
		}
		most = min(most, max(1, good*len(from)/len(nodes)))
		read := [][]record.ID{ends}
		if len(o.conds) > 0 || !x.r.Auth.CanRead() {
			read = append(read, edges)
		}
		for _, ids := range read {
			if good, err = x.g.PrefetchIDs(ids); err != nil {
				return 0, err
			}
			most = min(most, max(1, good*len(from)/max(1, len(ids))))
		}
		nodes, next = ends, o.next
	}
	return most, nil
}

// begins holds records that a pattern begins at, and gives them in turn.
type begins struct {
	x      *runner
	next   op // behind the node
	give   func(doc value.Value) error
	docs   []value.Value
	weight int
	most   int // how many to hold; 0: firstAhead
}

// How many records begins holds: at first, for many a pattern stops early, and at most; and how much they may weigh,
// about.
const (
	firstAhead     = 32
	mostAhead      = 256
	heaviestBegins = 1 << 20
)

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
	if b.most == 0 {
		b.most = firstAhead
	}
	if len(b.docs) < b.most && b.weight < heaviestBegins {
		return nil
	}
	return b.flush()
}

// flush gives what is held.
func (b *begins) flush() error {
	docs, nodes := b.docs, make([]record.ID, 0, len(b.docs))
	b.docs, b.weight = nil, 0
	for _, doc := range docs {
		if id, _ := doc.Object().Get("id"); id.Kind() == value.KindRecord {
			e, err := b.x.element(id.Record())
			if err != nil {
				return err
			}
			nodes = append(nodes, e.packed)
		}
	}
	most, err := b.x.aheadFrom(nodes, b.next)
	if err != nil {
		return err
	}
	b.most = min(4*len(docs), most)
	for _, doc := range docs {
		if err := b.give(doc); err != nil {
			return err
		}
	}
	return nil
}
