package store

import (
	"sync"
	"sync/atomic"
	"testing"
)

// TestNewIDAscends holds that the keys of one process sort as they were made, also within a millisecond and when the
// clock goes back, and that all are different when many goroutines make them.
func TestNewIDAscends(t *testing.T) {
	var wg sync.WaitGroup
	made := make([][]string, 4)
	for g := range made {
		wg.Go(func() {
			for range 5000 {
				made[g] = append(made[g], NewID())
			}
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	for _, ids := range made {
		for i, id := range ids {
			if len(id) != 20 || seen[id] {
				t.Fatalf("%q: %d letters, made before: %v", id, len(id), seen[id])
			}
			seen[id] = true
			if i > 0 && ids[i-1] >= id {
				t.Fatalf("%q came before %q", ids[i-1], id)
			}
		}
	}
	var last atomic.Uint64
	for _, step := range []struct{ now, want uint64 }{{100, 100}, {100, 101}, {90, 102}, {103, 103}, {200, 200}} {
		if got := nextOf(&last, step.now); got != step.want {
			t.Errorf("at %d: %d, want %d", step.now, got, step.want)
		}
	}
}
