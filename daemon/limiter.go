package daemon

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// limiter bounds how often clients may guess at passwords. It counts by address and user together, so that the failures
// of one neither lock out the others of an address nor the user at another address. Tokens are taken when an attempt
// begins, and given back when it succeeds: attempts at the same time count.
//
// There are three kinds of buckets. burst and every are those of checks of a password against its hash, for one user at
// one address. An address has wide times as many for all its users. And a user at an address has wide times as many for
// the look whether the password was right not long ago: such a password passes where the others are used up. That look
// must have a bound too: it tells a right guess from a wrong one, and costs nothing.
//
// At most maxBuckets are kept. Where there are more, those go first that are full again, then the fullest: what a
// client has used up is forgotten last.
type limiter struct {
	every time.Duration // between two refills of one
	burst float64
	now   func() time.Time

	mu      sync.Mutex // guards buckets; a leaf lock
	buckets map[bucketID]bucket
}

// bucketID is a hash of an address and a name: names are as long as clients like.
type bucketID [16]byte

// bucket holds the tokens left at a time, by kind.
type bucket struct {
	left [kinds]float64
	at   time.Time
}

// kind is the purpose of a token.
type kind int

const (
	check kind = iota // of a password against its hash
	look              // whether a password was right not long ago; for all of an address: checks
	kinds
)

// draw is a token that an attempt needs.
type draw struct {
	from bucketID
	kind kind
}

const (
	maxBuckets = 100_000
	wide       = 10
)

func newLimiter(perMinute, burst int) *limiter {
	return &limiter{every: time.Minute / time.Duration(perMinute), burst: float64(max(burst, 1)), now: time.Now,
		buckets: map[bucketID]bucket{}}
}

// Try implements rpc.Limiter.
func (l *limiter) Try(client string, names []string, known func() bool) (done func(ok bool), wait time.Duration) {
	client = network(client)
	looks, checks := make([]draw, len(names)), make([]draw, len(names)+1)
	for i, n := range names {
		id := idOf(client, n)
		looks[i], checks[i] = draw{id, look}, draw{id, check}
	}
	checks[len(names)] = draw{idOf(client, ""), look}
	if wait := l.take(looks); wait > 0 {
		return nil, wait
	}
	if known() {
		return func(ok bool) {
			if ok {
				l.giveBack(looks)
			}
		}, 0
	}
	if wait := l.take(checks); wait > 0 {
		return nil, wait
	}
	return func(ok bool) {
		if ok {
			l.giveBack(looks)
			l.giveBack(checks)
		}
	}, 0
}

// network returns the network to which an address is counted: an IPv6 client has a block of 64 bits to itself.
func network(client string) string {
	a, err := netip.ParseAddr(client)
	if err != nil {
		return client
	}
	a = a.Unmap().WithZone("")
	if a.Is4() {
		return a.String()
	}
	return netip.PrefixFrom(a, 64).Masked().String()
}

// idOf is the bucket of a name at an address; name "" is all of the address.
func idOf(client, name string) (id bucketID) {
	b := binary.AppendUvarint(nil, uint64(len(client)))
	sum := sha256.Sum256(append(append(b, client...), name...))
	copy(id[:], sum[:])
	return id
}

// factor is how many times the limits of one user a kind has.
func (k kind) factor() float64 {
	if k == look {
		return wide
	}
	return 1
}

// refilled is b as it is now; full reports whether it says nothing.
func (l *limiter) refilled(b bucket, now time.Time) (_ bucket, full bool) {
	full = true
	for k := range kinds {
		most := l.burst * k.factor()
		b.left[k] = min(most, b.left[k]+k.factor()*float64(now.Sub(b.at))/float64(l.every))
		full = full && b.left[k] >= most
	}
	b.at = now
	return b, full
}

// at is the bucket of an id now; l.mu is held.
func (l *limiter) at(id bucketID, now time.Time) bucket {
	if b, ok := l.buckets[id]; ok {
		b, _ = l.refilled(b, now)
		return b
	}
	return bucket{left: [kinds]float64{l.burst, l.burst * wide}, at: now}
}

// take takes the tokens of all draws, or none and says how long to wait.
func (l *limiter) take(draws []draw) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	for _, d := range draws {
		if left := l.at(d.from, now).left[d.kind]; left < 1 {
			wait = max(wait, time.Duration((1-left)*float64(l.every)/d.kind.factor()), 1)
		}
	}
	if wait > 0 {
		return wait
	}
	for _, d := range draws {
		b := l.at(d.from, now)
		b.left[d.kind]--
		l.buckets[d.from] = b
	}
	if len(l.buckets) > maxBuckets {
		l.forget(now)
	}
	return 0
}

// giveBack undoes take.
func (l *limiter) giveBack(draws []draw) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	for _, d := range draws {
		b := l.at(d.from, now)
		b.left[d.kind]++
		b, full := l.refilled(b, now)
		if full {
			delete(l.buckets, d.from)
		} else {
			l.buckets[d.from] = b
		}
	}
}

// forget drops the buckets that are full again and, where more than half are left, the fullest of those; l.mu is held.
func (l *limiter) forget(now time.Time) {
	ids := make([]bucketID, 0, len(l.buckets))
	for id, b := range l.buckets {
		b, full := l.refilled(b, now)
		if full {
			delete(l.buckets, id)
			continue
		}
		l.buckets[id] = b
		ids = append(ids, id)
	}
	if len(ids) <= maxBuckets/2 {
		return
	}
	slices.SortFunc(ids, func(a, b bucketID) int { return cmp.Compare(l.buckets[a].used(l), l.buckets[b].used(l)) })
	for _, id := range ids[:len(ids)-maxBuckets/2] {
		delete(l.buckets, id)
	}
}

// used is how much of b is used up: the larger part of any kind.
func (b bucket) used(l *limiter) (most float64) {
	for k := range kinds {
		most = max(most, 1-b.left[k]/(l.burst*k.factor()))
	}
	return most
}
