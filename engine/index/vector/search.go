package vector

import (
	"slices"
	"unsafe"
)

// workspace is the memory that a search works in.
type workspace struct {
	near, best nearHeap // what is to be walked through, and what was found
	seen       []uint64 // a bit for each place
	touched    []uint32 // places whose bits are set
	walked     []near   // what was walked through
	left       []uint32 // what was too far to be found or walked through
	from       []near
	fresh      []uint32  // links of a node that were not seen before
	far        []float64 // how far they are
}

func (g *graph) workspace() *workspace {
	r := g.workspaces.Get().(*workspace)
	r.next()
	r.room(len(g.nodes))
	return r
}

// room makes room for so many places.
func (r *workspace) room(places int) {
	if words := places/64 + 1; len(r.seen) < words {
		r.seen = append(r.seen, make([]uint64, words-len(r.seen)+16)...)
	}
}

// next forgets what was seen.
func (r *workspace) next() {
	for _, p := range r.touched {
		r.seen[p/64] = 0
	}
	r.touched, r.walked, r.left = r.touched[:0], r.walked[:0], r.left[:0]
	r.near.reset()
	r.best.reset()
}

// measure tells how far places are, until it is asked again.
func (r *workspace) measure(to measure, places []uint32, bound float64) []float64 {
	r.far = slices.Grow(r.far[:0], len(places))[:len(places)]
	to.each(r.far, places, bound)
	return r.far
}

func (r *workspace) see(place uint32) bool {
	word, bit := &r.seen[place/64], uint64(1)<<(place%64)
	if *word&bit != 0 {
		return false
	}
	*word |= bit
	r.touched = append(r.touched, place)
	return true
}

// find keeps a node among the ef nearest ones.
func (r *workspace) find(n near, ef int) {
	if r.best.push(n); r.best.len() > ef {
		r.best.pop()
	}
}

// descend walks from the entry point down to a layer, to the node that is nearest on each.
func (g *graph) descend(r *workspace, to measure, layer int) near {
	at := near{to.one(g.entry, unbounded), g.entry}
	for l := g.top; l > layer; l-- {
		for moved := true; moved; {
			moved = false
			links := g.nodes[at.place].at(l)
			for i, d := range r.measure(to, links, at.far) {
				if d < at.far {
					at, moved = near{d, links[i]}, true
				}
			}
		}
	}
	return at
}

// expand finds the ef nearest nodes on a layer that keep wants (nil: all), beginning at some, into r.best. Nodes that
// are not wanted are walked through.
func (g *graph) expand(r *workspace, to measure, from []near, layer, ef int, keep func(uint32) bool) {
	for _, n := range from {
		if !r.see(n.place) {
			continue
		}
		r.near.push(n)
		if keep == nil || keep(n.place) {
			r.best.push(n)
		}
	}
	g.walk(r, to, layer, ef, keep)
}

// walk is expand from what is to be walked through.
func (g *graph) walk(r *workspace, to measure, layer, ef int, keep func(uint32) bool) {
	for r.near.len() > 0 {
		if r.best.len() >= ef && r.near.top().far > r.best.top().far {
			return
		}
		n := r.near.pop()
		r.walked = append(r.walked, n)
		if r.near.len() > 0 {
			g.ahead(r.near.top().place, layer)
		}
		r.fresh = r.fresh[:0]
		for _, p := range g.nodes[n.place].at(layer) {
			if r.see(p) {
				r.fresh = append(r.fresh, p)
			}
		}
		g.meet(r, to, r.fresh, ef, keep)
	}
}

// meet measures nodes that were seen for the first time: they are found and walked through, or left.
func (g *graph) meet(r *workspace, to measure, places []uint32, ef int, keep func(uint32) bool) {
	bound := unbounded
	if r.best.len() >= ef {
		bound = r.best.top().far
	}
	for i, d := range r.measure(to, places, bound) {
		p := places[i]
		if r.best.len() >= ef && d >= r.best.top().far {
			r.left = append(r.left, p)
			continue
		}
		r.near.push(near{d, p})
		prefetch(unsafe.Pointer(&g.nodes[p].low), 1)
		if keep == nil || keep(p) {
			r.find(near{d, p}, ef)
		}
	}
}

// ahead brings the links of a node nearer that is likely to be walked through next.
func (g *graph) ahead(place uint32, layer int) {
	if links := g.nodes[place].at(layer); len(links) > 0 {
		prefetch(unsafe.Pointer(unsafe.SliceData(links)), (4*len(links)+cacheLine-1)/cacheLine)
	}
}

// prefetch is fetch where there is one.
func prefetch(p unsafe.Pointer, lines int) {
	if hasFour {
		fetch((*float32)(p), lines)
	}
}

// widen goes on with an expand on the lowest layer, for more of the nearest nodes than it was for.
func (g *graph) widen(r *workspace, to measure, ef int, keep func(uint32) bool) {
	r.room(len(g.nodes))
	r.best.reset()
	for _, known := range [2][]near{r.walked, r.near.items} {
		for _, n := range known {
			if keep == nil || keep(n.place) {
				r.find(n, ef)
			}
		}
	}
	left := slices.Clone(r.left)
	r.left = r.left[:0]
	for places := range slices.Chunk(left, widenStep) {
		g.meet(r, to, places, ef, keep)
	}
	g.walk(r, to, 0, ef, keep)
}

// widenStep is how many nodes are on their way from memory at a time.
const widenStep = 32

// paused is a search that may go on wider. The zero value has not begun. It holds a workspace until it ends.
type paused struct {
	g      *graph
	purges int
	r      *workspace
}

// end lets go of the workspace.
func (s *paused) end() {
	if s.r != nil {
		s.g.workspaces.Put(s.r)
		s.r = nil
	}
}

// search adds about ef nearest linked nodes that keep wants (nil: all), in no order. Others are beyond a bound, as far
// as it knows. It goes on where s has paused, unless a place that s knows may have got another vector since.
func (g *graph) search(dst []found, s *paused, to measure, ef int,
	keep func(uint32) bool) (hits []found, bound float64) {
	if g.top < 0 {
		return dst, unbounded
	}
	if s.r != nil && s.g == g && s.purges == g.purges {
		g.widen(s.r, to, ef, keep)
	} else {
		s.end()
		*s = paused{g: g, purges: g.purges, r: g.workspace()}
		s.r.from = append(s.r.from[:0], g.descend(s.r, to, 0))
		g.expand(s.r, to, s.r.from, 0, ef, keep)
	}
	for _, n := range s.r.best.items {
		dst = append(dst, found{g.nodes[n.place].record, n.far})
	}
	if s.r.best.len() < ef {
		return dst, unbounded
	}
	return dst, s.r.best.top().far
}
