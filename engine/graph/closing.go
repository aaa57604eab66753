package graph

import (
	"github.com/nacredb/nacre/engine/gql"
	"github.com/nacredb/nacre/engine/record"
)

// closing tells quickly of most nodes that no edge leads from them to the node where a pattern closes a circle: it
// keeps a bit for each node that has such an edge. It is made once the same node was asked for several times.
type closing struct {
	op    *edgeOp
	to    *element
	asked int
	state closingState
	bits  [closingBits / 64]uint64
}

type closingState uint8

const (
	closingNew closingState = iota
	closingMade
	closingUseless // too many edges, or a reader who does not see all of them
)

const (
	closingBits  = 512
	closingEdges = 128 // of more edges the bits would tell little
	closingAfter = 8   // how often a node is asked for before
	closings     = 4   // how many are kept
)

// closes reports whether an edge may lead from a node to a target.
func (x *runner) closes(o *edgeOp, node, target *element) (bool, error) {
	c := x.closingOf(o, target)
	if c.state == closingNew {
		if c.asked++; c.asked <= closingAfter {
			return true, nil
		}
		if err := x.makeClosing(c); err != nil {
			return false, err
		}
	}
	at := node.hash % closingBits
	return c.state != closingMade || c.bits[at/64]>>(at%64)&1 != 0, nil
}

// closingOf returns the state kept for an operator and its target.
func (x *runner) closingOf(o *edgeOp, target *element) *closing {
	for i := range x.closed {
		if c := &x.closed[i]; c.op == o {
			if c.to != target {
				*c = closing{op: o, to: target}
			}
			return c
		}
	}
	c := &x.closed[x.closeNext%closings]
	x.closeNext++
	*c = closing{op: o, to: target}
	return c
}

// makeClosing reads the edges of the target.
//
// SECURITY: only for those who see all edges. For others, permissions would be evaluated that the pattern does not ask
// for.
func (x *runner) makeClosing(c *closing) error {
	c.state = closingUseless
	if !x.g.Env.CanRead() || c.to.table.id == 0 {
		return nil
	}
	n, named := 0, false
	read := func(dir record.Direction) error {
		return x.g.EachLink(x.ctx, c.to.packed, dir, c.op.only, func(l record.Link) (bool, error) {
			n++
			if l.Other != "" {
				at := x.seen.hashOf(l.Other) % closingBits
				c.bits[at/64] |= 1 << (at % 64)
			}
			named = named || l.Named != nil
			return n <= closingEdges && !named, x.r.Tick(x.ctx)
		})
	}
	if c.op.dir != gql.Left { // the edges that go right come in at the target
		if err := read(record.In); err != nil {
			return err
		}
	}
	if c.op.dir != gql.Right && n <= closingEdges && !named {
		if err := read(record.Out); err != nil {
			return err
		}
	}
	if n <= closingEdges && !named {
		c.state = closingMade
	}
	return nil
}
