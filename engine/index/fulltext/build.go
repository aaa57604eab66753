package fulltext

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// buildPostings is how many postings a build holds in memory before it writes them out.
const buildPostings = 4 << 20

// buildNumbers is how many document numbers a build takes at a time: numbers in a row make small blocks.
const buildNumbers = 4096

// Builder fills an index with many documents, whose postings go into blocks at once. It notes one posting after the
// other as the documents come, and brings them into the order of their terms when it writes them.
type Builder struct {
	x      *Index
	texts  *Library
	shared bool   // the index has documents already, and writers
	most   int    // postings that are held
	next   uint64 // document number
	left   uint64 // numbers that are taken

	scratch Scratch
	counts  *counts // of texts, nil until the first record
	age     int     // of counts, when the first of noted was

	builderRoom
	held   int        // postings that are noted
	writes []kv.Write // in order of the keys
	slab   slab
	wrote  bool // some of it all has been written

	count, length int64
}

// builderRoom is what a Builder leaves to the next one: lists that grow are copied again and again.
type builderRoom struct {
	noted   [][]noted // pages, all that there are; the first have what is held
	ordered []posting
	terms   []buildTerm // of noted
	docs    []buildDoc  // of noted
	records []kv.Write  // by record
	numbers []kv.Write  // by document
}

// noted is a posting: the places of its term and of its document, and how often the one is in the other.
type noted struct{ term, doc, tf uint32 }

// buildTerm is a term of a build. Two may be the same: then the postings of the second are behind those of the first.
type buildTerm struct {
	*counted
	count int // of its postings
	at    int // where they are, once they are in order
}

// buildDoc is a document of a build.
type buildDoc struct {
	number uint64
	length uint32
}

// Build begins to fill an index that has no entries. No other writer may work on it in this transaction until Finish.
func (x *Index) Build(texts *Library) *Builder {
	return &Builder{x: x, texts: texts, most: buildPostings}
}

// Extend begins to add a part of the documents to an index that was not finished yet: it may have some from parts
// before, and from writers. The transaction that does it must be one of txn.Tx.FirstWins; it conflicts with writers of
// the same records only. What is written shows when it is committed.
func (x *Index) Extend(texts *Library) *Builder {
	b := x.Build(texts)
	b.shared = true
	return b
}

// Has reports whether a record was added before, which is as key.AppendRecordKey makes it.
func (b *Builder) Has(record []byte) (bool, error) {
	if !b.shared {
		return false, nil
	}
	b.x.buf = append(b.x.part(partRecord), record...)
	raw, err := b.x.Tx.GetUntracked(b.x.buf) // who changes that writes what is written for want of it
	return raw != nil, err
}

// Key is what Has reads of a record.
func (b *Builder) Key(record value.Value) []byte { return bytes.Clone(b.x.recordKey(record)) }

// number is a document number that is free in the index. Writers may give numbers too: see Index.number.
func (b *Builder) number() (uint64, error) {
	for b.left == 0 {
		b.next, b.left = b.texts.Numbers.Take(buildNumbers), buildNumbers
		if !b.shared {
			break
		}
		for _, keyOf := range []func(doc uint64) []byte{b.x.docKey, b.x.goneKey} {
			r := kv.Range{Start: bytes.Clone(keyOf(b.next)), End: bytes.Clone(keyOf(b.next + buildNumbers))}
			cur := b.x.Tx.Scan(r, txn.ScanOptions{KeysOnly: true, Limit: 1, Untracked: true}) // each number is written
			if cur.Next() {
				b.left = 0
			}
			cur.Close()
			if err := cur.Err(); err != nil {
				return 0, err
			}
		}
	}
	b.next++
	b.left--
	return b.next - 1, nil
}

// Add indexes the texts of a record, which must not have been added before and is as key.AppendRecordKey makes it.
func (b *Builder) Add(a *Analyzer, record []byte, texts []string) error {
	number, err := b.number()
	if err != nil {
		return err
	}
	if b.counts == nil {
		b.counts = b.texts.takeCounts()
		b.builderRoom, b.counts.built = b.counts.built, builderRoom{}
	}
	length := b.counts.document(&b.scratch, a, texts)
	if b.held == 0 {
		b.age = b.counts.age
	}
	stored := b.slab.begin(8 + binary.MaxVarintLen32 + b.counts.size())
	stored = binary.BigEndian.AppendUint64(stored, number)
	stored = binary.AppendUvarint(stored, uint64(length))
	doc := uint32(len(b.docs))
	for _, t := range b.counts.met {
		if t.in != b {
			t.in, t.id = b, uint32(len(b.terms))
			b.terms = append(b.terms, buildTerm{counted: t})
		}
		b.terms[t.id].count++
		b.note(noted{t.id, doc, t.n})
		stored = appendTerm(stored, t.term, t.n)
	}
	b.docs = append(b.docs, buildDoc{number, length})
	stored = b.slab.end(stored)
	k := b.slab.put(b.x.part(partRecord), record)
	b.records = append(b.records, kv.Write{Key: k, Value: stored})
	b.numbers = append(b.numbers, kv.Write{Key: b.slab.put(b.x.docKey(number)), Value: k[len(k)-len(record):]})
	b.count++
	b.length += int64(length)
	if !b.shared { // any number of records may come: the transaction bounds what it holds
		if err := b.write(append(b.records, b.numbers...), false); err != nil {
			return err
		}
		b.records, b.numbers = b.records[:0], b.numbers[:0]
	}
	if b.held >= b.most {
		return b.flush(false)
	}
	return nil
}

// notedPage is how many postings a page has.
const notedPage = 8192

func (b *Builder) note(n noted) {
	at := b.held / notedPage
	if at == len(b.noted) {
		b.noted = append(b.noted, make([]noted, notedPage))
	}
	b.noted[at][b.held%notedPage] = n
	b.held++
}

// flush writes what is held. last says that there is no more.
func (b *Builder) flush(last bool) error {
	terms, ps := b.inOrder()
	ends := ends{x: b.x}
	if b.shared {
		if err := ends.open(); err != nil {
			return err
		}
		defer ends.close()
	}
	b.writes = make([]kv.Write, 0, len(b.records)+len(b.numbers)+3*len(terms)+b.held/blockSize+txn.SpareWrites)
	b.writes = append(append(b.writes, b.records...), b.numbers...)
	for len(terms) > 0 {
		t := &b.terms[terms[0]]
		n := t.count
		for terms = terms[1:]; len(terms) > 0 && b.terms[terms[0]].term == t.term; terms = terms[1:] {
			n += b.terms[terms[0]].count
		}
		if err := b.enter(&ends, t.term, ps[t.at:t.at+n]); err != nil {
			return err
		}
	}
	if err := b.write(b.writes, last); err != nil {
		return err
	}
	for i := range b.terms {
		b.terms[i].in = nil
	}
	clear(b.terms) // what they lead to is not to be kept
	clear(b.records)
	clear(b.numbers)
	b.terms, b.docs, b.records, b.numbers = b.terms[:0], b.docs[:0], b.records[:0], b.numbers[:0]
	b.held, b.writes = 0, nil
	return nil
}

// inOrder gives the terms in order, by their places, and their postings one after the other.
func (b *Builder) inOrder() ([]uint32, []posting) {
	if b.counts == nil {
		return nil, nil
	}
	terms := make([]uint32, len(b.terms))
	for i := range terms {
		terms[i] = uint32(i)
	}
	ranked := b.age == b.counts.age // else there are two with one rank
	slices.SortFunc(terms, func(i, j uint32) int {
		s, t := &b.terms[i], &b.terms[j]
		if ranked && s.rank != 0 && t.rank != 0 {
			return int(s.rank) - int(t.rank)
		}
		if c := strings.Compare(s.term, t.term); c != 0 {
			return c
		}
		return int(i) - int(j)
	})
	next, at := make([]int, len(terms)), 0
	for _, i := range terms {
		b.terms[i].at, next[i] = at, at
		at += b.terms[i].count
	}
	b.ordered = slices.Grow(b.ordered[:0], b.held)
	ps := b.ordered[:b.held]
	for i, left := 0, b.held; left > 0; i, left = i+1, left-notedPage {
		for _, n := range b.noted[i][:min(notedPage, left)] {
			d := &b.docs[n.doc]
			ps[next[n.term]] = posting{d.number, n.tf, d.length}
			next[n.term]++
		}
	}
	return terms, ps
}

// enter makes blocks of the postings of a term.
func (b *Builder) enter(ends *ends, term string, ps []posting) error {
	k, old, err := ends.last(term)
	switch {
	case err != nil:
		return err
	case old == nil:
	case old.last >= ps[0].doc: // numbers of others, or of a clock that was set back
		return b.x.enter(term, changesOf(ps))
	case old.count < blockSize:
		n := min(len(ps), blockSize-old.count)
		b.writes = append(b.writes, kv.Write{Key: b.slab.put(k)})
		b.block(term, old, ps[:n])
		ps = ps[n:]
	}
	for part := range slices.Chunk(ps, blockSize) {
		b.block(term, nil, part)
	}
	return nil
}

// block adds a block, of postings behind those of an old one.
func (b *Builder) block(term string, old *block, ps []posting) {
	size := 40 + 20*len(ps)
	if old != nil {
		size += len(old.rest)
	}
	raw := b.slab.end(appendBehind(b.slab.begin(size), old, ps))
	k := b.slab.put(b.x.blockKey(term, ps[len(ps)-1].doc))
	b.writes = append(b.writes, kv.Write{Key: k, Value: raw})
}

// write writes what the index has to store. What comes last goes into the transaction as it is: nothing that is written
// there another way, by what was flushed before or for terms whose numbers are not in order, is at the same keys.
func (b *Builder) write(writes []kv.Write, last bool) error {
	byKey := func(v, w kv.Write) int { return bytes.Compare(v.Key, w.Key) }
	if last && b.shared && !b.wrote {
		if !slices.IsSortedFunc(writes, byKey) {
			slices.SortFunc(writes, byKey)
		}
		return b.x.Tx.Append(writes)
	}
	b.wrote = true
	for _, w := range writes {
		if w.Value == nil {
			if err := b.x.Tx.Delete(w.Key); err != nil {
				return err
			}
			continue
		}
		if err := b.x.Tx.Set(w.Key, w.Value); err != nil {
			return err
		}
	}
	return nil
}

// ends finds the last block of one term after the other. The zero value but for x finds none.
type ends struct {
	x      *Index
	cur    *txn.Cursor
	prefix []byte
}

// open looks whether there are blocks at all.
func (e *ends) open() error {
	e.cur = e.x.Tx.Scan(kv.Prefix(bytes.Clone(e.x.part(partBlock))), endOf)
	if e.cur.Next() {
		return nil
	}
	e.cur.Close()
	err := e.cur.Err()
	e.cur = nil
	return err
}

// endOf are the options of a scan for the last key: only folding and building write blocks.
var endOf = txn.ScanOptions{Limit: 1, Reverse: true, Untracked: true}

// last is the last block of a term and its key, nil for none. They are good until the next call.
func (e *ends) last(term string) ([]byte, *block, error) {
	if e.cur == nil {
		return nil, nil, nil
	}
	e.prefix = append(e.prefix[:0], e.x.termKey(partBlock, term)...)
	e.cur.Move(kv.Prefix(e.prefix))
	if !e.cur.Next() {
		return nil, nil, e.cur.Err()
	}
	last, _, err := key.ReadUint(e.cur.Key()[len(e.prefix):])
	b, ok := openBlock(last, e.cur.Value())
	if err != nil || !ok {
		return nil, nil, e.x.corrupt("block")
	}
	return e.cur.Key(), &b, nil
}

func (e *ends) close() {
	if e.cur != nil {
		e.cur.Close()
	}
}

// slab is room for many keys and values, a piece after the other.
type slab struct{ free []byte }

const slabSize = 256 << 10

// begin gives room for n bytes, to append to; end takes what was appended.
func (s *slab) begin(n int) []byte {
	if cap(s.free) < n {
		s.free = make([]byte, 0, max(n, slabSize))
	}
	return s.free[:0]
}

func (s *slab) end(b []byte) []byte {
	s.free = b[len(b):]
	return b[:len(b):len(b)]
}

// put puts something together.
func (s *slab) put(parts ...[]byte) []byte {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	b := s.begin(n)
	for _, p := range parts {
		b = append(b, p...)
	}
	return s.end(b)
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
	if err := b.flush(true); err != nil {
		return err
	}
	if b.counts != nil {
		b.counts.built, b.builderRoom = b.builderRoom, builderRoom{}
		b.texts.counts.Put(b.counts)
		b.counts = nil
	}
	if all { // folding begins: until then the builder alone writes blocks
		if err := b.x.Tx.Set(b.x.statKey(statBuilt), nil); err != nil {
			return err
		}
	}
	return b.x.count(b.count, b.length)
}
