package graph

import (
	"errors"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/gql"
)

// lengths finds the paths between two nodes in the order of their lengths. For each length it goes back from the end,
// and enters a node only if a flood from the start says that the start can be near enough.
type lengths struct {
	h      *hunt
	flood  *flood // from the start
	end    *element
	want   int // edges of the paths at work
	steps  int // of the length at work
	cut    bool
	back   []hop // edges from the end on; node is where each begins
	used   edgeSet
	got    int // paths that were given on
	groups int // lengths that have paths
}

// errEnough ends a search that has found what its prefix keeps.
var errEnough = errors.New("the search has found enough")

// byLength goes on with the paths to end, shortest first, until there are as many as are wanted. f is a flood from the
// start.
func (h *hunt) byLength(f *flood, end *element) error {
	l := &lengths{h: h, flood: f, end: end}
	inside, err := h.x.isNode(nil, end)
	if err != nil {
		return err
	}
	for l.want = h.o.min; h.o.max < 0 || l.want <= h.o.max; l.want++ {
		if l.want == 0 && !end.is(h.start) {
			continue
		}
		if l.want > 0 && !inside {
			return nil
		}
		if l.want >= mostDepth {
			return errs.Internal("GQL MATCH found a path of more than %d edges", mostDepth)
		}
		if more, err := l.length(); err != nil || !more {
			return err
		}
	}
	return nil
}

// length goes on with the paths of the wanted length; more: longer ones are wanted, and there may be some.
func (l *lengths) length() (more bool, err error) {
	if err := l.flood.to(l.want); err != nil {
		return false, err
	}
	before := l.got
	l.cut, l.steps = false, 0
	if err := l.from(l.end, l.want); err == errEnough {
		return false, nil
	} else if err != nil {
		return false, err
	}
	if l.got > before {
		l.groups++
	}
	if h := l.h; h.all() && l.groups >= h.k {
		return false, nil
	}
	return l.cut, nil // where no path was too long there are no others
}

// from goes back from a node that the start must be left edges away from.
func (l *lengths) from(at *element, left int) error {
	h, x := l.h, l.h.x
	if left == 0 {
		l.cut = true // a longer path may come back to the start, which this node is: none other is so near
		return l.emit()
	}
	hops, err := x.hopsOf(h.o.back, at)
	if err != nil {
		return err
	}
	for i := range hops {
		e := &hops[i]
		if !l.near(e.node, left-1) || l.used.has(e) {
			continue
		}
		if ok, err := h.may(h.o.back, e); err != nil {
			return err
		} else if !ok {
			continue
		}
		if !l.fits(e.node, left-1) {
			continue
		}
		if l.steps++; l.steps > x.r.Ex.Limits.GraphPaths {
			return x.tooManyPaths()
		}
		l.back = append(l.back, *e)
		l.used.push(e)
		err := l.from(e.node, left-1)
		l.used.pop(1)
		l.back = l.back[:len(l.back)-1]
		if err != nil {
			return err
		}
	}
	return nil
}

// near reports whether the start can be reached from a node over at most left edges.
func (l *lengths) near(e *element, left int) bool {
	r := l.flood.find(e)
	if r != nil && r.dist <= left {
		return true
	}
	l.cut = l.cut || r != nil || len(l.flood.edge) > 0
	return false
}

// fits reports whether the path mode lets a node come before those that are there.
func (l *lengths) fits(e *element, left int) bool {
	mode := l.h.o.p.prefix.Mode
	if mode < gql.PathSimple {
		return true
	}
	for i := range l.back {
		if l.back[i].node.is(e) {
			return false
		}
	}
	return !e.is(l.end) || mode == gql.PathSimple && left == 0
}

// emit goes on with the path at work.
func (l *lengths) emit() error {
	n := len(l.back)
	hops := make([]hop, n)
	for i, e := range l.back {
		node := l.end
		if i > 0 {
			node = l.back[i-1].node
		}
		hops[n-1-i] = hop{edge: e.edge, hash: e.hash, node: node}
	}
	if err := l.h.emit(hops); err != nil {
		return err
	}
	if l.got++; l.got >= l.h.k && !l.h.all() {
		return errEnough
	}
	return nil
}
