package tikv

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/nacredb/nacre/engine/kv"
)

// TestKeys: keys come back, keep their order, and what is added to a counter lies between its base and the next key.
func TestKeys(t *testing.T) {
	s := newSpace("p")
	bytesOf := rapid.SliceOf(rapid.SampledFrom([]byte{0, 1, 2, 0xfe, 0xff}))
	rapid.Check(t, func(t *rapid.T) {
		a, b := bytesOf.Draw(t, "a"), bytesOf.Draw(t, "b")
		base, delta := s.base(a), s.delta(a, rapid.Uint64().Draw(t, "start"), rapid.Uint16().Draw(t, "number"))
		for i, k := range [][]byte{base, delta} {
			got, isDelta, err := s.decode(k)
			if err != nil || !bytes.Equal(got, a) || isDelta != (i == 1) {
				t.Fatalf("%x: got %x, %v, %v", a, got, isDelta, err)
			}
		}
		other := s.base(b)
		if c := bytes.Compare(a, b); c != 0 && (bytes.Compare(base, other) != c || bytes.Compare(delta, other) != c) {
			t.Fatalf("%x and %x change places", a, b)
		}
		start, end := s.bounds(kv.Range{Start: a})
		if in := bytes.Compare(base, start) >= 0 && bytes.Compare(delta, end) < 0; !in {
			t.Fatalf("%x is outside of its range", a)
		}
	})
}

// TestSeal: a value comes back, and no flipped bit goes unseen.
func TestSeal(t *testing.T) {
	k := []byte("key")
	for _, v := range []string{"", "x", "some value"} {
		stored := seal(k, []byte(v))
		if got, err := unseal(k, stored); err != nil || string(got) != v {
			t.Errorf("%q: %q, %v", v, got, err)
		}
		for i := range len(stored) * 8 {
			bad := bytes.Clone(stored)
			bad[i/8] ^= 1 << (i % 8)
			if _, err := unseal(k, bad); err == nil {
				t.Errorf("%q: bit %d goes unseen", v, i)
			}
		}
		if _, err := unseal([]byte("kez"), stored); err == nil {
			t.Errorf("%q is taken for the value of another key", v)
		}
	}
	if _, err := unseal(k, []byte("abc")); err == nil {
		t.Error("three bytes are a value")
	}
}

// FuzzDecode: no bytes in the cluster make decode fail in another way than by its error.
func FuzzDecode(f *testing.F) {
	s := newSpace("")
	f.Add([]byte(s.base([]byte("a\x00b"))))
	f.Add([]byte(s.delta([]byte("n"), 7, 1)))
	f.Fuzz(func(t *testing.T, k []byte) {
		key, delta, err := s.decode(k)
		if err == nil && !delta && !bytes.Equal(s.base(key), k) {
			t.Errorf("%x is read as %x, which is %x", k, key, s.base(key))
		}
	})
}
