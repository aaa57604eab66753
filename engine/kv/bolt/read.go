package bolt

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime/debug"
	"slices"
	"sync/atomic"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/wal"
)

// pages is data.db as one reader sees it, in the memory that bbolt has mapped. bbolt trusts what it reads
// there: one flipped bit can make it leave out rows, or end the process. Pages have no checksum, but more in them is
// said twice than not: where each element lies follows from the ones before it, keys ascend, and those of a page have
// to be between two keys of the page above, and all leaves are at one depth. All of that is looked at on the way, so
// that a damaged page is kv.ErrCorrupt, and so is one that the free list has, which may be an older state of the right
// one; only a value, and the key that it belongs to, need their checksum besides.
type pages struct {
	data    []byte // the file as far as it is in use
	size    uint64 // of a page
	count   uint64
	seen    []atomic.Uint64 // a bit for each page whose layout was found sound; the transaction's pages do not change
	sound   []atomic.Uint64 // a bit for each leaf all of whose values were found to have their checksums
	free    []uint64        // a bit for each page that the tree cannot hold
	root    sheet           // of the data bucket
	buckets uint64          // the leaf of the buckets
	depth   int             // of all leaves below it, 1 where it is one
	trim    func()          // gives up resident pages where they are many; nil: never
	leaves  atomic.Uint64   // that readers came to
	asked   atomic.Uint64   // how many of them when trim was called last
}

// sheet is a branch or leaf page whose layout is sound.
type sheet struct {
	id     uint64 // 0: inside of another page
	buf    []byte // with the pages that overflow from it
	n      int
	keys   int // where the first element says where its key is and how long
	branch bool
	known  bool // it was read before
	sound  bool // the checksums of all values were looked at
}

// mapPages finds the data bucket in the pages of a mapped file with a meta page.
func mapPages(p *pages, m fileMeta) (_ *pages, err error) {
	defer asCorrupt(&err, debug.SetPanicOnFault(true))
	p.buckets = m.root
	words := p.count/64 + 1
	p.seen, p.sound, p.free = make([]atomic.Uint64, words), make([]atomic.Uint64, words), make([]uint64, words)
	free, err := p.freeIDs(m.freeList)
	if err != nil {
		return nil, err
	}
	for _, id := range free {
		p.free[id/64] |= 1 << (id % 64)
	}
	buckets, err := p.sheet(m.root)
	if err != nil {
		return nil, err
	}
	if p.root, err = p.bucket(buckets, dataBucket()); err != nil {
		return nil, err
	}
	return p, p.measure()
}

// measure finds the depth of the tree, on its left side and on its right: no page between may make another one of it.
func (p *pages) measure() error {
	left, err := p.depthAt(func(*sheet) int { return 0 })
	if err != nil {
		return err
	}
	right, err := p.depthAt(func(s *sheet) int { return s.n - 1 })
	if err == nil && left != right {
		err = damagedPage(p.root.id, "has leaves at depths %d and %d", left, right)
	}
	p.depth = left
	return err
}

func (p *pages) depthAt(choose func(*sheet) int) (int, error) {
	at := p.root
	for depth := 1; depth <= maxPageDepth; depth++ {
		if !at.branch {
			return depth, nil
		}
		var err error
		if at, err = p.sheet(at.child(choose(&at))); err != nil {
			return 0, err
		}
	}
	return 0, damagedPage(at.id, "is in no proper tree")
}

// freeIDs reads the free list, which checkHead has found sound or the pager has written since.
func (p *pages) freeIDs(id uint64) ([]uint64, error) {
	if id == noFreeList {
		return nil, nil
	}
	buf, err := p.bytes(id)
	if err != nil {
		return nil, err
	}
	pg, err := parsePage(buf)
	if err != nil {
		return nil, err
	}
	ids, err := pg.freeIDs()
	for _, id := range ids {
		if id >= p.count {
			return nil, damagedPage(id, "is outside of the %d pages", p.count)
		}
	}
	return ids, err
}

// bucket finds the root of a bucket. There are so few of them that their tree is one leaf.
func (p *pages) bucket(in sheet, name []byte) (sheet, error) {
	i := in.search(0, name)
	if in.branch || i == in.n || !bytes.Equal(in.key(i), name) {
		return sheet{}, fmt.Errorf("bucket %q is not to be found: %w", name, kv.ErrCorrupt)
	}
	t, err := parseBucket(in.value(i))
	if err != nil {
		return sheet{}, err
	}
	if t.root != 0 {
		return p.sheet(t.root)
	}
	var s sheet
	err = s.read(0, t.inline)
	if err == nil {
		err = s.check()
	}
	return s, err
}

// bytes gives a page with those that overflow from it.
func (p *pages) bytes(id uint64) ([]byte, error) {
	if id < 2 || id >= p.count {
		return nil, damagedPage(id, "is outside of the %d pages", p.count)
	}
	head := p.data[id*p.size:]
	over := uint64(binary.LittleEndian.Uint32(head[12:]))
	if over >= p.count-id {
		return nil, damagedPage(id, "reaches %d pages beyond the end", over)
	}
	return head[:(over+1)*p.size], nil
}

// sheet reads a page of a tree.
func (p *pages) sheet(id uint64) (s sheet, err error) {
	err = p.read(&s, id)
	return s, err
}

// read is sheet into s: every look-up comes by a page for each level.
func (p *pages) read(s *sheet, id uint64) error {
	buf, err := p.bytes(id)
	if err != nil {
		return err
	}
	if err := s.read(id, buf); err != nil {
		return err
	}
	word, bit := &p.seen[id/64], uint64(1)<<(id%64)
	if word.Load()&bit != 0 {
		s.known, s.sound = true, p.sound[id/64].Load()&bit != 0
		return nil
	}
	if p.free[id/64]&bit != 0 {
		return damagedPage(id, "is in use and in the free list")
	}
	if err := s.check(); err != nil {
		return err
	}
	word.Or(bit)
	return nil
}

// prove looks at the checksums of all values of a leaf that a scan comes to, once for as long as this transaction is
// used. Where one does not hold, each value goes on to be looked at for itself. Pages with others that overflow from
// them are left out: their values are large, and a scan may want few bytes of them.
func (p *pages) prove(s *sheet) {
	if s.sound || s.branch || s.id == 0 || uint64(len(s.buf)) != p.size {
		return
	}
	for i := range s.n {
		if !wal.Verify(s.key(i), s.value(i)) {
			return
		}
	}
	s.sound = true
	p.sound[s.id/64].Or(1 << (s.id % 64))
}

// read reads the head of a page into s.
func (s *sheet) read(id uint64, buf []byte) error {
	if len(buf) < pageHeader {
		return damagedPage(id, "is too short")
	}
	le := binary.LittleEndian
	kind := le.Uint16(buf[8:])
	switch {
	case le.Uint64(buf) != id:
		return damagedPage(id, "says that it is page %d", le.Uint64(buf))
	case kind != pageBranch && kind != pageLeaf:
		return damagedPage(id, "is of kind %#x, inside of a tree", kind)
	}
	s.id, s.buf, s.n, s.keys = id, buf, int(le.Uint16(buf[10:])), pageHeader
	s.branch, s.known, s.sound = kind == pageBranch, false, false
	if !s.branch {
		s.keys += 4
	}
	return nil
}

// check looks at the layout: the elements, then all keys and values in their order and without a gap, and the keys
// ascend.
func (s *sheet) check() error {
	end := uint64(pageHeader + s.n*pageElement)
	if end > uint64(len(s.buf)) || s.branch && s.n == 0 {
		return damagedPage(s.id, "cannot have %d elements", s.n)
	}
	var last []byte
	for i := range s.n {
		at, keyEnd := s.extent(i)
		valueEnd := keyEnd + s.valueSize(i)
		if at != end || valueEnd > uint64(len(s.buf)) {
			return damagedPage(s.id, "has element %d where it cannot be", i)
		}
		key := s.buf[at:keyEnd]
		if i > 0 && bytes.Compare(key, last) <= 0 {
			return damagedPage(s.id, "has key %x, which does not follow %x", key, last)
		}
		last, end = key, valueEnd
	}
	return nil
}

// extent is where the key of element i begins and ends.
func (s *sheet) extent(i int) (from, to uint64) {
	e := s.buf[s.keys+i*pageElement:][:8]
	from = uint64(pageHeader+i*pageElement) + uint64(binary.LittleEndian.Uint32(e))
	return from, from + uint64(binary.LittleEndian.Uint32(e[4:]))
}

// valueSize is the length of the value of element i; a branch has no values.
func (s *sheet) valueSize(i int) uint64 {
	if s.branch {
		return 0
	}
	return uint64(binary.LittleEndian.Uint32(s.buf[pageHeader+i*pageElement+12:]))
}

// key is the key of element i.
func (s *sheet) key(i int) []byte {
	from, to := s.extent(i)
	return s.buf[from:to:to]
}

// value is the value of element i of a leaf.
func (s *sheet) value(i int) []byte {
	_, from := s.extent(i)
	to := from + s.valueSize(i)
	return s.buf[from:to:to]
}

// child is the page under element i of a branch.
func (s *sheet) child(i int) uint64 {
	return binary.LittleEndian.Uint64(s.buf[pageHeader+i*pageElement+8:])
}

// search is the index of the first key >= key, from an index on.
func (s *sheet) search(from int, key []byte) int {
	lo, hi := from, s.n
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if bytes.Compare(s.key(m), key) < 0 {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo
}

// boltCursor is a place in the data bucket. It gives sealed values: who takes one looks at its checksum. Faults of the
// mapping on a device that does not read are errors.
type boltCursor struct {
	pages  *pages
	stack  []spot  // from the root to a leaf
	proves bool    // a scan over more than a few elements: it looks at whole leaves at once
	leaves uint64  // that it came to, and has not told
	room   [4]spot // of stack, which most trees need no more of; a cursor that has begun is not copied
}

// spot is an element of a page.
type spot struct {
	sheet
	at int
}

// seek moves to the first key >= key.
func (c *boltCursor) seek(key []byte) (k, v []byte, err error) {
	defer asCorrupt(&err, debug.SetPanicOnFault(true))
	return c.find(key)
}

func (c *boltCursor) find(key []byte) (k, v []byte, err error) {
	if err := c.descend(key); err != nil {
		return nil, nil, err
	}
	leaf := &c.stack[len(c.stack)-1]
	if c.proves && leaf.known { // a scan of a few keys is not worth it, many of them over one page are
		c.pages.prove(&leaf.sheet)
	}
	if leaf.at < leaf.n {
		if k, v = leaf.key(leaf.at), leaf.value(leaf.at); bytes.Equal(k, key) {
			return k, v, nil
		}
	}
	if leaf.at > 0 {
		err = leaf.verify(leaf.at - 1)
	} else {
		err = c.lookBeside(false)
	}
	if err == nil && leaf.at == leaf.n {
		if err = c.fits(); err == nil {
			return c.step(true)
		}
	}
	return k, v, err
}

// open gives the value in the sealed one that the cursor is at.
func (c *boltCursor) open(key, sealed []byte) ([]byte, error) {
	if c.stack[len(c.stack)-1].sound {
		return wal.Unseal(sealed), nil
	}
	return open(key, sealed)
}

// trust looks at the checksum of the element that the cursor is at, for those who want its key alone. A value that
// reaches into other pages is not fetched for that.
func (c *boltCursor) trust(key, sealed []byte) error {
	if uint64(len(sealed)) > c.pages.size {
		return nil
	}
	_, err := c.open(key, sealed)
	return err
}

// before moves to the last key < end; a nil end means the last of all.
func (c *boltCursor) before(end []byte) (k, v []byte, err error) {
	defer asCorrupt(&err, debug.SetPanicOnFault(true))
	if end == nil {
		c.begin()
		c.stack[0].at = c.stack[0].n
		return c.step(false)
	}
	if err := c.descend(end); err != nil {
		return nil, nil, err
	}
	leaf := &c.stack[len(c.stack)-1]
	if leaf.at < leaf.n {
		err = leaf.verify(leaf.at)
	} else {
		err = c.lookBeside(true)
	}
	if err == nil && leaf.at == 0 {
		err = c.fits()
	}
	if err != nil {
		return nil, nil, err
	}
	return c.step(false)
}

// move goes to the next key, or to the one before.
func (c *boltCursor) move(reverse bool) (k, v []byte, err error) {
	defer asCorrupt(&err, debug.SetPanicOnFault(true))
	return c.step(!reverse)
}

// run puts pairs into dst, from the one that the cursor is at to the last one before end, or the last but one of its
// leaf, and moves behind them, to k and v. It gives none where a checksum of the leaf does not hold.
func (c *boltCursor) run(dst []kv.Pair, end []byte) (n int, k, v []byte, err error) {
	defer asCorrupt(&err, debug.SetPanicOnFault(true))
	leaf := &c.stack[len(c.stack)-1]
	if leaf.sound {
		stop := leaf.stop(leaf.at, end)
		for ; n < len(dst) && leaf.at < stop; n++ {
			dst[n] = kv.Pair{Key: leaf.key(leaf.at), Value: wal.Unseal(leaf.value(leaf.at))}
			leaf.at++
		}
	}
	return n, leaf.key(leaf.at), leaf.value(leaf.at), nil
}

// stop is the element up to which those from an index on can be passed in one go: the first one that is not before end,
// or the last.
func (s *sheet) stop(from int, end []byte) int {
	if last := s.n - 1; end == nil || bytes.Compare(s.key(last), end) < 0 {
		return last
	}
	return s.search(from, end)
}

// skip moves on by most elements, as far as the last one of the leaf or the first one that is not before end. It gives
// the one that it has passed last, and k and v, the one that it is at then.
func (c *boltCursor) skip(most int, end []byte) (last kv.Pair, n int, k, v []byte, err error) {
	defer asCorrupt(&err, debug.SetPanicOnFault(true))
	leaf := &c.stack[len(c.stack)-1]
	if n = min(most, leaf.stop(leaf.at, end)-leaf.at); n == 0 {
		return kv.Pair{}, 0, nil, nil, nil
	}
	leaf.at += n
	last = kv.Pair{Key: leaf.key(leaf.at - 1), Value: leaf.value(leaf.at - 1)}
	return last, n, leaf.key(leaf.at), leaf.value(leaf.at), nil
}

// proveLeaf is pages.prove for the leaf that the cursor is in.
func (c *boltCursor) proveLeaf() (err error) {
	defer asCorrupt(&err, debug.SetPanicOnFault(true))
	if len(c.stack) > 0 {
		c.pages.prove(&c.stack[len(c.stack)-1].sheet)
	}
	return nil
}

// get gives the value of key.
func (c *boltCursor) get(key []byte) (v []byte, ok bool, err error) {
	defer asCorrupt(&err, debug.SetPanicOnFault(true))
	k, sealed, err := c.find(key)
	if err != nil || k == nil {
		return nil, false, err
	}
	if !bytes.Equal(k, key) {
		if leaf := &c.stack[len(c.stack)-1]; leaf.at < leaf.n {
			err = leaf.verify(leaf.at)
		}
		return nil, false, err
	}
	v, err = c.open(k, sealed)
	return v, err == nil, err
}

// nearby is the size up to which a value beside a key that was not found is looked at.
const nearby = 64 << 10

// verify looks at the checksum of an element beside which a key was not found: its own key may have been that one.
func (s *sheet) verify(i int) error { return verify(s.key(i), s.value(i)) }

// verify looks at the checksum of an element at the edge of what was asked for.
func verify(key, sealed []byte) error {
	if len(sealed) > nearby {
		return nil
	}
	_, err := open(key, sealed)
	return err
}

// begin goes to the root.
func (c *boltCursor) begin() {
	if c.stack == nil {
		c.stack = c.room[:0]
	}
	c.stack = append(c.stack[:0], spot{sheet: c.pages.root})
}

// descend goes to the leaf where key is, or would be, and there to the first key >= key, or behind the last. Somewhere
// in the midst of a leaf that is the right place. Before its first key and behind its last one, damage above may have
// led to the wrong leaf: lookBeside and fits tell.
func (c *boltCursor) descend(key []byte) error {
	c.begin()
	for {
		top := &c.stack[len(c.stack)-1]
		top.at = top.search(0, key)
		if !top.branch {
			return nil
		}
		if top.at > 0 && (top.at == top.n || !bytes.Equal(top.key(top.at), key)) {
			top.at--
		}
		if err := c.down(); err != nil {
			return err
		}
	}
}

// lookBeside looks at the leaf after the present one, or before it, and at all on the way there: a damaged key of a
// branch may have led to the wrong one of the two, and does not fit the other.
func (c *boltCursor) lookBeside(after bool) error {
	if err := c.fits(); err != nil {
		return err
	}
	beside := boltCursor{pages: c.pages, stack: slices.Clone(c.stack)}
	_, _, err := beside.step(after)
	return err
}

// step moves by one key.
func (c *boltCursor) step(forward bool) (k, v []byte, err error) {
	for len(c.stack) > 0 {
		top := &c.stack[len(c.stack)-1]
		if forward {
			top.at++
		} else {
			top.at--
		}
		if top.at < 0 || top.at >= top.n {
			c.stack = c.stack[:len(c.stack)-1]
			continue
		}
		if !top.branch {
			return top.key(top.at), top.value(top.at), nil
		}
		if err := c.down(); err != nil {
			return nil, nil, err
		}
		if err := c.fit(len(c.stack) - 1); err != nil {
			return nil, nil, err
		}
		if c.proves {
			c.ahead(forward)
			c.pages.prove(&c.stack[len(c.stack)-1].sheet)
		}
		if top = &c.stack[len(c.stack)-1]; forward {
			top.at = -1
		} else {
			top.at = top.n
		}
	}
	return nil, nil, nil
}

// ahead has the processor fetch the page that a scan reads next, mostly a leaf, while it works on the one that it has
// come to: a processor does not go on fetching across pages by itself, and to wait for each new page is a good part of
// a scan. The page is not looked at, so a damaged one is found when, and only if, the scan comes to it. Its number is
// looked at: a damaged one may be any number.
func (c *boltCursor) ahead(forward bool) {
	up := &c.stack[len(c.stack)-2]
	if !forward || up.at+1 >= up.n {
		return
	}
	if id := up.child(up.at + 1); id < c.pages.count {
		fetchAhead(&c.pages.data[id*c.pages.size], c.pages.size)
	}
}

// down goes to the page under the present element of a branch.
func (c *boltCursor) down() error {
	n := len(c.stack)
	id := c.stack[n-1].child(c.stack[n-1].at)
	c.stack = append(c.stack, spot{})
	s := &c.stack[n].sheet
	if err := c.pages.read(s, id); err != nil {
		c.stack = c.stack[:n]
		return err
	}
	if s.branch == (n+1 == c.pages.depth) {
		return damagedPage(s.id, "is at a wrong depth")
	}
	if !s.branch {
		if c.leaves++; c.leaves == trimEach/4 {
			c.tell()
		}
	}
	return nil
}

// trimEach is how many leaves the readers of a state come to before it is asked how much of data.db is resident. For
// each, the kernel maps what it holds in one piece around it, up to 1 MiB since Linux 6.18, 64 KiB before.
const trimEach = 64

// tell counts the leaves that the cursor came to.
func (c *boltCursor) tell() {
	if c.leaves > 0 {
		c.pages.came(c.leaves)
		c.leaves = 0
	}
}

// came counts leaves that a reader came to. It must not have let go of the state.
func (p *pages) came(n uint64) {
	if all := p.leaves.Add(n); all-p.asked.Load() >= trimEach && p.trim != nil {
		p.asked.Store(all)
		p.trim()
	}
}

// fits looks at the pages from the root to the leaf.
func (c *boltCursor) fits() error {
	for i := range c.stack {
		if err := c.fit(i); err != nil {
			return err
		}
	}
	return nil
}

// fit tells whether the keys of the page at depth i are not less than the key that leads there, and less than the next
// one.
func (c *boltCursor) fit(i int) error {
	s := &c.stack[i].sheet
	if i == 0 || s.n == 0 {
		return nil
	}
	up := &c.stack[i-1]
	if bytes.Compare(s.key(0), up.key(up.at)) < 0 {
		return damagedPage(s.id, "has key %x, which belongs elsewhere", s.key(0))
	}
	for j := i - 1; j >= 0; j-- {
		if up = &c.stack[j]; up.at+1 < up.n {
			if bytes.Compare(s.key(s.n-1), up.key(up.at+1)) >= 0 {
				return damagedPage(s.id, "has key %x, which belongs elsewhere", s.key(s.n-1))
			}
			break
		}
	}
	return nil
}
