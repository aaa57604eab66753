package fulltext

import (
	"encoding/binary"
	"math"
	"slices"
)

// posting says that a document has a term.
type posting struct {
	doc        uint64
	tf, length uint32
}

// The flags of a change.
const (
	changeGone  = 1 // the document has the term no more
	changeHides = 2 // a block holds an older posting of the document
)

// change is a posting beside the blocks.
type change struct {
	posting
	flags uint64
}

func appendChange(flags uint64, tf, length uint32) []byte {
	b := make([]byte, 0, 8)
	b = binary.AppendUvarint(b, flags)
	if flags&changeGone == 0 {
		b = binary.AppendUvarint(b, uint64(tf))
		b = binary.AppendUvarint(b, uint64(length))
	}
	return b
}

// decodeChange reads a change; its document is in its key.
func decodeChange(raw []byte) (c change, ok bool) {
	var tf, length uint64
	if c.flags, raw, ok = uvarint(raw); !ok || c.flags&changeGone != 0 {
		return c, ok
	}
	if tf, raw, ok = uvarint(raw); !ok {
		return c, false
	}
	length, _, ok = uvarint(raw)
	c.tf, c.length = uint32(tf), uint32(length)
	return c, ok
}

// blockSize is how many postings a full block holds.
const blockSize = 128

// block is a block of postings; only its head has been read.
type block struct {
	first, last uint64
	count       int
	best        impact
	rest        []byte // the postings
}

// impact bounds the scores of postings: no term occurs more often, no document is shorter.
type impact struct{ tf, length uint32 }

func (m impact) with(p posting) impact {
	return impact{max(m.tf, p.tf), min(m.length, p.length)}
}

func noImpact() impact { return impact{0, math.MaxUint32} }

// appendBlock is the stored form of a block of postings, which ascend.
func appendBlock(dst []byte, ps []posting) []byte { return appendBehind(dst, nil, ps) }

// appendBehind is the stored form of a block that has the postings of an old one, where there is one, and others behind
// them.
func appendBehind(dst []byte, old *block, ps []posting) []byte {
	if old == nil {
		first := ps[0].doc
		old = &block{first: first, last: first, best: noImpact()}
	}
	best, prev := old.best, old.last
	for _, p := range ps {
		best = best.with(p)
	}
	dst = binary.AppendUvarint(dst, uint64(old.count+len(ps)))
	dst = binary.AppendUvarint(dst, old.first)
	dst = binary.AppendUvarint(dst, uint64(best.tf))
	dst = binary.AppendUvarint(dst, uint64(best.length))
	dst = append(dst, old.rest...)
	for _, p := range ps {
		dst = binary.AppendUvarint(dst, p.doc-prev)
		dst = binary.AppendUvarint(dst, uint64(p.tf))
		dst = binary.AppendUvarint(dst, uint64(p.length))
		prev = p.doc
	}
	return dst
}

// openBlock reads the head of a block.
func openBlock(last uint64, raw []byte) (b block, ok bool) {
	var head [4]uint64
	for i := range head {
		if head[i], raw, ok = uvarint(raw); !ok {
			return b, false
		}
	}
	if head[0] == 0 || head[0] > uint64(len(raw)) || head[1] > last {
		return b, false
	}
	return block{first: head[1], last: last, count: int(head[0]), best: impact{uint32(head[2]), uint32(head[3])},
		rest: raw}, true
}

// postings reads the postings of a block into the room of dst.
func (b *block) postings(dst []posting) ([]posting, bool) {
	dst = slices.Grow(dst[:0], b.count)[:b.count]
	raw, doc := b.rest, b.first
	for i := range dst {
		var ok bool
		if dst[i], raw, ok = readPosting(doc, raw); !ok {
			return dst[:i], false
		}
		doc = dst[i].doc
	}
	return dst, doc == b.last
}

// readPosting reads the posting behind that of a document.
func readPosting(doc uint64, raw []byte) (p posting, rest []byte, ok bool) {
	if len(raw) >= 3 && (raw[0]|raw[1]|raw[2]) < 0x80 { // most numbers are small
		return posting{doc + uint64(raw[0]), uint32(raw[1]), uint32(raw[2])}, raw[3:], true
	}
	var delta, tf, length uint64
	if delta, raw, ok = uvarint(raw); !ok {
		return p, raw, false
	}
	if tf, raw, ok = uvarint(raw); !ok {
		return p, raw, false
	}
	length, raw, ok = uvarint(raw)
	return posting{doc + delta, uint32(tf), uint32(length)}, raw, ok
}
