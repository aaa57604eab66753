package fulltext

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
)

// foldBatch is how many changes one transaction folds: few enough for the read set to hold every one by itself.
const foldBatch = 2048

// errGone says that an index was dropped meanwhile.
var errGone = errors.New("the index is gone")

// Fold moves the changes of an index into its blocks, a batch of them in each transaction. Writers go on meanwhile: a
// batch conflicts only with those who change the very same postings. Errors: those of the store, and of ctx.
func (x *Index) Fold(ctx context.Context, store kv.Store) error {
	gone, err := x.gone(ctx, store)
	if err == nil {
		err = x.foldAll(ctx, store)
	}
	for part := range slices.Chunk(gone, foldBatch) {
		if err == nil {
			err = x.folding(ctx, store, func(y *Index) error { return y.free(part) })
		}
	}
	if errors.Is(err, errGone) {
		return nil
	}
	return err
}

// folding runs f in a transaction that conflicts with one that drops the index, and with any other fold of it.
func (x *Index) folding(ctx context.Context, store kv.Store, f func(y *Index) error) error {
	return txn.Retry(ctx, store, txn.Options{}, func(tx *txn.Tx) error {
		y := *x
		y.Tx, y.buf = tx, nil
		if err := y.alone(); err != nil {
			return err
		}
		return f(&y)
	})
}

// gone gives keys of the numbers of removed documents, foldAfter of them at most. When all changes that are there by
// now are folded, nothing has those numbers any more.
func (x *Index) gone(ctx context.Context, store kv.Store) (keys [][]byte, err error) {
	tx, err := txn.Begin(ctx, store, txn.Options{})
	if err != nil {
		return nil, err
	}
	defer tx.Cancel()
	cur := tx.Scan(kv.Prefix(bytes.Clone(x.part(partGone))), txn.ScanOptions{KeysOnly: true, Limit: foldAfter})
	defer cur.Close()
	for cur.Next() {
		keys = append(keys, bytes.Clone(cur.Key()))
	}
	return keys, cur.Err()
}

// free has numbers be given again.
func (x *Index) free(keys [][]byte) error {
	for _, k := range keys {
		if err := x.Tx.Delete(k); err != nil {
			return err
		}
	}
	return nil
}

// foldAll folds all changes.
func (x *Index) foldAll(ctx context.Context, store kv.Store) error {
	var from []byte
	for {
		var next []byte
		err := x.folding(ctx, store, func(y *Index) (err error) {
			next, err = y.foldFrom(from) // again from there where the commit meets a conflict
			return err
		})
		if err != nil || next == nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		from = next
	}
}

// bare is the index without a transaction.
func (x *Index) bare() Index { return Index{Name: x.Name, place: x.place, k1: x.k1, b: x.b} }

// unfolded counts the changes that are not in blocks, up to the number at which they are folded.
func (x *Index) unfolded(ctx context.Context, store kv.Store) (int, error) {
	tx, err := txn.Begin(ctx, store, txn.Options{})
	if err != nil {
		return 0, err
	}
	defer tx.Cancel()
	cur := tx.Scan(kv.Prefix(bytes.Clone(x.part(partChange))), txn.ScanOptions{KeysOnly: true, Limit: foldAfter})
	defer cur.Close()
	n := 0
	for cur.Next() {
		if n++; n&255 == 0 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
	}
	return n, cur.Err()
}

// foldFrom folds a batch of changes from a key on, and gives the key to go on from; nil at the end.
func (x *Index) foldFrom(from []byte) (next []byte, err error) {
	prefix := bytes.Clone(x.part(partChange))
	all := kv.Prefix(prefix)
	if from != nil {
		all.Start = from
	}
	cur := x.Tx.Scan(all, txn.ScanOptions{Untracked: true})
	defer cur.Close()
	term, batch, count := "", []change(nil), 0
	for cur.Next() {
		if count++; count > foldBatch {
			next = bytes.Clone(cur.Key())
			break
		}
		t, rest, err := key.ReadText(cur.Key()[len(prefix):])
		if err != nil {
			return nil, x.corrupt("change")
		}
		doc, _, err := key.ReadUint(rest)
		c, ok := decodeChange(cur.Value())
		if err != nil || !ok {
			return nil, x.corrupt("change")
		}
		if c.doc = doc; t != term {
			if err := x.fold(term, batch); err != nil {
				return nil, err
			}
			term, batch = t, batch[:0]
		}
		batch = append(batch, c)
	}
	if err := cur.Err(); err != nil {
		return nil, err
	}
	return next, x.fold(term, batch)
}

// alone makes the transaction conflict with one that drops the index, and with any other fold of it.
func (x *Index) alone() error {
	built, err := x.Tx.Get(x.statKey(statBuilt))
	if err != nil {
		return err
	}
	if built == nil {
		return errGone
	}
	if _, err := x.Tx.Get(x.statKey(statFold)); err != nil {
		return err
	}
	return x.Tx.Set(x.statKey(statFold), nil)
}

// fold moves changes of a term, in order of their documents, into its blocks.
func (x *Index) fold(term string, changes []change) error {
	for _, c := range changes {
		k := x.changeKey(term, c.doc)
		if _, err := x.Tx.Get(k); err != nil { // tracked: a concurrent change makes the commit fail
			return err
		}
		if err := x.Tx.Delete(k); err != nil {
			return err
		}
	}
	return x.enter(term, changes)
}

// enter writes changes of a term, in order of their documents, into its blocks. No other goroutine may write blocks
// meanwhile.
func (x *Index) enter(term string, changes []change) error {
	for len(changes) > 0 {
		b, k, err := x.blockFor(term, changes[0].doc)
		if err != nil {
			return err
		}
		mine := len(changes)
		if b != nil && b.last >= changes[0].doc {
			mine = 0
			for mine < len(changes) && changes[mine].doc <= b.last {
				mine++
			}
		}
		if err := x.rewrite(term, b, k, changes[:mine]); err != nil {
			return err
		}
		changes = changes[mine:]
	}
	return nil
}

// blockFor finds the block that a document belongs into: that which ends at or after it, or else the last one if it has
// room; nil for none.
func (x *Index) blockFor(term string, doc uint64) (*block, []byte, error) {
	prefix := bytes.Clone(x.termKey(partBlock, term))
	r := kv.Prefix(prefix)
	after := r
	after.Start = bytes.Clone(x.blockKey(term, doc))
	b, k, err := x.firstBlock(after, len(prefix), false)
	if b != nil || err != nil {
		return b, k, err
	}
	b, k, err = x.firstBlock(r, len(prefix), true)
	if b != nil && b.count >= blockSize {
		return nil, nil, err
	}
	return b, k, err
}

func (x *Index) firstBlock(r kv.Range, prefix int, reverse bool) (*block, []byte, error) {
	cur := x.Tx.Scan(r, txn.ScanOptions{Limit: 1, Reverse: reverse, Untracked: true}) // only folding writes blocks
	defer cur.Close()
	if !cur.Next() {
		return nil, nil, cur.Err()
	}
	last, _, err := key.ReadUint(cur.Key()[prefix:])
	b, ok := openBlock(last, cur.Value())
	if err != nil || !ok {
		return nil, nil, x.corrupt("block")
	}
	return &b, bytes.Clone(cur.Key()), nil
}

// rewrite writes a block (nil: a new one) anew with changes.
func (x *Index) rewrite(term string, b *block, k []byte, changes []change) error {
	var old []posting
	if b != nil {
		var ok bool
		if old, ok = b.postings(nil); !ok {
			return x.corrupt("block")
		}
		if err := x.Tx.Delete(k); err != nil {
			return err
		}
	}
	for ps := range slices.Chunk(merge(old, changes), blockSize) {
		if err := x.Tx.Set(x.blockKey(term, ps[len(ps)-1].doc), appendBlock(nil, ps)); err != nil {
			return fmt.Errorf("write a block of index %s: %w", x.Name, err)
		}
	}
	return nil
}

// merge applies changes to postings; both are in order of their documents.
func merge(old []posting, changes []change) []posting {
	out := make([]posting, 0, len(old)+len(changes))
	for _, c := range changes {
		for len(old) > 0 && old[0].doc < c.doc {
			out = append(out, old[0])
			old = old[1:]
		}
		if len(old) > 0 && old[0].doc == c.doc {
			old = old[1:]
		}
		if c.flags&changeGone == 0 {
			out = append(out, c.posting)
		}
	}
	return append(out, old...)
}
