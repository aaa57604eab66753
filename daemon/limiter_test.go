package daemon

import (
	"fmt"
	"testing"
	"time"
)

func TestLimiter(t *testing.T) {
	now := time.Unix(0, 0)
	l := newLimiter(6, 2) // one more every ten seconds
	l.now = func() time.Time { return now }
	allow := func(client string, want bool, wait time.Duration) {
		t.Helper()
		got, ok := l.Allow(client)
		if ok != want || got != wait {
			t.Errorf("at %v: %v %v, want %v %v", now.Unix(), ok, got, want, wait)
		}
	}
	allow("a", true, 0)
	l.Failed("a")
	allow("a", true, 0)
	l.Failed("a")
	allow("a", false, 10*time.Second)
	allow("b", true, 0)
	now = now.Add(4 * time.Second)
	allow("a", false, 6*time.Second)
	now = now.Add(6 * time.Second)
	allow("a", true, 0)
	l.Failed("a")
	allow("a", false, 10*time.Second)
	now = now.Add(time.Hour)
	l.Failed("a")
	allow("a", true, 0) // full again, and not more than full
	l.Failed("a")
	allow("a", false, 10*time.Second)
}

func TestLimiterForgets(t *testing.T) {
	l := newLimiter(10, 5)
	for i := range maxClients + 10 {
		l.Failed(fmt.Sprint(i))
	}
	if n := len(l.buckets); n > maxClients {
		t.Errorf("%d addresses are remembered", n)
	}
}
