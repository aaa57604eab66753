package value

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// decodedFloats is storedFloats by values.
func decodedFloats(b []byte) ([]float64, bool) {
	d := decoder{b: b, depth: 4}
	v, err := d.value()
	if err != nil {
		return nil, false
	}
	return Floats(nil, v)
}

// TestStoredFloatsAsDecoded: arrays of numbers of every size are read as decoding reads them, whole or cut off.
func TestStoredFloatsAsDecoded(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	edges := []int64{0, 1, 23, 24, 255, 256, 65535, 65536, math.MaxUint32, math.MaxUint32 + 1, 1 << 53, math.MaxInt64}
	others := []Value{Null, Str("x"), Bool(true), Array(Int(1)), DurationOf(Duration{Secs: 5})}
	element := func(odd bool) Value {
		switch n := r.IntN(8); {
		case odd && n == 0:
			return others[r.IntN(len(others))]
		case n < 3:
			floats := []float64{r.NormFloat64(), float64(r.IntN(9)), 0, math.Copysign(0, -1), math.Inf(-1)}
			return Float(floats[r.IntN(len(floats))])
		}
		i := edges[r.IntN(len(edges))]
		if r.IntN(2) == 0 {
			i = int64(r.Uint64() >> (1 + r.IntN(63)))
		}
		if r.IntN(2) == 0 {
			i = ^i
		}
		return Int(i)
	}
	bits := func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }
	same := func(b []byte) {
		t.Helper()
		want, wantOK := decodedFloats(b)
		got, ok := storedFloats(nil, b)
		if ok != wantOK || ok && !slices.EqualFunc(got, want, bits) {
			t.Fatalf("% x: got %v %t, want %v %t", b, got, ok, want, wantOK)
		}
	}
	read := 0
	for turn := range 3000 {
		elems := make([]Value, r.IntN(30))
		for i := range elems {
			elems[i] = element(turn%5 == 0)
		}
		b, err := AppendCBOR(nil, ArrayOf(elems))
		if err != nil {
			t.Fatal(err)
		}
		same(b)
		if _, ok := storedFloats(nil, b); ok {
			read++
		}
		same(b[:r.IntN(len(b))])
		b[r.IntN(len(b))] ^= byte(1 << r.IntN(8)) // also what no encoder writes
		if b[0]&0xe0 == majorArray && b[0]&0x1f < 31 {
			same(b)
		}
	}
	if read < 2000 {
		t.Errorf("%d arrays were read", read)
	}
	cut := []string{"", "\x80", "\x81", "\x81\x18", "\x81\x19\x01", "\x81\x38", "\x81\x39\x01"}
	for _, b := range append(cut, "\x81\x18\x05", "\x81\x39\x00\x05") { // and longer than need be
		same([]byte(b))
	}
}

func BenchmarkStoredFloats(b *testing.B) {
	for _, by := range []struct {
		name string
		one  func(i int) Value
	}{
		{"floats", func(i int) Value { return Float(float64(i) + 0.5) }},
		{"mixed", func(i int) Value {
			if i%4 == 0 {
				return Int(int64(100 - i))
			}
			return Float(float64(i) / 256)
		}},
		{"ints", func(i int) Value { return Int(int64(i*i - 500)) }},
	} {
		elems := make([]Value, 128)
		for i := range elems {
			elems[i] = by.one(i)
		}
		stored, err := AppendCBOR(nil, ArrayOf(elems))
		if err != nil {
			b.Fatal(err)
		}
		room := make([]float64, 0, len(elems))
		b.Run(by.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := storedFloats(room, stored); !ok {
					b.Fatal("not read")
				}
			}
		})
	}
}
