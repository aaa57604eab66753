// Package fulltext keeps inverted indexes over analyzed texts and ranks what they find.
//
// Every record of an indexed table is a document with a number of its own, given when the record is
// first indexed and kept until it goes, so results come in the order of indexing. Postings (document,
// how often the term occurs, how long the document is) live in blocks, with the changes of single
// documents beside them; a reader merges the two. Builds write blocks, records write changes, and where
// many have gathered they are folded into the blocks in the background. Positions are not stored:
// highlights and offsets analyze the few texts that are shown. A document also has a list of its terms,
// so that it can be taken out even after its analyzer has changed. Nothing that two writers of different
// records touch is the same key but counters, which the store adds up: they do not conflict.
//
// Keys, inside the index data space of engine/key (doc8: 8 bytes big endian; uv: unsigned varint):
//
//	0x01 RK            of a record       doc8 uv(length) (uv(len) term uv(tf))…
//	0x02 doc8          of a document     RK
//	0x03 term doc8     a change          uv(flags) [uv(tf) uv(length)]   flags: 1 gone, 2 hides a block's posting
//	0x04 term last8    a block           uv(count) uv(first) uv(max tf) uv(min length) (uv(doc-previous) uv(tf) uv(length))…
//	0x05 0x01          statistics        counter of documents
//	0x05 0x02          statistics        counter of the lengths of all documents
//	0x05 0x03          mark              empty: the index is there
//	0x05 0x04          mark              empty: written by every transaction that folds
//	0x06 doc8          a number          empty: its document was removed, but blocks may have postings of it
//
// The package knows records only by their keys, and no permissions: only engine/record and engine/exec
// use it.
package fulltext

import (
	"encoding/binary"
	"fmt"

	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// The parts of an index.
const (
	partRecord byte = 1
	partDoc    byte = 2
	partChange byte = 3
	partBlock  byte = 4
	partStat   byte = 5
	partGone   byte = 6
)

// The statistics.
const (
	statDocs   byte = 1
	statLength byte = 2
	statBuilt  byte = 3
	statFold   byte = 4
)

// Index is one index as a transaction sees it. It belongs to one goroutine.
type Index struct {
	Tx   *txn.Tx
	Name string
	// Alone has the scores of a record depend on that record and the query only: not on how many others there are, how
	// long they are, and which of them have its words.
	Alone bool

	k1, b    float64
	building bool // see Remove
	changes  int  // that it has written, for Library.Changed
	place
	buf   []byte
	pairs []kv.Pair // room for many entries of a term
}

// place is where an index is: its own id counts within its table only.
type place struct{ ns, db, tb, ix uint32 }

// Open gives an index in a transaction.
func Open(tx *txn.Tx, tb *catalog.Table, ix *catalog.Index) *Index {
	s := tb.Scope
	x := &Index{Tx: tx, Name: ix.Called(), place: place{s.NS, s.DB, tb.ID, ix.ID}, k1: DefaultK1, b: DefaultB,
		building: ix.Build.State == catalog.Building}
	if f := ix.Define.FullText; f != nil && f.BM25 {
		x.k1, x.b = float64(float32(f.K1)), float64(float32(f.B))
	}
	return x
}

func (x *Index) part(p byte) []byte {
	x.buf = key.IndexData(x.buf[:0], x.ns, x.db, x.tb, x.ix, p)
	return x.buf
}

func (x *Index) recordKey(k value.Value) []byte {
	x.buf = key.AppendRecordKey(x.part(partRecord), k)
	return x.buf
}

func (x *Index) docKey(doc uint64) []byte {
	x.buf = key.AppendUint(x.part(partDoc), doc)
	return x.buf
}

func (x *Index) goneKey(doc uint64) []byte {
	x.buf = key.AppendUint(x.part(partGone), doc)
	return x.buf
}

func (x *Index) termKey(p byte, term string) []byte {
	x.buf = key.AppendText(x.part(p), term)
	return x.buf
}

func (x *Index) changeKey(term string, doc uint64) []byte {
	x.buf = key.AppendUint(x.termKey(partChange, term), doc)
	return x.buf
}

func (x *Index) blockKey(term string, last uint64) []byte {
	x.buf = key.AppendUint(x.termKey(partBlock, term), last)
	return x.buf
}

func (x *Index) statKey(which byte) []byte {
	x.buf = append(x.part(partStat), which)
	return x.buf
}

// corrupt is the error of stored data that this package did not write.
func (x *Index) corrupt(what string) error {
	return fmt.Errorf("full-text index %s: malformed %s", x.Name, what)
}

// Record is the key of the record that a document was made of.
func (x *Index) Record(doc uint64) (value.Value, error) {
	raw, err := x.Tx.Get(x.docKey(doc))
	if err != nil {
		return value.None, fmt.Errorf("read a document of index %s: %w", x.Name, err)
	}
	if raw == nil {
		return value.None, x.corrupt("document")
	}
	return key.DecodeIndex(nil, raw, 0)
}

// uvarint reads a number and gives the rest; ok is false where there is none.
func uvarint(b []byte) (n uint64, rest []byte, ok bool) {
	n, size := binary.Uvarint(b)
	if size <= 0 {
		return 0, nil, false
	}
	return n, b[size:], true
}
