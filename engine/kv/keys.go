package kv

import "encoding/binary"

// SharedPrefix is how many bytes two keys begin with in common.
func SharedPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// Head is the first eight bytes of a key as a number: keys whose heads differ are in the order of their heads. What is
// missing counts as zeros.
func Head(key []byte) uint64 {
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key)
	}
	var b [8]byte
	copy(b[:], key)
	return binary.BigEndian.Uint64(b[:])
}
