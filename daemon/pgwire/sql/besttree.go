package sql

import "github.com/nacredb/nacre/engine/value"

// bestTree finds the least or the greatest of the rows of a frame in logarithmic time. Place n+i of nodes is row i of
// n, or -1 where it does not count; each place before has the better row of the places 2i and 2i+1.
type bestTree struct {
	f     *framed
	nodes []int32
}

func (f *framed) tree() (*bestTree, error) {
	n := len(f.p.rows)
	if err := f.rt.spend(8 * n); err != nil {
		return nil, err
	}
	t := &bestTree{f: f, nodes: make([]int32, 2*n)}
	for i, counts := range f.counts {
		if t.nodes[n+i] = -1; counts {
			t.nodes[n+i] = int32(i)
		}
	}
	for i := n - 1; i > 0; i-- {
		if err := f.rt.poll(); err != nil {
			return nil, err
		}
		t.nodes[i] = t.better(t.nodes[2*i], t.nodes[2*i+1])
	}
	return t, nil
}

// better is the row with the better value; of equals the first one.
func (t *bestTree) better(a, c int32) int32 {
	switch {
	case a < 0:
		return c
	case c < 0:
		return a
	}
	n := order(t.f.a.oid, t.f.args[a], t.f.args[c]) * t.f.a.fn.best
	if n > 0 || n == 0 && a < c {
		return a
	}
	return c
}

// value is the best value of the rows of spans.
func (t *bestTree) value(_ int, _ span, spans [3]span) (value.Value, error) {
	best := int32(-1)
	n := len(t.f.p.rows)
	for _, s := range spans {
		for lo, hi := s.start+n, s.end+n; lo < hi; lo, hi = lo/2, hi/2 {
			if lo&1 == 1 {
				best = t.better(best, t.nodes[lo])
				lo++
			}
			if hi&1 == 1 {
				hi--
				best = t.better(best, t.nodes[hi])
			}
		}
	}
	if best < 0 {
		return value.None, nil
	}
	return t.f.args[best], nil
}
