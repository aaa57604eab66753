package fulltext

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv/mem"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// TestRecordsAgree: walking the entries of documents finds the records that looking each up finds, whether numbers are
// close or far apart, and a document that is not there is an error.
func TestRecordsAgree(t *testing.T) {
	ctx, store, r := context.Background(), mem.New(), rand.New(rand.NewPCG(3, 3))
	tb := &catalog.Table{Def: &catalog.Def{Scope: catalog.Scope{NS: 1, DB: 2}, ID: 3, Name: "d"}}
	ix := &catalog.Index{Def: &catalog.Def{ID: 4, Name: "ft"},
		Define: &ast.DefineIndex{Kind: ast.IndexFullText, FullText: &ast.FullText{}}}
	tx, err := txn.Begin(ctx, store, txn.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, tx: tx, x: Open(tx, tb, ix), a: analyzer(t, "BLANK")}
	build := b.x.Build(&b.texts)
	for id := range 2000 {
		b.check(build.Add(b.a, key.AppendRecordKey(nil, value.Int(int64(id))), []string{"a"}))
	}
	b.check(build.Finish())
	for id := 2000; id < 2300; id++ {
		b.put(id, "a")
	}
	for range 300 {
		b.check(b.x.Remove(value.Int(r.Int64N(2300))))
	}
	b.check(tx.Commit(ctx))

	read, err := txn.Begin(ctx, store, txn.Options{})
	b.check(err)
	defer read.Cancel()
	x := Open(read, tb, ix)
	s, err := x.Search(NewQuery(b.a, "a", false))
	b.check(err)
	var docs []uint64
	for s.Next() {
		docs = append(docs, s.Doc())
	}
	for range 200 {
		var near Records
		step, missing := 1+r.IntN(100), r.IntN(3) == 0
		for i := r.IntN(step); i < len(docs); i += 1 + r.IntN(step) {
			doc := docs[i]
			if missing && r.IntN(50) == 0 {
				if doc++; slices.Contains(docs, doc) {
					continue
				}
				if _, err := near.Record(x, doc); err == nil {
					t.Fatalf("document %d is not there", doc)
				}
				continue
			}
			want, err := x.Record(doc)
			b.check(err)
			got, err := near.Record(x, doc)
			b.check(err)
			if value.Compare(got, want) != 0 {
				t.Fatalf("document %d: got %s, want %s", doc, got.Text(), want.Text())
			}
		}
		near.Close()
	}
}
