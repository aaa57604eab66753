package vector

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/nacredb/nacre/engine/kv"
)

// alive is the version at which a node goes that has not gone yet.
const alive = kv.Version(math.MaxUint64)

// node is a vector in a graph; its elements are in the arena.
type node struct {
	record []byte // RK
	number uint64
	born   kv.Version // the first version that has it
	gone   kv.Version // the first version that has it no more
	loose  bool       // it has no distance to others (a zero vector under COSINE): it is not linked, only compared
	free   bool       // the place can be taken
	links  [][]uint32 // by layer; nil for loose and free ones
}

// graph is the nodes of one index with their links. Methods that read want the lock for reading, those that change it
// for writing; add and purge take it themselves and are called by one goroutine at a time.
type graph struct {
	spec *Spec
	rand *rand.Rand // of add

	mu    sync.RWMutex // guards all below; a leaf lock, held over no I/O and no user code
	arena arena
	nodes []node
	entry uint32 // where searches begin; with top -1 there is none
	top   int    // the highest layer
	live  int    // nodes that are linked and not gone
	dead  int    // linked nodes that have gone
	loose []uint32
	free  []uint32
	rooms sync.Pool // of *room
}

func newGraph(s *Spec, seed uint64) *graph {
	g := &graph{spec: s, rand: rand.New(rand.NewPCG(seed, 7)), arena: newArena(s), top: -1}
	g.rooms.New = func() any { return &room{near: nearHeap{}, best: nearHeap{max: true}} }
	return g
}

// room is what a search works in.
type room struct {
	near, best nearHeap
	seen       []uint32 // by place: the mark of the search that saw it
	mark       uint32
}

func (g *graph) room() *room {
	r := g.rooms.Get().(*room)
	if len(r.seen) < len(g.nodes) {
		r.seen = append(r.seen, make([]uint32, len(g.nodes)-len(r.seen)+1024)...)
	}
	r.next()
	return r
}

// next forgets what was seen.
func (r *room) next() {
	if r.mark++; r.mark == 0 {
		clear(r.seen)
		r.mark = 1
	}
	r.near.reset()
	r.best.reset()
}

func (r *room) see(place uint32) bool {
	if r.seen[place] == r.mark {
		return false
	}
	r.seen[place] = r.mark
	return true
}

// capacity is how many links a node may have on a layer.
func (g *graph) capacity(layer int) int {
	if layer == 0 {
		return g.spec.LowestLinks
	}
	return g.spec.Links
}

// level draws the highest layer of a new node.
func (g *graph) level() int {
	u := g.rand.Float64()
	for u == 0 {
		u = g.rand.Float64()
	}
	return min(int(-math.Log(u)*g.spec.Level), maxLevel)
}

// maxLevel bounds the layers of a graph.
const maxLevel = 31

// descend walks from the entry point down to a layer, to the node that is nearest on each.
func (g *graph) descend(to func(uint32) float64, layer int) near {
	at := near{to(g.entry), g.entry}
	for l := g.top; l > layer; l-- {
		for moved := true; moved; {
			moved = false
			for _, p := range g.nodes[at.place].at(l) {
				if d := to(p); d < at.far {
					at, moved = near{d, p}, true
				}
			}
		}
	}
	return at
}

// at are the links on a layer.
func (n *node) at(layer int) []uint32 {
	if layer >= len(n.links) {
		return nil
	}
	return n.links[layer]
}

// expand finds the ef nearest nodes on a layer that keep wants, beginning at one, into r.best. Nodes that are not wanted
// are walked through.
func (g *graph) expand(r *room, to func(uint32) float64, from []near, layer, ef int, keep func(uint32) bool) {
	for _, n := range from {
		if !r.see(n.place) {
			continue
		}
		r.near.push(n)
		if keep(n.place) {
			r.best.push(n)
		}
	}
	for r.near.len() > 0 {
		n := r.near.pop()
		if r.best.len() >= ef && n.far > r.best.top().far {
			return
		}
		for _, p := range g.nodes[n.place].at(layer) {
			if !r.see(p) {
				continue
			}
			d := to(p)
			if r.best.len() >= ef && d >= r.best.top().far {
				continue
			}
			r.near.push(near{d, p})
			if !keep(p) {
				continue
			}
			r.best.push(near{d, p})
			if r.best.len() > ef {
				r.best.pop()
			}
		}
	}
}

// search finds about ef nearest nodes that keep wants, in no order. Loose nodes are not among them.
func (g *graph) search(dst []near, to func(uint32) float64, ef int, keep func(uint32) bool) []near {
	if g.top < 0 {
		return dst
	}
	r := g.room()
	defer g.rooms.Put(r)
	g.expand(r, to, []near{g.descend(to, 0)}, 0, ef, keep)
	return append(dst, r.best.items...)
}

// add links a new node and gives its place. The search for its neighbours only reads, so readers go on meanwhile.
func (g *graph) add(n node, raw []byte) uint32 {
	g.mu.Lock()
	place := g.place(raw)
	n.loose = g.isLoose(place)
	if n.loose {
		g.nodes[place] = n
		g.loose = append(g.loose, place)
		g.mu.Unlock()
		return place
	}
	g.mu.Unlock()

	level := g.level()
	n.links = make([][]uint32, level+1)
	g.mu.RLock()
	chosen := g.neighbours(place, level)
	g.mu.RUnlock()

	g.mu.Lock()
	defer g.mu.Unlock()
	for l, ns := range chosen {
		n.links[l] = make([]uint32, 0, g.capacity(l)+1)
		for _, c := range ns {
			n.links[l] = append(n.links[l], c.place)
		}
	}
	g.nodes[place] = n
	for l, ns := range chosen {
		for _, c := range ns {
			g.link(c.place, place, l)
		}
	}
	if n.gone == alive {
		g.live++
	} else {
		g.dead++
	}
	if level > g.top {
		g.entry, g.top = place, level
	}
	return place
}

// place takes a place and puts a vector there. It is no node yet.
func (g *graph) place(raw []byte) uint32 {
	var place uint32
	if n := len(g.free); n > 0 {
		place = g.free[n-1]
		g.free = g.free[:n-1]
	} else {
		place = uint32(len(g.nodes))
		g.nodes = append(g.nodes, node{})
	}
	g.nodes[place] = node{free: true}
	g.arena.set(place, raw)
	return place
}

// isLoose reports whether the vector at a place has no distance to others, not even to itself.
func (g *graph) isLoose(place uint32) bool {
	d := g.arena.from(place)(place)
	return math.IsNaN(d) || math.IsInf(d, 0) || !g.spec.Metric.navigable()
}

// neighbours chooses whom a vector is to be linked with, by layer up to level.
func (g *graph) neighbours(place uint32, level int) [][]near {
	chosen := make([][]near, level+1)
	if g.top < 0 {
		return chosen
	}
	to := g.arena.from(place)
	from := []near{g.descend(to, level)}
	r := g.room()
	defer g.rooms.Put(r)
	all := func(uint32) bool { return true }
	for l := min(level, g.top); l >= 0; l-- {
		g.expand(r, to, from, l, g.spec.Construction, all)
		from = append(from[:0], r.best.items...)
		candidates := slices.Clone(from)
		if g.spec.Extend {
			candidates = g.extend(r, to, candidates, l)
		}
		chosen[l] = g.choose(candidates, g.spec.Links)
		r.next()
	}
	return chosen
}

// extend adds the neighbours of candidates to them.
func (g *graph) extend(r *room, to func(uint32) float64, candidates []near, layer int) []near {
	for _, c := range candidates[:len(candidates):len(candidates)] {
		for _, p := range g.nodes[c.place].at(layer) {
			if r.see(p) {
				candidates = append(candidates, near{to(p), p})
			}
		}
	}
	return candidates
}

// choose picks at most n of the candidates: near ones, in different directions. One that is nearer to a chosen one than
// to the vector itself is reached through that.
func (g *graph) choose(candidates []near, n int) []near {
	slices.SortFunc(candidates, func(a, b near) int {
		switch {
		case a.far < b.far:
			return -1
		case a.far > b.far:
			return 1
		}
		return int(a.place) - int(b.place)
	})
	if len(candidates) <= n && g.spec.KeepPruned {
		return candidates
	}
	chosen := make([]near, 0, n)
	var left []near
next:
	for _, c := range candidates {
		if len(chosen) == n {
			break
		}
		to := g.arena.from(c.place)
		for _, o := range chosen {
			if to(o.place) < c.far {
				left = append(left, c)
				continue next
			}
		}
		chosen = append(chosen, c)
	}
	if g.spec.KeepPruned {
		chosen = append(chosen, left[:min(len(left), n-len(chosen))]...)
	}
	return chosen
}

// link adds a link, and leaves out the least useful one where there are too many.
func (g *graph) link(from, to uint32, layer int) {
	n := &g.nodes[from]
	if layer >= len(n.links) || slices.Contains(n.links[layer], to) {
		return
	}
	n.links[layer] = append(n.links[layer], to)
	if len(n.links[layer]) <= g.capacity(layer) {
		return
	}
	g.relink(from, layer, n.links[layer])
}

// relink chooses the links of a node among places.
func (g *graph) relink(place uint32, layer int, among []uint32) {
	to := g.arena.from(place)
	candidates := make([]near, len(among))
	for i, p := range among {
		candidates[i] = near{to(p), p}
	}
	links := g.nodes[place].links[layer][:0]
	for _, c := range g.choose(candidates, g.capacity(layer)) {
		links = append(links, c.place)
	}
	g.nodes[place].links[layer] = links
}

// purge takes the nodes out that had gone by a version: what pointed at them is linked with their neighbours instead.
func (g *graph) purge(by kv.Version) {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := func(p uint32) bool { return g.nodes[p].gone <= by }
	for p := range g.nodes {
		n := &g.nodes[p]
		if n.free || n.loose || out(uint32(p)) {
			continue
		}
		for l := range n.links {
			if slices.ContainsFunc(n.links[l], out) {
				g.mend(uint32(p), l, out)
			}
		}
	}
	g.release(out)
	g.findEntry()
}

// mend links a node past neighbours that go out.
func (g *graph) mend(place uint32, layer int, out func(uint32) bool) {
	var among []uint32
	add := func(p uint32) {
		if p != place && !out(p) && !slices.Contains(among, p) {
			among = append(among, p)
		}
	}
	for _, p := range g.nodes[place].links[layer] {
		add(p)
		if out(p) {
			for _, q := range g.nodes[p].at(layer) {
				add(q)
			}
		}
	}
	g.relink(place, layer, among)
}

// release frees the places of nodes that go out.
func (g *graph) release(out func(uint32) bool) {
	for p := range g.nodes {
		n := &g.nodes[p]
		if n.free || !out(uint32(p)) {
			continue
		}
		if !n.loose {
			g.dead--
		}
		g.nodes[p] = node{free: true}
		g.free = append(g.free, uint32(p))
	}
	g.loose = slices.DeleteFunc(g.loose, func(p uint32) bool { return g.nodes[p].free })
}

// findEntry makes one of the highest nodes the entry point.
func (g *graph) findEntry() {
	g.top = -1
	for p := range g.nodes {
		if n := &g.nodes[p]; !n.free && len(n.links)-1 > g.top {
			g.entry, g.top = uint32(p), len(n.links)-1
		}
	}
}
