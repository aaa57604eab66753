package fulltext

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
)

// list is the postings of one term: blocks, and the changes that hide or add to them. It walks them in order of the
// documents.
type list struct {
	blocks  []block
	changes []change
	count   int // documents that have the term
	best    impact

	at    int     // block under way
	in    *block  // it, when reading it has begun
	next  int     // where its posting behind last is
	last  posting // that was read of it
	ch    int     // place in changes
	cur   posting
	ended bool
}

// end is the document after all documents.
const end = math.MaxUint64

// list reads what there is of a term: the heads of its blocks and its changes.
func (x *Index) list(term string) (*list, error) {
	l, e := &list{best: noImpact()}, entries{x: x, term: term}
	err := e.each(partBlock, func(last uint64, raw []byte) bool {
		b, ok := openBlock(last, raw)
		if len(l.blocks) == cap(l.blocks) { // a common term has thousands: they are copied seldom
			l.blocks = slices.Grow(l.blocks, 3*len(l.blocks)+1)
		}
		l.blocks = append(l.blocks, b)
		l.count += b.count
		l.best = impact{max(l.best.tf, b.best.tf), min(l.best.length, b.best.length)}
		return ok
	})
	if err != nil {
		return nil, err
	}
	err = e.each(partChange, func(doc uint64, raw []byte) bool {
		c, ok := decodeChange(raw)
		c.doc = doc
		l.changes = append(l.changes, c)
		switch {
		case c.flags&changeGone != 0:
			l.count--
			return ok
		case c.flags&changeHides == 0:
			l.count++
		}
		l.best = l.best.with(c.posting)
		return ok
	})
	return l, err
}

// entriesAhead is how many entries of a term are read at once, firstEntries how many at first: most terms have few.
const (
	entriesAhead = 32
	firstEntries = 4
)

// entries reads those of a term, part by part.
type entries struct {
	x        *Index
	term     string
	cur      *txn.Cursor // over the last part; nil before the first
	from, to []byte      // of the part
	few      [firstEntries]kv.Pair
}

// each walks the entries in one part; f is false for what it cannot read.
func (e *entries) each(part byte, f func(doc uint64, raw []byte) bool) error {
	x := e.x
	e.from = append(e.from[:0], x.termKey(part, e.term)...)
	e.to = key.AppendPrefixEnd(e.to[:0], e.from)
	if r := (kv.Range{Start: e.from, End: e.to}); e.cur == nil {
		e.cur = x.Tx.Scan(r, txn.ScanOptions{})
	} else {
		e.cur.Move(r)
	}
	defer e.cur.Close()
	for ahead := e.few[:]; ; ahead = x.pairs {
		n := e.cur.Fill(ahead)
		for _, p := range ahead[:n] {
			doc, rest, err := key.ReadUint(p.Key[len(e.from):])
			if err != nil || len(rest) > 0 || !f(doc, p.Value) {
				return x.corrupt("posting")
			}
		}
		if n < len(ahead) {
			break
		}
		if x.pairs == nil {
			x.pairs = make([]kv.Pair, entriesAhead)
		}
	}
	if err := e.cur.Err(); err != nil {
		return fmt.Errorf("read index %s: %w", x.Name, err)
	}
	return nil
}

// doc is the document that the list is at, end after the last. The list must have been moved once.
func (l *list) doc() uint64 {
	if l.ended {
		return end
	}
	return l.cur.doc
}

// seek moves to the first document that is not before target. It never goes back.
func (l *list) seek(target uint64) bool {
	for {
		found, ok := l.seekBlock(target)
		if !ok {
			return false
		}
		l.toChange(target)
		blockDoc := uint64(end)
		if found {
			blockDoc = l.last.doc
		}
		if l.ch == len(l.changes) || l.changes[l.ch].doc > blockDoc {
			if l.ended = !found; found {
				l.cur = l.last
			}
			return true
		}
		c := &l.changes[l.ch]
		if c.flags&changeGone == 0 {
			l.cur = c.posting
			return true
		}
		target = c.doc + 1
	}
}

// seekBlock moves last to the first posting in the blocks that is not before target; found is false where there is
// none.
func (l *list) seekBlock(target uint64) (found, ok bool) {
	if l.toBlock(target); l.at == len(l.blocks) {
		return false, true
	}
	if l.in == nil {
		l.in, l.next, l.last = &l.blocks[l.at], 0, posting{doc: l.blocks[l.at].first}
		if !l.read() {
			return false, false
		}
	}
	return true, l.advance(target)
}

// toBlock moves to the first block that ends at target or behind it.
func (l *list) toBlock(target uint64) {
	if l.at < len(l.blocks) && l.blocks[l.at].last < target {
		l.at, l.in = l.blockAt(target), nil
	}
}

// blockAt is the place of the first block, from the current one on, that ends at target or behind it.
func (l *list) blockAt(target uint64) int {
	i := l.at
	if i < len(l.blocks) && l.blocks[i].last < target {
		if i++; i < len(l.blocks) && l.blocks[i].last < target { // mostly it is the next one
			rest := l.blocks[i+1:]
			i += 1 + sort.Search(len(rest), func(j int) bool { return rest[j].last >= target })
		}
	}
	return i
}

// toChange moves to the first change that is not before target.
func (l *list) toChange(target uint64) {
	if l.ch < len(l.changes) && l.changes[l.ch].doc < target {
		rest := l.changes[l.ch+1:]
		l.ch += 1 + sort.Search(len(rest), func(i int) bool { return rest[i].doc >= target })
	}
}

// advance moves last to the first posting of the block under way that is not before target. It is false for a malformed
// block: a sound one has such a posting. What is behind it stays unread.
func (l *list) advance(target uint64) bool {
	if raw := l.in.rest; len(raw) == 3*l.in.count { // each number is one byte
		doc, next := l.last.doc, l.next
		for doc < target && next+3 <= len(raw) {
			doc += uint64(raw[next])
			next += 3
		}
		l.last, l.next = posting{doc, uint32(raw[next-2]), uint32(raw[next-1])}, next
		return target <= doc && doc <= l.in.last
	}
	for l.last.doc < target {
		if !l.read() {
			return false
		}
	}
	return true
}

// read moves last to the next posting of the block under way.
func (l *list) read() bool {
	raw := l.in.rest[l.next:]
	p, rest, ok := readPosting(l.last.doc, raw)
	l.last, l.next = p, l.next+len(raw)-len(rest)
	return ok && p.doc <= l.in.last
}

// bound is what bounds the scores of the documents from target on, and the last document that it holds for. It reads no
// block. Changes are bounded by all of them.
func (l *list) bound(target uint64, changes impact) (impact, uint64) {
	i := l.blockAt(target)
	if i == len(l.blocks) {
		return changes, end - 1
	}
	b := &l.blocks[i]
	return impact{max(b.best.tf, changes.tf), min(b.best.length, changes.length)}, b.last
}

// changeImpact bounds the scores of the changes of the list.
func (l *list) changeImpact() impact {
	m := noImpact()
	for i := range l.changes {
		if c := &l.changes[i]; c.flags&changeGone == 0 {
			m = m.with(c.posting)
		}
	}
	return m
}
