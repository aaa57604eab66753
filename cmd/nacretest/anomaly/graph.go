package anomaly

import (
	"fmt"
	"strings"
)

// edgeKind is why one transaction comes before another; also a set of such reasons.
type edgeKind uint8

const (
	ww edgeKind = 1 << iota
	wr
	rw
	rt
)

func (k edgeKind) String() string {
	switch {
	case k&ww != 0:
		return "ww"
	case k&wr != 0:
		return "wr"
	case k&rw != 0:
		return "rw"
	}
	return "rt"
}

type edge struct {
	to   int
	kind edgeKind
}

// graph is a directed graph; nodes beyond the transactions are moments of the clock.
type graph struct {
	out  [][]edge
	txns int
}

func newGraph(n int) graph { return graph{out: make([][]edge, n), txns: n} }

func (g *graph) node() int {
	g.out = append(g.out, nil)
	return len(g.out) - 1
}

func (g *graph) add(a, b int, kind edgeKind) { g.out[a] = append(g.out[a], edge{b, kind}) }

// components are the strongly connected components of more than one node, by edges of the given
// kinds (Tarjan's algorithm, without recursion).
func (g *graph) components(kinds edgeKind) [][]int {
	n := len(g.out)
	index, low := make([]int, n), make([]int, n)
	onStack := make([]bool, n)
	type frame struct{ node, next int }
	var stack []int
	var frames []frame
	var out [][]int
	counter := 0
	enter := func(v int) {
		counter++
		index[v], low[v], onStack[v] = counter, counter, true
		stack = append(stack, v)
		frames = append(frames, frame{v, 0})
	}
	for root := range n {
		if index[root] != 0 {
			continue
		}
		enter(root)
		for len(frames) > 0 {
			f := &frames[len(frames)-1]
			if f.next < len(g.out[f.node]) {
				e := g.out[f.node][f.next]
				f.next++
				switch {
				case e.kind&kinds == 0:
				case index[e.to] == 0:
					enter(e.to)
				case onStack[e.to]:
					low[f.node] = min(low[f.node], index[e.to])
				}
				continue
			}
			v := f.node
			frames = frames[:len(frames)-1]
			if len(frames) > 0 {
				parent := frames[len(frames)-1].node
				low[parent] = min(low[parent], low[v])
			}
			if low[v] != index[v] {
				continue
			}
			var comp []int
			for {
				w := stack[len(stack)-1]
				stack = stack[:len(stack)-1]
				onStack[w] = false
				comp = append(comp, w)
				if w == v {
					break
				}
			}
			if len(comp) > 1 {
				out = append(out, comp)
			}
		}
	}
	return out
}

// step is one edge of a path.
type step struct {
	from, to int
	kind     edgeKind
}

// path is the shortest way from a to b inside the nodes of within by edges of the given kinds, or
// nil.
func (g *graph) path(a, b int, kinds edgeKind, within map[int]bool) []step {
	came := map[int]step{}
	queue := []int{a}
	for len(queue) > 0 {
		v := queue[0]
		queue = queue[1:]
		for _, e := range g.out[v] {
			if e.kind&kinds == 0 || !within[e.to] {
				continue
			}
			if _, seen := came[e.to]; seen {
				continue
			}
			came[e.to] = step{v, e.to, e.kind}
			if e.to == b {
				return walkBack(came, a, b)
			}
			queue = append(queue, e.to)
		}
	}
	return nil
}

func walkBack(came map[int]step, a, b int) []step {
	var out []step
	for at := b; ; {
		s := came[at]
		out = append([]step{s}, out...)
		if at = s.from; at == a {
			return out
		}
	}
}

// maxPerKind bounds the cycles of one kind that are reported.
const maxPerKind = 10

// cycles finds one cycle in each component, first by the fewest kinds of edges: what is found
// there is not reported again.
func (c *checker) cycles() {
	orders := []edgeKind{0}
	if c.opt.RealTime {
		orders = append(orders, rt)
	}
	for _, clock := range orders {
		suffix := ""
		if clock != 0 {
			suffix = "-realtime"
		}
		before := len(c.found)
		c.plainCycles("G0"+suffix, ww|clock)
		if len(c.found) == before {
			c.plainCycles("G1c"+suffix, ww|wr|clock)
		}
		c.antiCycles(suffix, clock)
		if len(c.found) > before {
			return
		}
	}
}

func (c *checker) plainCycles(kind string, kinds edgeKind) {
	for n, comp := range c.g.components(kinds) {
		if n == maxPerKind {
			return
		}
		within := setOf(comp)
		c.report(kind, c.g.path(comp[0], comp[0], kinds, within))
	}
}

// antiCycles finds cycles with rw edges: G-single when one is enough, else G2.
func (c *checker) antiCycles(suffix string, clock edgeKind) {
	single, more := 0, 0
	for _, comp := range c.g.components(ww | wr | rw | clock) {
		within := setOf(comp)
		way, kind := c.singleCycle(comp, within, clock)
		if way != nil {
			if single++; single <= maxPerKind {
				c.report(kind+suffix, way)
			}
			continue
		}
		for _, v := range comp {
			if way = c.rwCycle(v, within, clock); way != nil {
				break
			}
		}
		if way != nil {
			if more++; more <= maxPerKind {
				c.report("G2"+suffix, way)
			}
		}
	}
}

// singleCycle looks for an rw edge that ww and wr edges close to a cycle.
func (c *checker) singleCycle(comp []int, within map[int]bool, clock edgeKind) ([]step, string) {
	for _, v := range comp {
		for _, e := range c.g.out[v] {
			if e.kind != rw || !within[e.to] {
				continue
			}
			if back := c.g.path(e.to, v, ww|wr|clock, within); back != nil {
				return append([]step{{v, e.to, rw}}, back...), "G-single"
			}
		}
	}
	return nil, ""
}

// rwCycle is a cycle through an rw edge of v.
func (c *checker) rwCycle(v int, within map[int]bool, clock edgeKind) []step {
	for _, e := range c.g.out[v] {
		if e.kind != rw || !within[e.to] {
			continue
		}
		if back := c.g.path(e.to, v, ww|wr|rw|clock, within); back != nil {
			return append([]step{{v, e.to, rw}}, back...)
		}
	}
	return nil
}

func setOf(list []int) map[int]bool {
	m := make(map[int]bool, len(list))
	for _, v := range list {
		m[v] = true
	}
	return m
}

// report tells a cycle; moments of the clock are left out.
func (c *checker) report(kind string, way []step) {
	var b strings.Builder
	for i, s := range way {
		if s.from < c.g.txns {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(c.name(s.from))
		}
		if s.to < c.g.txns || s.from < c.g.txns {
			fmt.Fprintf(&b, " -%s->", s.kind)
		}
	}
	c.find(kind, "%s %s", b.String(), c.name(way[0].from))
}
