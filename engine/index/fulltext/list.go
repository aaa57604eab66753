package fulltext

import (
	"fmt"
	"math"
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

	at    int       // block under way
	open  []posting // its postings, when they have been read
	in    int       // place in open; -1: the block has not been read
	ch    int       // place in changes
	cur   posting
	ended bool
}

// end is the document after all documents.
const end = math.MaxUint64

// list reads what there is of a term: the heads of its blocks and its changes.
func (x *Index) list(term string) (*list, error) {
	l := &list{in: -1, best: noImpact()}
	err := x.eachOf(partBlock, term, func(last uint64, raw []byte) bool {
		b, ok := openBlock(last, raw)
		l.blocks = append(l.blocks, b)
		l.count += b.count
		l.best = impact{max(l.best.tf, b.best.tf), min(l.best.length, b.best.length)}
		return ok
	})
	if err != nil {
		return nil, err
	}
	err = x.eachOf(partChange, term, func(doc uint64, raw []byte) bool {
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

// eachOf walks the entries of a term in one part; f is false for what it cannot read.
func (x *Index) eachOf(part byte, term string, f func(doc uint64, raw []byte) bool) error {
	prefix := append([]byte(nil), x.termKey(part, term)...)
	cur := x.Tx.Scan(kv.Prefix(prefix), txn.ScanOptions{})
	defer cur.Close()
	for cur.Next() {
		doc, rest, err := key.ReadUint(cur.Key()[len(prefix):])
		if err != nil || len(rest) > 0 || !f(doc, cur.Value()) {
			return x.corrupt("posting")
		}
	}
	if err := cur.Err(); err != nil {
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

// find is seek that gives the document, end after the last.
func (l *list) find(target uint64) (doc uint64, ok bool) {
	if l.ch == len(l.changes) && l.in >= 0 && target <= l.blocks[l.at].last { // in the block under way
		l.cur = *l.advance(target)
		return l.cur.doc, true
	}
	ok = l.seek(target)
	return l.doc(), ok
}

// seek moves to the first document that is not before target. It never goes back.
func (l *list) seek(target uint64) bool {
	for {
		p, ok := l.seekBlock(target)
		if !ok {
			return false
		}
		changes := l.changes[l.ch:]
		l.ch += sort.Search(len(changes), func(i int) bool { return changes[i].doc >= target })
		blockDoc := uint64(end)
		if p != nil {
			blockDoc = p.doc
		}
		if l.ch == len(l.changes) || l.changes[l.ch].doc > blockDoc {
			if p == nil {
				l.ended = true
				return true
			}
			l.cur = *p
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

// seekBlock finds the first posting in the blocks that is not before target; nil where there is none.
func (l *list) seekBlock(target uint64) (p *posting, ok bool) {
	if l.at < len(l.blocks) && l.blocks[l.at].last < target {
		rest := l.blocks[l.at+1:]
		l.at += 1 + sort.Search(len(rest), func(i int) bool { return rest[i].last >= target })
		l.in = -1
	}
	if l.at == len(l.blocks) {
		return nil, true
	}
	if l.in < 0 {
		if l.open, ok = l.blocks[l.at].postings(l.open[:0]); !ok {
			return nil, false
		}
		l.in = 0
	}
	return l.advance(target), true
}

// advance moves in the block under way to the first posting that is not before target; there is one.
func (l *list) advance(target uint64) *posting {
	i := l.in
	for l.open[i].doc < target {
		i++
	}
	l.in = i
	return &l.open[i]
}

// bound is what bounds the scores of the documents from target on, and the last document that it holds for. It reads no
// block. Changes are bounded by all of them.
func (l *list) bound(target uint64, changes impact) (impact, uint64) {
	i := l.at
	if i < len(l.blocks) && l.blocks[i].last < target {
		rest := l.blocks[i+1:]
		i += 1 + sort.Search(len(rest), func(j int) bool { return rest[j].last >= target })
	}
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
