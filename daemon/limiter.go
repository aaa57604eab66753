package daemon

import (
	"sync"
	"time"
)

// limiter counts failed sign-ins by client address: a bucket of burst failures that refills by rate a minute.
// At most maxClients addresses are remembered; beyond that the fullest buckets are forgotten.
type limiter struct {
	every time.Duration // between two refills of one
	burst float64
	now   func() time.Time

	mu      sync.Mutex // guards buckets; a leaf lock
	buckets map[string]bucket
}

// bucket is what a client has left, as of a time.
type bucket struct {
	left float64
	at   time.Time
}

const maxClients = 100_000

func newLimiter(perMinute, burst int) *limiter {
	return &limiter{every: time.Minute / time.Duration(perMinute), burst: float64(max(burst, 1)), now: time.Now, buckets: map[string]bucket{}}
}

// level is what client has left now.
func (l *limiter) level(client string) float64 {
	b, ok := l.buckets[client]
	if !ok {
		return l.burst
	}
	return min(l.burst, b.left+float64(l.now().Sub(b.at))/float64(l.every))
}

// Allow implements rpc.Limiter.
func (l *limiter) Allow(client string) (time.Duration, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	left := l.level(client)
	if left >= 1 {
		return 0, true
	}
	return time.Duration((1 - left) * float64(l.every)), false
}

// Failed implements rpc.Limiter.
func (l *limiter) Failed(client string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.buckets) >= maxClients {
		l.forget()
	}
	l.buckets[client] = bucket{left: max(l.level(client)-1, 0), at: l.now()}
}

// forget drops the buckets that are full again and, if that is not enough, any half of them.
func (l *limiter) forget() {
	for client := range l.buckets {
		if l.level(client) >= l.burst {
			delete(l.buckets, client)
		}
	}
	for client := range l.buckets {
		if len(l.buckets) < maxClients/2 {
			return
		}
		delete(l.buckets, client)
	}
}
