package ml

// Rows go through a tree together: the tree stays in the fastest cache meanwhile, and the paths of four rows do not
// wait for each other. Each step costs the same whichever way it goes, so that the processor guesses no branch wrong.

// hop is a node of a plain tree as rows pass it: to next for x ≤ value, to the node behind it otherwise. A leaf leads
// to itself.
type hop[T real] struct {
	value   T
	feature int32
	next    int32
	step    int32 // 1, or 0 at a leaf
}

// hopBlock is how many rows pass a tree at once.
const hopBlock = 64

// passage is a plain forest laid out for many rows: the two children of a node stand side by side.
type passage[T real] struct {
	hops  []hop[T]
	roots []int32
	leaf  []int32   // by hop: the node of the forest; nil if value has it all
	value []float64 // by hop: the weight of a leaf, where each leaf has one weight and there is one target
}

// passageOf lays a forest out; nil if its conditions are not all LEQ, or if nodes are shared, which would take more
// room.
func passageOf[T real](f *forest[T]) *passage[T] {
	if !f.plain {
		return nil
	}
	p := &passage[T]{hops: make([]hop[T], 0, len(f.nodes)), leaf: make([]int32, 0, len(f.nodes))}
	one := f.targets == 1 && f.how == "SUM"
	for _, root := range f.roots {
		p.roots = append(p.roots, int32(len(p.hops)))
		p.hops, p.leaf = append(p.hops, hop[T]{}), append(p.leaf, root)
		for i := int(p.roots[len(p.roots)-1]); i < len(p.hops); i++ {
			b := &f.nodes[p.leaf[i]]
			if b.feature < 0 {
				p.hops[i] = hop[T]{next: int32(i)}
				one = one && b.no-b.yes == 1
				continue
			}
			if len(p.hops)+2 > len(f.nodes) {
				return nil
			}
			p.hops[i] = hop[T]{value: b.value, feature: b.feature, next: int32(len(p.hops)), step: 1}
			p.hops, p.leaf = append(p.hops, hop[T]{}, hop[T]{}), append(p.leaf, b.yes, b.no)
		}
	}
	if one {
		p.value = make([]float64, len(p.hops))
		for i, h := range p.hops {
			if h.step == 0 {
				p.value[i] = f.leaves[f.nodes[p.leaf[i]].yes].weight
			}
		}
		p.leaf = nil
	}
	return p
}

// scoresOfMany is scores for a block of rows after the other. The trees add to a row in their order: its bits are those
// that it has alone.
func (f *forest[T]) scoresOfMany(r *run, x []T, rows, cols int, o []float32) error {
	p := f.many
	n := min(rows, hopBlock)
	sums, hit := make([]float64, n*f.targets), make([]bool, n*f.targets)
	var at [hopBlock]int32
	for from := 0; from < rows; from += hopBlock {
		n := min(rows-from, hopBlock)
		clear(sums)
		clear(hit)
		for t, root := range p.roots {
			p.pass(root, x[from*cols:(from+n)*cols], cols, at[:n])
			if p.value != nil {
				for i, h := range at[:n] {
					sums[i] += p.value[h]
				}
			} else {
				for i, h := range at[:n] {
					b := &f.nodes[p.leaf[h]]
					for _, w := range f.leaves[b.yes:b.no] {
						f.add(sums[i*f.targets:(i+1)*f.targets], hit[i*f.targets:(i+1)*f.targets], w)
					}
				}
			}
			if t&15 == 15 {
				if err := r.tick(256 * n); err != nil {
					return err
				}
			}
		}
		for i := range n {
			f.finish(sums[i*f.targets:(i+1)*f.targets], o[(from+i)*f.targets:(from+i+1)*f.targets])
		}
		if err := r.tick(16 * n); err != nil {
			return err
		}
	}
	return nil
}

// pass sets for each row of x where it leaves the tree of root.
func (p *passage[T]) pass(root int32, x []T, cols int, at []int32) {
	hops := p.hops
	i := 0
	for ; i+4 <= len(at); i += 4 {
		o0 := i * cols
		o1, o2, o3 := o0+cols, o0+2*cols, o0+3*cols
		h0, h1, h2, h3 := root, root, root, root
		for {
			n0, n1, n2, n3 := &hops[h0], &hops[h1], &hops[h2], &hops[h3]
			if n0.step|n1.step|n2.step|n3.step == 0 {
				break
			}
			h0 = n0.next + n0.step&beyond(x[o0+int(n0.feature)], n0.value)
			h1 = n1.next + n1.step&beyond(x[o1+int(n1.feature)], n1.value)
			h2 = n2.next + n2.step&beyond(x[o2+int(n2.feature)], n2.value)
			h3 = n3.next + n3.step&beyond(x[o3+int(n3.feature)], n3.value)
		}
		at[i], at[i+1], at[i+2], at[i+3] = h0, h1, h2, h3
	}
	for ; i < len(at); i++ {
		h := root
		for hops[h].step != 0 {
			h = hops[h].next + beyond(x[i*cols+int(hops[h].feature)], hops[h].value)
		}
		at[i] = h
	}
}

// beyond is 0 for x ≤ value and 1 otherwise, also where x is not a number.
func beyond[T real](x, value T) int32 {
	n := int32(1)
	if x <= value {
		n = 0
	}
	return n
}
