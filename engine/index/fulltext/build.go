package fulltext

import (
	"slices"

	"github.com/nacredb/nacre/engine/index/numbers"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/value"
)

// buildPostings is how many postings a build holds in memory before it writes them out.
const buildPostings = 4 << 20

// buildNumbers is how many document numbers a build takes at a time: numbers in a row make small blocks.
const buildNumbers = 4096

// Builder fills an empty index with many documents.
type Builder struct {
	x       *Index
	numbers *numbers.Source
	next    uint64 // document number
	left    uint64 // numbers that are taken
	terms   map[string][]posting
	held    int
	docs    int64
	length  int64
}

// Build begins to fill an index that has no entries. No other writer may work on it in this transaction until Finish.
func (x *Index) Build(numbers *numbers.Source) *Builder {
	return &Builder{x: x, numbers: numbers, terms: map[string][]posting{}}
}

// Add indexes one record, which must not have been added before.
func (b *Builder) Add(record value.Value, d *Document) error {
	if b.left == 0 {
		b.next, b.left = b.numbers.Take(buildNumbers), buildNumbers
	}
	doc := b.next
	b.next++
	b.left--
	if err := b.x.Tx.Set(b.x.docKey(doc), key.AppendRecordKey(nil, record)); err != nil {
		return err
	}
	for _, t := range d.Terms {
		b.terms[t.Term] = append(b.terms[t.Term], posting{doc, t.Count, d.Length})
	}
	b.held += len(d.Terms)
	b.docs++
	b.length += int64(d.Length)
	if err := b.x.setStored(record, doc, d); err != nil {
		return err
	}
	if b.held >= buildPostings {
		return b.flush()
	}
	return nil
}

// flush writes the postings that are held as blocks.
func (b *Builder) flush() error {
	terms := make([]string, 0, len(b.terms))
	for term := range b.terms {
		terms = append(terms, term)
	}
	slices.Sort(terms)
	for _, term := range terms {
		for ps := range slices.Chunk(b.terms[term], blockSize) {
			raw := appendBlock(make([]byte, 0, 16+4*len(ps)), ps)
			if err := b.x.Tx.Set(b.x.blockKey(term, ps[len(ps)-1].doc), raw); err != nil {
				return err
			}
		}
	}
	clear(b.terms)
	b.held = 0
	return nil
}

// Finish writes what is left.
func (b *Builder) Finish() error {
	if err := b.flush(); err != nil {
		return err
	}
	if err := b.x.Tx.Set(b.x.statKey(statBuilt), nil); err != nil {
		return err
	}
	return b.x.count(b.docs, b.length)
}
