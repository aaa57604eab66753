package graph

import (
	"slices"

	"github.com/nacredb/nacre/engine/gql"
)

// trail is the path at work: its start, and what was found rightwards and leftwards of it, last one last.
type trail struct {
	start       *element
	right, left []hop
	mode        gql.PathMode
	nodes       map[uint64]int // by hash, where the mode forbids nodes to repeat
	parts       []modePart     // of parenthesised patterns with modes, the outermost first
}

// modePart is a part of the path that keeps to a mode by itself: what one side has after its first edges.
type modePart struct {
	mode gql.PathMode
	left bool
	from int
}

// partsAllow reports whether the modes of the parts at work let an edge be next.
func (t *trail) partsAllow(h *hop) bool {
	for _, p := range t.parts {
		if !t.partAllows(p, h) {
			return false
		}
	}
	return true
}

func (t *trail) partAllows(p modePart, h *hop) bool {
	side := t.right
	if p.left {
		side = t.left
	}
	first, since := before(side, p.from, t.start), side[p.from:]
	if p.mode == gql.PathTrail {
		return !slices.ContainsFunc(since, func(e hop) bool { return e.same(h) })
	}
	if slices.ContainsFunc(since, func(e hop) bool { return e.node.is(h.node) || e.node.is(first) }) {
		return false // also behind a simple part that has come back to where it began
	}
	return !h.node.is(first) || p.mode == gql.PathSimple
}

func newTrail(mode gql.PathMode) *trail {
	t := &trail{mode: mode}
	if mode >= gql.PathSimple {
		t.nodes = map[uint64]int{}
	}
	return t
}

// begin starts the path at a node; unbegin takes that back.
func (t *trail) begin(e *element) {
	t.start = e
	if t.nodes != nil {
		t.nodes[e.hash]++
	}
}

func (t *trail) unbegin(was *element) {
	if t.nodes != nil {
		t.nodes[t.start.hash]--
	}
	t.start = was
}

// length is the number of edges.
func (t *trail) length() int {
	if t == nil {
		return 0
	}
	return len(t.left) + len(t.right)
}

// push adds an edge and the node behind it; false where the path mode forbids that.
func (t *trail) push(left bool, h *hop) bool {
	if t.nodes != nil {
		if t.mode == gql.PathSimple && t.length() > 0 && t.closed() {
			return false // a simple path ends where it comes back to its start
		}
		if t.nodes[h.node.hash] > 0 && t.visits(h.node) {
			if t.mode != gql.PathSimple || !t.start.is(h.node) || left && len(t.left) == 0 && len(t.right) > 0 {
				return false
			}
		}
		t.nodes[h.node.hash]++
	}
	if left {
		t.left = append(t.left, *h)
	} else {
		t.right = append(t.right, *h)
	}
	return true
}

// visits reports whether a node is on the path.
func (t *trail) visits(e *element) bool {
	is := func(h hop) bool { return h.node.is(e) }
	return t.start.is(e) || slices.ContainsFunc(t.right, is) || slices.ContainsFunc(t.left, is)
}

// closed reports whether the path is back at its start.
func (t *trail) closed() bool {
	side := t.right
	if len(t.left) > 0 {
		side = t.left
	}
	return side[len(side)-1].node.is(t.start)
}

func (t *trail) pop(left bool) {
	side := &t.right
	if left {
		side = &t.left
	}
	n := len(*side) - 1
	if t.nodes != nil {
		t.nodes[(*side)[n].node.hash]--
	}
	*side = (*side)[:n]
}

// ends are the left and the right end of the path.
func (t *trail) ends() (left, right *element) {
	left, right = t.start, t.start
	if n := len(t.left); n > 0 {
		left = t.left[n-1].node
	}
	if n := len(t.right); n > 0 {
		right = t.right[n-1].node
	}
	return left, right
}

// whole is the path from its left end to its right end: nodes and edges by turns.
func (t *trail) whole(x *runner) ([]slot, error) { return x.pathOf(t.left, t.start, t.right) }

// since is the part of the path that was found on one side after its first n edges.
func (t *trail) since(x *runner, n int, left bool) ([]slot, error) {
	if left {
		return x.pathOf(t.left[n:], before(t.left, n, t.start), nil)
	}
	return x.pathOf(nil, before(t.right, n, t.start), t.right[n:])
}

func (x *runner) pathOf(left []hop, start *element, right []hop) ([]slot, error) {
	out := make([]slot, 0, 2*(len(left)+len(right))+1)
	for i := len(left) - 1; i >= 0; i-- {
		e, err := x.edgeSlot(&left[i])
		if err != nil {
			return nil, err
		}
		out = append(out, nodeSlot(left[i].node), e)
	}
	out = append(out, nodeSlot(start))
	for i := range right {
		e, err := x.edgeSlot(&right[i])
		if err != nil {
			return nil, err
		}
		out = append(out, e, nodeSlot(right[i].node))
	}
	return out, nil
}

// before is the node that the i-th edge of a side begins at.
func before(side []hop, i int, start *element) *element {
	if i == 0 {
		return start
	}
	return side[i-1].node
}

// edges are those of the path from its left end to its right end.
func (t *trail) edges() []hop {
	out := make([]hop, 0, t.length())
	for i := len(t.left) - 1; i >= 0; i-- {
		out = append(out, t.left[i])
	}
	return append(out, t.right...)
}
