package catalog

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
)

// TestSweep: a clean job removes all of what it is about, in batches of any size, also what is written behind the place
// that it has reached, and ends only then. What is beside it stays.
func TestSweep(t *testing.T) {
	for _, n := range []int{1, 2, 7, 30, 1000} {
		s := newStore(t)
		job := &Job{Scope: Scope{NS: 1, DB: 1, TB: 7}, Index: 3, NS: "n", DB: "d", Table: "t", Named: "i", Clean: true}
		prefixes := job.Prefixes()
		beside := (&Job{Scope: job.Scope, Index: 4}).Prefixes()
		rnd := rand.New(rand.NewPCG(uint64(n), 1))
		set := func(v *View, prefixes [][]byte) {
			k := fmt.Appendf(append([]byte(nil), prefixes[rnd.IntN(len(prefixes))]...), "%06d", rnd.IntN(1_000_000))
			check(t, v.tx.Set(k, []byte("x")))
		}
		s.write(func(v *View) {
			check(t, v.PutJob(job))
			for range 100 {
				set(v, prefixes)
				set(v, beside)
			}
		})
		kept := s.count(beside)
		var at Swept
		for turn, more := 0, true; more; turn++ {
			if turn > 1000 {
				t.Fatalf("batches of %d: the job does not end", n)
			}
			s.write(func(v *View) {
				var err error
				at, more, err = v.Sweep(job, at, n, nil)
				check(t, err)
			})
			if turn%3 == 0 && turn < 20 && more {
				s.write(func(v *View) { set(v, prefixes) })
			}
		}
		if left := s.count(prefixes); left != 0 {
			t.Errorf("batches of %d: %d keys are left", n, left)
		}
		if got := s.count(beside); got != kept {
			t.Errorf("batches of %d: of %d keys beside %d are left", n, kept, got)
		}
		s.read(func(v *View) {
			if j, err := v.Job(job); j != nil || err != nil {
				t.Errorf("batches of %d: the job is still there: %v, %v", n, j, err)
			}
		})
	}
}

// count counts the keys under prefixes.
func (s *store) count(prefixes [][]byte) (n int) {
	s.read(func(v *View) {
		for _, p := range prefixes {
			cur := v.tx.Scan(kv.Prefix(p), txn.ScanOptions{})
			for cur.Next() {
				n++
			}
			cur.Close()
			check(s.t, cur.Err())
		}
	})
	return n
}
