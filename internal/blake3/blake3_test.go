package blake3

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"testing"

	other "lukechampine.com/blake3"
)

// The digests of nothing and of "abc", as published with the paper's test vectors.
func TestPublished(t *testing.T) {
	for text, want := range map[string]string{
		"":    "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262",
		"abc": "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85",
	} {
		if sum := Sum256([]byte(text)); hex.EncodeToString(sum[:]) != want {
			t.Errorf("%q: %x", text, sum)
		}
	}
}

// Every length around the ends of blocks, chunks and subtrees, and random ones, beside another implementation.
func TestBesideAnother(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	data := make([]byte, 300_000)
	for i := range data {
		data[i] = byte(rng.Uint32())
	}
	lengths := []int{}
	for n := range 2*chunkLen + 130 {
		lengths = append(lengths, n)
	}
	for chunks := 3; chunks <= 40; chunks++ {
		lengths = append(lengths, chunks*chunkLen-1, chunks*chunkLen, chunks*chunkLen+1)
	}
	for range 200 {
		lengths = append(lengths, rng.IntN(len(data)))
	}
	for _, n := range lengths {
		if got, want := Sum256(data[:n]), other.Sum256(data[:n]); got != want {
			t.Fatalf("%d bytes: %x, want %x", n, got, want)
		}
	}
}

// Any division into writes gives the same digest, and Sum leaves the state as it is.
func TestWritesInPieces(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	data := bytes.Repeat([]byte("nacre grows in layers. "), 1000)
	for range 100 {
		h := New()
		for rest := data; len(rest) > 0; {
			k := min(len(rest), 1+rng.IntN(3000))
			h.Write(rest[:k])
			rest = rest[k:]
			done := data[:len(data)-len(rest)]
			if want := other.Sum256(done); rng.IntN(4) == 0 && !bytes.Equal(h.Sum(nil), want[:]) {
				t.Fatalf("after %d bytes: another digest", len(done))
			}
		}
		if want := other.Sum256(data); !bytes.Equal(h.Sum(nil), want[:]) {
			t.Fatal("another digest")
		}
	}
}

func BenchmarkSum(b *testing.B) {
	data := make([]byte, 1<<20)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		Sum256(data)
	}
}
