package bolt

import (
	"bytes"
	"encoding/binary"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/overlay"
)

// changes are what is to be changed in a tree, in ascending order of their keys: so many of them as a part of a
// checkpoint may have.
type changes struct {
	cur  *overlay.Cursor
	more bool // cur is at one
	keys int  // that are left of this part
	size int64
}

// next gives the key of the next change; nil at the end of the part.
func (c *changes) next() []byte {
	if !c.more || c.keys == 0 || c.size <= 0 {
		return nil
	}
	return c.cur.Key()
}

// before reports whether there is a change before a key; nil is behind all keys.
func (c *changes) before(high []byte) bool {
	k := c.next()
	return k != nil && (high == nil || bytes.Compare(k, high) < 0)
}

// take gives the value of the next change, nil for a deletion, and moves on.
func (c *changes) take() (value []byte) {
	value = c.cur.Value()
	c.keys--
	c.size -= int64(len(value))
	c.more = c.cur.Next()
	return value
}

// item is an element of a page that is to be written: what is in value, or leads to child.
type item struct {
	key, value []byte
	child      uint64 // of a branch
	bucket     bool   // value describes a bucket
	fresh      bool   // it was not in the tree
}

// size is what the item takes of a page.
func (it *item) size() int { return pageElement + len(it.key) + len(it.value) }

// row is the items of one depth of the tree that are not in pages yet.
type row struct {
	items []item
	bytes int
}

func (r *row) add(it item) {
	r.items = append(r.items, it)
	r.bytes += it.size()
}

// cut drops the items from n on.
func (r *row) cut(n int) {
	for i := range r.items[n:] {
		r.bytes -= r.items[n+i].size()
	}
	r.items = r.items[:n]
}

// rewriter changes a tree: it goes through the pages that changes lie in, from left to right, and writes new ones in
// their place, leaves first. Pages without changes stay. It keeps its room for other parts of a checkpoint.
type rewriter struct {
	view *pages
	w    pageWriter
	in   *changes
	rows []row    // from that of the leaves upwards
	news [][]byte // keys that were not in the tree
}

// rewrite applies changes to the tree that view shows, and gives its new root.
func (r *rewriter) rewrite(view *pages, in *changes) (root uint64, err error) {
	top := view.depth // of the row above the root
	r.view, r.in, r.news = view, in, r.news[:0]
	for i := range r.rows {
		r.rows[i].cut(0)
	}
	for len(r.rows) <= top {
		r.rows = append(r.rows, row{})
	}
	if err := r.visit(view.root, top-1, bounds{}); err != nil {
		return 0, err
	}
	if below := &r.rows[top-1]; top > 1 && len(below.items) == 1 { // the root has one child left
		r.rows[top].add(below.items[0])
		below.cut(0)
	} else if err := r.write(top - 1); err != nil {
		return 0, err
	}
	return r.climb(top, mixedFill)
}

// climb writes the branches of the highest row and above, and gives the page that is above all others.
func (r *rewriter) climb(top int, ratio float64) (root uint64, err error) {
	for ; len(r.rows[top].items) > 1; top++ {
		if len(r.rows) == top+1 {
			r.rows = append(r.rows, row{})
		}
		if err := r.split(top, ratio, false); err != nil {
			return 0, err
		}
	}
	if len(r.rows[top].items) == 1 {
		return r.rows[top].items[0].child, nil
	}
	return r.writePage(0, nil)
}

// bounds are the keys between which those of a page have to be: low, which leads there, and less than high. Smaller
// changes come there too where no page is before it. nil is no bound.
type bounds struct {
	low, high []byte
	next      bool   // another page under the same branch follows
	nextHigh  []byte // the high of that one
}

// visit changes the tree under a page at some height above the leaves. What is to be in its place is added to the row
// above, but for what is left in its own row to go on into the next page.
func (r *rewriter) visit(s sheet, height int, b bounds) error {
	if s.branch != (height > 0) {
		return damagedPage(s.id, "is at a wrong depth")
	}
	if s.n > 0 && (b.low != nil && bytes.Compare(s.key(0), b.low) < 0 ||
		b.high != nil && bytes.Compare(s.key(s.n-1), b.high) >= 0) {
		return damagedPage(s.id, "has keys that belong elsewhere")
	}
	own := &r.rows[height]
	carried := len(own.items)
	changed, ratio := false, mixedFill
	if height == 0 {
		changed, ratio = r.leaf(&s, b.high)
	} else {
		var err error
		if changed, err = r.branch(&s, height, b.high); err != nil {
			return err
		}
	}
	if own = &r.rows[height]; !changed && carried == 0 && s.id != 0 {
		own.cut(0)
		r.rows[height+1].add(item{key: b.low, child: s.id})
		return nil
	}
	if s.id != 0 {
		r.w.drop(s.id, len(s.buf))
	}
	if own.bytes < r.w.p.meta.pageSize/leastFull {
		return nil
	}
	if ratio == mixedFill && height == 0 && own.bytes > r.room() && b.next && r.in.before(b.nextHigh) {
		return r.split(height, flowFill, true)
	}
	return r.split(height, ratio, false)
}

// room is what a page holds beside its head.
func (r *rewriter) room() int { return r.w.p.meta.pageSize - pageHeader }

// leastFull is the part of a page that a page has at least, where there is a next one to share with.
const leastFull = 4

// branch visits the children of a branch that changes lie in.
func (r *rewriter) branch(s *sheet, height int, high []byte) (changed bool, err error) {
	highOf := func(i int) []byte {
		if i+1 < s.n {
			return s.key(i + 1)
		}
		return high
	}
	for i := range s.n {
		b := bounds{low: s.key(i), high: highOf(i), next: i+1 < s.n}
		if len(r.rows[height-1].items) == 0 && !r.in.before(b.high) {
			r.rows[height].add(item{key: b.low, child: s.child(i)})
			continue
		}
		if b.next {
			b.nextHigh = highOf(i + 1)
		}
		child, err := r.view.sheet(s.child(i))
		if err != nil {
			return false, err
		}
		r.view.came(1)
		dropped := len(r.w.gone)
		if err := r.visit(child, height-1, b); err != nil {
			return false, err
		}
		changed = changed || len(r.w.gone) > dropped
	}
	return changed, r.write(height - 1) // nothing is carried from one branch into the next one
}

// leaf merges changes into the elements of a leaf, and says how full the pages are to be that take them.
func (r *rewriter) leaf(s *sheet, high []byte) (changed bool, fill float64) {
	own := &r.rows[0]
	at := 0
	until := func(i int) {
		for ; at < i; at++ {
			own.add(item{key: s.key(at), value: s.value(at)})
		}
	}
	for r.in.before(high) {
		key := r.in.next()
		i := s.search(at, key)
		until(i)
		there := i < s.n && bytes.Equal(s.key(i), key)
		if there {
			at++
		}
		value := r.in.take()
		if value != nil {
			own.add(item{key: key, value: value, fresh: !there})
			if !there {
				r.news = append(r.news, key)
			}
		}
		changed = changed || there || value != nil
	}
	until(s.n)
	return changed, fillOf(own.items)
}

// write puts what is left of a row into pages.
func (r *rewriter) write(height int) error {
	if len(r.rows[height].items) == 0 {
		return nil
	}
	return r.split(height, mixedFill, false)
}

// split puts the items of a row into pages: into one where they fit, else into such as are filled to about a ratio.
// flows: what does not fill a page stays in the row.
func (r *rewriter) split(height int, ratio float64, flows bool) error {
	own, up, room := &r.rows[height], &r.rows[height+1], r.room()
	target, least := room, 1
	if height > 0 {
		least = 2 // or there would be no end of branches above branches
	}
	if own.bytes > room {
		if target = int(ratio * float64(room)); ratio == mixedFill {
			n := (own.bytes + target - 1) / target
			target = (own.bytes + n - 1) / n
		}
	}
	from := 0
	for from < len(own.items) && !(flows && own.bytes <= target) {
		to, size := from, 0
		for ; to < len(own.items); to++ {
			next := own.items[to].size()
			if to-from >= least && (size >= target || size+next > room) {
				break
			}
			size += next
		}
		if to == len(own.items)-1 && least > 1 { // none is left alone
			if to--; to-from < least {
				to = len(own.items)
			}
		}
		id, err := r.writePage(height, own.items[from:to])
		if err != nil {
			return err
		}
		up.add(item{key: own.items[from].key, child: id})
		for ; from < to; from++ {
			own.bytes -= own.items[from].size()
		}
	}
	own.items = own.items[:copy(own.items, own.items[from:])]
	return nil
}

// writePage writes a leaf, or a branch where height is not 0.
func (r *rewriter) writePage(height int, items []item) (id uint64, err error) {
	size := pageHeader
	for i := range items {
		size += items[i].size()
	}
	id, buf, err := r.w.page(size)
	if err != nil {
		return 0, err
	}
	kind := uint16(pageLeaf)
	if height > 0 {
		kind = pageBranch
	}
	putItems(buf, kind, items)
	return id, nil
}

// putItems fills a page that has its number.
func putItems(buf []byte, kind uint16, items []item) {
	le := binary.LittleEndian
	le.PutUint16(buf[8:], kind)
	le.PutUint16(buf[10:], uint16(len(items)))
	end := pageHeader + len(items)*pageElement
	for i := range items {
		it := &items[i]
		at := pageHeader + i*pageElement
		e := buf[at : at+pageElement]
		if kind == pageBranch {
			le.PutUint32(e, uint32(end-at))
			le.PutUint32(e[4:], uint32(len(it.key)))
			le.PutUint64(e[8:], it.child)
		} else {
			if it.bucket {
				le.PutUint32(e, bucketFlag)
			}
			le.PutUint32(e[4:], uint32(end-at))
			le.PutUint32(e[8:], uint32(len(it.key)))
			le.PutUint32(e[12:], uint32(len(it.value)))
		}
		end += copy(buf[end:], it.key)
		end += copy(buf[end:], it.value)
	}
}

// Fill ratios of pages that are split.
const (
	// Higher than half, because sorted runs follow each other; not full, because later runs fall in between.
	mixedFill = 0.75
	// Of a run that goes on where keys ended, as those of numbered or dated records do: the next one will go on after
	// it. Such tables take a sixth less room.
	appendFill = 0.95
	// Where the next leaf is changed, too, what is left goes on into it: keys in random order would else leave pages
	// that are half full.
	flowFill = 0.85
)

// fillOf is the fill ratio for the items of a leaf. A run of new ones goes on where keys ended when there is no old one
// in its midst, and the one before it is about as like its first as they are among themselves: by a byte less, for
// 0x01ff and 0x0200 follow each other too.
func fillOf(items []item) float64 {
	first, last := -1, -1
	for i := range items {
		if !items[i].fresh {
			continue
		}
		if first < 0 {
			first = i
		} else if last != i-1 {
			return mixedFill
		}
		last = i
	}
	if first < 1 || common(items[first-1].key, items[first].key) < common(items[first].key, items[last].key)-1 {
		return mixedFill
	}
	return appendFill
}

// common is how many bytes two keys begin with in common.
func common(a, b []byte) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// fact is an entry of the bucket that describes the store.
type fact struct{ name, value []byte }

func appliedFact(v kv.Version) fact {
	return fact{name("applied"), binary.BigEndian.AppendUint64(nil, uint64(v))}
}

func formatFact(format uint32) fact {
	return fact{name("format"), binary.BigEndian.AppendUint32(nil, format)}
}

// rewriteRoot writes the leaf of the buckets: that of the data with another root, and the description with other facts.
func (r *rewriter) rewriteRoot(data uint64, facts ...fact) (root uint64, err error) {
	old, err := r.view.sheet(r.view.buckets)
	if err != nil {
		return 0, err
	}
	var items []item
	for i := range old.n {
		it := item{key: old.key(i), value: old.value(i), bucket: true}
		switch {
		case bytes.Equal(it.key, dataBucket()):
			it.value = binary.LittleEndian.AppendUint64(nil, data)
			it.value = append(it.value, make([]byte, 8)...)
		case bytes.Equal(it.key, metaBucket()) && len(facts) > 0:
			if it.value, err = describe(it.value, facts); err != nil {
				return 0, err
			}
		}
		items = append(items, it)
	}
	r.w.drop(r.view.buckets, len(old.buf))
	return r.writePage(0, items)
}

// describe is the bucket that describes the store with other facts, each as long as before.
func describe(bucket []byte, facts []fact) ([]byte, error) {
	t, err := parseBucket(bucket)
	if err != nil {
		return nil, err
	}
	if t.root != 0 {
		return nil, damagedPage(t.root, "has a description of a store that is too large")
	}
	var s sheet
	if err = s.read(0, t.inline); err == nil {
		err = s.check()
	}
	if err != nil {
		return nil, err
	}
	out := bytes.Clone(bucket)
	for _, f := range facts {
		i := s.search(0, f.name)
		if i == s.n || !bytes.Equal(s.key(i), f.name) || len(s.value(i)) != len(f.value) {
			return nil, damagedPage(0, "does not describe the store")
		}
		_, at := s.extent(i)
		copy(out[16+at:], f.value)
	}
	return out, nil
}
