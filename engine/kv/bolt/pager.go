package bolt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"go.etcd.io/bbolt"

	"github.com/nacredb/nacre/engine/kv/failpoint"
)

// pager writes data.db. bbolt opens the file, keeps its lock and its mapping, and makes it; from then on its pages are
// written here, in the same format and by the same rules, so bbolt, and what reads its files, can open it:
//
//   - pages that a tree has are never written to. What changes is written to pages that are free, or behind the last
//     one, with all that leads to it from the root;
//   - those are synced before a meta page says where the new root is, and that is synced before the next such change
//     begins. The two meta pages take turns: each leaves the state before it alone;
//   - a page that was replaced is free when no reader is left that began before.
//
// bbolt would do all of that too, but looks for each key from the root on, and keeps an object for each element of each
// page that it changes.
type pager struct {
	db   *bbolt.DB
	trim func() // see pages
	file *os.File
	data unsafe.Pointer // the mapping
	size int64          // of the file
	meta fileMeta       // that is durable
	free spans
	gone []replaced // in ascending order of their transactions

	writing sync.Mutex

	mu   sync.Mutex
	live map[uint64]int // readers, by the transaction that they see

	freePages, pinnedPages atomic.Int64 // for Stats
}

// replaced is the pages that a transaction has replaced.
type replaced struct {
	by    uint64
	pages spans
}

// newPager takes over the writing of a file that bbolt has open.
func newPager(db *bbolt.DB, file *os.File, trim func()) (p *pager, err error) {
	defer asCorrupt(&err, debug.SetPanicOnFault(true))
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	p = &pager{db: db, trim: trim, file: file, size: info.Size(), live: map[uint64]int{}}
	at := db.Info().Data
	p.data = *(*unsafe.Pointer)(unsafe.Pointer(&at))
	pageSize := db.Info().PageSize
	head := unsafe.Slice((*byte)(p.data), 2*pageSize)
	first, firstOK := parseMeta(head)
	second, secondOK := parseMeta(head[pageSize:])
	if p.meta, err = newest(first, second, firstOK, secondOK); err != nil {
		return nil, err
	}
	ids, err := p.mapped().freeIDs(p.meta.freeList)
	if err != nil {
		return nil, err
	}
	p.free = spansOf(ids)
	p.counted()
	return p, nil
}

// view is the file as the last transaction left it. It is good as long as a reader of it is live, or until the next
// write.
func (p *pager) view() (*pages, error) { return mapPages(p.mapped(), p.meta) }

// mapped is the pages of view, not looked at yet.
func (p *pager) mapped() *pages {
	size := uint64(p.meta.pageSize)
	return &pages{data: unsafe.Slice((*byte)(p.data), p.meta.pages*size), size: size, count: p.meta.pages, trim: p.trim}
}

// begin takes note of a reader of what view gives.
func (p *pager) begin() (txid uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.live[p.meta.txid]++
	return p.meta.txid
}

// end takes back a begin, and reports whether that was the last reader of all.
func (p *pager) end(txid uint64) (last bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live[txid]--; p.live[txid] == 0 {
		delete(p.live, txid)
	}
	return len(p.live) == 0
}

// oldest is the transaction that the oldest reader sees, or the last one.
func (p *pager) oldest() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	oldest := p.meta.txid
	for txid := range p.live {
		oldest = min(oldest, txid)
	}
	return oldest
}

// reclaim makes the pages free that only readers who are gone could see.
func (p *pager) reclaim() {
	oldest := p.oldest()
	for len(p.gone) > 0 && p.gone[0].by <= oldest {
		p.free = p.free.with(p.gone[0].pages)
		p.gone = p.gone[1:]
	}
}

// counted brings the figures for Stats up to date.
func (p *pager) counted() {
	pinned := uint64(0)
	for _, g := range p.gone {
		pinned += g.pages.count()
	}
	p.freePages.Store(int64(p.free.count()))
	p.pinnedPages.Store(int64(pinned))
}

// errMeta is a failure after which it is not known which state the file is in.
var errMeta = errors.New("write the meta page")

// update is one transaction: change writes pages by w and gives the root of all of them. After an error the file is as
// it was, unless that is errMeta.
func (p *pager) update(w *pageWriter, grow int64, change func() (root uint64, err error)) error {
	p.writing.Lock()
	defer p.writing.Unlock()
	p.reclaim()
	w.begin(p)
	root, err := change()
	if err != nil {
		return err
	}
	return p.commit(w, root, grow)
}

// commit ends a transaction, with the root of all pages. Nothing else has written since its begin.
func (p *pager) commit(w *pageWriter, root uint64, grow int64) (err error) {
	meta := p.meta
	meta.txid++
	meta.root = root
	if meta.freeList, err = w.writeFreeList(); err != nil {
		return err
	}
	meta.pages = w.end
	if err := w.flush(); err != nil {
		return err
	}
	if need := int64(meta.pages) * int64(meta.pageSize); need > p.size {
		if err := p.file.Truncate(need + grow); err != nil {
			return fmt.Errorf("grow %s: %w", dataFile, err)
		}
		p.size = need + grow
	}
	if err := p.db.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", dataFile, err)
	}
	failpoint.Hit(failpoint.Meta)
	if err := p.writeMeta(meta); err != nil {
		return fmt.Errorf("%w of %s: %v", errMeta, dataFile, err)
	}
	p.mu.Lock()
	p.meta = meta
	p.mu.Unlock()
	p.free = slices.Clone(w.free)
	slices.Sort(w.gone)
	p.gone = append(p.gone, replaced{meta.txid, spansOf(w.gone)})
	p.counted()
	return nil
}

// writeMeta makes a state the one that is found.
func (p *pager) writeMeta(m fileMeta) error {
	slot := m.txid % 2
	if _, err := p.file.WriteAt(metaPage(slot, m), int64(slot)*int64(m.pageSize)); err != nil {
		return err
	}
	return p.db.Sync()
}

// metaPage is the bytes of a meta page.
func metaPage(slot uint64, m fileMeta) []byte {
	le := binary.LittleEndian
	buf := make([]byte, m.pageSize)
	le.PutUint64(buf, slot)
	le.PutUint16(buf[8:], pageMeta)
	le.PutUint32(buf[16:], metaMagic)
	le.PutUint32(buf[20:], metaVersion)
	le.PutUint32(buf[24:], uint32(m.pageSize))
	le.PutUint64(buf[32:], m.root)
	le.PutUint64(buf[48:], m.freeList)
	le.PutUint64(buf[56:], m.pages)
	le.PutUint64(buf[64:], m.txid)
	sum := fnv.New64a()
	sum.Write(buf[16:72])
	le.PutUint64(buf[72:], sum.Sum64())
	return buf
}

// pageWriter writes the pages of one transaction, and then of others. It keeps its room.
type pageWriter struct {
	p    *pager
	free spans
	gone []uint64 // pages that are replaced
	end  uint64   // of the pages in use
	at   uint64   // where buf goes
	buf  []byte   // pages that follow each other, not written yet
}

// begin begins a transaction.
func (w *pageWriter) begin(p *pager) {
	w.p, w.end, w.at = p, p.meta.pages, 0
	w.free, w.gone, w.buf = append(w.free[:0], p.free...), w.gone[:0], w.buf[:0]
}

// writeBytes is about how much is written at once.
const writeBytes = 1 << 20

// drop says that a page, with those that overflow from it, is not in the tree any more.
func (w *pageWriter) drop(id uint64, size int) {
	for i := range uint64(size / w.p.meta.pageSize) {
		w.gone = append(w.gone, id+i)
	}
}

// alloc takes n pages that follow each other.
func (w *pageWriter) alloc(n uint64) (id uint64) {
	id, ok := w.free.take(n)
	if !ok {
		id = w.end
		w.end += n
	}
	return id
}

// page makes room for a page of size bytes, all of them 0, which the caller fills before the next call.
func (w *pageWriter) page(size int) (id uint64, buf []byte, err error) {
	pageSize := w.p.meta.pageSize
	n := (size + pageSize - 1) / pageSize
	id = w.alloc(uint64(n))
	if len(w.buf) >= writeBytes || id != w.at+uint64(len(w.buf)/pageSize) {
		if err := w.flush(); err != nil {
			return 0, nil, err
		}
		w.at = id
	}
	from := len(w.buf)
	w.buf = slices.Grow(w.buf, n*pageSize)[:from+n*pageSize]
	buf = w.buf[from:]
	clear(buf)
	le := binary.LittleEndian
	le.PutUint64(buf, id)
	le.PutUint32(buf[12:], uint32(n-1))
	return id, buf, nil
}

// flush writes what is in buf.
func (w *pageWriter) flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	_, err := w.p.file.WriteAt(w.buf, int64(w.at)*int64(w.p.meta.pageSize))
	w.buf = w.buf[:0]
	if err != nil {
		return fmt.Errorf("write pages of %s: %w", dataFile, err)
	}
	return nil
}

// writeFreeList writes the pages that are free for one who opens the file next, when there is no reader: also those
// that were replaced.
func (w *pageWriter) writeFreeList() (id uint64, err error) {
	if old := w.p.meta.freeList; old != noFreeList {
		buf, err := w.p.mapped().bytes(old)
		if err != nil {
			return 0, err
		}
		w.drop(old, len(buf))
	}
	slices.Sort(w.gone)
	all := spansOf(w.gone)
	for _, g := range w.p.gone {
		all = all.with(g.pages)
	}
	most := all.count() + w.free.count() // the list itself may take some of them
	id, buf, err := w.page(pageHeader + 8 + 8*int(most))
	if err != nil {
		return 0, err
	}
	all = all.with(w.free)
	n, le := all.count(), binary.LittleEndian
	le.PutUint16(buf[8:], pageFree)
	at := pageHeader
	if n < 0xffff {
		le.PutUint16(buf[10:], uint16(n))
	} else {
		le.PutUint16(buf[10:], 0xffff)
		le.PutUint64(buf[at:], n)
		at += 8
	}
	all.each(func(id uint64) {
		le.PutUint64(buf[at:], id)
		at += 8
	})
	return id, nil
}
