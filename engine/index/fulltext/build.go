package fulltext

import (
	"bytes"
	"maps"
	"slices"

	"github.com/nacredb/nacre/engine/index/numbers"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// buildPostings is how many postings a build holds in memory before it writes them out.
const buildPostings = 4 << 20

// buildNumbers is how many document numbers a build takes at a time: numbers in a row make small blocks.
const buildNumbers = 4096

// Builder fills an index with many documents, whose postings go into blocks at once.
type Builder struct {
	x       *Index
	numbers *numbers.Source
	shared  bool   // the index has documents already, and writers
	next    uint64 // document number
	left    uint64 // numbers that are taken
	terms   *lists
	held    int
	docs    int64
	length  int64
}

// Build begins to fill an index that has no entries. No other writer may work on it in this transaction until Finish.
func (x *Index) Build(numbers *numbers.Source) *Builder {
	return &Builder{x: x, numbers: numbers, terms: &lists{}}
}

// Extend begins to add a part of the documents to an index that was not finished yet: it may have some from parts
// before, and from writers. The transaction that does it must be one of txn.Tx.FirstWins; it conflicts with writers of
// the same records only.
func (x *Index) Extend(numbers *numbers.Source) *Builder {
	b := x.Build(numbers)
	b.shared = true
	return b
}

// lists are the postings of terms.
type lists struct{ byTerm map[string]*[]posting }

// of is the list of a term. What counted the term remembers it, so that most terms are looked up once.
func (l *lists) of(term string, t *counted) *[]posting {
	if t.in == l {
		return t.list
	}
	list := l.byTerm[term]
	if list == nil {
		list = new([]posting)
		if l.byTerm == nil {
			l.byTerm = map[string]*[]posting{}
		}
		l.byTerm[term] = list
	}
	t.in, t.list = l, list
	return list
}

// Has reports whether a record was added before.
func (b *Builder) Has(record value.Value) (bool, error) {
	if !b.shared {
		return false, nil
	}
	raw, err := b.x.Tx.GetUntracked(b.x.recordKey(record)) // who changes that writes what is written for want of it
	return raw != nil, err
}

// Key is what Has reads of a record.
func (b *Builder) Key(record value.Value) []byte { return bytes.Clone(b.x.recordKey(record)) }

// number is a document number that is free in the index. Writers may give numbers too: see Index.number.
func (b *Builder) number() (uint64, error) {
	for b.left == 0 {
		b.next, b.left = b.numbers.Take(buildNumbers), buildNumbers
		if !b.shared {
			break
		}
		r := kv.Range{Start: bytes.Clone(b.x.docKey(b.next)), End: bytes.Clone(b.x.docKey(b.next + buildNumbers))}
		cur := b.x.Tx.Scan(r, txn.ScanOptions{KeysOnly: true, Limit: 1, Untracked: true}) // each number is written
		if cur.Next() {
			b.left = 0
		}
		cur.Close()
		if err := cur.Err(); err != nil {
			return 0, err
		}
	}
	b.next++
	b.left--
	return b.next - 1, nil
}

// Add indexes one record, which must not have been added before.
func (b *Builder) Add(record value.Value, d *Document) error {
	doc, err := b.number()
	if err != nil {
		return err
	}
	if err := b.x.Tx.Set(b.x.docKey(doc), key.AppendRecordKey(nil, record)); err != nil {
		return err
	}
	for i, t := range d.Terms {
		list := b.terms.of(t.Term, d.met[i])
		*list = append(*list, posting{doc, t.Count, d.Length})
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
	for _, term := range slices.Sorted(maps.Keys(b.terms.byTerm)) {
		list := *b.terms.byTerm[term]
		if b.shared {
			if err := b.x.enter(term, changesOf(list)); err != nil {
				return err
			}
			continue
		}
		for ps := range slices.Chunk(list, blockSize) {
			raw := appendBlock(make([]byte, 0, 16+4*len(ps)), ps)
			if err := b.x.Tx.Set(b.x.blockKey(term, ps[len(ps)-1].doc), raw); err != nil {
				return err
			}
		}
	}
	b.terms, b.held = &lists{}, 0
	return nil
}

// changesOf are postings as changes that add them.
func changesOf(ps []posting) []change {
	out := make([]change, len(ps))
	for i := range ps {
		out[i].posting = ps[i]
	}
	return out
}

// Finish writes what is left. The index is complete.
func (b *Builder) Finish() error { return b.FinishPart(true) }

// FinishPart writes what is left of a part; all says that it was the last.
func (b *Builder) FinishPart(all bool) error {
	if err := b.flush(); err != nil {
		return err
	}
	if all { // folding begins: until then the builder alone writes blocks
		if err := b.x.Tx.Set(b.x.statKey(statBuilt), nil); err != nil {
			return err
		}
	}
	return b.x.count(b.docs, b.length)
}
