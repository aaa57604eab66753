package value

import "strconv"

// Nanoseconds in the units below a second and in it.
const (
	nanosPerMicro  = 1_000
	nanosPerMilli  = 1_000_000
	nanosPerSecond = 1_000_000_000
)

// String is d in the language's form, largest unit first: 1h30m, 1y2w, 0ns.
func (d Duration) String() string { return string(d.append(nil)) }

func (d Duration) append(dst []byte) []byte {
	if d.Secs == 0 && d.Nanos == 0 {
		return append(dst, "0ns"...)
	}
	s := d.Secs
	for _, u := range [...]struct {
		secs uint64
		name string
	}{{31_536_000, "y"}, {604_800, "w"}, {secondsPerDay, "d"}, {3600, "h"}, {60, "m"}, {1, "s"}} {
		if n := s / u.secs; n > 0 {
			dst = append(strconv.AppendUint(dst, n, 10), u.name...)
			s %= u.secs
		}
	}
	n := uint64(d.Nanos)
	for _, u := range [...]struct {
		nanos uint64
		name  string
	}{{nanosPerMilli, "ms"}, {nanosPerMicro, "µs"}, {1, "ns"}} {
		if k := n / u.nanos; k > 0 {
			dst = append(strconv.AppendUint(dst, k, 10), u.name...)
			n %= u.nanos
		}
	}
	return dst
}

// String is d in RFC 3339 form, UTC, with 0, 3, 6 or 9 digits of fraction: 2024-01-01T00:00:00.100Z.
// Years beyond 9999 have a plus sign.
func (d Datetime) String() string { return string(d.append(nil)) }

func (d Datetime) append(dst []byte) []byte {
	c := d.Civil()
	switch {
	case c.Year < 0:
		dst = appendPadded(append(dst, '-'), uint64(-c.Year), 4)
	case c.Year > 9999:
		dst = strconv.AppendInt(append(dst, '+'), int64(c.Year), 10)
	default:
		dst = appendPadded(dst, uint64(c.Year), 4)
	}
	dst = appendPadded(append(dst, '-'), uint64(c.Month), 2)
	dst = appendPadded(append(dst, '-'), uint64(c.Day), 2)
	dst = appendPadded(append(dst, 'T'), uint64(c.Hour), 2)
	dst = appendPadded(append(dst, ':'), uint64(c.Minute), 2)
	dst = appendPadded(append(dst, ':'), uint64(c.Second), 2)
	switch n := uint64(c.Nanos); {
	case n == 0:
	case n%nanosPerMilli == 0:
		dst = appendPadded(append(dst, '.'), n/nanosPerMilli, 3)
	case n%nanosPerMicro == 0:
		dst = appendPadded(append(dst, '.'), n/nanosPerMicro, 6)
	default:
		dst = appendPadded(append(dst, '.'), n, 9)
	}
	return append(dst, 'Z')
}

func appendPadded(dst []byte, n uint64, width int) []byte {
	for w := uint64(10); width > 1; width-- {
		if n < w {
			dst = append(dst, '0')
		}
		w *= 10
	}
	return strconv.AppendUint(dst, n, 10)
}
