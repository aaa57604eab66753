package ml

// rowCheck decides whether a step that reads rows gives rows.
type rowCheck struct {
	b  *batcher
	st *step
	n  *node
}

func (c *rowCheck) isRows(i int) bool {
	return i < len(c.st.in) && c.st.in[i] >= 0 && c.b.state[c.st.in[i]] == stateRows
}

// val is input i as one row had it; nil if it is left out.
func (c *rowCheck) val(i int) *Tensor {
	if i >= len(c.st.in) || c.st.in[i] < 0 {
		return nil
	}
	return c.b.vals[c.st.in[i]]
}

func (c *rowCheck) rank(i int) int {
	if t := c.val(i); t != nil {
		return len(t.Dims)
	}
	return 0
}

// onlyFirst reports whether the first input alone is of rows.
func (c *rowCheck) onlyFirst() bool {
	for i := range c.st.in {
		if c.isRows(i) != (i == 0) {
			return false
		}
	}
	return c.b.lifted || c.rank(0) > 0
}

// rule reports whether the step works on rows, and whether all of its outputs are rows then, or the first alone.
func (c *rowCheck) rule() (all, ok bool) {
	if c.b.lifted {
		switch c.st.rows {
		case rowsEach:
			return false, c.st.node.Domain == "" && c.st.node.Op != "DepthToSpace" && c.st.node.Op != "SpaceToDepth"
		case rowsAligned:
			return false, c.aligned()
		case rowsMatMul:
			return false, c.rank(0) == 1 && c.onlyFirst() && c.rank(1) <= 2
		}
		return false, false
	}
	switch c.st.rows {
	case rowsEach:
		return false, c.rank(0) > 0
	case rowsAligned:
		return false, c.aligned()
	case rowsFirst:
		return false, c.onlyFirst()
	case rowsTable:
		return true, c.rank(0) == 2
	case rowsMatMul:
		return false, c.matmul()
	case rowsGemm:
		return false, c.gemm()
	case rowsAxis, rowsAxisFirst, rowsAxisDrop:
		return c.axis()
	case rowsReduce:
		return false, c.reduce()
	}
	return false, c.shaped()
}

// aligned: each constant repeats for all rows.
func (c *rowCheck) aligned() bool {
	rank := 0
	for i := range c.st.in {
		rank = max(rank, c.rank(i))
	}
	for i := range c.st.in {
		t := c.val(i)
		switch {
		case t == nil:
		case c.isRows(i):
			if len(t.Dims) != rank || rank == 0 && !c.b.lifted {
				return false
			}
		case !c.b.lifted && len(t.Dims) == rank && t.Dims[0] != 1:
			return false
		}
	}
	return true
}

func (c *rowCheck) matmul() bool {
	a, b := c.rank(0), c.rank(1)
	first := func(i int) int { return c.val(i).Dims[0] }
	switch {
	case c.isRows(0) && c.isRows(1):
		return a == b && a >= 3
	case c.isRows(0):
		return a == 2 && b <= 2 || a >= 3 && (b < a || b == a && first(1) == 1)
	}
	return b >= 3 && (a < b || a == b && first(0) == 1)
}

func (c *rowCheck) gemm() bool {
	if c.n.int("transA", 0) != 0 || !c.isRows(0) || c.isRows(1) {
		return false
	}
	bias := c.val(2)
	if bias == nil || c.isRows(2) {
		return bias == nil || len(bias.Dims) == 2
	}
	return len(bias.Dims) < 2 || bias.Dims[0] == 1
}

func (c *rowCheck) axis() (all, ok bool) {
	def := -1
	if c.st.rows == rowsAxisDrop || c.st.node.Op == "Split" {
		def = 0
	}
	a := int(c.n.int("axis", int64(def)))
	if a < 0 {
		a += c.rank(0)
	}
	return c.st.rows == rowsAxisFirst, a > 0 && c.onlyFirst()
}

// list is input i, a constant list of whole numbers, or the attribute name.
func (c *rowCheck) list(i int, name string) ([]int, bool) {
	if c.isRows(i) {
		return nil, false
	}
	if t := c.val(i); t != nil {
		v, err := t.ints()
		return v, err == nil
	}
	return c.n.ints(name), true
}

// without reports whether none of axes is the first one of a tensor of rank axes.
func without(axes []int, rank int) bool {
	for _, a := range axes {
		if a == 0 || a == -rank {
			return false
		}
	}
	return true
}

func (c *rowCheck) reduce() bool {
	axes, ok := c.list(1, "axes")
	return ok && c.onlyFirst() && (len(axes) > 0 || c.n.int("noop_with_empty_axes", 0) != 0) && without(axes, c.rank(0))
}

// shaped are the rules of operators that change shapes.
func (c *rowCheck) shaped() bool {
	rank := c.rank(0)
	switch c.st.rows {
	case rowsReshape:
		out := c.b.vals[c.st.out[0]]
		return c.onlyFirst() && len(out.Dims) > 0 && out.Dims[0] == 1
	case rowsFlatten:
		a := int(c.n.int("axis", 1))
		return rank > 0 && (a == 1 || a == 1-rank)
	case rowsSqueeze:
		axes, ok := c.list(1, "axes")
		return ok && c.onlyFirst() && axes != nil && without(axes, rank)
	case rowsUnsqueeze:
		axes, ok := c.list(1, "axes")
		return ok && c.onlyFirst() && without(axes, rank+len(axes))
	case rowsTranspose:
		perm := c.n.ints("perm")
		return len(perm) > 0 && perm[0] == 0
	case rowsConcat:
		for i := range c.st.in {
			if !c.isRows(i) || c.rank(i) == 0 {
				return false
			}
		}
		a := int(c.n.int("axis", 1))
		return a != 0 && a != -rank
	case rowsSlice:
		if !c.onlyFirst() {
			return false
		}
		axes, ok := c.list(3, "axes")
		return ok && axes != nil && without(axes, rank)
	case rowsGather:
		a := int(c.n.int("axis", 0))
		if c.isRows(0) {
			return c.onlyFirst() && a != 0 && a != -rank
		}
		return a == 0 && c.rank(1) > 0
	}
	return false
}
