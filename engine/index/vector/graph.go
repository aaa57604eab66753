package vector

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/nacredb/nacre/engine/kv"
)

// alive is the version at which a node goes that has not gone yet.
const alive = kv.Version(math.MaxUint64)

// state is the state of a place.
type state uint8

const (
	free   state = iota // nothing is there
	loose               // a vector that is only compared, not linked
	queued              // a vector that is to be linked, and compared until then
	linked
)

// node is a vector in a graph; its elements are in the arena.
type node struct {
	record string // RK
	number uint64
	born   kv.Version // the first version that has it
	gone   kv.Version // the first version that has it no more
	state  state
	low    []uint32   // links on the lowest layer, in a block
	high   [][]uint32 // and on those above it
}

// at are the links on a layer.
func (n *node) at(layer int) []uint32 {
	switch {
	case layer == 0:
		return n.low
	case layer > len(n.high):
		return nil
	}
	return n.high[layer-1]
}

// set replaces the links on a layer that the node has.
func (n *node) set(layer int, links []uint32) {
	if layer == 0 {
		n.low = links
	} else {
		n.high[layer-1] = links
	}
}

// top is the highest layer of a linked node.
func (n *node) top() int { return len(n.high) }

// graph is the vectors of one index, most of them linked with near ones. It has no lock: see shared.
type graph struct {
	spec *Spec
	rand *rand.Rand // for the levels of nodes

	arena      arena
	nodes      []node
	entry      uint32 // where searches begin; with top -1 there is none
	top        int    // the highest layer
	live       int    // nodes that are linked and not gone
	dead       int    // nodes that have gone
	queue      []uint32
	loose      []uint32
	free       []uint32
	names      names
	lists      []uint32  // a block that lists of links are cut from
	workspaces sync.Pool // of *workspace
	linking    linking
	purges     int // how often places were freed
}

// linking is the memory for choosing links. It belongs to the worker of the index, as the linking does.
type linking struct {
	candidates []near
	left       []near   // that were passed over
	links      []near   // that were chosen for a node
	plan       [][]near // for a new node, by layer
}

// list makes an empty list of links for the lowest layer. It is cut from a block: there are as many of them as vectors.
func (g *graph) list() []uint32 {
	size := g.capacity(0) + 1
	if len(g.lists) < size {
		g.lists = make([]uint32, size*listBlock)
	}
	l := g.lists[:0:size]
	g.lists = g.lists[size:]
	return l
}

// listBlock is how many lists of links a block has.
const listBlock = 64

// names keeps the keys of records in blocks.
type names struct{ block []byte }

// nameBlock is the size of a block of names in bytes. A name that takes much of one has memory of its own.
const nameBlock = 2048

func (n *names) keep(name string) string {
	if len(name) > nameBlock/16 {
		return strings.Clone(name)
	}
	if len(name) > cap(n.block)-len(n.block) {
		n.block = make([]byte, 0, nameBlock)
	}
	at := len(n.block)
	n.block = append(n.block, name...)
	return unsafe.String(unsafe.SliceData(n.block[at:]), len(name))
}

func newGraph(s *Spec, seed uint64) *graph {
	g := &graph{spec: s, rand: rand.New(rand.NewPCG(seed, 7)), arena: newArena(s), top: -1}
	g.workspaces.New = func() any { return &workspace{near: nearHeap{}, best: nearHeap{max: true}} }
	return g
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

// put takes a place for a new vector, which is compared until it is linked. It takes raw over.
func (g *graph) put(n node, raw []byte) uint32 {
	n.record = g.names.keep(n.record)
	place := uint32(len(g.nodes))
	if last := len(g.free) - 1; last >= 0 {
		place = g.free[last]
		g.free = g.free[:last]
	} else {
		g.nodes = append(g.nodes, node{})
	}
	g.arena.set(place, raw)
	if n.state = queued; g.isLoose(place) {
		n.state = loose
		g.loose = append(g.loose, place)
	} else {
		g.queue = append(g.queue, place)
	}
	n.low = g.nodes[place].low
	g.nodes[place] = n
	return place
}

// requeue puts what is to be linked in the order of its numbers, and leaves out of the queue what is linked.
func (g *graph) requeue() {
	g.queue = slices.DeleteFunc(g.queue, func(p uint32) bool { return g.nodes[p].state != queued })
	slices.SortFunc(g.queue, func(a, b uint32) int { return cmp.Compare(g.nodes[a].number, g.nodes[b].number) })
}

// isLoose reports whether the vector at a place has no distance to others, not even to itself (a zero vector under
// COSINE), or distances say nothing about neighbours.
func (g *graph) isLoose(place uint32) bool {
	d := g.arena.apart(place, place, unbounded)
	return math.IsNaN(d) || math.IsInf(d, 0) || !g.spec.Metric.navigable()
}

// kill notes that a node has gone.
func (g *graph) kill(place uint32, at kv.Version) {
	n := &g.nodes[place]
	n.gone = at
	g.dead++
	if n.state == linked {
		g.live--
	}
}

// plan chooses the level and the neighbours of a vector that is to be linked, which are good until the next plan.
// Readers see nothing of it.
func (g *graph) plan(place uint32) [][]near { return g.neighbours(place, g.level()) }

// join links the first vector of the queue as planned.
func (g *graph) join(place uint32, chosen [][]near) {
	if g.queue = g.queue[1:]; len(g.queue) == 0 {
		g.queue = nil
	}
	n := &g.nodes[place]
	if n.gone != alive { // it went while it waited: only older snapshots want it
		n.state = loose
		g.loose = append(g.loose, place)
		return
	}
	n.state = linked
	g.layers(n, len(chosen)-1)
	for l, ns := range chosen {
		links := n.at(l)
		for _, c := range ns {
			links = append(links, c.place)
		}
		n.set(l, links)
	}
	for l, ns := range chosen {
		for _, c := range ns {
			g.link(c.place, place, l)
		}
	}
	g.live++
	if top := len(chosen) - 1; top > g.top {
		g.entry, g.top = place, top
	}
}

// layers gives a node empty lists of links up to a layer.
func (g *graph) layers(n *node, top int) {
	if n.low == nil {
		n.low = g.list()
	}
	n.low = n.low[:0]
	if n.high = nil; top > 0 {
		n.high = make([][]uint32, top)
		for i := range n.high {
			n.high[i] = make([]uint32, 0, g.capacity(1)+1)
		}
	}
}

// neighbours chooses whom a vector is to be linked with, by layer up to level.
func (g *graph) neighbours(place uint32, level int) [][]near {
	for len(g.linking.plan) <= level {
		g.linking.plan = append(g.linking.plan, nil)
	}
	chosen := g.linking.plan[:level+1]
	for l := range chosen {
		chosen[l] = chosen[l][:0]
	}
	if g.top < 0 {
		return chosen
	}
	to := g.arena.from(place)
	r := g.workspace()
	defer g.workspaces.Put(r)
	r.from = append(r.from[:0], g.descend(r, to, level))
	for l := min(level, g.top); l >= 0; l-- {
		g.expand(r, to, r.from, l, g.spec.Construction, nil)
		r.from = append(r.from[:0], r.best.items...)
		candidates := append(g.linking.candidates[:0], r.from...)
		if g.spec.Extend {
			candidates = g.extend(r, to, candidates, l)
		}
		chosen[l] = g.choose(chosen[l], candidates, g.spec.Links)
		g.linking.candidates = candidates
		r.next()
	}
	return chosen
}

// extend adds the neighbours of candidates to them.
func (g *graph) extend(r *workspace, to measure, candidates []near, layer int) []near {
	for _, c := range candidates[:len(candidates):len(candidates)] {
		for _, p := range g.nodes[c.place].at(layer) {
			if r.see(p) {
				candidates = append(candidates, near{to.one(p, unbounded), p})
			}
		}
	}
	return candidates
}

// choose picks at most n of the candidates into chosen, which is empty: near ones, in different directions. One that is
// nearer to a chosen one than to the vector itself is reached through that. It puts the candidates in order.
func (g *graph) choose(chosen, candidates []near, n int) []near {
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
		return append(chosen, candidates...)
	}
	left := g.linking.left[:0]
next:
	for _, c := range candidates {
		if len(chosen) == n {
			break
		}
		for _, o := range chosen {
			if g.arena.apart(c.place, o.place, c.far) < c.far {
				left = append(left, c)
				continue next
			}
		}
		chosen = append(chosen, c)
	}
	if g.spec.KeepPruned {
		chosen = append(chosen, left[:min(len(left), n-len(chosen))]...)
	}
	g.linking.left = left
	return chosen
}

// link adds a link, and leaves out the least useful one where there are too many.
func (g *graph) link(from, to uint32, layer int) {
	n := &g.nodes[from]
	if layer > n.top() || slices.Contains(n.at(layer), to) {
		return
	}
	links := append(n.at(layer), to) // lists have room for one more than they may have
	n.set(layer, links)
	if len(links) > g.capacity(layer) {
		g.relink(from, layer, links)
	}
}

// relink chooses the links of a node among places.
func (g *graph) relink(place uint32, layer int, among []uint32) {
	candidates := g.linking.candidates[:0]
	for _, p := range among {
		candidates = append(candidates, near{g.arena.apart(place, p, unbounded), p})
	}
	g.linking.candidates = candidates
	g.linking.links = g.choose(g.linking.links[:0], candidates, g.capacity(layer))
	links := g.nodes[place].at(layer)[:0]
	for _, c := range g.linking.links {
		links = append(links, c.place)
	}
	g.nodes[place].set(layer, links)
}

// purge takes the nodes out that had gone by a version: what pointed at them is linked with their neighbours instead.
func (g *graph) purge(by kv.Version) {
	out := func(p uint32) bool { return g.nodes[p].gone <= by }
	for p := range g.nodes {
		n := &g.nodes[p]
		if n.state != linked || out(uint32(p)) {
			continue
		}
		for l := range n.top() + 1 {
			if slices.ContainsFunc(n.at(l), out) {
				g.mend(uint32(p), l, out)
			}
		}
	}
	for p := range g.nodes {
		if n := &g.nodes[p]; n.state != free && out(uint32(p)) {
			g.nodes[p] = node{low: n.low[:0]} // the next node at this place reuses the list
			g.arena.drop(uint32(p))
			g.free = append(g.free, uint32(p))
			g.dead--
		}
	}
	g.purges++
	isFree := func(p uint32) bool { return g.nodes[p].state == free }
	g.loose = slices.DeleteFunc(g.loose, isFree)
	g.queue = slices.DeleteFunc(g.queue, isFree)
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
	for _, p := range g.nodes[place].at(layer) {
		add(p)
		if out(p) {
			for _, q := range g.nodes[p].at(layer) {
				add(q)
			}
		}
	}
	g.relink(place, layer, among)
}

// findEntry makes one of the highest nodes the entry point.
func (g *graph) findEntry() {
	g.top = -1
	for p := range g.nodes {
		if n := &g.nodes[p]; n.state == linked && n.top() > g.top {
			g.entry, g.top = uint32(p), n.top()
		}
	}
}
