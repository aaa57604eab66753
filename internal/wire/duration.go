package wire

import (
	"strconv"
	"time"
)

// AppendDuration writes d as clients of this protocol know it: one unit and up to nine decimals
// without trailing zeros ("1.5ms", "243.75µs", "0ns"). A negative d is written as 0ns.
func AppendDuration(dst []byte, d time.Duration) []byte {
	n := uint64(max(d, 0))
	switch {
	case n >= uint64(time.Second):
		return append(appendFraction(dst, n, uint64(time.Second)), 's')
	case n >= uint64(time.Millisecond):
		return append(appendFraction(dst, n, uint64(time.Millisecond)), "ms"...)
	case n >= uint64(time.Microsecond):
		return append(appendFraction(dst, n, uint64(time.Microsecond)), "µs"...)
	}
	return append(strconv.AppendUint(dst, n, 10), "ns"...)
}

// appendFraction writes n/unit exactly; unit is a power of ten.
func appendFraction(dst []byte, n, unit uint64) []byte {
	dst = strconv.AppendUint(dst, n/unit, 10)
	rest := n % unit
	if rest == 0 {
		return dst
	}
	dst = append(dst, '.')
	for rest > 0 {
		unit /= 10
		dst = append(dst, '0'+byte(rest/unit))
		rest %= unit
	}
	return dst
}
