package fulltext

import (
	"bytes"
	"fmt"
	"sort"

	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// Records finds the records of documents. Where their numbers ascend by small steps, as those that a build has given
// do, it walks the entries instead of looking each up. The zero value is ready; it serves one index.
type Records struct {
	cur   *txn.Cursor
	pairs []kv.Pair // read ahead, from at on
	at    int
	last  uint64
	walks bool                // cur is at the entries behind pairs
	known map[uint64]struct{} // of Ahead: their entries are at hand
}

// The room of Records, and the greatest step between two numbers for which it walks.
const (
	recordsAhead = 32
	recordsStep  = 64
)

// Record is Index.Record.
func (r *Records) Record(x *Index, doc uint64) (value.Value, error) {
	if _, ok := r.known[doc]; ok {
		return x.Record(doc)
	}
	near := doc > r.last && doc-r.last <= recordsStep
	r.last = doc
	if !near || x.Tx.Writable() { // what is walked over would count as read
		r.walks = false
		return x.Record(doc)
	}
	if !r.walks {
		r.start(x, doc)
	}
	k := x.docKey(doc)
	for {
		ahead := r.pairs[r.at:]
		r.at += sort.Search(len(ahead), func(i int) bool { return bytes.Compare(ahead[i].Key, k) >= 0 })
		if r.at < len(r.pairs) {
			if p := &r.pairs[r.at]; bytes.Equal(p.Key, k) {
				return key.DecodeIndex(nil, p.Value, 0)
			}
			return value.None, x.corrupt("document")
		}
		r.pairs = r.pairs[:recordsAhead]
		r.pairs, r.at = r.pairs[:r.cur.Fill(r.pairs)], 0
		if len(r.pairs) > 0 {
			continue
		}
		if err := r.cur.Err(); err != nil {
			return value.None, fmt.Errorf("read a document of index %s: %w", x.Name, err)
		}
		return value.None, x.corrupt("document")
	}
}

// Ahead reads the entries of hits together, what other indexes have of their records and, with records, those that
// match there, where the store is elsewhere: asking for them one by one waits no more. What is not asked for does not
// count as read.
func (r *Records) Ahead(x *Index, hits []Hit, records bool, others ...Beside) error {
	hits = hits[:min(len(hits), mostAhead)]
	if !x.Tx.Prefetches() || len(hits) < 2 {
		return nil
	}
	keys := make([][]byte, len(hits))
	r.known = make(map[uint64]struct{}, len(hits))
	for i := range hits {
		keys[i] = bytes.Clone(x.docKey(hits[i].Doc))
		r.known[hits[i].Doc] = struct{}{}
	}
	if _, err := x.Tx.Prefetch(keys); err != nil || !records && len(others) == 0 {
		return err
	}
	of := make([]value.Value, 0, len(hits))
	for _, entry := range keys {
		raw, there, _ := x.Tx.AtHand(entry)
		if !there {
			continue // of this transaction, or damaged: who asks for it hears of that
		}
		if k, err := key.DecodeIndex(nil, raw, 0); err == nil {
			of = append(of, k)
		}
	}
	for _, b := range others {
		var err error
		if of, err = b.ahead(of); err != nil {
			return err
		}
	}
	if !records {
		return nil
	}
	keys = keys[:0]
	for _, k := range of {
		keys = append(keys, key.Record(nil, x.ns, x.db, x.tb, k))
	}
	_, err := x.Tx.Prefetch(keys)
	return err
}

// ahead reads what the index has of records together, and leaves out those that are seen not to match.
func (b *Beside) ahead(of []value.Value) ([]value.Value, error) {
	keys := make([][]byte, len(of))
	for i, k := range of {
		keys[i] = bytes.Clone(b.X.recordKey(k))
	}
	if _, err := b.X.Tx.Prefetch(keys); err != nil {
		return nil, err
	}
	left := of[:0]
	for i, k := range of {
		raw, there, known := b.X.Tx.AtHand(keys[i])
		if !there {
			raw = nil
		}
		if ok, err := b.X.has(raw, b.Query); ok || !known || err != nil { // the walk says what is wrong
			left = append(left, k)
		}
	}
	return left, nil
}

// mostAhead is how many records Ahead reads.
const mostAhead = 256

// start begins to walk at a document.
func (r *Records) start(x *Index, doc uint64) {
	from := append([]byte(nil), x.docKey(doc)...)
	_, to := key.PrefixRange(append([]byte(nil), x.part(partDoc)...))
	if r.cur == nil {
		r.cur = x.Tx.Scan(kv.Range{Start: from, End: to}, txn.ScanOptions{})
		r.pairs = make([]kv.Pair, recordsAhead)
	} else {
		r.cur.Move(kv.Range{Start: from, End: to})
	}
	r.pairs, r.at, r.walks = r.pairs[:0], 0, true
}

// Close ends the walk.
func (r *Records) Close() {
	if r.cur != nil {
		r.cur.Close()
	}
}
