package retrieve

import (
	"fmt"
	"testing"

	"github.com/nacredb/nacre/memsvc/grant"
)

// BenchmarkBuild is the time to put ten thousand turns into an index that holds none.
func BenchmarkBuild(b *testing.B) {
	var turns []Unit
	for seed := uint64(0); len(turns) < 10_000; seed++ {
		for _, t := range converse(seed).turns {
			turns = append(turns, Unit{ID: fmt.Sprint(seed, t.id), Kind: KindTurn, Group: fmt.Sprint(seed, t.session),
				Seq: t.seq, Speaker: t.speaker, Text: t.text, At: t.at, Clauses: grant.Clauses{{grant.Root}}})
		}
	}
	b.ResetTimer()
	for range b.N {
		x := NewIndex()
		for _, u := range turns {
			x.Add(u)
		}
	}
}
