package fulltext

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/mem"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// in runs f in a transaction of a store.
func (b *bench) in(store kv.Store, f func()) {
	b.t.Helper()
	b.check(txn.Retry(context.Background(), store, txn.Options{}, func(tx *txn.Tx) error {
		b.x.Tx = tx
		f()
		return nil
	}))
}

// sound holds the index against itself.
func (b *bench) sound() {
	b.t.Helper()
	_, err := b.x.Check(context.Background(), func(text string) { b.t.Error(text) })
	b.check(err)
}

func TestFoldingChangesNoAnswers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b, store := newBench(t), mem.New()
		n := &naive{texts: map[int]string{}}
		b.in(store, func() {
			build := b.x.Build(&b.texts)
			for id := range rapid.IntRange(0, 300).Draw(rt, "built") {
				n.put(id, "a b")
				b.check(build.Add(b.a, key.AppendRecordKey(nil, value.Int(int64(id))), []string{"a b"}))
			}
			b.check(build.Finish())
		})
		for range rapid.IntRange(1, 6).Draw(rt, "rounds") {
			b.in(store, func() {
				for range rapid.IntRange(0, 60).Draw(rt, "changes") {
					id := rapid.IntRange(0, 350).Draw(rt, "id")
					if rapid.IntRange(0, 3).Draw(rt, "act") == 0 {
						n.remove(id)
						b.check(b.x.Remove(value.Int(int64(id))))
						continue
					}
					s := text(rt, 4)
					n.put(id, s)
					b.put(id, s)
				}
			})
			if rapid.Bool().Draw(rt, "fold") {
				b.check(b.x.Fold(context.Background(), store))
				b.in(store, func() {
					if l, err := b.x.list("a"); err != nil || len(l.changes) > 0 {
						rt.Fatalf("after a fold: %d changes are left, %v", len(l.changes), err)
					}
				})
			}
			b.in(store, func() {
				b.sound()
				query := text(rt, 3)
				for _, any := range []bool{false, true} {
					want := n.found(query, any)
					if got := b.found(query, any); !slices.Equal(got, want) {
						rt.Fatalf("%q any=%v: got %v, want %v", query, any, got, want)
					}
					best(want)
					if got := b.top(query, any, 5); !slices.Equal(got, want[:min(5, len(want))]) {
						rt.Fatalf("%q any=%v top: got %v, want %v", query, any, got, want[:min(5, len(want))])
					}
				}
			})
		}
	})
}

// TestFoldBesideWriters folds while others write the same documents and terms.
func TestFoldBesideWriters(t *testing.T) {
	first, store := newBench(t), mem.New()
	first.in(store, func() { first.check(first.x.Build(&first.texts).Finish()) })
	library := NewLibrary(store, nil, slog.New(slog.NewTextHandler(io.Discard, nil)))
	defer library.Close()
	var writers, folders sync.WaitGroup
	stop := make(chan struct{})
	for w := range 3 {
		writers.Go(func() {
			b := &bench{t: t, a: first.a}
			for i := range 120 {
				b.check(txn.Retry(context.Background(), store, txn.Options{}, func(tx *txn.Tx) error {
					x := *first.x
					x.Tx, x.buf = tx, nil
					for d := range 3 {
						record := value.Int(int64((7*i + 13*d) % 50))
						if (i+d+w)%5 == 0 {
							if err := x.Remove(record); err != nil {
								return err
							}
							continue
						}
						s := fmt.Sprintf("common word%d word%d", (i+w)%7, d)
						if err := x.Put(&library.Numbers, record,
							NewDocument(&Scratch{}, b.a, []string{s})); err != nil {
							return err
						}
					}
					return nil
				}))
			}
		})
	}
	for range 2 {
		folders.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				x := *first.x
				x.buf = nil
				if err := x.Fold(context.Background(), store); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	writers.Wait()
	close(stop)
	folders.Wait()
	first.in(store, func() { first.sound() })
	first.check(first.x.Fold(context.Background(), store))
	first.in(store, func() { first.sound() })
}

// meddler has somebody write before each commit of a store, but for what that somebody commits.
type meddler struct {
	kv.Store
	write   func()
	refused int // commits that met a conflict
}

func (m *meddler) Commit(ctx context.Context, b *kv.Batch) (kv.Version, error) {
	if write := m.write; write != nil {
		m.write = nil
		write()
		m.write = write
	}
	v, err := m.Store.Commit(ctx, b)
	if errors.Is(err, kv.ErrConflict) {
		m.refused++
	}
	return v, err
}

// TestFoldThatMeetsConflicts changes a document of the first term and of the last before every other commit of a fold
// of many batches: the batches that are refused are folded all the same, and none of what came after is lost.
func TestFoldThatMeetsConflicts(t *testing.T) {
	const terms, docs = 5, foldBatch // a batch and more for each term
	b, store := newBench(t), mem.New()
	n := &naive{texts: map[int]string{}}
	put := func(id int, text string) {
		n.put(id, text)
		b.put(id, text)
	}
	b.in(store, func() { b.check(b.x.Build(&b.texts).Finish()) })
	for from := 0; from < docs; from += docs / 4 {
		b.in(store, func() {
			for i := range docs / 4 {
				put(from+i, fmt.Sprint("a b c d word", (from+i)%3))
			}
		})
	}
	turn := 0
	m := &meddler{Store: store, write: func() {
		if turn++; turn%2 == 0 {
			return
		}
		was := *b.x
		b.in(store, func() {
			put(turn, fmt.Sprint("b word0 word", turn%3))
			n.remove(docs - turn)
			b.check(b.x.Remove(value.Int(int64(docs - turn))))
			put(docs+turn, "a d")
		})
		*b.x = was
	}}
	b.check(b.x.Fold(t.Context(), m))
	if m.refused < terms {
		t.Errorf("%d commits met a conflict of %d batches", m.refused, terms)
	}
	b.in(store, func() {
		b.sound()
		for _, query := range []string{"a", "b", "c d", "word0", "word1 word2", "d word2"} {
			if got, want := b.found(query, true), n.found(query, true); !slices.Equal(got, want) {
				t.Errorf("%q: %d documents, want %d", query, len(got), len(want))
			}
		}
		l, err := b.x.list("c")
		b.check(err)
		if most := m.refused + 1; len(l.changes) > most { // a removal for each time that somebody wrote
			t.Errorf("%d changes of a term are left, want at most %d", len(l.changes), most)
		}
	})
	b.check(b.x.Fold(t.Context(), store))
	b.in(store, func() { b.sound() })
}

func TestFoldOfADroppedIndex(t *testing.T) {
	b, store := newBench(t), mem.New()
	b.in(store, func() {
		b.check(b.x.Build(&b.texts).Finish())
		b.put(1, "a")
	})
	b.in(store, func() {
		for _, part := range []byte{partRecord, partDoc, partChange, partBlock, partStat, partGone} {
			b.check(b.x.Tx.DeleteRange(kv.Prefix(append([]byte(nil), b.x.part(part)...))))
		}
	})
	b.check(b.x.Fold(context.Background(), store))
	if keys := store.Stats().Keys; keys != 0 {
		t.Errorf("%d keys are left", keys)
	}
}

// TestWhatWasNotFoldedBeforeARestartIsFolded: changes of a process before are counted when an index is first used.
func TestWhatWasNotFoldedBeforeARestartIsFolded(t *testing.T) {
	b, store := newBench(t), mem.New()
	b.in(store, func() { b.check(b.x.Build(&b.texts).Finish()) })
	for from := 0; from < foldAfter/4; from += 1000 {
		b.in(store, func() {
			for id := from; id < from+1000; id++ {
				b.put(id, fmt.Sprintf("a b%d c%d d%d", id%7, id%11, id%13))
			}
		})
	}
	unfolded := func() int {
		n, err := b.x.unfolded(context.Background(), store)
		b.check(err)
		return n
	}
	if n := unfolded(); n < foldAfter {
		t.Fatalf("%d changes are there to be folded", n)
	}
	l := NewLibrary(store, nil, slog.New(slog.NewTextHandler(io.Discard, nil)))
	l.Seen(b.x)
	l.Seen(b.x)
	l.folding.Wait()
	if n := unfolded(); n != 0 {
		t.Errorf("%d changes are left", n)
	}
	l.Close()
	b.in(store, b.sound)
}

// TestRemovalsAreFolded: what removals leave to be hidden counts, too, and goes with the numbers of the documents.
func TestRemovalsAreFolded(t *testing.T) {
	const docs = foldAfter / 4 // of four terms each
	b, store := newBench(t), mem.New()
	b.in(store, func() {
		build := b.x.Build(&b.texts)
		for i := range docs {
			b.check(build.Add(b.a, key.AppendRecordKey(nil, value.Int(int64(i))), []string{"a b c d"}))
		}
		b.check(build.Finish())
	})
	l := NewLibrary(store, nil, slog.New(slog.NewTextHandler(io.Discard, nil)))
	defer l.Close()
	l.Seen(b.x)
	l.folding.Wait() // until it knows that there are no changes yet
	for from := 0; from < docs; from += docs / 8 {
		b.in(store, func() {
			for i := range docs / 8 {
				b.check(b.x.Remove(value.Int(int64(from + i))))
				l.Changed(b.x)
			}
		})
	}
	l.folding.Wait()
	b.in(store, func() {
		b.sound()
		for _, part := range []byte{partRecord, partDoc, partChange, partBlock, partGone} {
			cur := b.x.Tx.Scan(kv.Prefix(slices.Clone(b.x.part(part))), txn.ScanOptions{Limit: 1})
			if cur.Next() {
				t.Errorf("part %d is not empty", part)
			}
			b.check(cur.Err())
			cur.Close()
		}
	})
}
