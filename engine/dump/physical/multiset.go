package physical

import "hash/maphash"

// multiset is a fingerprint of a collection in any order: two of the same seed are equal when
// they were given the same things, and, but for a chance of 2^-64, only then.
type multiset struct {
	n   uint64
	sum uint64
}

// hasher gives fingerprints that belong together.
type hasher struct{ seed maphash.Seed }

func (h hasher) add(m *multiset, parts ...[]byte) {
	var mh maphash.Hash
	mh.SetSeed(h.seed)
	for _, p := range parts {
		var n [8]byte
		for i := range n {
			n[i] = byte(len(p) >> (8 * i))
		}
		mh.Write(n[:])
		mh.Write(p)
	}
	m.n++
	m.sum += mh.Sum64()
}
