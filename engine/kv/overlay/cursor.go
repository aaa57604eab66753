package overlay

// maxDepth bounds the height of a tree: nodes are split in halves at worst, so 12 levels hold
// more keys than memory does.
const maxDepth = 16

// Cursor walks a Tree in key order, both ways. It allocates nothing, and sees the tree as it was
// when the cursor was made if that was a snapshot. The zero Cursor is at no item.
type Cursor struct {
	depth int // levels in use; 0 = not at an item
	path  [maxDepth]step
}

type step struct {
	node *node
	i    int
}

// First moves to the first key >= start (nil = the smallest) and reports whether there is one.
func (c *Cursor) First(t *Tree, start []byte) bool {
	c.depth = 0
	if t.root == nil {
		return false
	}
	n := t.root
	for n.branch != nil {
		i := 0
		if start != nil {
			i = n.childOf(start)
		}
		c.push(n, i)
		n = n.kids[i]
	}
	i := 0
	if start != nil {
		i, _ = n.find(start)
	}
	c.push(n, i)
	if i == len(n.items) {
		c.path[c.depth-1].i--
		return c.Next()
	}
	return true
}

// Last moves to the last key < end (nil = the greatest) and reports whether there is one.
func (c *Cursor) Last(t *Tree, end []byte) bool {
	c.depth = 0
	if t.root == nil {
		return false
	}
	n := t.root
	for n.branch != nil {
		i := len(n.bounds) - 1
		if end != nil {
			i = n.childOf(end)
		}
		c.push(n, i)
		n = n.kids[i]
	}
	i := len(n.items)
	if end != nil {
		i, _ = n.find(end)
	}
	c.push(n, i)
	return c.Prev()
}

// Next moves to the next greater key.
func (c *Cursor) Next() bool {
	d := c.depth - 1
	if d < 0 {
		return false
	}
	s := &c.path[d]
	if s.i++; s.i < len(s.node.items) {
		return true
	}
	for d--; d >= 0; d-- {
		s = &c.path[d]
		if s.i++; s.i < len(s.node.bounds) {
			c.depth = d + 1
			for n := s.node.kids[s.i]; ; n = n.kids[0] {
				c.push(n, 0)
				if n.branch == nil {
					return true
				}
			}
		}
	}
	c.depth = 0
	return false
}

// Prev moves to the next smaller key.
func (c *Cursor) Prev() bool {
	d := c.depth - 1
	if d < 0 {
		return false
	}
	if s := &c.path[d]; s.i > 0 {
		s.i--
		return true
	}
	for d--; d >= 0; d-- {
		s := &c.path[d]
		if s.i--; s.i >= 0 {
			c.depth = d + 1
			c.descendLast(s.node.kids[s.i])
			return true
		}
	}
	c.depth = 0
	return false
}

func (c *Cursor) descendLast(n *node) {
	for n.branch != nil {
		last := len(n.bounds) - 1
		c.push(n, last)
		n = n.kids[last]
	}
	c.push(n, len(n.items)-1)
}

func (c *Cursor) push(n *node, i int) {
	c.path[c.depth] = step{n, i}
	c.depth++
}

// Valid reports whether the cursor is at an item.
func (c *Cursor) Valid() bool { return c.depth > 0 }

// Key is the key at the cursor, which must be Valid.
func (c *Cursor) Key() []byte {
	s := &c.path[c.depth-1]
	return s.node.items[s.i].key()
}

// Value is the value at the cursor, which must be Valid.
func (c *Cursor) Value() []byte {
	s := &c.path[c.depth-1]
	return s.node.items[s.i].val()
}
