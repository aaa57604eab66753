package fulltext

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv/mem"
	"github.com/nacredb/nacre/engine/value"
)

// TestExtend builds an index in parts beside writers: with parts that are written at once or piece by piece, and with
// numbers below those of the parts before.
func TestExtend(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b, store := newBench(t), mem.New()
		b.x.building = true
		n := &naive{texts: map[int]string{}}
		libraries := []*Library{{}, {}}
		libraries[1].Numbers.Take(1 << 40)
		for part := range rapid.IntRange(1, 5).Draw(rt, "parts") {
			b.in(store, func() {
				build := b.x.Extend(rapid.SampledFrom(libraries).Draw(rt, "library"))
				build.most = rapid.SampledFrom([]int{1, 100, buildPostings}).Draw(rt, "most")
				for i := range rapid.IntRange(0, 200).Draw(rt, "documents") {
					record := key.AppendRecordKey(nil, value.Int(int64(1000*part+i)))
					has, err := build.Has(record)
					b.check(err)
					if has {
						continue
					}
					s := text(rt, 5)
					n.put(1000*part+i, s)
					b.check(build.Add(b.a, record, []string{s}))
				}
				b.check(build.FinishPart(false))
			})
			b.in(store, func() {
				for range rapid.IntRange(0, 20).Draw(rt, "changes") {
					id := rapid.IntRange(1000*part-50, 1000*part+1050).Draw(rt, "id")
					if rapid.Bool().Draw(rt, "remove") {
						n.remove(id)
						b.check(b.x.Remove(value.Int(int64(id))))
						continue
					}
					s := text(rt, 5)
					n.put(id, s)
					b.put(id, s)
				}
			})
		}
		b.in(store, func() { b.check(b.x.Extend(libraries[0]).FinishPart(true)) })
		b.in(store, func() {
			b.sound()
			for _, query := range []string{"a", "b c", "f"} {
				byID := func(a, b naiveHit) int { return cmp.Compare(a.id, b.id) }
				got, want := b.found(query, false), n.found(query, false)
				slices.SortFunc(got, byID)
				slices.SortFunc(want, byID)
				if !slices.Equal(got, want) {
					rt.Fatalf("%q: got %v, want %v", query, got, want)
				}
			}
		})
	})
}

// TestExtendFillsBlocks: parts go on with the blocks of the parts before.
func TestExtendFillsBlocks(t *testing.T) {
	b, store := newBench(t), mem.New()
	for part := range 5 {
		b.in(store, func() {
			build := b.x.Extend(&b.texts)
			for i := range 100 {
				b.check(build.Add(b.a, key.AppendRecordKey(nil, value.Int(int64(100*part+i))), []string{"a"}))
			}
			b.check(build.FinishPart(part == 4))
		})
	}
	b.in(store, func() {
		b.sound()
		l, err := b.x.list("a")
		b.check(err)
		var got []int
		for _, block := range l.blocks {
			got = append(got, block.count)
		}
		if want := []int{blockSize, blockSize, blockSize, 500 - 3*blockSize}; !slices.Equal(got, want) {
			t.Errorf("got blocks of %v, want %v", got, want)
		}
	})
}

// TestManyWords builds an index of more words than are remembered: some are met again when they are forgotten.
func TestManyWords(t *testing.T) {
	b, store := newBench(t), mem.New()
	const each = 500
	for part := range 2 { // parts know the words of those before
		b.in(store, func() {
			build := b.x.Extend(&b.texts)
			for i := range maxWords/each + 20 {
				words := fmt.Sprintf("all few%d", i%7)
				for j := range each {
					words += fmt.Sprintf(" %d", i*each+j)
				}
				record := key.AppendRecordKey(nil, value.Int(int64(part*10000+i)))
				b.check(build.Add(b.a, record, []string{words}))
			}
			b.check(build.FinishPart(false))
		})
	}
	b.in(store, func() {
		b.sound()
		s, err := b.x.Search(NewQuery(b.a, "all", false))
		b.check(err)
		if n, err := s.Count(context.Background()); err != nil || n != 2*(maxWords/each+20) {
			t.Errorf("got %d documents, %v", n, err)
		}
	})
}
