package vector

// near is a place and how far it is.
type near struct {
	far   float64
	place uint32
}

// nearHeap is a binary heap of places: the nearest on top, or with max the farthest.
type nearHeap struct {
	items []near
	max   bool
}

func (h *nearHeap) before(a, b near) bool {
	if h.max {
		return a.far > b.far
	}
	return a.far < b.far
}

func (h *nearHeap) push(n near) {
	h.items = append(h.items, n)
	i := len(h.items) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !h.before(h.items[i], h.items[up]) {
			return
		}
		h.items[i], h.items[up] = h.items[up], h.items[i]
		i = up
	}
}

func (h *nearHeap) pop() near {
	top := h.items[0]
	last := len(h.items) - 1
	h.items[0] = h.items[last]
	h.items = h.items[:last]
	i := 0
	for {
		down := 2*i + 1
		if down >= last {
			return top
		}
		if down+1 < last && h.before(h.items[down+1], h.items[down]) {
			down++
		}
		if !h.before(h.items[down], h.items[i]) {
			return top
		}
		h.items[i], h.items[down] = h.items[down], h.items[i]
		i = down
	}
}

func (h *nearHeap) top() near { return h.items[0] }
func (h *nearHeap) len() int  { return len(h.items) }
func (h *nearHeap) reset()    { h.items = h.items[:0] }
