package vector

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/nacredb/nacre/engine/ast"
)

// TestSearchGoesOn: a search that goes on wider finds as much as one that is as wide from the beginning, while nodes
// come, go and are taken out between its looks.
func TestSearchGoesOn(t *testing.T) {
	for _, metric := range []string{"EUCLIDEAN", "COSINE", "MANHATTAN"} {
		v := hnsw(24, metric, "F32")
		s, ok := NewSpec(&ast.DefineIndex{Kind: ast.IndexHNSW, Vector: &v})
		if !ok {
			t.Fatal(metric)
		}
		searchOn(t, &s)
	}
}

func searchOn(t *testing.T, s *Spec) {
	t.Helper()
	r := rand.New(rand.NewPCG(4, 6))
	c := newClusters(5, 9, s.Dimension)
	encoded := func() []byte {
		raw, err := s.Encode(nil, numbersOf(c.vector()))
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	g := newGraph(s, 1)
	names := 0
	add := func() {
		names++
		place := g.put(node{record: strconv.Itoa(names), gone: alive}, encoded())
		g.join(place, g.plan(place))
	}
	for range 1500 {
		add()
	}
	wide, on, all := 0, 0, 0
	for turn := range 120 {
		some := 1 + r.IntN(12)
		keep := func(p uint32) bool { return g.nodes[p].gone == alive && int(p)%some == 0 }
		if some == 1 && g.dead == 0 {
			keep = nil
		}
		query := encoded()
		var p paused
		var got []found
		for ef := 1 + r.IntN(20); ; ef *= 4 {
			got, _ = g.search(got[:0], &p, g.arena.to(query), ef, keep)
			checkFound(t, g, query, got, keep)
			if len(got) > ef {
				t.Fatalf("ef %d: %d nodes", ef, len(got))
			}
			if ef >= 80 {
				once := new(paused)
				whole, _ := g.search(nil, once, g.arena.to(query), ef, keep)
				once.end()
				want := nearest(g, query, 10, keep)
				wide += among(whole, want)
				on += among(got, want)
				all += len(want)
				break
			}
			switch r.IntN(4) {
			case 0:
				add()
			case 1:
				if p := uint32(r.IntN(len(g.nodes))); g.nodes[p].state == linked && g.nodes[p].gone == alive {
					g.kill(p, 1)
				}
			case 2:
				if turn%10 == 0 {
					g.purge(1)
				}
			}
		}
		p.end()
	}
	if all == 0 || wide*20 < all*19 || on < wide-all/100 {
		t.Errorf("%s: of %d nodes %d were found at once, %d by going on", s.Metric.name, all, wide, on)
	}
}

// checkFound refuses hits that are not wanted, or not so far, or there twice.
func checkFound(t *testing.T, g *graph, query []byte, hits []found, keep func(uint32) bool) {
	t.Helper()
	far := map[string]float64{}
	for _, f := range nearest(g, query, len(g.nodes), keep) {
		far[f.record] = f.far
	}
	for _, f := range hits {
		if d, ok := far[f.record]; !ok || d != f.far {
			t.Fatalf("found %v, want distance %v, %t", f, d, ok)
		}
		delete(far, f.record)
	}
}

// nearest is a search that measures all nodes.
func nearest(g *graph, query []byte, k int, keep func(uint32) bool) []found {
	to := g.arena.to(query)
	var out []found
	for p := range g.nodes {
		if n := &g.nodes[p]; n.state == linked && (keep == nil || keep(uint32(p))) {
			out = append(out, found{n.record, to.one(uint32(p), unbounded)})
		}
	}
	slices.SortFunc(out, func(a, b found) int { return cmp.Compare(a.far, b.far) })
	return out[:min(k, len(out))]
}

func among(hits, wanted []found) (n int) {
	for _, f := range wanted {
		if slices.Contains(hits, f) {
			n++
		}
	}
	return n
}

// TestWhatIsNotLinkedWaitsItsTurn: a look gives nothing that is compared one by one and farther than what it has
// searched for. A condition that few records meet would take that for the nearest.
func TestWhatIsNotLinkedWaitsItsTurn(t *testing.T) {
	v := hnsw(2, "EUCLIDEAN", "F32")
	spec, _ := NewSpec(&ast.DefineIndex{Kind: ast.IndexHNSW, Vector: &v})
	s := &shared{x: &Index{Spec: spec}, g: newGraph(&spec, 1), loaded: true}
	at := func(x float64) []byte {
		raw, err := spec.Encode(nil, numbersOf([]float64{x, 0}))
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	for i := range 1600 {
		place := s.g.put(node{record: strconv.Itoa(i), gone: alive}, at(float64(i)))
		s.g.join(place, s.g.plan(place))
	}
	for i := range 50 { // between the linked ones
		s.g.put(node{record: "queued" + strconv.Itoa(i), gone: alive}, at(float64(10*i)+0.5))
	}
	mine := map[string]*change{"own1": {record: "own1", raw: at(3)}, "own2": {record: "own2", raw: at(900)}}
	before := new(paused)
	for ef := 10; ; ef *= 4 {
		hits, whole, ok := s.nearest(before, at(0), ef, 1, 0, mine)
		if !ok {
			t.Fatal("the graph does not answer")
		}
		slices.SortFunc(hits, compare)
		last := hits[len(hits)-1].far
		if whole {
			if len(hits) != 1652 {
				t.Errorf("%d hits, want all", len(hits))
			}
			break
		}
		if last != float64(ef-1) || len(hits) != ef+(ef+8)/10+1 {
			t.Errorf("ef %d: %d hits, the last one is %v away", ef, len(hits), last)
		}
	}
	before.end()
}
