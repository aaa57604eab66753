package value

import "math/bits"

// Add is d + e; false where it is too long.
func (d Duration) Add(e Duration) (Duration, bool) {
	n := d.Nanos + e.Nanos
	var carry uint64
	if n >= nanosPerSecond {
		n, carry = n-nanosPerSecond, 1
	}
	secs, over := bits.Add64(d.Secs, e.Secs, carry)
	return Duration{Secs: secs, Nanos: n}, over == 0
}

// Sub is d - e; false where it is negative.
func (d Duration) Sub(e Duration) (Duration, bool) {
	var borrow uint64
	n := d.Nanos
	if n < e.Nanos {
		n, borrow = n+nanosPerSecond, 1
	}
	secs, under := bits.Sub64(d.Secs, e.Secs, borrow)
	return Duration{Secs: secs, Nanos: n - e.Nanos}, under == 0
}
