package record

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/index"
	"github.com/nacredb/nacre/engine/index/fulltext"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// BuildLimit bounds a part of the building of an index.
type BuildLimit struct {
	Records int64
	Bytes   int64 // of what is stored, about
	Again   bool  // the part was refused before: what writers have entered by now is not written again
}

// BuildPart makes the entries of an index that is catalog.Building, of any kind but COUNT, for the records from a key
// on (nil: the first), until a limit is reached. It gives the key from which on records may be left, and how many it
// looked at: with none the index has all. It may meet entries that are there already. The transaction becomes one of
// txn.Tx.FirstWins, unless there were none. See package index on why this is right beside writers.
func (g *Gate) BuildPart(ctx context.Context, tb *catalog.Table, ix *catalog.Index, from []byte,
	limit BuildLimit) (next []byte, n int64, err error) {
	a, err := g.adder(ctx, tb, ix, limit)
	if err != nil {
		return nil, 0, err
	}
	start, end := key.RecordRange(tb.Scope.NS, tb.Scope.DB, tb.ID, nil)
	if from != nil {
		start = from
	}
	cur := g.Tx.Scan(kv.Range{Start: start, End: end}, txn.ScanOptions{Untracked: true})
	defer cur.Close()
	pairs := make([]kv.Pair, min(partAhead, limit.Records+1))
	for read, more := int64(0), true; more && next == nil; {
		filled := cur.Fill(pairs)
		more = filled == len(pairs)
		if ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		if err := a.ahead(g.Tx, pairs[:filled]); err != nil {
			return nil, 0, err
		}
		for _, p := range pairs[:filled] {
			if read += int64(len(p.Value)); n == limit.Records || n > 0 && a.took(read) > limit.Bytes {
				next = bytes.Clone(p.Key)
				break
			}
			if err := a.add(p); err != nil {
				return nil, 0, err
			}
			n++
		}
	}
	if err := cur.Err(); err != nil {
		return nil, 0, err
	}
	if next == nil {
		next = end
	}
	if n > 0 {
		g.Tx.FirstWins()
	}
	err = a.finish(n == 0)
	if errors.Is(err, errNoPlace) {
		err = g.addOneByOne(ctx, tb, ix, start, n)
	}
	return next, n, err
}

// partAhead is how many records BuildPart reads together.
const partAhead = 64

// decoded gives what hands a stored record of a table to add.
func decoded(tb *catalog.Table, add func(*value.RecordID, value.Value) error) func(kv.Pair) error {
	return func(p kv.Pair) error {
		k, err := key.DecodeRecord(p.Key)
		if err != nil {
			return fmt.Errorf("read a record key of %s: %w", tb.Name, err)
		}
		doc, err := decode(p.Value)
		if err != nil {
			return err
		}
		return add(&value.RecordID{Table: tb.Name, Key: k}, doc)
	}
}

// addKept adds a stored record to a batch: its key goes into the entries as it is.
func (g *Gate) addKept(ctx context.Context, tb *catalog.Table, ix *catalog.Index, b *index.Batch, p kv.Pair) error {
	id, err := key.RecordPart(p.Key)
	if err != nil {
		return fmt.Errorf("read a record key of %s: %w", tb.Name, err)
	}
	vs, err := g.kept(ctx, ix, p)
	if err != nil {
		return err
	}
	return b.Add(id, vs)
}

// kept is the values of an index in a stored record, in a buffer of the gate. Fields that are indexed are read without
// the others.
func (g *Gate) kept(ctx context.Context, ix *catalog.Index, p kv.Pair) ([]value.Value, error) {
	vs := g.vals[1][:0]
	for _, path := range ix.Paths {
		if len(path) != 1 || path[0].All {
			doc, err := decode(p.Value)
			if err != nil {
				return nil, err
			}
			return g.indexed(ctx, 1, ix, doc)
		}
		v, _, err := value.RecordField(p.Value, path[0].Name)
		if err != nil {
			return nil, fmt.Errorf("read a record: %w", err)
		}
		vs = append(vs, v)
	}
	g.vals[1] = vs[:0]
	return vs, nil
}

// errNoPlace says that a unique index has no place for one of the records of a part.
var errNoPlace = errors.New("a record has no place in a unique index")

// addOneByOne adds the n records from a key on to an ordered or unique index, to tell which one does not fit.
func (g *Gate) addOneByOne(ctx context.Context, tb *catalog.Table, ix *catalog.Index, start []byte, n int64) error {
	_, end := key.RecordRange(tb.Scope.NS, tb.Scope.DB, tb.ID, nil)
	g.ix.Tx = g.Tx
	return g.eachIn(ctx, tb, kv.Range{Start: start, End: end}, int(n), func(id *value.RecordID, doc value.Value) error {
		vs, err := g.indexed(ctx, 1, ix, doc)
		if err != nil {
			return err
		}
		return g.ix.Build(tb, ix, id, vs)
	})
}

// adder adds records to an index of some kind.
type adder struct {
	add    func(kv.Pair) error             // a stored record
	finish func(all bool) error            // after the last record of a part; all: the part had none, so all are there
	key    func(record value.Value) []byte // what add reads for a record; nil: nothing
	size   func() int64                    // bytes of what the records make; nil: about as much as they have

	readShare int64 // a part in so many of the bytes of records counts
}

// took is what counts as the bytes of a part for which so many bytes of records are read.
func (a *adder) took(read int64) int64 {
	if read /= a.readShare; a.size != nil {
		read += a.size()
	}
	return read
}

const (
	// An entry of an ordered index is small beside its record: what is read is to end all the same.
	entriesShare = 8
	// Each part of a full-text index rewrites the last blocks of nearly all terms: a few large parts cost less.
	textShare = 3
)

// ahead reads what add is about to, where the store is elsewhere.
func (a *adder) ahead(tx *txn.Tx, records []kv.Pair) error {
	if a.key == nil || !tx.Prefetches() {
		return nil
	}
	keys := make([][]byte, len(records))
	for i := range records {
		k, err := key.DecodeRecord(records[i].Key)
		if err != nil {
			return fmt.Errorf("read a record key: %w", err)
		}
		keys[i] = a.key(k)
	}
	_, err := tx.Prefetch(keys)
	return err
}

// adder gives what adds the records of a part.
func (g *Gate) adder(ctx context.Context, tb *catalog.Table, ix *catalog.Index, limit BuildLimit) (*adder, error) {
	switch {
	case ix.Define.Kind == ast.IndexFullText:
		t := &textAdder{g: g, ix: ix, b: fulltext.Open(g.Tx, tb, ix).Extend(g.Texts)}
		add := func(p kv.Pair) error { return t.add(ctx, p) }
		return &adder{add: add, finish: t.b.FinishPart, key: t.b.Key, readShare: textShare}, nil
	case ix.Define.Vector != nil:
		x, add, err := g.vectorAdder(ctx, tb, ix)
		finish := func(all bool) error {
			if all {
				x.Warm()
			}
			return nil
		}
		return &adder{add: decoded(tb, add), finish: finish, key: x.Key, readShare: 1}, err
	case index.Kept(ix):
		b := index.NewBatch(g.Tx, tb, ix)
		b.Among = limit.Again
		add := func(p kv.Pair) error { return g.addKept(ctx, tb, ix, b, p) }
		finish := func(bool) error {
			ok, err := b.Write()
			if err == nil && !ok {
				return errNoPlace
			}
			return err
		}
		return &adder{add: add, finish: finish, size: b.Size, readShare: entriesShare}, nil
	}
	return nil, fmt.Errorf("build index %s: it is of no kind that is built in parts", ix.Name)
}

// Uncounted is by how much a COUNT index that is catalog.Building falls short of the records in the snapshot of the
// gate's transaction. The transaction must be one that only reads: others are not told that anything was read.
func (g *Gate) Uncounted(ctx context.Context, tb *catalog.Table,
	ix *catalog.Index) (missing, records int64, err error) {
	counted, err := g.IndexCount(tb, ix)
	if err != nil {
		return 0, 0, err
	}
	if records, err = g.RowCount(tb); err != nil || ix.Define.CountWhere == nil {
		return records - counted, records, err
	}
	var meet int64
	err = g.eachStored(ctx, tb, func(_ *value.RecordID, doc value.Value) error {
		v, err := g.Eval.EvalIn(ctx, ix.Define.CountWhere, doc, nil, AsEngineReader)
		if err == nil && value.Truthy(v) {
			meet++
		}
		return err
	})
	return meet - counted, records, err
}

// AddCount adds to a COUNT index.
func (g *Gate) AddCount(tb *catalog.Table, ix *catalog.Index, n int64) error {
	return g.count(tb, ix.ID, n)
}

// buildShard is the counter, beside that of a COUNT index, of the changes that writers make to an index that is built.
const buildShard = 1

// countBuilding counts a change that a writer made to an index that is built.
func (g *Gate) countBuilding(tb *catalog.Table, ix *catalog.Index) error {
	if ix.Define.Kind == ast.IndexCount {
		return nil
	}
	return g.countShard(tb, ix.ID, buildShard, 1)
}

// BuildUpdates is how many changes writers made to an index since its building began.
func (g *Gate) BuildUpdates(tb *catalog.Table, ix *catalog.Index) (int64, error) {
	raw, err := g.Tx.GetUntracked(key.Counter(nil, tb.Scope.NS, tb.Scope.DB, tb.ID, ix.ID, buildShard))
	if err != nil || ix.Define.Kind == ast.IndexCount {
		return 0, err
	}
	n, ok := kv.Counter(raw)
	if !ok {
		return 0, fmt.Errorf("read what was changed in index %s: %w", ix.Name, kv.ErrCounter)
	}
	return n, nil
}

// EndBuild removes what only the building of an index needed. It conflicts with writers that still take the index for
// unfinished.
func EndBuild(tx *txn.Tx, j *catalog.Job) error {
	k := key.Counter(nil, j.Scope.NS, j.Scope.DB, j.Scope.TB, j.Index, buildShard)
	raw, err := tx.GetUntracked(k)
	if raw == nil || err != nil {
		return err
	}
	return tx.Delete(k)
}
