package processors

import (
	"runtime"
	"testing"
)

func TestSpare(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, tc := range []struct {
		environ             string
		has, threads, count int
	}{{"", 1, 2, 1}, {"", 2, 3, 2}, {"", 8, 9, 8}, {"1", 1, 1, 1}, {"2", 2, 2, 2}} {
		t.Setenv("GOMAXPROCS", tc.environ)
		runtime.GOMAXPROCS(tc.has)
		restore := Spare()
		if n := runtime.GOMAXPROCS(0); n != tc.threads {
			t.Errorf("GOMAXPROCS=%q, %d processors: %d threads, want %d", tc.environ, tc.has, n, tc.threads)
		}
		if n := Count(); n != tc.count {
			t.Errorf("GOMAXPROCS=%q, %d processors: %d count, want %d", tc.environ, tc.has, n, tc.count)
		}
		restore()
		if n, all := Count(), runtime.GOMAXPROCS(0); n != all {
			t.Errorf("GOMAXPROCS=%q, %d processors: afterwards %d of %d count", tc.environ, tc.has, n, all)
		}
	}
}
