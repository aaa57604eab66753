package numbers

import (
	"sync"
	"testing"
)

func TestNumbersAreDistinctAndAscend(t *testing.T) {
	var s Source
	var mu sync.Mutex
	seen := map[uint64]bool{}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			last := uint64(0)
			for range 2000 {
				n := s.Next()
				if n <= last {
					t.Errorf("got %d after %d", n, last)
				}
				last = n
				mu.Lock()
				if seen[n] {
					t.Errorf("got %d twice", n)
				}
				seen[n] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if first := s.Take(100); s.Next() < first+100 {
		t.Error("a taken number was given")
	}
}
