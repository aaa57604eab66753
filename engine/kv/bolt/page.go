package bolt

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"

	"github.com/nacredb/nacre/engine/kv"
)

// The format of data.db is bbolt's. bbolt itself trusts its pages; what follows does not, and is
// for files that may be damaged. All integers are in the byte order of the machine; this reads
// little endian ones.
//
//	page       0 8 id · 8 2 kind · 10 2 count · 12 4 overflow (pages that follow) · 16 elements
//	meta       16 4 magic · 20 4 version · 24 4 page size · 32 8 root page · 48 8 free list page
//	           56 8 number of pages · 64 8 transaction · 72 8 FNV-1a of bytes 16..72
//	branch     element of 16: 0 4 key at (from the element) · 4 4 key length · 8 8 page
//	leaf       element of 16: 0 4 flags (1 = bucket) · 4 4 key at · 8 4 key length · 12 4 value length
//	free list  page numbers of 8; with count 0xffff the first is their number
//	bucket     value: 0 8 root page, 0 = the page follows inline · 8 8 sequence · 16 inline page
const (
	pageHeader  = 16
	pageElement = 16

	pageBranch = 0x01
	pageLeaf   = 0x02
	pageMeta   = 0x04
	pageFree   = 0x10

	metaMagic   = 0xED0CDAED
	metaVersion = 2
	metaEnd     = 80
	noFreeList  = ^uint64(0)

	bucketFlag = 1

	maxPageDepth = 40
	cachedPages  = 2048
)

// fileMeta is one of the two meta pages.
type fileMeta struct {
	pageSize int
	root     uint64
	freeList uint64
	pages    uint64
	txid     uint64
}

// parseMeta reads the meta page that p begins with.
func parseMeta(p []byte) (m fileMeta, ok bool) {
	if len(p) < metaEnd {
		return m, false
	}
	le := binary.LittleEndian
	sum := fnv.New64a()
	sum.Write(p[16:72])
	if le.Uint16(p[8:]) != pageMeta || le.Uint32(p[16:]) != metaMagic || le.Uint32(p[20:]) != metaVersion ||
		le.Uint64(p[72:]) != sum.Sum64() {
		return m, false
	}
	m = fileMeta{pageSize: int(le.Uint32(p[24:])), root: le.Uint64(p[32:]), freeList: le.Uint64(p[48:]),
		pages: le.Uint64(p[56:]), txid: le.Uint64(p[64:])}
	return m, m.pageSize >= 512 && m.pageSize <= 1<<16 && m.pageSize&(m.pageSize-1) == 0
}

// pageFile reads pages.
type pageFile struct {
	f     io.ReaderAt
	size  int64 // of the file
	meta  fileMeta
	cache map[uint64]page
}

// page is one page with those that overflow from it, or an inline one.
type page struct {
	id   uint64
	kind uint16
	n    int
	over uint64
	buf  []byte
	torn bool // its keys are not in order: some of them are damaged
}

// openPages finds the valid meta pages; bad are those that are not.
func openPages(f io.ReaderAt, size int64) (pf *pageFile, bad []int, err error) {
	pf = &pageFile{f: f, size: size, cache: map[uint64]page{}}
	var head [metaEnd]byte
	read := func(at int64) (fileMeta, bool) {
		if _, err := f.ReadAt(head[:], at); err != nil {
			return fileMeta{}, false
		}
		return parseMeta(head[:])
	}
	first, firstOK := read(0)
	var second fileMeta
	secondOK := false
	if firstOK {
		second, secondOK = read(int64(first.pageSize))
	} else {
		for at := int64(512); at <= 1<<16 && !secondOK; at *= 2 {
			second, secondOK = read(at)
		}
	}
	if !firstOK {
		bad = append(bad, 0)
	}
	if !secondOK {
		bad = append(bad, 1)
	}
	if pf.meta, err = newest(first, second, firstOK, secondOK); err != nil {
		return nil, bad, err
	}
	return pf, bad, nil
}

// newest is the meta page that counts, of those that are sound.
func newest(first, second fileMeta, firstOK, secondOK bool) (fileMeta, error) {
	switch {
	case !firstOK && !secondOK:
		return fileMeta{}, fmt.Errorf("both meta pages of %s are damaged: %w", dataFile, kv.ErrCorrupt)
	case firstOK && (!secondOK || first.txid > second.txid):
		return first, nil
	}
	return second, nil
}

func damagedPage(id uint64, format string, args ...any) error {
	return fmt.Errorf("page %d %s: %w", id, fmt.Sprintf(format, args...), kv.ErrCorrupt)
}

// page reads a branch, leaf or free list page.
func (pf *pageFile) page(id uint64) (page, error) {
	if pg, ok := pf.cache[id]; ok {
		return pg, nil
	}
	if id < 2 || id >= pf.meta.pages {
		return page{}, damagedPage(id, "is outside of the %d pages", pf.meta.pages)
	}
	size := int64(pf.meta.pageSize)
	buf := make([]byte, size)
	if _, err := pf.f.ReadAt(buf, int64(id)*size); err != nil {
		return page{}, damagedPage(id, "cannot be read: %v", err)
	}
	pg, err := parsePage(buf)
	switch {
	case err != nil:
		return page{}, fmt.Errorf("page %d: %w", id, err)
	case pg.id != id:
		return page{}, damagedPage(id, "says that it is page %d", pg.id)
	case pg.over >= pf.meta.pages-id || int64(id+pg.over+1)*size > pf.size:
		return page{}, damagedPage(id, "reaches %d pages beyond the end", pg.over)
	}
	if pg.over > 0 {
		pg.buf = make([]byte, int64(pg.over+1)*size)
		if _, err := pf.f.ReadAt(pg.buf, int64(id)*size); err != nil {
			return page{}, damagedPage(id, "cannot be read: %v", err)
		}
	}
	pg.torn = pg.kind != pageFree && !pg.ordered()
	if len(pf.cache) >= cachedPages {
		clear(pf.cache)
	}
	if pg.over < 64 {
		pf.cache[id] = pg
	}
	return pg, nil
}

// parsePage reads the head of a page.
func parsePage(buf []byte) (page, error) {
	if len(buf) < pageHeader {
		return page{}, fmt.Errorf("too short: %w", kv.ErrCorrupt)
	}
	le := binary.LittleEndian
	pg := page{id: le.Uint64(buf), kind: le.Uint16(buf[8:]), n: int(le.Uint16(buf[10:])),
		over: uint64(le.Uint32(buf[12:])), buf: buf}
	if pg.kind != pageBranch && pg.kind != pageLeaf && pg.kind != pageFree {
		return page{}, fmt.Errorf("of no known kind (%#x): %w", pg.kind, kv.ErrCorrupt)
	}
	return pg, nil
}

// element gives the bytes of element i.
func (pg *page) element(i int) ([]byte, error) {
	at := pageHeader + i*pageElement
	if i < 0 || i >= pg.n || at+pageElement > len(pg.buf) {
		return nil, damagedPage(pg.id, "has no element %d", i)
	}
	return pg.buf[at : at+pageElement], nil
}

// slice gives n bytes at from the start of element i.
func (pg *page) slice(i int, at, n uint32) ([]byte, error) {
	from := uint64(pageHeader+i*pageElement) + uint64(at)
	if end := from + uint64(n); at < pageElement || end > uint64(len(pg.buf)) {
		return nil, damagedPage(pg.id, "has element %d outside of it", i)
	} else {
		return pg.buf[from:end:end], nil
	}
}

// branch reads element i of a branch page.
func (pg *page) branch(i int) (key []byte, child uint64, err error) {
	e, err := pg.element(i)
	if err != nil {
		return nil, 0, err
	}
	le := binary.LittleEndian
	key, err = pg.slice(i, le.Uint32(e), le.Uint32(e[4:]))
	return key, le.Uint64(e[8:]), err
}

// leaf reads element i of a leaf page.
func (pg *page) leaf(i int) (bucket bool, key, value []byte, err error) {
	e, err := pg.element(i)
	if err != nil {
		return false, nil, nil, err
	}
	le := binary.LittleEndian
	at, klen, vlen := le.Uint32(e[4:]), le.Uint32(e[8:]), le.Uint32(e[12:])
	if uint64(klen)+uint64(vlen) > uint64(len(pg.buf)) {
		return false, nil, nil, damagedPage(pg.id, "has element %d outside of it", i)
	}
	both, err := pg.slice(i, at, klen+vlen)
	if err != nil {
		return false, nil, nil, err
	}
	return le.Uint32(e)&1 != 0, both[:klen:klen], both[klen:], nil
}

// key is the key of element i of a branch or leaf page.
func (pg *page) key(i int) (key []byte, err error) {
	if pg.kind == pageBranch {
		key, _, err = pg.branch(i)
	} else {
		_, key, _, err = pg.leaf(i)
	}
	return key, err
}

// ordered reports whether each key of the page is greater than the one before.
func (pg *page) ordered() bool {
	var last []byte
	for i := range pg.n {
		k, err := pg.key(i)
		if err != nil || i > 0 && bytes.Compare(k, last) <= 0 {
			return false
		}
		last = k
	}
	return true
}

// bounds are the keys between which all keys below element i of a branch have to be, given those of the branch itself;
// nil is no bound. A branch with damaged keys does not narrow them.
func (pg *page) bounds(i int, low, high []byte) (childLow, childHigh []byte) {
	if pg.torn {
		return low, high
	}
	if k, err := pg.key(i); err == nil && i > 0 {
		low = k
	}
	if i+1 < pg.n {
		if k, err := pg.key(i + 1); err == nil {
			high = k
		}
	}
	return low, high
}

// freeIDs reads a free list page.
func (pg *page) freeIDs() ([]uint64, error) {
	n, at := uint64(pg.n), pageHeader
	if pg.n == 0xffff {
		if len(pg.buf) < at+8 {
			return nil, damagedPage(pg.id, "is too short")
		}
		n, at = binary.LittleEndian.Uint64(pg.buf[at:]), at+8
	}
	if n > uint64(len(pg.buf)-at)/8 {
		return nil, damagedPage(pg.id, "has no room for %d free pages", n)
	}
	ids := make([]uint64, n)
	for i := range ids {
		ids[i] = binary.LittleEndian.Uint64(pg.buf[at+8*i:])
	}
	return ids, nil
}

// tree is one bucket: its root page, by number or inline.
type tree struct {
	root   uint64
	inline []byte
}

func (pf *pageFile) rootOf(t tree) (page, error) {
	if t.root != 0 {
		return pf.page(t.root)
	}
	return parsePage(t.inline)
}

// parseBucket reads the value of a bucket element.
func parseBucket(v []byte) (tree, error) {
	if len(v) < 16 {
		return tree{}, fmt.Errorf("bucket head of %d bytes: %w", len(v), kv.ErrCorrupt)
	}
	return tree{root: binary.LittleEndian.Uint64(v), inline: v[16:]}, nil
}

// bucket finds a bucket by name in the root tree.
func (pf *pageFile) bucket(name []byte) (tree, error) {
	c := treeCursor{pf: pf, t: tree{root: pf.meta.root}}
	if !c.seek(name) || !bytes.Equal(c.key, name) || !c.isBucket {
		return tree{}, fmt.Errorf("bucket %q is not to be found: %w", name, kv.ErrCorrupt)
	}
	return parseBucket(c.value)
}

// treeCursor walks a tree in key order. It passes over what cannot be read, keys that are not greater than those before
// them or that lie in a page where they do not belong, and elements that are not sound: one damaged key must not hide
// those behind it. The first such thing stays in err.
type treeCursor struct {
	pf       *pageFile
	t        tree
	sound    func(bucket bool, key, value []byte) bool // nil: every element is
	lost     *Losses                                   // counts what is passed over; nil: not counted
	err      error
	stack    []place
	budget   int // pages that it may still visit: damaged branches might lead round and round
	key      []byte
	value    []byte
	isBucket bool
	started  bool
}

// place is an element of a page, all of whose keys have to be in [low, high); nil is no bound.
type place struct {
	pg        page
	at        int
	low, high []byte
}

// Losses counts the damage that a tolerant reader skipped.
type Losses struct {
	Keys  uint64 // damaged keys and values
	Pages uint64 // pages that cannot be read, with all that they hold and lead to
}

// seek moves to the first key >= key, nil meaning the very first.
func (c *treeCursor) seek(key []byte) bool {
	c.stack, c.key, c.value, c.started = c.stack[:0], nil, nil, false
	c.budget = 2*int(c.pf.meta.pages) + maxPageDepth
	pg, err := c.pf.rootOf(c.t)
	if err != nil {
		c.losePage(err)
		return false
	}
	c.descend(pg, key, nil, nil)
	for c.step() {
		if bytes.Compare(c.key, key) >= 0 {
			return true
		}
	}
	return false
}

// descend pushes pg, whose keys have to be in [low, high), and what is below it on the way to key.
func (c *treeCursor) descend(pg page, key, low, high []byte) {
	for {
		at := 0
		if key != nil {
			at = pg.search(key)
		}
		if len(c.stack) >= maxPageDepth || c.budget <= 0 || pg.kind == pageFree {
			c.losePage(damagedPage(pg.id, "is in no proper tree"))
			return
		}
		c.budget--
		if pg.kind == pageLeaf {
			c.stack = append(c.stack, place{pg, at, low, high})
			return
		}
		c.stack = append(c.stack, place{pg, at + 1, low, high})
		low, high = pg.bounds(at, low, high)
		_, child, err := pg.branch(at)
		if err == nil {
			pg, err = c.pf.page(child)
		}
		if err != nil {
			c.losePage(err)
			return
		}
	}
}

func (c *treeCursor) note(err error) {
	if c.err == nil {
		c.err = err
	}
}

func (c *treeCursor) losePage(err error) {
	c.note(err)
	if c.lost != nil {
		c.lost.Pages++
	}
}

func (c *treeCursor) loseKey(err error) {
	c.note(err)
	if c.lost != nil {
		c.lost.Keys++
	}
}

// search is the last element of a branch, or the first of a leaf, from which key can be found.
// In a page whose keys are damaged it may be too early, never past the end.
func (pg *page) search(key []byte) int {
	if pg.torn {
		return pg.searchTorn(key)
	}
	lo, hi := 0, pg.n
	for lo < hi {
		m := (lo + hi) / 2
		k, err := pg.key(m)
		if err != nil {
			return 0
		}
		if c := bytes.Compare(k, key); c < 0 || c == 0 && pg.kind == pageBranch {
			lo = m + 1
		} else {
			hi = m
		}
	}
	if pg.kind == pageBranch {
		return max(0, lo-1)
	}
	return lo
}

// searchTorn is search in a page whose keys are not in order, where halving would lead astray.
func (pg *page) searchTorn(key []byte) int {
	if pg.kind == pageLeaf {
		return 0
	}
	for i := 1; i < pg.n; i++ {
		if k, err := pg.key(i); err != nil || bytes.Compare(k, key) > 0 {
			return i - 1
		}
	}
	return max(0, pg.n-1)
}

// step moves to the next key.
func (c *treeCursor) step() bool {
	for len(c.stack) > 0 {
		top := &c.stack[len(c.stack)-1]
		if top.at >= top.pg.n {
			c.stack = c.stack[:len(c.stack)-1]
			continue
		}
		at := top.at
		top.at++
		if top.pg.kind == pageBranch {
			_, child, err := top.pg.branch(at)
			var pg page
			if err == nil {
				pg, err = c.pf.page(child)
			}
			if err != nil {
				c.losePage(err)
				continue
			}
			low, high := top.pg.bounds(at, top.low, top.high)
			c.descend(pg, nil, low, high)
			continue
		}
		bucket, k, v, err := top.pg.leaf(at)
		if err == nil {
			err = c.refuse(top, bucket, k, v)
		}
		if err != nil {
			c.loseKey(err)
			continue
		}
		c.key, c.value, c.isBucket, c.started = k, v, bucket, true
		return true
	}
	return false
}

// refuse says why an element of a leaf cannot be what was written there; nil when it can.
func (c *treeCursor) refuse(at *place, bucket bool, k, v []byte) error {
	switch {
	case c.sound != nil && !c.sound(bucket, k, v):
		return &KeyError{Key: bytes.Clone(k)}
	case at.low != nil && bytes.Compare(k, at.low) < 0 || at.high != nil && bytes.Compare(k, at.high) >= 0:
		return damagedPage(at.pg.id, "has key %x, which belongs elsewhere", k)
	case c.started && bytes.Compare(k, c.key) <= 0:
		return damagedPage(at.pg.id, "has key %x, which does not follow %x", k, c.key)
	}
	return nil
}
