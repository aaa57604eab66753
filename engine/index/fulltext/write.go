package fulltext

import (
	"encoding/binary"
	"fmt"

	"github.com/nacredb/nacre/engine/index/numbers"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/value"
)

// TermCount is a term and how often a document has it.
type TermCount struct {
	Term  string
	Count uint32
}

// Document is the entry of an index for the texts of a record.
type Document struct {
	Length uint32      // terms in all, repeated ones too
	Terms  []TermCount // by term
}

// NewDocument counts the terms of the texts of a record.
func NewDocument(s *Scratch, a *Analyzer, texts []string) *Document {
	c := &s.counts
	d := &Document{Length: c.document(s, a, texts)}
	d.Terms = make([]TermCount, len(c.met))
	for i, t := range c.met {
		d.Terms[i] = TermCount{t.term, t.n}
	}
	return d
}

// maxTerm is the length in bytes of the longest term that is kept: keys are bounded. Longer ones count for the length
// of a document but are never found.
const maxTerm = 1024

// stored is a document as it was indexed.
type stored struct {
	doc uint64
	Document
}

func (x *Index) load(record value.Value) (*stored, error) {
	raw, err := x.Tx.Get(x.recordKey(record))
	if err != nil {
		return nil, fmt.Errorf("read a document of index %s: %w", x.Name, err)
	}
	if raw == nil {
		return nil, nil
	}
	return x.decodeStored(raw)
}

func (x *Index) decodeStored(raw []byte) (*stored, error) {
	d := &stored{}
	ok := d.read(raw, func(term []byte, n uint32) bool {
		d.Terms = append(d.Terms, TermCount{string(term), n})
		return true
	})
	if !ok {
		return nil, x.corrupt("document")
	}
	return d, nil
}

// read reads the stored form of a document, and gives its terms to f until that is false. It is false for a malformed
// one.
func (d *stored) read(raw []byte, f func(term []byte, n uint32) bool) (ok bool) {
	if len(raw) < 8 {
		return false
	}
	d.doc = binary.BigEndian.Uint64(raw)
	length, rest, ok := uvarint(raw[8:])
	d.Length = uint32(length)
	for ok && len(rest) > 0 {
		var size, n uint64
		if size, rest, ok = uvarint(rest); !ok || size > uint64(len(rest)) {
			return false
		}
		term := rest[:size]
		if n, rest, ok = uvarint(rest[size:]); ok && !f(term, uint32(n)) {
			break
		}
	}
	return ok
}

func appendStored(dst []byte, doc uint64, d *Document) []byte {
	dst = binary.BigEndian.AppendUint64(dst, doc)
	dst = binary.AppendUvarint(dst, uint64(d.Length))
	for _, t := range d.Terms {
		dst = appendTerm(dst, t.Term, t.Count)
	}
	return dst
}

// appendTerm is a term of the stored form of a document.
func appendTerm(dst []byte, term string, n uint32) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(term)))
	dst = append(dst, term...)
	return binary.AppendUvarint(dst, uint64(n))
}

// Put indexes a record that is new (to the index), or whose texts have changed.
func (x *Index) Put(numbers *numbers.Source, record value.Value, d *Document) error {
	old, err := x.load(record)
	if err != nil {
		return err
	}
	if old == nil {
		return x.add(numbers, record, d)
	}
	if err := x.change(old, d); err != nil {
		return err
	}
	return x.setStored(record, old.doc, d)
}

func (x *Index) setStored(record value.Value, doc uint64, d *Document) error {
	size := 16
	for _, t := range d.Terms {
		size += len(t.Term) + 4
	}
	return x.Tx.Set(x.recordKey(record), appendStored(make([]byte, 0, size), doc, d))
}

// add indexes a new document.
func (x *Index) add(numbers *numbers.Source, record value.Value, d *Document) error {
	doc, err := x.number(numbers)
	if err != nil {
		return err
	}
	if err := x.Tx.Set(x.docKey(doc), key.AppendRecordKey(nil, record)); err != nil {
		return err
	}
	for _, t := range d.Terms {
		if err := x.Tx.Set(x.changeKey(t.Term, doc), appendChange(0, t.Count, d.Length)); err != nil {
			return err
		}
	}
	x.changes += len(d.Terms)
	if err := x.count(1, int64(d.Length)); err != nil {
		return err
	}
	return x.setStored(record, doc, d)
}

// number takes a document number that is free in the index: clocks may have been set back, and other processes give
// numbers too. The reads are tracked, so of two that take the same number one fails to commit.
func (x *Index) number(numbers *numbers.Source) (uint64, error) {
	for {
		doc := numbers.Next()
		raw, err := x.Tx.Get(x.docKey(doc))
		if raw == nil && err == nil {
			raw, err = x.Tx.Get(x.goneKey(doc))
		}
		if raw == nil || err != nil {
			return doc, err
		}
	}
}

// change replaces the terms of a document. Every posting holds the length of the document, so all of them are written.
func (x *Index) change(old *stored, d *Document) error {
	same := old.Length == d.Length
	i := 0
	for _, t := range d.Terms {
		for ; i < len(old.Terms) && old.Terms[i].Term < t.Term; i++ {
			if err := x.drop(old.Terms[i].Term, old.doc); err != nil {
				return err
			}
		}
		had := i < len(old.Terms) && old.Terms[i].Term == t.Term
		if had {
			i++
			if same && old.Terms[i-1].Count == t.Count {
				continue
			}
		}
		if err := x.replace(t, old.doc, d.Length, had); err != nil {
			return err
		}
	}
	for ; i < len(old.Terms); i++ {
		if err := x.drop(old.Terms[i].Term, old.doc); err != nil {
			return err
		}
	}
	if same {
		return nil
	}
	return x.count(0, int64(d.Length)-int64(old.Length))
}

// replace writes the posting of a document that was indexed before, with or without the term.
func (x *Index) replace(t TermCount, doc uint64, length uint32, had bool) error {
	k := x.changeKey(t.Term, doc)
	raw, err := x.Tx.Get(k)
	if err != nil {
		return err
	}
	var flags uint64
	switch {
	case raw != nil:
		was, ok := decodeChange(raw)
		if !ok {
			return x.corrupt("change")
		}
		flags = was.flags & changeHides
	case had:
		flags = changeHides // what is no change is in a block
	}
	x.changes++
	return x.Tx.Set(k, appendChange(flags, t.Count, length))
}

// drop takes a term off a document that has it.
func (x *Index) drop(term string, doc uint64) error {
	k := x.changeKey(term, doc)
	raw, err := x.Tx.Get(k)
	if err != nil {
		return err
	}
	if raw != nil {
		was, ok := decodeChange(raw)
		if !ok {
			return x.corrupt("change")
		}
		if was.flags&changeHides == 0 {
			return x.Tx.Delete(k)
		}
	}
	x.changes++
	return x.Tx.Set(k, appendChange(changeGone|changeHides, 0, 0))
}

// Remove takes a record out of the index. While that is built, a record that it does not have is deleted all the same:
// a builder that is about to add it meets that.
func (x *Index) Remove(record value.Value) error {
	old, err := x.load(record)
	if err != nil {
		return err
	}
	if old == nil {
		if x.building {
			return x.Tx.Delete(x.recordKey(record))
		}
		return nil
	}
	for _, t := range old.Terms {
		if err := x.drop(t.Term, old.doc); err != nil {
			return err
		}
	}
	if err := x.Tx.Delete(x.docKey(old.doc)); err != nil {
		return err
	}
	if err := x.Tx.Set(x.goneKey(old.doc), nil); err != nil {
		return err
	}
	if err := x.Tx.Delete(x.recordKey(record)); err != nil {
		return err
	}
	return x.count(-1, -int64(old.Length))
}

func (x *Index) count(docs, length int64) error {
	if docs != 0 {
		if err := x.Tx.Add(x.statKey(statDocs), docs); err != nil {
			return fmt.Errorf("count documents of index %s: %w", x.Name, err)
		}
	}
	if length != 0 {
		if err := x.Tx.Add(x.statKey(statLength), length); err != nil {
			return fmt.Errorf("count terms of index %s: %w", x.Name, err)
		}
	}
	return nil
}
