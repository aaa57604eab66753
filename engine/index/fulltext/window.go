package fulltext

import "math/bits"

// A search goes through the document numbers by windows. In each, the documents of every term are a set of bits, and
// the matches are their intersection or union. Numbers that a build has given are dense, so a window holds many
// documents of a common term, and no time goes into comparing one document with another.

// The greatest and the least window, in document numbers. A window is smaller where a query has more than windowTerms
// terms: each of them has a page.
const (
	windowMost  = 1024
	windowLeast = 64
	windowTerms = 128
)

// windowSpan is the size of the windows of a search for so many terms.
func windowSpan(terms int) uint64 {
	span := uint64(windowMost)
	for ; span > windowLeast && terms > windowTerms; terms /= 2 {
		span /= 2
	}
	return span
}

// docSet is a set of documents of a window, each by its distance from the first number of the window.
type docSet [windowMost / 64]uint64

func (d *docSet) has(at uint64) bool { return d[at/64]>>(at%64)&1 != 0 }

// from is the first document of the set that is not before at, windowMost where there is none.
func (d *docSet) from(at uint64) uint64 {
	i := at / 64
	for word := d[i] >> (at % 64) << (at % 64); ; word = d[i] {
		if word != 0 {
			return i*64 + uint64(bits.TrailingZeros64(word))
		}
		if i++; i == uint64(len(d)) {
			return windowMost
		}
	}
}

// count is how many documents of the set are not before at.
func (d *docSet) count(at uint64) (n int) {
	i := at / 64
	n = bits.OnesCount64(d[i] >> (at % 64))
	for _, word := range d[i+1:] {
		n += bits.OnesCount64(word)
	}
	return n
}

func (d *docSet) and(other *docSet) {
	for i := range d {
		d[i] &= other[i]
	}
}

func (d *docSet) or(other *docSet) {
	for i := range d {
		d[i] |= other[i]
	}
}

// page is what a term has in a window.
type page struct {
	docs docSet
	of   []entry // by distance; only those of docs are of this window
}

// entry is a posting of a page.
type entry struct{ tf, length uint32 }

func (p *page) add(at uint64, tf, length uint32) {
	p.docs[at/64] |= 1 << (at % 64)
	p.of[at] = entry{tf, length}
}

// fill turns the page to the window from base on, which must not be before the one it was at. only is the set of the
// documents that are asked for, nil for all: others may be left out. It is false for a malformed block.
func (l *list) fill(p *page, base uint64, only *docSet) bool {
	p.docs = docSet{}
	span := uint64(len(p.of))
	for at := uint64(0); at < span; at = l.in.last - base + 1 {
		if only != nil {
			if at = only.from(at); at >= span {
				break
			}
		}
		found, ok := l.seekBlock(base + at)
		if !ok {
			return false
		}
		if !found || l.last.doc-base >= span {
			break
		}
		if !l.fillFromBlock(p, base) {
			return false
		}
	}
	for l.toChange(base); l.ch < len(l.changes) && l.changes[l.ch].doc-base < span; l.ch++ {
		c := &l.changes[l.ch]
		at := c.doc - base
		if c.flags&changeGone != 0 {
			p.docs[at/64] &^= 1 << (at % 64)
			continue
		}
		p.add(at, c.tf, c.length)
	}
	return true
}

// fillFromBlock enters the current posting into a page, and those of its block behind it, as far as the window goes.
func (l *list) fillFromBlock(p *page, base uint64) bool {
	span := uint64(len(p.of))
	at, raw := l.last.doc-base, l.in.rest
	p.add(at, l.last.tf, l.last.length)
	if len(raw) != 3*l.in.count {
		for l.next < len(raw) {
			if !l.read() {
				return false
			}
			if l.last.doc-base >= span {
				return true
			}
			p.add(l.last.doc-base, l.last.tf, l.last.length)
		}
		return l.last.doc == l.in.last
	}
	// Each number is one byte.
	next := l.next
	for ; next+3 <= len(raw); next += 3 {
		if at += uint64(raw[next]); at >= span {
			l.last, l.next = posting{base + at, uint32(raw[next+1]), uint32(raw[next+2])}, next+3
			return l.last.doc <= l.in.last
		}
		p.add(at, uint32(raw[next+1]), uint32(raw[next+2]))
	}
	l.last.doc, l.next = base+at, next
	return l.last.doc == l.in.last
}

// from is a number up to which the list has no document from target on, end where it has none at all. It reads no
// block. A target must not be before an earlier one.
func (l *list) from(target uint64) uint64 {
	doc := uint64(end)
	l.toBlock(target)
	if l.at < len(l.blocks) {
		doc = l.blocks[l.at].first
		if l.in != nil {
			doc = l.last.doc
		}
		doc = max(doc, target)
	}
	l.toChange(target)
	if l.ch < len(l.changes) {
		doc = min(doc, l.changes[l.ch].doc)
	}
	return doc
}
