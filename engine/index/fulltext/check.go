package fulltext

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// Holds reports whether the index has a record, with exactly this document.
func (x *Index) Holds(record value.Value, d *Document) (bool, error) {
	got, err := x.load(record)
	if err != nil || got == nil {
		return false, err
	}
	return got.Length == d.Length && slices.Equal(got.Terms, d.Terms), nil
}

// Check holds the parts of an index against each other, and tells report what does not agree. It
// gives the number of documents. Errors: those of reading the store, and of ctx.
func (x *Index) Check(ctx context.Context, report func(text string)) (documents int64, err error) {
	c := &checker{x: x, ctx: ctx, report: report, seed: maphash.MakeSeed(), hiding: map[string]bool{}}
	for _, part := range []struct {
		id byte
		f  func(rest, raw []byte) error
	}{{partRecord, c.record}, {partDoc, c.doc}, {partChange, c.change}, {partBlock, c.block},
		{partGone, c.gone}} {
		if err := c.each(part.id, part.f); err != nil {
			return 0, err
		}
	}
	if c.records != c.docs {
		report("its documents and their numbers do not agree")
	}
	if c.expected != c.actual {
		report("its postings do not agree with its documents")
	}
	return c.count, c.statistics()
}

// checker adds up fingerprints of what must be the same on two sides.
type checker struct {
	x                *Index
	ctx              context.Context
	report           func(string)
	seed             maphash.Seed
	records, docs    uint64 // pairs of record and document number
	expected, actual uint64 // postings, by documents and by terms
	hiding           map[string]bool
	count, length    int64
	key              []byte
	room             []posting
}

// each calls f with the keys of a part, without what they all start with.
func (c *checker) each(part byte, f func(rest, raw []byte) error) error {
	prefix := append([]byte(nil), c.x.part(part)...)
	start, end := key.PrefixRange(prefix)
	cur := c.x.Tx.Scan(kv.Range{Start: start, End: end}, txn.ScanOptions{})
	defer cur.Close()
	for n := 1; cur.Next(); n++ {
		if n&255 == 0 && c.ctx.Err() != nil {
			return c.ctx.Err()
		}
		if err := f(cur.Key()[len(prefix):], cur.Value()); err != nil {
			c.report(err.Error())
		}
	}
	return cur.Err()
}

func (c *checker) pair(rk []byte, doc uint64) uint64 {
	return maphash.Bytes(c.seed, binary.BigEndian.AppendUint64(append(c.key[:0], rk...), doc))
}

func (c *checker) posting(term string, p posting) uint64 {
	b := append(c.key[:0], term...)
	b = binary.BigEndian.AppendUint64(append(b, 0), p.doc)
	return maphash.Bytes(c.seed, binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, p.tf), p.length))
}

func (c *checker) record(rk, raw []byte) error {
	d, err := c.x.decodeStored(raw)
	if err != nil {
		return err
	}
	c.count++
	c.length += int64(d.Length)
	c.records += c.pair(rk, d.doc)
	for _, t := range d.Terms {
		c.expected += c.posting(t.Term, posting{d.doc, t.Count, d.Length})
	}
	return nil
}

func (c *checker) doc(rest, rk []byte) error {
	doc, _, err := key.ReadUint(rest)
	if err != nil {
		return fmt.Errorf("a document number: %w", err)
	}
	c.docs += c.pair(rk, doc)
	return nil
}

// gone looks whether the number of a removed document was given to another one.
func (c *checker) gone(rest, _ []byte) error {
	doc, _, err := key.ReadUint(rest)
	if err != nil {
		return fmt.Errorf("the number of a removed document: %w", err)
	}
	raw, err := c.x.Tx.Get(c.x.docKey(doc))
	if raw != nil && err == nil {
		err = fmt.Errorf("document %d has the number of one that was removed", doc)
	}
	return err
}

// place reads term and document of a change or block.
func (c *checker) place(rest []byte) (term string, doc uint64, err error) {
	if term, rest, err = key.ReadText(rest); err == nil {
		doc, _, err = key.ReadUint(rest)
	}
	return term, doc, err
}

func (c *checker) change(rest, raw []byte) error {
	term, doc, err := c.place(rest)
	if err != nil {
		return fmt.Errorf("the key of a change: %w", err)
	}
	ch, ok := decodeChange(raw)
	if !ok {
		return c.x.corrupt("change")
	}
	if ch.flags&changeHides != 0 {
		c.hiding[term] = true
	}
	if ch.flags&changeGone == 0 {
		c.actual += c.posting(term, posting{doc, ch.tf, ch.length})
	}
	return nil
}

func (c *checker) block(rest, raw []byte) error {
	term, last, err := c.place(rest)
	if err != nil {
		return fmt.Errorf("the key of a block: %w", err)
	}
	b, ok := openBlock(last, raw)
	if ok {
		c.room, ok = b.postings(c.room[:0])
	}
	if !ok {
		return c.x.corrupt("block")
	}
	for _, p := range c.room {
		if b.best.with(p) != b.best {
			return fmt.Errorf("a block of %q promises less than it holds", term)
		}
		hidden, err := c.hidden(term, p.doc)
		if err != nil {
			return err
		}
		if !hidden {
			c.actual += c.posting(term, p)
		}
	}
	return nil
}

// hidden reports whether a change replaces the posting of a block.
func (c *checker) hidden(term string, doc uint64) (bool, error) {
	if !c.hiding[term] {
		return false, nil
	}
	raw, err := c.x.Tx.Get(c.x.changeKey(term, doc))
	if err != nil || raw == nil {
		return false, err
	}
	ch, ok := decodeChange(raw)
	return ok && ch.flags&changeHides != 0, nil
}

func (c *checker) statistics() error {
	for _, s := range []struct {
		which byte
		want  int64
		name  string
	}{{statDocs, c.count, "documents"}, {statLength, c.length, "terms"}} {
		raw, err := c.x.Tx.Get(c.x.statKey(s.which))
		if err != nil {
			return fmt.Errorf("read the counts of index %s: %w", c.x.Name, err)
		}
		if n, ok := kv.Counter(raw); !ok || n != s.want {
			c.report(fmt.Sprintf("it has %d %s, its counter says %d", s.want, s.name, n))
		}
	}
	return nil
}
