package bolt

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/fault"
)

// slowSync is how long a sync takes on the disk of slowDisk.
const slowSync = 5 * time.Millisecond

// slowDisk opens a store on a disk whose syncs take slowSync, in the bubble of a test: the clock stands still while
// anything computes, so that the times of the test are exact.
func slowDisk(t *testing.T) *Store {
	t.Helper()
	d := fault.NewDisk()
	st, err := Open(Options{Path: filepath.Join(t.TempDir(), "x.db"), FS: d})
	if err != nil {
		t.Fatal(err)
	}
	d.SetPlan(func(op fault.Op, _ int64) (out fault.Outcome) {
		if op == fault.Sync {
			time.Sleep(slowSync)
		}
		return out
	})
	return st
}

// closed closes a store before the bubble of its test ends.
func closed(t *testing.T, st *Store) {
	t.Helper()
	if err := st.Close(); err != nil {
		t.Error(err)
	}
}

// writers commits n times in each of many goroutines; pause gives the time between two commits of one.
func writers(t *testing.T, st *Store, many, n int, pause func(w int) time.Duration) {
	t.Helper()
	var all sync.WaitGroup
	for w := range many {
		all.Go(func() {
			for i := range n {
				if err := put(st, fmt.Sprint("w", w, "k", i)); err != nil {
					t.Error(err)
				}
				time.Sleep(pause(w))
			}
		})
	}
	all.Wait()
}

// TestCohortSharesSyncs: writers that are soon back after an answer are all in one group, once that was tried.
func TestCohortSharesSyncs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := slowDisk(t)
		defer closed(t, st)
		const many, n = 16, 1000
		before := st.Stats().Syncs
		writers(t, st, many, n, func(w int) time.Duration { return time.Duration(100+20*w) * time.Microsecond })
		if syncs := st.Stats().Syncs - before; syncs > n+n/3 {
			t.Errorf("%d commits of %d writers took %d syncs", many*n, many, syncs)
		}
		if !st.commits.cohort.choice.usual {
			t.Error("groups do not wait in the end")
		}
	})
}

// TestLoneWriterHasNoCohort: one that commits alone waits for its syncs only.
func TestLoneWriterHasNoCohort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := slowDisk(t)
		defer closed(t, st)
		const n = 200
		began, before := time.Now(), st.Stats().Syncs
		writers(t, st, 1, n, func(int) time.Duration { return 0 })
		syncs := st.Stats().Syncs - before
		if took := time.Since(began); syncs != n || took != n*slowSync {
			t.Errorf("%d commits took %v and %d syncs of %v", n, took, syncs, slowSync)
		}
	})
}

// TestCohortDoesNotWaitForTheSlow: a quick writer is hardly held up by those that commit now and then.
func TestCohortDoesNotWaitForTheSlow(t *testing.T) {
	for _, tc := range []struct {
		slow time.Duration
		most float64 // times as long as alone: it may just miss a sync for another one, as the scheduler wills
	}{{2 * slowSync, 1.3}, {7 * slowSync, 1.15}, {40 * slowSync, 1.05}} {
		synctest.Test(t, func(t *testing.T) {
			st := slowDisk(t)
			defer closed(t, st)
			const n = 8000
			quick, others := make(chan time.Duration), 3
			var all sync.WaitGroup
			all.Go(func() {
				began := time.Now()
				writers(t, st, 1, n, func(int) time.Duration { return 0 })
				quick <- time.Since(began)
			})
			done := make(chan struct{})
			for w := range others {
				all.Go(func() {
					rnd := rand.New(rand.NewPCG(uint64(w), 1))
					for i := 0; ; i++ {
						select {
						case <-done:
							return
						case <-time.After(time.Duration(rnd.Int64N(int64(2 * tc.slow)))):
						}
						if err := put(st, fmt.Sprint("slow", w, "k", i)); err != nil {
							t.Error(err)
						}
					}
				})
			}
			took := <-quick
			close(done)
			all.Wait()
			if took.Seconds() > tc.most*(n*slowSync).Seconds() {
				t.Errorf("beside writers that pause for %v on average, %d commits took %v", tc.slow, n, took)
			}
		})
	}
}

// TestCohortThatWentAway: a writer that commits after many waits for them for a limited time, once.
func TestCohortThatWentAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := slowDisk(t)
		defer closed(t, st)
		st.commits.cohort.choice.usual = true
		st.commits.cohort.told(10, 6, slowSync)
		for i, want := range []time.Duration{(1 + firstWait) * slowSync, slowSync, slowSync} {
			began := time.Now()
			if err := put(st, fmt.Sprint("last", i)); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took != want {
				t.Errorf("commit %d alone took %v, want %v", i, took, want)
			}
		}
	})
}

// TestCloseHurriesACohort: the end of the store does not wait for those that may come.
func TestCloseHurriesACohort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := slowDisk(t)
		st.commits.cohort.choice.usual = true
		st.commits.cohort.told(10, 6, slowSync)
		began := time.Now()
		var all sync.WaitGroup
		all.Go(func() {
			if err := put(st, "k"); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took != slowSync {
				t.Errorf("the commit took %v", took)
			}
		})
		synctest.Wait() // for the commit to wait
		closed(t, st)
		all.Wait()
	})
}

// TestCohortHasALimit: those who come late do not make others wait for as long as they took themselves.
func TestCohortHasALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cohort{late: func() {}}
		c.choice.usual = true
		c.told(2, 2, slowSync)
		time.Sleep(10 * slowSync)
		began := time.Now()
		c.holds(1)
		time.Sleep(slowSync)
		if c.holds(2); c.due.Sub(began) != longWait*slowSync {
			t.Errorf("waits for %v", c.due.Sub(began))
		}
	})
}

// TestCohortIsNotMissedEarly: the timer of a wait that was made longer does not end it.
func TestCohortIsNotMissedEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := 0
		c := cohort{late: func() { late++ }}
		c.choice.usual = true
		c.told(2, 2, slowSync)
		time.Sleep(slowSync)
		if !c.holds(1) || !c.holds(2) || !c.holds(3) {
			t.Error("does not wait")
		}
		time.Sleep(slowSync)
		if c.missed() || !c.waits() {
			t.Error("ends before its time")
		}
		time.Sleep(time.Until(c.due))
		synctest.Wait()
		if late != 1 {
			t.Errorf("the timer came %d times", late)
		}
		if !c.missed() || c.waits() || c.holds(3) {
			t.Error("still waits")
		}
	})
}

// TestCohortsEnd: commits, turns and the end of the store may come at any time, and every commit comes to its end.
func TestCohortsEnd(t *testing.T) {
	for seed := range uint64(100) {
		synctest.Test(t, func(t *testing.T) {
			st := slowDisk(t)
			st.commits.cohort.choice.usual = true
			rnd := rand.New(rand.NewPCG(seed, 2))
			longest, n := 1+rnd.Int64N(int64(8*slowSync)), 1+rnd.IntN(8) // most groups are the last ones of some
			var all sync.WaitGroup
			for w := range 1 + rnd.IntN(20) {
				rnd := rand.New(rand.NewPCG(seed, uint64(w)))
				all.Go(func() {
					for i := range n {
						time.Sleep(time.Duration(rnd.Int64N(longest)))
						b := &kv.Batch{Writes: []kv.Write{{Key: fmt.Append(nil, "w", w, "k", i), Value: []byte("v")}}}
						var err error
						if seed%3 == 0 && rnd.IntN(10) == 0 {
							b.Turn, err = st.Exclusive(context.Background())
						}
						if err == nil {
							_, err = st.Commit(context.Background(), b)
						}
						if b.Turn != nil {
							b.Turn.Release()
						}
						if errors.Is(err, kv.ErrClosed) {
							return
						}
						if err != nil {
							t.Error(err)
						}
					}
				})
			}
			if seed%2 == 0 {
				all.Wait()
			} else {
				time.Sleep(time.Duration(rnd.Int64N(int64(20 * slowSync))))
			}
			closed(t, st)
			all.Wait()
		})
	}
}
