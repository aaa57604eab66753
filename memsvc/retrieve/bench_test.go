package retrieve

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/nacredb/nacre/memsvc/grant"
)

// cpu is the processor time of this thread.
func cpu(b *testing.B) time.Duration {
	var r syscall.Rusage
	const thread = 1 // RUSAGE_THREAD
	if err := syscall.Getrusage(thread, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// BenchmarkSearch reports the processor time of a search over many turns: the median and the 95th of a hundred.
func BenchmarkSearch(b *testing.B) {
	for _, n := range []int{10_000, 200_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			x, questions := NewIndex(), []string{}
			for seed := uint64(0); x.Len() < n; seed++ {
				c := converse(seed)
				for _, t := range c.turns {
					x.Add(Unit{ID: fmt.Sprint(seed, t.id), Kind: KindTurn, Group: fmt.Sprint(seed, t.session),
						Seq: t.seq, Speaker: t.speaker, Text: t.text, At: t.at, Clauses: grant.Clauses{{grant.Root}}})
				}
				for _, q := range c.questions[:min(len(c.questions), 200)] {
					if len(questions) < 2000 {
						questions = append(questions, q.text)
					}
				}
			}
			r := rand.New(rand.NewPCG(1, 1))
			region := grant.Intersect(grant.All())
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			var took []time.Duration
			b.ResetTimer()
			for range b.N {
				began := cpu(b)
				x.Search(Query{Text: questions[r.IntN(len(questions))], Pool: 256, Region: region,
					Now: time.Unix(1.7e9, 0)}, &Default)
				took = append(took, cpu(b)-began)
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms-median")
			b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "ms-p95")
		})
	}
}
