package fulltext

import (
	"context"
	"fmt"
	"testing"

	"github.com/nacredb/nacre/engine/index/numbers"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/mem"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// TestNumbersOfRemovedDocuments: a process whose clock is behind is not given the number of a document that was
// removed, as long as a block has its postings: neither a writer nor a builder.
func TestNumbersOfRemovedDocuments(t *testing.T) {
	for _, builder := range []bool{false, true} {
		t.Run(fmt.Sprint("builder ", builder), func(t *testing.T) {
			b, store := newBench(t), mem.New()
			b.texts.Numbers.Take(1 << 40) // numbers that no clock comes to meanwhile
			b.in(store, func() {
				build := b.x.Extend(&b.texts)
				first := 0
				if builder { // it takes many numbers at once, so others would keep it off
					first = 7
				}
				for i := first; i < 8; i++ {
					b.check(build.Add(b.a, key.AppendRecordKey(nil, value.Int(int64(i))), []string{"a b"}))
				}
				b.check(build.FinishPart(!builder))
			})
			var doc uint64
			b.in(store, func() {
				old, err := b.x.load(value.Int(7))
				b.check(err)
				doc = old.doc
				b.check(b.x.Remove(value.Int(7)))
			})
			again := func(record int) (got uint64) { // by a process that comes to the number now
				other := &Library{}
				b.in(store, func() {
					upTo(&other.Numbers, doc)
					k := value.Int(int64(record))
					if builder {
						build := b.x.Extend(other)
						b.check(build.Add(b.a, key.AppendRecordKey(nil, k), []string{"a c"}))
						b.check(build.FinishPart(true))
					} else {
						b.check(b.x.Put(&other.Numbers, k, NewDocument(&b.s, b.a, []string{"a c"})))
					}
				})
				b.in(store, func() {
					b.sound()
					new, err := b.x.load(value.Int(int64(record)))
					b.check(err)
					got = new.doc
				})
				return got
			}
			if got := again(20); got == doc {
				t.Error("the number is given to another document")
			}
			b.in(store, func() {
				if got := b.found("a c", false); len(got) != 1 || got[0].id != 20 {
					t.Errorf("found %v", got)
				}
			})
			b.check(b.x.Fold(context.Background(), store))
			b.in(store, func() {
				b.sound()
				cur := b.x.Tx.Scan(kv.Prefix(b.x.part(partGone)), txn.ScanOptions{})
				defer cur.Close()
				if cur.Next() {
					t.Error("a number is not free after a fold")
				}
			})
			if got := again(21); !builder && got != doc {
				t.Errorf("after a fold the number %d is given, want %d", got, doc)
			}
		})
	}
}

// upTo has a source give doc next.
func upTo(s *numbers.Source, doc uint64) { s.Take(doc - s.Take(1) - 1) }
