package ml

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine/ml/onnx"
)

// seedFiles adds all model files to the corpus.
func seedFiles(f *testing.F) {
	for _, dir := range []string{"svml", "bad"} {
		files, err := filepath.Glob(filepath.Join(dataDir, dir, "*.svml"))
		if err != nil || len(files) == 0 {
			f.Fatal(files, err)
		}
		for _, name := range files {
			b, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
		}
	}
}

var fuzzLimits = Limits{Tensors: 1 << 20, Turns: 100, Fold: 1 << 16}

// FuzzFile reads files of any bytes: what is taken is written as it is read.
func FuzzFile(f *testing.F) {
	seedFiles(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		h, _, err := Split(b)
		if err != nil || h.Check() != nil {
			return
		}
		again, err := ParseHeader([]byte(h.String()))
		if err != nil {
			t.Fatalf("%q is written as %q: %v", b, h, err)
		}
		if again.String() != h.String() {
			t.Fatalf("%q is written as %q, then as %q", b, h, again)
		}
	})
}

// FuzzModel loads and runs graphs of any bytes: a call ends with numbers or an error, in its time and its memory.
func FuzzModel(f *testing.F) {
	for _, tc := range opCases(f) {
		f.Add(tc.Model)
	}
	files, err := filepath.Glob(filepath.Join(dataDir, "svml", "*.svml"))
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		_, payload, err := Split(b)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(payload)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := LoadONNX(b, fuzzLimits)
		if err != nil {
			return
		}
		n := product(m.Input)
		if n > 1<<12 {
			return
		}
		ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
		defer stop()
		x := make([]float32, 3*n)
		for i := range x {
			x[i] = float32(i) / 4
		}
		env := Call{Ctx: ctx, Limits: fuzzLimits}
		one, err := m.Compute(env, x[:n])
		if err != nil {
			return
		}
		rows, width, ok, err := m.Batch(env, x, 3)
		if err == nil && ok && (width != len(one) || len(rows) != 3*width) {
			t.Fatalf("one row gives %d results, three together %d of %d", len(one), len(rows), width)
		}
		for i, v := range one {
			if ok && err == nil && v == v && rows[i] != v {
				t.Fatalf("result %d is %v alone and %v together", i, v, rows[i])
			}
		}
	})
}

// FuzzGraph runs graphs of one operator with inputs of any types and shapes: no kernel may fail by a panic.
func FuzzGraph(f *testing.F) {
	cases := opCases(f)
	for i := range cases {
		f.Add(i, uint64(i), []byte{1, 2, 3})
	}
	f.Fuzz(func(t *testing.T, which int, seed uint64, dims []byte) {
		if which < 0 || which >= len(cases) {
			return
		}
		m, err := onnx.Read(cases[which].Model, onnx.DefaultLimits)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range m.Graph.Nodes {
			for i, a := range n.Attrs {
				for k := range a.Ints {
					if int(seed>>(8*(uint(i+k)%8)))%3 == 0 && len(dims) > 0 {
						a.Ints[k] = int64(int8(dims[(i+k)%len(dims)]))
					}
				}
				if seed%5 == uint64(i) && len(dims) > 0 {
					a.I = int64(int8(dims[0]))
				}
			}
		}
		m.Graph.Initializers = nil
		c := &compiler{opsets: m.Opsets, limits: fuzzLimits, foldable: fuzzLimits.Fold}
		if c.checkOpsets() != nil {
			return
		}
		p, err := c.compile(m.Graph, []string{m.Graph.Outputs[0].Name}, false)
		if err != nil {
			return
		}
		ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
		defer stop()
		r := &run{ctx: ctx, limits: fuzzLimits}
		var args []*Tensor
		for range p.inputs {
			a := fuzzTensor(r, &seed, &dims)
			if a == nil {
				return
			}
			args = append(args, a)
		}
		if out, err := r.exec(p, args, nil); err == nil && out[0].Len() != product(out[0].Dims) {
			t.Fatalf("%s: %d elements in the shape %s", cases[which].Name, out[0].Len(), shapeText(out[0].Dims))
		}
	})
}

// fuzzTensor makes a tensor of what is left of the input.
func fuzzTensor(r *run, seed *uint64, dims *[]byte) *Tensor {
	types := []onnx.ElemType{onnx.Float, onnx.Int64, onnx.Double, onnx.Bool, onnx.String, onnx.Uint8, onnx.Int32,
		onnx.Float}
	next := func(n uint64) int {
		*seed = *seed*6364136223846793005 + 1442695040888963407
		return int(*seed >> 33 % n)
	}
	var shape []int
	for range next(5) {
		d := 2
		if len(*dims) > 0 {
			d, *dims = int((*dims)[0])%5, (*dims)[1:]
		}
		shape = append(shape, d)
	}
	t, err := r.alloc(types[next(uint64(len(types)))], shape)
	if err != nil {
		return nil
	}
	for i := range t.Len() {
		if t.Str != nil {
			t.Str[i] = string(rune('a' + next(4)))
			continue
		}
		t.setFloat(i, float64(next(9)-3))
	}
	return t
}
